"""Kind exact: tables of distinct samples, by counting in a dictionary."""

from collections import defaultdict
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import exact


def majority(X: Floats, number: Any, weight: Floats, samples: Floats, chosen: Any) -> Certificate:
    """A table of samples with their classes: every sample of positive weight is in it, no other, each with a class
    that no other outweighs.
    """
    votes: dict[tuple[float, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for x, k, w in zip(X, number, weight, strict=True):
        if w > 0.0:
            votes[tuple((x + 0.0).tolist())][int(k)] += float(w)
    wrong = abs(len(votes) - len(samples)) + abs(len(samples) - len(np.unique(samples, axis=0)))
    for x, k in zip(samples, chosen, strict=True):
        own = votes.get(tuple((x + 0.0).tolist()), {})
        wrong += not own or own.get(int(k), 0.0) < max(own.values()) * (1.0 - 1e-12)
    return exact({"the table": (np.full(1, float(wrong)), np.zeros(1), 1.0)}, floor=0.0)


def averages(x: Floats, y: Floats, weight: Floats, places: Floats, means: Floats) -> Certificate:
    """The means of the targets at distinct places, in order."""
    sums: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for a, b, w in zip(x.tolist(), y.tolist(), weight.tolist(), strict=True):
        if w > 0.0:
            sums[a + 0.0][0] += w
            sums[a + 0.0][1] += w * b
    expected = sorted(sums)
    again = np.array([sums[a][1] / sums[a][0] for a in expected])
    size = float(np.max(np.abs(y), initial=0.0)) or 1.0
    pairs = {
        "x_": (places, np.array(expected), max(float(np.max(np.abs(x), initial=0.0)), 1e-300)),
        "y_": (means, again, size),
    }
    return exact(pairs, floor=EPS * (8.0 + len(x)))
