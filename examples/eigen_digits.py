"""Eigen-digits: images from a few components (Seeger 11.1, Cookbook 7).

Principal components of small images of digits are images themselves. With more of them the mean squared error of the
reconstructions decreases. The certificate proves that no direction with more variance was left out, and detects
components without the first.

    python examples/eigen_digits.py [--plot digits.png]
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

from tenfold import PCA, certify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    X = load_digits().data
    print(f"{len(X)} images of {X.shape[1]} pixels")
    for count in (1, 5, 10, 20, 40):
        model = PCA(count).fit(X)
        reconstructed = model.inverse_transform(model.transform(X))
        share, error = model.explained_variance_ratio_.sum(), np.mean((X - reconstructed) ** 2)
        print(f"{count:3d} components: {share:5.1%} of the variance, mean squared error {error:6.3f}")
    print(f"90% of the variance: {PCA(0.9).fit(X).n_components_} components")
    model = PCA(3).fit(X)
    print(f"the first three: {model.certificate_}")
    more = PCA(4).fit(X)
    model.components_, model.singular_values_ = more.components_[1:], more.singular_values_[1:]
    print(f"the second to the fourth: {certify(model, X)}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        components = PCA(12).fit(X).components_
        _, axes = plt.subplots(3, 4)
        for axis, component in zip(axes.flat, components, strict=True):
            axis.imshow(component.reshape(8, 8), cmap="gray")
            axis.axis("off")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
