"""Kind exact for matching pursuit: the steps are replayed, with products of features read from the samples.

Numbers for each target, of which the largest counts: the relative amount by which at some step another feature exceeded
the selected one; the distance of the weights from the sums of the steps, max |w_j - v_j| |x_j| / |y|; the mean
residual; and, where residual sums of squares are given, their distance from those of the steps, relative to |y|^2.
Nothing of the products of the solver is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import residual
from tenfold.losses.regression import Square
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import cross_products


@dataclass(frozen=True)
class Steps:
    """The limits of a fit, and for each target the feature of each step, and the residual sums of squares before the
    first and after each one, where these are to be judged.
    """

    most: int
    tol: float | None
    taken: Sequence[Integers]
    left: Sequence[Floats] | None = None


def matching(
    steps: Steps,
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    *,
    status: str = "solved",
    dtype: Any = np.float64,
) -> Certificate:
    """Judge the weights of matching pursuit: two passes over the samples."""
    problem = Glm(Square(), L2(np.zeros(len(params.coef))), intercept)
    verdict = residual(problem, rows, params, columns, status=status, dtype=dtype)
    if not np.isfinite(verdict.certificate.value):
        note = "The weights are not finite."
        return Certificate("exact", np.inf, 1.0, RULES["exact"].tol, 0.0, np.inf, status=status, note=note)
    lengths, targets = _lengths(columns, intercept)
    raw, raw_targets = columns.lengths(origin=True)
    # powers of two that give features norms of about one
    q, r = (np.frexp(np.where(part > 0, part, 1.0))[1].astype(np.int32) for part in (lengths, targets))
    some = np.unique(np.concatenate([*steps.taken, *(np.flatnonzero(w) for w in params.coef)])).astype(np.int64)
    products = rows.fold(cross_products(some, columns, q, intercept)).sum if some.size else np.zeros((0, q.size))
    squares = np.ldexp(lengths, -q) ** 2
    p, eps = columns.features, float(np.finfo(np.float64).eps)
    terms = 4.0 + np.sqrt(p)
    # the relative error of norms about the mean from sums over sparse samples
    cancellation = np.divide(raw, lengths, out=np.ones_like(raw), where=lengths > 0.0)
    centring_error = np.minimum(8.0 * eps * cancellation**2, 1.0) if rows.sparse and intercept else np.zeros(p)
    mean_residual = (
        params.intercept + params.coef @ columns.mean[:p] - columns.mean[p:] if intercept else np.zeros(len(targets))
    )
    parts, floors, notes = [], [], []
    for t, taken in enumerate(steps.taken):
        # X'y = X'r + X'X w, whatever the weights
        w = np.ldexp(params.coef[t], q - r[t])
        start = w[some] @ products - np.ldexp(verdict.gradient[t], -q - r[t])
        yy = float(np.ldexp(targets[t], -r[t]) ** 2)
        tol = None if steps.tol is None else steps.tol * 4.0 ** -float(r[t])
        unit = targets[t] if targets[t] > 0.0 else 1.0
        size = float(raw_targets[t] + np.abs(params.coef[t]) @ raw) / unit
        taken_products = products[np.searchsorted(some, taken)]
        replay = _Replay(start, squares, taken_products, taken, yy, 4.0 * terms * eps * size, centring_error)
        replayed = replay.all(steps.most, tol)
        weight_error = (
            np.max(np.abs(params.coef[t] - np.ldexp(replayed.weights, r[t] - q)) * lengths, initial=0.0) / unit
        )
        worst = replayed.worst
        if steps.left is not None:
            worst = max(worst, _largest_difference(steps.left[t], np.ldexp(replayed.left, 2 * int(r[t]))) / unit**2)
        parts.append(max(float(weight_error), worst, float(abs(mean_residual[t])) * np.sqrt(columns.weight) / unit))
        floors.append(terms * max(eps, unit_roundoff(dtype)) * size + 8.0 * eps * len(taken) * replayed.path)
        notes += [replayed.note] if replayed.note and replayed.worst > RULES["exact"].tol else []
    floor = max(floors)
    numbers = np.maximum(np.array(parts), floor)
    return Certificate(
        kind="exact",
        value=float(np.max(numbers)),
        scale=1.0,
        tol=RULES["exact"].tol,
        floor=floor,
        objective=float(np.sum(verdict.residual_squares)) / (2.0 * columns.weight),
        status=status,
        parts=tuple(map(float, numbers)),
        note=" ".join(dict.fromkeys(notes)),
    )


def _largest_difference(stored: Floats, recomputed: Floats) -> float:
    return float(np.max(np.abs(stored - recomputed))) if stored.shape == recomputed.shape else np.inf


@dataclass(frozen=True)
class _ReplayResult:
    """The sums of the steps (p,), the relative violation of the rule, the length of all steps in units of the target,
    the residual sums of squares, and an explanation.
    """

    weights: Floats
    worst: float
    path: float
    left: Floats
    note: str


class _Replay:
    """The state of one target in a replay; `noise` is the rounding of the samples in cosines, and `centring_error` (p,)
    their relative error by sums about the mean.
    """

    def __init__(
        self,
        a: Floats,
        squares: Floats,
        products: Floats,
        taken: Integers,
        yy: float,
        noise: float,
        centring_error: Floats,
    ) -> None:
        self.a, self.squares, self.products, self.taken, self.yy, self.left = a, squares, products, taken, yy, yy
        self.lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        self.unit = float(np.sqrt(yy)) if yy > 0.0 else 1.0
        self.size, self.centring_error = noise, centring_error
        self.weights, self.path, self.sums = np.zeros_like(a), 0.0, [yy]

    def cosines(self) -> Floats:
        """The cosines of all features with the residual, in units of the target."""
        return np.where(self.squares > 0.0, np.abs(self.a) / self.lengths, 0.0) / self.unit

    def noise(self, number: int) -> float:
        return 16.0 * float(np.finfo(np.float64).eps) * (number + 4.0) + self.size

    def all(self, most: int, tol: float | None) -> _ReplayResult:
        worst, note = 0.0, ""
        if len(self.taken) > most:
            return self.end(1.0, "More steps than asked for.")
        for number, j in enumerate(self.taken):
            cosines = self.cosines()
            best, taken_products = (
                float(np.max(cosines * (1.0 - self.centring_error))),
                float(cosines[j] * (1.0 + self.centring_error[j])),
            )
            if best - self.noise(number) > taken_products:
                share = 1.0 - taken_products / best
                worst, note = max(worst, share), f"The rule takes other columns: one is closer by {share:.2g}."
            if tol is not None and self.left <= tol * (1.0 - 1e-9) - 1e-13 * self.yy:
                return self.end(1.0, "The sum of squares was small enough before the last step.")
            self.step(number, int(j))
        enough = len(self.taken) == most or (tol is not None and self.left <= tol * (1.0 + 1e-9) + 1e-12 * self.yy)
        rest = float(np.max(self.cosines(), initial=0.0))
        if not enough and rest > self.noise(len(self.taken)):
            worst, note = max(worst, rest), f"Fewer steps than asked for, and a column has a cosine of {rest:.2g}."
        return self.end(worst, note)

    def step(self, number: int, j: int) -> None:
        square = float(self.products[number, j])
        v = float(self.a[j]) / square if square > 0.0 else 0.0
        self.left = max(self.left - v * float(self.a[j]), 0.0)
        self.sums.append(self.left)
        self.a = self.a - v * self.products[number]
        self.weights[j] += v
        self.path += abs(v) * float(self.lengths[j]) / self.unit

    def end(self, worst: float, note: str) -> _ReplayResult:
        return _ReplayResult(self.weights, worst, self.path, np.array(self.sums), note)


def _lengths(columns: Columns, intercept: bool) -> tuple[Floats, Floats]:
    """Norms of features and targets; about its mean a constant feature is rounding."""
    lengths, targets = columns.lengths(origin=not intercept)
    if intercept:
        least = 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * np.abs(columns.mean[: columns.features])
        lengths = np.where(lengths > least, lengths, 0.0)
    return lengths, targets
