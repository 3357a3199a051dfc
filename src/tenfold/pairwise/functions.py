"""Functions of a pair of points: an elementwise function of their inner product or of a distance.

=================  ============================  ==========================================================
name               base v                        value, w = gamma v
=================  ============================  ==========================================================
inner              x.z                           v
polynomial         x.z                           (w + offset)^degree
sigmoid            x.z                           tanh(w + offset)
arcsine            x.z                           (2 / pi) arcsin(w)
squares            ||x - z||^2                   v
distance           ||x - z||^2                   sqrt(v)
gaussian           ||x - z||^2                   exp(-w)
exponential        ||x - z||^2                   exp(-gamma sqrt(v))
matern32           ||x - z||^2                   (1 + sqrt(3 w)) exp(-sqrt(3 w))
matern52           ||x - z||^2                   (1 + sqrt(5 w) + 5 w / 3) exp(-sqrt(5 w))
rational           ||x - z||^2                   (1 + w)^-degree
periodic           ||x - z||^2                   exp(-2 sin(gamma sqrt(v))^2 degree)
laplacian          sum_j |x_j - z_j|             exp(-w)
subsets            prod_j (1 + x_j z_j)          v
chi2               sum_j (x_j - z_j)^2 / (x_j + z_j)    exp(-w)
=================  ============================  ==========================================================

Each is multiplied by `scale`, and `shift` is added. Derivatives of kernels are such functions, too, and two more:
exponential_slope exp(-gamma sqrt(v)) / sqrt(v), zero at zero, and rational_slope
degree (1 + w)^-degree (w / (1 + w) - log(1 + w)).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tenfold.arrays import Array, Floats, namespace

INNER, SQUARES, SIZES, SUBSETS, CHI2 = range(5)  # codes of the bases of the compiled tiles
# codes of their elementwise functions
IDENTITY, ROOT, EXPONENTIAL, EXPONENTIAL_ROOT, POWER, TANGENT, ARCSINE = range(7)
MATERN32, MATERN52, RATIONAL, PERIODIC, EXPONENTIAL_SLOPE, RATIONAL_SLOPE = range(7, 13)
CODES = {
    "inner": (INNER, IDENTITY),
    "polynomial": (INNER, POWER),
    "sigmoid": (INNER, TANGENT),
    "arcsine": (INNER, ARCSINE),
    "squares": (SQUARES, IDENTITY),
    "distance": (SQUARES, ROOT),
    "gaussian": (SQUARES, EXPONENTIAL),
    "exponential": (SQUARES, EXPONENTIAL_ROOT),
    "matern32": (SQUARES, MATERN32),
    "matern52": (SQUARES, MATERN52),
    "rational": (SQUARES, RATIONAL),
    "periodic": (SQUARES, PERIODIC),
    "exponential_slope": (SQUARES, EXPONENTIAL_SLOPE),
    "rational_slope": (SQUARES, RATIONAL_SLOPE),
    "sizes": (SIZES, IDENTITY),
    "laplacian": (SIZES, EXPONENTIAL),
    "subsets": (SUBSETS, IDENTITY),
    "additive_chi2": (CHI2, IDENTITY),
    "chi2": (CHI2, EXPONENTIAL),
}
Name = Literal[
    "inner",
    "polynomial",
    "sigmoid",
    "arcsine",
    "squares",
    "distance",
    "gaussian",
    "exponential",
    "matern32",
    "matern52",
    "rational",
    "periodic",
    "exponential_slope",
    "rational_slope",
    "sizes",
    "laplacian",
    "subsets",
    "additive_chi2",
    "chi2",
]
OF_DISTANCE = (
    ROOT,
    EXPONENTIAL_ROOT,
    MATERN32,
    MATERN52,
    PERIODIC,
    EXPONENTIAL_SLOPE,
)  # functions of the root of a square


@dataclass(frozen=True)
class PairFunction:
    """One of the functions above, with the parameters that it reads."""

    name: Name
    gamma: float = 1.0
    offset: float = 0.0
    degree: float = 1.0
    scale: float = 1.0
    shift: float = 0.0

    @property
    def base(self) -> int:
        """What a tile holds before the function."""
        return CODES[self.name][0]

    @property
    def takes_root(self) -> bool:
        """Whether the function is of the distance, and not of its square."""
        return self.base == SQUARES and CODES[self.name][1] in OF_DISTANCE

    @property
    def arguments(self) -> tuple[int, int, float, float, float, float, float]:
        """The arguments of the compiled tiles."""
        numbers = (self.gamma, self.offset, self.degree, self.scale, self.shift)
        return (*CODES[self.name], *map(float, numbers))  # type: ignore[return-value]

    def evaluate(self, values: Array) -> Array:
        """The function of values of its base, where these are."""
        result = self._evaluate(values)
        result = result if self.scale == 1.0 else self.scale * result
        return result if self.shift == 0.0 else result + self.shift

    def _evaluate(self, v: Array) -> Array:
        xp, code, gamma = namespace(v), CODES[self.name][1], self.gamma
        if code == ROOT:
            return xp.sqrt(v)
        if code == EXPONENTIAL:
            return xp.exp(-gamma * v)
        if code == EXPONENTIAL_ROOT:
            return xp.exp(-gamma * xp.sqrt(v))
        if code == POWER:
            return (gamma * v + self.offset) ** self.degree
        if code == TANGENT:
            return xp.tanh(gamma * v + self.offset)
        if code == ARCSINE:
            return (2.0 / np.pi) * xp.asin(xp.clip(gamma * v, -1.0, 1.0))
        if code == RATIONAL:
            return (1.0 + gamma * v) ** -self.degree
        if code == EXPONENTIAL_SLOPE:
            r = xp.sqrt(v)
            return xp.where(v > 0.0, xp.exp(-gamma * r) / xp.where(v > 0.0, r, 1.0 + r), 0.0 * r)
        if code == RATIONAL_SLOPE:
            w = gamma * v
            log = xp.log1p(w)
            return self.degree * xp.exp(-self.degree * log) * (w / (1.0 + w) - log)
        if code == PERIODIC:
            return xp.exp((-2.0 * self.degree) * xp.sin(gamma * xp.sqrt(v)) ** 2)
        if code in (MATERN32, MATERN52):
            return self._evaluate_matern(v, 3.0 if code == MATERN32 else 5.0)
        return v

    def _evaluate_matern(self, v: Array, m: float) -> Array:
        xp = namespace(v)
        w = xp.clip(m * self.gamma * v, 0.0, 1e6)  # the exponential is zero from there: no infinity times zero
        r = xp.sqrt(w)
        return (1.0 + r if m == 3.0 else 1.0 + r + w / 3.0) * xp.exp(-r)

    def diagonal(self, squares: Array) -> Array:
        """The values of points with themselves, from their squared lengths (n,); not of the subsets, which need the
        points.
        """
        return self.evaluate(squares if self.base == INNER else namespace(squares).zeros_like(squares))


def compute_squared_lengths(X: Floats) -> Floats:
    """||x_i||^2 (n,) in float64."""
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
