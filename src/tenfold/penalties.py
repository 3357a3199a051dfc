"""Penalties on the weights, each with its proximal map, conjugate and optimality distance; the intercept is never
penalised.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from tenfold.arrays import Array, Floats, like, namespace


class Penalty(Protocol):
    """What a penalty knows. Weights are (t, p), values come for each of the t targets."""

    @property
    def strength(self) -> float | Floats:
        """The weight of ||w||^2 / 2 in it: its smooth part."""
        ...

    def value(self, w: Array) -> Array: ...
    def prox(self, w: Array, step: float) -> Array:
        """argmin_v value(v) + ||v - w||^2 / (2 step)."""
        ...

    def conjugate(self, v: Array) -> Array:
        """sup_w v.w - value(w)."""
        ...

    def share(self, v: Array) -> Array:
        """The largest share of v, at most all of it, at which the conjugate is finite."""
        ...

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        """Distance of minus the gradient of the loss to the subdifferential at w, by entry; zero at an optimum."""
        ...


@dataclass(frozen=True)
class L2:
    """strength / 2 ||w||^2, with w >= 0 as a constraint where `positive`; strength 0 is no penalty.

    `strength` is one number, or one for each target.
    """

    strength: float | Floats
    positive: bool = False

    def value(self, w: Array) -> Array:
        xp = namespace(w)
        value = 0.5 * self.strength * xp.sum(w * w, axis=-1)
        if self.positive:
            value = xp.where(xp.any(w < 0, axis=-1), xp.full_like(value, xp.inf), value)
        return value

    def prox(self, w: Array, step: float) -> Array:
        xp = namespace(w)
        w = w / (1.0 + step * self._column(xp))
        return xp.where(w < 0, xp.zeros_like(w), w) if self.positive else w

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        if self.positive:
            v = xp.where(v < 0, xp.zeros_like(v), v)
        square = xp.sum(v * v, axis=-1)
        strength = self.strength + xp.zeros_like(square)
        penalised = strength > 0
        free = xp.where(xp.any(v != 0, axis=-1), xp.full_like(square, xp.inf), xp.zeros_like(square))
        return xp.where(penalised, square / (2.0 * xp.where(penalised, strength, xp.ones_like(strength))), free)

    def share(self, v: Array) -> Array:
        finite = namespace(v).isfinite(self.conjugate(v))
        return namespace(v).astype(finite, v.dtype)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        g = gradient + self._column(xp) * w
        if not self.positive:
            return xp.abs(g)
        # distance of -g to the normal cone of {w >= 0}: all of it inside, only a pull outwards on the boundary
        return xp.where(w > 0, xp.abs(g), xp.where(g < 0, -g, xp.zeros_like(g)))

    def _column(self, xp: Array) -> Array:
        strength = xp.asarray(self.strength)
        return strength[..., None] if strength.ndim else strength


@dataclass(frozen=True)
class ElasticNet:
    """l1 ||w||_1 + l2 / 2 ||w||^2, with w >= 0 as a constraint where `positive`; with l2 = 0 the Lasso's."""

    l1: float
    l2: float = 0.0
    positive: bool = False

    @property
    def strength(self) -> float:
        return self.l2

    def value(self, w: Array) -> Array:
        xp = namespace(w)
        value = self.l1 * xp.sum(xp.abs(w), axis=-1) + 0.5 * self.l2 * xp.sum(w * w, axis=-1)
        if self.positive:
            value = xp.where(xp.any(w < 0, axis=-1), xp.full_like(value, xp.inf), value)
        return value

    def prox(self, w: Array, step: float) -> Array:
        xp = namespace(w)
        side = xp.ones_like(w) if self.positive else xp.sign(w)
        return side * self._beyond(w, step * self.l1) / (1.0 + step * self.l2)

    def _beyond(self, v: Array, limit: float) -> Array:
        """By how much |v|, or v where weights are positive, exceeds a limit."""
        xp = namespace(v)
        excess = (v if self.positive else xp.abs(v)) - limit
        return xp.where(excess > 0, excess, xp.zeros_like(v))

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        excess = self._beyond(v, self.l1)
        square = xp.sum(excess * excess, axis=-1)
        if self.l2 > 0.0:
            return square / (2.0 * self.l2)
        return xp.where(xp.any(excess > 0, axis=-1), xp.full_like(square, xp.inf), square)

    def share(self, v: Array) -> Array:
        xp = namespace(v)
        if self.l2 > 0.0:
            return xp.ones_like(v[..., 0])
        largest = xp.max(v if self.positive else xp.abs(v), axis=-1)
        return _largest_share(largest, self.l1)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        g = gradient + self.l2 * w
        side = xp.where(w > 0, xp.ones_like(w), -xp.ones_like(w))
        return xp.where(w == 0, self._beyond(-g, self.l1), xp.abs(g + self.l1 * side))


def mixture(strength: float, l1_ratio: float) -> "L2 | ElasticNet":
    """strength (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2)."""
    if l1_ratio == 0.0 or strength == 0.0:
        return L2(strength)
    return ElasticNet(strength * l1_ratio, strength * (1.0 - l1_ratio))


@dataclass(frozen=True)
class Groups:
    """strength_of_groups . (||w_g||)_g: columns of a group are kept or left out together.

    `member` (p, k) has a one where column j belongs to group g; `limits` (k,) are the groups' strengths, usually a
    common one times the root of their sizes.
    """

    member: Any
    limits: Any

    @property
    def strength(self) -> float:
        return 0.0

    def _norms(self, w: Array) -> Array:
        """||w_g|| as (t, k)."""
        xp = namespace(w)
        return xp.sqrt(xp.matmul(w * w, like(self.member, w)))

    def _spread(self, values: Array) -> Array:
        """A number of each group (t, k) for each of its columns (t, p)."""
        return namespace(values).matmul(values, like(self.member, values).T)

    def value(self, w: Array) -> Array:
        return namespace(w).sum(like(self.limits, w) * self._norms(w), axis=-1)

    def prox(self, w: Array, step: float) -> Array:
        xp = namespace(w)
        norms = self._norms(w)
        kept = 1.0 - step * like(self.limits, w) / xp.where(norms > 0, norms, xp.ones_like(norms))
        return w * self._spread(xp.where(kept > 0, kept, xp.zeros_like(kept)))

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        outside = xp.any(self._norms(v) > like(self.limits, v), axis=-1)
        zero = xp.zeros_like(v[..., 0])
        return xp.where(outside, xp.full_like(zero, xp.inf), zero)

    def share(self, v: Array) -> Array:
        xp = namespace(v)
        norms = self._norms(v)
        limits = like(self.limits, v) + xp.zeros_like(norms)
        return xp.min(_largest_share(norms, limits), axis=-1)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        norms, pulls, limits = self._norms(w), self._norms(gradient), like(self.limits, w)
        inward = self._spread(limits / xp.where(norms > 0, norms, xp.ones_like(norms)))
        left = 1.0 - limits / xp.where(pulls > limits, pulls, limits + xp.zeros_like(pulls))
        at_rest = xp.abs(gradient) * self._spread(xp.where(pulls > limits, left, xp.zeros_like(left)))
        return xp.where(self._spread(norms) > 0, xp.abs(gradient + inward * w), at_rest)


def _largest_share(size: Array, limit: Array | float) -> Array:
    """limit / size, at most one; rounded down, so that the share is within."""
    xp = namespace(size)
    limits = limit + xp.zeros_like(size)
    share = limits / xp.where(size > limits, size, xp.ones_like(size)) * (1.0 - 2.0**-52)
    return xp.where(size > limits, share, xp.ones_like(size))
