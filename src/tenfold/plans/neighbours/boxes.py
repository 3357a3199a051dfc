"""Histograms: counts in boxes, and how many of them, by leave-one-out."""

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.machine import require_memory


def edges_of(X: Floats, bins: int) -> list[Floats]:
    """Edges of so many boxes of equal width in each column, over the range of its values."""
    low, high = X.min(axis=0), X.max(axis=0)
    flat = low == high
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    return [np.linspace(a, b, bins + 1) for a, b in zip(low, high, strict=True)]


def places(X: Floats, edges: list[Floats]) -> Integers:
    """The number of the box of each row, -1 outside; the last edge belongs to the last box."""
    found = np.zeros(len(X), dtype=np.int64)
    inside = np.ones(len(X), dtype=bool)
    for j, edge in enumerate(edges):
        cell = np.searchsorted(edge, X[:, j], side="right") - 1
        cell[X[:, j] == edge[-1]] = len(edge) - 2
        inside &= (cell >= 0) & (cell < len(edge) - 1)
        found = found * (len(edge) - 1) + np.clip(cell, 0, len(edge) - 2)
    return np.where(inside, found, -1)


def volumes(edges: list[Floats]) -> Floats:
    """The volume of every box."""
    found = np.ones(())
    for edge in edges:
        found = np.multiply.outer(found, np.diff(edge))
    return found


def counts(X: Floats, edges: list[Floats], weight: Floats | None) -> Floats:
    """The weight in every box."""
    shape = tuple(len(edge) - 1 for edge in edges)
    size = float(np.prod([float(side) for side in shape]))
    require_memory(f"A histogram of {size:.3g} boxes", int(min(16 * size, 2**62)), "Take fewer bins, or KernelDensity.")
    place = places(X, edges)
    inside = place >= 0
    found = np.bincount(
        place[inside], None if weight is None else weight[inside], minlength=int(np.prod(shape))
    ).astype(np.float64)
    return found.reshape(shape)


def risk_left_out(found: Floats, box: Floats, total: float) -> float:
    """The leave-one-out estimate of ``int p^2 - 2 int p q``, q the true density: least where the histogram is nearest
    to it in the mean square.

    With counts n_j in boxes of volume v_j: ``sum n_j^2 / (n^2 v_j) - 2 sum n_j (n_j - 1) / (n (n - 1) v_j)``.
    """
    return float(
        np.sum(found**2 / box) / total**2 - 2.0 * np.sum(found * (found - 1.0) / box) / (total * (total - 1.0))
    )
