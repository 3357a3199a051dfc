"""Two columns say everything, 98 say nothing, and neighbours no longer know which is which (Welling 5)."""

from tenfold import KNeighborsClassifierCV
from tenfold.datasets import make_informative_and_noise


def main() -> None:
    (X, y), (new, y_new) = (make_informative_and_noise(400, random_state=seed) for seed in (0, 1))
    errors = []
    for columns in (2, 10, 30, 100):
        model = KNeighborsClassifierCV(60).fit(X[:, :columns], y)
        errors.append(1.0 - model.score(new[:, :columns], y_new))
        print(
            f"{columns:4d} columns: k = {model.n_neighbors_:2d} by leave-one-out, wrong on {errors[-1]:.1%} of others"
        )
    print(f"{errors[-1] / errors[0]:.0f} times the mistakes, with the same knowledge in the rows")
    assert errors == sorted(errors)


if __name__ == "__main__":
    main()
