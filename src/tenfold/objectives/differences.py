"""Derivatives by differences of values, and of gradients.

A symmetric difference (F(x + h d) - F(x - h d)) / 2h has an error of h^2 F'''/6 by its length and of EPS |F| / h by
rounding: h near EPS^(1/3) balances them. Of second differences of values it is EPS^(1/4). Lengths are in units of
max(1, |x_j|): coordinates should be of the order of one.
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import EPS, Floats

Value = Callable[[Floats], float]
Map = Callable[[Floats], Floats]

SYMMETRIC, SECOND = EPS ** (1.0 / 3.0), EPS**0.25  # lengths of the steps
NOISE = 20.0 * EPS ** (2.0 / 3.0)  # relative error of a symmetric difference at this length


def units(x: Floats) -> Floats:
    """The unit of each coordinate."""
    return np.maximum(1.0, np.abs(x))


def gradient(value: Value, x: Floats) -> Floats:
    """The gradient (q,) by symmetric differences: 2 q values."""
    result = np.empty(len(x))
    for j, h in enumerate(SYMMETRIC * units(x)):
        step = np.zeros(len(x))
        step[j] = h
        result[j] = (value(x + step) - value(x - step)) / (2.0 * h)
    return result


def product(slope: Map, x: Floats, d: Floats) -> Floats:
    """The derivative of a map along d, such as the Hessian times d of a gradient: 2 values."""
    size = float(np.max(np.abs(d) / units(x), initial=0.0))
    if size == 0.0:
        return np.zeros_like(slope(x))
    h = SYMMETRIC / size
    return np.asarray((slope(x + h * d) - slope(x - h * d)) / (2.0 * h))


def jacobian(residuals: Map, x: Floats) -> Floats:
    """The Jacobian (m, q) of a map: 2 q values."""
    columns = [product(residuals, x, step) for step in np.diag(units(x))]
    return np.column_stack(columns) / units(x)


def hessian(slope: Map, x: Floats) -> Floats:
    """The Hessian (q, q) from gradients: 2 q of them."""
    H = jacobian(slope, x)
    return 0.5 * (H + H.T)


def hessian_of_values(value: Value, x: Floats) -> Floats:
    """The Hessian (q, q) from values alone: 2 q^2 of them."""
    q, h = len(x), SECOND * units(x)
    H = np.empty((q, q))
    middle = value(x)
    for i, one in enumerate(np.diag(h)):
        H[i, i] = (value(x + one) - 2.0 * middle + value(x - one)) / h[i] ** 2
        for j in range(i):
            other = np.zeros(q)
            other[j] = h[j]
            mixed = value(x + one + other) - value(x + one - other) - value(x - one + other) + value(x - one - other)
            H[i, j] = H[j, i] = mixed / (4.0 * h[i] * h[j])
    return H
