"""Nearest neighbours with two informative features and 98 of noise (Welling 5)."""

from tenfold import KNeighborsClassifierCV
from tenfold.datasets import make_informative_and_noise


def main() -> None:
    (X, y), (new, y_new) = (make_informative_and_noise(400, random_state=seed) for seed in (0, 1))
    errors = []
    for columns in (2, 10, 30, 100):
        model = KNeighborsClassifierCV(60).fit(X[:, :columns], y)
        errors.append(1.0 - model.score(new[:, :columns], y_new))
        print(f"{columns:4d} features: k = {model.n_neighbors_:2d} by leave-one-out, test error {errors[-1]:.1%}")
    print(f"{errors[-1] / errors[0]:.0f} times the error, with the same information in the data")
    assert errors == sorted(errors)


if __name__ == "__main__":
    main()
