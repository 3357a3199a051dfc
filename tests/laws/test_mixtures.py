"""Sums of a mixture: a monoid, the compiled loop is the lift in arrays, and no step of EM lowers the bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from tenfold import GaussianMixture, _core
from tenfold.data import Block, MemoryRows
from tenfold.plans.mixture import GaussianSteps
from tenfold.problems import Gaussians
from tenfold.solvers import em
from tenfold.stats.gaussians import KINDS, Mixture, Singular
from tenfold.stats.mixture_features import quadratic_forms
from tenfold.stats.mixtures import mixture_sums, mixture_sums_in_arrays, posterior, posterior_in_arrays

kinds = st.sampled_from(KINDS)
shapes = st.tuples(st.integers(1, 90), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))


def mixture(kind, k, p, rng):
    A = rng.standard_normal((k, p, p)) + 2.0 * np.eye(p)
    full = np.einsum("kij,klj->kil", A, A) + 0.1 * np.eye(p)
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": np.einsum("kii->ki", full).copy(),
        "spherical": full[:, 0, 0].copy(),
        "unit": np.ones(k),
    }[kind]
    weights = rng.uniform(0.1, 1.0, k)
    return Mixture(kind, weights / weights.sum(), rng.standard_normal((k, p)), covariances)


def block(n, p, rng, weighted, dtype=np.float64, missing=0.0, offset=0.0):
    X = rng.standard_normal((n, p)) * 2.0 + offset
    X[rng.uniform(size=X.shape) < missing] = np.nan
    weight = rng.integers(0, 4, n).astype(np.float64) if weighted else None
    return Block(X.astype(dtype), np.zeros((n, 0)), weight)


def check_close(a, b, tol=1e-11):
    for name in ("weight", "value", "count", "sums", "squares"):
        result, expected = getattr(a, name), getattr(b, name)
        size = 1.0 + np.max(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(result, expected, rtol=tol, atol=tol * size, err_msg=name)


@given(kinds, shapes, st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_the_loop_and_arrays(kind, shape, weighted, dtype):
    n, p, k, seed = shape
    rng = np.random.default_rng(seed)
    at, rows = mixture(kind, k, p, rng), block(n, p, rng, weighted, dtype)
    check_close(mixture_sums(at)(rows), mixture_sums_in_arrays(at, rows).result())
    density, r = posterior(rows.X, at)
    expected = posterior_in_arrays(rows.X.astype(np.float64), at)
    np.testing.assert_allclose(density, expected[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(r, expected[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(r.sum(axis=1), 1.0, rtol=1e-13)


@given(shapes, st.integers(8, 12), st.booleans(), st.sampled_from([0.0, 1e6]))
def test_many_components_by_features(shape, k, weighted, offset):
    """All at once, where the columns are about as wide as the components."""
    n, p, _, seed = shape
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-3, 4, p)
    at, rows = mixture("full", k, p, rng), block(n, p, rng, weighted)
    covariances = at.covariances * units[:, None] * units
    at = Mixture("full", at.weights, at.means * units + offset, covariances)
    rows = Block(rows.X * units + offset, rows.y, rows.weight)
    forms = quadratic_forms(at)
    assert forms is not None
    returned, expected = mixture_sums(at)(rows), mixture_sums_in_arrays(at, rows).result()
    np.testing.assert_allclose(returned.value, expected.value, rtol=1e-9)
    np.testing.assert_allclose(returned.count, expected.count, rtol=1e-9, atol=1e-9)
    size = 1.0 + np.max(np.abs(expected.squares / (units[:, None] * units)))
    np.testing.assert_allclose(returned.sums / units, expected.sums / units, rtol=1e-9, atol=1e-9 * size)
    off = (returned.squares - expected.squares) / (units[:, None] * units)
    assert np.max(np.abs(off)) <= 1e-9 * size


def test_narrow_components_are_taken_one_after_the_other():
    """Far apart in units of their own widths, features would lose digits."""
    rng = np.random.default_rng(0)
    at = mixture("full", 8, 3, rng)
    assert quadratic_forms(at) is not None
    assert quadratic_forms(Mixture("full", at.weights, 1e4 * at.means, at.covariances)) is None
    assert quadratic_forms(mixture("full", 7, 3, rng)) is None
    assert quadratic_forms(mixture("diag", 8, 3, rng)) is None
    rows = Block(1e4 * at.means[rng.integers(0, 8, 500)] + rng.standard_normal((500, 3)), np.zeros((500, 0)), None)
    far = Mixture("full", at.weights, 1e4 * at.means, at.covariances)
    check_close(mixture_sums(far)(rows), mixture_sums_in_arrays(far, rows).result())


@given(kinds, shapes, st.booleans(), st.sampled_from([0.0, 0.3]), st.integers(0, 90))
def test_merged_parts_are_the_whole(kind, shape, weighted, missing, cut):
    n, p, k, seed = shape
    rng = np.random.default_rng(seed)
    at, rows = mixture(kind, k, p, rng), block(n, p, rng, weighted, missing=missing)
    lift = mixture_sums(at, missing > 0.0)
    one, other = (
        Block(rows.X[part], rows.y[part], None if rows.weight is None else rows.weight[part])
        for part in (slice(None, min(cut, n)), slice(min(cut, n), None))
    )
    check_close(lift(one).merge(lift(other)), lift(rows), 1e-10)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_bits_do_not_depend_on_threads(kind, isa):
    rng = np.random.default_rng(0)
    at, rows = mixture(kind, 5, 13, rng), block(9_001, 13, rng, True)
    parts = (at.means, at.factors.triangles, at.factors.scales, at.centre, at.offsets)
    best = _core.isa()
    _core.set_isa(isa)
    try:
        returned = [_core.gmm_estep(rows.X, rows.weight, *parts, threads) for threads in (1, 2, 5)]
        shares = [_core.gmm_responsibilities(rows.X, *parts, True, threads) for threads in (1, 3)]
        again = mixture_sums_in_arrays(at, rows).result()
    finally:
        _core.set_isa(best)
    for other in returned[1:]:
        for a, b in zip(returned[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(*shares, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(returned[0][4], again.squares, rtol=1e-10, atol=1e-8)


priors = st.fixed_dictionaries(
    {
        "concentration": st.sampled_from([1.0, 1.5, 4.0]),
        "mean_precision": st.sampled_from([0.0, 0.7]),
        "degrees": st.sampled_from([None, 3.0]),
        "reg_covar": st.sampled_from([0.0, 1e-6, 0.1]),
    }
)


@settings(max_examples=60)
@given(
    kinds,
    st.tuples(st.integers(20, 80), st.integers(1, 4), st.integers(1, 4), st.integers(0, 999)),
    priors,
    st.booleans(),
)
def test_no_step_lowers_the_bound(kind, shape, prior, missing):
    n, p, k, seed = shape
    rng = np.random.default_rng(seed)
    scale = {"full": np.eye(p), "tied": np.eye(p), "diag": np.ones(p), "spherical": np.array(1.0), "unit": None}[kind]
    rows = block(n, p, rng, True, missing=0.2 if missing else 0.0)
    problem = Gaussians(kind, mean=np.zeros(p), scale=None if prior["degrees"] is None else scale, **prior)
    model = GaussianSteps(problem, missing)
    path = em.steps(model, MemoryRows(rows.X, rows.y, rows.weight), mixture(kind, k, p, rng), 1e-3, model.allowance)
    bounds = []
    try:
        for _, step in zip(range(15), path, strict=False):
            bounds.append(step.objective)
    except Singular:
        assert prior["reg_covar"] == 0.0
    assert np.all(np.isfinite(bounds[1:]))
    if prior["reg_covar"] == 0.0 and len(bounds) > 2:
        assert np.min(np.diff(bounds[1:])) >= -1e-10 * (1.0 + np.max(np.abs(bounds[1:])))


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_bits_of_whole_fits(kind, missing):
    rng = np.random.default_rng(1)
    rows = block(6_000, 7, rng, True, missing=missing)
    X = rows.X + 3.0 * np.eye(4, 7)[rng.integers(0, 4, len(rows.X))]
    result = []
    for count in (1, 2, 1):
        with threadpool_limits(count):
            model = GaussianMixture(4, covariance_type=kind, random_state=0, tol=1e-2)
            model.fit(X, sample_weight=rows.weight)
        numbers = [model.means_, model.covariances_, model.lower_bounds_, model.certificate_.value]
        result.append([np.asarray(part).tobytes() for part in [*numbers, model.predict_proba(X[:500])]])
    assert result[0] == result[1] == result[2]
