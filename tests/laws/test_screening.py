"""Screening: a column that an optimum uses is never left out, wherever the weights are that it is asked at."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from hypothesis import given
from hypothesis import strategies as st

from tenfold.problems import duality_gap, pulled, safe


@st.composite
def problems(draw, joint):
    """Centred columns in mean units, some of them alike; penalties, and how far from the optimum to ask."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, t = draw(st.integers(4, 20)), draw(st.integers(2, 30)), 2 if joint else 1
    X = rng.standard_normal((n, p)) * rng.choice([0.1, 1.0, 5.0], p)
    if draw(st.booleans()):
        X[:, 1] = X[:, 0]
    X -= X.mean(axis=0)
    Y = X @ (rng.standard_normal((p, t)) * (rng.random((p, 1)) < 0.4)) + 0.3 * rng.standard_normal((n, t))
    Y -= Y.mean(axis=0)
    positive = not joint and draw(st.booleans())
    top = float(np.max(pulled(Y.T @ X / n, positive), initial=0.0))
    l1 = draw(st.sampled_from([0.9, 0.5, 0.1, 0.02])) * (top or 1.0)
    l2 = draw(st.sampled_from([0.0, 0.0, 0.1 * l1, 3.0 * l1]))
    return X, Y, (l1, l2), positive, draw(st.sampled_from([0.0, 0.5, 0.99, 1.0 - 1e-6, 1.0, 1.2]))


def optimum(X, Y, penalty, positive):
    """scikit-learn's weights (t, p)."""
    l1, l2 = penalty
    settings = {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2), "fit_intercept": False}
    settings |= {"tol": 1e-12, "max_iter": 100_000}
    if Y.shape[1] > 1:
        return sklearn_module.MultiTaskElasticNet(**settings).fit(X, Y).coef_
    return sklearn_module.ElasticNet(positive=positive, **settings).fit(X, Y[:, 0]).coef_[None, :]


def look(X, Y, W):
    n, R = len(X), Y - X @ W.T
    return R.T @ X / n, float(np.sum(R * R)) / n


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("joint", [False, True])
@given(data=st.data())
def test_no_column_of_the_optimum_is_left_out(joint, data):
    X, Y, penalty, positive, factor = data.draw(problems(joint))
    best = optimum(X, Y, penalty, positive)
    lengths = np.sqrt(np.sum(X * X, axis=0) / len(X))
    pull, squares = look(X, Y, factor * best)
    kept = safe(penalty, positive, factor * best, pull, squares, lengths)
    used = np.abs(best).max(axis=0) > 1e-6 * np.abs(best).max(initial=0.0)
    assert not np.any(used & ~kept)


def test_at_the_optimum_the_others_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 400))
    X -= X.mean(axis=0)
    Y = X[:, :3] @ rng.standard_normal((3, 1)) + 0.1 * rng.standard_normal((50, 1))
    Y -= Y.mean(axis=0)
    lengths, penalty = np.sqrt(np.sum(X * X, axis=0) / 50), (0.1, 0.0)
    best = optimum(X, Y, penalty, False)
    pull, squares = look(X, Y, best)
    assert duality_gap(penalty, False, best, pull, squares) < 1e-9
    assert np.count_nonzero(safe(penalty, False, best, pull, squares, lengths)) < 20
    assert safe((0.0, 1.0), False, best, pull, squares, lengths).all()
