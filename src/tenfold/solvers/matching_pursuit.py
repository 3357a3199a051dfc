"""Matching pursuit: in each step the residual loses its projection on the feature that is closest to it.

With r the residual, a step selects the feature with the largest |x_j.r| / |x_j|, adds v = x_j.r / |x_j|^2 to its weight
and subtracts v x_j from r, so that |r|^2 decreases by (x_j.r)^2 / |x_j|^2; a feature may be selected again. All x.r
decrease by v times a row of the Gram matrix (Mallat and Zhang 1993; Rosasco, section 11.2). A step costs 4 p flops, and
the products of a feature that is selected for the first time.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.stats.gram import Gram


@dataclass(frozen=True)
class Matched:
    """The feature of each step (k,), the weights of all features (p,) in the units of the Gram matrix, the residual
    sums of squares (k + 1,), and whether only rounding was left before a limit was reached.
    """

    order: Integers
    weights: Floats
    left: Floats
    exhausted: bool


def match(gram: Gram, target: int, most: int, tol: float | None) -> Matched:
    """Up to `most` steps, or until the sum of squares is at most `tol` (in the units of the Gram matrix)."""
    a = gram.with_targets[:, target].copy()
    weights = np.zeros_like(a)
    yy = float(gram.target_squares[target])
    varying = gram.squares > 0.0
    inverse = np.where(varying, 1.0 / np.sqrt(np.where(varying, gram.squares, 1.0)), 0.0)
    order: list[int] = []
    left = [yy]
    noise = 8.0 * float(np.finfo(np.float64).eps) * np.sqrt(yy)
    while len(order) < most and not (tol is not None and left[-1] <= tol):
        cosines = np.abs(a) * inverse
        j = int(np.argmax(cosines)) if a.size else 0
        if not (a.size and cosines[j] > noise * (2.0 + np.sqrt(len(order)))):
            return Matched(np.array(order, dtype=np.int64), weights, np.array(left), True)
        row = gram.row(j, cosines)
        # a product read from the samples has more digits than the square
        v = a[j] / (row[j] if row[j] > 0.0 else gram.squares[j])
        left.append(max(left[-1] - v * a[j], 0.0))
        weights[j] += v
        a -= v * row
        order.append(j)
    return Matched(np.array(order, dtype=np.int64), weights, np.array(left), False)
