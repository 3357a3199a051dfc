"""Certificates of kind count: the mistakes of models that are meant to separate classes.

The sign of a score near zero may be rounding. Where no sample is a mistake in float64, samples whose margin is within
its rounding bound are decided by exact sums, so that zero mistakes are proved.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_sparse, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.problems import Separation, length
from tenfold.stats.derivatives import Params, Total, forward
from tenfold.stats.perceptron_votes import Voters, vote_difference

SPLITTER = 134217729.0  # 2^27 + 1: splits 53 bits into two halves of 26 (Veltkamp 1968)


@dataclass(frozen=True)
class Tally:
    """Mistakes of each class (k,), their weight and that of all samples, the number of samples, the smallest margin."""

    mistakes: Floats
    wrong: float
    weight: float
    rows: int
    margin: float

    def merge(self, other: "Tally") -> "Tally":
        """The tally of both sets of rows."""
        return Tally(
            self.mistakes + other.mistakes,
            self.wrong + other.wrong,
            self.weight + other.weight,
            self.rows + other.rows,
            min(self.margin, other.margin),
        )


Scores = Callable[[Array], Floats]
"""Scores (m, t) of rows."""


def count(problem: Separation, rows: Rows, params: Params, *, status: str, dtype: Any = np.float64) -> Certificate:
    """Certificate of linear scores: mistakes on samples of positive weight; targets are class indices."""
    tally = rows.fold(_lift(problem, lambda X: forward(X, params)))
    if tally.mistakes.sum() == 0:
        unsure = rows.fold(_count_ties_exactly(problem, params))
        tally = Tally(unsure.sum, float(unsure.sum.sum()), tally.weight, tally.rows, tally.margin)
    size = length(params.coef)
    margin = tally.margin / size if size > 0.0 else 0.0
    what = "signed distance from the boundary" if problem.targets == 1 else "own score over the best other, |W| = 1"
    return _certificate(tally, status, f"The smallest margin is {margin:.3g} ({what}).", dtype)


def count_votes(problem: Separation, rows: Rows, voters: Voters, *, status: str) -> Certificate:
    """Certificate of votes: mistakes of the weighted majority."""
    tally = rows.fold(_lift(problem, lambda X: vote_difference(voters.shares(X))))
    return _certificate(tally, status, f"The smallest margin is {tally.margin:.3g} (of the votes).", np.float64)


def _certificate(tally: Tally, status: str, note: str, dtype: Any) -> Certificate:
    return Certificate(
        "count",
        float(tally.mistakes.sum()),
        float(max(tally.rows, 1)),
        RULES["count"].tol,
        0.0,
        tally.wrong / tally.weight if tally.weight > 0.0 else 0.0,
        status=status,
        parts=tuple(float(number) for number in tally.mistakes),
        note=note,
    )


def _inside(block: Block) -> tuple[Array, Integers, Floats]:
    """Samples of positive weight, their classes and weights."""
    label = block.y[:, 0].astype(np.intp)
    if block.weight is None:
        return block.X, label, weights_of(block)
    inside = block.weight > 0.0
    return block.X[inside], label[inside], block.weight[inside]


def _lift(problem: Separation, scores: Scores) -> Callable[[Block], Tally]:
    def lift(block: Block) -> Tally:
        X, label, weight = _inside(block)
        if not len(label):
            return Tally(np.zeros(problem.classes), 0.0, 0.0, 0, np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            z = scores(X)
            wrong = problem.mistaken(z, label)
            margin = float(np.min(problem.margins(z, label)))
        counts = np.bincount(label[wrong], minlength=problem.classes).astype(np.float64)
        margin = margin if np.isfinite(margin) else -np.inf
        return Tally(counts, float(weight[wrong].sum()), float(weight.sum()), len(label), margin)

    return lift


def _count_ties_exactly(problem: Separation, params: Params) -> Callable[[Block], Total]:
    """The lift of mistakes of each class among the samples within rounding of a tie, by exact sums."""
    p = params.coef.shape[1]
    # twice the classical bound (p + 2) u |x|.|w|, for the two scores that are compared
    units = 4.0 * (p + 4) * unit_roundoff(np.float64)
    size = float(np.abs(params.coef).sum(axis=1).max()) if params.coef.size else 0.0
    offset = float(np.abs(params.intercept).max())

    def lift(block: Block) -> Total:
        X, label, _ = _inside(block)
        mistakes = np.zeros(problem.classes)
        values = X.data if is_sparse(X) else X
        if not values.size and not offset:
            return Total(mistakes)
        largest = float(max(values.max(), -values.min())) if values.size else 0.0
        z = forward(X, params)
        margins = problem.margins(z, label)
        for i in np.flatnonzero(margins <= units * (largest * size + offset)):
            mistakes[label[i]] += _exact_mistake(problem, params, _dense_row(X, int(i)), int(label[i]))
        return Total(mistakes)

    return lift


def _dense_row(X: Array, i: int) -> Floats:
    row = X[[i]].toarray()[0] if is_sparse(X) else X[i]
    return np.asarray(row, dtype=np.float64)


def _exact_mistake(problem: Separation, params: Params, x: Floats, label: int) -> bool:
    """Whether a sample is a mistake, by the signs of exact sums."""
    if problem.targets == 1:
        sign = exact_sign([(params.coef[0], x)], [float(params.intercept[0])])
        sign = sign if label == 1 else -sign
        return not (sign > 0 or (problem.positive and sign == 0 and label == 1))
    for other in range(problem.classes):
        if other == label:
            continue
        pairs = [(params.coef[label], x), (params.coef[other], -x)]
        sign = exact_sign(pairs, [float(params.intercept[label]), -float(params.intercept[other])])
        if not (sign > 0 or (problem.positive and sign == 0 and label > other)):
            return True
    return False


def exact_sign(pairs: list[tuple[Floats, Floats]], more: list[float]) -> int:
    """The sign of a sum of inner products and numbers in exact arithmetic, barring underflow of a product's tail."""
    terms = list(more)
    for a, b in pairs:
        high, low = two_product(a, b)
        terms += [*high.tolist(), *low.tolist()]
    total = math.fsum(terms)
    return (total > 0.0) - (total < 0.0)


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a b as a sum of two numbers, exactly (Dekker 1971)."""
    high = a * b
    a_high, b_high = SPLITTER * a, SPLITTER * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return high, a_low * b_low - (((high - a_high * b_high) - a_low * b_high) - a_high * b_low)


def cycle_proves(problem: Separation, rows: Rows, counts: Integers) -> bool:
    """Whether sum_i counts_i y_i (x_i, 1) is exactly zero, which proves that no weights separate these samples
    strictly.

    Of two classes; `counts` (n,) are whole numbers, not all zero, at most 2^26.
    """
    if problem.targets != 1 or not np.any(counts > 0) or np.any(counts < 0) or counts.max() >= 1 << 26:
        return False
    chosen = np.flatnonzero(counts)
    if len(chosen) * rows.shape[1] > 1 << 24:
        return False
    block = rows.whole()
    X = block.X[chosen]
    X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    times_y = counts[chosen].astype(np.float64) * np.where(block.y[chosen, 0] == 1.0, 1.0, -1.0)
    columns = [*X.T, np.ones(len(chosen))] if problem.intercept else list(X.T)
    return all(exact_sign([(np.ascontiguousarray(column), times_y)], []) == 0 for column in columns)
