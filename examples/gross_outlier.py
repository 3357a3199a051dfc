"""One gross outlier moves the boundary of the squared loss, and not that of the tanh loss (Welling 7.2).

The delta rule minimises both, one sample at a time. The squared loss is unbounded, so that a single point dominates;
the tanh loss of a point is at most one, so that an outlier has little influence.

    python examples/gross_outlier.py [--plot boundaries.png]
"""

import argparse

import numpy as np

from tenfold import SGDClassifier


def angle(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)), -1, 1))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(2)
    y = np.repeat([-1, 1], 100)
    X = rng.standard_normal((200, 2)) + 1.5 * y[:, None]
    X_far, y_far = np.vstack([X, [60.0, -40.0]]), np.append(y, -1)

    models = {}
    for loss in ("squared_error", "tanh"):
        rule = SGDClassifier(loss=loss, penalty=None, learning_rate="constant", eta0=1e-4, max_iter=400, tol=None)
        rule.set_params(shuffle=False)
        before = rule.fit(X, y).coef_[0].copy()
        models[loss] = rule.fit(X_far, y_far)
        mistakes = int(np.sum(rule.predict(X) != y))
        print(
            f"{loss:14s} rotates by {angle(before, rule.coef_[0]):6.3f} degrees, mistakes on the first 200: {mistakes}"
        )
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.scatter(*X_far.T, c=y_far, cmap="bwr")
        for loss, model in models.items():
            line = np.linspace(-4, 4, 2)
            (w1, w2), b = model.coef_[0], model.intercept_[0]
            plt.plot(line, -(w1 * line + b) / w2, label=loss)
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
