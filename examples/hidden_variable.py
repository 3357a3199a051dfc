"""Two views of one weak hidden variable, each dominated by noise: canonical correlations recover it.

Principal components of each view recover its noise (Cookbook 10, with noise along one direction of each view: with
isotropic noise, as the text prints it, nothing can be recovered).
"""

import numpy as np

from tenfold import CCA, PCA
from tenfold.datasets import make_two_views

views = {
    noise: make_two_views(1000, noise=noise, hidden=True, random_state=0) for noise in ("one_direction", "isotropic")
}

print("correlation of the first component with the hidden variable")
for noise, (X, y, hidden) in views.items():
    model = CCA(1).fit(X, y)
    assert model.certificate_.ok
    canonical = abs(np.corrcoef(model.transform(X)[:, 0], hidden)[0, 1])
    principal = abs(np.corrcoef(PCA(1).fit_transform(X)[:, 0], hidden)[0, 1])
    columns = np.abs(np.corrcoef(np.hstack([X, y]).T)[:2, 2:]).max()
    words = noise.replace("_", " ")
    print(
        f"  noise {words:13}  CCA {canonical:.3f}  PCA {principal:.3f}  (columns of the views: at most {columns:.3f})"
    )
    assert (canonical > 0.999) == (noise == "one_direction")
    assert principal < 0.3
