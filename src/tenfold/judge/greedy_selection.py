"""Kind residual for greedy selection: least squares on the selected features, and whether the greedy rule selects them.

Two numbers, of which the larger counts. The first is the largest cosine between the residual and a selected feature.
For the second the rule is replayed with products of features read from the samples: at each step, the relative amount
by which the best of the other features exceeds the best of the selected ones or, where their order is known, by which
any other exceeds the one that was selected.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import Floats, Integers
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import Verdict, residual
from tenfold.losses.regression import Square
from tenfold.penalties import L2
from tenfold.problems import Glm, GreedyRule
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import cross_products

DEPENDENT = 1e-12  # relative squared norm outside the selected features below which a feature need not be selected


def greedy(
    rule: GreedyRule,
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    *,
    order: Sequence[Integers] | None = None,
    status: str = "solved",
    dtype: Any = np.float64,
) -> Verdict:
    """Judge weights that are zero but for the selected features, of each target in this order where it is known: two
    passes over the samples.
    """
    taken = params.coef != 0.0
    how = (rule, rows, params, columns, intercept, status, dtype)
    if order is None:
        return _judge(*how, [np.flatnonzero(inside) for inside in taken], False)
    listed = len(order) == len(taken) and all(map(_is_order_of, order, taken))
    verdict = _judge(*how, order, True) if listed else _reject(taken, status)
    if verdict.certificate.ok:
        return verdict
    unordered = _judge(*how, [np.flatnonzero(inside) for inside in taken], False)
    return verdict if unordered.certificate.ok else unordered  # what is wrong with the weights comes first


def _judge(
    rule: GreedyRule,
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    status: str,
    dtype: Any,
    order: Sequence[Integers],
    known: bool,
) -> Verdict:
    """Judge with the selected features, in their order where it is `known`."""
    taken = np.zeros(params.coef.shape, dtype=bool)
    for inside, some in zip(taken, order, strict=True):
        inside[some] = True
    problem = Glm(Square(), L2(np.zeros(len(taken))), intercept)
    verdict = residual(problem, rows, params, columns, status=status, dtype=dtype, free=taken)
    if not np.isfinite(verdict.certificate.value):
        return verdict
    violations, missing = _replay_all(rule, rows, params, columns, intercept, order, known, verdict.gradient)
    return replace(verdict, certificate=_combine(verdict.certificate, violations, missing))


def _is_order_of(order: Integers, inside: NDArray[np.bool_]) -> bool:
    """Whether features are listed once each, and all that have a weight among them."""
    if order.ndim != 1 or np.any(order < 0) or np.any(order >= inside.size) or np.unique(order).size < order.size:
        return False
    return not np.setdiff1d(np.flatnonzero(inside), order).size


def _reject(taken: NDArray[np.bool_], status: str) -> Verdict:
    note = "The columns that are said to be taken are not those that have weights."
    certificate = Certificate("residual", np.inf, 1.0, RULES["residual"].tol, 0.0, np.inf, status=status, note=note)
    return Verdict(certificate, np.zeros(taken.shape), np.zeros(len(taken)))


def _combine(certificate: Certificate, violations: Floats, missing: Floats) -> Certificate:
    """The certificate of the residual, combined with the violations of the rule."""
    parts = np.maximum(np.maximum(np.array(certificate.parts), violations), missing)
    note = ""
    if np.max(violations, initial=0.0) > certificate.allowed:
        note = f"The rule takes other columns: one that was left out is better by {np.max(violations):.2g}."
    elif np.max(missing, initial=0.0) > certificate.allowed:
        note = f"Fewer columns than asked for, and one that is left has a cosine of {np.max(missing):.2g}."
    value = max(certificate.floor, float(np.max(parts, initial=0.0)))
    return replace(certificate, value=value, parts=tuple(map(float, parts)), note=note)


def _replay_all(
    rule: GreedyRule,
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    order: Sequence[Integers],
    known: bool,
    gradient: Floats,
) -> tuple[Floats, Floats]:
    """For each target, the relative violation of the rule, and the largest cosine left where it stopped too early."""
    lengths, target_lengths = columns.lengths(origin=not intercept)
    # powers of two that give features norms of about one
    q, r = (np.frexp(np.where(part > 0, part, 1.0))[1].astype(np.int32) for part in (lengths, target_lengths))
    some = np.unique(np.concatenate(order)).astype(np.int64)
    products = rows.fold(cross_products(some, columns, q, intercept)).sum if some.size else np.zeros((0, q.size))
    squares = np.ldexp(lengths, -q) ** 2
    violations, missing = np.zeros(len(order)), np.zeros(len(order))
    for t, taken in enumerate(order):
        # X'y = X'r + X'X w, whatever the weights
        w, own = np.ldexp(params.coef[t], q - r[t]), np.searchsorted(some, taken)
        start = w[taken] @ products[own] - np.ldexp(gradient[t], -q - r[t])
        yy = float(np.ldexp(target_lengths[t], -r[t]) ** 2)
        replay = _Replay(start, squares.copy(), products[own], taken, q, yy)
        tol = None if rule.tol is None else rule.tol * 4.0 ** -float(r[t])
        violations[t], missing[t] = replay.all(rule, tol, known)
    return violations, missing


class _Replay:
    """The state of one target in a replay: correlations, the remaining squares of the features and of the target, and
    orthogonal directions as products with all features.
    """

    def __init__(self, c: Floats, squares: Floats, products: Floats, taken: Any, q: Any, yy: float) -> None:
        self.a, self.s, self.squares_before, self.left, self.yy = c, squares, squares.copy(), yy, yy
        self.products, self.taken = products, taken
        self.unit = np.ldexp(1.0, q - np.max(q, initial=0))
        self.directions: list[Floats] = []
        self.inside = np.zeros(c.size, dtype=bool)
        self.inside[taken] = True

    def criterion(self, name: str) -> Floats:
        if name == "correlation":
            return self.unit * np.abs(self.a)
        if name == "cosine":
            return np.abs(self.a) / np.sqrt(np.where(self.squares_before > 0, self.squares_before, 1.0))
        return self.a**2 / np.where(self.s > 0, self.s, 1.0)

    def all(self, rule: GreedyRule, tol: float | None, known: bool) -> tuple[float, float]:
        """Replay the rule; `known` where the features are in their order."""
        if rule.most is not None and tol is None and len(self.taken) > rule.most:
            return 1.0, 0.0
        waiting, worst = np.ones(len(self.taken), dtype=bool), 0.0
        while waiting.any():
            criterion, noise = self.criterion(rule.promise), self.noise(rule.promise)
            best = int(np.argmax(waiting if known else np.where(waiting, criterion[self.taken], -1.0)))
            j = self.taken[best]
            others = ~self.inside
            if known:
                others[self.taken[best + 1 :]] = True
            others &= self.s > DEPENDENT * self.squares_before
            most = float(np.max(np.where(others, criterion - noise, -1.0), initial=0.0))
            if most > criterion[j]:
                worst = max(worst, 1.0 - float(criterion[j]) / most)
            if tol is not None and self.left <= tol * (1.0 - 1e-9) - 1e-13 * self.yy and len(self.directions):
                return max(worst, 1.0), 0.0  # the previous step had reached tol
            self.step(best, int(j))
            waiting[best] = False
        complete = len(self.taken) >= rule.most if rule.most is not None else True
        if tol is not None:
            complete = self.left <= tol * (1.0 + 1e-9) + 1e-12 * self.yy
        return worst, 0.0 if complete else self.cosine()

    def noise(self, name: str) -> Floats:
        """What rounding may have added to a promise."""
        eps = 16.0 * (len(self.directions) + 4) * float(np.finfo(np.float64).eps)
        if name == "gain":
            return eps * self.yy * self.squares_before / np.where(self.s > 0, self.s, 1.0)
        size = np.sqrt(self.yy * self.squares_before) if name == "correlation" else np.sqrt(self.yy)
        return eps * self.unit * size if name == "correlation" else np.full(self.a.size, eps * float(np.max(size)))

    def step(self, row: int, j: int) -> None:
        """Take column j: project everything on what is orthogonal to it."""
        d = self.products[row].copy()
        for direction in self.directions:
            d -= direction[j] * direction
        size = np.sqrt(d[j]) if d[j] > 0.0 else np.inf
        d /= size
        beta = self.a[j] / size
        self.a -= beta * d
        self.s -= d**2
        self.left = max(self.left - beta**2, 0.0)
        self.directions.append(d)

    def cosine(self) -> float:
        """The largest cosine of a column that could still be taken with the target's residual, in units of the
        target.
        """
        free = ~self.inside & (self.s > DEPENDENT * self.squares_before)
        size = np.sqrt(np.where(free, self.squares_before, 1.0) * (self.yy if self.yy > 0 else 1.0))
        return float(np.max(np.where(free, np.abs(self.a) / size, 0.0), initial=0.0))
