"""Losses: slopes and curvatures by differences, Fenchel and Young, the conjugate's domain. New ones join `LOSSES`."""

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from loss_cases import LOSSES

from tenfold.losses import Logistic

CONVEX = [loss for loss in LOSSES if loss.convex]
SMOOTH = [loss for loss in LOSSES if not loss.nonsmooth]
PLAIN = [loss for loss in CONVEX if loss.name in ("square", "logistic")]


def over(losses):
    return pytest.mark.parametrize("loss", losses, ids=lambda loss: type(loss).__name__)


every_loss = over(LOSSES)
COUNTS = ("poisson", "gamma", "tweedie", "log deviance", "identity deviance")

margins = st.one_of(st.floats(-40.0, 40.0), st.floats(-800.0, 800.0))


def target(loss, number):
    """A target that the loss understands."""
    if loss.signs:
        return np.asarray(1.0 if number >= 0 else -1.0)
    if loss.name not in COUNTS:
        return np.asarray(number)
    return np.asarray(abs(number) + (0.01 if loss.name not in ("poisson", "tweedie") else 0.0))


def within_reach(loss, z):
    """Margins whose exponential is a number; means are positive."""
    if loss.name == "identity deviance":
        return np.clip(np.abs(z), 2.0, 30.0)
    return np.clip(z, -30.0, 30.0) if loss.name in COUNTS else z


def bends(loss, y):
    """The margins at which the slope jumps or the curvature does."""
    if loss.name in ("hinge", "squared hinge"):
        return [float(y)]
    if loss.name == "modified huber":
        return [-float(y), float(y)]
    width = getattr(loss, "width", getattr(loss, "epsilon", None))
    if width is not None:
        return [float(y) - width, float(y) + width]
    return [float(y)] if loss.name == "quantile" else []


def between_bends(loss, y, z, h):
    return all(abs(float(z) - bend) > 2 * h for bend in bends(loss, y))


@every_loss
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_slope_is_the_difference_of_values(loss, number, z):
    z, h = np.asarray(within_reach(loss, z), np.longdouble), np.longdouble(1e-5)
    y = target(loss, number).astype(np.longdouble)
    assume(between_bends(loss, y, z, h))
    difference = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    scale = max(1.0, abs(float(loss.value(y, z))))
    assert abs(loss.slope(y, z) - difference) <= 1e-9 * scale


@over([loss for loss in SMOOTH if loss.convex])
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_curvature_is_the_difference_of_slopes(loss, number, z):
    z, h = np.asarray(within_reach(loss, z), np.longdouble), np.longdouble(1e-5)
    y = target(loss, number).astype(np.longdouble)
    assume(between_bends(loss, y, z, h))
    difference = (loss.slope(y, z + h) - loss.slope(y, z - h)) / (2 * h)
    assert abs(loss.curvature(y, z) - difference) <= 1e-9 * max(1.0, abs(float(difference)))
    assert 0.0 <= loss.curvature(y, z) <= loss.lipschitz


@over([loss for loss in LOSSES if not loss.convex and loss.name not in COUNTS])
@given(number=st.floats(-5.0, 5.0), z=st.floats(-40.0, 40.0), other=st.floats(-40.0, 40.0))
def test_curvature_of_a_loss_that_is_not_convex_is_of_a_parabola_above(loss, number, z, other):
    y, z, other = target(loss, number), np.asarray(z), np.asarray(other)
    step = other - z
    above = loss.value(y, z) + loss.slope(y, z) * step + 0.5 * loss.curvature(y, z) * step**2
    assert loss.value(y, other) <= above + 1e-12 * (1.0 + abs(above))
    assert 0.0 < loss.curvature(y, z) <= loss.lipschitz


@over([loss for loss in LOSSES if loss.link is not None])
@given(z=st.floats(-3.0, 3.0))
def test_where_the_target_is_the_mean_curvature_is_that_of_fisher(loss, z):
    """The second derivative is linear in y, so that its expectation is its value at the mean; there the slope is 0."""
    z, h = np.asarray(abs(z) + 0.05 if loss.link == "identity" else z, np.longdouble), np.longdouble(1e-5)
    y = np.exp(z) if loss.link == "log" else z
    difference = (loss.slope(y, z + h) - loss.slope(y, z - h)) / (2 * h)
    assert abs(loss.curvature(y, z) - difference) <= 1e-5 * abs(difference)
    assert abs(loss.slope(y, z)) <= 1e-17 * (1.0 + abs(difference))
    assert abs(loss.value(y, z)) <= 1e-17 * (1.0 + abs(difference))


@over(CONVEX)
@given(number=st.integers(-5, 5), d=st.floats(-2.0, -0.1) | st.just(0.0) | st.floats(0.1, 2.0))
def test_along_a_recession_a_loss_never_grows(loss, number, d):
    y, away = target(loss, number), 50.0 * np.arange(1.0, 5.0) * d
    values = loss.value(y, away)
    if loss.recession(y, np.asarray(d)) >= 0:
        assert np.all(np.diff(values) <= 1e-12)
    else:
        assert values[-1] > values[0]


@over([loss for loss in CONVEX if 0.0 < loss.self_concordance < np.inf])
@given(number=st.floats(-5.0, 5.0), z=st.floats(-30.0, 30.0))
def test_self_concordance_bounds_the_third_derivative(loss, number, z):
    y, z, h = target(loss, number).astype(np.longdouble), np.asarray(z, np.longdouble), np.longdouble(1e-4)
    third = (loss.curvature(y, z + h) - loss.curvature(y, z - h)) / (2 * h)
    assert abs(third) <= loss.self_concordance * loss.curvature(y, z) * (1.0 + 1e-6) + 1e-12


@over(PLAIN)
@pytest.mark.parametrize("put", [np.asarray, strict.asarray], ids=["NumPy", "strict"])
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_double_precision_keeps_its_digits(loss, put, number, z):
    """Values and slopes in float64 against extended precision, in relative terms also where they are tiny."""
    y, z = target(loss, number), np.asarray(z)
    for name in ("value", "slope", "curvature"):
        result = np.asarray(getattr(loss, name)(put(y), put(z)))
        exact = getattr(loss, name)(y.astype(np.longdouble), z.astype(np.longdouble))
        # a square of a difference is as good as the difference
        slack = 4e-16 * abs(z - y) if loss.name == "square" else 0.0
        # below the smallest normal number digits go
        assert abs(result - exact) <= 1e-15 * abs(exact) + slack * (abs(z - y) + 1.0) + 5e-308, name


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), z=margins, u=st.floats(-3.0, 3.0))
def test_fenchel_young(loss, number, z, u):
    """loss + conjugate >= u z for every u, finite only inside the domain."""
    y, z, u = target(loss, number), np.asarray(within_reach(loss, z)), np.asarray(u)
    left, right = loss.value(y, z) + loss.conjugate(y, u), u * z
    assert left >= right - 1e-14 * (1.0 + abs(right) + abs(loss.value(y, z)) + y * y)


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), z=st.floats(-700.0, 700.0))
def test_fenchel_young_is_an_equality_at_the_slope(loss, number, z):
    y, z = target(loss, number), np.asarray(within_reach(loss, z))
    u = loss.slope(y, z)
    value, conjugate = loss.value(y, z), loss.conjugate(y, u)
    assert np.isfinite(conjugate)
    scale = 1.0 + abs(u * z) + abs(value) + abs(conjugate)
    assert abs(value + conjugate - u * z) <= 1e-14 * scale


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_the_least_loss_is_zero(loss, number, z):
    y, z = target(loss, number), np.asarray(within_reach(loss, z))
    assert loss.value(y, z) >= -1e-14 * (1.0 + abs(y) * (1.0 + abs(z)))
    assert abs(loss.conjugate(y, np.zeros(()))) <= 1e-12 * (1.0 + abs(y))


@given(st.sampled_from([-1.0, 1.0]), st.floats(-3.0, 3.0))
def test_conjugate_of_the_logistic_loss_has_a_domain(y, a):
    """Finite for -y u in [0, 1], where it is the negative entropy; infinite outside."""
    result = Logistic().conjugate(np.asarray(y), np.asarray(-y * a))
    if 0.0 <= a <= 1.0:
        assert -np.log(2.0) - 1e-15 <= result <= 0.0
    else:
        assert result == np.inf


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_conjugate_at_the_ends_and_the_middle(y):
    u = -y * np.array([0.0, 1.0, 0.5, -1e-300, 1.0 + 1e-15])
    np.testing.assert_array_equal(Logistic().conjugate(np.full(5, y), u), [0.0, 0.0, -np.log(2.0), np.inf, np.inf])


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), u=st.floats(-5.0, 5.0))
def test_conjugate_is_the_supremum_over_margins(loss, number, u):
    y, u = target(loss, number), np.asarray(u)
    z = np.linspace(-60.0, 60.0, 24_001)
    products = u * z - loss.value(y, z)
    best = int(np.argmax(products))
    conjugate = loss.conjugate(y, u)
    assert conjugate >= products[best] - 1e-12
    inside = 0 < best < len(z) - 1
    if not np.isfinite(conjugate):
        # well outside of the domain the supremum is at the end of the grid, and still grows
        assert not inside or abs(u - loss.clip(y, u)) < 1e-9
    elif inside:
        # the grid is 0.005 wide: what it misses is at most the largest slope next to its best point times that
        slopes = loss.slope(y, z[best - 1 : best + 2])
        assert conjugate <= products[best] + 0.005 * np.max(np.abs(u - slopes)) + 1e-12


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), u=st.floats(-5.0, 5.0))
def test_clip_is_the_nearest_point_of_the_domain(loss, number, u):
    y, u = target(loss, number), np.asarray(u)
    inside = loss.clip(y, u)
    assert np.isfinite(loss.conjugate(y, inside))
    assert loss.clip(y, inside) == inside
    if np.isfinite(loss.conjugate(y, u)):
        assert inside == u
    candidates = np.linspace(-6.0, 6.0, 2401)
    candidates = candidates[np.isfinite(loss.conjugate(np.broadcast_to(y, candidates.shape), candidates))]
    assert abs(inside - u) <= np.min(np.abs(candidates - u)) + 1e-12


@every_loss
@given(number=st.floats(-5.0, 5.0), z=margins, u=st.floats(-1.5, 1.5))
def test_another_namespace(loss, number, z, u):
    y, z, u = (np.reshape(v, (1,)) for v in (target(loss, number), within_reach(loss, z), u))
    Y, Z, U = (strict.asarray(v) for v in (y, z, u))
    # the logistic loss has formulas of fewer calls there, and `test_double_precision_keeps_its_digits`
    for name in ("value", "slope", "curvature") if loss.name != "logistic" else ():
        np.testing.assert_array_equal(np.asarray(getattr(loss, name)(Y, Z)), getattr(loss, name)(y, z))
    for name in ("conjugate", "clip") if loss.convex else ():
        np.testing.assert_array_equal(np.asarray(getattr(loss, name)(Y, U)), getattr(loss, name)(y, u))


@over(CONVEX)
@given(number=st.floats(-5.0, 5.0), a=st.floats(-50, 50), b=st.floats(-50, 50), share=st.floats(0, 1))
def test_convex(loss, number, a, b, share):
    y = target(loss, number)
    a, b = (float(within_reach(loss, v)) for v in (a, b))
    middle = share * a + (1 - share) * b
    chord = share * loss.value(y, np.asarray(a)) + (1 - share) * loss.value(y, np.asarray(b))
    assert loss.value(y, np.asarray(middle)) <= chord + 1e-12 * (1.0 + abs(chord))
