"""Two columns say everything, 98 say nothing, and neighbours no longer know which is which (Welling 5)."""

import numpy as np

from tenfold import KNeighborsClassifierCV


def main() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((2, 400, 100))
    y, y_new = (np.where(part[:, 0] + part[:, 1] > 0, 1, -1) for part in (X, new))
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
