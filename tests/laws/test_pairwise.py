"""Laws of stored points: blocks, products and diagonals are those of plain sums, wherever the samples are."""

import array_api_strict
import numpy as np
import pytest
from scipy import sparse

from tenfold import _core
from tenfold.arrays import on_host
from tenfold.pairwise import PairFunction, StoredPoints

FUNCTIONS = [
    PairFunction("inner"),
    PairFunction("polynomial", gamma=0.1, offset=1.0, degree=3.0),
    PairFunction("polynomial", gamma=0.01, offset=10.0, degree=1.5),
    PairFunction("sigmoid", gamma=0.05, offset=0.2),
    PairFunction("squares"),
    PairFunction("distance"),
    PairFunction("gaussian", gamma=0.3),
    PairFunction("exponential", gamma=0.5),
    PairFunction("matern32", gamma=0.3),
    PairFunction("matern52", gamma=0.3),
    PairFunction("rational", gamma=0.3, degree=1.7),
    PairFunction("rational_slope", gamma=0.3, degree=1.7),
    PairFunction("periodic", gamma=1.1, degree=0.8),
    PairFunction("arcsine", gamma=0.01),
    PairFunction("gaussian", gamma=0.3, scale=2.0, shift=-0.5),
    PairFunction("inner", scale=2.0, shift=-0.5),
    PairFunction("sizes"),
    PairFunction("laplacian", gamma=0.2),
    PairFunction("subsets"),
    PairFunction("additive_chi2", scale=-1.0),
    PairFunction("chi2", gamma=0.1),
]
OF_PRODUCTS = ("inner", "polynomial", "sigmoid", "arcsine")
OF_FEATURES = {
    "sizes": lambda x, z: abs(x - z).sum(axis=2),
    "laplacian": lambda x, z: abs(x - z).sum(axis=2),
    "subsets": lambda x, z: (1 + x * z).prod(axis=2),
    "additive_chi2": lambda x, z: (np.where(x + z == 0, 0, (x - z) ** 2) / np.where(x + z == 0, 1, x + z)).sum(axis=2),
}
OF_FEATURES["chi2"] = OF_FEATURES["additive_chi2"]


def plain(X, Q, function):
    """By long doubles, pair by pair."""
    X, Q = X.astype(np.longdouble), Q.astype(np.longdouble)
    inner, squares = Q @ X.T, ((Q[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    base = inner if function.name in OF_PRODUCTS else squares
    if function.name in OF_FEATURES:
        base = OF_FEATURES[function.name](Q[:, None, :], X[None, :, :])
    gamma, degree = function.gamma, function.degree
    formulas = {
        "inner": lambda v: v,
        "polynomial": lambda v: (function.gamma * v + function.offset) ** function.degree,
        "sigmoid": lambda v: np.tanh(function.gamma * v + function.offset),
        "squares": lambda v: v,
        "distance": np.sqrt,
        "gaussian": lambda v: np.exp(-function.gamma * v),
        "exponential": lambda v: np.exp(-function.gamma * np.sqrt(v)),
        "exponential_slope": lambda v: np.where(v > 0, np.exp(-gamma * np.sqrt(v)) / np.sqrt(np.where(v > 0, v, 1)), 0),
        "matern32": lambda v: (1 + np.sqrt(3 * gamma * v)) * np.exp(-np.sqrt(3 * gamma * v)),
        "matern52": lambda v: (1 + np.sqrt(5 * gamma * v) + 5 * gamma * v / 3) * np.exp(-np.sqrt(5 * gamma * v)),
        "rational": lambda v: (1 + gamma * v) ** -degree,
        "rational_slope": lambda v: (
            degree * (1 + gamma * v) ** -degree * (gamma * v / (1 + gamma * v) - np.log1p(gamma * v))
        ),
        "periodic": lambda v: np.exp(-2 * degree * np.sin(gamma * np.sqrt(v)) ** 2),
        "arcsine": lambda v: 2 / np.pi * np.arcsin(gamma * v),
        "laplacian": lambda v: np.exp(-gamma * v),
        "chi2": lambda v: np.exp(-gamma * v),
    }
    values = formulas.get(function.name, lambda v: v)(base)
    return (function.scale * values + function.shift).astype(np.float64)


def draw_points(storage, offset=0.0, positive=False):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((333, 7)) + offset
    X[40] = X[3]
    if storage == "float32":
        X = X.astype(np.float32)
    if storage == "sparse":
        X = X * (rng.uniform(size=X.shape) < 0.4)
    X = np.abs(X) if positive else X
    Q, V = X[:50].astype(np.float64), rng.standard_normal((333, 3))
    return X, Q, V


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.name}-{f.degree}")
@pytest.mark.parametrize("storage", ["float64", "float32", "sparse", "strict"])
def test_blocks_products_and_diagonals_are_those_of_plain_sums(storage, function):
    X, Q, V = draw_points(storage, positive="chi2" in function.name)
    expected, whole = plain(X, Q, function), plain(X, X.astype(np.float64), function)
    if storage == "sparse":
        stored, queries, vectors = StoredPoints(sparse.csr_array(X)), sparse.csr_array(Q), V
    elif storage == "strict":
        stored, queries, vectors = (array_api_strict.asarray(part) for part in (X, Q, V))
        stored = StoredPoints(stored)
    else:
        stored, queries, vectors = StoredPoints(X), Q, V
    rounding = 1e-7 if function.takes_root and storage == "sparse" else 0.0
    size = np.abs(expected).max()
    block, product = on_host(stored.block(queries, function)), on_host(stored.multiply(queries, function, vectors))
    np.testing.assert_allclose(block, expected, rtol=1e-11, atol=(1e-13 + rounding) * size)
    sums = np.abs(expected) @ np.abs(V)
    assert np.all(np.abs(product - expected @ V) <= (1e-11 + rounding) * sums)
    if function.name != "subsets":  # which needs the points, not their lengths
        np.testing.assert_allclose(on_host(stored.diagonal(function)), np.diag(whole), rtol=1e-11, atol=1e-13 * size)
    square = on_host(stored.block(None, function))
    np.testing.assert_allclose(square, whole, rtol=1e-11, atol=(1e-13 + rounding) * size)
    np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("storage", ["float64", "float32", "strict"])
def test_slope_of_the_exponential_is_zero_at_equal_points(storage):  # sparse: there they are near each other only
    X, Q, _ = draw_points(storage)
    function = PairFunction("exponential_slope", gamma=0.5)
    stored, queries = (array_api_strict.asarray(part) if storage == "strict" else part for part in (X, Q))
    block = on_host(StoredPoints(stored).block(queries, function))
    np.testing.assert_allclose(block, plain(X, Q, function), rtol=1e-11)
    assert block[3, 40] == 0.0


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_squared_distances_do_not_cancel(offset):
    X, Q, _ = draw_points("float64", offset)
    squares = StoredPoints(X).block(Q, PairFunction("squares"))
    np.testing.assert_allclose(squares, plain(X, Q, PairFunction("squares")), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(squares[:, :50]), 0.0)
    assert squares[3, 40] == 0.0


def test_bits_do_not_depend_on_threads():
    X, Q, V = draw_points("float64")
    arguments = PairFunction("gaussian", gamma=0.3).arguments
    vectors = np.ascontiguousarray(V.T)
    one = _core.pairwise_block(X, Q, *arguments, 1), _core.pairwise_product(X, Q, vectors, *arguments, 1)
    for threads in (2, 3):
        np.testing.assert_array_equal(_core.pairwise_block(X, Q, *arguments, threads), one[0])
        np.testing.assert_array_equal(_core.pairwise_product(X, Q, vectors, *arguments, threads), one[1])


def test_no_queries():
    X, Q, V = draw_points("float64")
    stored, function = StoredPoints(X), PairFunction("gaussian")
    assert stored.block(Q[:0], function).shape == (0, 333)
    assert stored.multiply(Q[:0], function, V).shape == (0, 3)


def test_impossible_requests_raise():
    X, Q, V = draw_points("float64")
    with pytest.raises(ValueError, match="same features"):
        _core.pairwise_block(X, Q[:, :3].copy(), 0, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="function of a pair"):
        _core.pairwise_block(X, Q, 0, 19, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="base must be"):
        _core.pairwise_block(X, Q, 5, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="W must be"):
        _core.pairwise_gradient(X, Q, V, 0, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="moment must be"):
        _core.pairwise_gradient(X, Q, np.ones((50, 333)), 3, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
    with pytest.raises(ValueError, match="vectors, samples"):
        _core.pairwise_product(X, Q, V, 0, 0, 1.0, 0.0, 1.0, 1.0, 0.0, 1)
