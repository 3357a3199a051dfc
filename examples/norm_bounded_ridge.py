"""Ridge with a bound on the norm instead of a penalty (Welling 10.2).

min ||y - X w||^2 with ||w|| <= B. The multiplier of the bound is the ridge constant: it is the root of a decreasing
function, and zero where least squares satisfies the bound. The dual value proves each solution.

    python examples/norm_bounded_ridge.py [--plot bound.png]
"""

import argparse

import numpy as np

from tenfold import LinearRegression, ridge_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(10)
    X = rng.standard_normal((40, 6))
    y = X @ np.array([3.0, -2.0, 1.0, 0.0, 0.0, 0.5]) + rng.standard_normal(40)
    K = X @ X.T
    free = float(np.linalg.norm(LinearRegression(fit_intercept=False).fit(X, y).coef_))
    print(f"least squares has ||w|| = {free:.4f}")
    print("   bound    multiplier   ||w||     squared error   dual value")
    rows = []
    for fraction in (1.2, 0.99, 0.8, 0.5, 0.2, 0.05):
        bound = fraction * free
        path = ridge_path(X, y, norm=bound, fit_intercept=False)
        multiplier, w = float(np.ravel(path.alphas)[0]), np.ravel(path.coefs)
        error = float(np.sum((y - X @ w) ** 2))
        if multiplier > 0:
            a = (y - X @ w) / multiplier
            dual = -(multiplier**2) * a @ a + 2 * multiplier * a @ y - multiplier * a @ K @ a - multiplier * bound**2
        else:
            dual = error
        rows.append((bound, multiplier, abs(dual - error) / error))
        print(f"{bound:8.4f}   {multiplier:11.5g}   {np.linalg.norm(w):.4f}   {error:13.6f}   {dual:.6f}")
    print(f"Primal and dual differ by at most {max(row[2] for row in rows):.0e}: nothing within the bound is better.")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogy(*np.array([row[:2] for row in rows if row[1] > 0]).T, "o-")
        plt.xlabel("bound on ||w||")
        plt.ylabel("ridge constant")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
