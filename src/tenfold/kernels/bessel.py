"""The Matern kernel of any smoothness nu, by the modified Bessel function of the second kind.

f(v) = 2^(1 - nu) / Gamma(nu) t^nu K_nu(t), t = sqrt(2 nu v), f(0) = 1; and d/dt (t^nu K_nu) = -t^nu K_{nu - 1} gives
-2 f'(v) = 2^(2 - nu) nu / Gamma(nu) t^(nu - 1) K_{nu - 1}(t). Both in logarithms: t^nu and K_nu leave the range of
float64 long before their product.
"""

import math

import numpy as np
from scipy import special

from tenfold.arrays import Floats

LARGE_ARGUMENT = 1e6  # exp(-t) is zero long before, and K_nu is NaN from 1e9 on
TINY_ARGUMENT = 1e-100  # K_nu overflows near zero: t is taken as at least so much, and for large nu more


def matern_values(v: Floats, nu: float) -> Floats:
    """f(v)."""
    t = _argument(v, nu, nu)
    result = np.exp(_log_bessel(t, nu, nu) + (1.0 - nu) * math.log(2.0) - math.lgamma(nu))
    return np.where(v > 0.0, np.minimum(result, 1.0), 1.0)


def matern_slope(v: Floats, nu: float) -> Floats:
    """-2 f'(v); it is infinite at zero where nu <= 1, and zero is returned there, where it is multiplied by zero."""
    t = _argument(v, nu, abs(nu - 1.0))
    log = _log_bessel(t, nu - 1.0, abs(nu - 1.0)) + (2.0 - nu) * math.log(2.0) + math.log(nu) - math.lgamma(nu)
    result = np.exp(log)
    return np.where(v > 0.0, result, nu / (nu - 1.0) if nu > 1.0 else 0.0)


def _argument(v: Floats, nu: float, order: float) -> Floats:
    """t, not so small that K of this order overflows."""
    least = max(TINY_ARGUMENT, 2.0 * math.exp((math.lgamma(max(order, 1.0)) - 690.0) / max(order, 1.0)))
    return np.clip(np.sqrt(2.0 * nu * np.minimum(v, 1e300)), least, max(LARGE_ARGUMENT, least))


def _log_bessel(t: Floats, power: float, order: float) -> Floats:
    """log(t^power K_order(t))."""
    return power * np.log(t) + np.log(np.maximum(special.kve(order, t), 1e-300)) - t
