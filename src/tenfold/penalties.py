"""Penalties on the weights, each with its value, proximal map, conjugate and subgradient distance.

Weights are (t, p) for t targets and p features. A penalty that is separable over targets has a value for each; `L21`
couples the targets and has one value for all of them. The intercept is never penalised.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from tenfold.arrays import Array, Floats, like, namespace


class Penalty(Protocol):
    """What solvers and the judge need from a penalty."""

    @property
    def strength(self) -> float | Floats:
        """The weight of ||w||^2 / 2 in the penalty: its smooth part."""
        ...

    def value(self, w: Array) -> Array: ...
    def prox(self, w: Array, step: float) -> Array:
        """argmin_v value(v) + ||v - w||^2 / (2 step)."""
        ...

    def conjugate(self, v: Array) -> Array:
        """sup_w v.w - value(w)."""
        ...

    def dual_scaling(self, v: Array) -> Array:
        """The largest c <= 1 with a finite conjugate at c v."""
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

    def dual_scaling(self, v: Array) -> Array:
        finite = namespace(v).isfinite(self.conjugate(v))
        return namespace(v).astype(finite, v.dtype)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        g = gradient + self._column(xp) * w
        if not self.positive:
            return xp.abs(g)
        # distance of -g to the normal cone of {w >= 0}: on the boundary -g <= 0 lies inside
        return xp.where(w > 0, xp.abs(g), xp.where(g < 0, -g, xp.zeros_like(g)))

    def _column(self, xp: Array) -> Array:
        """The strength of each target, beside (t, p)."""
        strength = xp.asarray(self.strength)
        return strength[..., None] if strength.ndim else strength


@dataclass(frozen=True)
class ElasticNet:
    """l1 ||w||_1 + l2 / 2 ||w||^2, with w >= 0 as a constraint where `positive`; with l2 = 0 that of the Lasso."""

    couples_targets: ClassVar[bool] = False

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
        return side * self._excess(w, step * self.l1) / (1.0 + step * self.l2)

    def _excess(self, v: Array, limit: float) -> Array:
        """max(|v| - limit, 0), or max(v - limit, 0) where weights are positive."""
        xp = namespace(v)
        excess = (v if self.positive else xp.abs(v)) - limit
        return xp.where(excess > 0, excess, xp.zeros_like(v))

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        excess = self._excess(v, self.l1)
        square = xp.sum(excess * excess, axis=-1)
        if self.l2 > 0.0:
            return square / (2.0 * self.l2)
        return xp.where(xp.any(excess > 0, axis=-1), xp.full_like(square, xp.inf), square)

    def dual_scaling(self, v: Array) -> Array:
        xp = namespace(v)
        if self.l2 > 0.0:
            return xp.ones_like(v[..., 0])
        dual_norm = xp.max(v if self.positive else xp.abs(v), axis=-1)
        return _scaling_within(dual_norm, self.l1)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        g = gradient + self.l2 * w
        side = xp.where(w > 0, xp.ones_like(w), -xp.ones_like(w))
        return xp.where(w == 0, self._excess(-g, self.l1), xp.abs(g + self.l1 * side))


@dataclass(frozen=True)
class L21:
    """l1 sum_j ||W_j|| + l2 / 2 ||W||^2, W_j the weights (t,) of feature j: the multi-task Lasso and elastic net.

    The L2 norms over the targets make each feature active for all targets or for none. Values, conjugates and scalings
    are one number (...) for weights (..., t, p).
    """

    couples_targets: ClassVar[bool] = True
    positive: ClassVar[bool] = False

    l1: float
    l2: float = 0.0

    @property
    def strength(self) -> float:
        return self.l2

    def _norms(self, w: Array) -> Array:
        """||W_j|| as (..., 1, p)."""
        xp = namespace(w)
        return xp.sqrt(xp.sum(w * w, axis=-2, keepdims=True))

    def value(self, w: Array) -> Array:
        xp = namespace(w)
        return self.l1 * xp.sum(self._norms(w), axis=(-2, -1)) + 0.5 * self.l2 * xp.sum(w * w, axis=(-2, -1))

    def prox(self, w: Array, step: float) -> Array:
        return w * self._shrinkage(w, step * self.l1) / (1.0 + step * self.l2)

    def _shrinkage(self, w: Array, limit: float) -> Array:
        """max(1 - limit / ||W_j||, 0) as (..., 1, p): block soft-thresholding."""
        xp = namespace(w)
        norms = self._norms(w)
        factor = 1.0 - limit / xp.where(norms > 0, norms, xp.ones_like(norms))
        return xp.where((factor > 0) & (norms > 0), factor, xp.zeros_like(factor))

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        excess = self._norms(v) - self.l1
        excess = xp.where(excess > 0, excess, xp.zeros_like(excess))
        square = xp.sum(excess * excess, axis=(-2, -1))
        if self.l2 > 0.0:
            return square / (2.0 * self.l2)
        return xp.where(xp.any(excess > 0, axis=(-2, -1)), xp.full_like(square, xp.inf), square)

    def dual_scaling(self, v: Array) -> Array:
        xp = namespace(v)
        dual_norm = xp.max(self._norms(v), axis=(-2, -1))
        return xp.ones_like(dual_norm) if self.l2 > 0.0 else _scaling_within(dual_norm, self.l1)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        norms, g = self._norms(w), gradient + self.l2 * w
        inactive = xp.abs(g) * self._shrinkage(g, self.l1)
        active = xp.abs(g + self.l1 * w / xp.where(norms > 0, norms, xp.ones_like(norms)))
        return xp.where(norms > 0, active, inactive)


SparsePenalty = ElasticNet | L21
"""The penalties of the Lasso's family: soft-thresholding of each weight, or of the weights of each feature."""


def with_alpha(penalty: SparsePenalty, alpha: float, l1_ratio: float) -> SparsePenalty:
    """The same kind of penalty with l1 = alpha l1_ratio and l2 = alpha (1 - l1_ratio)."""
    return replace(penalty, l1=alpha * l1_ratio, l2=alpha * (1.0 - l1_ratio))


def mixture(strength: float, l1_ratio: float) -> "L2 | ElasticNet":
    """strength (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2)."""
    if l1_ratio == 0.0 or strength == 0.0:
        return L2(strength)
    return ElasticNet(strength * l1_ratio, strength * (1.0 - l1_ratio))


@dataclass(frozen=True)
class Groups:
    """sum_g limit_g ||w_g||, the group Lasso: the features of a group are active together or not at all.

    `member` (p, k) has a one where feature j belongs to group g; `limits` (k,) are the strengths of the groups, usually
    a common one times the root of their sizes.
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

    def _broadcast(self, values: Array) -> Array:
        """Values of groups (t, k) repeated for their features (t, p)."""
        return namespace(values).matmul(values, like(self.member, values).T)

    def value(self, w: Array) -> Array:
        return namespace(w).sum(like(self.limits, w) * self._norms(w), axis=-1)

    def prox(self, w: Array, step: float) -> Array:
        xp = namespace(w)
        norms = self._norms(w)
        factor = 1.0 - step * like(self.limits, w) / xp.where(norms > 0, norms, xp.ones_like(norms))
        return w * self._broadcast(xp.where(factor > 0, factor, xp.zeros_like(factor)))

    def conjugate(self, v: Array) -> Array:
        xp = namespace(v)
        outside = xp.any(self._norms(v) > like(self.limits, v), axis=-1)
        zero = xp.zeros_like(v[..., 0])
        return xp.where(outside, xp.full_like(zero, xp.inf), zero)

    def dual_scaling(self, v: Array) -> Array:
        xp = namespace(v)
        norms = self._norms(v)
        limits = like(self.limits, v) + xp.zeros_like(norms)
        return xp.min(_scaling_within(norms, limits), axis=-1)

    def subgradient_distance(self, w: Array, gradient: Array) -> Array:
        xp = namespace(w)
        norms, gradient_norms, limits = self._norms(w), self._norms(gradient), like(self.limits, w)
        inward = self._broadcast(limits / xp.where(norms > 0, norms, xp.ones_like(norms)))
        outside = gradient_norms > limits
        rest = 1.0 - limits / xp.where(outside, gradient_norms, limits + xp.zeros_like(gradient_norms))
        inactive = xp.abs(gradient) * self._broadcast(xp.where(outside, rest, xp.zeros_like(rest)))
        return xp.where(self._broadcast(norms) > 0, xp.abs(gradient + inward * w), inactive)


def _scaling_within(norm: Array, limit: Array | float) -> Array:
    """min(limit / norm, 1), rounded down so that the scaled norm is within the limit."""
    xp = namespace(norm)
    limits = limit + xp.zeros_like(norm)
    scaling = limits / xp.where(norm > limits, norm, xp.ones_like(norm)) * (1.0 - 2.0**-52)
    return xp.where(norm > limits, scaling, xp.ones_like(norm))
