"""Two parallel cigars: k-means cuts across long clusters, because it measures all directions alike.

Run with: python examples/parallel_cigars.py
"""

import numpy as np

from tenfold import KMeans

rng = np.random.default_rng(0)
which = np.repeat([0, 1], 400)
X = rng.standard_normal((800, 2)) * [10.0, 0.5] + np.where(which == 0, -2.0, 2.0)[:, None] * [0.0, 1.0]


def share(labels):
    right = np.mean(labels == which)
    return max(right, 1.0 - right)


model = KMeans(2, n_init=20, random_state=0).fit(X)
print(f"as they are: {share(model.labels_):.2f} of the rows right, energy {model.inertia_:.0f}")
means = np.array([X[which == k].mean(axis=0) for k in (0, 1)])
wanted = float(np.sum((X - means[which]) ** 2))
print(f"the cigars themselves have the energy {wanted:.0f}: more, so that no start could have found them")
print(model.certificate_.explain())

scaled = X / X.std(axis=0)
print(f"in units of the columns' deviations: {share(KMeans(2, n_init=20, random_state=0).fit(scaled).labels_):.2f}")
within = np.sqrt(np.mean((X - means[which]) ** 2, axis=0))
easy = KMeans(2, n_init=20, random_state=0).fit(X / within)
print(f"in units of the deviations within a cigar, which a mixture of Gaussians learns: {share(easy.labels_):.2f}")
assert share(model.labels_) < 0.6 < share(easy.labels_)
assert wanted > model.inertia_
