"""Losses of the raw prediction z, each with its slope, curvature and convex conjugate; written in the Array API.

``slope`` and ``curvature`` are the first and second derivative in z, ``conjugate(y, u) = sup_z u z - loss(y, z)`` is
infinite outside the domain of u. Fenchel and Young: ``loss(y, z) + conjugate(y, u) >= u z``, with equality where u is
the slope at z. No loss is negative, and its least value over z is zero: u = 0 is always in the domain, and the
conjugate there is zero.

A loss with a kink has the slope of one side there, or zero between the two. A loss that is not convex has no
conjugate, and as curvature that of a parabola above it that touches it at z, or, for deviances, Fisher's: what is
expected of the second derivative when the model is right.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from tenfold.arrays import Array, falling_sigmoid, like, namespace, softplus


class Loss(Protocol):
    """What a loss knows. `name` is also the name of its compiled loop, `parameter` the number that goes with it."""

    name: ClassVar[str]
    convex: ClassVar[bool]
    kinked: ClassVar[bool]
    """Whether the slope jumps."""
    signs: ClassVar[bool]
    """Whether targets are -1 and +1."""
    joint: ClassVar[bool]
    """Whether several raw predictions of a row have one loss together."""
    link: ClassVar[str | None]
    """How z stands for the mean of the targets, which is then the best constant: "identity", "log", or None."""

    @property
    def parameter(self) -> float: ...
    @property
    def smoothness(self) -> float:
        """The largest curvature, infinite where there is none."""
        ...

    @property
    def steepness(self) -> float:
        """The least M with |loss'''| <= M loss'', infinite where there is none."""
        ...

    def value(self, y: Array, z: Array) -> Array: ...
    def slope(self, y: Array, z: Array) -> Array: ...
    def curvature(self, y: Array, z: Array) -> Array: ...
    def bend(self, y: Array, z: Array, dz: Array) -> Array:
        """The second derivative along dz."""
        ...

    def conjugate(self, y: Array, u: Array) -> Array: ...
    def clip(self, y: Array, u: Array) -> Array:
        """The point nearest to u at which the conjugate is finite."""
        ...

    def recession(self, y: Array, d: Array) -> Array:
        """At least zero where the loss never grows when z moves along d for ever; positive where it falls then."""
        ...


class Pieces(NamedTuple):
    """A loss that is piecewise linear, as a sum over the last axis of ``up (at - z)_+ + down (z - at)_+``."""

    at: Array
    up: Array
    down: Array


class PiecewiseLinear(Loss, Protocol):
    """A loss with kinks, and straight between them."""

    def pieces(self, y: Array) -> Pieces:
        """Its pieces (n, k) for targets (n,)."""
        ...


class _Plain:
    """What most losses have in common."""

    convex: ClassVar[bool] = True
    kinked: ClassVar[bool] = False
    signs: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    link: ClassVar[str | None] = None

    @property
    def parameter(self) -> float:
        return 0.0

    @property
    def smoothness(self) -> float:
        return np.inf

    @property
    def steepness(self) -> float:
        return np.inf

    def curvature(self, y: Array, z: Array) -> Array:
        raise NotImplementedError

    def bend(self, y: Array, z: Array, dz: Array) -> Array:
        return self.curvature(y, z) * dz * dz

    def conjugate(self, y: Array, u: Array) -> Array:
        raise TypeError(f"{type(self).__name__} is not convex: it has no conjugate.")

    def clip(self, y: Array, u: Array) -> Array:
        raise TypeError(f"{type(self).__name__} is not convex: it has no conjugate.")

    def recession(self, y: Array, d: Array) -> Array:
        return y * d if self.signs else -namespace(d).abs(d)


@dataclass(frozen=True)
class Square(_Plain):
    """Square loss (z - y)^2 / 2: Gaussian noise of unit variance."""

    name: ClassVar[str] = "square"
    link: ClassVar[str | None] = "identity"

    @property
    def smoothness(self) -> float:
        return 1.0

    @property
    def steepness(self) -> float:
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
class Logistic(_Plain):
    """Logistic loss log(1 + exp(-y z)) for y in {-1, +1}: y z are the log odds of a right answer."""

    name: ClassVar[str] = "logistic"
    signs: ClassVar[bool] = True

    @property
    def smoothness(self) -> float:
        return 0.25

    @property
    def steepness(self) -> float:
        return 1.0

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
        return -y * _between(0.0, -y * u, 1.0)


@dataclass(frozen=True)
class Hinge(_Plain):
    """Hinge loss max(0, 1 - y z) for y in {-1, +1}."""

    name: ClassVar[str] = "hinge"
    kinked: ClassVar[bool] = True
    signs: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return _positive(1.0 - y * z)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(1.0 - y * z > 0, -y, xp.zeros_like(z))

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return _within((a >= 0) & (a <= 1), -a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * _between(0.0, -y * u, 1.0)

    def pieces(self, y: Array) -> Pieces:
        at, one = y[:, None], namespace(y).ones_like(y[:, None])
        return Pieces(at, _positive(at) * one, _positive(-at) * one)


@dataclass(frozen=True)
class SquaredHinge(_Plain):
    """Squared hinge loss max(0, 1 - y z)^2 for y in {-1, +1}."""

    name: ClassVar[str] = "squared hinge"
    signs: ClassVar[bool] = True

    @property
    def smoothness(self) -> float:
        return 2.0

    def value(self, y: Array, z: Array) -> Array:
        return _positive(1.0 - y * z) ** 2

    def slope(self, y: Array, z: Array) -> Array:
        return -2.0 * y * _positive(1.0 - y * z)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(1.0 - y * z > 0, 2.0 * xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return _within(a >= 0, 0.25 * a * a - a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * _positive(-y * u)


@dataclass(frozen=True)
class ModifiedHuber(_Plain):
    """max(0, 1 - y z)^2 for y z >= -1, below it along the tangent, -4 y z, for y in {-1, +1}: the squared hinge with
    slopes of at most 4 (Zhang, 2004).
    """

    name: ClassVar[str] = "modified huber"
    signs: ClassVar[bool] = True

    @property
    def smoothness(self) -> float:
        return 2.0

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(y * z >= -1.0, _positive(1.0 - y * z) ** 2, -4.0 * y * z)

    def slope(self, y: Array, z: Array) -> Array:
        return -y * _between(0.0, 2.0 * (1.0 - y * z), 4.0)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        m = y * z
        return xp.where((m < 1.0) & (m >= -1.0), 2.0 * xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return _within((a >= 0) & (a <= 4), 0.25 * a * a - a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * _between(0.0, -y * u, 4.0)


@dataclass(frozen=True)
class EpsilonInsensitive(_Plain):
    """max(0, |z - y| - epsilon): errors inside the tube cost nothing."""

    epsilon: float
    name: ClassVar[str] = "epsilon insensitive"
    kinked: ClassVar[bool] = True

    @property
    def parameter(self) -> float:
        return float(self.epsilon)

    def value(self, y: Array, z: Array) -> Array:
        return _positive(namespace(z).abs(z - y) - self.epsilon)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(xp.abs(z - y) - self.epsilon > 0, xp.sign(z - y), xp.zeros_like(z))

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        size = namespace(u).abs(u)
        return _within(size <= 1, u * y + self.epsilon * size)

    def clip(self, y: Array, u: Array) -> Array:
        return _between(-1.0, u, 1.0)

    def pieces(self, y: Array) -> Pieces:
        xp, at = namespace(y), y[:, None]
        one, none = xp.ones_like(at), xp.zeros_like(at)
        if self.epsilon == 0:
            return Pieces(at, one, one)
        ends = xp.concat([at - self.epsilon, at + self.epsilon], axis=1)
        return Pieces(ends, xp.concat([one, none], axis=1), xp.concat([none, one], axis=1))


@dataclass(frozen=True)
class Laplace(EpsilonInsensitive):
    """Absolute error |z - y|: noise of Laplace, the median."""

    epsilon: float = 0.0


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(_Plain):
    """max(0, |z - y| - epsilon)^2."""

    epsilon: float
    name: ClassVar[str] = "squared epsilon insensitive"

    @property
    def smoothness(self) -> float:
        return 2.0

    @property
    def parameter(self) -> float:
        return float(self.epsilon)

    def _outside(self, y: Array, z: Array) -> Array:
        return _positive(namespace(z).abs(z - y) - self.epsilon)

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
class Huber(_Plain):
    """(z - y)^2 / 2 up to |z - y| = width, from there on along the tangent."""

    width: float
    name: ClassVar[str] = "huber"

    @property
    def smoothness(self) -> float:
        return 1.0

    @property
    def parameter(self) -> float:
        return float(self.width)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        size = xp.abs(z - y)
        return xp.where(size <= self.width, 0.5 * size * size, self.width * size - 0.5 * self.width**2)

    def slope(self, y: Array, z: Array) -> Array:
        return _between(-self.width, z - y, self.width)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(xp.abs(z - y) <= self.width, xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        return _within(namespace(u).abs(u) <= self.width, 0.5 * u * u + u * y)

    def clip(self, y: Array, u: Array) -> Array:
        return _between(-self.width, u, self.width)


@dataclass(frozen=True)
class Quantile(_Plain):
    """q (y - z) below y, (1 - q) (z - y) above: the q-th quantile, 0 < q < 1."""

    q: float
    name: ClassVar[str] = "quantile"
    kinked: ClassVar[bool] = True

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
        return _within((u >= -self.q) & (u <= 1.0 - self.q), u * y)

    def clip(self, y: Array, u: Array) -> Array:
        return _between(-self.q, u, 1.0 - self.q)

    def pieces(self, y: Array) -> Pieces:
        at, one = y[:, None], namespace(y).ones_like(y[:, None])
        return Pieces(at, self.q * one, (1.0 - self.q) * one)


@dataclass(frozen=True)
class Poisson(_Plain):
    """Half of the deviance of Poisson counts y >= 0 of mean e^z: e^z - y z + y log y - y."""

    name: ClassVar[str] = "poisson"
    link: ClassVar[str | None] = "log"

    @property
    def steepness(self) -> float:
        return 1.0

    def value(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z) - y * z + (_x_log_x(y) - y)

    def slope(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z) - y

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).exp(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        mean = u + y
        return _within(mean >= 0, _x_log_x(mean) - mean - (_x_log_x(y) - y))

    def clip(self, y: Array, u: Array) -> Array:
        return namespace(u).where(u + y < 0, -y, u)

    def recession(self, y: Array, d: Array) -> Array:
        return _towards_zero(y, d)


@dataclass(frozen=True)
class Gamma(_Plain):
    """Half of the deviance of the Gamma distribution, y > 0, of mean e^z: z + y e^-z - log y - 1."""

    name: ClassVar[str] = "gamma"
    link: ClassVar[str | None] = "log"

    @property
    def steepness(self) -> float:
        return 1.0

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return z + y * xp.exp(-z) - xp.log(y) - 1.0

    def slope(self, y: Array, z: Array) -> Array:
        return 1.0 - y * namespace(z).exp(-z)

    def curvature(self, y: Array, z: Array) -> Array:
        return y * namespace(z).exp(-z)

    def conjugate(self, y: Array, u: Array) -> Array:
        # y e^-z = 1 - u at the supremum
        rest = 1.0 - u
        return _within(rest >= 0, _x_log_x(rest) + u * namespace(u).log(y) + u)

    def clip(self, y: Array, u: Array) -> Array:
        return _between(-np.inf, u, 1.0)


@dataclass(frozen=True)
class Tweedie(_Plain):
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
    def steepness(self) -> float:
        return max(self.power - 1.0, 2.0 - self.power)

    def _parts(self, y: Array, z: Array) -> tuple[Array, Array]:
        """y e^((1-p)z) and e^((2-p)z)."""
        xp = namespace(z)
        return y * xp.exp((1.0 - self.power) * z), xp.exp((2.0 - self.power) * z)

    def value(self, y: Array, z: Array) -> Array:
        return _deviance_constant(y, self.power) + _deviance_at(y, z, self.power)

    def slope(self, y: Array, z: Array) -> Array:
        falling, rising = self._parts(y, z)
        return rising - falling

    def curvature(self, y: Array, z: Array) -> Array:
        falling, rising = self._parts(y, z)
        return (2.0 - self.power) * rising - (1.0 - self.power) * falling

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
        # without y the supremum at u = 0 is reached at no z
        return _within(inside, xp.where((u == 0) & (y == 0), xp.zeros_like(u), value))

    @property
    def _reach(self) -> float:
        """Beyond this margin an exponential is out of range."""
        return 700.0 / max(self.power - 1.0, 2.0 - self.power)

    def clip(self, y: Array, u: Array) -> Array:
        return namespace(u).where((y == 0) & (u < 0), namespace(u).zeros_like(u), u)

    def recession(self, y: Array, d: Array) -> Array:
        return _towards_zero(y, d)


@dataclass(frozen=True)
class LogDeviance(_Plain):
    """The formula of `Tweedie` for any power but 1 and 2: not convex outside of 1 < p < 2. Curvature is Fisher's."""

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
class IdentityDeviance(_Plain):
    """Half of the deviance of Tweedie's family of any power but 0, of mean z > 0; infinite elsewhere. Curvature is
    Fisher's.
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
            value = _x_log_x(y) - y + mean - y * log
        elif self.power == 2.0:
            value = log - xp.log(y) + y / mean - 1.0
        else:
            value = _deviance_constant(y, self.power) + _deviance_at(y, log, self.power)
        return _within(z > 0, value)

    def _mean(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(z > 0, z, xp.ones_like(z))

    def slope(self, y: Array, z: Array) -> Array:
        return self.curvature(y, z) * (z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(z > 0, self._mean(z) ** -self.power, xp.zeros_like(z))


def deviance(power: float, link: str) -> Loss:
    """Half of the deviance of Tweedie's family, of the mean z or e^z: link "identity" or "log"."""
    if link == "identity":
        return Square() if power == 0 else IdentityDeviance(power)
    if power == 1:
        return Poisson()
    if power == 2:
        return Gamma()
    return Tweedie(power) if 1 < power < 2 else LogDeviance(power)


@dataclass(frozen=True)
class Student(_Plain):
    """(nu + 1) / 2 log(1 + (z - y)^2 / nu): noise of Student; errors that are large hardly pull. Not convex."""

    nu: float
    name: ClassVar[str] = "student"
    convex: ClassVar[bool] = False

    @property
    def parameter(self) -> float:
        return float(self.nu)

    @property
    def smoothness(self) -> float:
        return (self.nu + 1.0) / self.nu

    def value(self, y: Array, z: Array) -> Array:
        return 0.5 * (self.nu + 1.0) * namespace(z).log1p((z - y) ** 2 / self.nu)

    def slope(self, y: Array, z: Array) -> Array:
        return self.curvature(y, z) * (z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        return (self.nu + 1.0) / (self.nu + (z - y) ** 2)


@dataclass(frozen=True)
class Tanh(_Plain):
    """1 - tanh(y z) for y in {-1, +1}: at most 2, so that outliers hardly pull. Not convex."""

    name: ClassVar[str] = "tanh"
    convex: ClassVar[bool] = False
    signs: ClassVar[bool] = True

    @property
    def smoothness(self) -> float:
        return 4.0 / 27.0**0.5

    def _small(self, s: Array) -> Array:
        """1 - tanh(|s|), to full relative accuracy."""
        xp = namespace(s)
        e = xp.exp(-2.0 * xp.abs(s))
        return 2.0 * e / (1.0 + e)

    def value(self, y: Array, z: Array) -> Array:
        s = y * z
        small = self._small(s)
        return namespace(z).where(s > 0, small, 2.0 - small)

    def slope(self, y: Array, z: Array) -> Array:
        small = self._small(y * z)
        return -y * small * (2.0 - small)

    def curvature(self, y: Array, z: Array) -> Array:
        return self.smoothness * namespace(z).ones_like(z)


@dataclass(frozen=True)
class Softmax(_Plain):
    """log(sum_k e^(z_k)) - z_y: raw predictions z (n, K) of the classes, y (n, 1) the number of the right one.

    The slopes are p - e_y, p the classes' probabilities and e_y a one for the right class; the conjugate of u is the
    negative entropy of u + e_y, finite where that is in the simplex.
    """

    name: ClassVar[str] = "softmax"
    joint: ClassVar[bool] = True

    @property
    def smoothness(self) -> float:
        return 0.5

    def right(self, y: Array, z: Array) -> Array:
        """e_y of each row, as bools (n, K)."""
        return y == like(np.arange(z.shape[1], dtype=np.float64), y)

    def _parts(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """The largest z of a row and where it is, e^(z - largest), and the sum of the others of these."""
        xp = namespace(z)
        largest = xp.max(z, axis=1, keepdims=True)
        top = xp.argmax(z, axis=1, keepdims=True) == like(np.arange(z.shape[1]), z)
        e = xp.exp(z - largest)
        return largest, top, e, xp.sum(xp.where(top, xp.zeros_like(e), e), axis=1, keepdims=True)

    def probabilities(self, z: Array) -> Array:
        """p (n, K)."""
        _, _, e, others = self._parts(z)
        return e / (1.0 + others)

    def log_probabilities(self, z: Array) -> Array:
        """log p (n, K), accurate where p is 0 or 1."""
        largest, _, _, others = self._parts(z)
        return (z - largest) - namespace(z).log1p(others)

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        largest, _, _, others = self._parts(z)
        own = xp.sum(xp.where(self.right(y, z), z, xp.zeros_like(z)), axis=1, keepdims=True)
        return xp.log1p(others) + (largest - own)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        _, top, e, others = self._parts(z)
        p = e / (1.0 + others)
        # 1 - p of a class that is nearly sure has no digits: the others' sum has
        missing = xp.where(top, -others / (1.0 + others), p - 1.0)
        return xp.where(self.right(y, z), missing, p)

    def curvature(self, y: Array, z: Array) -> Array:
        """The diagonal p (1 - p) of the second derivatives diag(p) - p p'."""
        p = self.probabilities(z)
        return p * (1.0 - p)

    def bend(self, y: Array, z: Array, dz: Array) -> Array:
        xp = namespace(z)
        p = self.probabilities(z)
        mean = xp.sum(p * dz, axis=1, keepdims=True)
        return xp.sum(p * (dz - mean) ** 2, axis=1, keepdims=True)

    def conjugate(self, y: Array, u: Array) -> Array:
        xp = namespace(u)
        a = u + xp.astype(self.right(y, u), u.dtype)
        inside = xp.all(a >= 0, axis=1, keepdims=True)
        inside = inside & (xp.abs(xp.sum(u, axis=1, keepdims=True)) <= 1e-12)
        return _within(inside, xp.sum(_x_log_x(xp.where(a >= 0, a, xp.zeros_like(a))), axis=1, keepdims=True))

    def clip(self, y: Array, u: Array) -> Array:
        """The point of the simplex nearest to u + e_y: all entries fall by one number, and what is below zero is
        zero.
        """
        xp = namespace(u)
        right = xp.astype(self.right(y, u), u.dtype)
        a = u + right
        K = a.shape[1]
        falling = xp.flip(xp.sort(a, axis=1), axis=1)
        # what the first j entries have to give up so that they sum to one
        sums = xp.matmul(falling, like(np.triu(np.ones((K, K))), u))
        give = (sums - 1.0) / like(np.arange(1.0, K + 1.0), u)
        kept = xp.sum(xp.astype(falling > give, u.dtype), axis=1, keepdims=True)
        at = xp.astype(kept - 1.0 == like(np.arange(float(K)), u), u.dtype)
        return _positive(a - xp.sum(at * give, axis=1, keepdims=True)) - right


def _deviance_constant(y: Array, power: float) -> Array:
    """max(y, 0)^(2-p) / ((1-p)(2-p)): with it the least value is zero."""
    xp = namespace(y)
    root = xp.where(y > 0, xp.where(y > 0, y, xp.ones_like(y)) ** (2.0 - power), xp.zeros_like(y))
    return root / ((1.0 - power) * (2.0 - power))


def _deviance_at(y: Array, z: Array, power: float) -> Array:
    """e^((2-p)z) / (2-p) - y e^((1-p)z) / (1-p)."""
    xp = namespace(z)
    return xp.exp((2.0 - power) * z) / (2.0 - power) - y * xp.exp((1.0 - power) * z) / (1.0 - power)


def _towards_zero(y: Array, d: Array) -> Array:
    """The recession of counts: where they are zero, the mean may fall for ever."""
    xp = namespace(d)
    return xp.where(y == 0, -d, -xp.abs(d))


def _positive(a: Array) -> Array:
    xp = namespace(a)
    return xp.where(a > 0, a, xp.zeros_like(a))


def _between(low: float, a: Array, high: float) -> Array:
    xp = namespace(a)
    a = xp.where(a < low, low * xp.ones_like(a), a) if low > -np.inf else a
    return xp.where(a > high, high * xp.ones_like(a), a)


def _within(inside: Array, value: Array) -> Array:
    """The value inside of a domain, infinity outside."""
    xp = namespace(value)
    return xp.where(inside, value, xp.full_like(value, xp.inf))


def _x_log_x(a: Array) -> Array:
    """a log a with its limit 0 at a = 0."""
    xp = namespace(a)
    positive = a > 0
    return xp.where(positive, a * xp.log(xp.where(positive, a, xp.ones_like(a))), xp.zeros_like(a))
