"""A contest of batches: one update from all rows, or many updates from a few (Welling 7.1).

Everybody may read 20 000 rows as often as the budget of epochs allows. Far from the optimum a few rows tell the way as
well as all of them; near it, single rows walk about, and smaller steps, larger batches or averages get closer.

    python examples/batch_contest.py [--plot contest.png]
"""

import argparse

import numpy as np

from tenfold import Ridge, SGDRegressor

ALPHA = 1e-3


def objective(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float) -> float:
    return float(np.mean((y - X @ w - b) ** 2) / 2 + ALPHA / 2 * w @ w)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a picture here (needs matplotlib)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20_000, 20)) * np.geomspace(1.0, 0.1, 20)
    y = X @ rng.standard_normal(20) + rng.standard_normal(20_000)
    best = Ridge(alpha=ALPHA * len(y)).fit(X, y)
    lowest = objective(X, y, best.coef_, best.intercept_)

    contestants = {
        "all rows a step": {"batch_size": 20_000, "eta0": 1.0},
        "200 rows a step": {"batch_size": 200, "eta0": 0.1},
        "one row a step": {"batch_size": 1, "eta0": 0.005},
        "one row, step 1/sqrt(t)": {"batch_size": 1, "eta0": 0.1, "learning_rate": "invscaling", "power_t": 0.5},
        "one row, averaged": {"batch_size": 1, "eta0": 0.005, "average": 10_000},
    }
    print(f"{'above the optimum after':26s}{'1 epoch':>12s}{'5 epochs':>12s}{'20 epochs':>12s}")
    curves: dict[str, list[float]] = {}
    for name, settings in contestants.items():
        above = []
        for epochs in (1, 5, 20):
            fixed = {"learning_rate": "constant", "alpha": ALPHA, "tol": None, "random_state": 0, "max_iter": epochs}
            model = SGDRegressor(**(fixed | settings)).fit(X, y)
            above.append(objective(X, y, model.coef_, model.intercept_[0]) - lowest)
        curves[name] = above
        print(f"{name:26s}" + "".join(f"{value:12.2e}" for value in above))
    if arguments.plot:
        import matplotlib.pyplot as plt

        for name, above in curves.items():
            plt.loglog((1, 5, 20), above, "o-", label=name)
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
