"""The lower bounds of the Lasso's judge: never above the optimum, and no excuse for bad weights."""

import numpy as np
import pytest
from sklearn.base import clone
from slow_formulas import Lasso as Slow
from slow_formulas import lasso_objective, lasso_optimum

import tenfold
from tenfold import certify


def data(n=80, p=6, t=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1)) + 1.0
    W = rng.standard_normal((p, t or 1)) * (np.arange(p) % 2 == 0)[:, None]
    Y = X @ W + 0.5 * rng.standard_normal((n, t or 1))
    return X, Y if t else Y[:, 0]


def slow(X, y, model, joint):
    """Centred rows in mean units."""
    LONG = np.longdouble
    X, Y = X.astype(LONG), np.reshape(y, (len(X), -1)).astype(LONG)
    root = np.sqrt(LONG(1) / len(X))
    ratio = LONG(model.l1_ratio)
    alpha = LONG(model.alpha)
    positive = bool(getattr(model, "positive", False))
    return Slow(root * (X - X.mean(0)), root * (Y - Y.mean(0)), alpha * ratio, alpha * (1 - ratio), positive, joint)


MODELS = [
    tenfold.Lasso(alpha=1e-12),
    tenfold.Lasso(alpha=1e-12, positive=True),
    tenfold.Lasso(alpha=0.1),
    tenfold.ElasticNet(alpha=0.1, l1_ratio=0.5),
    tenfold.ElasticNet(alpha=1e-3, l1_ratio=0.0),
    tenfold.MultiTaskLasso(alpha=1e-10),
    tenfold.MultiTaskElasticNet(alpha=0.2),
]


@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize("factor", [0.0, 0.5, 0.97, 0.9999, 1.0, 1.0001, 1.03, 1.5])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_bound_is_never_above_the_optimum(model, factor, tol):
    joint = type(model).__name__.startswith("Multi")
    X, y = data(t=2 if joint else None)
    model = type(model)(**{**model.get_params(), "tol": 1e-11, "max_iter": 10_000}).fit(X, y)
    judged = certify(model.set_params(tol=tol), X, y)
    assert judged.ok, judged.explain()
    model.coef_ = model.coef_ * factor
    model.intercept_ = np.mean(y, axis=0) - X.mean(axis=0) @ model.coef_.T
    judged = certify(model, X, y)
    problem = slow(X, y, model, joint)
    W = np.atleast_2d(model.coef_).T.astype(np.longdouble)
    excess = float(lasso_objective(problem, W) - lasso_optimum(problem, W))
    assert judged.value + judged.floor >= excess
    # rounding must not excuse a bad fit, however small the penalty
    assert judged.floor <= 1e-6 * judged.scale
    if excess > 1.01 * judged.allowed:
        assert not judged.ok
    assert (excess > judged.allowed) or factor in (0.9999, 1.0, 1.0001) or judged.value <= 100 * max(excess, tol)


def test_negative_weights_are_infinitely_bad_where_they_are_forbidden():
    X, y = data()
    model = tenfold.Lasso(alpha=0.1, positive=True).fit(X, y)
    model.coef_[0] = -1e-9
    judged = certify(model, X, y)
    assert not judged.ok
    assert judged.value == np.inf


def test_the_fit_and_the_moments_say_the_same():
    """Tight and loose: from the moments in fit, from the rows in certify."""
    X, y = data()
    for alpha in (1e-9, 0.05, 10.0):
        model = tenfold.Lasso(alpha=alpha, tol=1e-6).fit(X, y)
        judged = certify(model, X, y)
        assert abs(judged.value - model.certificate_.value) <= 2 * max(judged.floor, model.certificate_.floor)
        assert judged.objective == pytest.approx(model.certificate_.objective, rel=1e-12)


FAR = [
    tenfold.Lasso(alpha=0.5, fit_intercept=False, max_iter=100_000),
    tenfold.ElasticNet(alpha=0.01, fit_intercept=False, max_iter=100_000),
    tenfold.Lasso(alpha=0.5, fit_intercept=False, positive=True, max_iter=100_000),
    tenfold.MultiTaskLasso(alpha=0.1, fit_intercept=False, max_iter=100_000),
    tenfold.MultiTaskElasticNet(alpha=0.1, fit_intercept=False, max_iter=100_000),
    tenfold.LassoLars(alpha=0.1, fit_intercept=False),
]


def far(joint, n=200, p=8, offset=1000.0):
    """Columns far from zero, in float32, whose weights cancel: their last digit moves residuals by 3e-3."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((n, p))
    Y = Z[:, :3] @ np.array([[10.0, 5.0], [20.0, -10.0], [-30.0, 5.0]]) + rng.standard_normal((n, 2))
    return (offset + Z).astype(np.float32), (Y if joint else Y[:, 0]).astype(np.float32)


@pytest.mark.parametrize(("model", "p"), [*((m, 8) for m in FAR), *((m, 300) for m in FAR[:2])], ids=str)
def test_rounded_weights_of_columns_far_from_zero_are_judged_by_dual_points_of_digits_not_stored(model, p):
    X, y = far(type(model).__name__.startswith("Multi"), p=p)
    model = clone(model).fit(X, y)
    assert model.coef_.dtype == np.float32
    for judged in (model.certificate_, certify(model, X, y)):
        assert judged.ok, judged.explain()
        # what single precision costs the objective is far below the tolerance, and rounding is no excuse
        assert judged.floor <= 1e-6 * judged.scale


@pytest.mark.parametrize("change", [1e-5, -1e-4, 1e-3, 0.03])
@pytest.mark.parametrize("model", FAR, ids=str)
def test_gap_of_perturbed_float32_weights_is_their_excess(model, change):
    X, y = far(type(model).__name__.startswith("Multi"))
    model = clone(model).fit(X, y)
    best = clone(model).set_params(**({"tol": 1e-10} if hasattr(model, "tol") else {})).fit(X.astype(float), y)
    most = np.argmax(np.abs(np.atleast_2d(model.coef_)).max(axis=0))
    model.coef_ = model.coef_.copy()
    model.coef_[..., most] *= np.float32(1.0 + change)
    judged = certify(model, X, y)
    cost = judged.objective - best.certificate_.objective
    assert cost - judged.floor <= judged.value <= 1.01 * cost + 2.0 * judged.floor + 2.0 * best.certificate_.value
    assert judged.ok == (cost <= judged.allowed)


def test_an_l1_penalty_and_a_margin_that_cancels_in_single_precision():
    X, y = far(joint=False)
    model = tenfold.LogisticRegression(l1_ratio=1.0, solver="saga", fit_intercept=False, max_iter=10_000)
    model.fit(X, y > 0)
    assert model.certificate_.ok
    assert certify(model, X, y > 0).value < 1e-7
    model.coef_ *= np.float32(1.02)
    assert not certify(model, X, y > 0).ok
