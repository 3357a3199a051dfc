"""Shrinkage by the ridge constant, direction by direction (Seeger 7.2 and 7.2.2, Figure 7.3).

Thirty points and polynomials with 20 coefficients. The penalty shrinks each eigendirection of the design by
lambda_j / (lambda_j + nu): directions that the data determine are hardly shrunk, the others vanish. One call computes
every nu from one decomposition.

    python examples/ridge_path_shrinkage.py [--plot path.png]
"""

import argparse

import numpy as np

from tenfold import ridge_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(88)
    x = rng.random(30)
    t = np.sin(2 * np.pi * x) + 0.25 * rng.standard_normal(30)
    Phi = np.vander(x, 20, increasing=True)[:, 1:]
    grid = np.linspace(0, 1, 201)
    Phi_grid = np.vander(grid, 20, increasing=True)[:, 1:]

    alphas = np.logspace(-9, 3, 13)
    path = ridge_path(Phi, t, alphas)
    print("     nu      ||w||   training error   degrees of freedom   distance from the truth")
    curves = path.coefs @ Phi_grid.T + path.intercepts[:, None]
    for k, nu in enumerate(path.alphas):
        distance = np.sqrt(np.mean((curves[k] - np.sin(2 * np.pi * grid)) ** 2))
        line = f"{nu:7.0e}  {path.norms[k]:9.3g}   {path.training_error[k]:14.3f}"
        print(f"{line}   {path.degrees_of_freedom[k]:15.2f}   {distance:.3f}")
    print("The norm decreases and the training error increases with nu:", end=" ")
    print(bool(np.all(np.diff(path.norms) < 0) and np.all(np.diff(path.training_error) > 0)))
    middle = int(np.argmin(np.abs(path.alphas - 1e-3)))
    factors = ", ".join(f"{f:.2g}" for f in path.shrinkage[middle][:6])
    print(f"Shrinkage factors at nu = 1e-3, best determined direction first: {factors}, ...")
    if arguments.plot:
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
        left.semilogx(path.alphas, path.shrinkage)
        left.set(xlabel="nu", ylabel="shrinkage factor")
        right.plot(x, t, "ko", grid, curves[[0, middle, -1]].T)
        right.set(ylim=(-2, 2))
        figure.savefig(arguments.plot)


if __name__ == "__main__":
    main()
