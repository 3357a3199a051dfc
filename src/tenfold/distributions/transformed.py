"""Change of variables: the distribution of a monotone function of a random number."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats


@dataclass(frozen=True)
class Transformed:
    """The distribution of y = g(x), g monotone, where x has a distribution of SciPy: p_y(y) = p_x(h(y)) |h'(y)|, h the
    inverse of g.

    Parameters
    ----------
    base : frozen distribution
        That of x, with `logpdf`, `cdf` and `rvs`.
    forward : callable
        The function g of an array.
    inverse : callable
        Its inverse h.
    slope : callable
        The derivative h'.

    Examples
    --------
    The square root of a Gamma(1/2, 1) variable has a half-normal density, with the density 2 / pi^(1/2) at zero.

    >>> import numpy as np
    >>> import scipy.stats
    >>> from tenfold.distributions import Transformed
    >>> root = Transformed(scipy.stats.gamma(0.5), np.sqrt, np.square, lambda y: 2.0 * y)
    >>> bool(np.isclose(root.pdf(1.0), 2.0 / np.sqrt(np.pi) * np.exp(-1.0)))
    True
    """

    base: Any
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def logpdf(self, y: Any) -> Floats:
        """The log density at `y`."""
        y = np.asarray(y, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(self.base.logpdf(self.inverse(y)) + np.log(np.abs(self.slope(y))))

    def pdf(self, y: Any) -> Floats:
        """The density at `y`."""
        return np.exp(self.logpdf(y))

    def cdf(self, y: Any) -> Floats:
        """The probability of at most `y`."""
        y = np.asarray(y, dtype=np.float64)
        below = np.asarray(self.base.cdf(self.inverse(y)))
        return np.where(np.asarray(self.slope(y)) >= 0.0, below, 1.0 - below)

    def rvs(self, size: Any = 1, random_state: Any = None) -> Floats:
        """Draws of this `size`; `random_state` is the seed."""
        return np.asarray(self.forward(self.base.rvs(size=size, random_state=random_state)))
