"""Prediction intervals from the exact leave-one-out residuals (Seeger 10.2.2; jackknife+ of Barber and others, 2021).

The leave-one-out residuals that selected the penalty also give prediction intervals, without assumptions on the noise:
here it is skewed. The coverage is estimated on new data, many times.

    python examples/prediction_intervals.py [--plot intervals.png]
"""

import argparse

import numpy as np

from tenfold import RidgeCV

WEIGHTS = np.array([1.0, -2.0, 0.5, 0.0, 1.5])


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, 5))
    return X, X @ WEIGHTS + rng.exponential(1.0, n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(6)
    print(" nominal   covered   mean width")
    for coverage in (0.5, 0.8, 0.9):
        hits, widths = [], []
        for _ in range(60):
            X, y = sample(rng, 60)
            X_new, y_new = sample(rng, 50)
            model = RidgeCV(alphas=[0.1, 1.0, 10.0]).fit(X, y)
            low, high = model.predict_interval(X_new, coverage=coverage).T
            hits.append(np.mean((low <= y_new) & (y_new <= high)))
            widths.append(np.mean(high - low))
        print(f"{coverage:8.0%}   {np.mean(hits):7.1%}   {np.mean(widths):.2f}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        order = np.argsort(model.predict(X_new))
        plt.vlines(range(50), low[order], high[order], color="0.7")
        plt.plot(y_new[order], "ko", markersize=3)
        plt.xlabel("new cases, sorted by prediction")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
