"""Densities and local means judged by sums of windows over plain distances, and histograms by counting again."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tenfold.arrays import Floats, unit_roundoff
from tenfold.judge.certificate import Certificate
from tenfold.judge.exact import Pair, exact
from tenfold.judge.neighbours import plain, sample

ROUNDING = 4096.0 * unit_roundoff(np.float64)

LOGS: dict[str, Callable[[Floats, float], Floats]] = {
    "gaussian": lambda d, h: -0.5 * (d / h) ** 2,
    "exponential": lambda d, h: -d / h,
    "tophat": lambda d, h: np.where(d < h, 0.0, -np.inf),
    "box": lambda d, h: np.where(d <= h, 0.0, -np.inf),
    "epanechnikov": lambda d, h: np.log(np.maximum(0.0, 1.0 - (d / h) ** 2)),
    "linear": lambda d, h: np.log(np.maximum(0.0, 1.0 - d / h)),
    "cosine": lambda d, h: np.where(
        d < h, np.log(np.maximum(0.0, np.cos(0.5 * np.pi * np.minimum(1.0, d / h)))), -np.inf
    ),
    "cut": lambda d, h: np.where(d <= h, np.log(np.maximum(0.0, 1.0 - d)), -np.inf),
}
"""Logarithms of windows."""


def asked(X: Floats) -> Floats:
    """The rows at which a density or a mean is computed again."""
    return X[sample(*X.shape)]


def density(
    X: Floats,
    *,
    metric: Any,
    params: dict[str, Any],
    window: str,
    bandwidth: float,
    volume: float,
    weight: Floats | None,
    found: Floats,
    bandwidths: tuple[float, float],
    stored: Floats | None = None,
    allowed: tuple[float, float] = (0.0, 0.0),
) -> Certificate:
    """The certificate of log densities `found` at some rows; volume is the logarithm of the window's integral, and
    `bandwidths` has the one that is stored, and the one that its rule gives. With `allowed` = (atol, rtol) a density
    that is off by no more than atol + rtol times itself is as good as the right one.
    """
    logs = _logs(X, metric, params, window, bandwidth, weight)
    total = float(len(X) if weight is None else weight.sum())
    again = logsumexp(logs, axis=1) - np.log(total) - volume
    atol, rtol = allowed
    if atol > 0.0 or rtol > 0.0:
        right = np.exp(again)
        found = np.where(np.abs(np.exp(found) - right) <= atol + rtol * right, again, found)
    pairs: dict[str, Pair] = {
        "the log density": (found, again, 1.0 + np.abs(again)),
        "the bandwidth": (np.array(bandwidths[:1]), np.array(bandwidths[1:]), abs(bandwidths[1])),
    }
    if stored is not None:
        pairs["the rows"] = (stored, X, np.maximum(np.abs(X), np.finfo(np.float64).tiny))
    return exact(pairs, floor=ROUNDING, note=_note(X))


def means(
    X: Floats,
    y: Floats,
    *,
    metric: Any,
    params: dict[str, Any],
    window: str,
    bandwidth: float,
    weight: Floats | None,
    found: Floats,
    stored: tuple[Floats, Floats, Floats | None] | None = None,
) -> Certificate:
    """The certificate of local means `found` (m, t) of targets y (n, t) at some rows, where the window has any."""
    logs = _logs(X, metric, params, window, bandwidth, weight)
    largest = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        heights = np.exp(logs - largest)
        again = heights @ y / heights.sum(axis=1, keepdims=True)
    size = np.abs(y).max(axis=0, initial=0.0) + np.finfo(np.float64).tiny
    some = np.isfinite(largest[:, 0])
    pairs: dict[str, Pair] = {"the means": (found[some], again[some], size)}
    if stored is not None:
        ones = np.ones(len(X))
        pairs["the rows"] = (stored[0], X, np.maximum(np.abs(X), np.finfo(np.float64).tiny))
        pairs["the targets"] = (stored[1], y, size)
        pairs["the weights"] = (ones if stored[2] is None else stored[2], ones if weight is None else weight, 1.0)
    return exact(pairs, floor=ROUNDING, note=_note(X))


def _logs(
    X: Floats, metric: Any, params: dict[str, Any], window: str, bandwidth: float, weight: Floats | None
) -> Floats:
    with np.errstate(divide="ignore"):
        logs = LOGS[window](plain(metric, params, X, asked(X)), bandwidth)
        return logs if weight is None else logs + np.log(weight)


def _note(X: Floats) -> str:
    count = len(asked(X))
    return f"Computed again by plain distances at {'all' if count == len(X) else count} of {len(X)} rows."


def histogram(X: Floats, weight: Floats | None, edges: list[Floats], density: Floats) -> Certificate:
    """The certificate of densities in boxes: counted again, and their volumes add up to one."""
    counts = np.zeros(density.shape)
    # the number of inner edges that are not above a value is the number of its box
    cells = tuple((X[:, j, None] >= edge[None, 1:-1]).sum(axis=1) for j, edge in enumerate(edges))
    np.add.at(counts, cells, 1.0 if weight is None else weight)
    volume = np.ones(())
    for edge in edges:
        volume = np.multiply.outer(volume, np.diff(edge))
    again = counts / volume / (len(X) if weight is None else weight.sum())
    heavy = X if weight is None else X[weight > 0]
    held = np.all([(heavy[:, j] >= edge[0]) & (heavy[:, j] <= edge[-1]) for j, edge in enumerate(edges)], axis=0)
    pairs: dict[str, Pair] = {
        "the densities": (density, again, again.max()),
        "the area": (np.array([np.sum(density * volume)]), np.ones(1), 1.0),
        "rows outside": (np.array([np.count_nonzero(~held)]), np.zeros(1), 1.0),
    }
    return exact(pairs, floor=ROUNDING)
