"""A dual point for fitted models that keep none, for nonsmooth losses: slopes of the samples at a kink are solved for.

Away from its kinks a loss has one slope. A sample at a kink (to rounding) may have any slope between both sides, and at
an optimum these are such that the gradient vanishes in the weights that are not zero: a least squares problem in as
many unknowns as samples at kinks. Slopes beyond an end are put there, and the others solved for again. What is left,
the judge scales and balances as any other hint.

Where that does not suffice (slopes at both ends, columns without weights that the penalty must hold, many ties) a
linear program is solved for the dual point of the least gap. A loss ``sum_k up_k (at_k - z)_+ + down_k (z - at_k)_+``
has slopes u = sum_k u_k, -up_k <= u_k <= down_k, and its Fenchel-Young term is at most sum_k |z - at_k| |u_k - slope of
the piece|: linear in the moves of the u_k away from their ends. With v = (1/W) sum weight u x and an L1 penalty or
none, the rest of the gap, l1 ||w||_1 + v.w on |v_j| <= l1, is linear, too; beside a square v is set to -(l1 sign(w) +
l2 w) where there is a weight. Where pieces are many, only those nearest to their kinks move, and a constraint that is
then out of reach costs more than any move.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import linprog

from tenfold.arrays import Array, Floats, is_sparse, on_host, take_rows, unit_roundoff
from tenfold.data import Block, Rows, targets_of, weights_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.linear_models import gap
from tenfold.losses.loss import PiecewiseLinear
from tenfold.machine import interrupted, one_blas_thread
from tenfold.objectives.linear_design import center, sample_rows
from tenfold.penalties import ElasticNet
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, adjoint, predictions

KINK_WIDTHS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # relative to the spread of z; larger ones for fits that ended early
MAX_KINKS, MAX_ENTRIES = 4096, 1 << 23  # samples at kinks, and entries of them, that least squares take: 64 MB
ROUNDS = 12  # of least squares with slopes beyond an end put there

# limits of the linear program: columns, pieces of losses, entries of its matrix, steps of the simplex method
VERTEX_COLUMNS, VERTEX_PIECES, VERTEX_ENTRIES, PIVOTS = 512, 4096, 1 << 20, 10_000

PROGRAM = {"maxiter": PIVOTS, "primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def at_kinks(
    problem: Glm, rows: Rows, params: Params, dtype: Any = np.float64, width: float = KINK_WIDTHS[0]
) -> Floats | None:
    """Slopes (n,) of a nonsmooth loss at the parameters, which were stored in `dtype`; None where the rows are
    on a cluster.
    """
    if rows.distributed:
        return None
    loss, penalty = problem.loss, problem.penalty
    assert isinstance(penalty, ElasticNet)
    y, weight, z = (on_host(rows.map(lift)) for lift in (targets_of, weights_of, predictions(params)))
    y, z, normalised = y[:, 0], z[:, 0], weight / weight.sum()
    size = float(np.std(y)) + float(np.std(z)) + 1e-12 * float(np.max(np.abs(z), initial=1.0))
    width = size * max(width, 16.0 * unit_roundoff(dtype))
    low, high = loss.slope(y, z - width), loss.slope(y, z + width)
    kink = np.flatnonzero((low != high) & (weight > 0.0))
    u = 0.5 * (low + high)
    w = params.coef[0]
    used = np.flatnonzero(w)
    if not 0 < kink.size <= MAX_KINKS or kink.size * used.size > MAX_ENTRIES:
        return np.asarray(u)
    columns = pick(rows, kink, used) * normalised[kink, None]
    if problem.intercept:
        columns = np.column_stack([columns, normalised[kink]])

    def missing(u: Floats) -> Floats:
        """Minus the gradient."""
        correlation = (
            rows.retarget((normalised * u)[:, None]).fold(lambda block: Total(adjoint(block.X, block.y))).sum[0]
        )
        wanted = -(penalty.l1 * np.sign(w) + penalty.l2 * w)[used] - correlation[used]
        tilt = -problem.intercept_penalty * float(params.intercept[0]) - float(np.sum(normalised * u))
        return np.append(wanted, tilt) if problem.intercept else wanted

    u = np.array(u, dtype=np.float64)
    free = np.ones(kink.size, dtype=bool)
    for _ in range(ROUNDS):
        chosen = kink[free]
        u[chosen] += shortest(columns[free], missing(u))
        inside = np.asarray(loss.clip(y[chosen], u[chosen]))
        beyond = np.abs(inside - u[chosen]) > 1e-12
        u[chosen] = inside
        if not beyond.any() or beyond.all():
            break
        free[np.flatnonzero(free)[beyond]] = False
    return u


def gap_at_kinks(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    hint: Floats | None = None,
    dtype: Any = np.float64,
    **options: Any,
) -> Certificate:
    """Judge a nonsmooth loss: the least gap at the dual points that are solved for and at a `hint` (n,)."""
    best: Certificate | None = None
    for dual in candidates(problem, rows, params, dtype, hint):
        certificate = gap(problem, rows, params, dual=dual, dtype=dtype, **options)
        best = certificate if best is None or certificate.value < best.value else best
        if best.ok:
            break
    assert best is not None
    return best


def candidates(
    problem: Glm, rows: Rows, params: Params, dtype: Any, hint: Floats | None = None
) -> Iterator[Floats | None]:
    """Dual points to be tried, one after the other; other widths where there is no linear program."""
    yield at_kinks(problem, rows, params, dtype)
    if hint is not None:
        yield hint
    if interrupted():
        return
    vertex = at_vertex(problem, rows, params)
    if vertex is not None:
        yield vertex
    elif not rows.distributed:
        for width in KINK_WIDTHS[1:]:
            yield at_kinks(problem, rows, params, dtype, width)


def at_vertex(problem: Glm, rows: Rows, params: Params) -> Floats | None:
    """Slopes (n,) of the dual point of the least gap, by linear programming; None where the rows are on a
    cluster, or the program is not solved in `PIVOTS` steps.
    """
    if rows.distributed or rows.shape[1] > VERTEX_COLUMNS:
        return None
    y, weight = on_host(rows.map(targets_of))[:, 0], on_host(rows.map(weights_of))
    normalised = weight / weight.sum()
    at, up, down = cast(PiecewiseLinear, problem.loss).pieces(np.asarray(y, dtype=np.float64))
    centre = sample_rows(rows)[0] if problem.balances else np.zeros(rows.shape[1])
    z = on_host(rows.map(predictions(center(params, centre) if problem.balances else params, centre)))
    away = np.abs(z - at)
    own = np.where(z < at, -up, down)  # at a kink either side will do
    most = min(VERTEX_PIECES, VERTEX_ENTRIES // (rows.shape[1] + 1))
    order = np.argsort(np.where((up + down > 0.0) & (weight > 0.0)[:, None], away, np.inf), axis=None, kind="stable")
    order = np.sort(order[: min(most, int(np.count_nonzero((up + down > 0.0) & (weight > 0.0)[:, None])))])
    number, piece = np.unravel_index(order, at.shape)
    toward = np.where(own[number, piece] > -up[number, piece], -1.0, 1.0)
    kink, place = np.unique(number, return_inverse=True)
    X = pick(rows, kink, np.arange(rows.shape[1])) - centre
    if problem.intercept:
        X = np.column_stack([X, np.ones(len(kink))])
    fixed = _correlate(rows, own.sum(axis=1) * normalised, centre, problem.intercept)
    program = _Program.of(problem, params, X[place] * (normalised[number] * toward)[:, None], fixed)
    moves = program.solve(normalised[number] * away[number, piece], (up + down)[number, piece])
    if moves is None:
        return None
    u = own.copy()
    u[number, piece] += toward * moves
    return np.asarray(u.sum(axis=1))


def _correlate(rows: Rows, u: Floats, centre: Floats, intercept: bool) -> Floats:
    """sum_i u_i [x_i - centre, 1]."""
    result = rows.retarget(u[:, None]).fold(lambda block: Total(adjoint(block.X, block.y, centre))).sum[0]
    return np.append(result, np.sum(u)) if intercept else result


class _Program(NamedTuple):
    """Constraints of the linear program: v = fixed + columns' moves, measured in units (q,) of the columns. Where there
    is an `l1` penalty, |v_j - at_j| <= reach_j at a cost of price_j for each unit of v; else v = at.
    """

    columns: Floats
    fixed: Floats
    at: Floats
    reach: Floats
    price: Floats
    unit: Floats

    @classmethod
    def of(cls, problem: Glm, params: Params, columns: Floats, fixed: Floats) -> "_Program":
        penalty, w = problem.penalty, params.coef[0]
        assert isinstance(penalty, ElasticNet)
        at, reach, price = np.zeros(len(w)), np.full(len(w), penalty.l1), w.copy()
        if penalty.l2 > 0.0:
            at = -(penalty.l1 * np.sign(w) + penalty.l2 * w)
            reach, price = np.where(w == 0.0, penalty.l1, 0.0), np.zeros(len(w))
        if problem.intercept:
            at = np.append(at, -problem.intercept_penalty * float(params.intercept[0]))
            reach, price = np.append(reach, 0.0), np.append(price, 0.0)
        unit = np.sqrt(np.sum(columns * columns, axis=0))
        return cls(columns, fixed, at, reach, price, np.where(unit > 0.0, unit, 1.0))

    def solve(self, costs: Floats, most: Floats) -> Floats | None:
        """The moves (k,) between zero and `most` of the least gap."""
        k, q = self.columns.shape
        # moves, then v beyond its target, then what is missing on either side
        eye = np.eye(q)
        scaled = self.columns / self.unit
        A = np.hstack([scaled.T, -eye, eye, -eye])
        dearest = float(np.max(costs, initial=0.0)) / float(np.max(np.abs(scaled), initial=1e-300))
        missing = 10.0 * (dearest + float(np.max(np.abs(self.price * self.unit), initial=0.0))) + 1e-300
        cost = np.concatenate([costs, self.price * self.unit, np.full(2 * q, missing)])
        reach = self.reach / self.unit
        low = np.concatenate([np.zeros(k), -reach, np.zeros(2 * q)])
        high = np.concatenate([most, reach, np.full(2 * q, np.inf)])
        result = linprog(
            cost / missing,
            A_eq=A,
            b_eq=(self.at - self.fixed) / self.unit,
            bounds=list(zip(low, high, strict=True)),
            method="highs-ds",
            options=cast(Any, PROGRAM),
        )
        if result.x is None:
            return None
        moves, beyond = np.clip(result.x[:k], 0.0, most), result.x[k : k + q]
        held = np.abs(beyond) >= reach * (1.0 - 1e-9)  # others are inside of the limits of the penalty
        wanted = self.at + np.sign(beyond) * self.reach
        return self._polish(moves, most, held, wanted)

    def _polish(self, moves: Floats, most: Floats, held: Any, wanted: Floats) -> Floats:
        """More digits than the program gives for the moves between their ends, so that v is as wanted where it is
        `held`.
        """
        free = (moves > 1e-9 * most) & (moves < (1.0 - 1e-9) * most)
        if not (free.any() and held.any()):
            return moves
        for _ in range(2):
            left = (wanted - self.fixed - np.einsum("ij,i->j", self.columns, moves))[held]
            moves = moves.copy()
            moves[free] += shortest(np.ascontiguousarray(self.columns[np.ix_(free, held)]), left)
        return np.clip(moves, 0.0, most)


def shortest(columns: Floats, wanted: Floats) -> Floats:
    """The shortest moves m (k,) with columns' m nearest to what is wanted; columns is (k, c)."""
    if not columns.size:
        return np.zeros(len(columns))
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    scale = np.where(scale > 0.0, scale, 1.0)
    return nearest_moves(columns / scale, wanted / scale, 1e-12)


def nearest_moves(columns: Floats, wanted: Floats, rank: float = 1e-14) -> Floats:
    """The same in the units that are given; directions of less than a part `rank` of the longest are left out."""
    k = len(columns)
    with one_blas_thread:
        moved = lapack.dgelsy(
            np.asfortranarray(columns.T), _pad(wanted, k), np.zeros(k, np.int32),
            rank, max(4 * k + 64, 3 * (k + len(wanted)) + 64),
        )[1]  # fmt: skip
    return np.asarray(moved)[:k].ravel()


def _pad(b: Floats, n: int) -> Floats:
    """A right-hand side with room for the solution."""
    room = np.zeros((max(len(b), n), 1), order="F")
    room[: len(b), 0] = b
    return room


def pick(rows: Rows, kink: Array, used: Array) -> Floats:
    """The rows with the ascending numbers `kink` and the columns `used` of them, dense, in float64."""
    parts: list[Floats] = []

    def cut(start: int, block: Block) -> int:
        stop = start + int(block.X.shape[0])
        low, high = np.searchsorted(kink, (start, stop))
        chosen = take_rows(block.X, kink[low:high] - start)
        chosen = (chosen if is_sparse(chosen) else on_host(chosen))[:, used]
        parts.append(np.asarray(chosen.toarray() if is_sparse(chosen) else chosen, dtype=np.float64))
        return stop

    rows.scan(cut, 0)
    return np.vstack(parts)
