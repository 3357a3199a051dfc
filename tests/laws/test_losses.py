"""Losses: slopes and curvatures by differences, Fenchel and Young, the conjugate's domain. New ones join `LOSSES`."""

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenfold.losses import Logistic, Square

LOSSES = [Square(), Logistic()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)

margins = st.one_of(st.floats(-40.0, 40.0), st.floats(-800.0, 800.0))


def target(loss, number):
    """A target that the loss understands."""
    return np.asarray(1.0 if number >= 0 else -1.0) if loss.name == "logistic" else np.asarray(number)


@every_loss
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_slope_is_the_difference_of_values(loss, number, z):
    y, z, h = target(loss, number).astype(np.longdouble), np.longdouble(z), np.longdouble(1e-5)
    difference = (loss.value(y, z + h) - loss.value(y, z - h)) / (2 * h)
    scale = max(1.0, abs(float(loss.value(y, z))))
    assert abs(loss.slope(y, z) - difference) <= 1e-9 * scale


@every_loss
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_curvature_is_the_difference_of_slopes(loss, number, z):
    y, z, h = target(loss, number).astype(np.longdouble), np.asarray(z, np.longdouble), np.longdouble(1e-5)
    difference = (loss.slope(y, z + h) - loss.slope(y, z - h)) / (2 * h)
    assert abs(loss.curvature(y, z) - difference) <= 1e-9
    assert 0.0 <= loss.curvature(y, z) <= loss.smoothness


@every_loss
@pytest.mark.parametrize("put", [np.asarray, strict.asarray], ids=["NumPy", "strict"])
@given(number=st.floats(-5.0, 5.0), z=margins)
def test_double_precision_keeps_its_digits(loss, put, number, z):
    """Values and slopes in float64 against extended precision, in relative terms also where they are tiny."""
    y, z = target(loss, number), np.asarray(z)
    for name in ("value", "slope", "curvature"):
        found = np.asarray(getattr(loss, name)(put(y), put(z)))
        exact = getattr(loss, name)(y.astype(np.longdouble), z.astype(np.longdouble))
        # a square of a difference is as good as the difference
        slack = 4e-16 * abs(z - y) if loss.name == "square" else 0.0
        # below the smallest normal number digits go
        assert abs(found - exact) <= 1e-15 * abs(exact) + slack * (abs(z - y) + 1.0) + 5e-308, name


@every_loss
@given(number=st.floats(-5.0, 5.0), z=margins, u=st.floats(-3.0, 3.0))
def test_fenchel_young(loss, number, z, u):
    """loss + conjugate >= u z for every u, finite only inside the domain."""
    y, z, u = target(loss, number), np.asarray(z), np.asarray(u)
    left, right = loss.value(y, z) + loss.conjugate(y, u), u * z
    assert left >= right - 1e-14 * (1.0 + abs(right) + abs(loss.value(y, z)) + y * y)


@every_loss
@given(number=st.floats(-5.0, 5.0), z=st.floats(-700.0, 700.0))
def test_fenchel_young_is_an_equality_at_the_slope(loss, number, z):
    y, z = target(loss, number), np.asarray(z)
    u = loss.slope(y, z)
    value, conjugate = loss.value(y, z), loss.conjugate(y, u)
    assert np.isfinite(conjugate)
    scale = 1.0 + abs(u * z) + abs(value) + abs(conjugate)
    assert abs(value + conjugate - u * z) <= 1e-14 * scale


@given(st.sampled_from([-1.0, 1.0]), st.floats(-3.0, 3.0))
def test_conjugate_of_the_logistic_loss_has_a_domain(y, a):
    """Finite for -y u in [0, 1], where it is the negative entropy; infinite outside."""
    found = Logistic().conjugate(np.asarray(y), np.asarray(-y * a))
    if 0.0 <= a <= 1.0:
        assert -np.log(2.0) - 1e-15 <= found <= 0.0
    else:
        assert found == np.inf


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_conjugate_at_the_ends_and_the_middle(y):
    u = -y * np.array([0.0, 1.0, 0.5, -1e-300, 1.0 + 1e-15])
    np.testing.assert_array_equal(Logistic().conjugate(np.full(5, y), u), [0.0, 0.0, -np.log(2.0), np.inf, np.inf])


@every_loss
@given(number=st.floats(-5.0, 5.0), u=st.floats(-5.0, 5.0))
def test_conjugate_is_the_supremum_over_margins(loss, number, u):
    y, u = target(loss, number), np.asarray(u)
    z = np.linspace(-60.0, 60.0, 24_001)
    supremum = np.max(u * z - loss.value(y, z))
    conjugate = loss.conjugate(y, u)
    assert conjugate >= supremum - 1e-12
    if np.isfinite(conjugate):
        # the grid is 0.005 wide: half of the curvature times its square is what it may miss
        assert conjugate <= supremum + 0.5 * loss.smoothness * 0.005**2 + 1e-12
    else:
        # outside the domain the supremum grows with the grid
        assert supremum >= 60.0 * min(abs(u), abs(abs(u) - 1.0)) - 1.0


@every_loss
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
@given(number=st.floats(-5.0, 5.0), u=st.floats(-1.5, 1.5))
def test_conjugates_in_another_namespace(loss, number, u):
    y, u = (np.reshape(v, (1,)) for v in (target(loss, number), u))
    Y, U = (strict.asarray(v) for v in (y, u))
    for name in ("conjugate", "clip"):
        np.testing.assert_array_equal(np.asarray(getattr(loss, name)(Y, U)), getattr(loss, name)(y, u))


@every_loss
@given(number=st.floats(-5.0, 5.0), a=st.floats(-50, 50), b=st.floats(-50, 50), share=st.floats(0, 1))
def test_convex(loss, number, a, b, share):
    y = target(loss, number)
    middle = share * a + (1 - share) * b
    chord = share * loss.value(y, np.asarray(a)) + (1 - share) * loss.value(y, np.asarray(b))
    assert loss.value(y, np.asarray(middle)) <= chord + 1e-12 * (1.0 + abs(chord))
