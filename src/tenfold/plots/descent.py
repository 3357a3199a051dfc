"""Plots of optimisers: contours of a function with the path of a solver, and errors of differences by step length."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.gradient_check import GradientCheck
from tenfold.plans.solver_result import SolverResult
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display

MARGIN = 0.15  # of the range of a path, around it
LEVELS = 25  # contours


@dataclass
class DescentDisplay(Display):
    """Contours of a function of two coordinates, with the path of a solver.

    Parameters
    ----------
    path : ndarray of shape (steps, 2)
        The points of the solver.
    first, second : ndarray of shape (m,)
        The grid of the coordinates.
    values : ndarray of shape (m, m)
        The function on the grid: a row for each value of the second coordinate.
    objective : ndarray of shape (steps,)
        The function at the points.
    method : str
        The method.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import minimize
    >>> from tenfold.plots import DescentDisplay
    >>> def fun(x):
    ...     return x[0] ** 2 + 10.0 * x[1] ** 2
    >>> result = minimize(fun, [10.0, 1.0], method="gradient-descent")
    >>> DescentDisplay.of(fun, result).path.shape[1]
    2
    """

    path: Floats
    first: Floats
    second: Floats
    values: Floats
    objective: Floats
    method: str

    @classmethod
    def of(cls, fun: Callable[[Floats], Any], result: SolverResult, *, points: int = 80) -> Self:
        """The data alone, of the function `fun` and the `result` of `minimize`: a grid of `points` each way around its
        path.
        """
        if result.path is None or result.path.shape[1] != 2:
            raise ValueError("A path of two coordinates is needed: minimize(..., keep_path=True) of a function of two.")
        low, high = result.path.min(axis=0), result.path.max(axis=0)
        room = MARGIN * np.maximum(high - low, 0.25 * float(np.max(high - low)) or 1.0)
        first, second = (np.linspace(*ends, points) for ends in zip(low - room, high + room, strict=True))
        values = np.array([[float(np.asarray(fun(np.array([a, b])))) for a in first] for b in second])
        objective = np.array([record.objective for record in result.trace])
        return cls(result.path, first, second, values, objective, result.method)

    @classmethod
    def from_result(
        cls, fun: Callable[[Floats], Any], result: SolverResult, *, ax: Any = None, **settings: Any
    ) -> Self:
        """Plot the path of a `result` of `minimize` on contours of `fun`, on `ax` or on new axes; `settings` go to
        matplotlib's `plot`.
        """
        return cls.of(fun, result).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `plot`."""
        self.ax_, self.figure_ = get_axes(ax)
        finite = self.values[np.isfinite(self.values)]
        least = float(np.min(finite))
        # levels close together near the minimum: equal steps of the root of the excess
        levels = least + np.linspace(0.0, np.sqrt(float(np.max(finite)) - least), LEVELS + 1)[1:] ** 2
        if levels[-1] > levels[0]:
            self.ax_.contour(self.first, self.second, self.values, levels=levels, colors="0.7", linewidths=0.6)
        style = {"marker": ".", "color": "C0", "linewidth": 1.0, "label": self.method, **settings}
        self.ax_.plot(self.path[:, 0], self.path[:, 1], **style)
        self.ax_.plot(*self.path[0], marker="o", color=style["color"], markerfacecolor="none")
        label(self.ax_, "x[0]", "x[1]", f"{self.method}: {len(self.path) - 1} steps")
        return self


@dataclass
class GradientCheckDisplay(Display):
    """Errors of differences by the length of the step: a V where the gradient is right, a level where it is wrong.

    Parameters
    ----------
    lengths : ndarray of shape (k,)
        Lengths of the steps.
    forward : ndarray of shape (k,)
        The median error of forward differences, relative to the gradient.
    symmetric : ndarray of shape (k,)
        That of symmetric differences.
    ok : bool
        Whether the gradient is right.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_gradient
    >>> from tenfold.plots import GradientCheckDisplay
    >>> curve = GradientCheckDisplay.of(check_gradient(lambda x: np.sum(np.sin(x)), np.cos, np.array([0.5, -1.0])))
    >>> bool(curve.symmetric.min() < curve.forward.min())
    True
    """

    lengths: Floats
    forward: Floats
    symmetric: Floats
    ok: bool

    @classmethod
    def of(cls, check: GradientCheck) -> Self:
        """The data alone, of `check`, a result of `check_gradient`."""
        return cls(check.lengths, check.forward, check.symmetric, check.ok)

    @classmethod
    def from_check(cls, check: GradientCheck, *, ax: Any = None, **settings: Any) -> Self:
        """Plot `check`, a result of `check_gradient`, on `ax` or new axes; `settings` go to matplotlib's `loglog`."""
        return cls.of(check).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `loglog`."""
        self.ax_, self.figure_ = get_axes(ax)
        for name, errors in (("forward", self.forward), ("symmetric", self.symmetric)):
            self.ax_.loglog(
                self.lengths, np.where(errors > 0.0, errors, np.nan), **{"marker": ".", "label": name, **settings}
            )
        self.ax_.legend(fontsize="small")
        verdict = "agrees with" if self.ok else "does NOT agree with"
        label(self.ax_, "length of the step", "error, relative to the gradient", f"gradient {verdict} differences")
        return self
