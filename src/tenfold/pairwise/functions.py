"""Functions of a pair of points: an elementwise function of their inner product or of their squared distance.

=================  ================  ==============================
name               base v            value
=================  ================  ==============================
inner              x.z               v
polynomial         x.z               (gamma v + offset)^degree
sigmoid            x.z               tanh(gamma v + offset)
squares            ||x - z||^2       v
distance           ||x - z||^2       sqrt(v)
gaussian           ||x - z||^2       exp(-gamma v)
exponential        ||x - z||^2       exp(-gamma sqrt(v))
=================  ================  ==============================
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tenfold.arrays import Array, Floats, namespace

INNER, SQUARES = 0, 1  # codes of the bases of the compiled tiles
IDENTITY, ROOT, EXPONENTIAL, EXPONENTIAL_ROOT, POWER, TANGENT = range(6)  # codes of their elementwise functions
CODES = {
    "inner": (INNER, IDENTITY),
    "polynomial": (INNER, POWER),
    "sigmoid": (INNER, TANGENT),
    "squares": (SQUARES, IDENTITY),
    "distance": (SQUARES, ROOT),
    "gaussian": (SQUARES, EXPONENTIAL),
    "exponential": (SQUARES, EXPONENTIAL_ROOT),
}
Name = Literal["inner", "polynomial", "sigmoid", "squares", "distance", "gaussian", "exponential"]


@dataclass(frozen=True)
class PairFunction:
    """One of the functions above, with the parameters that it reads."""

    name: Name
    gamma: float = 1.0
    offset: float = 0.0
    degree: float = 1.0

    @property
    def base(self) -> int:
        """INNER or SQUARES: what a tile holds before the function."""
        return CODES[self.name][0]

    @property
    def takes_root(self) -> bool:
        """Whether the function is of the distance, and not of its square."""
        return CODES[self.name][1] in (ROOT, EXPONENTIAL_ROOT)

    @property
    def arguments(self) -> tuple[int, int, float, float, float]:
        """The arguments of the compiled tiles."""
        return (*CODES[self.name], float(self.gamma), float(self.offset), float(self.degree))

    def evaluate(self, values: Array) -> Array:
        """The function of inner products or squared distances, where these are."""
        xp, code = namespace(values), CODES[self.name][1]
        if code == ROOT:
            return xp.sqrt(values)
        if code == EXPONENTIAL:
            return xp.exp(-self.gamma * values)
        if code == EXPONENTIAL_ROOT:
            return xp.exp(-self.gamma * xp.sqrt(values))
        if code == POWER:
            return (self.gamma * values + self.offset) ** self.degree
        return xp.tanh(self.gamma * values + self.offset) if code == TANGENT else values

    def diagonal(self, squares: Array) -> Array:
        """The values of points with themselves, from their squared lengths (n,)."""
        return self.evaluate(squares if self.base == INNER else namespace(squares).zeros_like(squares))


def compute_squared_lengths(X: Floats) -> Floats:
    """||x_i||^2 (n,) in float64."""
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
