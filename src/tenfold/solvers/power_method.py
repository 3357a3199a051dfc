"""The power method with deflation: leading eigenvectors of a positive semidefinite matrix, given by its products.

A unit vector v becomes S v, orthogonal to the vectors before it, and is scaled to unit length again; its part along the
wanted eigenvector grows by the ratio of the two largest eigenvalues that are left. Each product is a step; a vector is
taken when its residual |S v - l v| is at most tol times the largest eigenvalue.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.solvers.loop import Step


class Pairs(NamedTuple):
    """Eigenvalues (k,) and orthonormal vectors (k, size)."""

    values: Floats
    vectors: Floats


def steps(
    products: Callable[[Floats], Floats], size: int, count: int, random: np.random.RandomState, tol: float
) -> Iterator[Step]:
    """Products, one a step, until `count` vectors are known."""
    known, values, top = np.zeros((0, size)), np.zeros(0), 0.0
    for number in range(count):
        v = _remove(random.standard_normal(size), known)
        while True:
            image = products(v[None, :])[0]
            value = float(v @ image)
            top = max(top, value)
            rest = _without(image, known)
            residual = float(np.linalg.norm(rest - value * v)) / (top or 1.0)
            ready = residual <= tol or float(np.linalg.norm(rest)) <= EPS * size * top
            pairs = Pairs(np.append(values, value), np.vstack([known, v]))
            last = ready and number == count - 1
            yield Step(pairs, -float(np.sum(pairs.values)), 1.0 if last else max(residual / tol, 2.0))
            if ready:
                break
            v = _remove(rest, known)
        known, values = pairs.vectors, pairs.values


def _without(v: Floats, known: Floats) -> Floats:
    """The part of v that is orthogonal to the vectors known."""
    v = v - (v @ known.T) @ known
    return v - (v @ known.T) @ known


def _remove(v: Floats, known: Floats) -> Floats:
    v = _without(v, known)
    return v / (float(np.linalg.norm(v)) or 1.0)
