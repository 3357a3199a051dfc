"""Kind gap for the multiclass hinge loss of Crammer and Singer (2001), by a dual point p in the simplex of each sample.

Slopes u = p - e_y of every sample, whose conjugates are minus the entries of p for wrong classes, bound how far the
objective can decrease, as in gap_fenchel.py; with strength / 2 ||W||^2 + t / 2 |b|^2, v_k = (1/W) sum weight u_k x and
s_k = (1/W) sum weight u_k,

    gap(p) = (1/W) sum weight [loss(z) + conjugate(u) - u.z] + sum_k |strength w_k + v_k|^2 / (2 strength)
             + sum_k (t b_k + s_k)^2 / (2 t).

Intercepts that are free ask for s = 0: p is raked, class by class and sample by sample (Deming and Stephan 1940).
Without a hint, samples whose largest entries tie get p such that the gradient vanishes, by least squares.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import EPS, Floats, on_host, unit_roundoff
from tenfold.data import Rows, targets_of, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_point_search import KINK_WIDTHS, nearest_moves, pick
from tenfold.judge.gap_fenchel import ALL_ZERO, WIDTHS
from tenfold.judge.objective_points import EXTENDED_EPS, LOOSE, storage_roundoff
from tenfold.losses.classification import JointHinge
from tenfold.machine import one_blas_thread
from tenfold.objectives.linear_design import center, sample_rows
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params, Total, adjoint, predictions

MAX_TIES = 2048  # ties, and the root of the entries of the system, up to which a dual point is solved for: 32 MB
ROUNDS, RAKING_STEPS = 12, 200  # of least squares with entries beyond an end put there, and of raking
ROUNDING_OF_HINT = (1e-9, 1e-6)  # entries of a hint up to these count as zero

LOSS = JointHinge()


class _Data(NamedTuple):
    """Rows measured from `centre`, the class numbers (n, 1), normalised weights (n,), and raw predictions (n, K)."""

    problem: Glm
    rows: Rows
    centre: Floats
    params: Params
    y: Floats
    weight: Floats
    z: Floats

    @property
    def strength(self) -> float:
        return float(np.max(self.problem.penalty.strength))

    @property
    def one_hot(self) -> Floats:
        return (self.y == np.arange(self.z.shape[1])).astype(np.float64)

    def correlate(self, u: Floats) -> tuple[Floats, Floats]:
        """v (K, p), of samples from the centre where slopes balance, else of samples as they are; and s (K,)."""
        u = self.weight[:, None] * u
        v = self.rows.retarget(u).fold(lambda block: Total(adjoint(block.X, block.y, self.centre))).sum
        s = u.sum(axis=0)
        return (v if self.problem.balances else v + np.outer(s, self.centre)), s


def crammer_singer_gap(
    problem: Glm,
    rows: Rows,
    params: Params,
    *,
    shares: Floats | None = None,
    tol: float | None = None,
    status: str = "converged",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge a multiclass hinge loss; `shares` (n, K), the dual point p, is an untrusted hint."""
    centre, _, squares = sample_rows(rows)
    about = center(params if problem.intercept else Params(params.coef, np.zeros(len(params.intercept))), centre)
    y, weight = on_host(rows.map(targets_of)), on_host(rows.map(weights_of))
    z = np.asarray(on_host(rows.map(predictions(about, centre))))
    data = _Data(problem, rows, centre, params, y, weight / weight.sum(), z)
    b = params.intercept if problem.intercept else np.zeros_like(params.intercept)
    value = float(data.weight @ LOSS.value(y, z)[:, 0]) + 0.5 * data.strength * float(np.sum(params.coef**2))
    value += 0.5 * problem.intercept_penalty * float(np.sum(b * b))
    size = float(np.max(np.abs(params.coef) @ np.sqrt(squares), initial=0.0))
    offset = float(np.max(np.abs(params.coef) @ np.abs(centre) + np.abs(b)))
    floor = 8.0 * EPS * max(value, 1.0) + 2.0 * (EPS * size + EXTENDED_EPS * offset)
    floor += 2.0 * (unit_roundoff(dtype) * size + unit_roundoff(np.float64) * offset)
    floor += 2.0 * storage_roundoff(b, dtype) * float(np.max(np.abs(b)))
    tol = RULES["gap"].tol if tol is None else tol
    note = "" if np.any(params.coef) else ALL_ZERO
    certificate = Certificate("gap", value, 1.0, tol, floor, value, 0.0, status=status, parts=(value,), note=note)
    best = value
    for p in _candidates(data, shares, dtype):
        best = min(best, _gap(data, p))
        if best <= certificate.allowed:
            break
    if shares is None and best > certificate.allowed:
        note = f"{note} {LOOSE}".strip()
    best = max(best, floor)
    radius = float(np.sqrt(2.0 * (best + floor) / data.strength))
    return replace(certificate, value=best, lower_bound=value - best, radius=radius, parts=(best,), note=note)


def _candidates(data: _Data, shares: Floats | None, dtype: Any) -> Any:
    """Dual points p to try, one after the other."""
    if shares is not None:
        p = _project_simplex(np.asarray(shares, dtype=np.float64))
        yield p
        for least in ROUNDING_OF_HINT:
            yield _refine(data, _project_simplex(np.where(p > least, p, 0.0)), p > least)
    for width in KINK_WIDTHS:
        yield _at_kinks(data, max(width, 16.0 * unit_roundoff(dtype)))
    raised = LOSS.add_margin(data.y, data.z)
    spread = float(np.std(data.z)) or 1.0
    for width in WIDTHS:
        e = np.exp((raised - raised.max(axis=1, keepdims=True)) / (spread * width))
        yield e / e.sum(axis=1, keepdims=True)


def _gap(data: _Data, p: Floats) -> float:
    """The gap at p (n, K), which is made feasible here, wherever it comes from."""
    problem, p = data.problem, _project_simplex(p)
    if problem.balances:
        p = _rake(data, p)
    u = p - data.one_hot
    wrong = 1.0 - np.sum(data.one_hot * p, axis=1)
    terms = LOSS.value(data.y, data.z)[:, 0] - wrong - np.sum(u * data.z, axis=1)
    v, s = data.correlate(u)
    gap = max(float(data.weight @ terms), 0.0)
    gap += float(np.sum((data.strength * data.params.coef + v) ** 2)) / (2.0 * data.strength)
    if problem.balances:
        # zero but for rounding, which the floor covers; what is more is not feasible
        return gap if float(np.max(np.abs(s))) <= 1e-12 else np.inf
    if problem.intercept:
        gap += float(np.sum((problem.intercept_penalty * data.params.intercept + s) ** 2)) / (
            2.0 * problem.intercept_penalty
        )
    return gap


def _project_simplex(p: Floats) -> Floats:
    """p without negative entries, each row scaled to sum to one."""
    p = np.maximum(p, 0.0)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), 1.0 / p.shape[1])


def _rake(data: _Data, p: Floats) -> Floats:
    """p whose weighted sums over the samples are the weights of the classes, and over the classes one: each class is
    multiplied by the same in all samples, near the end by Newton's method.
    """
    wanted, K = data.weight @ data.one_hot, p.shape[1]
    for _ in range(RAKING_STEPS):
        sums = data.weight @ p
        if float(np.max(np.abs(sums - wanted))) <= 1e-15:
            break
        bends = np.diag(sums) - np.einsum("ik,il->kl", data.weight[:, None] * p, p)
        # what all classes have in common changes nothing
        bends += np.trace(bends) / K**2 + np.diag(np.full(K, 1e-14 * float(np.max(sums))))
        with one_blas_thread:
            _, move, info = lapack.dposv(np.asfortranarray(bends), wanted - sums, lower=1)
        if info != 0 or not np.max(np.abs(move)) <= 1.0:
            move = np.log(np.where((sums > 0.0) & (wanted > 0.0), wanted / np.where(sums > 0.0, sums, 1.0), 1.0))
        p = p * np.exp(move)
        p = p / p.sum(axis=1, keepdims=True)
    return p


def _at_kinks(data: _Data, width: float) -> Floats:
    """p on the largest entries of each sample; where these tie to a `width`, such that the gradient vanishes."""
    raised = LOSS.add_margin(data.y, data.z)
    tied = raised >= raised.max(axis=1, keepdims=True) - width * (float(np.std(data.z)) + 1.0)
    return _refine(data, tied / tied.sum(axis=1, keepdims=True), tied)


def _refine(data: _Data, p: Floats, tied: Any) -> Floats:
    """A point near p (n, K) at which the gradient vanishes: least squares, in units of the gap, in the entries of
    samples in which several are `tied`. The largest of a sample takes what the others leave.
    """
    problem, (n, K) = data.problem, data.z.shape
    active = tied & (tied.sum(axis=1, keepdims=True) > 1)
    kink, width = np.flatnonzero(active.any(axis=1)), data.params.coef.shape[1] + problem.intercept
    if not 0 < np.count_nonzero(active) <= MAX_TIES or np.count_nonzero(active) * K * width > MAX_TIES * MAX_TIES:
        return p
    X = np.zeros((n, width))
    X[kink, : data.params.coef.shape[1]] = pick(data.rows, kink, np.arange(data.params.coef.shape[1]))
    unit = np.ones(width)
    if problem.balances:
        X[kink, :-1] -= data.centre
    if problem.intercept:
        X[kink, -1] = 1.0
        # the sum of slopes must be zero where the intercept is free
        unit[-1] = (
            np.sqrt(data.strength / problem.intercept_penalty)
            if problem.intercept_penalty > 0.0
            else 1e3 * float(np.max(np.abs(X)))
        )
    X *= data.weight[:, None] * unit
    before = np.inf
    for _ in range(ROUNDS):
        lead = np.argmax(p, axis=1)
        rows, classes = np.nonzero(active & (np.arange(K) != lead[:, None]))
        if not rows.size:
            break
        columns = np.zeros((rows.size, K, width))
        columns[np.arange(rows.size), classes] = X[rows]
        columns[np.arange(rows.size), lead[rows]] = -X[rows]
        v, s = data.correlate(p - data.one_hot)
        missing = -data.strength * data.params.coef - v
        if problem.intercept:
            missing = np.column_stack([missing, -problem.intercept_penalty * data.params.intercept - s])
        moved = nearest_moves(columns.reshape(rows.size, -1), np.ravel(missing * unit))
        p = p.copy()
        p[rows, classes] += moved
        np.subtract.at(p, (rows, lead[rows]), moved)
        beyond = p < -1e-12
        p = _project_simplex(p)
        active &= ~beyond
        # where none is beyond its end, once more for the digits that the first has lost
        size = float(np.max(np.abs(moved)))
        if not beyond.any() and (size <= 4.0 * EPS or size >= 0.5 * before):
            break
        before = np.inf if beyond.any() else size
    return p
