"""Losses of the raw prediction z, each with its slope, curvature and convex conjugate; written in the Array API.

``slope`` and ``curvature`` are the first and second derivative in z, ``conjugate(y, u) = sup_z u z - loss(y, z)`` is
infinite outside the domain of u. Fenchel and Young: ``loss(y, z) + conjugate(y, u) >= u z``, with equality where u is
the slope at z.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from tenfold.arrays import Array, falling_sigmoid, namespace, softplus


class Loss(Protocol):
    """What a loss knows. `name` is also the name of its compiled loop."""

    name: ClassVar[str]
    smoothness: ClassVar[float]
    """The largest curvature."""

    def value(self, y: Array, z: Array) -> Array: ...
    def slope(self, y: Array, z: Array) -> Array: ...
    def curvature(self, y: Array, z: Array) -> Array: ...
    def conjugate(self, y: Array, u: Array) -> Array: ...
    def clip(self, y: Array, u: Array) -> Array:
        """The point nearest to u at which the conjugate is finite."""
        ...


@dataclass(frozen=True)
class Square:
    """Square loss (z - y)^2 / 2: Gaussian noise of unit variance."""

    name: ClassVar[str] = "square"
    smoothness: ClassVar[float] = 1.0

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def slope(self, y: Array, z: Array) -> Array:
        return z - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).ones_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        return 0.5 * u**2 + u * y

    def clip(self, y: Array, u: Array) -> Array:
        return u


@dataclass(frozen=True)
class Logistic:
    """Logistic loss log(1 + exp(-y z)) for y in {-1, +1}: y z are the log odds of a right answer."""

    name: ClassVar[str] = "logistic"
    smoothness: ClassVar[float] = 0.25

    def value(self, y: Array, z: Array) -> Array:
        return softplus(-y * z)

    def wrong(self, s: Array) -> Array:
        """The probability 1 / (1 + e^s) of the other class."""
        return falling_sigmoid(s)

    def slope(self, y: Array, z: Array) -> Array:
        return -y * self.wrong(y * z)

    def curvature(self, y: Array, z: Array) -> Array:
        return self.wrong(z) * self.wrong(-z)

    def conjugate(self, y: Array, u: Array) -> Array:
        xp = namespace(u)
        a = -y * u
        inside = (a >= 0) & (a <= 1)
        a = xp.where(inside, a, 0.5 * xp.ones_like(a))
        value = _x_log_x(a) + _x_log_x(1.0 - a)
        return xp.where(inside, value, xp.full_like(value, xp.inf))

    def clip(self, y: Array, u: Array) -> Array:
        xp = namespace(u)
        a = -y * u
        a = xp.where(a < 0, xp.zeros_like(a), a)
        a = xp.where(a > 1, xp.ones_like(a), a)
        return -y * a


def _x_log_x(a: Array) -> Array:
    """a log a with its limit 0 at a = 0."""
    xp = namespace(a)
    positive = a > 0
    return xp.where(positive, a * xp.log(xp.where(positive, a, xp.ones_like(a))), xp.zeros_like(a))
