"""Spectral embeddings and clusterings: certificates beside dense references, and models that were changed."""

import copy
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.linalg as la
import sklearn.cluster
import sklearn.manifold
from scipy import sparse
from scipy.sparse import csgraph
from tampering import tamper

import tenfold
from tenfold.judge import spectral_graph as judge
from tenfold.pairwise.graphs import graph_of

LABELS = ("kmeans", "discretize", "cluster_qr")


def clouds(n=90, p=3, seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * spread + 4.0 * np.eye(3, p)[np.arange(n) % 3]


def affinity(X, gamma=0.1):
    return np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))


def cut_of(A, labels):
    """The normalised cut by its definition, pair by pair."""
    W, total = A - np.diag(np.diag(A)), 0.0
    for k in np.unique(labels):
        inside = labels == k
        volume = W[inside].sum()
        total += W[inside][:, ~inside].sum() / volume if volume else 0.0
    return total


def refused(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return not tenfold.certify(model, X).ok
        except ValueError:
            return True


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("how", ["dense", "sparse"])
def test_embedding_is_that_of_a_dense_eigendecomposition(n, how):
    A = affinity(clouds(n))
    if how == "sparse":
        A = np.where(A > 0.2, A, 0.0)
    L, roots = csgraph.laplacian(A, normed=True, return_diag=True)
    values, vectors = la.eigh(L)
    given = sparse.csr_array(A) if how == "sparse" else A
    model = tenfold.SpectralEmbedding(3, affinity="precomputed", random_state=0).fit(given)
    assert model.certificate_.ok
    assert model.certificate_.objective == pytest.approx(values[1:4].sum(), abs=1e-9)
    expected = vectors[:, 1:4] / roots[:, None]
    expected *= np.sign(expected[np.argmax(np.abs(expected), axis=0), range(3)])
    np.testing.assert_allclose(model.embedding_, expected, atol=1e-7 * np.abs(expected).max())
    for place in (A, given):
        assert tenfold.certify(model, place).ok


@pytest.mark.parametrize("method", LABELS)
def test_cut_and_bound(method):
    X = clouds()
    A = affinity(X)
    model = tenfold.SpectralClustering(3, gamma=0.1, assign_labels=method, random_state=0).fit(X)
    certificate = tenfold.certify(model, X)
    assert certificate.ok
    assert model.certificate_.ok
    assert certificate.objective == pytest.approx(cut_of(A, model.labels_), rel=1e-10)
    eigenvalues = la.eigvalsh(csgraph.laplacian(A, normed=True))
    assert certificate.lower_bound <= eigenvalues[:3].sum() + 1e-14
    assert certificate.lower_bound == pytest.approx(eigenvalues[:3].sum(), abs=1e-6)
    assert f"{certificate.objective:.6g}" in certificate.explain()


@pytest.mark.parametrize("seed", range(6))
def test_bound_is_below_the_cut_of_all_labels(seed):
    """Every partition of a few samples, one of them isolated, and few components or many."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((7, 7)) * (rng.random((7, 7)) < 0.6), 1)
    A[5] = A[:, 5] = 0.0
    A = A + A.T + np.eye(7)
    graph = graph_of(A)
    for k in (2, 3, 4):
        least = min(cut_of(A, np.array(p)) for p in product(range(k), repeat=7) if len(set(p)) == k)
        for components in (1, 2, 4, 6):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                columns = tenfold.spectral_embedding(A, n_components=components, drop_first=False)
            labels = np.arange(7) % k
            certificate = judge.cut_alone(A, graph, labels, columns, None)
            assert certificate.lower_bound <= least + 1e-12
            assert certificate.objective == pytest.approx(cut_of(A, labels), rel=1e-12)
            if components >= k and least > 0.0 and k == 2:
                assert certificate.lower_bound >= 0.0


def test_the_diagonal_is_no_weight():
    """Large affinities of samples with themselves change neither cut nor bound."""
    A = affinity(clouds(60))
    one = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(A)
    other = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(A + 1e6 * np.eye(60))
    assert one.certificate_.objective == pytest.approx(other.certificate_.objective, rel=1e-12)
    assert one.certificate_.lower_bound == pytest.approx(other.certificate_.lower_bound, rel=1e-9)


def models():
    X = clouds()
    for method in LABELS:
        yield tenfold.SpectralClustering(3, gamma=0.1, assign_labels=method, random_state=0).fit(X), X
    graph = tenfold.SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=20, random_state=0)
    yield graph.fit(X), X
    yield tenfold.SpectralClustering(3, gamma=0.1, normalize_rows=True, n_components=2, random_state=0).fit(X), X
    yield tenfold.SpectralEmbedding(2, affinity="rbf").fit(X), X
    yield tenfold.SpectralEmbedding(2, n_neighbors=20).fit(X), X
    yield tenfold.SpectralEmbedding(2, affinity="rbf").fit(X.astype(np.float32)), X.astype(np.float32)
    yield sklearn.manifold.SpectralEmbedding(2, affinity="rbf", random_state=0).fit(X), X
    yield sklearn.manifold.SpectralEmbedding(2, n_neighbors=20, random_state=0).fit(X), X


def is_symmetry(model, name, worse):
    """Columns with other signs are eigenvectors, too, and so are clusters with other numbers."""
    if name == "labels_":
        pairs = set(zip(model.labels_.tolist(), worse.labels_.tolist(), strict=True))
        return len(pairs) == len(set(model.labels_.tolist())) == len(set(worse.labels_.tolist()))
    return False


@pytest.mark.parametrize(("model", "X"), list(models()), ids=lambda value: type(value).__name__)
def test_tampered_models_are_refused(model, X):
    assert tenfold.certify(model, X).ok
    kept = [
        f"{name}: {change}"
        for name, change, worse in tamper(model)
        if not is_symmetry(model, name, worse) and not refused(worse, X)
    ]
    assert kept == []


@pytest.mark.parametrize("size", [90, 700])
def test_left_out_and_repeated_eigenvectors_are_refused(size):
    A = affinity(clouds(size))
    columns = tenfold.spectral_embedding(A, n_components=5, drop_first=False)
    graph = graph_of(A)
    assert judge.embedding(graph, columns[:, :3], drop_first=False).ok
    assert judge.embedding(graph, columns[:, 1:4], drop_first=True).ok
    for wrong in ([0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 1], [1, 0, 2]):
        assert not judge.embedding(graph, columns[:, wrong], drop_first=False).ok
    turned = columns[:, :3].copy()
    turned[:, :2] = (columns[:, :2] @ [[1.0, 1e-3], [-1e-3, 1.0]]) / np.sqrt(1.0 + 1e-6)
    assert not judge.embedding(graph, turned, drop_first=False).ok


def test_clustering_of_scikit_learn_has_a_cut_and_a_bound_and_is_not_judged():
    X = clouds()
    model = sklearn.cluster.SpectralClustering(3, gamma=0.1, random_state=0).fit(X)
    certificate = tenfold.certify(model, X)
    assert certificate.status == "not judged"
    assert not certificate.ok
    assert certificate.objective == pytest.approx(cut_of(affinity(X), model.labels_), rel=1e-10)
    assert 0.0 < certificate.lower_bound <= certificate.objective
    worse = copy.deepcopy(model)
    worse.labels_ = np.roll(model.labels_, 1)
    assert tenfold.certify(worse, X).objective > 1.1 * certificate.objective
    worse.affinity_matrix_ = 2.0 * model.affinity_matrix_
    assert tenfold.certify(worse, X).status == "inconsistent"


def test_graphs_of_neighbours_differ_at_ties():
    X = np.repeat(np.arange(30.0), 3)[:, None] * [1.0, 0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.manifold.SpectralEmbedding(2, n_neighbors=8, random_state=0).fit(X)
        assert tenfold.certify(theirs, X).ok
        ours = tenfold.SpectralEmbedding(2, n_neighbors=8).fit(X)
        assert tenfold.certify(ours, X).ok
        wrong = copy.deepcopy(theirs)
        wrong.affinity_matrix_ = theirs.affinity_matrix_.tolil()
        i, j = theirs.affinity_matrix_.nonzero()
        wrong.affinity_matrix_[i[3], j[3]] = wrong.affinity_matrix_[j[3], i[3]] = 0.0
        wrong.affinity_matrix_[0, 89] = wrong.affinity_matrix_[89, 0] = theirs.affinity_matrix_[i[3], j[3]]
        wrong.affinity_matrix_ = wrong.affinity_matrix_.tocsr()
        assert not tenfold.certify(wrong, X).ok


def test_parts_of_a_graph_are_clusters():
    """Of a disconnected graph with as many parts as clusters the cut is zero, and the bound is, too."""
    A = la.block_diag(*(np.ones((size, size)) for size in (5, 9, 14)))
    with pytest.warns(UserWarning, match="it has 3 parts, the largest of 14 samples"):
        model = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(A)
    assert model.certificate_.ok
    assert model.certificate_.objective == model.certificate_.lower_bound == 0.0
    assert [len(set(part)) for part in np.split(model.labels_, [5, 14])] == [1, 1, 1]
    with pytest.warns(UserWarning, match="3 parts"):
        embedded = tenfold.SpectralEmbedding(2, affinity="precomputed").fit(A)
    assert tenfold.certify(embedded, A).ok


@pytest.mark.parametrize("sparse_graph", [False, True])
def test_isolated_samples_are_named_and_have_the_eigenvalue_one(sparse_graph):
    A = affinity(clouds(60))
    A[7] = A[:, 7] = 0.0
    given = sparse.csr_array(A) if sparse_graph else A
    with pytest.warns(UserWarning, match="2 parts, the largest of 59 samples, and 1 of them are isolated"):
        model = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(given)
    assert model.certificate_.ok
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sklearn.manifold.spectral_embedding(A, n_components=3, drop_first=False, random_state=0)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(theirs), atol=1e-8)
    assert model.certificate_.lower_bound <= model.certificate_.objective


@pytest.mark.parametrize("count", [30, 60, 333])
def test_parts_whose_rows_are_equal(count):
    """Of a graph in parts all rows of a part are one point up to rounding, which is no scale of energies."""
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    rings = np.concatenate([np.column_stack([np.cos(angle), np.sin(angle)]) * r for r in (1.0, 4.0)])
    settings = {"affinity": "nearest_neighbors", "n_neighbors": 6, "random_state": 0}
    with pytest.warns(UserWarning, match="it has 2 parts"):
        model = tenfold.SpectralClustering(2, **settings).fit(rings)
    assert model.certificate_.ok
    wrong = copy.deepcopy(model)
    wrong.labels_[0] = 1 - wrong.labels_[0]
    assert not tenfold.certify(wrong, rings).ok
