"""The sums of the judge over the splits of a bisection: one compiled pass over the samples in memory.

The loop (core/include/tenfold/bisection_sums.hpp, with the formulas) is not that of a fit: squared distances from the
two children of every node above a sample are summed in float64, without bounds or products.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers, contiguous, entries, is_sparse, unit_roundoff
from tenfold.data import MemoryRows
from tenfold.machine import threads

Tree = Sequence[tuple[int, int]]
"""The children of every node, below zero for leaves; the root is the first, and children come after their parent."""


class BisectionSums(NamedTuple):
    """Of N nodes: weights (N,) and sums (N, p) about the middle of the two children, of the samples that are nearer to
    a child than to its sibling among those below their parent; energies (N,) of the splits; the energy of the leaves;
    and how many samples are further from the child that they went to than from the other, beyond rounding.
    """

    weight: Floats
    sums: Floats
    energy: Floats
    leaves: float
    astray: int


def leaves_of(tree: Tree) -> list[int]:
    """The leaves from left to right, which is the order of their clusters."""
    result, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if tree[node][0] < 0:
            result.append(node)
        else:
            waiting += [tree[node][1], tree[node][0]]
    return result


def split_nodes(tree: Tree) -> tuple[Integers, Integers]:
    """The inner nodes (m,) from the right, and their children (m, 2)."""
    inner, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if tree[node][0] >= 0:
            inner.append(node)
            waiting += list(tree[node])
    pairs = np.array([tree[node] for node in inner], dtype=np.int64).reshape(-1, 2)
    return np.array(inner, dtype=np.int64), pairs


def bisection_sums(rows: MemoryRows, tree: Tree, nodes: Floats, labels: Integers, unit: float) -> BisectionSums:
    """One pass; `labels` (n,) number the leaves, and rounding is that of a precision of `unit`."""
    X, children = contiguous(rows.X), np.array(tree, dtype=np.int64).reshape(-1, 2)
    leaf = np.array(leaves_of(tree), dtype=np.int64)[labels]
    slack = max(1.0, unit / unit_roundoff(np.float64))
    places = np.ascontiguousarray(nodes, dtype=np.float64)
    sides = (np.ascontiguousarray(children[:, 0]), np.ascontiguousarray(children[:, 1]))
    rest = (rows.weight, places, *sides, leaf, slack, threads(entries(X) * max(1, len(tree).bit_length())))
    if is_sparse(X):
        return BisectionSums(*_core.bisection_sums_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    return BisectionSums(*_core.bisection_sums(X, *rest))
