"""The density of Tweedie's family between the powers 1 and 2: sums of a Poisson number of Gamma variables.

With mean mu, dispersion phi and 1 < p < 2, a = (2 - p) / (p - 1), a target is zero with probability
exp(-mu^(2-p) / (phi (2-p))), and has for y > 0 the density (Jorgensen 1987; Dunn and Smyth 2005)

    f(y) = 1/y sum_{j >= 1} z^j / (j! Gamma(a j)) exp((y mu^(1-p) / (1-p) - mu^(2-p) / (2-p)) / phi),
    log z = a log(y / (p-1)) - (1 + a) log(phi) - log(2-p),

so that log f(y; mu) = log f(y; y) - deviance(y, mu) / (2 phi). With k = y^(2-p) / (phi (2-p)) the terms at mu = y are

    log t_j = (1 + a) (j - k - j log(j / k)) + log(a) / 2 - log(2 pi) - d(j) - d(a j),

d(x) the difference between log Gamma(x) and Stirling's formula: large numbers cancel before they are computed. They are
concave in j and largest near k, about which they fall like those of a Gaussian of deviation root(k / (1 + a)).
"""

import numpy as np
from scipy.special import gammaln

from tenfold.arrays import TINY, Floats

MAX_DEVIATIONS = 9.0  # standard deviations from the largest term beyond which terms are below rounding

EXTRA_TERMS = 24  # on either side, where the largest term is among the first and others decrease slower

TRAPEZOID_DEVIATION = 4.0  # from this standard deviation on, terms half of it apart give the sum (trapezoidal rule)

LAPLACE_TERMS = 1e12  # from here on the first term of Laplace's method suffices, with an error of about 1 / k

PIECE = 1 << 14  # targets at a time


def log_saturated(y: Floats, power: float, dispersion: float) -> Floats:
    """log f(y; y) for targets (n,), at least zero; at zero, where f is a probability, zero."""
    result = np.zeros(y.shape)
    inside = np.flatnonzero(y > 0.0)
    for start in range(0, len(inside), PIECE):
        piece = inside[start : start + PIECE]
        result[piece] = _of_positive(y[piece], power, dispersion)
    return result


def _of_positive(y: Floats, p: float, phi: float) -> Floats:
    a, log_y = (2.0 - p) / (p - 1.0), np.log(y)
    with np.errstate(over="ignore"):
        k = np.maximum(np.exp((2.0 - p) * log_y) / (phi * (2.0 - p)), TINY)
    deviation = np.sqrt(k / (1.0 + a))
    result = -0.5 * (np.log(2.0 * np.pi * phi) + p * log_y)
    smooth = (deviation >= TRAPEZOID_DEVIATION) & (k > 1.0 + (MAX_DEVIATIONS + 3.0) * deviation) & (k <= LAPLACE_TERMS)
    few = ~smooth & (k <= LAPLACE_TERMS)
    for chosen, series in ((smooth, _smooth), (few, _few)):
        if chosen.any():
            result[chosen] = series(k[chosen], deviation[chosen], a) - log_y[chosen]
    return result


def _smooth(k: Floats, deviation: Floats, a: float) -> Floats:
    """log of the sum by the trapezoidal rule: terms half a standard deviation apart, at whole numbers or not."""
    step = 0.5 * deviation[:, None]
    away = step * np.arange(-2.0 * MAX_DEVIATIONS, 2.0 * MAX_DEVIATIONS + 1.0)
    return _log_sum(_terms(k[:, None], away, a)) + np.log(step[:, 0])


def _few(k: Floats, deviation: Floats, a: float) -> Floats:
    """The same by all terms that are not negligible."""
    reach = MAX_DEVIATIONS * deviation + EXTRA_TERMS
    first, last = np.maximum(1.0, np.floor(k - reach)), np.ceil(k + reach)
    j = first[:, None] + np.arange(float(np.max(last - first)) + 1.0)
    return _log_sum(np.where(j <= last[:, None], _terms(k[:, None], j - k[:, None], a), -np.inf))


def _terms(k: Floats, away: Floats, a: float) -> Floats:
    """log t_j for j = k + away."""
    j, part = k + away, away / k
    decreases = (1.0 + a) * k * (part - (1.0 + part) * np.log1p(part))
    return np.asarray(
        decreases + 0.5 * np.log(a) - np.log(2.0 * np.pi) - _stirling_remainder(j) - _stirling_remainder(a * j)
    )


def _stirling_remainder(x: Floats) -> Floats:
    """log Gamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2), from 16 on by its series."""
    far = np.maximum(x, 16.0)
    square = 1.0 / (far * far)
    series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / far
    near = np.minimum(x, 16.0)
    return np.where(x >= 16.0, series, gammaln(near) - (near - 0.5) * np.log(near) + near - 0.5 * np.log(2.0 * np.pi))


def _log_sum(terms: Floats) -> Floats:
    most = np.max(terms, axis=1)
    return np.asarray(most + np.log(np.sum(np.exp(terms - most[:, None]), axis=1)))
