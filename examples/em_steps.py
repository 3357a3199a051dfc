"""EM step by step: three Gaussians, from means at samples and unit covariances (Seeger 12.3.1; Cookbook, alg. 10).

After each step the mean log-likelihood is higher. At the end the judge takes one more step and reports the increase.

    python examples/em_steps.py [--plot steps.png]
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import GaussianMixture
from tenfold.datasets import make_gaussian_mixture

SHOWN = (1, 2, 5, 10, 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    X = make_gaussian_mixture(500, random_state=123)[0]
    start = {"weights_init": np.full(3, 1 / 3), "means_init": X[:3], "precisions_init": np.tile(np.eye(2), (3, 1, 1))}
    model = GaussianMixture(3, max_iter=1, warm_start=True, tol=1e-8, **start)
    shown, bounds = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fits that are one step long
        for step in range(1, SHOWN[-1] + 1):
            bounds += model.fit(X).lower_bounds_
            if step in SHOWN:
                print(f"step {step:>3}: mean log-likelihood before it {bounds[-1]:.4f}")
                shown[step] = model.means_.copy(), model.covariances_.copy()
    bounds += model.set_params(max_iter=500).fit(X).lower_bounds_
    print(f"converged: {bounds[-1]:.4f}; it never decreased: {bool(np.all(np.diff(bounds) >= 0))}")
    print(model.certificate_.explain())
    if arguments.plot:
        import matplotlib.pyplot as plt

        circle = 2.0 * np.stack([np.cos(np.linspace(0, 6.3, 60)), np.sin(np.linspace(0, 6.3, 60))], axis=1)
        _, axes = plt.subplots(1, len(shown), figsize=(3 * len(shown), 3), sharey=True)
        for axis, (step, (means, covariances)) in zip(axes, shown.items(), strict=True):
            axis.plot(*X.T, ".", color="lightgrey", markersize=2)
            for mean, C in zip(means, covariances, strict=True):
                axis.plot(*(mean + circle @ np.linalg.cholesky(C).T).T)
            axis.set_title(f"step {step}")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
