"""Spectral embedding and clustering: bad input, warnings, and the routes to eigenvectors."""

import numpy as np
import pytest
import scipy.linalg as la
from scipy import sparse

import tenfold
from tenfold.pairwise.graphs import find_parts, graph_of
from tenfold.plans import graph_eigenvectors
from tenfold.plans.graph_eigenvectors import smallest

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
A = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("route", ["lapack", "lanczos", "factor"])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_routes_give_the_smallest_eigenvectors(normalised, route, stored, monkeypatch):
    monkeypatch.setattr(graph_eigenvectors, "DIRECT_SIZE", 1000 if route == "lapack" else 10)
    monkeypatch.setattr(graph_eigenvectors, "_affordable_steps", lambda *_: 4 if route == "factor" else 100)
    graph = graph_of(stored(A), normalised=normalised)
    found = smallest(graph, 5, np.random.RandomState(0))
    values, vectors = la.eigh(2.0 * np.eye(400) - graph.dense())
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, :5].T, axis=1)), 1.0, atol=1e-9)
    left = graph.multiply(found.vectors) - (2.0 - values[:5])[:, None] * found.vectors
    assert np.max(np.linalg.norm(left, axis=1)) < 1e-9
    assert found.beside.shape[1] == 400


def test_parts_of_dense_and_sparse_graphs_are_equal():
    W = (RNG.random((300, 300)) < 0.004).astype(float)
    W = np.maximum(W, W.T)
    dense, sparse_parts = find_parts(W), find_parts(sparse.csr_array(W))
    assert len(np.unique(dense)) > 1
    assert len(np.unique(np.stack([dense, sparse_parts]), axis=1).T) == dense.max() + 1 == sparse_parts.max() + 1


def test_negative_affinities_are_named():
    bad = A.copy()
    bad[3, 7] = bad[7, 3] = -0.5
    for given in (bad, sparse.csr_array(bad)):
        with pytest.raises(ValueError, match=r"that of samples 3 and 7 is -0\.5"):
            tenfold.SpectralClustering(2, affinity="precomputed").fit(given)
        with pytest.raises(ValueError, match="must not be negative"):
            tenfold.spectral_embedding(given)
    with pytest.raises(ValueError, match="must not be negative"):
        tenfold.SpectralClustering(2, affinity="linear").fit(X)


def test_more_components_than_samples_raise():
    few = X[:5]
    with pytest.raises(
        ValueError, match="n_components=5 takes as many eigenvectors after the first, and there are n_s"
    ):
        tenfold.SpectralEmbedding(5, affinity="rbf").fit(few)
    with pytest.raises(ValueError, match="n_samples=5"):
        tenfold.SpectralClustering(6).fit(few)
    with pytest.raises(ValueError, match="n_samples=5"):
        tenfold.SpectralClustering(2, n_components=7).fit(few)
    with pytest.raises(ValueError, match="n_samples=5"):
        tenfold.spectral_embedding(A[:5, :5], n_components=5)
    assert tenfold.SpectralEmbedding(4, affinity="rbf").fit(few).certificate_.ok
    assert tenfold.SpectralClustering(5).fit(few).certificate_.ok


def test_a_matrix_that_is_not_square_raises():
    for affinity in ("precomputed", "precomputed_nearest_neighbors"):
        with pytest.raises(ValueError, match="needs a square matrix"):
            tenfold.SpectralClustering(2, affinity=affinity).fit(X)


def test_affinities_that_are_not_symmetric_are_averaged_with_a_warning():
    skew = A.copy()
    skew[0, 1] = 0.0
    with pytest.warns(UserWarning, match="Array is not symmetric"):
        model = tenfold.SpectralEmbedding(2, affinity="precomputed").fit(skew)
    assert model.affinity_matrix_[0, 1] == 0.0
    same = tenfold.SpectralEmbedding(2, affinity="precomputed").fit(0.5 * (skew + skew.T))
    np.testing.assert_allclose(model.embedding_, same.embedding_, atol=1e-10)


def test_functions_as_affinities():
    by_pairs = tenfold.SpectralClustering(
        2, affinity=lambda x, z, width: np.exp(-np.sum((x - z) ** 2) / width), kernel_params={"width": 1.0}
    ).fit(X[:60])
    np.testing.assert_allclose(by_pairs.affinity_matrix_, A[:60, :60], rtol=1e-12)
    of_all = tenfold.SpectralEmbedding(2, affinity=lambda Z: A[: len(Z), : len(Z)]).fit(X[:60])
    assert of_all.certificate_.ok
    assert tenfold.certify(of_all, X[:60]).ok


def test_float32_is_kept_and_sparse_samples_have_neighbours():
    assert tenfold.SpectralEmbedding(2, affinity="rbf").fit(X.astype(np.float32)).embedding_.dtype == np.float32
    few = sparse.csr_array(np.where(X > 0.3, X, 0.0))
    dense = tenfold.SpectralEmbedding(2, n_neighbors=50).fit(few.toarray())
    np.testing.assert_allclose(tenfold.SpectralEmbedding(2, n_neighbors=50).fit(few).embedding_, dense.embedding_)


def test_duplicated_samples_and_one_cluster():
    twice = np.repeat(X[:30], 2, axis=0)
    model = tenfold.SpectralClustering(3, random_state=0).fit(twice)
    assert model.certificate_.ok
    assert (model.labels_[::2] == model.labels_[1::2]).all()
    assert tenfold.SpectralClustering(1).fit(X[:30]).labels_.tolist() == [0] * 30


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_unit_of_affinities_does_not_matter(scale):
    one = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(A[:90, :90])
    other = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(A[:90, :90] * scale)
    assert other.certificate_.ok
    np.testing.assert_allclose(one.certificate_.objective, other.certificate_.objective, rtol=1e-9)


def test_verbose_says_what_is_assigned(capsys):
    tenfold.SpectralClustering(2, assign_labels="discretize", verbose=True, random_state=0).fit(X[:40])
    assert capsys.readouterr().out == "Computing label assignment using discretize\n"
