"""Least squares of columns that are combinations of others: which decomposition is taken does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp

from tenfold import LinearRegression
from tenfold.arrays import some_rows
from tenfold.solvers import rank_revealing_qr

N = 3000


def categories(rng):
    """Two sets of indicators, which add up to a constant each, beside three numbers."""
    return np.hstack([np.eye(5)[rng.integers(0, 5, N)], np.eye(7)[rng.integers(0, 7, N)], rng.standard_normal((N, 3))])


def cases():
    rng = np.random.default_rng(0)
    X = categories(rng)
    units = X * np.where(np.arange(15) == 13, 1e6, 1.0) * np.where(np.arange(15) == 0, 1e-3, 1.0)
    mixed = np.hstack([X[:, 12:], X[:, 12:] @ rng.standard_normal((3, 2))])
    near = X.copy()
    near[:, 14] = near[:, 13] + 1e-8 * rng.standard_normal(N)
    doubtful = X.copy()
    doubtful[:, 14] = doubtful[:, 13] + 1e-5 * rng.standard_normal(N)
    return {
        "categories": (X, True),
        "sparse": (sp.csr_matrix(X), True),
        "float32": (X.astype(np.float32), True),
        "units": (units, True),
        "a constant": (np.hstack([X, np.full((N, 1), 3.7)]), True),
        "zeros": (np.hstack([X, np.zeros((N, 1))]), True),
        "mixtures": (mixed, True),
        # what a Gram matrix takes for nothing the rows know better
        "nearly equal": (near, False),
        "in doubt": (doubtful, False),
    }


CASES = cases()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_every_solver_returns_the_shortest_solution(name, intercept, weighted, monkeypatch):
    X, quick = CASES[name]
    rng = np.random.default_rng(1)
    y = CASES["categories"][0] @ rng.standard_normal((15, 2)) + rng.standard_normal((N, 2))
    weight = rng.integers(0, 3, N).astype(float) if weighted else None
    original, taken = rank_revealing_qr.factor_gram, []

    def record(*arguments):
        taken.append(original(*arguments))
        return taken[-1]

    monkeypatch.setattr(rank_revealing_qr, "factor_gram", record)
    model = LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    monkeypatch.setattr(rank_revealing_qr, "factor_gram", lambda *_: None)
    slow = LinearRegression(fit_intercept=intercept).fit(X, y, weight)
    assert [result is not None for result in taken] == [quick]
    assert model.certificate_.ok
    assert slow.certificate_.ok
    single = X.dtype == np.float32
    atol = (2e-7 if single else 1e-12) * np.abs(slow.coef_).max()
    np.testing.assert_allclose(model.coef_, slow.coef_, rtol=0, atol=atol)
    assert getattr(model, "rank_", None) == getattr(slow, "rank_", None)
    if quick and not single and not weighted:
        dense = X.toarray() if sp.issparse(X) else X
        centred = dense - dense.mean(axis=0) if intercept else dense
        target = y - y.mean(axis=0) if intercept else y
        shortest = np.linalg.lstsq(centred, target, rcond=1e-12)[0].T
        np.testing.assert_allclose(model.coef_, shortest, rtol=0, atol=1e-9 * np.abs(shortest).max())


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_rows_of_sparse_arrays_are_not_copied(kind):
    X = kind(sp.random(1000, 30, 0.1, format="csr", random_state=0))
    for part in (slice(0, 10), slice(100, 900), slice(990, 2000), slice(5, 5), slice(None, None, 3)):
        result, expected = some_rows(X, part), X[part]
        assert type(result) is kind
        assert result.shape == expected.shape
        assert (result != expected).nnz == 0
    assert np.shares_memory(some_rows(X, slice(2, 9)).data, X.data)
