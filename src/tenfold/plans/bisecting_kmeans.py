"""Bisecting k-means: the worst cluster is split in two by k-means until there are k.

Every split is k-means with two centres on the samples of one cluster. The cluster of a sample is the leaf that it
reaches from the root by going to the nearer of two centres at each node, and so the judge assigns it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import TINY, Array, Floats, Integers, wide
from tenfold.data import MemoryRows
from tenfold.judge.certificate import Certificate
from tenfold.judge.kmeans import lloyd_step, split_step
from tenfold.pairwise.centres import find_nearest
from tenfold.plans import kmeans as plan
from tenfold.solvers.loop import Callback, Status

Tree = list[tuple[int, int]]
"""The two children of every node, -1 for leaves; node 0 is the root."""


@dataclass(frozen=True)
class Bisection:
    """The tree, the centre (nodes, p) of every node, the leaves in the order of their clusters, the number of each
    sample's leaf in that order, and the energy.
    """

    tree: Tree
    centres: Floats
    leaves: tuple[int, ...]
    labels: Integers
    energy: float


@dataclass(frozen=True)
class FittedBisection:
    """The tree, its leaves in the order of their clusters, the centre (nodes, p) of every node rounded to the dtype of
    the model, in float64; the number (n,) of each sample's cluster; the energy, and the certificate.
    """

    tree: Tree
    leaves: tuple[int, ...]
    nodes: Floats
    labels: Integers
    energy: float
    certificate: Certificate


def fit(rows: MemoryRows, seeds: plan.Seeds, k: int, *, tol: float, dtype: Any, **settings: Any) -> FittedBisection:
    """The bisection of the samples of positive weight, with the `settings` of `bisect`; the labels of all samples."""
    result = bisect(plan.sample_for(rows, k), seeds, k, tol=tol, **settings)
    nodes = wide(result.centres.astype(dtype))
    centres = nodes[list(result.leaves)]
    known = len(result.labels) == rows.X.shape[0] and np.array_equal(nodes, result.centres)
    labels, energy = result.labels, result.energy
    if not known:
        labels = descend(result.tree, nodes, result.leaves, rows.X)
        squares = plan.squares_from(rows.X, centres, labels)
        energy = float(np.sum(squares if rows.weight is None else squares * rows.weight))
    certificate = split_step(
        rows,
        result.tree,
        nodes,
        centres=centres,
        labels=labels,
        inertia=energy,
        tol=plan.max_decrease(tol),
        dtype=dtype,
    )
    return FittedBisection(result.tree, result.leaves, nodes, labels, energy, certificate)


def bisect(
    rows: MemoryRows,
    seeds: plan.Seeds,
    k: int,
    *,
    starts: int,
    max_iter: int,
    tol: float,
    largest: bool,
    random: Any,
    callback: Callable[[Floats, float], Callback | None] = lambda start, shift: None,
    log: Callable[[Floats], None] = lambda centres: None,
) -> Bisection:
    """Split k - 1 times the cluster with the largest energy, or with the most samples (`largest`). Every run has a
    `callback`, and the centres of every split are logged.
    """
    whole = plan.scale_of(rows)
    members: list[Any] = [np.arange(rows.X.shape[0])]
    centres, scores, tree, scales = [whole.place], [np.inf], [(-1, -1)], [whole]
    for _ in range(k - 1):
        node = max((i for i, pair in enumerate(tree) if pair[0] < 0), key=lambda i: scores[i])
        part = _part(rows, members[node])
        options: dict[str, Any] = {"starts": starts, "max_iter": max_iter, "tol": tol, "random": random}
        result = plan.of_rows(part, seeds, 2, callback=callback, scale=scales[node], **options)
        result = plan.go_on(part, result, max_iter=max_iter, tol=tol, is_converged=partial(_is_converged, part, tol))
        if result.status is Status.INTERRUPTED:  # a tree of some of the splits is of no use
            raise KeyboardInterrupt
        log(result.centres)
        number, square = find_nearest(part.X, np.ascontiguousarray(result.centres))
        tree[node] = (len(tree), len(tree) + 1)
        for half in (0, 1):
            inside = np.flatnonzero(number == half)
            own = square[inside] if part.weight is None else square[inside] * part.weight[inside]
            total = float(len(inside) if part.weight is None else np.sum(part.weight[inside]))
            energy = float(np.sum(own))
            tree.append((-1, -1))
            centres.append(result.centres[half])
            members.append(members[node][inside])
            scores.append(float(len(inside)) if largest else energy)
            # the centre is the mean of these but for the last step
            scales.append(plan.Scale(result.centres[half], energy, energy / max(total * part.X.shape[1], TINY)))
    leaves = _leaves(tree, 0)
    labels = np.zeros(rows.X.shape[0], dtype=np.int32)
    for number_of_leaf, leaf in enumerate(leaves):
        labels[members[leaf]] = number_of_leaf
    return Bisection(tree, np.array(centres), leaves, labels, sum(scales[leaf].scatter for leaf in leaves))


def _is_converged(rows: MemoryRows, tol: float, centres: Floats) -> bool:
    """Whether the judge accepts two centres for these samples."""
    return lloyd_step(rows, np.ascontiguousarray(centres), tol=plan.max_decrease(tol), bound=False).ok


def _part(rows: MemoryRows, index: Any) -> MemoryRows:
    weight = None if rows.weight is None else rows.weight[index]
    return MemoryRows(rows.X[index], rows.y[index], weight)


def _leaves(tree: Tree, node: int) -> tuple[int, ...]:
    left, right = tree[node]
    return (node,) if left < 0 else _leaves(tree, left) + _leaves(tree, right)


def descend(tree: Tree, centres: Floats, leaves: tuple[int, ...], X: Array) -> Integers:
    """The number of each sample's leaf."""
    labels = np.zeros(X.shape[0], dtype=np.int32)
    place = {leaf: number for number, leaf in enumerate(leaves)}
    waiting: list[tuple[int, Any]] = [(0, np.arange(X.shape[0]))]
    while waiting:
        node, index = waiting.pop()
        if tree[node][0] < 0:
            labels[index] = place[node]
            continue
        number, _ = find_nearest(X[index], np.ascontiguousarray(centres[list(tree[node])]))
        waiting += [(child, index[number == half]) for half, child in enumerate(tree[node])]
    return labels
