"""The interface of losses, and what most of them have in common."""

from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from tenfold.arrays import Array, namespace


class Loss(Protocol):
    """The interface of a loss. `name` is also that of its compiled loop, `parameter` the number that goes with it."""

    name: ClassVar[str]
    convex: ClassVar[bool]
    nonsmooth: ClassVar[bool]
    """Whether the slope jumps."""
    signs: ClassVar[bool]
    """Whether targets are -1 and +1."""
    multi_output: ClassVar[bool]
    """Whether several raw predictions of a row have one loss together."""
    link: ClassVar[str | None]
    """The link of z to the mean of the targets, which is then the best constant: "identity", "log", or None."""

    @property
    def parameter(self) -> float: ...
    @property
    def lipschitz(self) -> float:
        """The largest curvature, the Lipschitz constant of the slope; infinite where there is none."""
        ...

    @property
    def self_concordance(self) -> float:
        """The least M with |loss'''| <= M loss'', infinite where there is none."""
        ...

    def value(self, y: Array, z: Array) -> Array: ...
    def rounding(self, y: Array, z: Array) -> Array:
        """Rounding errors of `value` in units of the machine precision, besides those of its own size: terms that
        cancel.
        """
        ...

    def slope(self, y: Array, z: Array) -> Array: ...
    def curvature(self, y: Array, z: Array) -> Array: ...
    def derivatives(self, order: int, y: Array, z: Array) -> tuple[Array, ...]:
        """Value, slope and, at order 2, curvature; common terms are computed once."""
        ...

    def bend(self, y: Array, z: Array, dz: Array) -> Array:
        """The second derivative along dz."""
        ...

    def conjugate(self, y: Array, u: Array) -> Array: ...
    def clip(self, y: Array, u: Array) -> Array:
        """The projection of u on the domain of the conjugate."""
        ...

    def recession(self, y: Array, d: Array) -> Array:
        """At least zero where the loss does not increase as z goes to infinity along d; positive where it decreases."""
        ...


class Pieces(NamedTuple):
    """A loss that is piecewise linear, as a sum over the last axis of ``up (at - z)_+ + down (z - at)_+``."""

    at: Array
    up: Array
    down: Array


class PiecewiseLinear(Loss, Protocol):
    """A piecewise linear loss."""

    def pieces(self, y: Array) -> Pieces:
        """The pieces (n, k) for targets (n,)."""
        ...


class Plain:
    """Defaults that most losses share."""

    convex: ClassVar[bool] = True
    nonsmooth: ClassVar[bool] = False
    signs: ClassVar[bool] = False
    multi_output: ClassVar[bool] = False
    link: ClassVar[str | None] = None

    @property
    def parameter(self) -> float:
        return 0.0

    @property
    def lipschitz(self) -> float:
        return np.inf

    @property
    def self_concordance(self) -> float:
        return np.inf

    def value(self, y: Array, z: Array) -> Array:
        raise NotImplementedError

    def rounding(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def slope(self, y: Array, z: Array) -> Array:
        raise NotImplementedError

    def curvature(self, y: Array, z: Array) -> Array:
        raise NotImplementedError

    def derivatives(self, order: int, y: Array, z: Array) -> tuple[Array, ...]:
        result = self.value(y, z), self.slope(y, z)
        return (*result, self.curvature(y, z)) if order == 2 else result

    def bend(self, y: Array, z: Array, dz: Array) -> Array:
        return self.curvature(y, z) * dz * dz

    def conjugate(self, y: Array, u: Array) -> Array:
        raise TypeError(f"{type(self).__name__} is not convex: it has no conjugate.")

    def clip(self, y: Array, u: Array) -> Array:
        raise TypeError(f"{type(self).__name__} is not convex: it has no conjugate.")

    def recession(self, y: Array, d: Array) -> Array:
        return y * d if self.signs else -namespace(d).abs(d)


def positive_part(a: Array) -> Array:
    xp = namespace(a)
    return xp.where(a > 0, a, xp.zeros_like(a))


def between(low: float, a: Array, high: float) -> Array:
    xp = namespace(a)
    a = xp.where(a < low, low * xp.ones_like(a), a) if low > -np.inf else a
    return xp.where(a > high, high * xp.ones_like(a), a)


def within(inside: Array, value: Array) -> Array:
    """The value inside a domain, infinity outside."""
    xp = namespace(value)
    return xp.where(inside, value, xp.full_like(value, xp.inf))


def x_log_x(a: Array) -> Array:
    """a log a with its limit 0 at a = 0."""
    xp = namespace(a)
    positive = a > 0
    return xp.where(positive, a * xp.log(xp.where(positive, a, xp.ones_like(a))), xp.zeros_like(a))
