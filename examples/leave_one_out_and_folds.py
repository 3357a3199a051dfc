"""Exact leave-one-out and 5-fold cross-validation against the true risk (Seeger 10.2, Figure 10.4).

Samples of 50 points; polynomials of degree 1 to 8. Leave-one-out costs no more than the fit, and it is
exact: the check refits without each point in turn.

    python examples/leave_one_out_and_folds.py [--plot cv.png]
"""

import argparse

import numpy as np
from numpy.polynomial.legendre import legvander
from sklearn.model_selection import KFold

from tenfold import Ridge, RidgeCV

SAMPLES, NU = 12, 1e-8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(10)
    grid = np.linspace(0, 1, 201)
    degrees = np.arange(1, 9)
    risk, loo, folds = np.zeros((3, SAMPLES, 8))
    for s in range(SAMPLES):
        x = np.concatenate([[0.0, 1.0], rng.random(48)])
        t = np.sin(2 * np.pi * x) + 0.25 * rng.standard_normal(50)
        splitter = KFold(5, shuffle=True, random_state=s)
        for k, degree in enumerate(degrees):
            Phi = legvander(2 * x - 1, degree)[:, 1:]
            one = RidgeCV(alphas=[NU]).fit(Phi, t)
            five = RidgeCV(alphas=[NU], cv=splitter, scoring="neg_mean_squared_error").fit(Phi, t)
            loo[s, k], folds[s, k] = -one.best_score_, -five.best_score_
            curve = one.predict(legvander(2 * grid - 1, degree)[:, 1:])
            risk[s, k] = np.mean((curve - np.sin(2 * np.pi * grid)) ** 2) + 1 / 16
    print("degree   true risk   leave-one-out   5-fold   spread of 5-fold")
    for k, degree in enumerate(degrees):
        means = f"{risk[:, k].mean():9.4f}   {loo[:, k].mean():13.4f}   {folds[:, k].mean():6.4f}"
        print(f"{degree:6d}   {means}   {folds[:, k].std():.4f}")

    refits = [Ridge(alpha=NU).fit(np.delete(Phi, i, 0), np.delete(t, i)).predict(Phi[i : i + 1])[0] for i in range(50)]
    brute = np.mean((t - refits) ** 2)
    print(f"Leave-one-out in one pass {loo[-1, -1]:.12f}, by 50 refits {brute:.12f}.")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogy(degrees, np.column_stack([risk.mean(0), loo.mean(0), folds.mean(0)]), marker="o")
        plt.legend(["true risk", "leave-one-out", "5-fold"])
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
