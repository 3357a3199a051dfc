"""Hypothesis strategies for blocks of samples, and their moments in extended precision."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

EPS = np.finfo(np.float64).eps


class Drawn(NamedTuple):
    """X (n, p), y (n, t), weight (n,) or None, group (n,), and where the rows are cut into three blocks."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    group: np.ndarray
    cuts: tuple[int, int]

    def part(self, which):
        """Rows of one block (0, 1, 2) or of a mask."""
        rows = slice(*((0, *self.cuts, len(self.X))[which : which + 2])) if isinstance(which, int) else which
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[rows])
        return Drawn(
            np.ascontiguousarray(self.X[rows]),
            np.ascontiguousarray(self.y[rows]),
            weight,
            self.group[rows].copy(),
            (0, 0),
        )


def _numbers(n, p):
    # sixteenths up to 8: nothing between zero and 1/16, so a column at 1e-150 has squares above the smallest number
    return hnp.arrays(np.int16, (n, p), elements=st.integers(-128, 128)).map(lambda a: a / 16.0)


@st.composite
def draw_data(
    draw,
    max_rows=9,
    min_rows=0,
    scales=(1.0, 1e150, 1e-150),
    offsets=(0.0, 1e8),
    targets=2,
    dtypes=(np.float64, np.float32),
    weights=True,
):
    """From `min_rows` to `max_rows` rows; columns in units of `scales` about `offsets`; weights with zeros, or none."""
    n, p, t = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, 4)), draw(st.integers(0, targets))
    joint = draw(_numbers(n, p + t))
    dtype = draw(st.sampled_from(dtypes))
    unit = np.array(draw(st.lists(st.sampled_from(scales), min_size=p + t, max_size=p + t)))
    if dtype == np.float32:
        unit[:p] = 1.0
    offset = np.array(draw(st.lists(st.sampled_from(offsets), min_size=p + t, max_size=p + t)))
    joint = (joint + offset) * unit
    weight = None
    if weights and draw(st.booleans()):
        some = st.one_of(st.just(0.0), st.integers(1, 4000).map(lambda k: k / 1000.0))
        weight = np.array(draw(st.lists(some, min_size=n, max_size=n)), dtype=np.float64)
    group = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int32)
    cuts = tuple(sorted((draw(st.integers(0, n)), draw(st.integers(0, n)))))
    return Drawn(
        np.ascontiguousarray(joint[:, :p].astype(dtype)), np.ascontiguousarray(joint[:, p:]), weight, group, cuts
    )


class Truth(NamedTuple):
    """Count, weight, means (`about` + `mean`) and centred second moments of [X y], two passes in extended precision.

    `spread` are the lengths of the centred columns, `reach` how far entries of all groups lie from each other.
    """

    count: int
    weight: np.longdouble
    about: np.ndarray
    mean: np.ndarray
    second: np.ndarray
    spread: np.ndarray
    reach: np.ndarray

    def tolerance(self, rtol):
        """Allowed errors of means and second moments: `rtol` of the lengths, and the rounding of differences."""
        rounding = np.sqrt(self.weight) * EPS * self.reach
        cross = np.outer(self.spread, rounding)
        second = rtol * np.outer(self.spread, self.spread) + 8 * (cross + cross.T + np.outer(rounding, rounding))
        return (rtol * self.spread + 8 * rounding) / np.sqrt(self.weight), second


def truth(data: Drawn, inside=slice(None)) -> Truth:
    """What is true of the rows `inside`."""
    joint = np.hstack([data.X.astype(np.longdouble), data.y.astype(np.longdouble)])
    weight = np.ones(len(joint), np.longdouble) if data.weight is None else data.weight.astype(np.longdouble)
    columns = joint.shape[1]
    about = joint[0] if len(joint) else np.zeros(columns, np.longdouble)
    joint = joint - about
    reach = np.max(np.abs(joint), axis=0, initial=0.0)
    joint, weight = joint[inside], weight[inside]
    joint, weight = joint[weight > 0], weight[weight > 0]
    total = weight.sum()
    if total == 0:
        zero = np.zeros(columns, np.longdouble)
        return Truth(0, total, about, zero, np.zeros((columns, columns), np.longdouble), zero, reach)
    mean = weight @ joint / total
    centred = joint - mean
    second = (weight[:, None] * centred).T @ centred
    return Truth(len(joint), total, about, mean, second, np.sqrt(np.diag(second)), reach)


def unpack(moments, about):
    """Means from `about`, and second moments with NaN for the products of targets, which are not kept."""
    p, e = moments.features, moments.exponent
    mean = (moments.shift.astype(np.longdouble) - about) + np.ldexp(moments.offset.astype(np.longdouble), e)
    second = np.full((len(e), len(e)), np.nan, np.longdouble)
    second[:p, :p] = moments.XX
    second[:p, p:] = moments.XY
    second[p:, :p] = moments.XY.T
    second[np.arange(p, len(e)), np.arange(p, len(e))] = moments.yy
    return mean, np.ldexp(second, e[:, None] + e)


def assert_moments(moments, expected: Truth, rtol=1e-12):
    """`moments` are those of `expected`: entries of second moments relative to the lengths of their two columns."""
    assert moments.count == expected.count
    assert abs(moments.weight - expected.weight) <= rtol * expected.weight
    if expected.count == 0:
        return
    mean, second = unpack(moments, expected.about)
    of_mean, of_second = expected.tolerance(rtol)
    assert np.all(np.abs(mean - expected.mean) <= of_mean)
    kept = ~np.isnan(second)
    assert kept.sum() == second.size - moments.yy.size * (moments.yy.size - 1)
    assert np.all(np.abs(second - expected.second)[kept] <= of_second[kept])


def assert_same_moments(a, b, expected: Truth, rtol=1e-12):
    """Two statistics of the same rows agree; `expected` gives the lengths by which differences are measured."""
    assert a.count == b.count
    assert abs(a.weight - b.weight) <= rtol * max(a.weight, b.weight)
    if a.count == 0:
        return
    (mean_a, second_a), (mean_b, second_b) = unpack(a, expected.about), unpack(b, expected.about)
    of_mean, of_second = expected.tolerance(rtol)
    assert np.all(np.abs(mean_a - mean_b) <= of_mean)
    kept = ~np.isnan(second_a)
    assert np.all(np.abs(second_a - second_b)[kept] <= of_second[kept])
