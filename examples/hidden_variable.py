"""Two views of one weak hidden variable, drowned in noise of their own: canonical correlations find it.

Principal components of each view find its noise (Cookbook 10, with noise along one direction of each view: with
isotropic noise, as the text prints it, nothing can be found).
"""

import numpy as np

from tenfold import CCA, PCA

rng = np.random.default_rng(0)
n, strength = 1000, 0.1
hidden = rng.standard_normal(n)
views = {}
for noise in ("one direction", "isotropic"):
    pair = []
    for _ in range(2):
        shared = rng.standard_normal(2)
        shared /= np.linalg.norm(shared)
        directions = rng.standard_normal((1, 2)) if noise == "one direction" else np.eye(2)
        own = rng.standard_normal((n, len(directions))) @ directions
        pair.append(strength * np.outer(hidden, shared) + (1.0 - strength**2) * own)
    views[noise] = pair

print("correlation of what was found with the hidden variable")
for noise, (X, y) in views.items():
    model = CCA(1).fit(X, y)
    assert model.certificate_.ok
    canonical = abs(np.corrcoef(model.transform(X)[:, 0], hidden)[0, 1])
    principal = abs(np.corrcoef(PCA(1).fit_transform(X)[:, 0], hidden)[0, 1])
    columns = np.abs(np.corrcoef(np.hstack([X, y]).T)[:2, 2:]).max()
    print(
        f"  noise {noise:13}  CCA {canonical:.3f}  PCA {principal:.3f}  (columns of the views: at most {columns:.3f})"
    )
    assert (canonical > 0.999) == (noise == "one direction")
    assert principal < 0.3
