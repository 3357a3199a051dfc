"""Objectives of functions that a caller writes, and sums of squares of such residuals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.objectives import differences
from tenfold.objectives.objective import Objective, Reading

NOISE = 1e-11  # relative rounding of values whose terms cancel

WRONG_SHAPE = "{name} must return an array of shape {expected}, {meaning}; it returned one of shape {shape}."


class Function(Objective):
    """A function of a vector (q,) by callables for its value and, where they are known, its gradient (q,), Hessian
    (q, q) and products of the Hessian with a vector; others are differences. Calls are counted in `calls`.
    """

    jumps, noise = True, NOISE

    def __init__(
        self,
        fun: Callable[[Floats], Any],
        grad: Callable[[Floats], Any] | None = None,
        hess: Callable[[Floats], Any] | None = None,
        hessp: Callable[[Floats, Floats], Any] | None = None,
    ) -> None:
        self.fun, self.grad, self.hess, self.hessp = fun, grad, hess, hessp
        self.calls = {"fun": 0, "grad": 0, "hess": 0}

    def value(self, x: Floats) -> float:
        self.calls["fun"] += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = np.asarray(self.fun(x.copy()), dtype=np.float64)
        if result.size != 1:
            raise ValueError(WRONG_SHAPE.format(name="fun", expected="()", meaning="a number", shape=result.shape))
        return float(result.reshape(()))

    def gradient(self, x: Floats) -> Floats:
        if self.grad is None:
            return differences.gradient(self.value, x)
        self.calls["grad"] += 1
        return call(self.grad, x, (len(x),), "grad", "the gradient")

    def hessian(self, x: Floats) -> Floats:
        self.calls["hess"] += 1
        if self.hess is not None:
            return call(self.hess, x, (len(x), len(x)), "hess", "the Hessian")
        if self.hessp is not None:
            return np.column_stack([self.hessian_product(x, d) for d in np.eye(len(x))])
        if self.grad is None:
            return differences.hessian_of_values(self.value, x)
        return differences.hessian(self.gradient, x)

    def read(self, x: Floats, order: int = 1) -> Reading:
        value = self.value(x)
        if not np.isfinite(value):
            return Reading(value, np.full(len(x), np.nan))
        return Reading(value, self.gradient(x), self.hessian(x) if order > 1 else None)

    def values(self, points: Any) -> list[float]:
        return [self.value(x) for x in points]

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        if self.hessp is not None:
            self.calls["hess"] += 1
            return call(lambda at: self.hessp(at, d.copy()), x, (len(x),), "hessp", "the Hessian times a vector")  # type: ignore[misc]
        if self.hess is not None:
            return self.hessian(x) @ d
        return differences.product(self.gradient, x, d)


class SumOfSquares(Objective):
    """Half the sum of squares of residuals r(x) (m,) with Jacobian (m, q). Its Hessian at order 2 is J'J, that of
    Gauss and Newton, which leaves out the curvature of the residuals.
    """

    jumps, noise = True, NOISE

    def __init__(self, fun: Callable[[Floats], Any], jac: Callable[[Floats], Any] | None = None) -> None:
        self.fun, self.jac = fun, jac
        self.calls = {"fun": 0, "grad": 0, "hess": 0}

    def residuals(self, x: Floats) -> Floats:
        self.calls["fun"] += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = np.asarray(self.fun(x.copy()), dtype=np.float64)
        if result.ndim != 1:
            raise ValueError(
                WRONG_SHAPE.format(name="fun", expected="(m,)", meaning="the residuals", shape=result.shape)
            )
        return result

    def jacobian(self, x: Floats, r: Floats) -> Floats:
        if self.jac is None:
            return differences.jacobian(self.residuals, x)
        self.calls["grad"] += 1
        return call(self.jac, x, (len(r), len(x)), "grad", "the Jacobian of the residuals")

    def read(self, x: Floats, order: int = 1) -> Reading:
        r = self.residuals(x)
        value = 0.5 * float(r @ r)
        if not np.isfinite(value):
            return Reading(value, np.full(len(x), np.nan))
        J = self.jacobian(x, r)
        return Reading(value, J.T @ r, J.T @ J if order > 1 else None)

    def values(self, points: Any) -> list[float]:
        return [0.5 * float(r @ r) for r in map(self.residuals, points)]

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        return differences.product(lambda at: self.read(at).gradient, x, d)


def call(function: Callable[[Floats], Any], x: Floats, shape: tuple[int, ...], name: str, meaning: str) -> Floats:
    """The array that a function returns, in float64 and of the expected shape."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        result = np.asarray(function(x.copy()), dtype=np.float64)
    if result.shape != shape:
        raise ValueError(WRONG_SHAPE.format(name=name, expected=shape, meaning=meaning, shape=result.shape))
    return result
