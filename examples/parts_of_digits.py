"""Digits as sums of parts (Cookbook 9): sixteen non-negative factors are pieces of strokes, singular vectors have
positive and negative values all over, and atoms of a dictionary are whole digits: few of them make a sample.

No factors of this rank have a smaller error than the singular vectors (Eckart and Young).
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits

import tenfold
from tenfold import NMF, DictionaryLearning, TruncatedSVD

parser = argparse.ArgumentParser()
parser.add_argument("--plot", help="file for a picture")
options = parser.parse_args()

X = load_digits().data / 16.0
linear = TruncatedSVD(16, random_state=0).fit(X)
parts = NMF(16, random_state=0, max_iter=2000).fit(X)
atoms = DictionaryLearning(
    16, alpha=0.2, tol=1e-4, transform_algorithm="lasso_cd", positive_code=True, fit_algorithm="cd"
).fit(X)
models = {"singular vectors": linear, "non-negative parts": parts, "atoms": atoms}
assert all(model.certificate_.ok for model in models.values())
for name, model in models.items():
    codes = model.transform(X)
    error = np.sum((X - codes @ model.components_) ** 2)
    print(f"{name:18} squared error {error:6.0f}, {np.mean(np.abs(codes) > 1e-9):4.0%} of the codes are not zero")
certificate = tenfold.certify(parts, X)
assert certificate.lower_bound is not None
print(f"no factors of rank 16 have an error below {2.0 * certificate.lower_bound:.0f}")

if options.plot:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 16, figsize=(12, 2.8))
    for row, (name, model) in zip(axes, models.items(), strict=True):
        for axis, component in zip(row, model.components_, strict=True):
            size = np.abs(component).max()
            axis.imshow(component.reshape(8, 8), cmap="RdBu", vmin=-size, vmax=size)
            axis.set_xticks([])
            axis.set_yticks([])
        row[0].set_title(name, loc="left", fontsize=8)
    figure.savefig(options.plot)
