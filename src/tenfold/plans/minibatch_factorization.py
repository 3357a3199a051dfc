"""Non-negative factors by batches: multiplicative updates with sums over the batches before, which are forgotten
(Lefevre, Bach and Fevotte 2011).

For a batch X_b the codes W_b take an update, or as many as it takes; then

    A <- r A + H^(1/g) * W_b'(X_b Y^(b-2)),    B <- r B + W_b' Y^(b-1) + l1 + l2 H,    H <- (A / B)^g,

with r the factor by which a pass forgets, to the power of the share of the batch in the samples.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tenfold.arrays import EPS, Array, Floats
from tenfold.data import NotFinite
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.objectives.factorization import Divergence, Factors, gram, inner, sum_of_squares
from tenfold.plans.factorization import start_codes
from tenfold.problems import Factorization
from tenfold.solvers.multiplicative import exponent, update


@dataclass(frozen=True)
class Running:
    """The components (k, p), and the sums A and B of which they are made."""

    H: Floats
    above: Floats
    below: Floats

    @classmethod
    def begin(cls, H: Floats) -> "Running":
        return cls(H, H.copy(), np.ones_like(H))


@dataclass(frozen=True)
class Stopping:
    """When batches end: the relative move of the components (zero: never), and batches without a new minimum of the
    smoothed cost in a row (None: any number).
    """

    move: float
    patience: int | None


@dataclass(frozen=True)
class BatchFactors:
    """The state after the last batch, and how many there were."""

    running: Running
    steps: int
    converged: bool


def solve_batch(data: Divergence, H: Floats, problem: Factorization, tol: float, max_iter: int) -> Floats:
    """Codes of a batch from the constant start: updates until they move by at most `tol` of their norm."""
    W = start_codes(data.X, len(H))
    for _ in range(max_iter):
        moved = update(W, data.slopes_W(W, H), problem.l1_W, problem.l2_W, exponent(problem.beta))
        small = float(np.linalg.norm(moved - W)) <= tol * float(np.linalg.norm(moved))
        W = moved
        if tol > 0.0 and small:
            break
    return W


def batch_step(
    data: Divergence, running: Running, problem: Factorization, keep: float, W: Floats | None, fresh: tuple[float, int]
) -> tuple[Running, Floats, float]:
    """The state after a batch, its codes, and its mean cost before; codes are solved for with tolerance and steps
    `fresh` where W is None.
    """
    H, power = running.H, exponent(problem.beta)
    if W is None:
        W = solve_batch(data, H, problem, *fresh)
        products = data.slopes_W(W, H).negative if problem.beta == 2.0 else H
    else:
        slopes = data.slopes_W(W, H)
        W, products = update(W, slopes, problem.l1_W, problem.l2_W, power), slopes.negative
    cost = _cost(data, W, H, products, problem) / data.X.shape[0]
    slopes = data.slopes_H(W, H)
    below = keep * running.below + slopes.positive + problem.l1_H + problem.l2_H * H
    above = keep * running.above + (H if power == 1.0 else H ** (1.0 / power)) * slopes.negative
    ratio = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), 0.0)
    moved = ratio if power == 1.0 else ratio**power
    if problem.beta <= 1.0:
        moved = np.where(moved < EPS, 0.0, moved)
    if not np.isfinite(moved).all():
        raise NotFinite
    return Running(np.ascontiguousarray(moved), above, below), W, cost


def _cost(data: Divergence, W: Floats, H: Floats, products: Floats, problem: Factorization) -> float:
    """The divergence and the penalties, with scikit-learn's weight of the squares."""
    if problem.beta == 2.0:
        value = 0.5 * sum_of_squares(data.X) - inner(W, products) + 0.5 * inner(gram(W), gram(H.T))
    else:
        value = data.value(W, H)
    value += problem.l1_W * float(np.sum(W)) + problem.l1_H * float(np.sum(H))
    return value + problem.l2_W * float(np.sum(W**2)) + problem.l2_H * float(np.sum(H**2))


def fit_batches(
    X: Array,
    problem_of: Callable[[int], Factorization],
    start: Factors,
    *,
    batch: int,
    steps: int,
    forget: float,
    fresh: tuple[float, int] | None,
    stopping: Stopping,
    log: Callable[[str], None] | None,
) -> BatchFactors:
    """Batches in the order of the samples, over and over; `problem_of` a number of samples, `fresh` the tolerance and
    the steps of codes that are solved anew for each batch, or None.
    """
    n = X.shape[0]
    whole = Divergence.of(X, problem_of(n).beta)
    parts = [slice(begin, min(n, begin + batch)) for begin in range(0, n, batch)]
    data, codes = [replace(whole, X=X[part]) for part in parts], [start.W[part].copy() for part in parts]
    running, monitor = Running.begin(start.H), _Monitor(stopping, n, log)
    for number in range(steps):
        b = number % len(parts)
        problem, before = problem_of(data[b].X.shape[0]), running.H
        W = codes[b] if fresh is None else None
        keep = forget ** (batch / n)
        running, codes[b], cost = batch_step(data[b], running, problem, keep, W, fresh or (0.0, 1))
        if number > 0 and monitor.ends(cost, running.H, before, data[b].X.shape[0]):
            return BatchFactors(running, number + 1, True)
    return BatchFactors(running, steps, False)


class _Monitor:
    """Watches the moves of the components and the smoothed cost of the batches."""

    def __init__(self, stopping: Stopping, samples: int, log: Callable[[str], None] | None) -> None:
        self.stopping, self.samples, self.log = stopping, samples, log
        self.smoothed, self.least, self.idle = np.nan, np.inf, 0

    def ends(self, cost: float, H: Floats, before: Floats, batch: int) -> bool:
        weight = min(1.0, batch / (self.samples + 1.0))
        self.smoothed = cost if np.isnan(self.smoothed) else (1.0 - weight) * self.smoothed + weight * cost
        if self.log is not None:
            self.log(f"mean batch cost: {cost}, ewa cost: {self.smoothed}")
        move, size = float(np.linalg.norm(H - before)), float(np.linalg.norm(H))
        if self.stopping.move > 0.0 and move <= self.stopping.move * size:
            return True
        self.idle = 0 if self.smoothed < self.least else self.idle + 1
        self.least = min(self.least, self.smoothed)
        return self.stopping.patience is not None and self.idle >= self.stopping.patience


def leave_unjudged() -> Certificate:
    """The certificate of components after batches."""
    note = (
        "Components after updates by batches are not stationary, and judging them costs more than the fit: call "
        "tenfold.certify(model, X)."
    )
    return Certificate(
        "stationarity", np.inf, 1.0, RULES["stationarity"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note
    )
