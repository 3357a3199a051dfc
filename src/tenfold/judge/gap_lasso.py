"""Kind gap: least squares with an L1 penalty, one on groups, or an elastic net, by one pass over the rows or from their
moments.

The objective is compared with the best of three lower bounds (lasso_dual_points.py). A dual value bounds every
objective, whichever weights it comes from. Where those that are stored have rounded residuals away - in float32,
without an intercept, columns far from zero cancel - bounds are taken at weights of the judge's own, too: those for
which the columns in use are pulled with l1 in the direction of their stored weights.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dgemm

from tenfold.arrays import Floats, Integers, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.lasso_dual_points import CURVED_COLUMNS, EPS, Bound, Part, curved, free, norms, scaled, strongest
from tenfold.judge.newton_decrement_bound import factor_matrix
from tenfold.judge.objective_points import storage_roundoff
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.objectives.linear_design import center
from tenfold.problems import SparseLeastSquares, duality_gap
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params, along, derivatives
from tenfold.stats.gram import moments_of
from tenfold.stats.moments import Moments

OWN_COLUMNS, OWN_STEPS = 4096, 2
"""With at most so many columns in use the judge takes at most so many steps of its own; the second is for digits."""

ALL_ZERO = "All weights are zero: no column is worth its penalty. A smaller alpha would use some."


class _Read(NamedTuple):
    """Mean sums at parameters: the objective (t,) of each target but for the penalty, the squares (t,) of balanced
    residuals, their pulls q (t, p), and what these squares and pulls may have rounded.
    """

    loss: Floats
    squares: Floats
    pull: Floats
    lost_squares: Floats
    lost_pull: Floats


class _At(NamedTuple):
    """Weights, and the sums there."""

    params: Params
    read: _Read


class Gaps(NamedTuple):
    """A certificate, and the gap of each problem (one a target, or one for all) as it is, below its floor or not; the
    pulls (t, p) of the columns and the mean squares (t,) of the residuals that it comes from.
    """

    certificate: Certificate
    gaps: Floats
    pull: Floats
    squares: Floats


def lasso_gap(
    problem: SparseLeastSquares,
    rows: Rows,
    params: Params,
    columns: Columns,
    *,
    tol: float,
    moments: Moments | None = None,
    thorough: bool = True,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Gaps:
    """Judge by one pass over the rows; the value allowed is `tol` times the mean square of the centred targets.

    Where the bounds at these weights do not suffice, others read the rows again, unless a fit goes on, `thorough` being
    False; `moments` of the rows, where they are at hand, serve them.
    """
    here = _At(params, _read_rows(problem, rows, params, columns))

    def judged(own: Sequence[_At] | None, moments: Moments | None) -> Gaps:
        return _judged(problem, here, own, columns, tol, moments, status, dtype)

    found = judged([], None)
    if not (thorough and _unproved(found)):
        return found
    products = _Products(problem, moments, lambda used: rows.fold(moments_of(used)))
    own: list[_At] = []
    for at in _own(problem, here, columns, products, lambda params: _read_rows(problem, rows, params, columns)):
        own.append(at)
        found = judged(own, None)
        if not _unproved(found):
            return found
    n, p = rows.shape
    if moments is None and p <= min(CURVED_COLUMNS, n):
        moments = rows.fold(Moments.lift)
    again = judged(own or None, moments)
    return again if again.certificate.value < found.certificate.value or not own else found


def _unproved(found: Gaps) -> bool:
    """Whether more than the tolerance is left, be it by rounding alone."""
    certificate = found.certificate
    return np.isfinite(certificate.objective) and certificate.value > certificate.tol * certificate.scale


def _read_rows(problem: SparseLeastSquares, rows: Rows, params: Params, columns: Columns) -> _Read:
    mean = columns.mean[: columns.features]
    local, centre = params, None
    if problem.intercept:
        local = Params(params.coef, _moved(params, mean))
        centre = mean
    sums = rows.fold(derivatives(Square(), local, 1, centre))
    assert sums.gradient is not None
    weight = columns.weight
    lengths = _mean_lengths(columns, origin=not problem.intercept)[0]
    with np.errstate(invalid="ignore", over="ignore"):
        loss, off = sums.value / weight, sums.slope / weight if problem.intercept else np.zeros_like(sums.slope)
        pull = np.where(lengths > 0, -sums.gradient / weight, 0.0)
        squares = np.maximum(2.0 * loss - off**2, 0.0)
    # what reading a sample and adding up its terms can round: targets, the intercept and sparse features as they are
    raw_lengths, raw_targets = _mean_lengths(columns, origin=True)
    read_lengths = raw_lengths if rows.sparse else lengths
    reading = EPS * (along(np.abs(params.coef), read_lengths) + raw_targets + np.abs(local.intercept))
    with np.errstate(invalid="ignore", over="ignore"):  # residuals round before their mean is taken from them
        lost_squares = (2.0 * np.sqrt(2.0 * loss) + reading) * reading
    return _Read(loss, squares, pull, lost_squares, np.outer(reading, read_lengths))


def lasso_gap_from_moments(
    problem: SparseLeastSquares,
    moments: Moments,
    params: Params,
    *,
    tol: float,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Gaps:
    """The same from the moments of the rows: digits that they have lost stay lost, and count in the floor.

    With V the weights in the units of the moments, the squares are yy - 2 C'V + V'SV and the pulls C - SV.
    """
    columns, targets = Columns.of(moments), np.arange(len(params.coef))

    def read(params: Params) -> _Read:
        return _read_moments(problem, moments, params, targets)

    here = _At(params, read(params))
    found = _judged(problem, here, [], columns, tol, None, status, dtype)
    if not _unproved(found):
        return found
    own = list(_own(problem, here, columns, _Products(problem, moments), read))
    return _judged(problem, here, own or None, columns, tol, moments, status, dtype)


def path_gaps(
    problem: SparseLeastSquares,
    moments: Moments,
    params: Params,
    penalties: Sequence[tuple[float, float]],
) -> Floats:
    """Gaps of many fits, for l1 and l2 of each: parameters of all targets of the first fit, then of the second, ... The
    gaps are (A,), or (A, t) for targets that are not joint.
    """
    t = moments.yy.size
    read = _read_moments(problem, moments, params, np.arange(len(params.coef)) % t, rounding=False)
    found = np.empty((len(penalties), 1 if problem.joint else t))
    for a, (l1, l2) in enumerate(penalties):
        for k in range(found.shape[1]):
            part = slice(a * t, (a + 1) * t) if problem.joint else slice(a * t + k, a * t + k + 1)
            squares, loss = float(read.squares[part].sum()), float(read.loss[part].sum())
            gap = duality_gap((l1, l2), problem.positive, params.coef[part], read.pull[part], squares)
            found[a, k] = gap + loss - 0.5 * squares if l1 > 0.0 or l2 > 0.0 else loss
    return np.maximum(found[:, 0] if problem.joint else found, 0.0)


def _read_moments(
    problem: SparseLeastSquares, moments: Moments, params: Params, target: Integers, *, rounding: bool = True
) -> _Read:
    """Sums at parameters of some targets, by their numbers; a target may come often. What they may have rounded is left
    out where nobody asks.
    """
    p, weight = moments.features, moments.weight
    e, y = moments.exponent[:p].astype(np.int64), moments.exponent[p:][target].astype(np.int64)
    S, C, yy = moments.about(origin=not problem.intercept)
    C, yy = C.T[target], yy[target]
    V = np.ldexp(params.coef, e - y[:, None])
    used = np.flatnonzero(V.any(axis=0))
    with one_blas_thread:  # transposed, as LAPACK has its arrays: nothing is copied
        inner = dgemm(1.0, S[used].T, V[:, used].T).T
    pull = C - inner
    squares = yy - np.einsum("tp,tp->t", V, C + pull)
    # sums of products round by the lengths of what is multiplied, measured from where it was when they were added up
    lengths, target_lengths = np.zeros(p), np.zeros(len(yy))
    if rounding:
        lengths = np.sqrt(np.diag(S) + weight * moments.offset[:p] ** 2)
        target_lengths = np.sqrt(yy + weight * moments.offset[p:][target] ** 2)
    noise = EPS * (4.0 + np.sqrt(p))
    reading = along(np.abs(V), lengths) + target_lengths
    lost = noise * reading**2
    unit = np.ldexp(1.0, 2 * y) / weight
    squares, lost = np.maximum(squares, 0.0) * unit, lost * unit
    off = np.zeros(len(yy))
    if problem.intercept:
        off = _moved(params, moments.mean) - moments.target_mean[target]
        away = EPS * (along(np.abs(params.coef), np.abs(moments.mean)) + np.abs(moments.target_mean[target]))
        lost += (2.0 * np.abs(off) + away) * away
    pull = np.ldexp(pull, e + y[:, None]) / weight
    lost_pull = noise * np.ldexp(np.outer(reading, lengths), e + y[:, None]) / weight
    return _Read(0.5 * (squares + off**2), squares, pull, lost, lost_pull)


def _moved(params: Params, centre: Floats) -> Floats:
    """The intercepts for rows measured from `centre`."""
    return np.asarray(center(params, centre).intercept)


def _mean_lengths(columns: Columns, origin: bool) -> tuple[Floats, Floats]:
    lengths, targets = columns.lengths(origin)
    root = np.sqrt(columns.weight)
    return lengths / root, targets / root


class _Products:
    """Mean products of some columns, from moments that are at hand or else read."""

    def __init__(
        self, problem: SparseLeastSquares, moments: Moments | None, read: Callable[[Integers], Moments] | None = None
    ) -> None:
        self._origin, self._moments, self._read = not problem.intercept, moments, read

    def __call__(self, used: Integers) -> Floats:
        moments, picked = self._moments, used
        if moments is None:
            assert self._read is not None
            moments, picked = self._read(used), np.arange(len(used))
        e = moments.exponent[picked].astype(np.int64)
        with np.errstate(over="ignore"):
            return np.ldexp(moments.about(self._origin)[0][np.ix_(picked, picked)], e[:, None] + e) / moments.weight


def _own(
    problem: SparseLeastSquares, here: _At, columns: Columns, products: _Products, read: Callable[[Params], _Read]
) -> Generator[_At]:
    """Weights of the judge's own, near those that are stored: with d added to the latter, the pulls of the columns in
    use are l1 u + l2 w, u the directions of the stored weights. With H the products of these columns, H d + l2 d is
    what is missing. None where the columns are too many, or their products not numbers.
    """
    coef = here.params.coef
    used = np.flatnonzero(coef.any(axis=0))
    if not 0 < used.size <= OWN_COLUMNS or not (problem.l1 > 0.0 or problem.l2 > 0.0):
        return
    lengths = norms(coef[:, used]) if problem.joint else np.abs(coef[:, used])
    goal = problem.l1 * coef[:, used] / np.where(lengths > 0.0, lengths, 1.0)
    H = products(used) + problem.l2 * np.eye(used.size)
    if problem.joint:
        groups = [(slice(None), np.arange(used.size), factor_matrix(H))]
    else:
        supports = [np.flatnonzero(w) for w in coef[:, used]]
        groups = [(slice(k, k + 1), some, factor_matrix(H[np.ix_(some, some)])) for k, some in enumerate(supports)]
    if any(factor is None for _, _, factor in groups):
        return
    at = here
    for _ in range(OWN_STEPS):
        missing = at.read.pull[:, used] - problem.l2 * at.params.coef[:, used] - goal
        ahead = at.params.coef.copy()
        for targets, some, factor in groups:
            for k in range(len(coef))[targets]:
                assert factor is not None
                ahead[k, used[some]] += factor.solve(missing[k, some])
        moved = Params(ahead, at.params.intercept)
        if problem.intercept:  # the best for these weights: residuals that sum to zero
            centre = columns.mean[: columns.features]
            moved = center(Params(ahead, columns.mean[columns.features :]), -centre)
        at = _At(moved, read(moved))
        yield at


def _judged(
    problem: SparseLeastSquares,
    here: _At,
    own: Sequence[_At] | None,
    columns: Columns,
    tol: float,
    moments: Moments | None,
    status: str,
    dtype: Any,
) -> Gaps:
    params, read = here
    parts = [slice(None)] if problem.joint else [slice(k, k + 1) for k in range(len(read.loss))]
    with np.errstate(over="ignore", invalid="ignore"):  # a bound that is not a number proves nothing
        found = [_one(problem, here, own, columns, part, tol, moments, dtype) for part in parts]
    value, floor = np.array([one.value for one in found]), np.array([one.floor for one in found])
    scale = np.array([one.scale for one in found])
    reported = np.where(np.isnan(value), np.inf, np.maximum(value, floor))
    worst = int(np.argmax(reported / np.maximum(2.0 * tol * scale, floor)))
    objective = float(sum(one.objective for one in found))
    radius, drift = None, 0.0
    if problem.l2 > 0.0:
        radius = float(np.sqrt(2.0 * np.max(reported + floor) / problem.l2))
        off = np.sqrt(np.maximum(2.0 * read.loss - read.squares, 0.0))
        drift = float(np.max(off + EPS * np.sqrt(read.squares)))
    mean = columns.mean[: columns.features]
    certificate = Certificate(
        kind="gap",
        value=float(reported[worst]),
        scale=float(scale[worst]),
        # as in scikit-learn the gap is compared with the mean square of the centred targets, twice this scale
        tol=2.0 * tol,
        floor=float(floor[worst]),
        objective=objective,
        lower_bound=float(sum(one.objective - one.value for one in found)),
        radius=radius,
        status=status,
        parts=tuple(float(v) for v in reported),
        note="" if params.coef.any() else ALL_ZERO,
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=mean if problem.intercept else np.zeros_like(mean),
        _drift=drift,
    )
    if not np.isfinite(objective):
        certificate = replace(certificate, value=np.inf, note="The weights are not finite.")
    return Gaps(certificate, value, read.pull, read.squares)


class _One(NamedTuple):
    """The gap of one problem, its floor, the objective at zero weights and here."""

    value: float
    floor: float
    scale: float
    objective: float


def _one(
    problem: SparseLeastSquares,
    at: _At,
    own: Sequence[_At] | None,
    columns: Columns,
    part: slice,
    tol: float,
    moments: Moments | None,
    dtype: Any,
) -> _One:
    """Judge one problem by the bound that proves most; with `own` None there are no weights of the judge's own."""
    params, read = at
    w = params.coef[part]
    scale = _scale(columns, part, problem.intercept)
    if problem.positive and np.any(w < 0):
        return _One(np.inf, 8.0 * EPS * scale, scale, np.inf)
    lengths = _mean_lengths(columns, origin=not problem.intercept)[0]
    mean = np.abs(columns.mean[: columns.features]) if problem.intercept else np.zeros(columns.features)
    about, kept = along(np.abs(w), lengths), unit_roundoff(dtype)
    # a weight that is off in its last digit moves the objective in second order, but the pulls in first order
    lost = read.lost_pull[part] + (np.outer(kept * about, lengths) if own is None else 0.0)
    b = np.asarray(params.intercept[part])
    rounded = kept * about + unit_roundoff(np.float64) * along(np.abs(w), mean) + storage_roundoff(b, dtype) * np.abs(b)
    objective, here = _placed(problem, read, params, part, lost)
    floor = 8.0 * EPS * max(objective, scale) + 0.5 * float(np.sum(read.lost_squares[part]) + np.sum(rounded**2))
    found = [Bound(objective, floor), scaled(problem, here), free(problem, here)]
    best = strongest(found, objective - here.balanced, floor)
    for params, read in own or []:
        _, there = _placed(problem, read, params, part, read.lost_pull[part])
        rounding = floor + 8.0 * EPS * there.balanced + 0.5 * float(np.sum(read.lost_squares[part]))
        best = strongest([best, scaled(problem, there), free(problem, there)], objective - there.balanced, rounding)
    if moments is not None and not best.proved <= max(2.0 * tol * scale, floor):
        best = strongest([best, curved(problem, moments, here)], objective - here.balanced, floor)
    return _One(best.value, best.floor, scale, objective)


def _placed(problem: SparseLeastSquares, read: _Read, params: Params, part: slice, lost: Floats) -> tuple[float, Part]:
    """The objective of one problem, and what its bounds are computed from."""
    w, q, squares = params.coef[part], read.pull[part], float(np.sum(read.squares[part]))
    penalty = problem.l1 * float(np.sum(norms(w))) + 0.5 * problem.l2 * float(np.sum(w * w))
    here = Part(w, q, lost, squares, squares + float(np.sum(w * q)), 0.5 * squares + penalty)
    return float(np.sum(read.loss[part])) + penalty, here


def _scale(columns: Columns, part: slice, intercept: bool) -> float:
    """The objective at zero weights, the intercept at its best; of targets that do not vary, without an intercept."""
    scale, raw = (
        0.5 * float(np.sum((columns.target_lengths(origin)[part] / np.sqrt(columns.weight)) ** 2))
        for origin in (not intercept, True)
    )
    return scale if scale > 8.0 * EPS * raw else raw or 1.0
