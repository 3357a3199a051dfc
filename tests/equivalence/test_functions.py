"""The functions say what the classes say."""

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import parameters, regression, zero_weights

ALPHAS = np.array([0.0, 1e-3, 1.0, 100.0])
SIZES = {"tall": (40, 4), "wide": (15, 30), "square": (20, 20)}
every_size = pytest.mark.parametrize("size", SIZES)
every_kind = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
with_intercept = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
with_weights = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])


def data(size, targets=1):
    n, p = SIZES[size]
    X = regression(n, p).X
    Y = np.column_stack([regression(n, p, seed).y for seed in range(targets)])
    return X, Y[:, 0] if targets == 1 else Y


@every_size
@every_kind
@with_weights
@pytest.mark.parametrize("targets", [1, 3])
def test_ridge_regression_is_ridge(size, kind, weighted, targets):
    X, y = data(size, targets)
    weight = zero_weights(len(X)) if weighted else None
    model = tenfold.Ridge(2.0, fit_intercept=False).fit(kind(X), y, sample_weight=weight)
    result = tenfold.ridge_regression(kind(X), y, 2.0, sample_weight=weight)
    np.testing.assert_array_equal(result, model.coef_)
    with_offset = tenfold.Ridge(2.0).fit(kind(X), y, sample_weight=weight)
    coef, intercept = tenfold.ridge_regression(kind(X), y, 2.0, sample_weight=weight, return_intercept=True)
    np.testing.assert_array_equal(coef, with_offset.coef_)
    np.testing.assert_array_equal(intercept, with_offset.intercept_)
    assert len(tenfold.ridge_regression(kind(X), y, 2.0, return_intercept=True, return_n_iter=True)) == 3


@every_size
@every_kind
@with_intercept
@with_weights
@pytest.mark.parametrize("targets", [1, 3])
def test_every_point_of_a_path_is_a_ridge(size, kind, intercept, weighted, targets):
    X, y = data(size, targets)
    weight = zero_weights(len(X)) + 0.1 if weighted else None
    path = tenfold.ridge_path(kind(X), y, ALPHAS, sample_weight=weight, fit_intercept=intercept)
    assert path.coefs.shape == (4, X.shape[1]) if targets == 1 else (4, 3, X.shape[1])
    for a, alpha in enumerate(ALPHAS):
        model = tenfold.Ridge(alpha, fit_intercept=intercept).fit(kind(X), y, sample_weight=weight)
        together = np.column_stack([np.atleast_2d(path.coefs[a]), np.broadcast_to(path.intercepts[a], targets)])
        np.testing.assert_allclose(together, parameters(model), rtol=1e-6, atol=1e-7)
        residual = (y - model.predict(X)).reshape(len(X), -1)
        squares = np.ravel((np.ones(len(X)) if weight is None else weight) @ residual**2)
        np.testing.assert_allclose(np.ravel(path.training_error[a]), squares, rtol=1e-6, atol=1e-9 * np.var(y) * len(X))
        np.testing.assert_allclose(
            np.ravel(path.norms[a]), np.linalg.norm(np.atleast_2d(model.coef_), axis=1), rtol=1e-6
        )


@every_size
@with_intercept
def test_the_spectrum_of_a_path(size, intercept):
    X, y = data(size)
    path = tenfold.ridge_path(X, y, ALPHAS, fit_intercept=intercept)
    A = X - X.mean(axis=0) if intercept else X
    values = np.linalg.svd(A, compute_uv=False)
    rank = np.sum(values > 1e-10 * values[0])
    result = np.sort(path.singular_values)[::-1]
    np.testing.assert_allclose(result[:rank], values[:rank], rtol=1e-7)
    np.testing.assert_allclose(result[rank:], 0.0, atol=1e-6 * values[0])
    for a, alpha in enumerate(ALPHAS):
        hat = A @ np.linalg.pinv(A.T @ A + alpha * np.eye(A.shape[1]), rcond=1e-12) @ A.T
        np.testing.assert_allclose(path.degrees_of_freedom[a], np.trace(hat), rtol=1e-6)
    assert np.all(np.diff(path.degrees_of_freedom) <= 1e-12)
    assert np.all(np.diff(path.norms) <= 1e-12)
    assert np.all(np.diff(path.training_error) >= -1e-9)


@every_size
@every_kind
@with_intercept
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_bound_on_the_norm_holds(size, kind, intercept, share):
    X, y = data(size)
    free = tenfold.ridge_path(kind(X), y, [0.0], fit_intercept=intercept)
    bound = share * float(free.norms[0])
    path = tenfold.ridge_path(kind(X), y, norm=bound, fit_intercept=intercept)
    np.testing.assert_allclose(path.norms, [bound], rtol=1e-9)
    alpha = float(path.alphas[0])
    assert alpha > 0
    model = tenfold.Ridge(alpha, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(path.coefs[0], model.coef_, rtol=1e-6, atol=1e-8)


def test_a_bound_that_does_not_bind():
    X, y = data("tall")
    free = tenfold.LinearRegression().fit(X, y)
    path = tenfold.ridge_path(X, y, norm=2.0 * np.linalg.norm(free.coef_))
    assert path.alphas.tolist() == [0.0]
    np.testing.assert_allclose(path.coefs[0], free.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "alphas"),
        ({"alphas": [1.0], "norm": 1.0}, "either"),
        ({"alphas": [-1.0]}, "at least zero"),
        ({"alphas": [np.nan]}, "NaN|finite"),
        ({"norm": 0.0}, "positive"),
        ({"norm": np.inf}, "positive"),
    ],
)
def test_bad_arguments_of_a_path(arguments, match):
    X, y = data("tall")
    with pytest.raises(ValueError, match=match):
        tenfold.ridge_path(X, y, **arguments)


def test_bad_data_of_a_path():
    X, y = data("tall")
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tenfold.ridge_path(X, y, [1.0])
    wide, target = data("wide")
    wide[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        tenfold.ridge_path(wide, target, [1.0])
    with pytest.raises(ValueError, match="one target"):
        tenfold.ridge_path(*data("tall", 3), norm=1.0)


def test_summary_raises_with_a_reason():
    X, y = data("wide")
    model = tenfold.LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="not more rows than coefficients"):
        model.summary()
    with pytest.raises(ValueError, match="penalty"):
        tenfold.Ridge().fit(X, y).summary()
    X, y = data("tall")
    with pytest.raises(ValueError, match="constrained"):
        tenfold.LinearRegression(positive=True).fit(X, y).summary()
    with pytest.raises(ValueError, match="collinear"):
        tenfold.LinearRegression().fit(np.column_stack([X, X[:, 0]]), y).summary()
    assert "intercept" in tenfold.LinearRegression().fit(X, y).summary()
