"""Separable classes have no maximum likelihood estimate, and a prior gives one (Seeger 8.2.1 and 8.3.2).

Along a separating direction the logistic loss decreases to zero: Newton's method would diverge. The fit reports this
with the direction. With any penalty the minimiser is finite, unique and certified.

    python examples/separable_logistic.py [--plot curve.png]
"""

import argparse
import warnings

import numpy as np

from tenfold import LogisticRegression


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(832)
    t = np.repeat([-1, 1], 20)
    X = 0.5 * rng.standard_normal((40, 2)) + 2.0 * t[:, None]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegression(C=np.inf).fit(X, t)
    print("without a prior:", model.status_)
    for warning in caught:
        print("  warning:", warning.message)
    direction = np.ravel(model.separating_direction_)
    margin = t * (X @ direction[:2] + (direction[2] if direction.size > 2 else 0.0))
    scales = np.logspace(0, 3, 4)
    errors = [np.sum(np.logaddexp(0, -a * margin)) for a in scales]
    print("error at 1, 10, 100, 1000 times the separating direction:", ", ".join(f"{e:.2g}" for e in errors))

    print("prior precision   ||w||   smallest confidence in the right class   certificate")
    norms = []
    for beta in (1.0, 1e-2, 1e-4, 1e-6):
        model = LogisticRegression(C=1 / beta).fit(X, t)
        norms.append(np.linalg.norm(model.coef_))
        confidence = np.min(np.where(t == 1, *model.predict_proba(X).T[::-1]))
        print(f"{beta:15.0e}   {norms[-1]:5.2f}   {confidence:38.4f}   ok: {model.certificate_.ok}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogx([1.0, 1e-2, 1e-4, 1e-6], norms, "o-")
        plt.xlabel("prior precision")
        plt.ylabel("||w||")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
