"""Bias decreases and variance increases with the degree; the sum is least at degree 3 (Seeger 10.1.4, Figure 10.3).

Samples of 12 points of sin(2 pi x) with noise of variance 1/16, both ends of the interval among them.

    python examples/bias_and_variance.py [--plot risk.png]
"""

import argparse

import numpy as np
from numpy.polynomial.legendre import legvander

from tenfold import LinearRegression

SAMPLES, NOISE = 150, 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(1014)
    grid = np.linspace(0, 1, 101)
    truth = np.sin(2 * np.pi * grid)
    samples = []
    for _ in range(SAMPLES):
        x = np.concatenate([[0.0, 1.0], rng.random(10)])
        samples.append((x, np.sin(2 * np.pi * x) + NOISE * rng.standard_normal(12)))

    table = []
    print("degree   bias^2   variance   expected risk")
    for degree in range(7):
        weights = [LinearRegression(fit_intercept=False).fit(legvander(2 * x - 1, degree), t).coef_ for x, t in samples]
        curves = np.array(weights) @ legvander(2 * grid - 1, degree).T
        bias2 = np.mean((curves.mean(axis=0) - truth) ** 2)
        variance = np.mean(curves.var(axis=0))
        table.append((bias2, variance, bias2 + variance + NOISE**2))
        print(f"{degree:6d}   {bias2:6.4f}   {variance:8.4f}   {table[-1][2]:.4f}")
    risks = [row[2] for row in table]
    print(f"The best trade-off is degree {int(np.argmin(risks))}.")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogy(range(7), table, marker="o", label=["squared bias", "variance", "risk"])
        plt.xlabel("degree")
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
