"""Kernel k-means: starts, Lloyd's algorithm from each of them, the best run, and its certificate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.judge import kernel_kmeans as judge
from tenfold.judge.certificate import RULES, Certificate
from tenfold.solvers import kernel_lloyd
from tenfold.solvers.loop import Record, Solution, Status, run

CHEAP_BOUND_SIZE = 256  # samples up to which the bound is part of the fit; certify computes it for more


@dataclass(frozen=True)
class KernelClusters:
    """Labels (n,), dual means (n, k), their squared norms (k,), the energy, the trace, and the certificate."""

    labels: Integers
    dual: Floats
    norms: Floats
    energy: float
    trace: tuple[Record, ...]
    certificate: Certificate


def fit(
    K: Floats, weight: Floats, k: int, start: Any, *, starts: int, max_iter: int, tol: float, random: Any
) -> KernelClusters:
    """The best of several runs from "k-means++", from labels at "random", or one from given labels."""
    best: Solution | None = None
    for _ in range(starts):
        if isinstance(start, str):
            draw = kernel_lloyd.at_random(weight, k, random) if start == "random" else None
            labels = kernel_lloyd.plus_plus(K, weight, k, random) if draw is None else draw
        else:
            labels = np.asarray(start, dtype=np.int64)
        result = run(kernel_lloyd.steps(K, weight, labels, k, tol), max_iter)
        if best is None or result.trace[-1].objective < best.trace[-1].objective * (1.0 - 1e-12):
            best = result
        if result.status in (Status.STOPPED, Status.INTERRUPTED):
            break
    assert best is not None
    labels = np.asarray(best.params)
    dual = kernel_lloyd.dual_means(weight, labels, k)
    squares = kernel_lloyd.distances(K, np.zeros(len(K)), weight, labels, k)
    rows, filled = np.arange(len(K)), dual.any(axis=0)
    # of zero diagonals the weighted mean of the distances from a mean is minus its squared norm
    norms = np.where(filled, -np.einsum("ik,ik->k", dual, np.where(filled, squares, 0.0)), 0.0)
    own = np.diag(K) + squares[rows, labels]
    energy = float(np.sum(np.where(weight > 0.0, weight * own, 0.0)))
    stored = judge.Stored(labels, dual, norms, energy)
    certificate = judge.lloyd_step(
        K, weight, stored, tol=max_decrease(tol), bound=len(K) <= CHEAP_BOUND_SIZE, status=best.status.value
    )
    return KernelClusters(labels, dual, norms, energy, best.trace, certificate)


def max_decrease(tol: float) -> float:
    """The relative decrease of the energy in a step that the judge allows."""
    return max(RULES["fixed point"].tol, tol)
