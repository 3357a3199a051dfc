"""The compiled sums of the softmax: single precision against double, and margins against the losses in Python."""

import numpy as np
import pytest

from tenfold import LogisticRegression, _core
from tenfold.data import MemoryRows
from tenfold.losses import Softmax
from tenfold.stats.derivatives import Params, derivatives, losses_along, losses_at
from tenfold.stats.softmax import class_curvatures, rough_softmax, sum_class_curvatures


def _draw(n, p, K, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    X = np.ascontiguousarray(random.standard_normal((n, p)) + 3.0, dtype=dtype)
    y = random.integers(0, K, (n, 1)).astype(np.float64)
    weight = random.integers(0, 3, n).astype(np.float64)
    params = Params(random.standard_normal((K, p)) / np.sqrt(p), random.standard_normal(K))
    return X, y, weight, params, X.mean(axis=0, dtype=np.float64)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize(("n", "p", "K"), [(1, 1, 3), (37, 5, 3), (700, 100, 10), (333, 17, 4), (130, 200, 7)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rough_sums_have_the_digits_of_single_precision(isa, n, p, K, dtype):
    X, y, weight, params, shift = _draw(n, p, K, dtype)
    kept = _core.isa()
    try:
        _core.set_isa(isa)
        rows = MemoryRows(X, y, weight)
        exact, rough = rows.fold(derivatives(Softmax(), params, 1, shift)), rows.fold(rough_softmax(params, shift))
        again = _core.softmax_float32(X, y, weight, params.coef, params.intercept, shift, 5)
    finally:
        _core.set_isa(kept)
    assert rough.weight == exact.weight
    np.testing.assert_allclose(rough.value, exact.value, rtol=1e-6, atol=1e-6 * n)
    np.testing.assert_allclose(rough.slope, exact.slope, atol=2e-7 * n)
    np.testing.assert_allclose(rough.gradient, exact.gradient, atol=1e-6 * n)
    np.testing.assert_array_equal(again[3], rough.gradient)


@pytest.mark.parametrize(("n", "p", "K"), [(1, 1, 3), (300, 41, 3), (2500, 100, 4)])
def test_curvatures_of_classes(n, p, K):
    X, y, weight, params, shift = _draw(n, p, K)
    Z = np.column_stack([X - shift, np.ones(n)])
    for at in (params, Params(np.zeros((K, p)), np.zeros(K))):
        q = Softmax().probabilities((X - shift) @ at.coef.T + at.intercept)
        expected = np.einsum("nk,ni,nj->kij", weight[:, None] * q * (1.0 - q), Z, Z)
        result = MemoryRows(X, y, weight).fold(class_curvatures(at, shift)).sum
        assert len(result) == (K if at is params else 1)
        np.testing.assert_allclose(result, expected[: len(result)], atol=1e-5 * np.abs(expected).max())


def test_curvatures_summed_over_models():
    """Each counts by the share that it has of the group of a row."""
    n, p, K = 300, 41, 3
    X, y, weight, params, shift = _draw(n, p, K)
    group, share = (np.arange(n) % 3).astype(np.int32), np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    both = Params(np.stack([params.coef, -0.5 * params.coef]), np.stack([params.intercept, 0.0 * params.intercept]))
    result = MemoryRows(X, y, weight, group).fold(sum_class_curvatures(both, share, shift)).sum
    expected = np.zeros_like(result)
    for m in range(2):
        own, at = weight * share[group, m], Params(both.coef[m], both.intercept[m])
        expected += MemoryRows(X, y, own).fold(class_curvatures(at, shift)).sum
    np.testing.assert_allclose(result, expected, atol=1e-5 * np.abs(expected).max())


def test_losses_at_margins():
    random = np.random.default_rng(1)
    n, K = 700, 5
    y, z, dz = random.integers(0, K, (n, 1)).astype(float), 3.0 * random.standard_normal((n, K)), np.ones((n, K))
    weight = random.integers(0, 3, n) / n
    loss, dz = Softmax(), dz * random.standard_normal((n, K))
    result = losses_at(loss, y, z, weight[:, None])
    u = weight[:, None] * loss.slope(y, z)
    np.testing.assert_allclose(result.u, u, atol=1e-15)
    np.testing.assert_allclose(result.value, np.sum(weight[:, None] * loss.value(y, z)), rtol=1e-13)
    np.testing.assert_allclose(result.level.slope, u.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(
        result.level.curvature, np.sum(weight[:, None] * loss.curvature(y, z), axis=0), rtol=1e-12
    )
    first, second, _ = losses_along(loss, y, z, dz, 0.7, weight[:, None])
    at = z + 0.7 * dz
    np.testing.assert_allclose(first, np.sum(weight[:, None] * loss.slope(y, at) * dz), atol=1e-13)
    np.testing.assert_allclose(second, np.sum(weight[:, None] * loss.bend(y, at, dz)), rtol=1e-12)


def test_bad_class_numbers_raise():
    with pytest.raises(ValueError, match="numbers of classes"):
        _core.softmax_at_margins(np.full((2, 1), 3.0), np.zeros((2, 3)), np.ones(2), 1)


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_numbers_beyond_single_precision_are_fitted(unit):
    random = np.random.default_rng(2)
    X = random.standard_normal((2000, 60))
    y = np.argmax(X @ random.standard_normal((60, 8)) / 8 + random.gumbel(size=(2000, 8)), axis=1)
    scaled = X.copy()
    scaled[:, 0] *= unit
    first, second = (LogisticRegression(C=np.inf, max_iter=300).fit(rows, y) for rows in (X, scaled))
    assert all(model.certificate_.ok for model in (first, second))
    np.testing.assert_allclose(second.coef_[:, 0] * unit, first.coef_[:, 0], rtol=1e-3, atol=1e-3)
