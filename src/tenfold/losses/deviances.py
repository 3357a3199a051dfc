"""Losses of generalised linear models: half of the deviances of the Tweedie family, for counts and positive targets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tenfold.arrays import Array, namespace
from tenfold.losses.loss import Loss, Plain, between, within, x_log_x
from tenfold.losses.regression import Square


@dataclass(frozen=True)
class Poisson(Plain):
    """Half of the deviance of Poisson counts y >= 0 with mean e^z: e^z - y z + y log y - y."""

    name: ClassVar[str] = "poisson"
    link: ClassVar[str | None] = "log"

    @property
    def self_concordance(self) -> float:
        return 1.0

    def value(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z) - y * z + (x_log_x(y) - y)

    def rounding(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return (1.0 + xp.abs(z)) * xp.exp(z) + y * xp.abs(z) + xp.abs(x_log_x(y)) + y

    def slope(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z) - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        mean = u + y
        return within(mean >= 0, x_log_x(mean) - mean - (x_log_x(y) - y))

    def clip(self, y: Array, u: Array) -> Array:
        return namespace(u).where(u + y < 0, -y, u)

    def recession(self, y: Array, d: Array) -> Array:
        return _towards_zero(y, d)


@dataclass(frozen=True)
class Gamma(Plain):
    """Half of the deviance of the Gamma distribution, y > 0 with mean e^z: z + y e^-z - log y - 1."""

    name: ClassVar[str] = "gamma"
    link: ClassVar[str | None] = "log"

    @property
    def self_concordance(self) -> float:
        return 1.0

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return z + y * xp.exp(-z) - xp.log(y) - 1.0

    def rounding(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.abs(z) + (1.0 + xp.abs(z)) * y * xp.exp(-z) + xp.abs(xp.log(y)) + 1.0

    def slope(self, y: Array, z: Array) -> Array:
        return 1.0 - y * namespace(z).exp(-z)

    def curvature(self, y: Array, z: Array) -> Array:
        return y * namespace(z).exp(-z)

    def conjugate(self, y: Array, u: Array) -> Array:
        # y e^-z = 1 - u at the supremum
        rest = 1.0 - u
        return within(rest >= 0, x_log_x(rest) + u * namespace(u).log(y) + u)

    def clip(self, y: Array, u: Array) -> Array:
        return between(-np.inf, u, 1.0)


@dataclass(frozen=True)
class Tweedie(Plain):
    """Half of the deviance of Tweedie's family of a power 1 < p < 2, y >= 0, of mean e^z:
    y^(2-p) / ((1-p)(2-p)) - y e^((1-p)z) / (1-p) + e^((2-p)z) / (2-p).
    """

    power: float
    name: ClassVar[str] = "tweedie"
    link: ClassVar[str | None] = "log"

    @property
    def parameter(self) -> float:
        return float(self.power)

    @property
    def self_concordance(self) -> float:
        return max(self.power - 1.0, 2.0 - self.power)

    def _parts(self, y: Array, z: Array) -> tuple[Array, Array]:
        """y e^((1-p)z) and e^((2-p)z)."""
        xp = namespace(z)
        return y * xp.exp((1.0 - self.power) * z), xp.exp((2.0 - self.power) * z)

    def value(self, y: Array, z: Array) -> Array:
        return _deviance_constant(y, self.power) + _deviance_at(y, z, self.power)

    def rounding(self, y: Array, z: Array) -> Array:
        # large near the powers 1 and 2
        size, decreasing, increasing = namespace(z).abs(z), *self._parts(y, z)
        below, above = self.power - 1.0, 2.0 - self.power
        parts = (1.0 + below * size) * decreasing / below + (1.0 + above * size) * increasing / above
        return parts - _deviance_constant(y, self.power)

    def slope(self, y: Array, z: Array) -> Array:
        decreasing, increasing = self._parts(y, z)
        return increasing - decreasing

    def curvature(self, y: Array, z: Array) -> Array:
        decreasing, increasing = self._parts(y, z)
        return (2.0 - self.power) * increasing - (1.0 - self.power) * decreasing

    def conjugate(self, y: Array, u: Array) -> Array:
        xp = namespace(u)
        inside = (u >= 0) | (y > 0)
        low, high = -self._reach * xp.ones_like(u), self._reach * xp.ones_like(u)
        for _ in range(64):  # the slope rises with z
            middle = 0.5 * (low + high)
            below = self.slope(y, middle) < u
            low, high = xp.where(below, middle, low), xp.where(below, high, middle)
        z = 0.5 * (low + high)
        value = u * z - self.value(y, z)
        # for y = 0 the supremum at u = 0 is not attained
        return within(inside, xp.where((u == 0) & (y == 0), xp.zeros_like(u), value))

    @property
    def _reach(self) -> float:
        """The |z| beyond which an exponential overflows."""
        return 700.0 / max(self.power - 1.0, 2.0 - self.power)

    def clip(self, y: Array, u: Array) -> Array:
        return namespace(u).where((y == 0) & (u < 0), namespace(u).zeros_like(u), u)

    def recession(self, y: Array, d: Array) -> Array:
        return _towards_zero(y, d)


@dataclass(frozen=True)
class LogDeviance(Plain):
    """The formula of `Tweedie` for any power but 1 and 2; not convex outside of 1 < p < 2. The curvature is the Fisher
    information.
    """

    power: float
    name: ClassVar[str] = "log deviance"
    convex: ClassVar[bool] = False
    link: ClassVar[str | None] = "log"

    @property
    def parameter(self) -> float:
        return float(self.power)

    def value(self, y: Array, z: Array) -> Array:
        return _deviance_constant(y, self.power) + _deviance_at(y, z, self.power)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.exp((2.0 - self.power) * z) - y * xp.exp((1.0 - self.power) * z)

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).exp((2.0 - self.power) * z)


@dataclass(frozen=True)
class IdentityDeviance(Plain):
    """Half of the deviance of the Tweedie family of any power but 0, with mean z > 0; infinite elsewhere. The curvature
    is the Fisher information.
    """

    power: float
    name: ClassVar[str] = "identity deviance"
    convex: ClassVar[bool] = False
    link: ClassVar[str | None] = "identity"

    @property
    def parameter(self) -> float:
        return float(self.power)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        mean = self._mean(z)
        log = xp.log(mean)
        if self.power == 1.0:
            value = x_log_x(y) - y + mean - y * log
        elif self.power == 2.0:
            value = log - xp.log(y) + y / mean - 1.0
        else:
            value = _deviance_constant(y, self.power) + _deviance_at(y, log, self.power)
        return within(z > 0, value)

    def _mean(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(z > 0, z, xp.ones_like(z))

    def slope(self, y: Array, z: Array) -> Array:
        return self.curvature(y, z) * (z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(z > 0, self._mean(z) ** -self.power, xp.zeros_like(z))


def deviance(power: float, link: str) -> Loss:
    """Half of the deviance of the Tweedie family with mean z or e^z: link "identity" or "log"."""
    if link == "identity":
        return Square() if power == 0 else IdentityDeviance(power)
    if power == 1:
        return Poisson()
    if power == 2:
        return Gamma()
    return Tweedie(power) if 1 < power < 2 else LogDeviance(power)


def _deviance_constant(y: Array, power: float) -> Array:
    """max(y, 0)^(2-p) / ((1-p)(2-p)), with which the least value is zero; at power 0 the y^2 / 2 of a square."""
    if power == 0.0:
        return 0.5 * y * y
    xp = namespace(y)
    root = xp.where(y > 0, xp.where(y > 0, y, xp.ones_like(y)) ** (2.0 - power), xp.zeros_like(y))
    return root / ((1.0 - power) * (2.0 - power))


def _deviance_at(y: Array, z: Array, power: float) -> Array:
    """e^((2-p)z) / (2-p) - y e^((1-p)z) / (1-p)."""
    xp = namespace(z)
    return xp.exp((2.0 - power) * z) / (2.0 - power) - y * xp.exp((1.0 - power) * z) / (1.0 - power)


def _towards_zero(y: Array, d: Array) -> Array:
    """The recession of counts: where they are zero, the mean may go to zero."""
    xp = namespace(d)
    return xp.where(y == 0, -d, -xp.abs(d))
