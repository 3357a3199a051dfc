"""Newton's method for smooth generalised linear models of one target, or of several classes together (iteratively
re-weighted least squares), with a line search.

Each step solves H d = -g, H the Hessian of the penalised mean loss in (w, b), and takes the largest of 1, 1/2, 1/4, ...
that gives sufficient descent. One pass over the rows a step, p x p memory, K (p + 1) squared for K classes.

The Hessian of a loss with linear parts is damped where it does not suffice (damping.py).

What is added to the predictions of all classes alike changes no loss: H is zero in these directions, the gradient too,
and a penalty on the mean of the classes' coefficients, which no step then changes, makes H regular.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, lapack, qr

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.data import NotFinite, Rows
from tenfold.machine import one_blas_thread, threads
from tenfold.problems import Evaluation, Glm, evaluate, evaluate_ahead, objectives
from tenfold.solvers.damping import FIRST, Damping
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

LENGTHS, MORE = (tuple(0.5**k for k in range(count)) for count in (14, 40))
"""The steps that a line search tries: down to about 1e-4, and to 1e-12 where the curvature may jump within a step."""

LEAPS = tuple(1.5**k for k in range(8))
"""The steps that a leap tries: up to about 17."""

SHORT = 0.2
"""Up to such a fall that is expected, a full step is long enough."""

AHEAD = 4
"""A pass over scattered rows looks ahead at so many lengths."""

Measure = Callable[[Floats, float], float]
"""From the gradient and the expected fall of the objective to the number that the stopping rule compares with one."""


FEW = 64
"""Up to so many coefficients a call costs more than what it does."""

PIVOT = 1e-14
"""A Hessian is regular where every column adds more than such a part of its curvature to those before it."""

RANK = 1e-13
"""Eigenvalues of a Hessian with unit diagonal are rounding up to this."""

FLAT = 1e-8
"""A gradient is reached by a singular Hessian up to such a part of its length."""


class Factor(Protocol):
    """A Hessian that was made ready to be solved with."""

    @property
    def least(self) -> float:
        """The least curvature that a column adds to those before it."""
        ...

    def solve(self, g: Floats) -> Floats:
        """H^-1 g, for one g or for each of several (m, q)."""
        ...


@dataclass(frozen=True)
class Regular:
    """Cholesky factor of the Hessian with its columns scaled to unit diagonal; `known` is zero for columns that only
    hold rounding, which are left alone.
    """

    lower: Floats
    scale: Floats
    known: Floats

    @property
    def least(self) -> float:
        return float(np.min((self.lower.diagonal() * self.scale) ** 2))

    def solve(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(lapack.dpotrs(self.lower, (self.known * g / self.scale).T, lower=1)[0].T / self.scale)


@dataclass(frozen=True)
class Singular:
    """A factor of the pseudo-inverse: steps have no part in which the objective is flat, so that from zero the shortest
    of all minimisers is found.
    """

    root: Floats
    least: float = 0.0

    def solve(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(g @ self.root @ self.root.T)


@dataclass(frozen=True)
class Member:
    """One of many factors that lie side by side, (m, q, q)."""

    stack: Floats
    number: int

    @property
    def least(self) -> float:
        return float(np.min(self.stack[self.number].diagonal() ** 2))

    def solve(self, g: Floats) -> Floats:
        several = np.atleast_2d(g)
        which = np.full(len(several), self.number)
        return _core.solve_stack(self.stack, which, np.ascontiguousarray(several)).reshape(g.shape)


def factors(hessians: Floats, shift: Floats) -> list[Factor]:
    """`factor` of each of several Hessians (m, q, q)."""
    q = hessians.shape[1]
    if q != len(shift) + 1:
        return [factor(one, shift) for one in hessians]
    if not np.isfinite(hessians).all():
        raise NotFinite
    stack, least = _core.factor_stack(np.ascontiguousarray(hessians), threads(hessians.size))
    diagonal = np.einsum("mii->mi", hessians)
    noise = diagonal[:, -1:] * np.append(4.0 * EPS * shift, 0.0) ** 2
    good = (least > PIVOT) & np.all((diagonal > TINY) & (diagonal > noise), axis=1)
    return [Member(stack, k) if fine else factor(hessians[k], shift) for k, fine in enumerate(good.tolist())]


def side_by_side(factors: Sequence[Factor]) -> list[Factor]:
    """The same factors, those of few coefficients in one stack, which is solved with in one call."""
    plain = {id(one): one for one in factors if isinstance(one, Regular) and len(one.scale) <= FEW and one.known.all()}
    if len(plain) < 2:
        return list(factors)
    stack = np.array([one.scale[:, None] * one.lower for one in plain.values()])
    members = {key: Member(stack, k) for k, key in enumerate(plain)}
    return [members.get(id(one), one) for one in factors]


def solve_each(factors: Sequence[Factor], g: Floats) -> Floats:
    """H^-1 g (m, q) of each factor with its own g."""
    found = np.empty_like(g)
    alone = [k for k, one in enumerate(factors) if not isinstance(one, Member)]
    side = {id(one.stack): one.stack for one in factors if isinstance(one, Member)}
    for key, stack in side.items():
        own = [k for k, one in enumerate(factors) if isinstance(one, Member) and id(one.stack) == key]
        which = np.array([factors[k].number for k in own])  # type: ignore[attr-defined]
        found[own] = _core.solve_stack(stack, which, np.ascontiguousarray(g[own]))
    # the same factor may serve many in a row
    cuts = [0, *(j for j in range(1, len(alone)) if factors[alone[j]] is not factors[alone[j - 1]]), len(alone)]
    for first, last in pairwise(cuts) if alone else ():
        found[alone[first:last]] = factors[alone[first]].solve(g[alone[first:last]])
    return found


def factor(hessian: Floats | None, shift: Floats) -> Factor:
    """Factor a Hessian about `shift`."""
    if hessian is None or not np.isfinite(hessian).all():
        raise NotFinite
    hessian = _without_common(hessian, len(shift) + 1)
    diagonal = hessian.diagonal()
    # a constant column about its mean is rounding
    by_class = diagonal.reshape(-1, len(shift) + 1)
    noise = np.column_stack([by_class[:, -1:] * (4.0 * EPS * shift) ** 2, np.zeros(len(by_class))])
    known = (diagonal > TINY) & (diagonal > noise.ravel())
    d = np.sqrt(np.where(known, diagonal, 1.0))
    scaled = np.asfortranarray(hessian / d / d[:, None])
    if not known.all():
        scaled[~known, :] = scaled[:, ~known] = 0.0
        scaled[~known, ~known] = 1.0
    with one_blas_thread:
        lower, info = lapack.dpotrf(scaled, lower=1)
    if info == 0 and np.diag(lower).min() ** 2 > PIVOT:
        return Regular(lower, d, known.astype(np.float64))
    scaled[~known, ~known] = 0.0
    return Singular(_root_of_inverse(scaled, d))


def _root_of_inverse(scaled: Floats, d: Floats) -> Floats:
    """A root of the pseudo-inverse of a Hessian with columns divided by d; negative curvature counts as positive."""
    with one_blas_thread:
        values, vectors = eigh(scaled, check_finite=False)
        flat = np.abs(values) <= RANK
        root = vectors[:, ~flat] / np.sqrt(np.abs(values[~flat])) / d[:, None]
        if flat.any():
            along = qr(vectors[:, flat] / d[:, None], mode="economic")[0]
            root -= along @ (along.T @ root)
    return np.asarray(root)


def _without_common(hessian: Floats, k: int) -> Floats:
    """The Hessian of several classes, k coefficients each, with a penalty on the mean of those that have none."""
    K = len(hessian) // k
    if K == 1:
        return hessian
    lifted = hessian.reshape(K, k, K, k).copy()
    own, common = np.einsum("cjcj->j", lifted), np.einsum("cjlj->j", lifted)
    each = np.flatnonzero(common <= 1e-9 * own)
    lifted[:, each, :, each] += own[each, None, None] / K**2
    return lifted.reshape(K * k, K * k)


def _length(g: Floats, hessian: Floats) -> float:
    """The length of a gradient in coordinates of unit curvature."""
    diagonal = hessian.diagonal()
    return float(np.sqrt(np.sum(np.square(g / np.sqrt(np.where(diagonal > TINY, diagonal, 1.0))))))


def _direction(hessian: Floats | None, g: Floats, shift: Floats, damping: Damping) -> tuple[Floats, bool]:
    """The step -H^-1 g, of the damped Hessian where that of a loss with linear parts does not reach all of g; and
    whether the Hessian itself is regular.
    """
    own = factor(hessian, shift)
    d = -own.solve(g)
    if not damping.used:
        return d, True
    assert hessian is not None
    regular = isinstance(own, Regular) and bool(own.known.all())
    if damping.level == 0.0 and not regular and _length(g + hessian @ d, hessian) > FLAT * _length(g, hessian):
        damping.level = FIRST
    return (-factor(damping.damp(hessian), shift).solve(g) if damping.level > 0.0 else d), regular


def steps(problem: Glm, rows: Rows, start: Params, shift: Floats, measure: Measure) -> Iterator[Step]:
    """Steps in the coordinates z = (x - shift).w + b; the params given and yielded are in those coordinates.

    Once, near the end, a step is yielded before it is evaluated: whoever judges the result reads the rows there anyway.
    Asked for more, the iteration goes on from the last point that it knows.
    """
    params, here = start, _finite(evaluate(problem, rows, start, 2, shift))
    before, last, on_credit = 0.0, np.inf, True
    damping = Damping(problem, rows, shift)
    while True:
        g, f = here.gradient[0], float(here.value[0])
        d, regular = _direction(here.hessian, g, shift, damping)
        fall = -float(g @ d)
        now = measure(g, 0.5 * fall)
        if on_credit and now > 1.0 and 2.0 * now * now <= before:
            on_credit = False
            yield Step(_step(params, d, 1.0), f, 2.0 * now * now / before)
        else:
            yield Step(params, f, now)
        if fall <= 1e-12 * abs(f) and fall >= 0.25 * last:
            return  # rounding: the gradient falls no further
        found = _search(problem, rows, params, f, d, fall, shift)
        while found is None and fall > 1e-12 * abs(f) and damping.adapt(0.0, regular):
            d, _ = _direction(here.hessian, g, shift, damping)
            fall = -float(g @ d)
            found = _search(problem, rows, params, f, d, fall, shift)
        if found is None:
            return
        before, last = now, fall
        params, here, length = found
        damping.adapt(length, regular)


def leap(problem: Glm, rows: Rows, start: Params, shift: Floats) -> Params:
    """The best of longer Newton steps from zero weights, for a loss whose curvature is largest there: a step falls, and
    is mostly too short. Two passes in place of several.
    """
    here = _finite(evaluate(problem, rows, start, 2, shift))
    d = -factor(here.hessian, shift).solve(here.gradient[0])
    if -float(here.gradient[0] @ d) <= SHORT:
        return _step(start, d, 1.0)
    values = objectives(problem, rows, [_step(start, d, length) for length in LEAPS], shift)
    k = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    length = LEAPS[k]
    if 0 < k < len(LEAPS) - 1 and np.isfinite(values[k + 1]):
        # the lowest point of a parabola in the logarithm of the length
        before, at, after = values[k - 1 : k + 2]
        length *= (LEAPS[1] / LEAPS[0]) ** float(0.5 * (before - after) / (before - 2.0 * at + after))
    return _step(start, d, length)


def refine(problem: Glm, rows: Rows, params: Params, shift: Floats, limit: int, enough: float) -> tuple[Params, Factor]:
    """At most `limit` steps, until the expected fall is at most `enough`; and the factor of the last Hessian."""
    here = _finite(evaluate(problem, rows, params, 2, shift))
    for count in range(limit):
        g = here.gradient[0]
        hessian = factor(here.hessian, shift)
        d = -hessian.solve(g)
        fall = -float(g @ d)
        if count == limit - 1 or 0.5 * fall <= enough:
            return _step(params, d, 1.0), hessian
        found = _search(problem, rows, params, float(here.value[0]), d, fall, shift)
        if found is None:
            break
        params, here, _ = found
    return params, factor(here.hessian, shift)


def _search(
    problem: Glm, rows: Rows, params: Params, f: float, d: Floats, fall: float, shift: Floats
) -> tuple[Params, Evaluation, float] | None:
    """The first of the steps d, d/2, d/4, ... with sufficient descent, and its length; None where rounding hides any.

    Once the full step has failed, a pass over scattered rows reads the objective of the next lengths, too, and those in
    vain are passed over.
    """

    def enough(value: float, length: float) -> bool:
        return value <= f - 1e-4 * length * fall + 4.0 * EPS * abs(f)

    known: dict[float, float] = {}
    lengths = LENGTHS if np.isfinite(problem.loss.steepness) else MORE
    for k, length in enumerate(lengths):
        if not enough(known.get(length, -np.inf), length):
            continue
        ahead = lengths[k + 1 : k + 1 + AHEAD] if rows.scattered and k > 0 else ()
        new = _step(params, d, length)
        there, values = evaluate_ahead(problem, rows, new, 2, shift, [_step(params, d, other) for other in ahead])
        if enough(float(there.value[0]), length) and np.isfinite(there.gradient).all():
            return new, there, length
        known.update(zip(ahead, values, strict=True))
    return None


def _step(params: Params, d: Floats, length: float) -> Params:
    s = (length * d).reshape(len(params.intercept), -1)
    return Params(params.coef + s[:, :-1], params.intercept + s[:, -1])


def _finite(found: Evaluation) -> Evaluation:
    if not (np.isfinite(found.value).all() and np.isfinite(found.gradient).all()):
        raise NotFinite
    return found
