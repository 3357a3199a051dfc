"""Kind residual for greedy selection: least squares on the selected features, and whether the greedy rule selects them.

Two numbers, of which the larger counts. The first is the largest cosine between the residual and a selected feature.
For the second the rule is replayed with products of features read from the samples: at each step, the relative amount
by which the best of the other features exceeds the best of the selected ones or, where their order is known, by which
any other exceeds the one that was selected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.linalg.blas import dtrsm

from tenfold.arrays import EPS, Floats, Integers
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import Verdict, residual
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.problems import Glm, GreedyRule
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.gram import cross_products

DEPENDENT = 1e-12  # relative squared norm outside the selected features below which a feature need not be selected

STEPS_ENTRIES = 1 << 16  # correlations of all features at so many steps that the arrays stay in the cache


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
    if not (violations.any() or missing.any()):
        return verdict
    return replace(verdict, certificate=_combine(verdict.certificate, violations, missing))


def _subtract_in_turn(a: Floats, parts: Floats) -> Floats:
    """a (p,), and a minus the first of the parts (k, p), minus the next, and so on: (k + 1, p)."""
    return np.asarray(np.subtract.accumulate(np.concatenate([a[None], parts]), axis=0))


def _is_order_of(order: Integers, inside: NDArray[np.bool_]) -> bool:
    """Whether features are listed once each, and all that have a weight among them."""
    if order.ndim != 1 or (order < 0).any() or (order >= inside.size).any():
        return False
    listed = np.zeros_like(inside)
    listed[order] = True
    return np.count_nonzero(listed) == order.size and not (inside & ~listed).any()


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
    each = np.zeros(q.size, dtype=bool)
    for taken in order:
        each[taken] = True
    some, place = np.flatnonzero(each), np.cumsum(each) - 1
    products = rows.fold(cross_products(some, columns, q, intercept)).sum if some.size else np.zeros((0, q.size))
    squares = np.ldexp(lengths, -q) ** 2
    violations, missing = np.zeros(len(order)), np.zeros(len(order))
    for t, taken in enumerate(order):
        # X'y = X'r + X'X w, whatever the weights
        w, own = np.ldexp(params.coef[t], q - r[t]), place[taken]
        start = w[taken] @ products[own] - np.ldexp(gradient[t], -q - r[t])
        yy = float(np.ldexp(target_lengths[t], -r[t]) ** 2)
        replay = _Replay(rule.promise, start, squares, np.ldexp(1.0, q - np.max(q, initial=0)), yy)
        tol = None if rule.tol is None else rule.tol * 4.0 ** -float(r[t])
        violations[t], missing[t] = replay.all(rule.most, tol, taken, products[own], known)
    return violations, missing


@dataclass(frozen=True)
class _Replay:
    """One target in a replay of the rule `name`: the products of all features with the target, their squares and units,
    and the square of the target.

    With L the Cholesky factor of the products of the selected features in their order, D = L^-1 (their products with
    all features), and L beta = their products with the target, the correlations before step i are start minus the sum
    of beta_l D_l over l < i, and the squares left of the features are squares minus the sum of D_l^2.
    """

    name: str
    start: Floats
    squares: Floats
    unit: Floats
    yy: float

    def criterion(self, a: Floats, s: Floats, some: Any = slice(None)) -> Floats:
        """The criterion at correlations `a` and remaining squares `s` of `some` features."""
        if self.name == "correlation":
            return np.asarray(self.unit[some] * np.abs(a))
        if self.name == "cosine":
            squares = self.squares[some]
            return np.asarray(np.abs(a) / np.sqrt(np.where(squares > 0, squares, 1.0)))
        return np.asarray(a**2 / np.where(s > 0, s, 1.0))

    def noise(self, steps: Integers, s: Floats) -> Floats:
        """What rounding may have added to the criterion (k, p), after each number of `steps` (k,)."""
        eps = 16.0 * EPS * (steps[:, None] + 4.0)
        if self.name == "gain":
            return np.asarray(eps * self.yy * self.squares / np.where(s > 0, s, 1.0))
        if self.name == "correlation":
            return np.asarray(eps * (self.unit * np.sqrt(self.yy * self.squares)))
        return eps * np.sqrt(self.yy)

    def all(
        self, most: int | None, tol: float | None, taken: Integers, products: Floats, known: bool
    ) -> tuple[float, float]:
        """The violation, and the cosine that is left where features are missing; `known` where the features `taken`
        (k,) are in their order. `products` (k, p) are overwritten.
        """
        if most is not None and tol is None and len(taken) > most:
            return 1.0, 0.0
        factor, order, regular = self._factor(products[:, taken], taken, known)
        taken = taken[order]
        with one_blas_thread:
            D = dtrsm(1.0, factor, products[order].T, side=1, lower=1, trans_a=1, overwrite_b=1).T
            beta = np.asarray(lapack.dtrtrs(factor, self.start[taken], lower=1)[0]) if taken.size else np.zeros(0)
        D[~regular], beta[~regular] = 0.0, 0.0
        left = np.maximum(self.yy - np.append(0.0, np.cumsum(beta**2)), 0.0)
        a, s, worst = self.start, self.squares, 0.0
        length = max(1, STEPS_ENTRIES // max(self.start.size, 1))
        for first in range(0, len(taken), length):
            steps = np.arange(first, min(first + length, len(taken)))
            A = _subtract_in_turn(a, beta[steps, None] * D[steps])
            S = s - np.sum(D[steps] ** 2, axis=0)
            # mostly nothing exceeds, whatever rounding and dependence would excuse
            if self.name == "gain" or self._exceeds(A[:-1], taken[steps]):
                worst = max(worst, self._violation(steps, taken, known, A[:-1], _subtract_in_turn(s, D[steps] ** 2)))
            a, s = A[-1], S
        if tol is not None and np.any(left[1:-1] <= tol * (1.0 - 1e-9) - 1e-13 * self.yy):
            return max(worst, 1.0), 0.0  # a step before the last had reached tol
        complete = len(taken) >= most if most is not None else True
        if tol is not None:
            complete = bool(left[-1] <= tol * (1.0 + 1e-9) + 1e-12 * self.yy)
        return worst, 0.0 if complete else self._largest_cosine(a, s, taken)

    def _exceeds(self, A: Floats, chosen: Integers) -> bool:
        """Whether at correlations A (k, p) any feature has a larger criterion than the `chosen` ones (k,)."""
        criterion = self.criterion(A, self.squares)
        return bool((criterion.max(axis=1) > criterion[np.arange(len(chosen)), chosen]).any())

    def _violation(self, steps: Integers, taken: Integers, known: bool, A: Floats, S: Floats) -> float:
        """The largest relative amount by which others exceed the selected features at correlations A (k, p) before
        these `steps` (k,), and squares left S (k + 1, p).
        """
        # the step at which a feature is selected: it competes before
        selected = np.full(self.start.size, len(taken))
        selected[taken] = np.arange(len(taken)) if known else -1
        S = S[:-1]
        criterion = self.criterion(A, S)
        others = (selected > steps[:, None]) & (DEPENDENT * self.squares < S)
        rival = np.max(np.where(others, criterion - self.noise(steps, S), -1.0), axis=1, initial=0.0)
        own = criterion[np.arange(len(steps)), taken[steps]]
        exceeded = rival > own
        return float(np.max(1.0 - own[exceeded] / rival[exceeded], initial=0.0))

    def _factor(self, products: Floats, taken: Integers, known: bool) -> tuple[Floats, Integers, NDArray[np.bool_]]:
        """The Cholesky factor (k, k) of the products of the selected features; their order by the rule, where it is not
        known; and which of them are independent of those before, within rounding: the others have the row of a unit
        matrix.
        """
        k = len(taken)
        if known:
            with one_blas_thread:
                factor, info = lapack.dpotrf(products, lower=1, clean=1)
            if info == 0:
                return factor, np.arange(k), np.ones(k, dtype=bool)
        D, waiting, order = np.zeros((k, k)), np.ones(k, dtype=bool), np.zeros(k, np.int64)
        regular = np.zeros(k, dtype=bool)
        a, s = self.start[taken], self.squares[taken]
        for i in range(k):
            best = i if known else int(np.argmax(np.where(waiting, self.criterion(a, s, taken), -1.0)))
            order[i], waiting[best] = best, False
            d = products[best] - D[:i, best] @ D[:i]
            regular[i] = d[best] > 0.0
            if regular[i]:
                D[i] = d / np.sqrt(d[best])
                a, s = a - D[i] * (a[best] / np.sqrt(d[best])), s - D[i] ** 2
        factor = np.tril(D[:, order].T)
        factor[~regular, ~regular] = 1.0
        return np.asfortranarray(factor), order, regular

    def _largest_cosine(self, a: Floats, s: Floats, taken: Integers) -> float:
        """The largest cosine of a feature that could still be selected with the residual, in units of the target."""
        free = s > DEPENDENT * self.squares
        free[taken] = False
        size = np.sqrt(np.where(free, self.squares, 1.0) * (self.yy if self.yy > 0 else 1.0))
        return float(np.max(np.where(free, np.abs(a) / size, 0.0), initial=0.0))
