"""k-means beside scikit-learn's: equal seeds, equal ends or better ones."""

import numpy as np
import pytest
import sklearn.cluster as sklearn_module
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
    sklearn_model = sklearn_module.kmeans_plusplus(kept[0], k, sample_weight=kept[1], random_state=7)
    if form is np.float32 or k == 30:  # scikit-learn's distances are those of float32, or candidates nearly tie
        assert ours[1][0] == sklearn_model[1][0]
    else:
        np.testing.assert_array_equal(ours[1], sklearn_model[1])
    some = kept[0][ours[1]]
    np.testing.assert_array_equal(ours[0], some.toarray() if sparse.issparse(some) else some)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("weight", [None, WEIGHT + 0.5], ids=["equal", "weights"])
def test_inertia_is_that_of_sklearn_or_lower(init, weight):
    ours = tenfold.KMeans(9, init=init, random_state=1).fit(X, sample_weight=weight)
    sklearn_model = sklearn_module.KMeans(9, init=init, random_state=1).fit(X, sample_weight=weight)
    assert ours.inertia_ <= sklearn_model.inertia_ * (1.0 + 1e-9)
    assert ours.score(X, sample_weight=weight) == pytest.approx(-ours.inertia_, rel=1e-12)
    assert tenfold.certify(sklearn_model, X, sample_weight=weight).objective == pytest.approx(
        sklearn_model.inertia_, rel=1e-9
    )


def test_digits_from_equal_seeds():
    digits = load_digits().data
    ours = tenfold.KMeans(10, random_state=0, tol=0.0).fit(digits)
    sklearn_model = sklearn_module.KMeans(10, random_state=0, tol=0.0).fit(digits)
    np.testing.assert_array_equal(ours.labels_, sklearn_model.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, sklearn_model.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(digits), sklearn_model.transform(digits), atol=1e-6)
    assert ours.n_iter_ == sklearn_model.n_iter_
    assert list(ours.get_feature_names_out()) == list(sklearn_model.get_feature_names_out())


@pytest.mark.parametrize("settings", [{}, {"init": "random"}, {"tol": 1e-3}, {"compute_labels": False}], ids=str)
def test_minibatch_fit_equals_sklearn(settings):
    ours = tenfold.MiniBatchKMeans(9, random_state=0, batch_size=200, **settings).fit(X)
    sklearn_model = sklearn_module.MiniBatchKMeans(9, random_state=0, batch_size=200, **settings).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, sklearn_model.cluster_centers_, rtol=1e-9)
    assert (ours.n_steps_, ours.n_iter_) == (sklearn_model.n_steps_, sklearn_model.n_iter_)
    assert ours.inertia_ == pytest.approx(sklearn_model.inertia_, rel=1e-9)


def test_partial_fit_equals_sklearn():
    ours, sklearn_model = tenfold.MiniBatchKMeans(4, random_state=0), sklearn_module.MiniBatchKMeans(4, random_state=0)
    for some in np.array_split(X, 7):
        ours.partial_fit(some, sample_weight=np.full(len(some), 2.0))
        sklearn_model.partial_fit(some, sample_weight=np.full(len(some), 2.0))
    assert ours.inertia_ == pytest.approx(sklearn_model.inertia_, rel=0.2)
    assert ours.n_steps_ == sklearn_model.n_steps_


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_bisecting_fit_equals_sklearn(strategy):
    settings = {"bisecting_strategy": strategy, "init": "k-means++", "n_init": 4, "random_state": 0, "tol": 0.0}
    ours, sklearn_model = (
        tenfold.BisectingKMeans(6, **settings).fit(X),
        sklearn_module.BisectingKMeans(6, **settings).fit(X),
    )
    assert ours.inertia_ == pytest.approx(sklearn_model.inertia_, rel=1e-6)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    assert ours.certificate_.ok
    ours._nodes = ours._nodes * 1.05
    assert not tenfold.certify(ours, X).ok
