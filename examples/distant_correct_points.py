"""Distant, correctly classified points rotate the boundary of least squares, not of logistic regression (Seeger 8.1.1).

Figure 8.1: a few points far on the correct side of the boundary are added. Their squared error is large and rotates
the boundary; their logistic loss is practically zero.

    python examples/distant_correct_points.py [--plot boundaries.png]
"""

import argparse

import numpy as np

from tenfold import LinearRegression, LogisticRegression
from tenfold.datasets import make_distant


def angle(u: np.ndarray, v: np.ndarray) -> float:
    u, v = np.ravel(u), np.ravel(v)
    return float(np.degrees(np.arccos(np.clip(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)), -1, 1))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    X_far, t_far = make_distant(128, n_distant=8, random_state=8)
    X, t, far = X_far[:120], t_far[:120], X_far[120:]

    models = {}
    for name, kind in {"least squares": LinearRegression(), "logistic": LogisticRegression(C=np.inf)}.items():
        before = kind.fit(X, t).coef_.copy()
        models[name] = kind.fit(X_far, t_far)
        score = models[name].decision_function if name == "logistic" else models[name].predict
        mistakes = int(np.sum(np.sign(score(X)) != t))
        turn = angle(before, models[name].coef_)
        print(f"{name:14s} rotates by {turn:6.3f} degrees, mistakes on the first 120 points: {mistakes}")
    square, logistic = models["least squares"].predict(far) - 1, models["logistic"].predict_proba(far)[:, 1] - 1
    print(f"residuals of the distant points: up to {square.max():.2f} (squared) and {-logistic.min():.1g} (logistic)")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.scatter(*X_far.T, c=t_far, cmap="bwr")
        for name, model in models.items():
            (w1, w2), b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
            line = np.linspace(-3, 3, 2)
            plt.plot(-(w2 * line + b) / w1, line, label=name)
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
