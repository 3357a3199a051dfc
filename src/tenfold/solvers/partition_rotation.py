"""Labels from an embedding of a graph, without k-means.

Let the rows of V (n, k) be an embedding, and Z (n, k) the indicators of labels. Yu and Shi (2003) look for the rotation
R and the labels that bring V R and Z nearest to each other, V scaled to columns and then rows of one length:

    labels = argmax V R,      R = W U'  with  Z'V = U s W',

each of which does not decrease sum s. Damle, Minden and Ying (2019) take the k rows that a QR factorisation with pivots
picks first, rotate the embedding onto them, and label each row by its largest entry.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import Floats, Integers
from tenfold.machine import one_blas_thread
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, adjoint, forward


def rotate(rows: Floats, random: Any) -> Iterator[Step]:
    """Steps of the alternation from a rotation that begins with a random row; the parameters are labels (n,). It has
    converged when labels stay.
    """
    V = _unit(rows)
    n, k = V.shape
    coef, labels = _start(V, random), np.zeros(0, dtype=np.int64)
    while True:
        before, labels = labels, np.argmax(_multiply(V, coef), axis=1)
        member = np.zeros((n, k))
        member[np.arange(n), labels] = 1.0
        with one_blas_thread:
            U, s, W = la.svd(adjoint(V, member), check_finite=False)
            coef = np.ascontiguousarray(U @ W)
        yield Step(labels, -float(np.sum(s)), 0.0 if np.array_equal(before, labels) else np.inf)


def _multiply(V: Floats, coef: Floats) -> Floats:
    return np.asarray(forward(V, Params(coef, np.zeros(len(coef)))))


def _unit(rows: Floats) -> Floats:
    """Columns of the length of n ones, the first entry of each not positive; then rows of length one."""
    n = len(rows)
    lengths = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    sign = np.where(rows[0] > 0.0, -1.0, 1.0)
    V = rows * (sign * np.sqrt(n) / np.where(lengths > 0.0, lengths, 1.0))
    lengths = np.sqrt(np.einsum("ij,ij->i", V, V))
    return np.ascontiguousarray(V / np.where(lengths > 0.0, lengths, 1.0)[:, None])


def _start(V: Floats, random: Any) -> Floats:
    """A random row, and rows that are each as orthogonal as there are to those before, as rows (k, k)."""
    n, k = V.shape
    chosen = np.zeros((k, k))
    chosen[0], along = V[random.randint(n)], np.zeros(n)
    for j in range(1, k):
        along += np.abs(_multiply(V, chosen[j - 1 : j])[:, 0])
        chosen[j] = V[int(np.argmin(along))]
    return chosen


def pivot(rows: Floats) -> Integers:
    """Labels by the pivots of a QR factorisation."""
    with one_blas_thread:
        pivots = la.qr(rows.T, mode="r", pivoting=True, check_finite=False)[1][: rows.shape[1]]
        U, _, W = la.svd(rows[pivots].T, check_finite=False)
        coef = np.ascontiguousarray((U @ W).T)
    return np.argmax(np.abs(_multiply(np.ascontiguousarray(rows), coef)), axis=1)
