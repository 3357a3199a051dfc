"""Kind gap: least squares with an L1 penalty, one on groups, or an elastic net, by one pass over the rows or from their
moments.

In mean units, with r the residuals made to sum to zero where there is an intercept, q = X'r / W and the ridge part
counted as p more rows (0 - sqrt(l2) w)^2, three lower bounds on every objective, of which the best is taken:

scaled
    c y.r - c^2 (|r|^2 + l2 |w|^2) / 2, a dual value for all c with c |q_j - l2 w_j| <= l1.
free
    y.r - |r|^2 / 2 - sum_j (|q_j| - l1)_+^2 / (2 l2), the dual value at r itself; for l2 > 0.
curved
    The objective minus sum_j of what weight j can gain where the curvature of the loss is at least that of its diagonal
    times the smallest eigenvalue of the correlations: for any penalty, none too, where columns are independent.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.points import centred
from tenfold.losses import Square
from tenfold.machine import one_blas_thread
from tenfold.problems import SparseLeastSquares
from tenfold.stats import Columns, Moments, Params, derivatives

EPS = float(np.finfo(np.float64).eps)

CURVED_COLUMNS = 2048
"""Up to so many columns the eigenvalues of their correlations are found where the other bounds do not suffice."""

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


class Gaps(NamedTuple):
    """A certificate, and the gap of each problem (one a target, or one for all) as it is, below its floor or not."""

    certificate: Certificate
    gaps: Floats


def lasso_gap(
    problem: SparseLeastSquares,
    rows: Rows,
    params: Params,
    columns: Columns,
    *,
    tol: float,
    moments: Moments | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Gaps:
    """Judge by one pass over the rows; the value allowed is `tol` times the mean square of the centred targets.

    `moments` of the rows, where they are at hand, serve the curved bound; else it reads them, if the others fail.
    """
    mean = columns.mean[: columns.features]
    local, centre = params, None
    if problem.intercept:
        local = Params(params.coef, _moved(params, mean))
        centre = mean
    sums = rows.fold(derivatives(Square(), local, 1, centre))
    assert sums.gradient is not None
    weight = columns.weight
    with np.errstate(invalid="ignore", over="ignore"):
        loss, off = sums.value / weight, sums.slope / weight if problem.intercept else np.zeros_like(sums.slope)
        pull = np.where(columns.lengths(origin=not problem.intercept)[0] > 0, -sums.gradient / weight, 0.0)
        squares = np.maximum(2.0 * loss - off**2, 0.0)
    lengths, target_lengths = _mean_lengths(columns, origin=not problem.intercept)
    # what reading a row and adding up its terms can round; sparse rows are read as they are
    read_lengths = _mean_lengths(columns, origin=True)[0] if rows.sparse else lengths
    reading = EPS * (np.abs(params.coef) @ read_lengths + target_lengths)
    read = _Read(loss, squares, pull, 2.0 * np.sqrt(squares) * reading, np.outer(reading, read_lengths))
    found = _judged(problem, read, params, columns, tol, moments, status, dtype)
    n, p = rows.shape
    if moments is None and not found.certificate.ok and p <= min(CURVED_COLUMNS, n):
        again = _judged(problem, read, params, columns, tol, rows.fold(Moments.lift), status, dtype)
        return again if again.certificate.value < found.certificate.value else found
    return found


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
    p, e, weight = moments.features, moments.exponent.astype(np.int64), moments.weight
    S, C, yy = moments.about(origin=not problem.intercept)
    V = np.ldexp(params.coef, e[:p] - e[p:, None])
    used = np.flatnonzero(V.any(axis=0))
    with one_blas_thread:
        inner = V[:, used] @ S[used]
        sizes = np.abs(V[:, used]) @ np.abs(S[used])
    pull = C.T - inner
    squares = yy - np.einsum("tp,tp->t", V, C.T + pull)
    noise = EPS * (4.0 + np.sqrt(p))
    lost = noise * (yy + np.einsum("tp,tp->t", np.abs(V), sizes + 2.0 * np.abs(C.T)))
    unit = np.ldexp(1.0, 2 * e[p:]) / weight
    squares, lost = np.maximum(squares, 0.0) * unit, lost * unit
    off = np.zeros(len(yy))
    if problem.intercept:
        off = _moved(params, moments.mean) - moments.target_mean
    pull = np.ldexp(pull, e[:p] + e[p:, None]) / weight
    lost_pull = noise * np.ldexp(sizes + np.abs(C.T), e[:p] + e[p:, None]) / weight
    read = _Read(0.5 * (squares + off**2), squares, pull, lost, lost_pull)
    return _judged(problem, read, params, Columns.of(moments), tol, moments, status, dtype)


def _moved(params: Params, centre: Floats) -> Floats:
    """The intercepts for rows measured from `centre`."""
    return np.asarray(centred(params, centre).intercept)


def _mean_lengths(columns: Columns, origin: bool) -> tuple[Floats, Floats]:
    lengths, targets = columns.lengths(origin)
    root = np.sqrt(columns.weight)
    return lengths / root, targets / root


def _judged(
    problem: SparseLeastSquares,
    read: _Read,
    params: Params,
    columns: Columns,
    tol: float,
    moments: Moments | None,
    status: str,
    dtype: Any,
) -> Gaps:
    parts = [slice(None)] if problem.joint else [slice(k, k + 1) for k in range(len(read.loss))]
    found = [_one(problem, read, params, columns, part, tol, moments, dtype) for part in parts]
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
    return Gaps(certificate, value)


class _One(NamedTuple):
    """The gap of one problem, its floor, the objective at zero weights and here."""

    value: float
    floor: float
    scale: float
    objective: float


def _one(
    problem: SparseLeastSquares,
    read: _Read,
    params: Params,
    columns: Columns,
    part: slice,
    tol: float,
    moments: Moments | None,
    dtype: Any,
) -> _One:
    """One target, or all where they are joint."""
    l1, l2 = problem.l1, problem.l2
    w, q = params.coef[part], read.pull[part]
    squares, lengths2 = float(np.sum(read.squares[part])), float(np.sum(w * w))
    norm = float(np.sum(_norms(w)))
    balanced = 0.5 * squares + l1 * norm + 0.5 * l2 * lengths2
    objective = float(np.sum(read.loss[part])) + l1 * norm + 0.5 * l2 * lengths2
    if problem.positive and np.any(w < 0):
        objective = balanced = np.inf
    along = squares + float(np.sum(w * q))
    target_lengths = _mean_lengths(columns, origin=not problem.intercept)[1]
    raw_targets = _mean_lengths(columns, origin=True)[1]
    scale, raw_scale = 0.5 * float(np.sum(target_lengths[part] ** 2)), 0.5 * float(np.sum(raw_targets[part] ** 2))
    if scale <= 8.0 * EPS * raw_scale:
        scale = raw_scale or 1.0  # targets that do not vary
    lower = max(0.0, _scaled(problem, squares, along, w, q), _free(problem, squares, along, q))
    floor = _floor(read, part, params, columns, max(objective, scale), problem, dtype)
    if moments is not None and not objective - lower <= max(2.0 * tol * scale, floor):
        lower = max(lower, balanced - _curved_falls(problem, moments, w, q))
    return _One(objective - lower, floor, scale, objective)


def _norms(w: Floats) -> Floats:
    """The lengths of the columns of weights (t, p)."""
    return np.abs(w[0]) if len(w) == 1 else np.sqrt(np.sum(w * w, axis=0))


def _pulls(problem: SparseLeastSquares, q: Floats) -> Floats:
    """How hard columns are pulled: only upwards where weights are positive."""
    return _norms(np.maximum(q, 0.0) if problem.positive else q)


def _scaled(problem: SparseLeastSquares, squares: float, along: float, w: Floats, q: Floats) -> float:
    whole = squares + problem.l2 * float(np.sum(w * w))
    if problem.l1 == 0.0 or not whole > 0.0:
        return 0.0
    largest = float(np.max(_pulls(problem, q - problem.l2 * w), initial=0.0))
    scale = max(along / whole, 0.0)
    scale = min(scale, problem.l1 / largest) if largest > 0.0 else scale
    return scale * along - 0.5 * scale * scale * whole


def _free(problem: SparseLeastSquares, squares: float, along: float, q: Floats) -> float:
    if problem.l2 == 0.0:
        return 0.0
    over = np.maximum(_pulls(problem, q) - problem.l1, 0.0)
    return along - 0.5 * squares - 0.5 * float(np.sum(over * over)) / problem.l2


def _curved_falls(problem: SparseLeastSquares, moments: Moments, w: Floats, q: Floats) -> float:
    """What the weights can gain at most, one by one, with the least curvature that they have together."""
    p = moments.features
    S = moments.about(origin=not problem.intercept)[0]
    diagonal = np.diag(S)
    kept = diagonal > 0.0
    if p > CURVED_COLUMNS or not kept.any():
        return np.inf if kept.any() else 0.0
    root = np.sqrt(diagonal[kept])
    with one_blas_thread:
        least = float(eigvalsh(S[np.ix_(kept, kept)] / np.outer(root, root), subset_by_index=[0, 0])[0])
    least -= 8.0 * EPS * p  # what the eigenvalue may be too large by
    if least <= 0.0:
        return np.inf
    d = least * np.ldexp(diagonal, 2 * moments.exponent[:p].astype(np.int64)) / moments.weight
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sum(_falls(problem, np.where(kept, d, 0.0), w, q)[kept]))


def _falls(problem: SparseLeastSquares, d: Floats, w: Floats, q: Floats) -> Floats:
    """max over u of  q (u - w) - d/2 |u - w|^2 + l1 (|w| - |u|) + l2/2 (|w|^2 - |u|^2), for each column."""
    pull = q + d * w
    pull = np.maximum(pull, 0.0) if problem.positive else pull
    length = _norms(pull)
    with np.errstate(divide="ignore"):
        factor = np.maximum(1.0 - problem.l1 / np.where(length > 0, length, 1.0), 0.0)
    u = np.where(length > 0, factor, 0.0) * pull / np.where(d + problem.l2 > 0, d + problem.l2, 1.0)
    step = u - w
    gain = np.sum(q * step - 0.5 * d * step**2 + 0.5 * problem.l2 * (w**2 - u**2), axis=0)
    return np.maximum(gain + problem.l1 * (_norms(w) - _norms(u)), 0.0)


def _floor(
    read: _Read,
    part: slice,
    params: Params,
    columns: Columns,
    size: float,
    problem: SparseLeastSquares,
    dtype: Any,
) -> float:
    """Rounding of the objective, of the sums that were read, and of the weights in `dtype`.

    A weight that is off moves the objective in second order, but the pulls, and with them the scale of the dual point,
    in first order.
    """
    w, b = np.abs(params.coef[part]), np.abs(params.intercept[part])
    lengths = _mean_lengths(columns, origin=not problem.intercept)[0]
    mean = np.abs(columns.mean[: columns.features]) if problem.intercept else np.zeros(columns.features)
    about = w @ lengths
    kept = unit_roundoff(dtype)
    rounded = kept * (about + w @ mean + b)
    off = np.max(np.outer(kept * about, lengths) + read.lost_pull[part], axis=1, initial=0.0)
    first = float(np.sum(np.sum(w, axis=1) * off))
    if problem.l2 > 0.0:  # the free bound has no scale to move
        pulls = np.outer(kept * about, lengths) + read.lost_pull[part]
        first = min(first, float(np.sum(pulls * pulls)) / problem.l2 + float(np.sum(w * pulls)))
    floor = 8.0 * EPS * size + 0.5 * float(np.sum(read.lost_squares[part])) + 0.5 * float(np.sum(rounded**2)) + first
    return floor if np.isfinite(floor) else 8.0 * EPS * size
