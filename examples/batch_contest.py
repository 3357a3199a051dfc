"""Batch sizes of stochastic gradient descent: one update from all samples, or many from a few (Welling 7.1).

All variants read 20 000 samples for the same number of epochs. Far from the optimum a small batch gives as good a
gradient as all samples; near it, single samples are noisy, and smaller steps, larger batches or averaging get closer.

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
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20_000, 20)) * np.geomspace(1.0, 0.1, 20)
    y = X @ rng.standard_normal(20) + rng.standard_normal(20_000)
    best = Ridge(alpha=ALPHA * len(y)).fit(X, y)
    lowest = objective(X, y, best.coef_, best.intercept_)

    variants = {
        "full batch": {"batch_size": 20_000, "eta0": 1.0},
        "batches of 200": {"batch_size": 200, "eta0": 0.1},
        "single samples": {"batch_size": 1, "eta0": 0.005},
        "single, step 1/sqrt(t)": {"batch_size": 1, "eta0": 0.1, "learning_rate": "invscaling", "power_t": 0.5},
        "single, averaged": {"batch_size": 1, "eta0": 0.005, "average": 10_000},
    }
    print(f"{'excess objective after':26s}{'1 epoch':>12s}{'5 epochs':>12s}{'20 epochs':>12s}")
    curves: dict[str, list[float]] = {}
    for name, settings in variants.items():
        excess = []
        for epochs in (1, 5, 20):
            fixed = {"learning_rate": "constant", "alpha": ALPHA, "tol": None, "random_state": 0, "max_iter": epochs}
            model = SGDRegressor(**(fixed | settings)).fit(X, y)
            excess.append(objective(X, y, model.coef_, model.intercept_[0]) - lowest)
        curves[name] = excess
        print(f"{name:26s}" + "".join(f"{value:12.2e}" for value in excess))
    if arguments.plot:
        import matplotlib.pyplot as plt

        for name, excess in curves.items():
            plt.loglog((1, 5, 20), excess, "o-", label=name)
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
