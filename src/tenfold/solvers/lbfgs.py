"""L-BFGS for smooth generalised linear models of one target, or of several classes together (Liu and Nocedal 1989).

The inverse Hessian is that of the last `MEMORY` steps on top of a given symmetric map `precondition`: the inverse
Hessian of a sample of the rows where p is small, a diagonal where it is large. The better that map, the fewer the
passes over the rows. `Points` and `Margins` are the two ways to walk along a direction.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dnrm2

from tenfold.arrays import Array, Floats, namespace, on_host
from tenfold.data import Block, Lifted, NotFinite, Rows, targets_of, weights_of
from tenfold.losses.loss import Loss
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm, evaluate_ahead, evaluate_roughly
from tenfold.solvers.loop import Step
from tenfold.stats.columns import Columns
from tenfold.stats.derivatives import AtMargins, Level, Params, Total, back_times, losses_along, losses_at, predictions
from tenfold.stats.softmax import softmax_along, softmax_at

MEMORY = 8

AHEAD = 4
"""Once the full step has failed, a pass over scattered rows looks ahead at so many halvings of the next."""

EPS = float(np.finfo(np.float64).eps)

ROUGH = 1e-8
"""What is left of the errors of single precision, relatively, in a mean over many rows."""

Map = Callable[[Floats], Floats]
Measure = Callable[[Floats, float], float]
"""From the gradient and the expected fall of the objective to the number that the stopping rule compares with one."""


class Place(NamedTuple):
    """A point (weights, then the intercept, class after class) with its objective and gradient."""

    x: Floats
    f: float
    g: Floats


class Walk(Protocol):
    """How the objective is read."""

    outputs: int
    """Raw predictions of a row."""
    trusting: ClassVar[bool]
    """Whether the first trial along a direction is mostly the last."""

    def start(self, x: Floats) -> Place: ...
    def along(self, place: Place, d: Floats, fall: float) -> Place | None:
        """A place along d with sufficient descent, or None where rounding hides any; fall = -g.d > 0."""
        ...


def steps(walk: Walk, start: Params, precondition: Map, measure: Measure) -> Iterator[Step]:
    """Steps from `start`, in the coordinates of `walk`.

    Once, near the end, a trusting walk yields a step before it is evaluated: whoever judges the result reads the rows
    there anyway. Asked for more, the iteration goes on from the last place that it knows.
    """
    here = walk.start(np.column_stack([start.coef, start.intercept]).ravel())
    if not (np.isfinite(here.f) and np.isfinite(here.g).all()):
        raise NotFinite
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    before, on_credit = 0.0, walk.trusting
    while True:
        d = -two_loop(here.g, pairs, precondition)
        fall = -_dot(here.g, d)
        now = measure(here.g, 0.5 * fall)
        if on_credit and now > 1.0 and 2.0 * now * now <= before:
            on_credit = False
            yield Step(_unpack(here.x + d, walk.outputs), here.f, 2.0 * now * now / before)
        else:
            yield Step(_unpack(here.x, walk.outputs), here.f, now)
        before = now
        there = walk.along(here, d, fall) if fall > 0.0 else None
        if there is None:
            if not pairs:
                return
            pairs.clear()  # the memory has lost the curvature: start it afresh
            continue
        if (pair := _pair(there.x - here.x, there.g - here.g, precondition)) is not None:
            pairs.append(pair)
        here = there


class Points:
    """One pass a trial, value and gradient together: for a map so good that few trials are in vain."""

    trusting: ClassVar[bool] = True
    noise = 4.0 * EPS
    """Objectives that differ by less, relatively, are equal."""

    def __init__(self, problem: Glm, rows: Rows, shift: Floats, outputs: int = 1) -> None:
        self.problem, self.rows, self.shift, self.outputs = problem, rows, shift, outputs

    def start(self, x: Floats) -> Place:
        return self._read(x, [])[0]

    def _read(self, x: Floats, others: list[Floats]) -> tuple[Place, list[float]]:
        """The place at x, and the bare objective at others, from one pass."""
        ahead = [_unpack(other, self.outputs) for other in others]
        found, values = evaluate_ahead(self.problem, self.rows, _unpack(x, self.outputs), 1, self.shift, ahead)
        return Place(x, float(found.value[0]), found.gradient[0]), values

    def along(self, place: Place, d: Floats, fall: float) -> Place | None:
        length, still = 1.0, place.f + self.noise * abs(place.f)
        known: dict[float, float] = {}
        while length > 1e-8:
            if not known.get(length, -np.inf) <= still:
                length *= 0.5  # a pass that looked ahead has found it in vain
                continue
            ahead = [length * 0.5**k for k in range(1, AHEAD + 1)] if self.rows.scattered and length < 1.0 else []
            there, values = self._read(place.x + length * d, [place.x + other * d for other in ahead])
            if there.f <= place.f - 1e-4 * length * fall:
                return there
            slope = _dot(there.g, d)
            if there.f <= still and abs(slope) <= 0.9 * fall:
                return there  # values differ by rounding alone: the slope decides
            known.update(zip(ahead, values, strict=True))
            shrink = fall / (fall + slope) if np.isfinite(slope) and slope > 0.0 else 0.5
            length *= 0.5 if ahead else float(np.clip(shrink, 0.05, 0.7))
        return None


class Rough(Points):
    """The same for the softmax of dense rows with products in single precision, until `sharpen`."""

    noise = ROUGH

    def sharpen(self) -> None:
        """From now on every digit counts."""
        self.noise = Points.noise

    def _read(self, x: Floats, others: list[Floats]) -> tuple[Place, list[float]]:
        if self.noise == ROUGH:
            found = evaluate_roughly(self.problem, self.rows, _unpack(x, self.outputs), self.shift)
            if np.isfinite(found.value).all() and np.isfinite(found.gradient).all():
                return Place(x, float(found.value[0]), found.gradient[0]), []
            self.sharpen()  # single precision ends at 3e38
        return super()._read(x, others)


class Margins:
    """Two products a step, forth and back: with the margins kept, the minimum along a line is found without rows."""

    trusting: ClassVar[bool] = False

    def __init__(self, problem: Glm, rows: Rows, shift: Floats, outputs: int = 1) -> None:
        self.problem, self.rows, self.outputs = problem, rows, outputs
        self.shift = shift if shift.any() else None
        self.y = rows.map(targets_of)
        self.share = np.array(rows.map(weights_of))[:, None]
        self.share /= self.share.sum()
        self.strength, self.tie = float(np.max(problem.penalty.strength)), problem.tie
        self.z = np.zeros((len(self.y), outputs))

    def start(self, x: Floats) -> Place:
        self.z = self._forth(x)
        return self._place(x.copy())

    def _forth(self, x: Floats) -> Floats:
        return np.ascontiguousarray(self.rows.map(predictions(_unpack(x, self.outputs), self.shift)))

    def _back(self, u: Floats) -> Floats:
        rows = self.rows.retarget(u)
        return np.asarray(rows.fold(lambda block: Total(back_times(block.X, block.y, self.shift))).sum)

    def _weights(self, x: Floats) -> Floats:
        return x.reshape(self.outputs, -1)[:, :-1]

    def _inner(self, x: Floats, d: Floats) -> float:
        """The penalty's bilinear form."""
        weights = self.strength * float(np.einsum("kp,kp->", self._weights(x), self._weights(d)))
        b, e = (part.reshape(self.outputs, -1)[:, -1] for part in (x, d))
        return weights + self.tie * float(np.sum(b * e))

    def _losses(self) -> AtMargins:
        """The losses at the margins."""
        if self.problem.loss.joint:
            return softmax_at(self.y, self.z, self.share[:, 0])
        return losses_at(self.problem.loss, self.y, self.z, self.share)

    def _bends(self, dz: Floats, length: float) -> tuple[float, float, Level | None]:
        """The first two derivatives of the losses along dz, and the pull on one intercept there."""
        if self.problem.loss.joint:
            return *softmax_along(self.y, self.z, dz, length, self.share[:, 0]), None
        return losses_along(self.problem.loss, self.y, self.z, dz, length, self.share)

    @np.errstate(over="ignore", invalid="ignore")  # a trial may be out of range, and is refused then
    def _place(self, x: Floats, level: Level | None = None) -> Place:
        """Value and gradient near x, whose margins are known: the intercepts take a Newton step of their own first, by
        the pull on them where that is known.
        """
        slope, b = np.zeros(self.outputs), x.reshape(self.outputs, -1)[:, -1]
        if self.problem.intercept:
            level = level or self._losses().level
            curvature = level.bend + self.tie
            # several classes pull at each other, and the diagonal knows at least half of their curvature
            move = -(level.slope + self.tie * b) / np.where(curvature > 0.0, curvature, np.inf)
            move = np.clip(move / min(self.outputs, 2), -1.0, 1.0)
            b += move
            self.z = self.z + move
        losses = self._losses()
        if self.problem.intercept:
            slope = losses.level.slope + self.tie * b
        f, w = losses.value + 0.5 * self._inner(x, x), self._weights(x)
        return Place(x, f, np.column_stack([self._back(losses.u) + self.strength * w, slope]).ravel())

    def along(self, place: Place, d: Floats, fall: float) -> Place | None:
        if not self.problem.intercept:
            d = d.copy()
            d.reshape(self.outputs, -1)[:, -1] = 0.0
        dz, kept, high = self._forth(d), self.z, np.inf
        of_penalty = self._inner(place.x, d), self._inner(d, d)
        still = place.f + 4.0 * EPS * abs(place.f)
        while True:
            length, level = self._minimum(dz, *of_penalty, fall, high)
            self.z = kept + length * dz
            there = self._place(place.x + length * d, level)
            if there.f < place.f or (there.f <= still and abs(_dot(there.g, d)) <= 0.5 * fall):
                return there
            self.z = kept
            if there.f <= still or length <= 1e-12:
                return None
            high = length  # where a line falls steeply, a tenth of its slope may lie far behind its minimum

    @np.errstate(over="ignore", invalid="ignore")
    def _minimum(
        self, dz: Floats, slope: float, curvature: float, fall: float, high: float
    ) -> tuple[float, Level | None]:
        """Where the slope along the line is a tenth of that at its start, and the pull on one intercept there: Newton's
        method in a bracket, halved where it crawls.

        `slope` at the start and `curvature` are those of the penalty; the minimum lies before `high`.
        """
        low, length, before = 0.0, min(1.0, 0.25 * high), np.inf
        for _ in range(40):
            *of_losses, level = self._bends(dz, length)
            first, second = of_losses[0] + slope + length * curvature, of_losses[1] + curvature
            if abs(first) <= 0.1 * fall:
                return length, level
            low, high = (length, high) if first < 0.0 else (low, length)
            new = length - first / second if second > 0.0 else np.inf
            middle = 0.5 * (low + high) if high < np.inf else 4.0 * length
            # far out on an exponential Newton's method crawls, by equal steps
            crawls = high < np.inf and not abs(new - length) <= 0.5 * before
            new = new if low < new < min(high, 10.0 * length) and not crawls else middle
            length, before = new, abs(new - length)
        return length, None


def diagonal(problem: Glm, rows: Rows, shift: Floats, mean: float | None = None, outputs: int = 1) -> Map:
    """The inverse of the Hessian's diagonal as a map, one pass: at the largest curvature of the loss or, where there is
    none, at means halfway between each target and the `mean` of all.
    """
    loss = problem.loss

    def lift(block: Block) -> Lifted[Columns]:
        return Columns.lift(block if mean is None else _weighed(block, loss, mean))

    columns = rows.fold(lift)
    bend = loss.smoothness
    if mean is not None:
        total, weight = rows.fold(partial(_bends, loss, mean)).sum
        bend = float(total / weight)
    centre, squares = columns.mean[: columns.features], columns.squares_about(shift)
    # never less than a thousandth of the raw squares: a difference of nearly equal numbers has no digits
    squares = np.maximum(squares, 1e-3 * (squares + shift * (2.0 * centre - shift)))
    curvature = np.append(bend * squares + np.max(problem.penalty.strength), bend)
    inverse = np.tile(1.0 / np.where(curvature > 0.0, curvature, 1.0), outputs)
    return lambda g: inverse * g


def _halfway(loss: Loss, mean: float, y: Array) -> Array:
    """The curvature of the loss for means halfway between the targets and `mean`."""
    z = 0.5 * (y + mean)
    return loss.curvature(y, namespace(z).log(z) if loss.link == "log" else z)


def _weighed(block: Block, loss: Loss, mean: float) -> Block:
    return Block(block.X, block.y, weights_of(block) * _halfway(loss, mean, block.y)[:, 0])


def _bends(loss: Loss, mean: float, block: Block) -> Total:
    """Sums of weight times curvature, and of weight."""
    weight = weights_of(block)
    xp = namespace(weight)
    parts = (xp.sum(weight * _halfway(loss, mean, block.y)[:, 0]), xp.sum(weight))
    return Total(np.array([float(on_host(part)) for part in parts]))


def _dot(a: Floats, b: Floats) -> float:
    with one_blas_thread:
        return float(ddot(a, b))


def _unpack(x: Floats, outputs: int) -> Params:
    by_class = x.reshape(outputs, -1)
    return Params(by_class[:, :-1].copy(), by_class[:, -1].copy())


class Pair(NamedTuple):
    """A step, the gradient's change along it, their product, and the factor that makes the map right along it."""

    s: Floats
    y: Floats
    sy: float
    scale: float


def _pair(s: Floats, y: Floats, precondition: Map) -> Pair | None:
    with one_blas_thread:
        sy = float(ddot(s, y))
        if not sy > EPS * float(dnrm2(s) * dnrm2(y)):
            return None
        return Pair(s, y, sy, sy / max(float(ddot(y, precondition(y))), float(np.finfo(np.float64).tiny)))


def two_loop(g: Floats, pairs: deque[Pair], precondition: Map) -> Floats:
    """The inverse Hessian of the pairs, on top of `precondition`, times g."""
    q = g.copy()
    coefficients = []
    with one_blas_thread:
        for s, y, sy, _ in reversed(pairs):
            coefficients.append(ddot(s, q) / sy)
            daxpy(y, q, a=-coefficients[-1])
        q = precondition(q)
        if pairs:
            q *= pairs[-1].scale
        for (s, y, sy, _), a in zip(pairs, reversed(coefficients), strict=True):
            daxpy(s, q, a=a - ddot(y, q) / sy)
    return q
