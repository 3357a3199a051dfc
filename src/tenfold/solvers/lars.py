"""Least angle regression and the path of the Lasso: the compiled walk (`core/include/tenfold/lars.hpp`) on products of
columns.

With r the residual, the path is followed in C, the size of the largest |x_j.r|; for the Lasso C = alpha W, W the weight
of the rows. Unlike pursuits, units of columns matter: products are put into one unit for all of them.
"""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.stats.gram import Gram

DEPENDENT = 1e-12
"""A column of which so little (as a square) is left beside the active ones depends on them."""

MOST_UNEVEN = 256
"""Columns whose lengths differ by a larger power of two are refused: their products cannot be compared."""


@dataclass(frozen=True)
class Knots:
    """The points between which the path is straight: sizes (k,) of the largest correlation and weights (k, p), in the
    units of the data; the columns that are active at the end, in the order in which they joined.
    """

    sizes: Floats
    weights: Floats
    active: Integers


def walk(gram: Gram, target: int, *, lasso: bool, positive: bool, end: float, most: int, dependent: float) -> Knots:
    """Follow the path from C at its largest to `end` (in the units of the data), in at most so many steps."""
    q, r = gram.scales, int(gram.target_scales[target])
    some = q[gram.squares > 0]
    largest = int(some.max()) if some.size else 0
    if some.size and largest - int(some.min()) > MOST_UNEVEN:
        raise ValueError(
            f"Columns differ in length by more than a factor of 2^{MOST_UNEVEN}, and least angles depend on their "
            "lengths. Scale the columns."
        )
    unit = np.ldexp(1.0, np.minimum(q - largest, 0))
    state = _core.Lars(
        np.ascontiguousarray(gram.with_targets[:, target] * unit),
        gram.squares * unit**2,
        float(gram.target_squares[target]),
        lasso,
        positive,
        float(np.ldexp(end, -(largest + r))),
        most,
        max(dependent, DEPENDENT),
    )
    while (column := state.advance()) >= 0:
        row = gram.row(column, np.abs(state.correlations()))
        state.set_gram_row(column, np.ascontiguousarray(row * (unit * unit[column])))
    sizes, weights, active = state.path()
    with np.errstate(over="ignore"):
        return Knots(np.ldexp(sizes, largest + r), np.ldexp(weights, r - largest), active)
