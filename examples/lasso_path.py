"""The Lasso's path, and two nearly equal features (Rosasco 11.3; Cookbook chapter 18, Figure 18.1).

From least squares without a penalty to all zeros, weights vanish one after the other. Two features are nearly equal:
the Lasso selects one of them, the elastic net divides the weight between them. Every fit of the path is optimal to the
duality gap that is printed with it.

    python examples/lasso_path.py [--plot path.png]
"""

import argparse

import numpy as np

from tenfold import ElasticNet, Lasso, lasso_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 8))
    X[:, 1] = X[:, 0] + 0.05 * rng.standard_normal(100)
    y = 2.0 * X[:, 0] - 1.5 * X[:, 2] + 0.7 * X[:, 3] + 0.5 * rng.standard_normal(100)
    y -= y.mean()
    X -= X.mean(axis=0)

    alphas, coefs, gaps = lasso_path(X, y, alphas=7, eps=1e-3, tol=1e-9)
    print("   alpha   non-zero       gap")
    for alpha, w, gap in zip(alphas, coefs.T, gaps, strict=True):
        print(f"{alpha:8.4f}   {np.count_nonzero(w):12d}   {gap:.0e}")
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    away = np.abs(X @ (coefs[:, -1] - free)).max()
    print(f"The last predicts within {away:.2f} of least squares, and the first is all zero.")
    lasso = Lasso(alpha=0.1, tol=1e-10).fit(X, y)
    net = ElasticNet(alpha=0.5, l1_ratio=0.2, tol=1e-10).fit(X, y)
    print(f"weights of the two equal features: Lasso {lasso.coef_[0]:.2f} and {lasso.coef_[1]:.2f}", end=", ")
    print(f"elastic net {net.coef_[0]:.2f} and {net.coef_[1]:.2f}")
    print(lasso.certificate_.explain())
    if arguments.plot:
        import matplotlib.pyplot as plt

        grid, weights, _ = lasso_path(X, y, alphas=100)
        figure, axes = plt.subplots()
        axes.semilogx(grid, weights.T)
        axes.set(xlabel="alpha", ylabel="weights")
        figure.savefig(arguments.plot)


if __name__ == "__main__":
    main()
