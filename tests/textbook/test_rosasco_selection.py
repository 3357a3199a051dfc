"""Worked facts of Rosasco, "Machine Learning" (lecture notes), chapter 11: variable selection."""

from itertools import combinations

import numpy as np
import pytest

from tenfold import BestSubset, ForwardSelection, MatchingPursuit, OrthogonalMatchingPursuit, certify


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 7)) + 0.5 * rng.standard_normal((40, 1))
    return X, X[:, :3] @ [1.0, -1.0, 0.5] + 0.7 * rng.standard_normal(40)


def left(X, y, some):
    return float(np.sum((y - X[:, some] @ np.linalg.lstsq(X[:, some], y, rcond=None)[0]) ** 2)) if some else y @ y


def test_11_1_all_subsets(data):
    """Section 11.1: the best columns of every size are those that trying all subsets finds."""
    X, y = data
    model = BestSubset(7, fit_intercept=False).fit(X, y)
    for k in range(8):
        best = min((list(some) for some in combinations(range(7), k)), key=lambda some: left(X, y, some))
        assert np.flatnonzero(model.subsets_[k]).tolist() == best
        np.testing.assert_allclose(model.rss_path_[k], left(X, y, best), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 0.02, 0.1, 10.0])
def test_11_1_the_price_of_a_column(data, alpha):
    """Section 11.1: (1/n) ||Y - Xw||^2 + lambda ||w||_0 at its smallest over all subsets."""
    X, y = data
    model = BestSubset(alpha=alpha, fit_intercept=False).fit(X, y)
    costs = [left(X, y, list(some)) / 40 + alpha * k for k in range(8) for some in combinations(range(7), k)]
    own = np.sum((y - X @ model.coef_) ** 2) / 40 + alpha * np.count_nonzero(model.coef_)
    np.testing.assert_allclose(own, min(costs), rtol=1e-9)
    assert model.certificate_.ok


def test_11_2_the_residual_is_orthogonal_to_what_was_taken(data):
    """Section 11.2: after every step of orthogonal matching pursuit."""
    X, y = data
    for k in range(1, 8):
        model = OrthogonalMatchingPursuit(n_nonzero_coefs=k, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(X[:, model.path_].T @ (y - X @ model.coef_), 0.0, atol=1e-12)


def test_11_2_what_a_step_of_matching_pursuit_takes(data):
    """Section 11.2: ||r - X^j v_j||^2 = ||r||^2 - a_j with a_j = (r'X^j)^2 / ||X^j||^2, for the largest a_j of all."""
    X, y = data
    model = MatchingPursuit(25, fit_intercept=False).fit(X, y)
    r = y.copy()
    for step, k in enumerate(model.path_):
        a = (X.T @ r) ** 2 / np.sum(X**2, axis=0)
        assert np.argmax(a) == k
        left = [np.sum((r - X[:, j] * (r @ X[:, j]) / (X[:, j] @ X[:, j])) ** 2) for j in range(7)]
        np.testing.assert_allclose(left, r @ r - a, rtol=1e-12)
        r = r - X[:, k] * (r @ X[:, k]) / (X[:, k] @ X[:, k])
        np.testing.assert_allclose(model.rss_path_[step + 1], r @ r, rtol=1e-9)
    np.testing.assert_allclose(y - X @ model.coef_, r, atol=1e-12)


def test_11_2_orthogonal_matching_pursuit_leaves_less(data):
    """Section 11.2: fitted anew, the same number of different columns leaves no more."""
    X, y = data
    for steps in range(1, 12):
        plain = MatchingPursuit(steps, fit_intercept=False).fit(X, y)
        anew = OrthogonalMatchingPursuit(n_nonzero_coefs=min(steps, 7), fit_intercept=False).fit(X, y)
        assert np.sum((y - X @ anew.coef_) ** 2) <= plain.rss_path_[-1] * (1 + 1e-12)


def test_11_1_other_columns_are_not_the_best(data):
    """Columns that are not the best, with the best weights on them, are refused."""
    X, y = data
    model = BestSubset(2).fit(X, y)
    worse = ForwardSelection(2).fit(X[:, 3:], y)
    model.coef_, model.intercept_ = np.append(np.zeros(3), worse.coef_), worse.intercept_
    certificate = certify(model, X, y)
    assert not certificate.ok
    assert "Other columns" in certificate.explain()


def test_11_1_too_many_columns():
    with pytest.raises(ValueError, match="at most 40"):
        BestSubset().fit(np.zeros((100, 41)) + np.arange(41.0), np.arange(100.0))
