"""From nearest centroid to Mahalanobis: one classifier, one constant (Rosasco 5.2).

Regularised least squares on labels -1 and +1 has the nearest centroid rule as its limit for a large constant, and the
rule with the Mahalanobis inner product for a small one. Two long, parallel classes show the range in between.

    python examples/nearest_centroid_limit.py [--plot limit.png]
"""

import argparse

import numpy as np

from tenfold import RidgeClassifier, RidgeClassifierCV


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(52)
    y = np.repeat([-1, 1], 200)
    X = rng.standard_normal((400, 2)) @ np.array([[1.0, 1.0], [0.0, 0.3]]) + np.column_stack([0.5 * y, np.zeros(400)])
    centroids = np.array([X[y == c].mean(axis=0) for c in (-1, 1)])
    nearest = np.where(np.argmin(((X[:, None] - centroids) ** 2).sum(axis=2), axis=1) == 0, -1, 1)
    print(f"nearest centroid: {np.mean(nearest == y):.1%} right")
    constants = np.logspace(-4, 8, 7)
    accuracy = []
    print("constant   accuracy   agreement with nearest centroid")
    for constant in constants:
        predicted = RidgeClassifier(alpha=constant).fit(X, y).predict(X)
        accuracy.append(np.mean(predicted == y))
        print(f"{constant:8.0e}   {accuracy[-1]:5.1%}   {np.mean(predicted == nearest):.1%}")
    chosen = RidgeClassifierCV(alphas=constants).fit(X, y)
    print(f"exact leave-one-out chooses {chosen.alpha_:g}: {chosen.score(X, y):.1%} right")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogx(constants, accuracy, "o-")
        plt.axhline(np.mean(nearest == y), linestyle="--")
        plt.xlabel("constant")
        plt.ylabel("accuracy")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
