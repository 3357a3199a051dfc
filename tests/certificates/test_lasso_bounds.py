"""The lower bounds of the Lasso's judge: never above the optimum, and no excuse for bad weights."""

import numpy as np
import pytest
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
