"""Losses of classification: labels -1 and +1, or one of K classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tenfold.arrays import Array, falling_sigmoid, like, namespace, sigmoid, softplus
from tenfold.losses.loss import Pieces, Plain, between, positive_part, within, x_log_x


@dataclass(frozen=True)
class Logistic(Plain):
    """Logistic loss log(1 + exp(-y z)) for y in {-1, +1}: y z are the log odds of the right class."""

    name: ClassVar[str] = "logistic"
    signs: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        return 0.25

    @property
    def self_concordance(self) -> float:
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

    def derivatives(self, order: int, y: Array, z: Array) -> tuple[Array, ...]:
        minus_y = -y
        s = minus_y * z
        wrong = sigmoid(s)
        result = softplus(s), minus_y * wrong
        return (*result, wrong * self.wrong(s)) if order == 2 else result

    def conjugate(self, y: Array, u: Array) -> Array:
        xp = namespace(u)
        a = -y * u
        inside = (a >= 0) & (a <= 1)
        a = xp.where(inside, a, 0.5 * xp.ones_like(a))
        value = x_log_x(a) + x_log_x(1.0 - a)
        return xp.where(inside, value, xp.full_like(value, xp.inf))

    def clip(self, y: Array, u: Array) -> Array:
        return -y * between(0.0, -y * u, 1.0)


@dataclass(frozen=True)
class Hinge(Plain):
    """Hinge loss max(0, 1 - y z) for y in {-1, +1}."""

    name: ClassVar[str] = "hinge"
    nonsmooth: ClassVar[bool] = True
    signs: ClassVar[bool] = True

    def value(self, y: Array, z: Array) -> Array:
        return positive_part(1.0 - y * z)

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(1.0 - y * z > 0, -y, xp.zeros_like(z))

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return within((a >= 0) & (a <= 1), -a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * between(0.0, -y * u, 1.0)

    def pieces(self, y: Array) -> Pieces:
        at, one = y[:, None], namespace(y).ones_like(y[:, None])
        return Pieces(at, positive_part(at) * one, positive_part(-at) * one)


@dataclass(frozen=True)
class SquaredHinge(Plain):
    """Squared hinge loss max(0, 1 - y z)^2 for y in {-1, +1}."""

    name: ClassVar[str] = "squared hinge"
    signs: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        return 2.0

    def value(self, y: Array, z: Array) -> Array:
        return positive_part(1.0 - y * z) ** 2

    def slope(self, y: Array, z: Array) -> Array:
        return -2.0 * y * positive_part(1.0 - y * z)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(1.0 - y * z > 0, 2.0 * xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return within(a >= 0, 0.25 * a * a - a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * positive_part(-y * u)


@dataclass(frozen=True)
class ModifiedHuber(Plain):
    """max(0, 1 - y z)^2 for y z >= -1, else -4 y z, for y in {-1, +1}: the squared hinge with slopes of at most 4
    (Zhang 2004).
    """

    name: ClassVar[str] = "modified huber"
    signs: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        return 2.0

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return xp.where(y * z >= -1.0, positive_part(1.0 - y * z) ** 2, -4.0 * y * z)

    def slope(self, y: Array, z: Array) -> Array:
        return -y * between(0.0, 2.0 * (1.0 - y * z), 4.0)

    def curvature(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        m = y * z
        return xp.where((m < 1.0) & (m >= -1.0), 2.0 * xp.ones_like(z), xp.zeros_like(z))

    def conjugate(self, y: Array, u: Array) -> Array:
        a = -y * u
        return within((a >= 0) & (a <= 4), 0.25 * a * a - a)

    def clip(self, y: Array, u: Array) -> Array:
        return -y * between(0.0, -y * u, 4.0)


@dataclass(frozen=True)
class Tanh(Plain):
    """1 - tanh(y z) for y in {-1, +1}: at most 2, so that outliers have little influence. Not convex."""

    name: ClassVar[str] = "tanh"
    convex: ClassVar[bool] = False
    signs: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
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
        return self.lipschitz * namespace(z).ones_like(z)


@dataclass(frozen=True)
class Softmax(Plain):
    """log(sum_k e^(z_k)) - z_y: raw predictions z (n, K) of the classes, y (n, 1) the index of the right one.

    The slopes are p - e_y, p the classes' probabilities and e_y a one for the right class; the conjugate of u is the
    negative entropy of u + e_y, finite where that is in the simplex.
    """

    name: ClassVar[str] = "softmax"
    multi_output: ClassVar[bool] = True

    @property
    def lipschitz(self) -> float:
        return 0.5

    def right(self, y: Array, z: Array) -> Array:
        """e_y of each sample, as bools (n, K)."""
        return y == like(np.arange(z.shape[1], dtype=np.float64), y)

    def _parts(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """The largest z of a sample and its place, e^(z - largest), and the sum of these over the other classes."""
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
        # 1 - p has no digits where p is nearly 1: the sum of the others has
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
        return within(inside, xp.sum(x_log_x(xp.where(a >= 0, a, xp.zeros_like(a))), axis=1, keepdims=True))

    def recession(self, y: Array, d: Array) -> Array:
        """d_y minus the largest other d (n, 1)."""
        xp, right = namespace(d), self.right(y, d)
        own = xp.sum(xp.where(right, d, xp.zeros_like(d)), axis=1, keepdims=True)
        return own - xp.max(xp.where(right, xp.full_like(d, -xp.inf), d), axis=1, keepdims=True)

    def clip(self, y: Array, u: Array) -> Array:
        """The projection of u + e_y on the simplex, minus e_y: a common number is subtracted, and what is below zero is
        zero.
        """
        xp = namespace(u)
        right = xp.astype(self.right(y, u), u.dtype)
        a = u + right
        K = a.shape[1]
        descending = xp.flip(xp.sort(a, axis=1), axis=1)
        # what the j largest entries exceed one by, each
        sums = xp.matmul(descending, like(np.triu(np.ones((K, K))), u))
        excess = (sums - 1.0) / like(np.arange(1.0, K + 1.0), u)
        count = xp.sum(xp.astype(descending > excess, u.dtype), axis=1, keepdims=True)
        at = xp.astype(count - 1.0 == like(np.arange(float(K)), u), u.dtype)
        return positive_part(a - xp.sum(at * excess, axis=1, keepdims=True)) - right


@dataclass(frozen=True)
class JointHinge(Plain):
    """max_k (z_k + [k != y]) - z_y: raw predictions z (n, K) of the classes, y (n, 1) the index of the right one,
    whose prediction is to exceed all others by one (Crammer and Singer, 2001).

    The slopes are p - e_y, p in the simplex of the classes that attain the maximum; the conjugate of u is p_y - 1,
    finite where p = u + e_y is in the simplex.
    """

    name: ClassVar[str] = "joint hinge"
    multi_output: ClassVar[bool] = True
    nonsmooth: ClassVar[bool] = True

    def _right(self, y: Array, z: Array) -> Array:
        return y == like(np.arange(z.shape[1], dtype=np.float64), y)

    def add_margin(self, y: Array, z: Array) -> Array:
        """z + 1 for the wrong classes, z for the right one."""
        xp = namespace(z)
        return z + xp.where(self._right(y, z), xp.zeros_like(z), xp.ones_like(z))

    def value(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        own = xp.sum(xp.where(self._right(y, z), z, xp.zeros_like(z)), axis=1, keepdims=True)
        return xp.max(self.add_margin(y, z), axis=1, keepdims=True) - own

    def slope(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        best = like(np.arange(z.shape[1]), z) == xp.argmax(self.add_margin(y, z), axis=1, keepdims=True)
        return xp.astype(best, z.dtype) - xp.astype(self._right(y, z), z.dtype)

    def curvature(self, y: Array, z: Array) -> Array:
        return namespace(z).zeros_like(z)

    def conjugate(self, y: Array, u: Array) -> Array:
        xp, right = namespace(u), self._right(y, u)
        p = u + xp.astype(right, u.dtype)
        inside = xp.all(p >= 0, axis=1, keepdims=True) & (xp.abs(xp.sum(p, axis=1, keepdims=True) - 1.0) <= 1e-9)
        own = xp.sum(xp.where(right, p, xp.zeros_like(p)), axis=1, keepdims=True)
        return within(inside, own - 1.0)


def loss_of_classes(classes: int) -> Logistic | Softmax:
    """The logistic loss of two classes, the softmax of more."""
    return Logistic() if classes == 2 else Softmax()
