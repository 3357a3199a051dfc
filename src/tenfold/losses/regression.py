"""Losses of regression, of the errors z - y."""

from dataclasses import dataclass
from typing import ClassVar

from tenfold.arrays import Array, namespace
from tenfold.losses.loss import Pieces, Plain, between, positive_part, within


@dataclass(frozen=True)
class Square(Plain):
    """Square loss (z - y)^2 / 2: Gaussian noise of unit variance."""

    name: ClassVar[str] = "square"
    link: ClassVar[str | None] = "identity"

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def self_concordance(self) -> float:
        return 0.0

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
class EpsilonInsensitive(Plain):
    """max(0, |z - y| - epsilon): errors inside the tube cost nothing."""

    epsilon: float
    name: ClassVar[str] = "epsilon insensitive"
    nonsmooth: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        return float(self.epsilon)

    def value(self, y: Array, z: Array) -> Array:
        return positive_part(namespace(z).abs(z - y) - self.epsilon)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(xp.abs(z - y) - self.epsilon > 0, xp.sign(z - y), xp.zeros_like(z))

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        size = namespace(u).abs(u)
        return within(size <= 1, u * y + self.epsilon * size)

    def clip(self, y: Array, u: Array) -> Array:
        return between(-1.0, u, 1.0)

    def pieces(self, y: Array) -> Pieces:
        xp, at = namespace(y), y[:, None]
        one, none = xp.ones_like(at), xp.zeros_like(at)
        if self.epsilon == 0:
            return Pieces(at, one, one)
        ends = xp.concat([at - self.epsilon, at + self.epsilon], axis=1)
        return Pieces(ends, xp.concat([one, none], axis=1), xp.concat([none, one], axis=1))


@dataclass(frozen=True)
class Laplace(EpsilonInsensitive):
    """Absolute error |z - y|: Laplace noise, the median."""

    epsilon: float = 0.0


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Plain):
    """max(0, |z - y| - epsilon)^2."""

    epsilon: float
    name: ClassVar[str] = "squared epsilon insensitive"

    @property
    def lipschitz(self) -> float:
        return 2.0

    @property
    def parameter(self) -> float:
        return float(self.epsilon)

    def _outside(self, y: Array, z: Array) -> Array:
        return positive_part(namespace(z).abs(z - y) - self.epsilon)

    def value(self, y: Array, z: Array) -> Array:
        return self._outside(y, z) ** 2

    def slope(self, y: Array, z: Array) -> Array:
        return 2.0 * namespace(z).sign(z - y) * self._outside(y, z)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(self._outside(y, z) > 0, 2.0 * xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        return u * y + self.epsilon * namespace(u).abs(u) + 0.25 * u * u

    def clip(self, y: Array, u: Array) -> Array:
        return u


@dataclass(frozen=True)
class Huber(Plain):
    """Huber loss: (z - y)^2 / 2 up to |z - y| = width, linear beyond."""

    width: float
    name: ClassVar[str] = "huber"

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def parameter(self) -> float:
        return float(self.width)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        size = xp.abs(z - y)
        return xp.where(size <= self.width, 0.5 * size * size, self.width * size - 0.5 * self.width**2)

    def slope(self, y: Array, z: Array) -> Array:
        return between(-self.width, z - y, self.width)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(xp.abs(z - y) <= self.width, xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        return within(namespace(u).abs(u) <= self.width, 0.5 * u * u + u * y)

    def clip(self, y: Array, u: Array) -> Array:
        return between(-self.width, u, self.width)


@dataclass(frozen=True)
class Quantile(Plain):
    """q (y - z) below y, (1 - q) (z - y) above: the q-th quantile, 0 < q < 1."""

    q: float
    name: ClassVar[str] = "quantile"
    nonsmooth: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        return float(self.q)

    def value(self, y: Array, z: Array) -> Array:
        return self.slope(y, z) * (z - y)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        above, below = (1.0 - self.q) * xp.ones_like(z), -self.q * xp.ones_like(z)
        return xp.where(z > y, above, xp.where(z < y, below, xp.zeros_like(z)))

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        return within((u >= -self.q) & (u <= 1.0 - self.q), u * y)

    def clip(self, y: Array, u: Array) -> Array:
        return between(-self.q, u, 1.0 - self.q)

    def pieces(self, y: Array) -> Pieces:
        at, one = y[:, None], namespace(y).ones_like(y[:, None])
        return Pieces(at, self.q * one, (1.0 - self.q) * one)


@dataclass(frozen=True)
class Student(Plain):
    """(nu + 1) / 2 log(1 + (z - y)^2 / nu): Student's t noise, with little influence of outliers. Not convex."""

    nu: float
    name: ClassVar[str] = "student"
    convex: ClassVar[bool] = False

    @property
    def parameter(self) -> float:
        return float(self.nu)

    @property
    def lipschitz(self) -> float:
        return (self.nu + 1.0) / self.nu

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * (self.nu + 1.0) * namespace(z).log1p((z - y) ** 2 / self.nu)

    def slope(self, y: Array, z: Array) -> Array:
        return self.curvature(y, z) * (z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        return (self.nu + 1.0) / (self.nu + (z - y) ** 2)
