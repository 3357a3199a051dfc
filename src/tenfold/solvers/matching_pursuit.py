"""Matching pursuit: step by step the residual loses its part along the column that it is closest to.

With r the residual, a step takes the column with the largest |x_j.r| / |x_j|, adds v = x_j.r / |x_j|^2 to its weight
and takes v x_j from r, so that |r|^2 falls by (x_j.r)^2 / |x_j|^2; a column may be taken again. On products of columns
all x.r lose v times a row of the Gram matrix (Mallat and Zhang 1993; Rosasco, section 11.2). A step costs 4 p flops,
and the products of a column that comes for the first time.
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.stats.gram import Gram


@dataclass(frozen=True)
class Matched:
    """The column of every step (k,), the weights of all columns (p,) in the units of the Gram matrix, the sums of
    squares left (k + 1,), and whether rounding is all that was left before a limit was met.
    """

    order: Integers
    weights: Floats
    left: Floats
    exhausted: bool


def match(gram: Gram, target: int, most: int, tol: float | None) -> Matched:
    """Take up to `most` steps, or as many as it takes for a sum of squares of at most `tol` (in the units of the Gram
    matrix).
    """
    a = gram.with_targets[:, target].copy()
    weights = np.zeros_like(a)
    yy = float(gram.target_squares[target])
    some = gram.squares > 0.0
    inverse = np.where(some, 1.0 / np.sqrt(np.where(some, gram.squares, 1.0)), 0.0)
    order: list[int] = []
    left = [yy]
    noise = 8.0 * float(np.finfo(np.float64).eps) * np.sqrt(yy)
    while len(order) < most and not (tol is not None and left[-1] <= tol):
        cosines = np.abs(a) * inverse
        j = int(np.argmax(cosines)) if a.size else 0
        if not (a.size and cosines[j] > noise * (2.0 + np.sqrt(len(order)))):
            return Matched(np.array(order, dtype=np.int64), weights, np.array(left), True)
        row = gram.row(j, cosines)
        # of what is read from the rows the product has more digits than the square
        v = a[j] / (row[j] if row[j] > 0.0 else gram.squares[j])
        left.append(max(left[-1] - v * a[j], 0.0))
        weights[j] += v
        a -= v * row
        order.append(j)
    return Matched(np.array(order, dtype=np.int64), weights, np.array(left), False)
