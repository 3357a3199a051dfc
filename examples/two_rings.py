"""k-means fails on rings: clusters that are not convex are cut, whatever the initialisation (Seeger 12.1)."""

import numpy as np

from tenfold import KMeans, certify
from tenfold.datasets import make_rings

X, ring = make_rings(600, radii=(1.0, 4.0), noise=0.1, random_state=0)

model = KMeans(2, n_init=50, random_state=0).fit(X)
right = np.mean(model.labels_ == ring)
print(f"accuracy of two centres: {max(right, 1.0 - right):.2f} (chance: 0.50)")

# the certificate says that k-means has converged: the objective is at fault, not the optimisation
print(model.certificate_.explain())
centres = np.array([X[ring == r].mean(axis=0) for r in (0, 1)])
print(f"energy of the centres {model.inertia_:.0f}; the rings have the same mean, and the energy {np.sum(X**2):.0f}")
model.cluster_centers_ = centres
print(f"the means of the rings as centres: {certify(model, X)}")

# by the distance from the centre the clusters are separated
easy = KMeans(2, random_state=0).fit(np.hypot(*X.T)[:, None])
right = np.mean(easy.labels_ == ring)
print(f"by the radius alone: {max(right, 1.0 - right):.2f}")
assert max(right, 1.0 - right) == 1.0
