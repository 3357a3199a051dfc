"""k-means beside scikit-learn's: equal seeds, equal ends or better ones."""

import numpy as np
import pytest
import sklearn.cluster as theirs
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs

import tenfold

X = make_blobs(1500, 6, centers=9, cluster_std=2.0, random_state=3)[0]
WEIGHT = np.random.default_rng(0).integers(0, 4, len(X)).astype(np.float64)


@pytest.mark.parametrize("k", [1, 4, 9, 30])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weights"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.float32], ids=["dense", "sparse", "float32"])
def test_seeds(k, weight, form):
    rows = form(X)
    kept = (rows, weight) if weight is None else (rows[weight > 0], weight[weight > 0])
    ours = tenfold.kmeans_plusplus(kept[0], k, sample_weight=kept[1], random_state=7)
    his = theirs.kmeans_plusplus(kept[0], k, sample_weight=kept[1], random_state=7)
    if form is np.float32 or k == 30:  # his distances are those of float32, or candidates nearly tie
        assert ours[1][0] == his[1][0]
    else:
        np.testing.assert_array_equal(ours[1], his[1])
    some = kept[0][ours[1]]
    np.testing.assert_array_equal(ours[0], some.toarray() if sparse.issparse(some) else some)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("weight", [None, WEIGHT + 0.5], ids=["equal", "weights"])
def test_the_end_is_his_or_better(init, weight):
    ours = tenfold.KMeans(9, init=init, random_state=1).fit(X, sample_weight=weight)
    his = theirs.KMeans(9, init=init, random_state=1).fit(X, sample_weight=weight)
    assert ours.inertia_ <= his.inertia_ * (1.0 + 1e-9)
    assert ours.score(X, sample_weight=weight) == pytest.approx(-ours.inertia_, rel=1e-12)
    assert tenfold.certify(his, X, sample_weight=weight).objective == pytest.approx(his.inertia_, rel=1e-9)


def test_digits_from_equal_seeds():
    digits = load_digits().data
    ours = tenfold.KMeans(10, random_state=0, tol=0.0).fit(digits)
    his = theirs.KMeans(10, random_state=0, tol=0.0).fit(digits)
    np.testing.assert_array_equal(ours.labels_, his.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, his.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(digits), his.transform(digits), atol=1e-6)
    assert ours.n_iter_ == his.n_iter_
    assert list(ours.get_feature_names_out()) == list(his.get_feature_names_out())


@pytest.mark.parametrize("settings", [{}, {"init": "random"}, {"tol": 1e-3}, {"compute_labels": False}], ids=str)
def test_batches_are_his(settings):
    ours = tenfold.MiniBatchKMeans(9, random_state=0, batch_size=200, **settings).fit(X)
    his = theirs.MiniBatchKMeans(9, random_state=0, batch_size=200, **settings).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, his.cluster_centers_, rtol=1e-9)
    assert (ours.n_steps_, ours.n_iter_) == (his.n_steps_, his.n_iter_)
    assert ours.inertia_ == pytest.approx(his.inertia_, rel=1e-9)


def test_parts_are_his():
    ours, his = tenfold.MiniBatchKMeans(4, random_state=0), theirs.MiniBatchKMeans(4, random_state=0)
    for some in np.array_split(X, 7):
        ours.partial_fit(some, sample_weight=np.full(len(some), 2.0))
        his.partial_fit(some, sample_weight=np.full(len(some), 2.0))
    assert ours.inertia_ == pytest.approx(his.inertia_, rel=0.2)
    assert ours.n_steps_ == his.n_steps_


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_halves_are_his(strategy):
    settings = {"bisecting_strategy": strategy, "init": "k-means++", "n_init": 4, "random_state": 0, "tol": 0.0}
    ours, his = tenfold.BisectingKMeans(6, **settings).fit(X), theirs.BisectingKMeans(6, **settings).fit(X)
    assert ours.inertia_ == pytest.approx(his.inertia_, rel=1e-6)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    assert ours.certificate_.ok
    ours._nodes = ours._nodes * 1.05
    assert not tenfold.certify(ours, X).ok
