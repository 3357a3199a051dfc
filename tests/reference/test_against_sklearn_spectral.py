"""Spectral embeddings and clusterings beside scikit-learn's."""

import numpy as np
import pytest
import sklearn.cluster
import sklearn.manifold
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import tenfold

BLOBS = make_blobs(200, 4, centers=4, cluster_std=1.5, random_state=1)[0]
RINGS, RING = make_circles(300, factor=0.4, noise=0.04, random_state=0)
MOONS, MOON = make_moons(300, noise=0.05, random_state=0)
PARAMETERS = {
    "rbf": {"affinity": "rbf", "gamma": 0.1},
    "neighbours": {"affinity": "nearest_neighbors", "n_neighbors": 60},
    "laplacian": {"affinity": "laplacian", "gamma": 0.2},
    "polynomial": {"affinity": "poly", "gamma": 0.01, "coef0": 2.0, "degree": 4},
}


@pytest.mark.parametrize("labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("settings", PARAMETERS.values(), ids=PARAMETERS)
def test_clusters_are_those_of_scikit_learn(settings, labels):
    common = {**settings, "assign_labels": labels, "random_state": 0}
    ours = tenfold.SpectralClustering(4, **common).fit(BLOBS)
    theirs = sklearn.cluster.SpectralClustering(4, **common).fit(BLOBS)
    np.testing.assert_allclose(
        (ours.affinity_matrix_ - theirs.affinity_matrix_).max(), 0.0, atol=1e-12 * theirs.affinity_matrix_.max()
    )
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.99
    assert ours.certificate_.ok
    bound = tenfold.certify(theirs, BLOBS)
    assert bound.lower_bound == pytest.approx(ours.certificate_.lower_bound, abs=1e-9)
    assert ours.certificate_.objective <= bound.objective * (1.0 + 1e-9) or labels != "kmeans"


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("drop_first", [True, False])
def test_embeddings_are_those_of_scikit_learn(normalised, drop_first):
    A = np.exp(-0.1 * np.sum((BLOBS[:, None] - BLOBS) ** 2, axis=2))
    common = {"n_components": 4, "norm_laplacian": normalised, "drop_first": drop_first, "random_state": 0}
    theirs = sklearn.manifold.spectral_embedding(A, **common)
    ours = tenfold.spectral_embedding(A, **common)
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("settings", [{"affinity": "rbf", "gamma": 0.1}, {"n_neighbors": 60}], ids=["rbf", "near"])
def test_embeddings_of_samples_are_those_of_scikit_learn(settings):
    ours = tenfold.SpectralEmbedding(3, random_state=0, **settings).fit(BLOBS)
    theirs = sklearn.manifold.SpectralEmbedding(3, random_state=0, **settings).fit(BLOBS)
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-9)
    assert tenfold.certify(theirs, BLOBS).ok


@pytest.mark.parametrize(("X", "y", "gamma"), [(RINGS, RING, 40.0), (MOONS, MOON, 30.0)], ids=["rings", "moons"])
def test_rings_and_moons_are_found(X, y, gamma):
    labels = tenfold.SpectralClustering(2, gamma=gamma, random_state=0).fit_predict(X)
    assert adjusted_rand_score(labels, y) == 1.0
    A = np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))
    assert adjusted_rand_score(tenfold.spectral_clustering(A, n_clusters=2, random_state=0), y) == 1.0
    assert adjusted_rand_score(tenfold.KMeans(2, random_state=0).fit_predict(X), y) < 0.5
