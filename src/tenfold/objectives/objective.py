"""A smooth function of a vector: all that Newton's method, L-BFGS and FISTA know of a problem."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.hessians import Factor, factor


class Reading(NamedTuple):
    """What is read at a point: the value, the gradient (q,), at order 2 the Hessian (q, q), and the values of the parts
    where an objective is the sum of several that are known.
    """

    value: float
    gradient: Floats
    hessian: Floats | None = None
    parts: Floats | None = None


class Objective(ABC):
    """A smooth function f of a vector x (q,)."""

    distributed: bool = False
    """Whether a pass is expensive, so that other points are better evaluated in the same one."""

    jumps: bool = False
    """Whether the curvature may jump within a step."""

    noise: float = 4.0 * EPS
    """Values that differ by less, relatively, are equal."""

    flat: bool = False
    """Whether the Hessian may vanish along directions in which f has a slope; then `bound_curvature` is there."""

    @abstractmethod
    def read(self, x: Floats, order: int = 1) -> Reading:
        """The value and the gradient at x, and the Hessian, or what stands for it, at order 2."""

    def read_ahead(self, x: Floats, order: int, others: Sequence[Floats]) -> tuple[Reading, list[float]]:
        """`read` at x, and the values alone at others, where possible in the same pass over the data."""
        return self.read(x, order), self.values(others)

    def values(self, points: Sequence[Floats]) -> list[float]:
        """The values alone at points."""
        return [self.read(x, 1).value for x in points]

    def extrapolate(self, x: Floats, here: Reading, before: Floats, there: Reading, step: float) -> Reading:
        """`read` at x + step (x - before), from what is known at x and before."""
        return self.read(x + step * (x - before))

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        """The Hessian at x times d."""
        hessian = self.read(x, 2).hessian
        assert hessian is not None
        return hessian @ d

    def line(self, x: Floats, d: Floats) -> Callable[[float], tuple[float, float]]:
        """The first two derivatives of f along d, as functions of the length: f is read at x + length d."""

        def at(length: float) -> tuple[float, float]:
            there = x + length * d
            return float(self.read(there).gradient @ d), float(self.hessian_product(there, d) @ d)

        return at

    def factor(self, hessian: Floats | None) -> Factor:
        """A Hessian of this function, made ready to be solved with."""
        return factor(hessian)

    def bound_curvature(self) -> Floats:
        """A matrix that no Hessian exceeds."""
        raise NotImplementedError


class Place(NamedTuple):
    """A point with its objective and gradient."""

    x: Floats
    f: float
    g: Floats


class Walk(Protocol):
    """How an objective is searched along directions, by L-BFGS."""

    trusting: ClassVar[bool]
    """Whether the first trial along a direction is mostly accepted."""

    def start(self, x: Floats) -> Place: ...
    def along(self, place: Place, d: Floats, decrease: float) -> Place | None:
        """A place along d with sufficient descent, or None where rounding hides any; decrease = -g.d > 0."""
        ...


class Proximal(Protocol):
    """A convex penalty of x with a proximal map, beside a smooth objective."""

    def value(self, x: Floats) -> float: ...

    def prox(self, x: Floats, step: float) -> Floats:
        """argmin_v  step penalty(v) + ||v - x||^2 / 2."""
        ...


def is_finite(reading: Reading) -> bool:
    """Whether value and gradient are numbers."""
    return bool(np.isfinite(reading.value)) and bool(np.isfinite(reading.gradient).all())
