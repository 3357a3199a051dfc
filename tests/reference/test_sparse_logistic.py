"""Logistic regression with L1 and elastic-net penalties: scikit-learn's optimum, conditions of the optimum, sources."""

import copy

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold as tf
from tenfold.data import MemoryRows
from tenfold.judge.linear_models import gap
from tenfold.losses import Softmax
from tenfold.penalties import ElasticNet
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params


def make(n=150, p=6, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 0.3
    W = rng.standard_normal((p, K)) * (np.arange(p) < 3)[:, None]
    return X, np.argmax(X @ W + rng.gumbel(size=(n, K)), axis=1)


def log_odds_loss(model, X, y):
    """sum_i of the loss, by plain formulas."""
    z = X @ model.coef_.T + model.intercept_
    z = np.column_stack([np.zeros(len(y)), z]) if z.shape[1] == 1 else z
    return float(np.sum(np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]))


def objective(model, X, y, C, ratio):
    w = model.coef_
    return C * log_odds_loss(model, X, y) + ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * np.sum(w**2)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_the_optimum_of_saga(C, ratio, K):
    X, y = make(K=K)
    ours = tf.LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=1e-9).fit(X, y)
    reference = sk.LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=1e-10, max_iter=100_000).fit(X, y)
    assert ours.certificate_.ok
    assert objective(ours, X, y, C, ratio) <= objective(reference, X, y, C, ratio) * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=2e-4)
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(reference.coef_) < 1e-7)
    certificate = tf.certify(reference, X, y)
    assert certificate.ok
    # the bound holds for what was found by others
    excess = (objective(reference, X, y, C, ratio) - objective(ours, X, y, C, ratio)) / (C * len(y))
    assert certificate.value + certificate.floor >= excess


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_many_columns_have_the_conditions_of_the_optimum(ratio, K):
    """Pulls of columns without a weight are at most the penalty; working sets, dense and sparse, meet."""
    rng = np.random.default_rng(1)
    X, y = make(n=120, p=5, K=K)
    X = np.hstack([X, rng.standard_normal((120, 1100)) * (rng.random((120, 1100)) < 0.1)])
    dense, few = (
        tf.LogisticRegression(l1_ratio=ratio, solver="saga", tol=1e-7).fit(A, y) for A in (X, sparse.csr_array(X))
    )
    assert dense.certificate_.ok
    assert few.certificate_.ok
    np.testing.assert_allclose(few.coef_, dense.coef_, atol=1e-5)
    q = dense.predict_proba(X)
    right = y[:, None] == np.arange(K)
    gradient = ((right - q).T @ X)[-len(dense.coef_) :]
    w = dense.coef_
    np.testing.assert_allclose(gradient[w != 0], (ratio * np.sign(w) + (1 - ratio) * w)[w != 0], atol=2e-3)
    assert np.all(np.abs(gradient[w == 0]) <= ratio + 2e-3)
    assert 0 < np.count_nonzero(w) < w.size / 2


def test_weights_are_repeated_rows():
    X, y = make()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    settings = {"l1_ratio": 1.0, "C": 0.5, "solver": "liblinear", "tol": 1e-9}
    one = tf.LogisticRegression(**settings).fit(X, y, sample_weight=weight)
    two = tf.LogisticRegression(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-7)


def test_strong_penalty_leaves_no_weights_and_a_note():
    X, y = make()
    model = tf.LogisticRegression(C=1e-4, l1_ratio=1.0, solver="saga").fit(X, y)
    assert not model.coef_.any()
    assert model.certificate_.ok
    assert "All weights are zero" in model.certificate_.explain()
    share = y.mean()
    np.testing.assert_allclose(model.intercept_[0], np.log(share / (1 - share)), atol=1e-3)


@pytest.mark.parametrize("K", [2, 3])
def test_worsened_copies_are_not_certified(K):
    X, y = make(K=K)
    model = tf.LogisticRegression(l1_ratio=1.0, solver="saga").fit(X, y)
    for change in (lambda m: m.coef_ * 1.05, lambda m: m.coef_ + 0.05 * (m.coef_ == 0)):
        worse = copy.deepcopy(model)
        worse.coef_ = change(model) if change(model).any() else model.coef_ + 0.05
        if np.array_equal(worse.coef_, model.coef_):
            worse.coef_ = model.coef_ + 0.05
        assert not tf.certify(worse, X, y).ok
    worse = copy.deepcopy(model)
    worse.intercept_ = model.intercept_ + np.linspace(0.05, 0.1, len(model.intercept_))
    assert not tf.certify(worse, X, y).ok


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_the_gap_of_classes_is_never_below_the_truth(ratio):
    checked = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = make(n=40, p=3, K=3, seed=seed)
        C = float(10.0 ** rng.uniform(-2, 1))
        best = tf.LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=1e-10, max_iter=1000).fit(X, y)
        alpha = 1.0 / (C * len(y))
        problem = Glm(Softmax(), ElasticNet(alpha * ratio, alpha * (1 - ratio)), True)
        rows = MemoryRows(X, y[:, None].astype(float))
        for _ in range(10):
            size = 10.0 ** rng.uniform(-6, 1)
            W = best.coef_ + size * rng.standard_normal((3, 3))
            b = best.intercept_ + size * rng.standard_normal(3)
            certificate = gap(problem, rows, Params(W, b))
            worse = copy.deepcopy(best)
            worse.coef_, worse.intercept_ = W, b
            excess = (objective(worse, X, y, C, ratio) - objective(best, X, y, C, ratio)) * alpha
            assert certificate.value + certificate.floor + 1e-14 >= excess
            checked += 1
    assert checked == 120


def test_duplicated_and_empty_columns():
    """Not unique: the certificate holds all the same."""
    X, y = make()
    X = np.column_stack([X, X[:, 0], np.zeros(len(y)), X[:, 1]])
    model = tf.LogisticRegression(l1_ratio=1.0, solver="saga").fit(X, y)
    assert model.certificate_.ok
    assert model.coef_[0, 7] == 0.0


def test_one_iteration_is_not_enough():
    X, y = make()
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = tf.LogisticRegression(C=100.0, l1_ratio=1.0, solver="saga", max_iter=1).fit(X, y)
    assert not model.certificate_.ok


def test_files_dask_and_other_arrays():
    array, strict = pytest.importorskip("dask.array"), pytest.importorskip("array_api_strict")
    X, y = make()
    settings = {"l1_ratio": 0.7, "solver": "saga", "tol": 1e-9}
    alone = tf.LogisticRegression(**settings).fit(X, y)
    variants = [
        (tf.rows([(X[:70], y[:70]), (X[70:], y[70:])]), None),
        (array.from_array(X, chunks=(60, 6)), array.from_array(y, chunks=60)),
        (strict.asarray(X), strict.asarray(y)),
    ]
    for given, target in variants:
        model = tf.LogisticRegression(**settings).fit(given, target)
        assert model.certificate_.ok
        np.testing.assert_allclose(np.asarray(model.coef_), alone.coef_, atol=1e-8)


def test_many_columns_on_a_device_go_by_proximal_gradients():
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X, y = make(n=60, p=4)
    X = np.hstack([X, 0.1 * rng.standard_normal((60, 800))])
    settings = {"l1_ratio": 1.0, "C": 0.3, "solver": "saga", "max_iter": 2000}
    far = tf.LogisticRegression(**settings).fit(strict.asarray(X), strict.asarray(y))
    assert far.certificate_.ok
    near = tf.LogisticRegression(**settings).fit(X, y)
    np.testing.assert_allclose(np.asarray(far.coef_), near.coef_, atol=5e-3)


def test_float32_and_warm_starts():
    X, y = make()
    model = tf.LogisticRegression(l1_ratio=1.0, solver="saga", warm_start=True).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert model.certificate_.ok
    steps = model.n_iter_[0]
    assert model.fit(X.astype(np.float32), y).n_iter_[0] < steps
