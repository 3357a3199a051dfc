"""Digits from a few components: how many are needed, and what happens if the first is left out.

Principal components of small images of digits are images themselves. With more of them the mean squared error of the
images that are rebuilt falls; the certificate says that no direction with more variance was left out. Seeger, section
11.1; Cookbook, chapter 7.
"""

from __future__ import annotations

from sklearn.datasets import load_digits

from tenfold import PCA, certify


def main() -> None:
    X = load_digits().data
    print(f"{len(X)} images of {X.shape[1]} pixels")
    for count in (1, 5, 10, 20, 40):
        model = PCA(count).fit(X)
        rebuilt = model.inverse_transform(model.transform(X))
        error = float(((X - rebuilt) ** 2).mean())
        share = float(model.explained_variance_ratio_.sum())
        print(f"{count:3d} components: {share:6.1%} of the variance, mean squared error {error:6.3f}")
    model = PCA(0.9).fit(X)
    print(f"90 % of the variance: {model.n_components_} components; {model.certificate_.explain()}")
    wrong = PCA(3).fit(X)
    wrong.components_ = PCA(4).fit(X).components_[1:]
    wrong.singular_values_ = PCA(4).fit(X).singular_values_[1:]
    print(f"the second to the fourth instead of the first three: {certify(wrong, X)}")


if __name__ == "__main__":
    main()
