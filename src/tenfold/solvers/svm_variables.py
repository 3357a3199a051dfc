"""The problems of support vector machines as variables of a decomposition, and their intercepts.

With beta = y a in classification and beta = a - a* in regression, f = K beta, weights C of the samples and mu the
multipliers of the groups, values z - f - d beta of variables between their bounds:

    classes       z = y, y beta in [0, C], sum beta = 0;                  b = mu
    targets       a: z = y - eps, [0, C]; -a*: z = y + eps, [-C, 0];      b = mu
    nu, classes   z = 0, y beta in [0, C], each class its own group of sum +-nu sum C / 2;
                  b = (mu_0 + mu_1) / 2, rho = (mu_1 - mu_0) / 2, by which beta and b are divided
    nu, targets   as targets with eps = 0, a and -a* their own groups of sum +-nu sum C / 2;  b = (mu_0 + mu_1) / 2
    one class     z = 0, [0, C], sum beta = nu sum C;                     b = mu = -rho

Squared slack C xi^2 has no upper bounds, and d = 1 / (2 C).
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats


class Variables(NamedTuple):
    """sample: (m,) int32, numbers within the segments of the problem; z, lo, hi, extra (d): (m,); first: the number of
    variables of the first group, which come first.
    """

    sample: Any
    z: Floats
    lo: Floats
    hi: Floats
    extra: Floats
    first: int


class Problem(NamedTuple):
    """The variables, where they start, (m,), and the unit of the gap, None for half of beta' K beta."""

    variables: Variables
    start: Floats
    scale: float | None


def _bounds(C: Floats, squared: bool) -> tuple[Floats, Floats]:
    """Upper bounds of |beta|, and d."""
    if not squared:
        return C, np.zeros(len(C))
    with np.errstate(divide="ignore"):
        return np.where(C > 0.0, np.inf, 0.0), np.where(C > 0.0, 0.5 / C, 0.0)


def classes(y: Floats, C: Floats, squared: bool = False) -> Problem:
    """Targets y (n,) of 1 and then -1."""
    upper, extra = _bounds(C, squared)
    positive = y > 0.0
    lo, hi = np.where(positive, 0.0, -upper), np.where(positive, upper, 0.0)
    sides = float(np.sum(C[positive])), float(np.sum(C[~positive]))
    scale = 2.0 * min(sides)
    if squared:
        scale = 4.0 * sides[0] * sides[1] / (sum(sides) or 1.0)
    n = len(y)
    return Problem(Variables(_numbers(n), y, lo, hi, extra, n), np.zeros(n), scale or max(sides))


def targets(y: Floats, C: Floats, epsilon: float, squared: bool = False) -> Problem:
    upper, extra = _bounds(C, squared)
    zero, n = np.zeros(len(y)), len(y)
    z = np.concatenate([y - epsilon, y + epsilon])
    lo, hi = np.concatenate([zero, -upper]), np.concatenate([upper, zero])
    low, high = _middle(y, C, 0.5)
    b = 0.5 * (low + high)
    excess = np.maximum(np.abs(y - b) - epsilon, 0.0)
    loss = float(C @ (excess * excess if squared else excess))
    unit = float(np.ptp(y)) or abs(float(y[0])) or 1.0
    weight = float(np.sum(C)) * (unit if squared else 1.0)
    scale = loss if loss > 1e-10 * weight * unit else weight * unit
    numbers = np.concatenate([_numbers(n), _numbers(n)])
    return Problem(Variables(numbers, z, lo, hi, np.concatenate([extra, extra]), 2 * n), np.zeros(2 * n), scale)


def nu_classes(y: Floats, C: Floats, nu: float) -> Problem:
    """Targets y (n,) of 1 and then -1; each class must have a weight of nu sum C / 2."""
    half, n, first = 0.5 * nu * float(np.sum(C)), len(y), int(np.sum(y > 0.0))
    start = np.concatenate([_fill(C[:first], half), -_fill(C[first:], half)])
    lo, hi = np.where(y > 0.0, 0.0, -C), np.where(y > 0.0, C, 0.0)
    return Problem(Variables(_numbers(n), np.zeros(n), lo, hi, np.zeros(n), first), start, None)


def nu_targets(y: Floats, C: Floats, nu: float) -> Problem:
    n, zero, total = len(y), np.zeros(len(y)), float(np.sum(C))
    half = _fill(C, 0.5 * nu * total)
    low, high = _middle(y, C, 0.5 * nu)
    excess = np.maximum(np.abs(y - 0.5 * (low + high)) - 0.5 * (high - low), 0.0)
    loss = nu * 0.5 * (high - low) * total + float(C @ excess)
    unit = float(np.ptp(y)) or abs(float(y[0])) or 1.0
    scale = loss if loss > 1e-10 * total * unit else total * unit
    numbers = np.concatenate([_numbers(n), _numbers(n)])
    variables = Variables(
        numbers, np.concatenate([y, y]), np.concatenate([zero, -C]), np.concatenate([C, zero]), np.zeros(2 * n), n
    )
    return Problem(variables, np.concatenate([half, -half]), scale)


def one_class(C: Floats, nu: float) -> Problem:
    n = len(C)
    start = _fill(C, nu * float(np.sum(C)))
    return Problem(Variables(_numbers(n), np.zeros(n), np.zeros(n), C.copy(), np.zeros(n), n), start, None)


def _numbers(n: int) -> Floats:
    return np.arange(n, dtype=np.int32)


def _fill(C: Floats, total: float) -> Floats:
    """Numbers between 0 and C with this sum, from the first on as large as they may be."""
    ends = np.minimum(np.cumsum(C), total)
    return np.minimum(np.diff(ends, prepend=0.0), C)


def _middle(y: Floats, C: Floats, share: float) -> tuple[float, float]:
    """The quantiles of y with this share of the weights below, and above."""
    order = np.argsort(y)
    mass, sorted_y = np.cumsum(C[order]), y[order]
    last = len(y) - 1
    low = min(int(np.searchsorted(mass, share * mass[-1])), last)
    high = min(int(np.searchsorted(mass, (1.0 - share) * mass[-1])), last)
    return float(sorted_y[min(low, high)]), float(sorted_y[max(low, high)])
