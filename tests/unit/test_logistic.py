"""Logistic regression on every shape that has a plan of its own: many rows, very many columns, limits, restarts."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from estimators import classes, parameters
from tenfold.plans.coordinates import NEWTON_COLUMNS
from tenfold.plans.glm_paths import SUBSAMPLE_SIZE

KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_array,
}


def data(n, p, seed=0):
    X, y, _ = classes(n, p, seed)
    return np.where(np.abs(X) < 0.3, 0.0, X), y


def check(model, X, y, weight=None, C=1.0):
    """Certified, and as good as Newton's method on all rows to the last digit."""
    assert model.certificate_.ok, model.certificate_.explain()
    tight = tenfold.LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12).fit(X, y, sample_weight=weight)
    assert model.certificate_.objective <= tight.certificate_.objective + model.certificate_.allowed
    scores = tight.decision_function(X)
    assert np.max(np.abs(model.decision_function(X) - scores)) <= 0.05 * max(1.0, np.max(np.abs(scores)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("C", [1e-3, 1.0, np.inf])
def test_many_rows(kind, solver, C):
    X, y = data(9000, 6)
    check(tenfold.LogisticRegression(C=C, solver=solver).fit(KINDS[kind](X), y), X, y, C=C)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_so_many_rows_that_two_samples_are_taken(kind, C):
    X, y = data(SUBSAMPLE_SIZE + 1001, 24)
    check(tenfold.LogisticRegression(C=C).fit(KINDS[kind](X), y), X, y, C=C)


@pytest.mark.parametrize("stride", range(1, 12))
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_sample_may_have_no_weight(stride, C):
    """Every so manieth row is without weight: one of these strides is that of the sample."""
    X, y = data(9000, 6)
    weight = np.ones(9000)
    weight[::stride] = 0.0
    if stride == 1:
        weight[1] = weight[2] = weight[3] = weight[8000] = 1.0
        y[[1, 2]], y[[3, 8000]] = "ant", "bee"
        C = 1.0
    check(tenfold.LogisticRegression(C=C).fit(X, y, sample_weight=weight), X, y, weight, C)


@pytest.mark.parametrize("stride", range(2, 12))
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_sample_may_have_one_class(stride, C):
    X, y = data(9000, 6)
    y[::stride] = "ant"
    check(tenfold.LogisticRegression(C=C).fit(X, y), X, y, C=C)


@pytest.mark.parametrize("stride", range(2, 12))
def test_a_column_may_be_constant_in_the_sample(stride):
    X, y = data(9000, 6)
    X[::stride, 2] = 1.0
    X[::stride, 3] = 0.0
    for kind in (np.asarray, sparse.csr_array):
        check(tenfold.LogisticRegression(C=np.inf).fit(kind(X), y), X, y, C=np.inf)


def test_rows_sorted_by_class():
    X, y = data(9000, 6)
    order = np.argsort(y, kind="stable")
    check(tenfold.LogisticRegression().fit(X[order], y[order]), X[order], y[order])


def test_a_few_rows_with_all_the_weight():
    """Weights over twelve orders of magnitude: what a sample says is of little use."""
    X, y = data(9000, 6)
    weight = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 9000)
    check(tenfold.LogisticRegression().fit(X, y, sample_weight=weight), X, y, weight)


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_very_many_columns(kind, fit_intercept, C):
    """Beyond the columns for which a Hessian is formed."""
    rng = np.random.default_rng(0)
    p = NEWTON_COLUMNS + 80
    X = rng.standard_normal((400, p)) * np.linspace(0.1, 1.0, p) + 0.3
    X[np.abs(X) < 0.5] = 0.0
    y = np.where(X[:, -5:].sum(axis=1) + rng.logistic(size=400) > 1.5, "bee", "ant")
    model = tenfold.LogisticRegression(C=C, fit_intercept=fit_intercept, max_iter=1000).fit(KINDS[kind](X), y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.kind == "gap"


def test_very_many_columns_that_are_separable():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, NEWTON_COLUMNS + 80)), np.arange(40) % 2
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = tenfold.LogisticRegression(C=np.inf, max_iter=1000).fit(X, y)
    assert model.status_ == "no maximum"
    sign = np.where(y == 1, 1.0, -1.0)
    assert np.all(sign * (X @ model.separating_direction_[:-1] + model.separating_direction_[-1]) > 0)


def test_the_time_limit():
    X, y = data(9000, 6)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = tenfold.LogisticRegression(C=1e3, tol=1e-14, time_limit=1e-9).fit(X, y)
    assert model.status_ == "time limit"
    assert np.isfinite(model.coef_).all()
    assert model.predict(X[:3]).shape == (3,)
    ample = tenfold.LogisticRegression(time_limit=600.0).fit(X, y)
    np.testing.assert_array_equal(parameters(ample), parameters(tenfold.LogisticRegression().fit(X, y)))


def test_no_iteration_at_all():
    X, y = data(200, 4)
    with pytest.warns(ConvergenceWarning):
        model = tenfold.LogisticRegression(max_iter=0).fit(X, y)
    assert model.n_iter_.tolist() == [0]
    assert not model.certificate_.ok


def test_a_warm_start_continues():
    X, y = data(500, 4)
    model = tenfold.LogisticRegression(C=1.0, warm_start=True).fit(X, y)
    cold = int(model.n_iter_[0])
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_[0] < cold
    np.testing.assert_allclose(model.coef_, before, rtol=1e-3)
    with pytest.raises(ValueError, match="expected shape"):
        model.fit(X[:, :3], y)


def test_steps_only_go_down():
    X, y = data(500, 4)
    for solver in ("lbfgs", "newton-cholesky"):
        trace = tenfold.LogisticRegression(C=1e4, solver=solver, tol=1e-12).fit(X, y).trace_
        objectives = [record.objective for record in trace]
        assert len(objectives) > 2
        assert all(b <= a * (1 + 1e-14) for a, b in itertools.pairwise(objectives))


@pytest.mark.parametrize("seed", range(8))
def test_badly_scaled_columns(seed):
    rng = np.random.default_rng(seed)
    X, y = data(300, 5, seed)
    X = X * 10.0 ** rng.uniform(-6, 6, 5)
    for C in (1e-6, 1.0, 1e6):
        model = tenfold.LogisticRegression(C=C).fit(X, y)
        assert model.certificate_.ok, (C, model.certificate_.explain())


@pytest.mark.parametrize("seed", range(20))
def test_separability_is_decided_rightly(seed):
    """Without a penalty: a linear programme says whether classes can be separated; the status says the same."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n, p = 24, 3
    X = rng.standard_normal((n, p))
    z = X @ rng.standard_normal(p) + rng.choice([0.0, 0.4]) * rng.standard_normal(n)
    y = np.where(z > 0, 1.0, -1.0)
    if len(set(y)) == 1:
        y[0] = -y[0]
    A = -y[:, None] * np.column_stack([X, np.ones(n)])
    separable = linprog(np.zeros(p + 1), A_ub=A, b_ub=-np.ones(n), bounds=[(None, None)] * (p + 1)).status == 0
    model = tenfold.LogisticRegression(C=np.inf, max_iter=1000)
    if separable:
        with pytest.warns(ConvergenceWarning, match="no maximum"):
            model.fit(X, y)
        assert model.status_ == "no maximum"
        assert np.all(y * (X @ model.separating_direction_[:-1] + model.separating_direction_[-1]) > 0)
    else:
        model.fit(X, y)
        assert model.certificate_.ok
        assert not hasattr(model, "separating_direction_")


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_steep_lines(C):
    """Many columns that say the same: the first step is thousands of times too long, and the line flat behind it."""
    random = np.random.default_rng(0)
    n, p = 300, 6000
    y = np.repeat([0, 1], n // 2)
    X = (random.random((n, p)) < 0.15) * random.random((n, p))
    X[:150, : p // 2] = X[150:, p // 2 :] = 0.0
    X[:3], X[-3:] = X[:3, ::-1].copy(), X[-3:, ::-1].copy()
    model = tenfold.LogisticRegression(C=C, max_iter=1000).fit(sparse.csr_array(X), y)
    assert model.certificate_.ok, model.certificate_.explain()


@pytest.mark.parametrize("n", [300, 546])
@pytest.mark.parametrize("weighted", [False, True])
def test_fewer_samples_than_features_but_more_than_a_third(n, weighted):
    """The coordinates are rotated, and samples for a first Hessian are not: none is taken."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 820))
    y = X[:, 0] + rng.standard_normal(n) > 0
    model = tenfold.LogisticRegression(C=0.01).fit(X, y, sample_weight=rng.uniform(0.5, 2.0, n) if weighted else None)
    assert model.certificate_.ok
