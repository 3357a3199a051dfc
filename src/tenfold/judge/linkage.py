"""Certificates of agglomerative trees: heights by another formula, and whether every merge was of a nearest pair.

The tree is followed merge by merge with distances of clusters that are formed anew: sums or extremes of the distances
of their samples, or sums of their coordinates. A pair of clusters that is there from merge s to merge e must not be
nearer than the height of any merge in between; for linkages without inversions this is that merged clusters are nearest
to each other. Any order of equal distances passes: heights are compared with those of the tree itself, not with another
tree.

Along a graph the same is asked of the pairs with an edge, with the distances that the edges say.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from tenfold import _core
from tenfold.arrays import EPS, Floats, Integers
from tenfold.judge.certificate import RULES, Certificate

CODES = {"single": 0, "complete": 1, "average": 2, "ward": 3, "centroid": 4}
OF_CENTROIDS = ("ward", "centroid")
POINT_FEATURES = 64  # up to here distances of centroids are formed where they are needed, and not kept

GREEDY = (
    "The tree is that of merging the nearest pair of clusters at each step; such clusters are no optimum of any sum "
    "over them, and others may be better."
)


@dataclass(frozen=True)
class StoredTree:
    """What a model has: children (m, 2), heights (m,) or None, labels (n,) and the number of clusters."""

    children: Integers
    heights: Floats | None
    labels: Integers
    clusters: int


@dataclass(frozen=True)
class Graph:
    """Pairs of samples with an edge, each once, and their distances; none for centroids."""

    first: Integers
    second: Integers
    distances: Floats


def judge_tree(
    samples: Floats,
    stored: StoredTree,
    linkage: str,
    *,
    points: bool,
    graph: Graph | None = None,
    threshold: float | None = None,
) -> Certificate:
    """The certificate of a tree of points (n, p) at Euclidean distances, for centroids and single linkage, of distances
    (n, n), or along a graph.
    """
    n = samples.shape[0]
    wrong = _complain_of_tree(stored, n)
    if not wrong and graph is None and len(stored.children) != n - 1:
        wrong = f"The tree has {len(stored.children)} merges, and all of {n} samples are {n - 1}."
    if wrong:
        return Certificate("exact", np.inf, 1.0, RULES["exact"].tol, 0.0, np.nan, note=wrong)
    exponent = 0
    if points:
        exponent = int(np.frexp(np.max(np.abs(samples), initial=0.0))[1])
        samples = np.ldexp(samples, -exponent)
        samples = np.ascontiguousarray(samples - np.median(samples, axis=0))
    with np.errstate(invalid="ignore", over="ignore"):
        if graph is not None:
            heights, shortfalls = _follow_graph(samples, stored.children, linkage, graph)
        else:
            heights, shortfalls = _follow(samples, stored.children, linkage, points)
        scale = float(np.max(np.abs(heights), initial=0.0)) or 1.0
        distance = 0.0 if stored.heights is None else np.abs(np.ldexp(stored.heights, -exponent) - heights)
        parts = (float(np.max(distance, initial=0.0)) / scale, float(np.max(shortfalls, initial=0.0)) / scale)
        limit = None if threshold is None else float(np.ldexp(threshold, -exponent))
    floor = 8.0 * EPS * (n + (samples.shape[1] if points else 1))
    wrong = _complain_of_labels(stored, n) or _complain_of_threshold(stored, heights, limit, scale)
    value = np.inf if wrong or not np.isfinite(sum(parts)) else max(*parts, floor)
    worst = "The largest distance is that of the heights." if parts[0] >= parts[1] else "Another pair was nearer."
    words = [wrong, worst if not max(parts) <= floor else "", GREEDY]
    return Certificate(
        "exact", value, 1.0, RULES["exact"].tol, floor, np.nan, parts=parts, note=" ".join(filter(None, words))
    )


def _complain_of_tree(stored: StoredTree, n: int) -> str:
    """Why children are not those of a tree of n samples; "" where they are."""
    children = stored.children
    if children.ndim != 2 or children.shape[1] != 2 or children.dtype.kind not in "iu" or len(children) > n - 1:
        return f"The children must be pairs of nodes of at most {n - 1} merges."
    if stored.heights is not None and stored.heights.shape != (len(children),):
        return "There must be a height for each merge."
    before = n + np.arange(len(children))
    inside = (children >= 0).all() and (children < before[:, None]).all()
    if not inside or len(np.unique(children)) != children.size:
        return "A node is merged before it is made, or twice."
    return ""


def _complain_of_labels(stored: StoredTree, n: int) -> str:
    labels, k = stored.labels, stored.clusters
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or not np.array_equal(np.unique(labels), np.arange(k)):
        return f"The labels are not those of {k} clusters of {n} samples."
    heads = _heads(stored.children[: n - k], n)
    if len(np.unique(heads)) != k or len(np.unique(np.stack([heads, labels]), axis=1).T) != k:
        return "The labels are not the clusters before the last merges of the tree."
    return ""


def _complain_of_threshold(stored: StoredTree, heights: Floats, threshold: float | None, scale: float) -> str:
    if threshold is None:
        return ""
    slack = RULES["exact"].tol * scale
    low, high = (int(np.sum(heights >= threshold + sign * slack)) + 1 for sign in (1.0, -1.0))
    if not low <= stored.clusters <= high:
        return f"There are {stored.clusters} clusters, and the merges from {threshold:g} on leave {low}."
    return ""


def _heads(children: Integers, n: int) -> Integers:
    """The last node above each sample."""
    head = np.arange(n + len(children))
    for node in range(len(children) - 1, -1, -1):
        head[children[node]] = head[n + node]
    return head[:n]


def _slots_of(children: Integers, n: int) -> Integers:
    """For each merge one sample of each of the two clusters: that at which the cluster is kept."""
    kept = np.arange(n + len(children))
    kept[n:] = -1
    for node, right in enumerate(children[:, 1].tolist()):  # a chain of second children ends at a sample
        kept[n + node] = kept[right]
    return np.ascontiguousarray(kept[children])


def _order_leaves(children: Integers, n: int) -> tuple[Integers, Integers]:
    """An order of the samples in which every cluster is consecutive, and for each two neighbours the merge that brings
    them together.
    """
    begin, size = np.zeros(n + len(children), dtype=np.int64), np.ones(n + len(children), dtype=np.int64)
    for node, (a, b) in enumerate(children.tolist()):
        size[n + node] = size[a] + size[b]
    merge = np.zeros(n - 1, dtype=np.int64)
    for node in range(len(children) - 1, -1, -1):
        a, b = children[node]
        begin[a], begin[b] = begin[n + node], begin[n + node] + size[a]
        merge[begin[b] - 1] = node
    return np.argsort(begin[:n]), merge


def _follow(samples: Floats, children: Integers, linkage: str, points: bool) -> tuple[Floats, Floats]:
    """Heights and shortfalls of the merges of a tree of all pairs."""
    code = CODES[linkage]
    if linkage == "single" and points:
        order, merge = _order_leaves(children, len(samples))
        heights = np.sqrt(_core.least_of_merges(np.ascontiguousarray(samples[order]), merge))
        return heights, np.maximum.accumulate(heights) - heights
    slots = _slots_of(children, len(samples))
    if linkage not in OF_CENTROIDS:
        return _core.verify_matrix(samples.copy(), slots, code)
    if samples.shape[1] <= POINT_FEATURES:
        return _core.verify_points(samples, slots, code)
    return _core.verify_matrix(cdist(samples, samples, "sqeuclidean"), slots, code)


def _follow_graph(samples: Floats, children: Integers, linkage: str, graph: Graph) -> tuple[Floats, Floats]:
    """Heights and shortfalls of the merges along a graph, by a walk over the edges of each cluster."""
    n, nodes = samples.shape[0], samples.shape[0] + len(children)
    edges: list[dict[int, float]] = [{} for _ in range(nodes)]
    centroids = linkage in OF_CENTROIDS
    lengths = graph.distances
    if centroids:
        lengths = np.sqrt(np.sum((samples[graph.first] - samples[graph.second]) ** 2, axis=1))
    for a, b, d in zip(graph.first.tolist(), graph.second.tolist(), lengths.tolist(), strict=True):
        edges[a][b] = edges[b][a] = d
    size = [1] * n
    sums = samples if centroids else np.zeros((n, 0))
    total = np.vstack([sums, np.zeros((len(children), sums.shape[1]))])
    heights, lives = np.zeros(len(children)), []
    for t, (a, b) in enumerate(children.tolist()):
        node, joined = n + t, {}
        heights[t] = edges[a].get(b, np.inf)
        for end in (a, b):
            born = max(end - n + 1, 0)
            lives += [(max(born, other - n + 1), t, d) for other, d in edges[end].items()]
        for other in {*edges[a], *edges[b]} - {a, b}:
            one, two = edges[a].get(other), edges[b].get(other)
            joined[other] = _join(one, two, size[a], size[b], linkage)
            for end in (a, b):
                edges[other].pop(end, None)
        size.append(size[a] + size[b])
        if centroids:
            total[node] = total[a] + total[b]
            near = list(joined)
            counts = np.array([size[other] for other in near], dtype=np.float64)
            squares = np.sum((total[near] / counts[:, None] - total[node] / size[node]) ** 2, axis=1)
            if linkage == "ward":
                squares *= 2.0 * counts * size[node] / (counts + size[node])
            joined = dict(zip(near, np.sqrt(squares).tolist(), strict=True))
        for other, d in joined.items():
            edges[other][node] = d
        edges[node], edges[a], edges[b] = joined, {}, {}
    ends = np.array([(s, t) for s, t, _ in lives], dtype=np.int64).reshape(-1, 2)
    shortfalls = np.full(len(children), -np.inf)
    np.maximum.at(shortfalls, ends[:, 1], _highest(heights, ends) - np.array([d for _, _, d in lives]))
    # pairs that are never merged are there until the end
    left = [(max(a - n + 1, b - n + 1, 0), d) for a in range(nodes) for b, d in edges[a].items() if b < a]
    if left and len(children):
        begin = np.array([(min(s, len(children) - 1), len(children) - 1) for s, _ in left], dtype=np.int64)
        alive = np.array([s < len(children) for s, _ in left])
        short = _highest(heights, begin) - np.array([d for _, d in left])
        shortfalls[-1] = max(shortfalls[-1], float(np.max(short[alive], initial=-np.inf)))
    return heights, shortfalls


def _join(one: float | None, two: float | None, a: int, b: int, linkage: str) -> float:
    """The distance of a union of clusters of a and b samples from another, by those that have an edge with it."""
    if one is None or two is None:
        return one if two is None else two  # type: ignore[return-value]
    if linkage == "single":
        return min(one, two)
    return max(one, two) if linkage == "complete" else (a * one + b * two) / (a + b)


def _highest(heights: Floats, ends: Integers) -> Floats:
    """The largest of the heights from each first to each last merge."""
    result = np.full(len(ends), -np.inf)
    for length, table in _maxima(heights):
        span = ends[:, 1] - ends[:, 0] + 1
        fits = (span >= length) & (span < 2 * length)
        first, last = ends[fits, 0], ends[fits, 1] - length + 1
        result[fits] = np.maximum(table[first], table[last])
    return result


def _maxima(heights: Floats) -> Iterator[tuple[int, Floats]]:
    """Running maxima over 1, 2, 4, ... merges."""
    length, table = 1, heights
    while len(table):
        yield length, table
        table = np.maximum(table[:-length], table[length:]) if len(table) > length else table[:0]
        length *= 2
