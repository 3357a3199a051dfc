"""The E-step of mixtures of products of discrete distributions.

With log pi_k + x.a_k + b_k the joint log probability of component k and a sample: a multinomial component of
probabilities q_k has a = log q, b = 0, one of independent Bernoulli features a = log q - log(1 - q), b = sum log(1 -
q).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, contiguous, is_sparse
from tenfold.data import Block, weights_of
from tenfold.machine import threads
from tenfold.stats.class_totals import indicators
from tenfold.stats.derivatives import Params, adjoint, forward

Kind = Literal["multinomial", "bernoulli"]

LEAST = 1e-300  # a smaller probability counts as this, so that impossible samples have finite scores


@dataclass(frozen=True)
class Discrete:
    """Weights (k,) and probabilities (k, p) of the components."""

    kind: Kind
    weights: Floats
    probabilities: Floats

    @cached_property
    def logs(self) -> Floats:
        """log q (k, p)."""
        return np.log(np.maximum(self.probabilities, LEAST))

    @cached_property
    def off(self) -> Floats:
        """log (1 - q) (k, p), of Bernoulli features."""
        return np.log(np.maximum(1.0 - self.probabilities, LEAST))

    @property
    def log_weights(self) -> Floats:
        """log pi (k,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    @cached_property
    def scores(self) -> Params:
        """a (k, p) and b (k,)."""
        if self.kind == "multinomial":
            return Params(self.logs, np.zeros(len(self.weights)))
        return Params(self.logs - self.off, np.sum(self.off, axis=1))


@dataclass(frozen=True)
class DiscreteSums:
    """At the parameters `at`, with r_ik the responsibility of component k for sample i times its weight: total weight,
    sum of weight times log probability, counts sum r (k,) and sums of r x (k, p).
    """

    at: Discrete
    weight: float
    value: float
    count: Floats
    sums: Floats

    def merge(self, other: "DiscreteSums") -> "DiscreteSums":
        return DiscreteSums(
            self.at,
            self.weight + other.weight,
            self.value + other.value,
            self.count + other.count,
            self.sums + other.sums,
        )


def values_of(X: Array, threshold: float | None) -> Array:
    """The samples, or indicators of their values above a threshold."""
    return X if threshold is None else indicators(X, threshold)


def posterior(X: Array, at: Discrete, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Log probabilities (n,) of samples, and responsibilities times weights (k, n); none of these without weights."""
    a, b = at.scores
    X = X if is_sparse(X) else contiguous(X)
    z = forward(X, Params(-2.0 * a, -2.0 * b))
    own = np.ones(len(z)) if weight is None else weight
    return _core.logsumexp(z, at.log_weights, own, weight is not None, threads(8 * z.size))


def discrete_sums(at: Discrete, threshold: float | None, block: Block) -> DiscreteSums:
    """The statistic of a block at these parameters."""
    X, weight = values_of(block.X, threshold), weights_of(block)
    density, r = posterior(X, at, weight)
    value = float(np.sum(np.where(weight > 0.0, weight * density, 0.0)))
    sums = adjoint(X if is_sparse(X) else contiguous(X), np.ascontiguousarray(r.T))
    return DiscreteSums(at, float(np.sum(weight)), value, np.sum(r, axis=1), sums)
