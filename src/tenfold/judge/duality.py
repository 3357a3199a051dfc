"""Kind gap: convex problems, by a dual point that is made feasible here.

For a loss with |loss'''| <= loss'' (logistic and square), slopes u and curvatures c at margins z, and any |s| < 1, the
conjugate obeys ``conjugate(u + s c) <= conjugate(u) + s c z + c B(|s|)``, ``B(a) = a + (1 - a) log(1 - a)``: moving the
slopes along the curvatures keeps them in the conjugate's domain, at a known price. The same function bounds an
objective from below by its Newton step (after Bach 2010).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import Floats, is_sparse, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.losses import Loss
from tenfold.machine import one_blas_thread
from tenfold.problems import Glm
from tenfold.rows import Block, Rows
from tenfold.stats import Params, back_times, derivatives, predictions, times

SEARCH_COLUMNS = 4096
"""With at most so many columns the judge looks for a better lower bound by Newton steps of its own."""

SEARCH_STEPS = 16

SAMPLE_ROWS, SAMPLE_ENTRIES = 1024, 1 << 20
"""How many rows the judge reads first, to place the centre and to balance slopes; and at most so many numbers."""

EPS, EXTENDED_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.longdouble).eps)

SEPARATED = (
    "The classes can be separated, so the likelihood has no maximum: longer weights are always better. "
    "Use a penalty (a finite C)."
)
LOOSE = "Bound, not tight: the true distance to the optimum may be much smaller."


class _Data(NamedTuple):
    """What is judged: rows measured from `centre`; a sample of them or all, and the mean squares (p,) of its columns
    about the centre.
    """

    problem: Glm
    rows: Rows
    centre: Floats
    sample: Block
    whole: bool
    squares: Floats

    @property
    def strength(self) -> float:
        return float(np.max(self.problem.penalty.strength))


class _Point(NamedTuple):
    """The objective at parameters; its gradient (k,) and Hessian (k, k), k = p, or p + 1 with the intercept last."""

    params: Params
    weight: float
    value: float
    gradient: Floats
    hessian: Floats | None


class _Tilt(NamedTuple):
    """Sums of curvatures over some rows or all: of the intercept with itself, h, and with the weights, q (p,)."""

    h: float
    q: Floats


class _Proof(NamedTuple):
    """A lower bound on every objective, and the point where it was found."""

    lower: float
    point: _Point
    tilt: _Tilt


def gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
    direction: Params | None = None,
    search: bool = True,
) -> Certificate:
    """Judge a convex problem of one target: the objective minus a lower bound on every objective.

    With u slopes of the loss at any margins, D(u) = -(1/W) sum weight conjugate(u) - penalty*(-X'(weight u)/W) is such
    a bound, provided that sum weight u = 0 where there is an intercept. Slopes at the parameters' own margins, made to
    sum to zero, give |gradient|^2 / (2 strength); where that is not enough, Newton steps of the judge's own find a
    better bound, if they are asked to `search`. `direction` is an untrusted hint: parameters that are said to separate
    the classes.
    """
    data = _prepare(problem, rows)
    here = _read(data, _centred(params, data.centre) if problem.intercept else params, 1)
    scale = float(np.mean(problem.loss.value(data.sample.y, np.zeros_like(data.sample.y))))
    floor = _floor(data, params, max(here.value, scale), dtype)
    tol = RULES["gap"].tol if tol is None else tol
    certificate = Certificate("gap", here.value, scale, tol, floor, here.value, 0.0, status=status, parts=(here.value,))
    if data.strength == 0.0 and any(_separates(data, d) for d in (params, direction) if d is not None):
        return replace(certificate, status="no maximum", note=SEPARATED)
    proof = _first_proof(data, here)
    if search and here.value - proof.lower > certificate.allowed and rows.shape[1] <= SEARCH_COLUMNS:
        proof = _search(data, here, proof, certificate.allowed)
    value = here.value - proof.lower
    value = max(value, floor) if np.isfinite(value) else np.inf
    centre, drift = _drift(data, here, proof)
    return replace(
        certificate,
        value=value,
        lower_bound=proof.lower,
        radius=float(np.sqrt(2.0 * (value + floor) / data.strength)) if data.strength > 0.0 else None,
        parts=(value,),
        note="" if value <= certificate.allowed or proof.point.value - proof.lower <= 0.1 * value else LOOSE,
        _coef=np.asarray(params.coef, dtype=np.float64),
        _intercept=np.asarray(params.intercept, dtype=np.float64),
        _centre=centre,
        _drift=drift,
    )


def _prepare(problem: Glm, rows: Rows) -> _Data:
    n, p = rows.shape
    wanted = 8 * SAMPLE_ROWS if rows.sparse else int(np.clip(SAMPLE_ENTRIES // max(p, 1), 64, SAMPLE_ROWS))
    step = max(1, n // wanted)
    sample = rows.thin(step).whole()
    X, weight = sample.X, _weights(sample)
    if not weight.any():
        weight = np.ones_like(weight)
    weight = weight / weight.max()
    weight /= weight.sum()
    # any centre is right; one amid the rows keeps digits, but not those of sparse rows, which are never centred
    if is_sparse(X):
        centre, squares = np.zeros(p), np.asarray(weight @ X.multiply(X)).ravel()
    else:
        centre = np.where(X.min(axis=0) == X.max(axis=0), X[0], weight @ X)
        about = X - centre
        squares = np.einsum("ij,ij->j", about * weight[:, None], about)
    return _Data(problem, rows, centre, sample, step == 1, squares)


def _centred(params: Params, centre: Floats) -> Params:
    """The same model for rows measured from `centre`; in extended precision, for an offset must not cost digits."""
    if not centre.any():
        return params
    moved = params.coef.astype(np.longdouble) @ centre.astype(np.longdouble)
    return Params(params.coef, np.asarray(params.intercept + moved, dtype=np.float64))


def _local(data: _Data, params: Params) -> Params:
    """Parameters of a point for rows measured from the centre; without an intercept they are kept for rows as such."""
    return params if data.problem.intercept else _centred(Params(params.coef, np.zeros(1)), data.centre)


def _read(data: _Data, params: Params, order: int) -> _Point:
    """One pass over the rows."""
    problem, c = data.problem, data.centre
    sums = data.rows.fold(derivatives(problem.loss, _local(data, params), order, c))
    assert sums.gradient is not None
    value = float(sums.value[0] / sums.weight + problem.penalty.value(params.coef)[0])
    g, slope, hessian = sums.gradient[0] / sums.weight, float(sums.slope[0] / sums.weight), None
    if sums.hessian is not None:
        hessian = sums.hessian / sums.weight
    if problem.intercept:
        g = np.append(g, slope)
    else:
        # the derivatives for the rows themselves
        g = g + slope * c
        if hessian is not None:
            q, h = hessian[:-1, -1], hessian[-1, -1]
            hessian = hessian[:-1, :-1] + np.outer(c, q) + np.outer(q + h * c, c)
    p = len(c)
    g[:p] += data.strength * params.coef[0]
    if hessian is not None:
        hessian[np.arange(p), np.arange(p)] += data.strength
    return _Point(params, sums.weight, value, g, hessian)


def _floor(data: _Data, params: Params, size: float, dtype: Any) -> float:
    """Rounding of the objective and of the margins, and what storing the parameters in `dtype` can cost."""
    w = np.abs(params.coef[0])
    about = float(np.sum(w * np.sqrt(data.squares)))
    offset = float(np.sum(w * np.abs(data.centre)) + np.abs(params.intercept[0]))
    # slopes are at most about one; the intercept was moved to the centre in extended precision
    computed = 8.0 * EPS * size + EPS * about + EXTENDED_EPS * offset
    rounded = unit_roundoff(dtype) * (about + offset)
    floor = computed + 0.5 * data.problem.loss.smoothness * rounded * rounded
    return floor if np.isfinite(floor) else 8.0 * EPS


def price(a: float) -> float:
    """B(a) = a + (1 - a) log(1 - a), rounded upwards; infinite from 1 on."""
    if not a < 1.0:
        return np.inf
    return 0.5 * a * a / (1.0 - a) if a < 1e-4 else a + (1.0 - a) * float(np.log1p(-a))


def _first_proof(data: _Data, here: _Point) -> _Proof:
    """The dual value at the parameters' own slopes; the curvatures of a sample balance them."""
    if not data.problem.intercept:
        tilt = _Tilt(1.0, np.zeros_like(data.centre))
        return _Proof(_lower(here, _dual_gap(data, here, tilt)), here, tilt)
    block, point = data.sample, here
    z = times(block.X, here.params, data.centre)
    c = data.problem.loss.curvature(block.y, z) * (_weights(block) / here.weight)[:, None]
    if data.whole and abs(float(here.gradient[-1])) > 1e-13 * float(c.sum()):
        # few rows: the intercept is moved to its best place, where the slopes balance by themselves
        moved = best_intercept(data.problem.loss, block.y, z, _weights(block))
        point = _read(data, Params(here.params.coef, here.params.intercept + moved), 1)
        c = data.problem.loss.curvature(block.y, z + moved) * (_weights(block) / here.weight)[:, None]
    tilt = _Tilt(float(c.sum()), back_times(block.X, np.ascontiguousarray(c), data.centre)[0])
    return _Proof(_lower(point, _dual_gap(data, point, tilt)), point, tilt)


def best_intercept(loss: Loss, y: Floats, z: Floats, weight: Floats) -> float:
    """The constant to add to the margins that minimises the loss: Newton's method inside a bracket."""
    low, high, b = -np.inf, np.inf, 0.0
    for _ in range(60):
        slope = float(np.sum(weight[:, None] * loss.slope(y, z + b)))
        curvature = float(np.sum(weight[:, None] * loss.curvature(y, z + b)))
        low, high = (b, high) if slope < 0 else (low, b)
        step = float(np.clip(-slope / curvature if curvature > 0 else -np.sign(slope), -4.0, 4.0))
        new = b + step if low < b + step < high else 0.5 * (low + high)
        if slope == 0.0 or abs(new - b) <= 4.0 * EPS * max(1.0, abs(b)) or not np.isfinite(new):
            break
        b = new
    return b


def _lower(point: _Point, bound: float) -> float:
    """Losses and penalties are not negative: a bound below zero says nothing."""
    return max(0.0, point.value - bound) if np.isfinite(point.value - bound) else 0.0


def _dual_gap(data: _Data, point: _Point, tilt: _Tilt) -> float:
    """Objective minus D(u), u the slopes at `point`, moved along the curvatures behind `tilt` so that they sum to zero.

    The conjugates of slopes u at margins z are u z - loss, so that all but two terms cancel: the distance between the
    weights and those that belong to u, and the price of the move.
    """
    if data.strength == 0.0:
        return np.inf
    g, moved = point.gradient, 0.0
    if data.problem.intercept:
        g, slope = g[:-1], float(g[-1])
        moved = -slope / tilt.h if tilt.h > 0.0 else np.inf
    if not abs(moved) < 1.0:
        return np.inf
    # sums over rows are rounded: about this much of each column's length
    offset = 0.0 if data.problem.intercept else float(np.sum(data.centre**2))
    rounding = EPS * float(np.sqrt(np.sum(data.squares) + offset))
    distance = float(np.linalg.norm(g + moved * tilt.q)) + rounding
    return distance * distance / (2.0 * data.strength) + tilt.h * price(abs(moved))


def _drift(data: _Data, here: _Point, proof: _Proof) -> tuple[Floats, float]:
    """The point about which weights and intercept are not coupled, and how far from the judged one the best intercept
    there can be.

    Slopes that sum to e h, e > 0, instead of zero bound the objective at intercept b from below by the same dual value
    plus e h b: the best b, whose objective is not above the judged one, is at most the excess over e h away. Likewise
    on the other side.
    """
    if not data.problem.intercept:
        return np.zeros_like(data.centre), 0.0
    point, (h, q) = proof.point, proof.tilt
    if data.strength == 0.0 or not h > 0.0:
        return data.centre, np.inf
    step, tilted = q / h, abs(float(point.gradient[-1])) / h
    distance = float(np.linalg.norm(point.gradient[:-1] - point.gradient[-1] * step))
    excess = max(here.value - point.value, 0.0) + distance * distance / (2.0 * data.strength) + 8.0 * EPS * here.value
    e = min(0.5, float(np.sqrt(2.0 * excess / h)))
    far = (excess + h * price(e + tilted)) / (e * h)
    if point is not here:
        between = _centred(Params(here.params.coef - point.params.coef, here.params.intercept), step).intercept
        far += abs(float(between[0] - point.params.intercept[0]))
    return (data.centre + step, far) if np.isfinite(far) else (data.centre, np.inf)


def _search(data: _Data, here: _Point, proof: _Proof, allowed: float) -> _Proof:
    """The best bound found in a few Newton steps from `here`."""
    point: _Point | None = _read(data, here.params, 2)
    for _ in range(SEARCH_STEPS):
        if point is None or point.hessian is None:
            break
        p = len(data.centre)
        tilt = _Tilt(float(point.hessian[-1, -1]), point.hessian[:p, -1]) if data.problem.intercept else proof.tilt
        bound = min(_dual_gap(data, point, tilt), _newton_bound(data, point))
        if _lower(point, bound) >= proof.lower:
            proof = _Proof(_lower(point, bound), point, tilt)
        excess = here.value - proof.lower
        if excess <= allowed or proof.point.value - proof.lower <= 0.005 * excess:
            break
        point = _newton_step(data, point)
    return proof


def _newton_step(data: _Data, point: _Point) -> _Point | None:
    """A Newton step of the judge's own, halved until the objective falls; None where it does not."""
    assert point.hessian is not None
    factor = _factor(point.hessian)
    if factor is None:
        return None
    d = -factor.solve(point.gradient)
    p = len(data.centre)
    for halving in range(8):
        s = np.append(d, 0.0)[: p + 1] * 0.5**halving
        new = _read(data, Params(point.params.coef + s[None, :p], point.params.intercept + s[p:]), 2)
        if new.value <= point.value:
            return new
    return None


class _Factor(NamedTuple):
    """Cholesky factor of the rows and columns `kept` of a matrix with its diagonal scaled to one, and their reciprocal
    condition.
    """

    lower: Floats
    scale: Floats
    kept: Any
    rcond: float

    def solve(self, b: Floats) -> Floats:
        """The solution with zeros for what was not kept; b is (k,)."""
        x = np.zeros_like(b)
        with one_blas_thread:
            x[self.kept] = lapack.dpotrs(self.lower, (b / self.scale)[self.kept], lower=1)[0]
        return x / self.scale

    def half(self, B: Floats) -> Floats:
        """L^-1 applied to the columns of B (k, m)."""
        with one_blas_thread:
            return np.asarray(lapack.dtrtrs(self.lower, (B / self.scale[:, None])[self.kept], lower=1)[0])


def _factor(A: Floats) -> _Factor | None:
    """Factor after scaling, by pivoting where it is singular; None where it holds no numbers."""
    if not np.isfinite(A).all():
        return None
    diagonal = np.diag(A)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = np.asfortranarray(A / scale / scale[:, None])
    norm = float(np.abs(scaled).sum(axis=0).max(initial=0.0))
    with one_blas_thread:
        lower, info = lapack.dpotrf(scaled, lower=1)
        rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 else 0.0
        kept = np.arange(len(A))
        if rcond < 1e-13:
            _, pivots, rank, _ = lapack.dpstrf(scaled, tol=1e-13 * len(A), lower=1)
            kept = np.sort(pivots[:rank] - 1)
            lower, info = lapack.dpotrf(np.asfortranarray(scaled[np.ix_(kept, kept)]), lower=1)
            rcond = float(lapack.dpocon(lower, norm, uplo="L")[0]) if info == 0 and rank > 0 else 0.0
    return _Factor(lower, scale, kept, rcond) if rcond > 0.0 else None


def _newton_bound(data: _Data, point: _Point) -> float:
    """How far the objective can fall from `point`: B(v S) / S^2, v^2 = g'H^-1 g and S^2 the largest x'H^-1 x of a row;
    infinite if v S >= 1.

    Along d the curvature falls by no more than exp(-|x.d|), and |x.d| <= S |d|_H. A finite value also proves that there
    is an optimum. A row whose share of the curvature is m has x'H^-1 x <= 1/m, which is enough for most.
    """
    assert point.hessian is not None
    factor = _factor(point.hessian)
    if factor is None or not _spans(data, point.hessian, factor):
        return np.inf
    square = float(point.gradient @ factor.solve(point.gradient)) * (1.0 + 8.0 * len(data.centre) * EPS / factor.rcond)
    if not square > 0.0:
        return 0.0 if square == 0.0 else np.inf
    z = data.rows.map(predictions(_local(data, point.params), data.centre))
    share = data.rows.map(_weights) * data.problem.loss.curvature(data.rows.map(_targets), z)[:, 0] / point.weight
    counted = data.rows.map(_weights) > 0.0
    small = counted & (share < 100.0 * square)
    if np.count_nonzero(small) > max(4 * SAMPLE_ROWS, len(z) // 8):
        return np.inf  # far from the optimum: step first
    largest = 1.0 / float(np.min(share, where=counted & ~small, initial=np.inf))
    if small.any():
        largest = max(largest, _largest_leverage(data, factor, small))
    return price(float(np.sqrt(square * largest))) / largest if np.isfinite(largest) else np.inf


def _weights(block: Block) -> Floats:
    return np.ones(block.y.shape[0]) if block.weight is None else np.asarray(block.weight)


def _targets(block: Block) -> Floats:
    return np.asarray(block.y)


def _largest_leverage(data: _Data, factor: _Factor, chosen: Any) -> float:
    """The largest x'H^-1 x over the chosen rows, x with a one for the intercept."""

    def leverages(block: Block) -> Floats:
        found = np.zeros(block.y.shape[0])
        index = np.flatnonzero(block.y[:, 0])
        for part in np.array_split(index, 1 + len(index) // 1024) if len(index) else ():
            X = block.X[part].toarray() if is_sparse(block.X) else block.X[part]
            if data.problem.intercept:
                X = np.column_stack([X - data.centre, np.ones(len(part))])
            found[part] = np.sum(factor.half(X.T) ** 2, axis=0)
        return found

    return float(np.max(data.rows.retarget(chosen[:, None].astype(np.float64)).map(leverages)))


def _spans(data: _Data, hessian: Floats, factor: _Factor) -> bool:
    """Whether columns that were not kept are, in every row and to rounding, combinations of those that were: they then
    add no model.
    """
    k = len(hessian)
    if len(factor.kept) == k:
        return True
    dropped = np.setdiff1d(np.arange(k), factor.kept)
    p = len(data.centre)
    if data.strength > 0.0 or len(dropped) * data.rows.shape[0] > 1 << 24:
        return False
    mixed = np.array([factor.solve(hessian[j]) for j in dropped])
    mixed[np.arange(len(dropped)), dropped] -= 1.0
    mixed = np.column_stack([mixed, np.zeros(len(dropped))])[:, : p + 1]
    error = data.rows.map(
        predictions(Params(np.ascontiguousarray(mixed[:, :p]), np.ascontiguousarray(mixed[:, p])), data.centre)
    )
    lengths = np.abs(mixed[:, :p]) @ np.sqrt(data.squares) + np.abs(mixed[:, p])
    return bool(np.all(np.abs(error) <= 1e-12 * k * lengths))


def _separates(data: _Data, params: Params) -> bool:
    """Whether no row of positive weight is on the wrong side, and some are well on the right one; up to the rounding of
    a sum over a row.
    """
    local = _centred(params, data.centre)
    right = (data.rows.map(_targets) * data.rows.map(predictions(local, data.centre)))[:, 0]
    right = right[data.rows.map(_weights) > 0.0]
    largest = float(np.max(np.abs(right), initial=0.0))
    return largest > 0.0 and float(right.max()) > 1e-3 * largest and float(right.min()) >= -1e-12 * largest
