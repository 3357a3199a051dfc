"""Dictionaries by batches: exact codes of a batch, running means of W'W and W'X, and a projected coordinate step of
every atom (Mairal, Bach, Ponce and Sapiro 2009). Older batches count less: with theta samples seen, and m of them new,
means are multiplied by (theta + 1 - m) / (theta + 1), as in scikit-learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.objectives.dictionary import Products
from tenfold.plans.factorization_start import leading_vectors
from tenfold.problems import SparseDictionary
from tenfold.solvers.dictionary_alternation import solve_codes

USED = 1e-6  # mean square of the codes of an atom above which it is moved; others are replaced by a sample
NOISE = 0.01  # of the standard deviation of such a sample
FIRST_STEPS = 100  # before the smoothed cost begins, or a pass if that is shorter


@dataclass(frozen=True)
class Running:
    """The atoms (k, p), and running means of W'W (k, k) and W'X (k, p)."""

    D: Floats
    codes: Floats
    samples: Floats


@dataclass(frozen=True)
class Stopping:
    """When batches end: the move of the atoms by their number (zero: never), and batches without a new minimum of the
    smoothed cost in a row (None: any number).
    """

    move: float
    patience: int | None


@dataclass(frozen=True)
class BatchAtoms:
    """The state after the last batch, and how many there were."""

    running: Running
    steps: int


def begin(X: Floats, k: int, given: Any, random: Any) -> Running:
    """The given atoms, or leading singular vectors times their values; zeros for more atoms than there are."""
    if given is None:
        _, s, V = leading_vectors(X, k, random)
        given = s[:, None] * V
    D = np.zeros((k, X.shape[1]))
    D[: len(given)] = np.asarray(given, dtype=np.float64)[:k]
    return Running(D, np.zeros((k, k)), np.zeros_like(D))


def batch_step(
    X: Floats, running: Running, problem: SparseDictionary, number: int, random: Any
) -> tuple[Running, float]:
    """The state after one more batch, the `number`-th of this size, and the mean cost of its samples."""
    m, D = len(X), running.D
    W = solve_codes(X, D, problem)
    products = Products.of(X, W)
    cost = (products.loss(D) + problem.alpha * float(np.sum(np.abs(W)))) / m
    theta = (number + 1) * m if number < m - 1 else m * m + number + 1 - m
    keep = (theta + 1 - m) / (theta + 1)
    codes, samples = keep * running.codes + products.codes / m, keep * running.samples + products.samples / m
    used = np.diag(codes) > USED
    D = _core.update_atoms(np.where(used[:, None], codes, 0.0), samples, D, problem.positive_dict, 1)
    for k in np.flatnonzero(~used):
        sample = X[random.choice(m)]
        atom = sample + random.normal(0.0, NOISE * (float(np.std(sample)) or 1.0), size=len(sample))
        atom = np.maximum(atom, 0.0) if problem.positive_dict else atom
        D[k] = atom / max(float(np.linalg.norm(atom)), 1.0)
    return Running(D, codes, samples), cost


def fit_batches(
    X: Floats,
    problem: SparseDictionary,
    start: Running,
    random: Any,
    *,
    batch: int,
    passes: int,
    stopping: Stopping,
    log: Callable[[str], None] | None,
    callback: Callable[[dict[str, Any]], Any] | None,
) -> BatchAtoms:
    """Batches in the order of the samples, over and over."""
    n = len(X)
    parts = [slice(first, min(n, first + batch)) for first in range(0, n, batch)]
    running, monitor = start, _Monitor(stopping, n, log)
    for number in range(passes * len(parts)):
        before, part = running.D, X[parts[number % len(parts)]]
        running, cost = batch_step(part, running, problem, number, random)
        if monitor.ends(cost, running.D, before, number, len(part)):
            return BatchAtoms(running, number + 1)
        if callback is not None:
            callback({"i": number, "dictionary": running.D, "batch_cost": cost})
    return BatchAtoms(running, passes * len(parts))


class _Monitor:
    """Watches the moves of the atoms and the smoothed cost of the batches."""

    def __init__(self, stopping: Stopping, samples: int, log: Callable[[str], None] | None) -> None:
        self.stopping, self.samples, self.log = stopping, samples, log
        self.smoothed, self.least, self.idle = np.nan, np.inf, 0

    def ends(self, cost: float, D: Floats, before: Floats, number: int, batch: int) -> bool:
        if self.log is not None:
            self.log(f"Batch {number + 1}, mean cost {cost:.9g}")
        if number + 1 <= min(FIRST_STEPS, self.samples / batch):
            return False
        weight = min(1.0, batch / (self.samples + 1.0))
        self.smoothed = cost if np.isnan(self.smoothed) else (1.0 - weight) * self.smoothed + weight * cost
        if self.stopping.move > 0.0 and float(np.linalg.norm(D - before)) / len(D) <= self.stopping.move:
            return True
        self.idle = 0 if self.smoothed < self.least else self.idle + 1
        self.least = min(self.least, self.smoothed)
        return self.stopping.patience is not None and self.idle >= self.stopping.patience


def leave_unjudged() -> Certificate:
    """The certificate of atoms after batches."""
    note = (
        "Atoms after updates by batches are not stationary, and judging them costs more than the fit: call "
        "tenfold.certify(model, X)."
    )
    return Certificate(
        "stationarity", np.inf, 1.0, RULES["stationarity"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note
    )
