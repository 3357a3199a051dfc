"""Support vector machines as convex problems in the space of a kernel.

Each minimises  1/2 ||w||^2 + L(f + b),  f_i = <w, phi(x_i)>; at w = sum_i beta_i phi(x_i), f = K beta. With u = f + b
and weights C_i of the samples, L and the dual objective D(beta) = G(beta) - 1/2 beta' K beta are

    Hinge          sum C_i max(0, 1 - y_i u_i)                              sum |beta|,               0 <= y beta <= C
    SquaredHinge   sum C_i max(0, 1 - y_i u_i)^2                            the same - sum beta^2 / (4 C),   0 <= y beta
    Tube           sum C_i max(0, |y_i - u_i| - eps)                        y'beta - eps sum |beta|,  |beta| <= C
    SquaredTube    sum C_i max(0, |y_i - u_i| - eps)^2                      the same - sum beta^2 / (4 C)
    NuHinge        sum C_i max(0, rho - y_i u_i) - nu rho sum C             0,                        0 <= y beta <= C
    NuTube         nu eps sum C + sum C_i max(0, |y_i - u_i| - eps)         y'beta,                   |beta| <= C
    OneClass       sum C_i max(0, -u_i) + nu b sum C                        0,                        0 <= beta <= C

with sum beta = 0 (the class: sum beta = nu sum C); NuHinge: each class has sum |beta| = nu sum C / 2, and rho is judged
as it is returned, not minimised over; NuTube: sum |beta| <= nu sum C, and L is minimised over eps >= 0, which no model
stores. Weak duality, D <= 1/2 ||w||^2 + L for all w and b, is the Fenchel-Young inequality of each loss.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.svm_region import FLAT, Region, greedy_pairs, quantile_interval, root_interval


@dataclass(frozen=True)
class Machine(ABC):
    """The samples of a machine: targets y (n,), -1 and 1 of classes, and weights C (n,)."""

    y: Floats
    C: Floats

    @property
    def total(self) -> float:
        return float(np.sum(self.C))

    @cached_property
    @abstractmethod
    def region(self) -> Region:
        """Where the dual coefficients are feasible."""

    @abstractmethod
    def loss(self, u: Floats, b: float) -> float:
        """L at u = f + b."""

    @abstractmethod
    def slopes(self, u: Floats) -> Floats:
        """|dL / du_i|, at most (n,)."""

    @abstractmethod
    def gain(self, beta: Floats) -> float:
        """G of feasible coefficients."""

    @abstractmethod
    def scale(self, square: float) -> float:
        """The unit of the gap: the objective at w = 0 and the best intercept; with nu, where that is no number, half
        the `square` beta' K beta of feasible coefficients.
        """

    @abstractmethod
    def intercepts(self, f: Floats) -> tuple[float, float]:
        """The interval of the intercepts that minimise L at f."""

    @abstractmethod
    def step(self, beta: Floats, u: Floats) -> Floats:
        """beta - (where one projected step of the dual goes from beta), by C: zero where the conditions of Karush, Kuhn
        and Tucker hold, about one at zero coefficients.
        """

    @property
    def unit(self) -> float:
        """The size of targets and margins, by which sums are rounded."""
        return 1.0

    def _project(self, beta: Floats, ahead: Floats, shrink: float = 0.0) -> Floats:
        """`step` from how far each sample is from its target, in units of it."""
        there = beta + self.C * ahead
        there = np.sign(there) * np.maximum(np.abs(there) - self.C * shrink, 0.0)
        return _divide(beta - np.clip(there, self.region.low, self.region.high), self.C)


class _Classes(Machine):
    """Two classes."""

    @property
    def sides(self) -> tuple[float, float]:
        """The weights of the negative and the positive class."""
        return float(np.sum(self.C[self.y < 0.0])), float(np.sum(self.C[self.y > 0.0]))

    def _box(self, upper: Floats, total: float | None = None) -> Region:
        return Region(np.where(self.y < 0.0, -upper, 0.0), np.where(self.y > 0.0, upper, 0.0), total)

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, (self.y - u) / self.unit)


class Hinge(_Classes):
    @cached_property
    def region(self) -> Region:
        return self._box(self.C)

    def loss(self, u: Floats, b: float) -> float:
        return float(self.C @ np.maximum(0.0, 1.0 - self.y * u))

    def slopes(self, u: Floats) -> Floats:
        return self.C * (self.y * u < 1.0)

    def gain(self, beta: Floats) -> float:
        return float(np.sum(np.abs(beta)))

    def scale(self, square: float) -> float:
        return 2.0 * min(self.sides) or max(self.sides)

    def intercepts(self, f: Floats) -> tuple[float, float]:
        return quantile_interval(self.y - f, self.C, self.sides[1])


class SquaredHinge(_Classes):
    @cached_property
    def region(self) -> Region:
        return self._box(np.where(self.C > 0.0, np.inf, 0.0))

    def loss(self, u: Floats, b: float) -> float:
        return float(self.C @ np.square(np.maximum(0.0, 1.0 - self.y * u)))

    def slopes(self, u: Floats) -> Floats:
        return 2.0 * self.C * np.maximum(0.0, 1.0 - self.y * u)

    def gain(self, beta: Floats) -> float:
        return float(np.sum(np.abs(beta))) - _quarter(beta, self.C)

    def scale(self, square: float) -> float:
        negative, positive = self.sides
        return 4.0 * negative * positive / (negative + positive) or max(self.sides)

    def intercepts(self, f: Floats) -> tuple[float, float]:
        def slope(b: float) -> float:
            u = f + b
            return -2.0 * float(np.sum(self.C * self.y * np.maximum(0.0, 1.0 - self.y * u)))

        return _roots(slope, self.y - f, self.total)

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, self.y - u - _divide(beta, 2.0 * self.C))


class _Targets(Machine):
    """Targets that are numbers."""

    @property
    def unit(self) -> float:
        spread = float(np.ptp(self.y)) if len(self.y) else 0.0
        return spread or abs(float(self.y[0])) or 1.0

    def _or_unit(self, scale: float) -> float:
        """A scale where a constant fits without loss."""
        return scale if scale > FLAT * self.total * self.unit else self.total * self.unit


@dataclass(frozen=True)
class Tube(_Targets):
    epsilon: float

    @cached_property
    def region(self) -> Region:
        return Region(-self.C, self.C)

    def loss(self, u: Floats, b: float) -> float:
        return float(self.C @ np.maximum(0.0, np.abs(self.y - u) - self.epsilon))

    def slopes(self, u: Floats) -> Floats:
        return self.C * (np.abs(self.y - u) > self.epsilon)

    def gain(self, beta: Floats) -> float:
        return float(self.y @ beta) - self.epsilon * float(np.sum(np.abs(beta)))

    def scale(self, square: float) -> float:
        return self._or_unit(greedy_pairs(self.y, self.C, np.inf, self.epsilon))

    def intercepts(self, f: Floats) -> tuple[float, float]:
        rest = self.y - f
        points = np.concatenate([rest - self.epsilon, rest + self.epsilon])
        return quantile_interval(points, np.concatenate([self.C, self.C]), self.total)

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, (self.y - u) / self.unit, self.epsilon / self.unit)


class SquaredTube(Tube):
    @cached_property
    def region(self) -> Region:
        free = np.where(self.C > 0.0, np.inf, 0.0)
        return Region(-free, free)

    def loss(self, u: Floats, b: float) -> float:
        return float(self.C @ np.square(np.maximum(0.0, np.abs(self.y - u) - self.epsilon)))

    def slopes(self, u: Floats) -> Floats:
        return 2.0 * self.C * np.maximum(0.0, np.abs(self.y - u) - self.epsilon)

    def gain(self, beta: Floats) -> float:
        return super().gain(beta) - _quarter(beta, self.C)

    def scale(self, square: float) -> float:
        low, _ = self.intercepts(np.zeros_like(self.y))
        loss = self.loss(np.full_like(self.y, low), low) if np.isfinite(low) else 0.0
        return loss if loss > FLAT * self.total * self.unit**2 else self.total * self.unit**2

    def intercepts(self, f: Floats) -> tuple[float, float]:
        def slope(b: float) -> float:
            rest = self.y - f - b
            return -2.0 * float(np.sum(self.C * np.sign(rest) * np.maximum(0.0, np.abs(rest) - self.epsilon)))

        rest = self.y - f
        return _roots(slope, np.append(rest - self.epsilon, rest + self.epsilon), self.total * self.unit)

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, (self.y - u - _divide(beta, 2.0 * self.C)) / self.unit, self.epsilon / self.unit)


@dataclass(frozen=True)
class NuHinge(_Classes):
    nu: float
    rho: float

    @cached_property
    def region(self) -> Region:
        return self._box(self.C, 0.5 * self.nu * self.total)

    @property
    def unit(self) -> float:
        return abs(self.rho) or 1.0

    def loss(self, u: Floats, b: float) -> float:
        short = float(self.C @ np.maximum(0.0, self.rho - self.y * u))
        return short - self.nu * self.rho * self.total

    def slopes(self, u: Floats) -> Floats:
        return self.C * (self.y * u < self.rho) + self.nu * self.C

    def gain(self, beta: Floats) -> float:
        return 0.0

    def scale(self, square: float) -> float:
        return 0.5 * square

    def intercepts(self, f: Floats) -> tuple[float, float]:
        """b = (q - p) / 2 by the quantiles p of f over the positive class and q of -f over the negative one."""
        mass, positive = 0.5 * self.nu * self.total, self.y > 0.0
        p = quantile_interval(f[positive], self.C[positive], mass)
        q = quantile_interval(-f[~positive], self.C[~positive], mass)
        return 0.5 * (q[0] - p[1]), 0.5 * (q[1] - p[0])

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, (self.rho * self.y - u) / self.unit)


@dataclass(frozen=True)
class NuTube(_Targets):
    nu: float

    @cached_property
    def region(self) -> Region:
        return Region(-self.C, self.C, cap=0.5 * self.nu * self.total)

    def _tube(self, u: Floats) -> float:
        """The best eps >= 0: the upper quantile of mass nu sum C of |y - u|."""
        low, high = quantile_interval(-np.abs(self.y - u), self.C, self.nu * self.total)
        return max(0.0, -(low if np.isfinite(low) else high))

    def loss(self, u: Floats, b: float) -> float:
        width = self._tube(u)
        return self.nu * width * self.total + float(self.C @ np.maximum(0.0, np.abs(self.y - u) - width))

    def slopes(self, u: Floats) -> Floats:
        return self.C

    def gain(self, beta: Floats) -> float:
        return float(self.y @ beta)

    def scale(self, square: float) -> float:
        return self._or_unit(greedy_pairs(self.y, self.C, 0.5 * self.nu * self.total, 0.0))

    def intercepts(self, f: Floats) -> tuple[float, float]:
        """b = (u + l) / 2 by the upper and the lower quantile of y - f."""
        mass, rest = 0.5 * self.nu * self.total, self.y - f
        lower = quantile_interval(rest, self.C, mass)
        upper = quantile_interval(-rest, self.C, mass)
        return 0.5 * (lower[0] - upper[1]), 0.5 * (lower[1] - upper[0])

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, (self.y - u) / self.unit, self._tube(u) / self.unit)


@dataclass(frozen=True)
class OneClass(Machine):
    """y is not read; the intercept b is minus the offset rho."""

    nu: float

    @cached_property
    def region(self) -> Region:
        return Region(np.zeros_like(self.C), self.C, self.nu * self.total, two_sided=False)

    def loss(self, u: Floats, b: float) -> float:
        return float(self.C @ np.maximum(0.0, -u)) + self.nu * b * self.total

    def slopes(self, u: Floats) -> Floats:
        return self.C * (u < 0.0) + self.nu * self.C

    def gain(self, beta: Floats) -> float:
        return 0.0

    def scale(self, square: float) -> float:
        return 0.5 * square

    def intercepts(self, f: Floats) -> tuple[float, float]:
        low, high = quantile_interval(f, self.C, self.nu * self.total)
        return -high, -low

    def step(self, beta: Floats, u: Floats) -> Floats:
        return self._project(beta, -u / (float(np.max(np.abs(u), initial=0.0)) or 1.0))


def _quarter(beta: Floats, C: Floats) -> float:
    """sum beta^2 / (4 C); coefficients of no weight are zero."""
    return 0.25 * float(np.sum(_divide(beta * beta, C)))


def _divide(a: Floats, C: Floats) -> Floats:
    return a / np.where(C > 0.0, C, 1.0)


def _roots(slope: Callable[[float], float], points: Floats, weight: float) -> tuple[float, float]:
    """The zeros of a slope that is zero or monotone beyond all points."""
    low, high = float(np.min(points)), float(np.max(points))
    margin = max(high - low, abs(low), abs(high), 1.0)
    return root_interval(slope, low - margin, high + margin, FLAT * weight)
