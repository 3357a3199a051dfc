"""Certificates of divisive trees: each split, from the first to the last, follows the rule from the distances.

Diameters are taken anew. In a split by a splinter group the samples that left are let go again, always that with the
largest gain among them: no sample of the whole cluster may have a larger gain, and none that stayed a positive one. In
a split by the farthest pair, some pair at the diameter must have every sample on its nearer side. Ties pass in any
order.
"""

import numpy as np

from tenfold.arrays import EPS, Floats, Integers
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.linkage import StoredTree

GREEDY = "Each split follows the rule; such clusters are no optimum of any sum over them, and others may be better."


def judge_splits(D: Floats, stored: StoredTree, rule: str, threshold: float | None) -> Certificate:
    """The certificate of a tree of clusters of samples at distances D (n, n)."""
    wrong = _complain_of_tree(stored, len(D))
    tol, floor = RULES["exact"].tol, 8.0 * EPS * len(D)
    if wrong or stored.heights is None:
        return Certificate("exact", np.inf, 1.0, tol, floor, np.nan, note=wrong or "There are no diameters.")
    k, scale = stored.clusters, float(np.max(D, initial=0.0)) or 1.0
    members = [np.flatnonzero(stored.labels == c) for c in range(k)]
    for a, b in stored.children.tolist():
        members.append(np.concatenate([members[a], members[b]]))
    width = np.array([np.max(D[np.ix_(part, part)], initial=0.0) for part in members])
    apart = float(np.max(np.abs(stored.heights - width[k:]), initial=0.0)) / scale
    narrow = gains = 0.0
    current = {len(members) - 1}
    for t in range(k - 2, -1, -1):
        narrow = max(narrow, (max(width[list(current)]) - width[k + t]) / scale)
        a, b = stored.children[t].tolist()
        current = (current - {k + t}) | {a, b}
        gains = max(gains, _shortfall(D, members[a], members[b], rule) / scale)
    if threshold is not None:
        if np.max(width[:k]) >= threshold + tol * scale and any(len(part) > 1 for part in members[:k]):
            wrong = f"A cluster has the diameter {np.max(width[:k]):.6g}, which is not below {threshold:g}."
        elif np.min(stored.heights, initial=np.inf) < threshold - tol * scale:
            wrong = f"A cluster of diameter {np.min(stored.heights):.6g}, which is below {threshold:g}, was split."
    parts = (apart, narrow, gains)
    value = np.inf if wrong or not np.isfinite(sum(parts)) else max(*parts, floor)
    note = " ".join(filter(None, [wrong, GREEDY]))
    return Certificate("exact", value, 1.0, tol, floor, np.nan, parts=parts, note=note)


def _complain_of_tree(stored: StoredTree, n: int) -> str:
    k, children, labels = stored.clusters, stored.children, stored.labels
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or not np.array_equal(np.unique(labels), np.arange(k)):
        return f"The labels are not those of {k} clusters of {n} samples."
    if children.shape != (k - 1, 2) or children.dtype.kind not in "iu":
        return f"The children must be {k - 1} pairs of nodes."
    if stored.heights is not None and stored.heights.shape != (k - 1,):
        return "There must be a diameter for each split."
    before = k + np.arange(k - 1)
    inside = (children >= 0).all() and (children < before[:, None]).all()
    return (
        "" if inside and len(np.unique(children)) == children.size else "A node is split before it is made, or twice."
    )


def _shortfall(D: Floats, one: Integers, other: Integers, rule: str) -> float:
    """By how much a split misses the rule, with either part as the one that left."""
    check = _miss_of_splinter if rule == "splinter" else _miss_of_farthest
    return min(check(D, one, other), check(D, other, one))


def _miss_of_splinter(D: Floats, stay: Integers, left: Integers) -> float:
    both = np.concatenate([stay, left])
    part, m = D[np.ix_(both, both)], len(both)
    leaver = np.arange(m) >= len(stay)
    gone = np.zeros(m, dtype=bool)
    staying, away = np.sum(part, axis=1), np.zeros(m)
    miss = 0.0
    for step in range(len(left)):
        gain = staying / max(1, m - step - 1) - (away / step if step else 0.0)
        gain[gone] = -np.inf
        best = int(np.argmax(np.where(leaver, gain, -np.inf)))
        miss = max(miss, float(np.max(gain) - gain[best]), -float(gain[best]))
        gone[best] = True
        staying, away = staying - part[best], away + part[best]
    if len(stay) > 1:
        gain = staying / (len(stay) - 1) - away / len(left)
        miss = max(miss, float(np.max(gain[~gone])))
    return miss


def _miss_of_farthest(D: Floats, one: Integers, other: Integers) -> float:
    """The least, over pairs at the diameter, of the largest distance by which a sample is nearer to the other seed."""
    whole = np.concatenate([one, other])
    between = D[np.ix_(one, other)]
    top = float(np.max(D[np.ix_(whole, whole)], initial=0.0))
    miss = max(0.0, top - float(np.max(between)))
    rows, columns = np.nonzero(between >= np.max(between) * (1.0 - 16.0 * EPS))
    best = np.inf
    for a, b in zip(one[rows].tolist(), other[columns].tolist(), strict=True):
        wrong = max(float(np.max(D[one, a] - D[one, b])), float(np.max(D[other, b] - D[other, a])))
        best = min(best, max(0.0, wrong))
    return max(miss, best)
