"""Bandwidths of kernel density: rules of thumb, candidates, and leave-one-out likelihoods."""

from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.distances import Distance
from tenfold.pairwise import log_volume, store_samples, sum_kernels

CANDIDATES = 24  # bandwidths of the automatic grid
EXACT_MEDIAN_MAX_SAMPLES = 4096  # up to here distances of the sample to all others are sorted
MEDIAN_SAMPLES = 256  # size of the subsample for the median distance of larger data


def rule_of_thumb(rule: str, n: int, d: int) -> float:
    """Scott's or Silverman's bandwidth for features of variance one."""
    return float((n if rule == "scott" else n * (d + 2.0) / 4.0) ** (-1.0 / (d + 4.0)))


def list_bandwidths(distance: Distance, X: Floats, given: Any = None, count: int = CANDIDATES) -> Floats:
    """Those given, in order; else a geometric grid from half the median distance of a sample to its nearest to the
    median distance of two samples.
    """
    if len(X) < 2:
        raise ValueError("Leaving one row out needs two rows: n_samples=1 is too few.")
    if given is not None:
        candidates = np.unique(np.asarray(given, dtype=np.float64))
        if candidates.size == 0 or not np.all(candidates > 0):
            raise ValueError(f"candidates must be positive bandwidths, got {given!r}.")
        return candidates
    sample = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), MEDIAN_SAMPLES)).astype(np.intp))]
    stored = store_samples(distance, X)
    near = stored.nearest(sample, min(len(X), 2))[0][:, -1]
    is_small = len(X) <= EXACT_MEDIAN_MAX_SAMPLES
    far = stored.nearest(sample, len(X))[0][:, len(X) // 2] if is_small else _median_distances(distance, sample)
    low, high = _positive_median(near), _positive_median(far)
    return np.geomspace(0.5 * low, max(high, low), count)


def _median_distances(distance: Distance, sample: Floats) -> Floats:
    return store_samples(distance, sample).nearest(sample, len(sample))[0][:, len(sample) // 2]


def _positive_median(values: Floats) -> float:
    """The median of what is positive; one where nothing is."""
    positive = values[values > 0.0]
    return float(np.median(positive)) if positive.size else 1.0


def loo_log_likelihoods(
    distance: Distance, X: Floats, kernel: str, bandwidths: Floats, weight: Floats | None
) -> Floats:
    """The weighted mean of the log density of each sample by the others, for each bandwidth."""
    logs, _ = sum_kernels(distance, X, X, kernel, bandwidths, weight=weight, own=np.arange(len(X)))
    each = np.ones(len(X)) if weight is None else weight
    with np.errstate(divide="ignore"):
        logs = logs - np.log(each.sum() - each)[:, None]
    means: Any = np.average(logs, axis=0, weights=each)
    return means - log_volume(kernel, bandwidths, X.shape[1])
