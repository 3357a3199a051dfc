"""A Gaussian process sees the cosine at a few positions (Cookbook 23, figures 23.1 and 23.2).

Near the data all functions of the posterior agree, far from them they are as uncertain as before. The text gives
neither the width of the kernel nor the noise: here the evidence chooses them, and the certificate says that it is at a
maximum.

    python examples/process_of_cosine.py [--plot cosine.png]
"""

import argparse

import numpy as np

from tenfold import GaussianProcessRegressor
from tenfold.kernels import Gaussian, White


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(-9.0, -3.0, 12), rng.uniform(1.0, 7.0, 12)])[:, None]
    y = np.cos(X[:, 0]) + 0.05 * rng.standard_normal(24)
    model = GaussianProcessRegressor(1.0 * Gaussian() + White(0.01)).fit(X, y)
    print(f"kernel: {model.kernel_}")
    print(f"certified: {model.certificate_.ok}, evidence {model.log_marginal_likelihood_value_:.1f}")

    Q = np.linspace(-10.0, 15.0, 300)[:, None]
    mean, deviation = model.predict(Q, return_std=True)
    for name, inside in {"where there are data": abs(Q[:, 0] - 4.0) < 2.0, "beyond them": Q[:, 0] > 12.0}.items():
        error = np.abs(mean - np.cos(Q[:, 0]))[inside].max()
        print(f"{name:20s} deviation {deviation[inside].max():.2f}, largest error of the mean {error:.2f}")
    low, high = model.predict_interval(Q, coverage=0.95).T
    covered = np.mean((low <= np.cos(Q[:, 0])) & (np.cos(Q[:, 0]) <= high))
    print(f"the cosine is inside the intervals of 95% at {covered:.0%} of the positions")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.plot(Q, model.sample_y(Q, 8, random_state=1), color="0.75", lw=0.8)
        plt.fill_between(Q[:, 0], low, high, alpha=0.2)
        plt.plot(Q, mean, "b", X, y, "r.")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
