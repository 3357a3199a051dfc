"""The loops of the extension against plain NumPy formulas, bit by bit between threads, and what they refuse."""

import itertools
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_limits

from tenfold import _core

pytestmark = pytest.mark.covering

DTYPES = [np.float32, np.float64]
ISAS = _core.available_isas()
# rows, columns, targets
SHAPES = [
    (0, 3, 1),
    (1, 1, 0),
    (1, 4, 1),
    (2, 1, 1),
    (7, 5, 2),
    (5, 0, 1),
    (129, 8, 1),
    (300, 13, 3),
    (3000, 33, 9),
    (400, 530, 1),
]


@pytest.fixture(params=ISAS)
def isa(request):
    """Each instruction set of this machine in turn."""
    before = _core.isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)


def rows(shape, dtype, density=1.0, seed=0):
    """X, Y, weights with zeros, and groups of three."""
    n, p, t = shape
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + 2.0) * (rng.uniform(size=(n, p)) < density)
    weight = rng.uniform(size=n) * (rng.uniform(size=n) > 0.2)
    group = rng.integers(0, 3, n).astype(np.int32)
    return X.astype(dtype), rng.normal(size=(n, t)), weight, group


def csr(X, index=np.int32, pointer=np.int32):
    """The arrays that the sparse loops take."""
    S = scipy.sparse.csr_array(X)
    return S.data, S.indices.astype(index), S.indptr.astype(pointer), X.shape[1]


def plain_moments(X, Y, weight, group, groups):
    """Weighted, centred moments of each group in long double."""
    Z = np.hstack([X.astype(np.longdouble), Y.astype(np.longdouble)])
    result = []
    for g in range(groups):
        use = (weight > 0) & (group == g)
        z, w = Z[use], weight[use].astype(np.longdouble)
        total = w.sum()
        mean = (w[:, None] * z).sum(axis=0) / total if use.any() else np.zeros(Z.shape[1])
        centred = z - mean
        result.append((use.sum(), float(total), mean, ((w[:, None] * centred).T @ centred).astype(float)))
    return result


def assert_moments(result, expected, X, Y, scale):
    count, weight, shift, offset, exponent, XX, XY, yy = result
    p = X.shape[1]
    assert count.dtype == np.int64
    assert exponent.dtype == np.int32
    assert not exponent.any()
    for g, (rows_, total, mean, products) in enumerate(expected):
        assert count[g] == rows_
        np.testing.assert_allclose(weight[g], total, rtol=1e-14)
        if rows_:
            np.testing.assert_allclose(shift + offset[g], mean.astype(float), rtol=1e-13, atol=1e-14)
        atol = 1e-14 * scale * max(1, rows_)
        np.testing.assert_allclose(XX[g], products[:p, :p], rtol=1e-12, atol=atol)
        np.testing.assert_allclose(XY[g], products[:p, p:], rtol=1e-12, atol=atol)
        np.testing.assert_allclose(yy[g], np.diag(products)[p:], rtol=1e-12, atol=atol)
        np.testing.assert_array_equal(XX[g], XX[g].T)


@cache
def sum_moments(shape, dtype, density=1.0, groups=3):
    """Those of three groups with weights or, of one group, of all rows without, once for all instruction sets."""
    X, Y, weight, group = rows(shape, dtype, density)
    if groups == 1:
        weight, group = np.ones(len(X)), np.zeros(len(X), dtype=np.int32)
    return plain_moments(X, Y, weight, group, groups)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_moments(shape, dtype, isa):
    X, Y, weight, group = rows(shape, dtype)
    assert_moments(_core.moments(X, Y, weight, group, 3, 2), sum_moments(shape, dtype), X, Y, 1.0)
    assert_moments(_core.moments(X, Y, None, None, 1, 2), sum_moments(shape, dtype, groups=1), X, Y, 1.0)


def test_moments_of_long_groups_beside_empty_ones():
    X, Y, weight, group = rows((20000, 20, 1), np.float64)
    group = np.where(group == 0, 1, 6).astype(np.int32)
    assert_moments(_core.moments(X, Y, weight, group, 9, 2), plain_moments(X, Y, weight, group, 9), X, Y, 1.0)


@pytest.mark.parametrize("density", [0.02, 0.5])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_moments_csr(shape, dtype, density, isa):
    X, Y, weight, group = rows(shape, dtype, density)
    expected = sum_moments(shape, dtype, density)
    for index, pointer in [(np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64)]:
        result = _core.moments_csr(*csr(X, index, pointer), Y, weight, group, 3, 2)
        assert not result[2][: X.shape[1]].any()
        assert_moments(result, expected, X, Y, 10.0)


def test_moments_csr_takes_columns_in_any_order_and_more_than_once():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 70)) * (rng.uniform(size=(200, 70)) < 0.05)
    Y = rng.normal(size=(200, 1))
    data, indices, indptr, p = csr(X)
    parts = [slice(a, b) for a, b in itertools.pairwise(indptr)]
    twice_data = np.concatenate([np.r_[0.25 * data[s][::-1], 0.75 * data[s]] for s in parts])
    twice_indices = np.concatenate([np.r_[indices[s][::-1], indices[s]] for s in parts])
    a = _core.moments_csr(data, indices, indptr, p, Y, None, None, 1, 2)
    b = _core.moments_csr(twice_data, twice_indices, 2 * indptr, p, Y, None, None, 1, 2)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_weight_zero_are_left_out_whatever_they_hold(sparse):
    X, Y, weight, group = rows((500, 6, 2), np.float64, 0.5)
    keep = weight > 0
    X[~keep], Y[~keep] = np.nan, np.inf
    fold = (lambda X, *rest: _core.moments_csr(*csr(X), *rest)) if sparse else _core.moments
    a = fold(X, Y, weight, group, 3, 2)
    b = fold(X[keep], Y[keep], weight[keep], group[keep], 3, 2)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def test_whole_weights_are_repeated_rows():
    X, Y, _, _ = rows((400, 7, 1), np.float64)
    times = np.random.default_rng(1).integers(0, 4, 400)
    a = _core.moments(X, Y, times.astype(float), None, 1, 2)
    b = _core.moments(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), None, None, 1, 2)
    assert a[1] == b[1]
    np.testing.assert_allclose(a[2] + a[3], b[2] + b[3], rtol=1e-13)
    for x, y in zip(a[5:], b[5:], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_variance_at_an_offset_of_1e8(isa):
    rng = np.random.default_rng(2)
    near = np.round(rng.normal(size=(5000, 4)) * 2**20) / 2**20  # exact after the shift too
    far = near + 1e8
    Y = np.zeros((5000, 0))
    exact = np.cov(near.astype(np.longdouble).T, bias=True).astype(float) * 5000
    XX = _core.moments(far, Y, None, None, 1, 2)[5][0]
    np.testing.assert_allclose(np.diag(XX), np.diag(exact), rtol=1e-12)
    np.testing.assert_allclose(XX, exact, rtol=1e-12, atol=1e-12 * exact[0, 0])


def test_groups_far_apart_keep_their_variances():
    rng = np.random.default_rng(4)
    near = np.round(rng.normal(size=(3000, 3)) * 2**20) / 2**20
    group = rng.integers(0, 2, 3000).astype(np.int32)
    far = near + np.where(group == 0, -1e8, 1e8)[:, None]
    Y = np.zeros((3000, 0))
    a = _core.moments(near, Y, None, group, 2, 2)
    b = _core.moments(far, Y, None, group, 2, 2)
    np.testing.assert_allclose(b[5], a[5], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose((b[2] + b[3])[1], (a[2] + a[3])[1] + 1e8, rtol=1e-15)


def test_constant_columns_have_no_variance():
    X = np.full((1000, 3), [0.1, 1e8 + 0.1, -1e-300])
    _, _, shift, *zeros = _core.moments(X, X[:, :1].copy(), None, None, 1, 2)
    np.testing.assert_array_equal(shift, [0.1, 1e8 + 0.1, -1e-300, 0.1])
    for array in zeros:
        assert not array.any()


@pytest.mark.parametrize("sparse", [False, True])
def test_exponents(sparse, isa):
    scale = np.array([1.0, 1e150, 1e-150, 1e200, 1e-200, 1e307, 1e-307])
    X, Y, weight, _ = rows((600, 7, 1), np.float64)
    fold = (lambda X, *rest: _core.moments_csr(*csr(X), *rest)) if sparse else _core.moments
    _, _, a_shift, a_offset, _, a_XX, a_XY, a_yy = fold(X, Y, weight, None, 1, 2)
    _, _, shift, offset, exponent, XX, XY, yy = fold(X * scale, Y * 1e-180, weight, None, 1, 2)
    assert exponent[0] == 0
    assert (exponent[1:] != 0).all()
    assert np.isfinite(XX).all()
    assert (np.diag(XX[0]) > 1e-3).all()
    unit = np.ldexp(1 / np.append(scale, 1e-180), exponent)  # 2^e / scale is about one
    np.testing.assert_allclose(XX[0] * np.outer(unit[:7], unit[:7]), a_XX[0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(XY[0] * np.outer(unit[:7], unit[7:]), a_XY[0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(yy[0] * unit[7] ** 2, a_yy[0], rtol=1e-11)
    mean = shift / np.append(scale, 1e-180) + offset[0] * unit
    np.testing.assert_allclose(mean, a_shift + a_offset[0], rtol=1e-12, atol=1e-12)


def test_exponents_at_the_ends_of_the_range():
    big, tiny = np.finfo(float).max, 5e-324
    X = np.array([[big, tiny, 1.0], [-big, 0.0, 2.0], [0.0, 3 * tiny, 4.0], [big, 0.0, 3.0]])
    result = _core.moments(X, np.zeros((4, 0)), None, None, 1, 2)
    shift, offset, exponent, XX = result[2], result[3][0], result[4], result[5][0]
    assert np.isfinite(XX).all()
    scaled = np.ldexp(X, -exponent)
    mean = scaled.mean(axis=0)
    np.testing.assert_allclose(np.ldexp(shift, -exponent) + offset, mean, rtol=1e-12)
    np.testing.assert_allclose(XX, (scaled - mean).T @ (scaled - mean), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_shows(bad):
    X, Y, _, _ = rows((300, 5, 1), np.float64)
    X[17, 2] = bad
    result = _core.moments(X, Y, None, None, 1, 2)
    assert not np.isfinite(result[5][0][2, 2])
    assert np.isfinite(result[5][0][0, 1])


def plain_derivatives(X, y, weight, coef, intercept, loss):
    z = X @ coef.T + intercept
    if loss == "square":
        value, slope, curvature = (z - y) ** 2 / 2, z - y, np.ones_like(z)
    else:
        other = np.exp(-np.logaddexp(0, y * z))
        value, slope, curvature = np.logaddexp(0, -y * z), -y * other, other * np.exp(-np.logaddexp(0, -y * z))
    w = weight[:, None]
    ones = np.hstack([X, np.ones((len(X), 1))])
    hessian = (ones * (w * curvature)[:, :1]).T @ ones if z.shape[1] else None
    return (w * value).sum(axis=0), (w * slope).sum(axis=0), (w * slope).T @ X, hessian


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives(shape, dtype, loss, isa):
    n, p, t = shape
    rng = np.random.default_rng(5)
    X, _, weight, _ = rows(shape, dtype, 0.4)
    y = np.where(rng.uniform(size=(n, t)) < 0.5, -1.0, 1.0)
    coef, intercept, shift = rng.normal(size=(t, p)) / np.sqrt(p), rng.normal(size=t), rng.normal(size=p)
    sparse = csr(X)
    wide = X.astype(float)
    calls = [
        (wide, weight, lambda o: _core.derivatives(X, y, weight, coef, intercept, None, loss, 0.0, o, 2)),
        (wide - shift, weight, lambda o: _core.derivatives(X, y, weight, coef, intercept, shift, loss, 0.0, o, 2)),
        (wide, np.ones(n), lambda o: _core.derivatives(X, y, None, coef, intercept, None, loss, 0.0, o, 2)),
        (wide, weight, lambda o: _core.derivatives_csr(*sparse, y, weight, coef, intercept, loss, 0.0, o, 2)),
    ]
    for centred, w, call in calls:
        value, slope, gradient, hessian = plain_derivatives(centred, y, w, coef, intercept, loss)
        scale = 1e-14 * max(1, n) * max(1.0, np.abs(centred).max(initial=0.0)) ** 2
        for order in range(3 if t == 1 else 2):
            result = call(order)
            assert isinstance(result[0], float)
            np.testing.assert_allclose(result[0], w.sum(), rtol=1e-13)
            np.testing.assert_allclose(result[1], value, rtol=1e-12)
            np.testing.assert_allclose(result[2], slope, rtol=1e-11, atol=scale)
            assert (result[3] is None) == (order == 0)
            assert (result[4] is None) == (order < 2)
            if order >= 1:
                np.testing.assert_allclose(result[3], gradient, rtol=1e-11, atol=scale)
            if order == 2:
                np.testing.assert_allclose(result[4], hessian, rtol=1e-11, atol=scale)
                np.testing.assert_array_equal(result[4], result[4].T)


def test_derivatives_at_huge_margins():
    X = np.array([[1.0], [-1.0], [1e3], [-1e3]])
    y = np.ones((4, 1))
    coef = np.array([[1.0]])
    result = _core.derivatives(X, y, None, coef, np.zeros(1), None, "logistic", 0.0, 2, 1)
    small = np.log1p(np.exp(-1))
    np.testing.assert_allclose(result[1], 1000 + 1 + 2 * small, rtol=1e-15)
    np.testing.assert_allclose(result[2], -2.0, rtol=1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_products(shape, dtype, isa):
    n, p, t = shape
    rng = np.random.default_rng(6)
    X, _, _, _ = rows(shape, dtype, 0.4)
    coef, intercept, shift, U = rng.normal(size=(t, p)), rng.normal(size=t), rng.normal(size=p), rng.normal(size=(n, t))
    sparse, wide = csr(X, np.int64), X.astype(float)
    close = {"rtol": 1e-11, "atol": 1e-12 * max(n, p)}
    np.testing.assert_allclose(_core.matvec(X, coef, intercept, None, 2), wide @ coef.T + intercept, **close)
    np.testing.assert_allclose(_core.matvec(X, coef, intercept, shift, 2), (wide - shift) @ coef.T + intercept, **close)
    np.testing.assert_allclose(_core.matvec_csr(*sparse, coef, intercept, 2), wide @ coef.T + intercept, **close)
    np.testing.assert_allclose(_core.matvec_t(X, U, None, 2), U.T @ wide, **close)
    np.testing.assert_allclose(_core.matvec_t(X, U, shift, 2), U.T @ (wide - shift), **close)
    np.testing.assert_allclose(_core.matvec_t_csr(*sparse, U, 2), U.T @ wide, **close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_inner_products(shape, dtype, isa):
    n, p, _ = shape
    X, _, weight, _ = rows(shape, dtype, 0.4)
    shift = np.random.default_rng(8).normal(size=p)
    weight = np.ones(n) if weight is None else weight
    away, root = X.astype(float) - shift, np.sqrt(weight)
    close = {"rtol": 1e-11, "atol": 1e-12 * max(n, p)}
    other = np.random.default_rng(9).normal(size=n)
    sums = np.stack([weight @ away, weight @ away**2, other @ away])
    np.testing.assert_allclose(_core.column_sums(X, weight, other, shift, 2), sums, **close)
    index = np.arange(p)[::-2].copy()
    np.testing.assert_allclose(
        _core.gather_columns(X, index, shift[index], root, 2), (root[:, None] * away[:, index]).T, **close
    )
    sparse = csr(X, np.int64)
    result, least, largest = _core.column_sums_csr(*sparse, weight, other, 2)
    wide = X.astype(float)
    np.testing.assert_allclose(result, np.stack([weight @ wide, weight @ wide**2, other @ wide]), **close)
    sizes = np.abs(wide[wide != 0])
    assert (least, largest) == (sizes.min(initial=np.inf), sizes.max(initial=0.0))
    data, places, pointers = _core.gather_columns_csr(*sparse, index, root, 2)
    chosen = scipy.sparse.csc_array((data, places, pointers), shape=(n, len(index)))
    np.testing.assert_array_equal(chosen.toarray(), root[:, None] * wide[:, index])
    some = slice(1000)  # of whom each pair has a product
    A = (root[:, None] * away)[some]
    K = _core.row_gram(np.ascontiguousarray(X[some]), shift, root[some], 2)
    np.testing.assert_allclose(K, A @ A.T, **close)
    np.testing.assert_array_equal(K, K.T)


def test_the_shift_keeps_the_digits_of_a_far_column():
    rng = np.random.default_rng(7)
    near = np.round(rng.normal(size=(500, 3)) * 2**20) / 2**20
    coef, zero = rng.normal(size=(1, 3)), np.zeros(1)
    shift = np.full(3, 1e8)
    np.testing.assert_allclose(
        _core.matvec(near + 1e8, coef, zero, shift, 2), _core.matvec(near, coef, zero, None, 2), rtol=1e-13, atol=1e-14
    )
    U = rng.normal(size=(500, 1))
    np.testing.assert_allclose(
        _core.matvec_t(near + 1e8, U, shift, 2), _core.matvec_t(near, U, None, 2), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 3, 1), (1, 2, 1), (130, 5, 2), (1000, 30, 1), (150, 1100, 2)])
def test_loo(shape, dtype, weighted):
    n, p, t = shape
    rng = np.random.default_rng(8)
    X, Y, weight, _ = rows(shape, dtype)
    r, A = min(p, 300), 11
    centre, mean, V = rng.normal(size=p), rng.normal(size=t), rng.normal(size=(p, r))
    D, C = rng.uniform(size=(A, r)) * 1e-6, rng.normal(size=(t, A, r))
    w = weight if weighted else np.ones(n)
    with threadpool_limits(1, user_api="blas"):
        call = (X, Y, weight if weighted else None, centre, mean, V, D, C, 0.01)
        sums, largest, errors, finite = _core.ridge_loo(*call, 2, True)
        assert _core.ridge_loo(*call, 2, False)[2] is None
    z = (X.astype(float) - centre) @ V
    h = w[:, None] * (0.01 + (z * z) @ D.T)
    e = (Y[:, :, None] - mean[:, None] - np.einsum("nr,tar->nta", z, C)) / (1 - h[:, None, :])
    assert finite is True
    np.testing.assert_allclose(errors, e, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums, (w[:, None, None] * e**2).sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(largest, h.max(axis=0, initial=0.0), rtol=1e-10)
    assert _core.blas_bridge_ready() or p < 1000  # large products go to BLAS


def test_loo_without_directions():
    X, Y, weight, _ = rows((50, 3, 2), np.float64)
    zero = np.zeros(2)
    call = (X, Y, weight, np.zeros(3), zero, np.zeros((3, 0)), np.zeros((4, 0)), np.zeros((2, 4, 0)), 0.01)
    sums, largest, errors, finite = _core.ridge_loo(*call, 2, True)
    expected = Y / (1 - 0.01 * weight[:, None])
    np.testing.assert_allclose(errors, np.repeat(expected[:, :, None], 4, axis=2), rtol=1e-14)
    np.testing.assert_allclose(sums[:, 0], (weight[:, None] * expected**2).sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(largest, 0.01 * weight.max(), rtol=1e-14)
    assert finite


def test_loo_reports_a_leverage_of_one():
    X, one = np.array([[1.0], [2.0]]), np.ones((1, 1))
    zero = np.zeros(1)
    finite = _core.ridge_loo(X, X, None, zero, zero, one, one, np.zeros((1, 1, 1)), 0.0, 1, False)[3]
    assert finite is False


def test_functions(isa):
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 709.7, 710.0, -745.2, 1e308, -1e308, -0.9999]
    x = np.concatenate(
        [edges, np.linspace(-760, 720, 20001), np.logspace(-320, 308, 5000), -np.logspace(-320, -1e-9, 999)]
    )
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        expected = {
            "exp": np.exp(wide),
            "log1p": np.log1p(wide),
            "sigmoid": np.where(wide >= 0, 1 / (1 + np.exp(-wide)), np.exp(wide) / (1 + np.exp(wide))),
            "softplus": np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide))),
        }
        for name, exact in expected.items():
            got, rounded = getattr(_core, name)(x), exact.astype(float)
            usual = np.isfinite(rounded)
            np.testing.assert_array_equal(got[~usual], rounded[~usual])
            ulps = np.abs(got[usual] - rounded[usual]) / np.spacing(np.abs(rounded[usual]))
            assert ulps.max() <= 3, name
            single = getattr(_core, name)(x.astype(np.float32))
            assert single.dtype == np.float32
    assert np.signbit(_core.log1p(np.array([-0.0])))[0]


def calls_for_bits():
    """One call of every loop whose sums could depend on the order, on shapes that use slots and shared matrices."""
    rng = np.random.default_rng(9)
    for n, p in [(5000, 40), (300, 600)]:
        X, Y, weight, group = rows((n, p, 2), np.float64, 0.3)
        y = np.where(Y > 0, 1.0, -1.0)
        sparse, single = csr(X), X.astype(np.float32)
        very = csr(X * (rng.uniform(size=X.shape) < 0.05))
        coef, intercept = rng.normal(size=(2, p)), rng.normal(size=2)
        one = (coef[:1].copy(), intercept[:1].copy())
        first = y[:, :1].copy()
        D, C = rng.uniform(size=(5, 9)) * 1e-3, rng.normal(size=(2, 5, 9))
        V = rng.normal(size=(p, 9))
        yield lambda t, X=X, Y=Y, w=weight, g=group: _core.moments(X, Y, w, g, 3, t)
        yield lambda t, X=single, Y=Y: _core.moments(X, Y, None, None, 1, t)
        yield lambda t, S=sparse, Y=Y, w=weight, g=group: _core.moments_csr(*S, Y, w, g, 3, t)
        yield lambda t, S=very, Y=Y: _core.moments_csr(*S, Y, None, None, 1, t)
        yield lambda t, X=X, y=y, c=coef, b=intercept: _core.derivatives(X, y, None, c, b, None, "logistic", 0.0, 1, t)
        yield lambda t, X=X, y=first, o=one: _core.derivatives(X, y, None, *o, None, "logistic", 0.0, 2, t)
        yield lambda t, S=sparse, y=first, o=one: _core.derivatives_csr(*S, y, None, *o, "square", 0.0, 2, t)
        yield lambda t, S=very, y=first, o=one: _core.derivatives_csr(*S, y, None, *o, "logistic", 0.0, 2, t)
        yield lambda t, X=X, c=coef, b=intercept: (_core.matvec(X, c, b, None, t),)
        yield lambda t, X=X, Y=Y: (_core.matvec_t(X, Y, None, t),)
        yield lambda t, S=sparse, Y=Y: (_core.matvec_t_csr(*S, Y, t),)
        yield lambda t, X=X, w=weight, p=p: (_core.column_sums(X, w, w, np.zeros(p), t),)
        margins = [rng.normal(size=20 * n) for _ in range(3)]
        yield lambda t, m=margins: _core.loss_at_margins(m[0], m[1], np.abs(m[2]), "huber", 1.0, t)
        yield lambda t, m=margins: _core.loss_along_line(*m, 0.5, np.abs(m[2]), "square", 0.0, t)
        yield lambda t, S=sparse, w=weight: (_core.column_sums_csr(*S, w, w, t)[0],)
        yield lambda t, S=sparse: _core.gather_columns_csr(*S, np.arange(0, 40, 3), None, t)
        yield lambda t, X=X[:300], p=p: (_core.row_gram(X, np.zeros(p), np.ones(len(X)), t),)
        yield lambda t, X=X, Y=Y, p=p, b=intercept, V=V, D=D, C=C: _core.ridge_loo(
            X, Y, None, np.zeros(p), b, V, D, C, 0.0, t, True
        )


def bits(result):
    return [None if a is None else np.asarray(a).tobytes() for a in result]


def test_bits_depend_neither_on_threads_nor_on_the_run(isa):
    with threadpool_limits(1, user_api="blas"):
        for call in calls_for_bits():
            first = bits(call(1))
            for threads in (2, 4, 2, 1):
                assert bits(call(threads)) == first


def test_eight_python_threads_at_once():
    with threadpool_limits(1, user_api="blas"):
        calls = list(calls_for_bits())
        expected = [bits(call(1)) for call in calls]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(2):
                assert list(pool.map(lambda call: bits(call(2)), calls)) == expected


def in_child(connection, X, Y):
    connection.send(bits(_core.moments(X, Y, None, None, 1, 2)))
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork():
    X, Y, _, _ = rows((20000, 40, 1), np.float64)
    expected = bits(_core.moments(X, Y, None, None, 1, 2))
    assert _core.pool_size() >= 1
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        ours, theirs = context.Pipe()
        child = context.Process(target=in_child, args=(theirs, X, Y))
        child.start()
        assert ours.poll(30), "the child hangs"
        assert ours.recv() == expected
        child.join(30)
        assert child.exitcode == 0
    assert bits(_core.moments(X, Y, None, None, 1, 2)) == expected


def test_read_only_arrays_are_accepted():
    X, Y, weight, group = rows((20, 3, 1), np.float64)
    expected = bits(_core.moments(X, Y, weight, group, 3, 1))
    for array in (X, Y, weight, group):
        array.flags.writeable = False
    assert bits(_core.moments(X, Y, weight, group, 3, 1)) == expected
    assert _core.matvec(X, np.ones((1, 3)), np.zeros(1), None, 1).flags.writeable


def unalign(X):
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    moved = raw[1:].view(X.dtype).reshape(X.shape)
    moved[...] = X
    return moved


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1],
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(">f8"),
        lambda X: X.astype(object),
        lambda X: X[0],
        lambda X: X[None],
        lambda X: X.tolist(),
        lambda X: np.ma.masked_greater(X, 2.0),
        unalign,
        lambda X: None,
    ],
    ids=[
        *("fortran", "strided", "reversed", "int", "half", "longdouble", "byteorder", "object", "1d", "3d", "list"),
        *("masked", "unaligned", "none"),
    ],
)
def test_other_arrays_raise(change):
    X, Y, weight, _ = rows((20, 3, 2), np.float64)
    for call in (
        lambda A: _core.moments(A, Y, weight, None, 1, 1),
        lambda A: _core.moments(X, A, weight, None, 1, 1),
        lambda A: _core.matvec(A, np.ones((1, 3)), np.zeros(1), None, 1),
        lambda A: _core.matvec_t(A, Y, None, 1),
        lambda A: _core.column_sums(A, np.ones(20), np.ones(20), np.zeros(3), 1),
        lambda A: _core.gather_columns(A, np.zeros(1, np.int64), np.zeros(1), np.ones(20), 1),
        lambda A: _core.row_gram(A, np.zeros(3), np.ones(20), 1),
        lambda A: _core.derivatives(A, Y, None, np.ones((2, 3)), np.zeros(2), None, "square", 0.0, 1, 1),
    ):
        with pytest.raises(TypeError):
            call(change(X))


def test_wrong_lengths_raise():
    X, Y, weight, group = rows((20, 3, 1), np.float64)
    one, coef, zero = np.ones(1), np.ones((1, 3)), np.zeros(1)
    data, indices, indptr, p = csr(X)
    columns = csr(X.T)[:3]
    raising = [
        lambda: _core.moments(X, Y[:-1].copy(), None, None, 1, 1),
        lambda: _core.moments(X, Y, weight[:-1].copy(), None, 1, 1),
        lambda: _core.moments(X, Y, None, group[:-1].copy(), 3, 1),
        lambda: _core.moments(X, Y, None, None, 2, 1),
        lambda: _core.moments(X, Y, None, group, 2, 1),
        lambda: _core.moments(X, Y, None, group, 0, 1),
        lambda: _core.moments(X, Y, None, -group - 1, 3, 1),
        lambda: _core.moments(X, Y, None, None, 1, 0),
        lambda: _core.moments(X, Y, -weight, None, 1, 1),
        lambda: _core.moments(X, Y, weight * np.nan, None, 1, 1),
        lambda: _core.derivatives(X, Y, None, coef[:, :2].copy(), zero, None, "square", 0.0, 1, 1),
        lambda: _core.derivatives(X, Y, None, coef, np.zeros(2), None, "square", 0.0, 1, 1),
        lambda: _core.derivatives(X, Y, None, coef, zero, one, "square", 0.0, 1, 1),
        lambda: _core.derivatives(X, Y, None, coef, zero, None, "no such", 0.0, 1, 1),
        lambda: _core.derivatives(X, Y, None, coef, zero, None, "square", 0.0, 3, 1),
        lambda: _core.derivatives(X, X, None, np.ones((3, 3)), np.zeros(3), None, "square", 0.0, 2, 1),
        lambda: _core.matvec(X, coef, np.zeros(2), None, 1),
        lambda: _core.matvec_t(X, Y[:-1].copy(), None, 1),
        lambda: _core.matvec_csr(data, indices[:-1].copy(), indptr, p, coef, zero, 1),
        lambda: _core.matvec_csr(data, indices, indptr[::-1].copy(), p, coef, zero, 1),
        lambda: _core.column_sums_csr(data, indices, indptr, p, weight[:-1].copy(), None, 1),
        lambda: _core.loss_at_margins(weight, weight[:-1].copy(), weight, "square", 0.0, 1),
        lambda: _core.loss_at_margins(weight, weight, weight[:-1].copy(), "square", 0.0, 1),
        lambda: _core.loss_at_margins(weight, weight, -weight, "square", 0.0, 1),
        lambda: _core.loss_at_margins(weight, weight, weight, "no such", 0.0, 1),
        lambda: _core.loss_along_line(weight, weight, weight[:-1].copy(), 1.0, weight, "square", 0.0, 1),
        lambda: _core.column_sums_csr(data, indices, indptr, p, weight, weight[:-1].copy(), 1),
        lambda: _core.gather_columns_csr(data, indices, indptr, p, np.array([p]), None, 1),
        lambda: _core.gather_columns_csr(data, indices, indptr, p, np.array([-1]), None, 1),
        lambda: _core.gather_columns_csr(data, indices, indptr, p, np.array([0]), weight[:-1].copy(), 1),
        lambda: _core.cd_csc(*columns, np.zeros(2), Y.T.copy(), coef, one, one, False, 0.0, 1, None),
        lambda: _core.cd_csc(*columns, np.zeros(3), Y[:-1].T.copy(), coef, one, one, False, 0.0, 1, None),
        lambda: _core.cd_csc(*columns, np.zeros(3), Y.T.copy(), coef[:, :2].copy(), one, one, False, 0.0, 1, None),
        lambda: _core.cd_csc(*columns, np.zeros(3), Y.T.copy(), coef, one, np.ones(2), False, 0.0, 1, None),
        lambda: _core.cd_dense(X.T.copy(), Y[:-1].T.copy(), coef, one, one, False, 0.0, 1, None),
        lambda: _core.cd_dense(X.T.copy(), Y.T.copy(), coef[:, :2].copy(), one, one, False, 0.0, 1, None),
        lambda: _core.cd_dense(X.T.copy(), Y.T.copy(), coef, one, np.ones(2), False, 0.0, 1, None),
        lambda: _core.matvec_csr(data, indices, indptr + 1, p, coef, zero, 1),
        lambda: _core.matvec_csr(data, indices, indptr[:0].copy(), p, coef, zero, 1),
        lambda: _core.matvec_csr(data, indices + 1, indptr, p, coef, zero, 2),
        lambda: _core.matvec_csr(data, indices - 1, indptr, p, coef, zero, 2),
        lambda: _core.matvec_t_csr(data, indices + 1, indptr, p, Y, 2),
        lambda: _core.moments_csr(data, indices + 1, indptr, p, Y, None, None, 1, 2),
        lambda: _core.derivatives_csr(data, indices + 1, indptr, p, Y, None, coef, zero, "square", 0.0, 1, 2),
        lambda: _core.set_isa("pdp-11"),
    ]
    for call in raising:
        with pytest.raises(ValueError, match=r"must|column index|order 2|instruction set"):
            call()


def test_blas_is_loaded_at_the_first_need():
    for code in (
        "import sys; from tenfold import _core; _core.isa(); assert 'scipy' not in sys.modules",
        "from tenfold import _core as c; r = c.blas_bridge_ready; assert not r(); c.load_blas_bridge(); assert r()",
    ):
        subprocess.run([sys.executable, "-c", code], check=True)


def test_a_blas_of_another_signature_raises():
    code = """
import scipy.linalg.cython_blas as blas
from tenfold import _core
capsules = dict(blas.__pyx_capi__)
blas.__pyx_capi__["dgemm"] = capsules["sgemm"]
for _ in range(2):
    try:
        _core.load_blas_bridge()
    except ImportError as error:
        assert "dgemm" in str(error) and "32-bit" in str(error)
    else:
        raise SystemExit("accepted")
blas.__pyx_capi__["dgemm"] = capsules["dgemm"]
_core.load_blas_bridge()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "p"), [(0, 3), (1, 1), (7, 5), (8, 2), (20_003, 7), (300, 400)])
def test_columns_beside_each_other(dtype, n, p):
    X = np.random.default_rng(0).standard_normal((n, p + 2)).astype(dtype)
    columns = [np.ascontiguousarray(X[:, j]) for j in range(p + 2)]
    for threads in (1, 3):
        out = np.zeros_like(X)
        _core.columns_to_rows(columns, out, threads)
        np.testing.assert_array_equal(out, X)
        out = np.zeros_like(X)
        _core.columns_to_rows(columns[1:-1], out[:, 1:-1], threads)
        np.testing.assert_array_equal(out[:, 1:-1], X[:, 1:-1])
        assert not out[:, [0, -1]].any()


def test_columns_that_do_not_go_beside_each_other():
    out, column = np.zeros((3, 2)), np.zeros(3)
    with pytest.raises(ValueError, match="a column for each"):
        _core.columns_to_rows([column], out, 1)
    with pytest.raises(ValueError, match="an entry for each row"):
        _core.columns_to_rows([column, column[:2]], out, 1)
    with pytest.raises(ValueError, match="rows of out must be contiguous"):
        _core.columns_to_rows([column, column], np.zeros((2, 3)).T, 1)
    for wrong in ([column, column.astype(np.float32)], [column, np.zeros(6)[::2]]):
        with pytest.raises(TypeError):
            _core.columns_to_rows(wrong, out, 1)
    with pytest.raises(TypeError):
        _core.columns_to_rows([column, column], out.tolist(), 1)
