"""k-means sees no rings: clusters that are not round about a centre of their own are cut, however often it starts
(Seeger 12.1).
"""

import numpy as np

from tenfold import KMeans, certify
from tenfold.datasets import make_rings

X, ring = make_rings(600, radii=(1.0, 4.0), noise=0.1, random_state=0)

model = KMeans(2, n_init=50, random_state=0).fit(X)
right = np.mean(model.labels_ == ring)
print(f"share of the rows that two centres tell right: {max(right, 1.0 - right):.2f} (a coin: 0.50)")

# the certificate says that the energy is at rest: the method did what it promises, the energy is not what was meant
print(model.certificate_.explain())
centres = np.array([X[ring == r].mean(axis=0) for r in (0, 1)])
print(f"energy of the centres {model.inertia_:.0f}; the rings have the same mean, and the energy {np.sum(X**2):.0f}")
model.cluster_centers_ = centres
print(f"the means of the rings as centres: {certify(model, X)}")

# in the right coordinate, the distance from the middle, it is easy
easy = KMeans(2, random_state=0).fit(np.hypot(*X.T)[:, None])
right = np.mean(easy.labels_ == ring)
print(f"by the radius alone: {max(right, 1.0 - right):.2f}")
assert max(right, 1.0 - right) == 1.0
