"""L-BFGS for many smooth problems in lockstep: a pass over the rows serves all that are not yet solved.

As in lbfgs.py the inverse Hessian of each is that of its last steps, on top of a given symmetric map, one that is so
good that the full step is mostly taken; whoever needs many steps gets a better one. A step that does not descend is
cut, and tried again in the next pass beside the next steps of the others.
"""

from collections import deque
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite

MEMORY = 6

PATIENCE = 7
"""So many steps on top of the same map."""

SHORTEST = 1e-4
"""A direction along which no longer step descends is given up."""

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

Flags = NDArray[np.bool_]

Objective = Callable[[Integers, Floats], tuple[Floats, Floats]]
"""From the numbers (m,) of some problems and a point of each (m, q) to the values (m,) and gradients (m, q)."""
Measure = Callable[[Integers, Floats, Floats, Floats], Floats]
"""From numbers (m,), values (m,), gradients (m, q) and expected falls (m,) to what the stopping rule compares with
one.
"""


class Maps(Protocol):
    """The symmetric map of each problem."""

    trusted: ClassVar[bool]
    """Whether a small step needs no pass to tell that it is a good one."""
    passes: int
    """How often rows were read for better ones."""

    def __call__(self, which: Integers, g: Floats) -> Floats:
        """From the numbers (m,) of some problems and a gradient of each (m, q) to steps (m, q)."""
        ...

    def renew(self, which: Integers, x: Floats) -> bool:
        """Better maps of some problems, at the points (m, q) where they are; or not, where these would be too dear."""
        ...


class Together(NamedTuple):
    """Points (M, q), whether each meets the rule, steps that each took, passes with gradients for all, and what the
    rule compares with one at the start.
    """

    x: Floats
    solved: Flags
    iterations: Integers
    passes: int
    measure: Floats


class Pair(NamedTuple):
    """Steps, the gradients' changes along them, and the inverses of their products, zero where a step was in vain."""

    s: Floats
    y: Floats
    inverse: Floats

    def of(self, some: Flags) -> "Pair":
        return Pair(self.s[some], self.y[some], self.inverse[some])


def minimise(objective: Objective, start: Floats, maps: Maps, measure: Measure, limit: int) -> Together:
    """Steps from `start` (M, q), at most `limit`, until each problem meets the rule or cannot be improved."""
    x, solved, taken = start.copy(), np.zeros(len(start), dtype=bool), np.zeros(len(start), dtype=np.int32)
    which = np.arange(len(start))
    f, g = objective(which, x)
    if not (np.isfinite(f).all() and np.isfinite(g).all()):
        raise NotFinite
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    length, first = np.ones(len(start)), np.zeros(0)
    for passes in range(1, limit + 2):
        if passes > 1 and passes % PATIENCE == 1 and maps.renew(which, x[which]):
            pairs.clear()
            length = np.ones(len(which))
        d = -_two_loop(which, g, pairs, maps)
        fall = -_dot(g, d)
        now = measure(which, f, g, 0.5 * fall)
        first = now if passes == 1 else first
        done = now <= 1.0
        solved[which[done]] = True
        if maps.trusted:  # the last step is known, and free
            x[which[done]] += np.where(fall > 0.0, length, 0.0)[done, None] * d[done]
        left = ~done & (fall > 0.0) & (length > SHORTEST)
        if not left.any() or passes == limit + 1:
            break
        if not left.all():
            which, f, g, d, fall, length = which[left], f[left], g[left], d[left], fall[left], length[left]
            pairs = deque([pair.of(left) for pair in pairs], maxlen=MEMORY)
        trial = x[which] + length[:, None] * d
        there, slopes = objective(which, trial)
        better = _descends(f, there, length * fall, _dot(slopes, d), fall)
        pairs.append(_pair(better, trial - x[which], slopes - g))
        x[which[better]] = trial[better]
        taken[which] += 1
        f, g = np.where(better, there, f), np.where(better[:, None], slopes, g)
        length = np.where(better, 1.0, 0.25 * length)
    return Together(x, solved, taken, passes, first)


def _descends(f: Floats, there: Floats, fall: Floats, slope: Floats, before: Floats) -> Flags:
    """Whether values fall by enough or, where they differ by rounding alone, the slopes along the steps do."""
    with np.errstate(invalid="ignore"):  # a trial may be out of range, and is refused then
        still = (there <= f + 4.0 * EPS * np.abs(f)) & (np.abs(slope) <= 0.9 * before)
        return np.asarray((there <= f - 1e-4 * fall) | still)


def _pair(better: Flags, s: Floats, y: Floats) -> Pair:
    with np.errstate(invalid="ignore"):
        product = _dot(s, y)
        good = better & (product > EPS * np.sqrt(_dot(s, s) * _dot(y, y)))
    s, y = np.where(good[:, None], s, 0.0), np.where(good[:, None], y, 0.0)
    return Pair(s, y, np.where(good, 1.0 / np.where(good, product, 1.0), 0.0))


def _two_loop(which: Integers, g: Floats, pairs: deque[Pair], maps: Maps) -> Floats:
    """The inverse Hessians of the pairs, on top of the maps, times the gradients."""
    q, coefficients = g.copy(), []
    for s, y, inverse in reversed(pairs):
        coefficients.append(_dot(s, q) * inverse)
        q -= coefficients[-1][:, None] * y
    if not pairs:
        return maps(which, q)
    _, last, inverse = pairs[-1]
    q, along = np.split(maps(np.append(which, which), np.concatenate([q, last])), 2)
    # the map is made right along the last step
    q *= np.where(inverse > 0.0, 1.0 / np.maximum(inverse * _dot(last, along), TINY), 1.0)[:, None]
    for (s, y, inverse), a in zip(pairs, reversed(coefficients), strict=True):
        q += (a - _dot(y, q) * inverse)[:, None] * s
    return q


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("mq,mq->m", a, b)
