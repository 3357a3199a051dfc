"""Kernel canonical correlations of several views by the eigenvectors of their centred kernel matrices.

Maximise sum_{i != j} a_i' K_i K_j a_j with sum_i a_i' (K_i^2 + eta_i I) a_i fixed. With K_i = U_i S_i U_i' and f_i =
S_i / (S_i^2 + eta_i)^(1/2), v_i = (S_i^2 + eta_i)^(1/2) U_i' a_i are the parts of an eigenvector of

    W = G'G - diag(f_1^2, f_2^2, ...),    G = [U_1 f_1, U_2 f_2, ...],

since U_i'U_i = I. One decomposition of each view serves every eta.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import eigh, product
from tenfold.solvers import block_lanczos
from tenfold.solvers.loop import Status, run

MAX_DENSE = 600  # dimensions of W up to which it is formed
OVERSAMPLING, STEPS, TOL = 8, 500, 1e-10


@dataclass(frozen=True)
class View:
    """Eigenvalues (r,) of a centred kernel matrix that are not zero, and its eigenvectors (n, r)."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, K: Floats) -> "View":
        values, vectors = eigh(K)
        kept = values > len(K) * EPS * max(float(values[-1]), 0.0)
        return cls(values[kept], np.ascontiguousarray(vectors[:, kept]))


@dataclass(frozen=True)
class Directions:
    """Dual coefficients (n, k) of each view, the values (k,) of the eigenproblem, and how the search ended."""

    coefs: list[Floats]
    values: Floats
    status: Status


def solve(views: Sequence[View], ridge: Sequence[float], count: int, random: Any) -> Directions:
    """The `count` leading directions."""
    shrunk = [np.sqrt(view.values**2 + (eta if eta > 0.0 else 0.0)) for view, eta in zip(views, ridge, strict=True)]
    factors = [view.values / size for view, size in zip(views, shrunk, strict=True)]
    G = np.hstack([view.vectors * f for view, f in zip(views, factors, strict=True)])
    own = np.concatenate([*factors]) ** 2
    size = len(own)
    if size < count:
        raise ValueError(f"The views vary along {size} directions only, {count} components were asked for.")
    status = Status.SOLVED
    if size <= MAX_DENSE or 4 * count > size:
        W = product(G.T, G)
        W[np.diag_indices(size)] -= own
        values, vectors = eigh(W, size - count)
        values, v = values[::-1][:count], vectors.T[::-1][:count]
    else:
        steps = block_lanczos.steps(
            lambda V: product(product(V, G.T), G) - V * own, size, count, count + OVERSAMPLING, random, TOL
        )
        result = run(steps, STEPS)
        space: block_lanczos.Space = result.params
        v, values, status = space.vectors(0, count), np.array(space.values[:count]), result.status
    ends = np.cumsum([0, *(len(f) for f in factors)])
    root = np.sqrt(len(views))
    coefs = [
        root * product(view.vectors / lengths, np.ascontiguousarray(v[:, a:b].T))
        for view, lengths, a, b in zip(views, shrunk, ends[:-1], ends[1:], strict=True)
    ]
    return Directions(coefs, values, status)
