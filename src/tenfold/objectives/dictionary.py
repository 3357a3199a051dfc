"""Sparse codes W (n, k) of samples X (n, p) with a dictionary D (k, p) of atoms in the unit ball:

    ||X - W D||^2 / 2 + alpha |W|_1,    ||d_k|| <= 1,

on the products C = X D' (n, k) and A = D D' for W, and A' = W'W and B = W'X (k, p) for D. X - W D is never formed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives.factorization import gram, inner, sum_of_squares
from tenfold.problems import SparseDictionary
from tenfold.stats.derivatives import adjoint


class Coded(NamedTuple):
    """Codes W (n, k) and atoms D (k, p)."""

    W: Floats
    D: Floats


@dataclass(frozen=True)
class Products:
    """What the atoms see of samples and codes: W'W (k, k), W'X (k, p), and the sum of the squares of X."""

    codes: Floats
    samples: Floats
    square: float

    @classmethod
    def of(cls, X: Floats, W: Floats) -> "Products":
        return cls(gram(W), np.ascontiguousarray(adjoint(X, W)), sum_of_squares(X))

    def loss(self, D: Floats) -> float:
        """||X - W D||^2 / 2, without cancellation below rounding of its terms."""
        return max(0.0, 0.5 * self.square - inner(self.samples, D) + 0.5 * inner(self.codes, gram(D.T.copy())))


def project(D: Floats, positive: bool) -> Floats:
    """The closest atoms in the unit ball, without negative entries if asked."""
    D = np.maximum(D, 0.0) if positive else D
    return np.asarray(D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1.0))


def find_violation(problem: SparseDictionary, D: Floats, codes: Floats, samples: Floats) -> float:
    """The norm of the projected gradient of the atoms, (D - P(D - G / L)) L with G = W'(W D - X) and L = diag(W'W),
    relative to that of W'X.
    """
    L = np.diag(codes)[:, None]
    used = L > 0.0
    gradient = codes @ D - samples
    moved = project(D - gradient / np.where(used, L, 1.0), problem.positive_dict)
    value, size = float(np.linalg.norm(np.where(used, (D - moved) * L, 0.0))), float(np.linalg.norm(samples))
    return 0.0 if value == 0.0 else value / size if size > 0.0 else np.inf
