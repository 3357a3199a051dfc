"""Polynomials that underfit, fit and overfit (Seeger 4.1, Figure 4.3).

Ten noisy points of sin(2 pi x). A polynomial with 10 coefficients passes through every point, its weights are
hundreds of thousands of times larger than those of a line, and between the points it is far from the curve.

    python examples/polynomial_fits.py [--plot fits.png]
"""

import argparse

import numpy as np

from tenfold import LinearRegression


def powers(x: np.ndarray, p: int) -> np.ndarray:
    return np.vander(x, p, increasing=True)


def plot(path: str, x: np.ndarray, t: np.ndarray, grid: np.ndarray, curves: dict[int, np.ndarray]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(14, 3), sharey=True)
    for axis, (p, curve) in zip(axes, curves.items(), strict=True):
        axis.plot(grid, np.sin(2 * np.pi * grid), "g--", grid, curve, "r", x, t, "ko")
        axis.set(title=f"p = {p}", ylim=(-2, 2))
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    x = np.linspace(0, 1, 10)
    t = np.sin(2 * np.pi * x) + 0.15 * np.random.default_rng(4).standard_normal(10)
    grid = np.linspace(0, 1, 401)
    curves = {}
    print("  p   training error   ||w||      worst distance from the curve")
    for p in (1, 2, 4, 10):
        model = LinearRegression(fit_intercept=False).fit(powers(x, p), t)
        error = 0.5 * np.sum((model.predict(powers(x, p)) - t) ** 2)
        curves[p] = model.predict(powers(grid, p))
        distance = np.max(np.abs(curves[p] - np.sin(2 * np.pi * grid)))
        print(f"{p:3d}   {error:14.2e}   {np.linalg.norm(model.coef_):8.2g}   {distance:.2f}")
    print(f"The certificate of the last fit: {model.certificate_.explain()}")
    if arguments.plot:
        plot(arguments.plot, x, t, grid, curves)


if __name__ == "__main__":
    main()
