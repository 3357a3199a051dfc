"""Two parallel cigars (Welling, ch. 13; Cookbook, ch. 12 and 13; Seeger 12.2.1).

The first principal component is the long axis, Fisher's discriminant the short one. k-means and "spherical" components
are isotropic and cut both cigars in the middle, which has a smaller inertia. A mixture of Gaussians learns the
covariance from the same samples, without labels.

    python examples/parallel_cigars.py [--plot cigars.png]
"""

import argparse

import numpy as np

from tenfold import PCA, GaussianMixture, KMeans, LinearDiscriminantAnalysis
from tenfold.datasets import make_cigars


def angle(direction: np.ndarray) -> float:
    return float(np.degrees(np.arctan2(abs(direction[1]), abs(direction[0]))))


def agreement(result: np.ndarray, which: np.ndarray) -> float:
    return float(max(np.mean(result == which), np.mean(result != which)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    X, which = make_cigars(random_state=13)
    print(f"first principal component: {angle(PCA(1).fit(X).components_[0]):4.1f} degrees from the long axis")
    print(f"Fisher's discriminant:     {angle(LinearDiscriminantAnalysis().fit(X, which).scalings_[:, 0]):4.1f}")
    means = np.array([X[which == k].mean(axis=0) for k in (0, 1)])
    k_means = KMeans(2, n_init=20, random_state=0).fit(X)
    print(f"energy of k-means {k_means.inertia_:.0f}, of the cigars {np.sum((X - means[which]) ** 2):.0f}")
    result = {"k-means": k_means.labels_}
    start = {"n_init": 10, "init_params": "random_from_data", "random_state": 0, "max_iter": 500}
    for kind in ("spherical", "tied", "full"):
        result[f"mixture, {kind}"] = GaussianMixture(2, covariance_type=kind, **start).fit_predict(X)
    print("samples in the correct cigar")
    for name, labels in result.items():
        print(f"{name:>20}: {100 * agreement(labels, which):5.1f}%")
    if arguments.plot:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, len(result), figsize=(14, 3), sharey=True)
        for axis, (name, labels) in zip(axes, result.items(), strict=True):
            axis.scatter(*X.T, c=labels, s=3)
            axis.set_title(name)
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
