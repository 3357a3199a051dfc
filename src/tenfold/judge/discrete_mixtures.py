"""Certificates of mixtures of multinomials and of Bernoulli features: one exact EM step from the stored parameters.

As of Gaussian mixtures, the distance from a fixed point is the larger of the change of the mean log-likelihood with the
log prior in the step, and of the increase of its expectation. Of Bernoulli features log probabilities are two products,
with the features that are on and those that are off; responsibilities come from scores less the largest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse, unit_roundoff
from tenfold.data import Block, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.problems import DiscretePrior
from tenfold.stats.derivatives import Params, adjoint, forward
from tenfold.stats.discrete_mixtures import Discrete, values_of


@dataclass(frozen=True)
class _Sums:
    """Weight, sum of log probabilities, counts (k,) and sums (k, p) of features."""

    weight: float
    value: float
    count: Floats
    sums: Floats

    def merge(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.weight + other.weight,
            self.value + other.value,
            self.count + other.count,
            self.sums + other.sums,
        )


def _scores(mixture: Discrete, X: Array) -> Floats:
    """Joint log probabilities (n, k) of components and samples."""
    none = np.zeros(len(mixture.weights))
    z = forward(X, Params(mixture.logs, none)) + mixture.log_weights
    if mixture.kind == "bernoulli":
        z = z + np.sum(mixture.off, axis=1) - forward(X, Params(mixture.off, none))
    return np.asarray(z)


def _sums(mixture: Discrete, threshold: float | None, block: Block) -> _Sums:
    X, weight = values_of(block.X, threshold), weights_of(block)
    X = X if is_sparse(X) else contiguous(X)
    z = _scores(mixture, X)
    top = np.max(z, axis=1, keepdims=True)
    parts = np.exp(z - top)
    total = np.sum(parts, axis=1, keepdims=True)
    r = np.where(weight[:, None] > 0.0, weight[:, None] * parts / total, 0.0)
    density = (top + np.log(total))[:, 0]
    value = float(np.sum(np.where(weight > 0.0, weight * density, 0.0)))
    return _Sums(float(np.sum(weight)), value, np.sum(r, axis=0), adjoint(X, np.ascontiguousarray(r)))


def _step(prior: DiscretePrior, mixture: Discrete, sums: _Sums) -> Discrete:
    """The parameters after one exact step."""
    weights = sums.count + (prior.concentration - 1.0)
    top = np.maximum(sums.sums, 0.0) + prior.alpha
    below = np.sum(top, axis=1) if mixture.kind == "multinomial" else sums.count + 2.0 * prior.alpha
    kept = below[:, None] <= 0.0
    q = np.where(kept, mixture.probabilities, top / np.where(kept, 1.0, below[:, None]))
    return Discrete(mixture.kind, weights / np.sum(weights), np.clip(q, 0.0, 1.0))


def _expectation(prior: DiscretePrior, mixture: Discrete, sums: _Sums) -> float:
    """The expected log-likelihood with the log prior."""
    total = float(np.sum(np.where(sums.count > 0.0, sums.count * mixture.log_weights, 0.0)))
    total += float(np.sum(sums.sums * mixture.logs))
    off = None if mixture.kind == "multinomial" else mixture.off
    if off is not None:
        total += float(np.sum((sums.count[:, None] - sums.sums) * off))
    return total + prior.log_prior(mixture.weights, mixture.logs, off)


def em_step(
    rows: Rows,
    prior: DiscretePrior,
    mixture: Discrete,
    threshold: float | None,
    *,
    tol: float | None = None,
    dtype: Any = np.float64,
    bound: float | None = None,
    status: str = "solved",
) -> Certificate:
    """Certificate of the parameters, stored in `dtype`, and of a stored lower bound on the mean log-likelihood."""
    tol = RULES["fixed point"].tol if tol is None else max(tol, 1e-9)
    unit, k = unit_roundoff(dtype), len(mixture.weights)
    wrong = _complain(mixture, unit)
    if wrong:
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=wrong)
    with np.errstate(divide="ignore", invalid="ignore"):
        here = _fold(rows, partial(_sums, mixture, threshold))
        after = _step(prior, mixture, here)
        there = _fold(rows, partial(_sums, after, threshold))
        now, then = (
            (sums.value + _log_prior(prior, at)) / here.weight for sums, at in ((here, mixture), (there, after))
        )
        gain = (_expectation(prior, after, here) - _expectation(prior, mixture, here)) / here.weight
    # a logarithm l that is rounded moves the likelihood by |l| units for each time that its feature is on
    moved = 2.0 * float(np.sum(here.sums * np.abs(mixture.logs))) / here.weight
    floor = 64.0 * unit_roundoff(np.float64) * (1.0 + abs(now) + moved) + unit * (k + moved)
    parts: tuple[float, ...] = (abs(then - now), abs(gain))
    note = ""
    if bound is not None and bound > now + max(tol, abs(then - now)) + floor + 256.0 * unit * (1.0 + abs(now)):
        parts, note = (
            (*parts, np.inf),
            f"The stored lower bound is {bound:.9g}, above the mean log-likelihood {now:.9g}.",
        )
    value = max(*parts, floor)
    value = value if np.isfinite(value) else np.inf
    return Certificate("fixed point", value, 1.0, tol, floor, -now, status=status, parts=parts, note=note)


def _fold(rows: Rows, lift: Callable[[Block], _Sums]) -> _Sums:
    return rows.fold(lift)


def _log_prior(prior: DiscretePrior, at: Discrete) -> float:
    return prior.log_prior(at.weights, at.logs, None if at.kind == "multinomial" else at.off)


def _complain(mixture: Discrete, unit: float) -> str:
    """Why the parameters are no probabilities; "" where they are."""
    w, q = mixture.weights, mixture.probabilities
    size = 64.0 * unit * (1.0 + q.shape[1])
    if not np.all(w >= 0.0) or not abs(float(np.sum(w)) - 1.0) <= size:
        return f"The weights of the components sum to {np.sum(w):.6g}."
    if not (np.all(q >= 0.0) and np.all(q <= 1.0)):
        return "A probability is not between zero and one."
    # of logarithms l that are rounded, probabilities have an error of |l| units
    off = np.sum(q, axis=1) - 1.0
    if mixture.kind == "multinomial" and not np.all(np.abs(off) <= size * (1.0 + np.max(np.abs(mixture.logs)))):
        return f"The probabilities of a component sum to {1.0 + off[np.argmax(np.abs(off))]:.6g}."
    return ""
