"""Least angle regression and the path of the Lasso (Efron et al. 2004), on products of features: the compiled loop is
core/include/tenfold/lars.hpp.

With r the residual, the path is followed in C, the largest |x_j.r|; for the Lasso C = alpha W, W the sum of the sample
weights. Unlike in pursuits the units of features matter: products are put into one unit for all of them.
"""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.stats.gram import Gram

DEPENDENT = 1e-12  # relative squared norm of the part of a feature outside the active ones that is rounding

MAX_EXPONENT_RANGE = 256  # features whose norms differ by a larger power of two are rejected


@dataclass(frozen=True)
class Knots:
    """The knots of a piecewise linear path: the largest correlation (k,) and the weights (k, p) at each, in the units
    of the data; the active features at the end, in the order in which they joined.
    """

    sizes: Floats
    weights: Floats
    active: Integers


def walk(gram: Gram, target: int, *, lasso: bool, positive: bool, end: float, most: int, dependent: float) -> Knots:
    """Follow the path from the largest C to `end` (in the units of the data), in at most `most` steps."""
    q, r = gram.scales, int(gram.target_scales[target])
    varying = q[gram.squares > 0]
    largest = int(varying.max()) if varying.size else 0
    if varying.size and largest - int(varying.min()) > MAX_EXPONENT_RANGE:
        raise ValueError(
            f"Columns differ in length by more than a factor of 2^{MAX_EXPONENT_RANGE}, and least angles depend on "
            "their lengths. Scale the columns."
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
