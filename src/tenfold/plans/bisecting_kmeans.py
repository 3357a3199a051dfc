"""Clusters by halving: the worst cluster is split in two by k-means until there are enough.

Every split is k-means with two centres on the rows of one cluster. A row is told its cluster by going down the tree:
at each node to the nearer of two centres. The judge goes down the tree, too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers, wide
from tenfold.data import MemoryRows
from tenfold.judge.certificate import Certificate
from tenfold.judge.kmeans import lloyd_step, split_step
from tenfold.plans import kmeans as plan
from tenfold.solvers.loop import Callback, Status
from tenfold.stats.kmeans_assignment import nearest

Tree = list[tuple[int, int]]
"""The two children of every node, -1 for leaves; node 0 is the root."""


@dataclass(frozen=True)
class Halves:
    """The tree, the centre (nodes, p) of every node, the leaves in the order of their clusters, and the number of each
    row's leaf in that order.
    """

    tree: Tree
    centres: Floats
    leaves: tuple[int, ...]
    labels: Integers


@dataclass(frozen=True)
class FittedHalves:
    """The tree, its leaves in the order of their clusters, the centre (nodes, p) of every node as it will be stored, in
    float64; the number (n,) of each row's cluster, and the energy; and what the judge says.
    """

    tree: Tree
    leaves: tuple[int, ...]
    nodes: Floats
    labels: Integers
    energy: float
    certificate: Certificate


def fit(rows: MemoryRows, seeds: plan.Seeds, k: int, *, tol: float, dtype: Any, **settings: Any) -> FittedHalves:
    """Halves of the rows of positive weight, of which `settings` are those of `halve`; and where all rows belong."""
    found = halve(plan.sample_for(rows, k), seeds, k, tol=tol, **settings)
    nodes = wide(found.centres.astype(dtype))
    centres = nodes[list(found.leaves)]
    labels = descend(found.tree, nodes, found.leaves, rows.X)
    squares = plan.squares_from(rows.X, centres, labels)
    energy = float(np.sum(squares if rows.weight is None else squares * rows.weight))
    certificate = split_step(
        rows,
        found.tree,
        nodes,
        centres=centres,
        labels=labels,
        inertia=energy,
        tol=plan.allowed_fall(tol),
        dtype=dtype,
    )
    return FittedHalves(found.tree, found.leaves, nodes, labels, energy, certificate)


def halve(
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
    say: Callable[[Floats], None] = lambda centres: None,
) -> Halves:
    """Split k - 1 times the cluster with the largest energy, or with the most rows (`largest`). Every run has a
    `watch`, and the centres of every split are said.
    """
    whole = plan.scale_of(rows)
    members: list[Any] = [np.arange(rows.X.shape[0])]
    centres, scores, tree = [whole.place], [np.inf], [(-1, -1)]
    for _ in range(k - 1):
        node = max((i for i, pair in enumerate(tree) if pair[0] < 0), key=lambda i: scores[i])
        part = _part(rows, members[node])
        found = plan.of_rows(
            part, seeds, 2, starts=starts, max_iter=max_iter, tol=tol, random=random, callback=callback
        )
        found = plan.go_on(part, found, max_iter=max_iter, tol=tol, content=partial(_content, part, tol))
        if found.status is Status.INTERRUPTED:  # a tree of some of the splits is of no use
            raise KeyboardInterrupt
        say(found.centres)
        number, square = nearest(part.X, np.ascontiguousarray(found.centres))
        tree[node] = (len(tree), len(tree) + 1)
        for half in (0, 1):
            inside = number == half
            weight = 1.0 if part.weight is None else part.weight[inside]
            tree.append((-1, -1))
            centres.append(found.centres[half])
            members.append(members[node][inside])
            scores.append(float(np.sum(inside)) if largest else float(np.sum(square[inside] * weight)))
    leaves = _leaves(tree, 0)
    labels = np.zeros(rows.X.shape[0], dtype=np.int32)
    for number_of_leaf, leaf in enumerate(leaves):
        labels[members[leaf]] = number_of_leaf
    return Halves(tree, np.array(centres), leaves, labels)


def _content(rows: MemoryRows, tol: float, centres: Floats) -> bool:
    """Whether the judge takes two centres for those of these rows."""
    return lloyd_step(rows, np.ascontiguousarray(centres), tol=plan.allowed_fall(tol), bound=False).ok


def _part(rows: MemoryRows, index: Any) -> MemoryRows:
    weight = None if rows.weight is None else rows.weight[index]
    return MemoryRows(rows.X[index], rows.y[index], weight)


def _leaves(tree: Tree, node: int) -> tuple[int, ...]:
    left, right = tree[node]
    return (node,) if left < 0 else _leaves(tree, left) + _leaves(tree, right)


def descend(tree: Tree, centres: Floats, leaves: tuple[int, ...], X: Array) -> Integers:
    """The number of each row's leaf, down the tree."""
    labels = np.zeros(X.shape[0], dtype=np.int32)
    place = {leaf: number for number, leaf in enumerate(leaves)}
    waiting: list[tuple[int, Any]] = [(0, np.arange(X.shape[0]))]
    while waiting:
        node, index = waiting.pop()
        if tree[node][0] < 0:
            labels[index] = place[node]
            continue
        number, _ = nearest(X[index], np.ascontiguousarray(centres[list(tree[node])]))
        waiting += [(child, index[number == half]) for half, child in enumerate(tree[node])]
    return labels
