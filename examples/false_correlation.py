"""Two views of one angle, its sine and cosine, hardly correlate; in the feature spaces of kernels they do.

Without a ridge any two views correlate perfectly, related or not, and the fit says that this means nothing; with the
ridge that cross-validation takes, the scores of new samples tell the two cases apart (Cookbook 11, Welling 14).
"""

import warnings

import numpy as np

from tenfold import KernelCCA


def draw(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    z = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, n)
    return np.sin(z)[:, None], np.cos(z)[:, None]


X, Y = draw(0)
print(f"correlation of sine and cosine: {np.corrcoef(X[:, 0], Y[:, 0])[0, 1]:+.2f}")
shuffled = np.random.default_rng(1).permutation(Y)
new = draw(2)
pairs = {"related": (Y, new), "shuffled": (shuffled, (new[0], np.random.default_rng(3).permutation(new[1])))}
settings = {"no ridge": {"gamma": 1e5, "ridge": 0.0}, "ridge by folds": {"gamma": 0.5, "random_state": 0}}
for name, parameters in settings.items():
    for pair, (other, later) in pairs.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no maximum, which is printed
            model = KernelCCA(**parameters).fit(X, other)
        print(
            f"{name:14}  {pair:8}  samples of the fit {model.correlations_[0]:.2f}  new samples "
            f"{model.score(*later):+.2f}  {model.certificate_.status}, certified: {model.certificate_.ok}"
        )
