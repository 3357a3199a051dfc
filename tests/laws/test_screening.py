"""Gap-safe screening: no feature that is active at an optimum is excluded, whichever weights it is applied at."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from hypothesis import given
from hypothesis import strategies as st

from tenfold.lasso_dual import dual_norm, duality_gap, gap_safe_screen
from tenfold.penalties import L21, ElasticNet


@st.composite
def problems(draw, multi_task):
    """Centred features in mean units, some of them alike; a penalty, and a factor of the optimal weights."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, t = draw(st.integers(4, 20)), draw(st.integers(2, 30)), 2 if multi_task else 1
    X = rng.standard_normal((n, p)) * rng.choice([0.1, 1.0, 5.0], p)
    if draw(st.booleans()):
        X[:, 1] = X[:, 0]
    X -= X.mean(axis=0)
    Y = X @ (rng.standard_normal((p, t)) * (rng.random((p, 1)) < 0.4)) + 0.3 * rng.standard_normal((n, t))
    Y -= Y.mean(axis=0)
    positive = not multi_task and draw(st.booleans())
    top = float(np.max(dual_norm(Y.T @ X / n, positive), initial=0.0))
    l1 = draw(st.sampled_from([0.9, 0.5, 0.1, 0.02])) * (top or 1.0)
    l2 = draw(st.sampled_from([0.0, 0.0, 0.1 * l1, 3.0 * l1]))
    penalty = L21(l1, l2) if multi_task else ElasticNet(l1, l2, positive)
    return X, Y, penalty, draw(st.sampled_from([0.0, 0.5, 0.99, 1.0 - 1e-6, 1.0, 1.2]))


def optimum(X, Y, penalty):
    """scikit-learn's weights (t, p)."""
    l1, l2 = penalty.l1, penalty.l2
    settings = {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2), "fit_intercept": False}
    settings |= {"tol": 1e-12, "max_iter": 100_000}
    if Y.shape[1] > 1:
        return sklearn_module.MultiTaskElasticNet(**settings).fit(X, Y).coef_
    return sklearn_module.ElasticNet(positive=penalty.positive, **settings).fit(X, Y[:, 0]).coef_[None, :]


def read(X, Y, W):
    n, R = len(X), Y - X @ W.T
    return R.T @ X / n, float(np.sum(R * R)) / n


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("multi_task", [False, True])
@given(data=st.data())
def test_active_features_are_never_excluded(multi_task, data):
    X, Y, penalty, factor = data.draw(problems(multi_task))
    best = optimum(X, Y, penalty)
    lengths = np.sqrt(np.sum(X * X, axis=0) / len(X))
    correlation, squares = read(X, Y, factor * best)
    kept = gap_safe_screen(penalty, factor * best, correlation, squares, lengths)
    used = np.abs(best).max(axis=0) > 1e-6 * np.abs(best).max(initial=0.0)
    assert not np.any(used & ~kept)


def test_at_the_optimum_inactive_features_are_excluded():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 400))
    X -= X.mean(axis=0)
    Y = X[:, :3] @ rng.standard_normal((3, 1)) + 0.1 * rng.standard_normal((50, 1))
    Y -= Y.mean(axis=0)
    lengths, penalty = np.sqrt(np.sum(X * X, axis=0) / 50), ElasticNet(0.1)
    best = optimum(X, Y, penalty)
    correlation, squares = read(X, Y, best)
    assert duality_gap(penalty, best, correlation, squares) < 1e-9
    assert np.count_nonzero(gap_safe_screen(penalty, best, correlation, squares, lengths)) < 20
    assert gap_safe_screen(ElasticNet(0.0, 1.0), best, correlation, squares, lengths).all()
