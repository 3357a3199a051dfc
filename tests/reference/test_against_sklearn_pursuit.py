"""Orthogonal matching pursuit beside scikit-learn's: the same columns, weights, numbers and errors."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse

import tenfold
from design import only_if


def data(n, p, seed=0, targets=None, offset=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + offset
    w = np.zeros((p, targets or 1))
    for k in range(w.shape[1]):
        w[rng.choice(p, min(5, p), replace=False), k] = 2.0 * rng.standard_normal(min(5, p))
    Y = X @ w + 0.5 * rng.standard_normal((n, w.shape[1]))
    return X, Y if targets else Y[:, 0]


SHAPES = [(60, 4), (80, 30), (40, 40), (30, 100), (100, 500)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("settings", [{}, {"n_nonzero_coefs": 4}, {"tol": 40.0}], ids=str)
@pytest.mark.parametrize("precompute", ["auto", True, False])
def test_estimator(intercept, shape, settings, precompute):
    X, y = data(*shape)
    settings = {**settings, "fit_intercept": intercept, "precompute": precompute}
    ours = tenfold.OrthogonalMatchingPursuit(**settings).fit(X, y)
    sklearn_model = sklearn_module.OrthogonalMatchingPursuit(**settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, sklearn_model.intercept_, rtol=1e-9, atol=1e-11)
    assert ours.n_iter_ == sklearn_model.n_iter_ == len(ours.path_)
    assert ours.n_nonzero_coefs_ == sklearn_model.n_nonzero_coefs_
    assert ours.certificate_.ok
    assert tenfold.certify(sklearn_model, X, y).ok


def test_several_targets_and_sparse_rows():
    X, Y = data(80, 30, targets=3)
    sklearn_model = sklearn_module.OrthogonalMatchingPursuit(n_nonzero_coefs=4).fit(X, Y)
    for kind in (np.asarray, sparse.csr_array):
        ours = tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=4).fit(kind(X), Y)
        np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-9, atol=1e-11)
        assert ours.n_iter_ == sklearn_model.n_iter_
        assert [set(path) for path in ours.path_] == [set(np.flatnonzero(w)) for w in sklearn_model.coef_]


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("settings", [{}, {"max_iter": 7}, {"cv": 3}, {"fit_intercept": False}], ids=str)
def test_cross_validation(shape, settings):
    X, y = data(*shape)
    ours = tenfold.OrthogonalMatchingPursuitCV(**settings).fit(X, y)
    sklearn_model = sklearn_module.OrthogonalMatchingPursuitCV(**settings).fit(X, y)
    assert ours.n_nonzero_coefs_ == sklearn_model.n_nonzero_coefs_
    assert ours.n_iter_ == sklearn_model.n_iter_
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-9, atol=1e-11)
    assert tenfold.certify(sklearn_model, X, y).ok


@pytest.mark.parametrize("settings", [{}, {"n_nonzero_coefs": 3}, {"tol": 60.0}], ids=str)
@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("targets", [None, 1, 3])
# scikit-learn raises IndexError where targets need different numbers of features
@only_if(lambda settings, path, targets: not (path and targets == 3 and "tol" in settings))
def test_functions(settings, path, targets):
    X, Y = data(50, 12, targets=targets)
    sklearn_model, n_sklearn = sklearn_module.orthogonal_mp(X, Y, return_path=path, return_n_iter=True, **settings)
    ours, n_ours = tenfold.orthogonal_mp(X, Y, return_path=path, return_n_iter=True, **settings)
    assert n_ours == n_sklearn
    assert ours.shape == sklearn_model.shape
    np.testing.assert_allclose(ours, sklearn_model, rtol=1e-9, atol=1e-11)
    norms = {"norms_squared": np.atleast_1d(np.sum(Y**2, axis=0))} if "tol" in settings else {}
    given = (X.T @ X, X.T @ Y.reshape(50, -1))  # of one dimension, with tol, he raises TypeError
    sklearn_model = sklearn_module.orthogonal_mp_gram(*given, return_path=path, **settings, **norms)
    ours = tenfold.orthogonal_mp_gram(*given, return_path=path, **settings, **norms)
    assert ours.shape == sklearn_model.shape
    np.testing.assert_allclose(ours, sklearn_model, rtol=1e-8, atol=1e-12)


def test_the_same_errors():
    X, y = data(20, 5)
    for module in (tenfold, sklearn_module):
        with pytest.raises(ValueError, match="cannot be more than the number of features"):
            module.OrthogonalMatchingPursuit(n_nonzero_coefs=6).fit(X, y)
        with pytest.raises(ValueError, match="cannot be more than the number of features"):
            module.orthogonal_mp(X, y, n_nonzero_coefs=6)
        with pytest.raises(ValueError, match="norms"):
            module.orthogonal_mp_gram(X.T @ X, X.T @ y[:, None], tol=1.0)
        with pytest.raises(ValueError, match="must be positive"):
            module.orthogonal_mp_gram(X.T @ X, X.T @ y)
        with pytest.raises(ValueError, match="n_nonzero_coefs"):
            module.orthogonal_mp(X, y, n_nonzero_coefs=0)


@pytest.mark.parametrize("module", [tenfold, sklearn_module])
def test_relation_without_noise_ends_early_with_a_warning(module):
    """Three columns explain everything: a fourth is not taken, and both warn."""
    X, _ = data(50, 12)
    y = X[:, :3] @ [3.0, 2.0, 1.0]
    with pytest.warns(RuntimeWarning, match="ended prematurely"):
        model = module.OrthogonalMatchingPursuit(n_nonzero_coefs=8).fit(X, y)
    assert model.n_iter_ < 8
    with pytest.warns(RuntimeWarning, match="ended prematurely"):
        module.orthogonal_mp(X, y, n_nonzero_coefs=8)


def test_small_targets_are_not_taken_for_nothing():
    """scikit-learn's test of what is too small is absolute: at 1e-9 he finds nothing. Ours knows no units."""
    X, y = data(60, 10)
    with pytest.warns(RuntimeWarning):
        sklearn_model = sklearn_module.OrthogonalMatchingPursuit(n_nonzero_coefs=3, precompute=True).fit(X, 1e-12 * y)
    ours = tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X, 1e-12 * y)
    plain = tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X, y)
    np.testing.assert_allclose(ours.coef_, 1e-12 * plain.coef_, rtol=1e-12)
    judged = tenfold.certify(sklearn_model, X, 1e-12 * y)
    assert not judged.ok
    assert "Fewer columns" in judged.explain()
