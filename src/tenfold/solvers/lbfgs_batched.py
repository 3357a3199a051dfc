"""L-BFGS for many smooth problems in lockstep: one pass over the samples serves all that have not converged.

As in lbfgs.py the inverse Hessian of each problem is that of its last steps on top of a given symmetric map, so good
that the full step is mostly accepted; problems that need many steps get a better map. A rejected step is shortened and
tried again in the next pass, beside the next steps of the others.
"""

from collections import deque
from collections.abc import Callable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers
from tenfold.data import NotFinite

MEMORY = 6

STEPS_PER_MAP = 7  # steps on top of one preconditioner

SHORTEST = 1e-4  # step length at which a direction is given up

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

Flags = NDArray[np.bool_]

Objective = Callable[[Integers, Floats], tuple[Floats, Floats]]
"""From the indices (m,) of some problems and a point of each (m, q) to the values (m,) and gradients (m, q)."""
Measure = Callable[[Integers, Floats, Floats, Floats], Floats]
"""From indices (m,), values (m,), gradients (m, q) and half of the expected decreases (m,) to measures of convergence.
"""


class Maps(Protocol):
    """The symmetric map of each problem."""

    trusted: ClassVar[bool]
    """Whether the last small step is taken without a pass that evaluates it."""
    passes: int
    """Passes over the samples that computed better maps."""

    def __call__(self, which: Integers, g: Floats) -> Floats:
        """From the indices (m,) of some problems and a gradient of each (m, q) to steps (m, q)."""
        ...

    def renew(self, which: Integers, x: Floats) -> bool:
        """Compute better maps of some problems at their points (m, q); False where these would cost too much."""
        ...


class BatchResult(NamedTuple):
    """Points (M, q), whether each converged, steps of each, passes with gradients for all, and the measures at the
    start.
    """

    x: Floats
    solved: Flags
    iterations: Integers
    passes: int
    measure: Floats


class Pair(NamedTuple):
    """Steps, the changes of the gradients along them, and the inverses of their products, zero for rejected steps."""

    s: Floats
    y: Floats
    inverse: Floats

    def of(self, some: Flags) -> "Pair":
        return Pair(self.s[some], self.y[some], self.inverse[some])


def minimise(objective: Objective, start: Floats, maps: Maps, measure: Measure, limit: int) -> BatchResult:
    """Steps from `start` (M, q), at most `limit`, until each problem has converged or cannot be improved."""
    x, solved, iterations = start.copy(), np.zeros(len(start), dtype=bool), np.zeros(len(start), dtype=np.int32)
    which = np.arange(len(start))
    f, g = objective(which, x)
    if not (np.isfinite(f).all() and np.isfinite(g).all()):
        raise NotFinite
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    length, first = np.ones(len(start)), np.zeros(0)
    for passes in range(1, limit + 2):
        if passes > 1 and passes % STEPS_PER_MAP == 1 and maps.renew(which, x[which]):
            pairs.clear()
            length = np.ones(len(which))
        d = -_two_loop(which, g, pairs, maps)
        decrease = -_dot(g, d)
        measured = measure(which, f, g, 0.5 * decrease)
        first = measured if passes == 1 else first
        done = measured <= 1.0
        solved[which[done]] = True
        if maps.trusted:  # the last step costs no pass
            x[which[done]] += np.where(decrease > 0.0, length, 0.0)[done, None] * d[done]
        active = ~done & (decrease > 0.0) & (length > SHORTEST)
        if not active.any() or passes == limit + 1:
            break
        if not active.all():
            which, length = which[active], length[active]
            f, g, d, decrease = (part[active] for part in (f, g, d, decrease))
            pairs = deque([pair.of(active) for pair in pairs], maxlen=MEMORY)
        trial = x[which] + length[:, None] * d
        there, slopes = objective(which, trial)
        accepted = _is_sufficient(f, there, length * decrease, _dot(slopes, d), decrease)
        pairs.append(_pair(accepted, trial - x[which], slopes - g))
        x[which[accepted]] = trial[accepted]
        iterations[which] += 1
        f, g = np.where(accepted, there, f), np.where(accepted[:, None], slopes, g)
        length = np.where(accepted, 1.0, 0.25 * length)
    return BatchResult(x, solved, iterations, passes, first)


def _is_sufficient(f: Floats, there: Floats, decrease: Floats, slope: Floats, full_decrease: Floats) -> Flags:
    """Whether the values decrease sufficiently or, where they differ by rounding alone, the slopes do."""
    with np.errstate(invalid="ignore"):  # a trial may overflow, and is rejected then
        equal_value = (there <= f + 4.0 * EPS * np.abs(f)) & (np.abs(slope) <= 0.9 * full_decrease)
        return np.asarray((there <= f - 1e-4 * decrease) | equal_value)


def _pair(accepted: Flags, s: Floats, y: Floats) -> Pair:
    with np.errstate(invalid="ignore"):
        product = _dot(s, y)
        good = accepted & (product > EPS * np.sqrt(_dot(s, s) * _dot(y, y)))
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
    # scale the map to be exact along the last step
    q *= np.where(inverse > 0.0, 1.0 / np.maximum(inverse * _dot(last, along), TINY), 1.0)[:, None]
    for (s, y, inverse), a in zip(pairs, reversed(coefficients), strict=True):
        q += (a - _dot(y, q) * inverse)[:, None] * s
    return q


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("mq,mq->m", a, b)
