"""Divisive clustering: the cluster of largest diameter is split until there are enough clusters, or none is too wide.

Two rules split a cluster C by the distances of its samples:

    splinter  the sample with the largest mean distance from the others leaves; then, one at a time, that sample leaves
              whose mean distance from those that stay exceeds its mean distance from those that left by most, as long
              as there is one and at least one stays (Macnaughton-Smith et al. 1964; Kaufman and Rousseeuw's DIANA)
    farthest  the two samples farthest from each other are seeds, and each sample goes to the nearer one

Ties go to the sample that comes first.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.judge.certificate import Certificate
from tenfold.judge.divisive import judge_splits
from tenfold.judge.linkage import StoredTree
from tenfold.machine import interrupted

Rule = Literal["splinter", "farthest"]


@dataclass(frozen=True)
class Splits:
    """Labels (n,) of the clusters; and bottom up, as merges, children (k - 1, 2) of clusters, k + t the union of merge
    t, with the diameters (k - 1,) of the unions.
    """

    labels: Integers
    children: Integers
    diameters: Floats


def certify_splits(D: Floats, splits: Splits, rule: Rule, threshold: float | None) -> Certificate:
    """The certificate of the splits of samples of distances D."""
    stored = StoredTree(splits.children, splits.diameters, splits.labels, len(splits.children) + 1)
    return judge_splits(D, stored, rule, threshold)


def split_clusters(D: Floats, rule: Rule, clusters: int | None, threshold: float | None) -> Splits:
    """Split samples of distances D (n, n) into a number of clusters, or until diameters are below a threshold."""
    members: dict[int, Integers] = {0: np.arange(len(D))}
    diameter = {0: _diameter(D, members[0])}
    history: list[tuple[int, int, int, float]] = []  # a node, the two that it is split into, and its diameter
    most = len(D) if clusters is None else clusters
    while len(members) < most and not interrupted():
        widest = max(members, key=lambda node: (diameter[node], -node))
        if len(members[widest]) < 2:
            widest = next((node for node in members if len(members[node]) > 1), -1)
        if widest < 0 or (threshold is not None and diameter[widest] < threshold):
            break
        node, number = members.pop(widest), 2 * len(history) + 1
        leaves = (find_splinter if rule == "splinter" else find_farthest)(D[np.ix_(node, node)])
        for new, part in ((number, node[~leaves]), (number + 1, node[leaves])):
            members[new], diameter[new] = part, _diameter(D, part)
        history.append((widest, number, number + 1, diameter.pop(widest)))
    return _number(len(D), members, history)


def _diameter(D: Floats, members: Integers) -> float:
    return float(np.max(D[np.ix_(members, members)], initial=0.0))


def find_splinter(D: Floats) -> np.ndarray:
    """Which samples of a cluster leave it."""
    m = len(D)
    leaves = np.zeros(m, dtype=bool)
    total, away = np.sum(D, axis=1), np.zeros(m)
    first = int(np.argmax(total))
    while True:
        leaves[first] = True
        away += D[first]
        left = int(np.sum(leaves))
        if left >= m - 1:
            return leaves
        gain = np.where(leaves, -np.inf, (total - away) / (m - left - 1) - away / left)
        first = int(np.argmax(gain))
        # a gain within rounding is none
        if not gain[first] > 64.0 * np.finfo(np.float64).eps * float(total[first]):
            return leaves


def find_farthest(D: Floats) -> np.ndarray:
    """Which samples are nearer to the second of the two that are farthest from each other."""
    a, b = divmod(int(np.argmax(D)), len(D))
    nearer = D[b] < D[a]
    nearer[a], nearer[b] = False, True
    return nearer if a != b else np.arange(len(D)) == len(D) - 1


def _number(n: int, members: dict[int, Integers], history: list[tuple[int, int, int, float]]) -> Splits:
    """Clusters numbered by their first samples, and the splits from the last to the first as merges."""
    order = sorted(members, key=lambda node: int(members[node][0]))
    labels, name = np.zeros(n, dtype=np.int64), {}
    for cluster, node in enumerate(order):
        labels[members[node]], name[node] = cluster, cluster
    children, diameters = np.zeros((len(history), 2), dtype=np.int64), np.zeros(len(history))
    for t, (node, one, other, width) in enumerate(reversed(history)):
        children[t], diameters[t] = sorted((name[one], name[other])), width
        name[node] = len(order) + t
    return Splits(labels, children, diameters)
