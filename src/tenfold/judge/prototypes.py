"""Certificate of prototypes: each is the mean of the samples of its class to which it is the nearest."""

import numpy as np
from scipy.spatial.distance import cdist

from tenfold.arrays import Floats, Integers, unit_roundoff
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import Pair, exact

ROUNDING = 512.0 * unit_roundoff(np.float64)  # relative error of a recomputed value
TILE_VALUES = 1 << 22  # distances in memory at a time: 32 MiB


def prototypes(X: Floats, number: Integers, weight: Floats | None, values: Floats, which: Integers) -> Certificate:
    """The certificate of prototypes `values` (m, p) of the classes `which` (m,), for samples of classes `number` (n,);
    distances are in units of the standard deviation of all samples. A sample as near to two of them is in either mean.
    """
    again = np.full(values.shape, np.nan)
    unit = float(np.sqrt(np.mean((X - X.mean(axis=0)) ** 2))) or 1.0
    tied = 0.0
    for c in np.unique(number):
        own, inside = np.flatnonzero(which == c), np.flatnonzero(number == c)
        if own.size == 0:
            continue
        sums, total = np.zeros((len(own), X.shape[1])), np.zeros(len(own))
        step = max(1, TILE_VALUES // max(1, len(own)))
        for start in range(0, len(inside), step):
            rows = inside[start : start + step]
            away = cdist(X[rows], values[own])
            nearest = away.argmin(axis=1)
            if len(own) > 1:
                close = np.partition(away, 1, axis=1)
                tied += float(np.count_nonzero(close[:, 1] - close[:, 0] <= ROUNDING * unit))
            each = np.ones(len(rows)) if weight is None else weight[rows]
            np.add.at(sums, nearest, each[:, None] * X[rows])
            np.add.at(total, nearest, each)
        with np.errstate(invalid="ignore", divide="ignore"):
            again[own] = sums / total[:, None]
    pairs: dict[str, Pair] = {"the prototypes": (values, again, unit)}
    missing = set(number.tolist()) - set(which.tolist())
    pairs["classes without a prototype"] = (np.array([float(len(missing))]), np.zeros(1), 1.0)
    note = f"{tied:.0f} rows are as near to two prototypes." if tied else ""
    return exact(pairs, floor=ROUNDING, note=note)
