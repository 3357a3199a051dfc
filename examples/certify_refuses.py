"""`certify` judges any fitted model, and detects one that was stopped too early (duality gap: Seeger 9.3, Welling A).

scikit-learn's logistic regression is stopped after a few steps. Its predictions look the same; the certificate bounds
how much the objective can still decrease, and lists the samples whose predicted class can no longer change.

    python examples/certify_refuses.py [--plot gap.png]
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.preprocessing import scale

from tenfold import LogisticRegression, certify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    steps, gaps = [1, 3, 10, 30, 100], []
    for limit in steps:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SklearnLogisticRegression(max_iter=limit).fit(X, y)
        certificate = certify(model, X, y)
        gaps.append(certificate.value)
        verdict = "ok     " if certificate.ok else "not ok "
        decided = int(np.sum(certificate.decided(X)))
        gap = f"gap {certificate.value:.1e}"
        print(f"scikit-learn, {limit:3d} steps: {verdict}  {gap}, {decided} of {len(y)} predicted classes are final")
    ours = LogisticRegression().fit(X, y)
    print("ours:", ours.certificate_.explain())
    perturbed = LogisticRegression().fit(X, y)
    perturbed.coef_ = 1.05 * perturbed.coef_
    print("ours, weights scaled by 1.05:", certify(perturbed, X, y).explain())
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.loglog(steps, gaps, "o-")
        plt.xlabel("steps")
        plt.ylabel("duality gap")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
