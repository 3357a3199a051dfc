"""Optimisers on their own: one function for all methods, with a common trace, and the judge."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Floats, NotFinite
from tenfold.judge.local_minimum import StationaryPoint, classify, local_minimum, slope_nearby
from tenfold.objectives.function import Function, SumOfSquares
from tenfold.objectives.objective import Objective
from tenfold.plans.solver_result import SolverResult
from tenfold.solvers import (
    gradient_descent,
    lbfgs,
    levenberg_marquardt,
    line_search,
    newton,
    nonlinear_cg,
    scaled_cg,
    scipy_minimisers,
    truncated_newton,
)
from tenfold.solvers.loop import Monitor, Record, Solution, Status, Step, run

KEPT_PATH = 1_000_000  # numbers of a path that are kept unasked
LINE = "line"

METHODS = (
    "gradient-descent",
    "momentum",
    "bold-driver",
    "nonlinear-cg",
    "scaled-cg",
    "newton",
    "truncated-newton",
    "l-bfgs",
    "levenberg-marquardt",
)


@dataclass(frozen=True)
class Settings:
    """What the methods may be told."""

    rate: float | str | None
    momentum: float
    normalised: bool
    accuracy: float | None
    beta: nonlinear_cg.Beta


Measure = Callable[[Floats, float], float]


def minimize(
    fun: Callable[[Floats], Any] | Objective,
    x0: Any,
    *,
    method: str = "l-bfgs",
    grad: Callable[[Floats], Any] | None = None,
    hess: Callable[[Floats], Any] | None = None,
    hessp: Callable[[Floats, Floats], Any] | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    time_limit: float | None = None,
    callback: Callable[[Record, Floats], bool] | None = None,
    keep_path: bool | None = None,
    rate: float | str | None = None,
    momentum: float = 0.9,
    normalised: bool = False,
    line_accuracy: float | None = None,
    beta: str = "polak-ribiere",
) -> SolverResult:
    """Minimise a smooth function from a start, and judge the result.

    Parameters
    ----------
    fun : callable or Objective
        The function: from x of shape (q,) to a number; for "levenberg-marquardt" to the residuals (m,), half of whose
        sum of squares is minimised. Objectives of this library are taken as they are.
    x0 : array-like of shape (q,)
        The start.
    method : str, default="l-bfgs"
        "gradient-descent", "momentum", "bold-driver", "nonlinear-cg", "scaled-cg", "newton", "truncated-newton",
        "l-bfgs" or "levenberg-marquardt"; or a method of `scipy.optimize.minimize`, in the same trace: "bfgs",
        "nelder-mead", "powell", "trust-ncg", "trust-krylov" or "trust-exact".
    grad : callable, default=None
        The gradient: from x to an array of shape (q,), for residuals their Jacobian (m, q). None for symmetric
        differences, 2 q values each.
    hess : callable, default=None
        The Hessian: from x to an array of shape (q, q). None for differences of the gradient, where one is needed.
    hessp : callable, default=None
        Products with the Hessian: from x and a vector to an array of shape (q,), for "truncated-newton" and
        "scaled-cg". None for the Hessian, or differences of the gradient.
    tol : float, default=1e-8
        A method stops where the norm of the gradient is at most `tol` of that at the start.
    max_iter : int, default=1000
        The most steps.
    time_limit : float, default=None
        Seconds after which a method stops; None for no limit.
    callback : callable, default=None
        Called after each step with its record (objective, measure, seconds) and x; stops where it returns True.
    keep_path : bool, default=None
        Whether the points of all steps are kept; None for where that is at most a million numbers.
    rate : float or "line", default=None
        The learning rate of "gradient-descent", "momentum" and the first one of "bold-driver"; "line" minimises along
        each step. None is "line" for "gradient-descent", and for the others one over the largest curvature at the
        start.
    momentum : float, default=0.9
        The part of the last step that "momentum" keeps; at least 0 and below 1.
    normalised : bool, default=False
        Whether "momentum" multiplies the gradient by 1 - momentum.
    line_accuracy : float, default=None
        The slope at the end of a line search, relative to that at its begin: None is 1e-3 for line minimisation, 0.1
        for "nonlinear-cg" and 0.9 for "l-bfgs".
    beta : str, default="polak-ribiere"
        The formula of "nonlinear-cg": "polak-ribiere", "fletcher-reeves" or "hestenes-stiefel".

    Returns
    -------
    SolverResult
        The minimiser, the trace, the path, and the certificate: kind stationarity, with the gradient checked against
        differences of the function and, for at most 100 coordinates, the signs of the Hessian's eigenvalues. A saddle
        point is not ok.

    Raises
    ------
    ValueError
        If the function or its gradient is not finite at the start, or of the wrong shape.

    Notes
    -----
    A step costs a value and a gradient for gradient descent, one to three for line searches, a product with the Hessian
    besides for "scaled-cg", several for "truncated-newton", and the Hessian and a factorisation, q^3 / 3, for "newton".
    Where the function is convex the certificate is one of the global minimum, but `minimize` does not know that; fits
    of this library's models do, and have bounds on their excess. Seeger, sections 2.4.1, 3.4.1 and 3.4.2; Rosasco 8.1;
    Welling 7.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import minimize
    >>> def fun(x):
    ...     return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    >>> def grad(x):
    ...     slope = 200.0 * (x[1] - x[0] ** 2)
    ...     return np.array([-2.0 * slope * x[0] - 2.0 * (1.0 - x[0]), slope])
    >>> result = minimize(fun, [-1.2, 1.0], grad=grad, method="newton")
    >>> result.x.round(6), result.success
    (array([1., 1.]), True)
    """
    objective = _objective(fun, method, grad, hess, hessp)
    start = _check_start(x0)
    settings = _check(Settings(rate, momentum, normalised, line_accuracy, beta), method, tol, max_iter)  # type: ignore[arg-type]
    here = objective.read(start)
    if not (np.isfinite(here.value) and np.isfinite(here.gradient).all()):
        raise ValueError(f"The function or its gradient is not finite at the start, x0 = {start}: fun is {here.value}.")
    scale = float(np.linalg.norm(here.gradient))

    def measure(g: Floats, decrease: float) -> float:
        with np.errstate(over="ignore"):
            size = float(np.linalg.norm(g))
        return size / (tol * scale) if size > 0.0 else 0.0

    keep = start.size * (max_iter + 1) <= KEPT_PATH if keep_path is None else keep_path
    points = Points(keep=keep)
    if method in METHODS:
        path = points.record(_steps(objective, start, method, settings, measure))
        try:
            solution = run(path, max_iter, time_limit, callback)
        except NotFinite as reason:
            raise ValueError("The Hessian has entries that are not finite.") from reason
    else:
        monitor = Monitor(max_iter, time_limit, callback)
        solution = scipy_minimisers.solve(objective, start, measure, method, monitor, points.take)
    return _result(objective, start, method, solution, points, here.value)


def classify_stationary(
    fun: Callable[[Floats], Any],
    x: Any,
    *,
    grad: Callable[[Floats], Any] | None = None,
    hess: Callable[[Floats], Any] | None = None,
    tol: float = 1e-5,
) -> StationaryPoint:
    """Say whether a point is a minimum, a maximum or a saddle of a function, by the eigenvalues of its Hessian.

    Parameters
    ----------
    fun : callable
        The function: from x of shape (q,) to a number.
    x : array-like of shape (q,)
        The point.
    grad : callable, default=None
        The gradient: from x to an array of shape (q,). None for differences.
    hess : callable, default=None
        The Hessian: from x to an array of shape (q, q). None for differences.
    tol : float, default=1e-5
        The gradient that counts as zero, in units of its median norm at a tenth of the length of x from it.

    Returns
    -------
    StationaryPoint
        The kind, the eigenvalues, and a lower point nearby where one was found.

    Notes
    -----
    Eigenvalues below 1e-7 of the largest count as zero: then lower values are looked for along their eigenvectors.
    Seeger, section 3.4.

    Examples
    --------
    >>> from tenfold import classify_stationary
    >>> classify_stationary(lambda x: x[0] ** 2 - x[1] ** 2, [0.0, 0.0]).kind
    'saddle'
    """
    objective, point = Function(fun, grad, hess), _check_start(x)
    return classify(objective, point, slope_nearby(objective, point, point), tol)


def _objective(fun: Any, method: str, grad: Any, hess: Any, hessp: Any) -> Objective:
    if method not in METHODS and method not in scipy_minimisers.METHODS:
        known = ", ".join((*METHODS, *scipy_minimisers.METHODS))
        raise ValueError(f"method must be one of {known}; got {method!r}.")
    if method == "levenberg-marquardt":
        if isinstance(fun, Objective) and not isinstance(fun, SumOfSquares):
            raise ValueError("method 'levenberg-marquardt' needs residuals: fun must return an array of shape (m,).")
        return fun if isinstance(fun, SumOfSquares) else SumOfSquares(fun, grad)
    return fun if isinstance(fun, Objective) else Function(fun, grad, hess, hessp)


def _check_start(x: Any) -> Floats:
    point = np.atleast_1d(np.array(x, dtype=np.float64))
    if point.ndim != 1 or not point.size or not np.isfinite(point).all():
        raise ValueError(f"The point must be a vector of finite numbers; got an array of shape {point.shape}.")
    return point


def _check(settings: Settings, method: str, tol: float, max_iter: int) -> Settings:
    rate = settings.rate
    if not (rate is None or rate == LINE or (not isinstance(rate, str) and np.isfinite(rate) and rate > 0.0)):
        raise ValueError(f"rate must be a positive number, 'line' or None; got {rate!r}.")
    if rate == LINE and method == "bold-driver":
        raise ValueError("The bold driver adapts a rate: rate must be a positive number or None; got 'line'.")
    if not 0.0 <= settings.momentum < 1.0:
        raise ValueError(f"momentum must be at least 0 and below 1; got {settings.momentum}.")
    if settings.accuracy is not None and not 0.0 < settings.accuracy < 1.0:
        raise ValueError(f"line_accuracy must be between 0 and 1; got {settings.accuracy}.")
    if settings.beta not in ("polak-ribiere", "fletcher-reeves", "hestenes-stiefel"):
        raise ValueError(
            f"beta must be 'polak-ribiere', 'fletcher-reeves' or 'hestenes-stiefel'; got {settings.beta!r}."
        )
    if not tol >= 0.0 or max_iter < 0:
        raise ValueError(f"tol and max_iter must not be negative; got {tol} and {max_iter}.")
    return settings


def _steps(objective: Objective, start: Floats, method: str, s: Settings, measure: Measure) -> Iterator[Step]:
    if method == "newton":
        return newton.steps(objective, start, measure)
    if method == "truncated-newton":
        return truncated_newton.steps(objective, start, measure)
    if method == "scaled-cg":
        return scaled_cg.steps(objective, start, measure)
    if method == "nonlinear-cg":
        return nonlinear_cg.steps(objective, start, measure, s.beta, s.accuracy or 0.1)
    if method == "levenberg-marquardt":
        assert isinstance(objective, SumOfSquares)
        return levenberg_marquardt.steps(objective, start, measure)
    if method == "l-bfgs":
        length = max(float(np.linalg.norm(objective.read(start).gradient)), 1e-300)
        search = line_search.LineSearch(objective, s.accuracy or 0.9)
        return lbfgs.steps(search, start, partial(np.multiply, 1.0 / length), measure)
    mu = s.momentum if method == "momentum" else 0.0
    if s.rate == LINE or (s.rate is None and method == "gradient-descent"):
        return gradient_descent.line_minimisation(objective, start, measure, mu, s.accuracy or 1e-3)
    rate = gradient_descent.safe_rate(objective, start) if s.rate is None else float(s.rate)
    solver = gradient_descent.bold_driver if method == "bold-driver" else gradient_descent.steps
    return solver(objective, start, measure, rate, mu, normalised=s.normalised)


class Points:
    """The points of the steps, where they are kept, and the best of them."""

    def __init__(self, *, keep: bool) -> None:
        self.keep = keep
        self.path: list[Floats] = []
        self.best: Step | None = None

    def take(self, step: Step) -> None:
        if self.keep:
            self.path.append(step.params.copy())
        if self.best is None or step.objective < self.best.objective:
            self.best = step

    def record(self, path: Iterator[Step]) -> Iterator[Step]:
        """The same steps, taken on the way."""
        for step in path:
            self.take(step)
            yield step


def _result(
    objective: Objective, start: Floats, method: str, solution: Solution, points: Points, first: float
) -> SolverResult:
    calls = dict(getattr(objective, "calls", {}))
    x, status = solution.params, solution.status
    if status is not Status.CONVERGED and not objective.values([x])[0] <= first:
        assert points.best is not None
        x, status = points.best.params, Status.DIVERGED
    here = objective.read(x)
    certificate = local_minimum(objective, x, start, status=status.value)
    return SolverResult(
        x=x,
        fun=here.value,
        jac=here.gradient,
        method=method,
        status=status.value,
        message=status.message,
        nit=solution.iterations,
        nfev=calls.get("fun", 0),
        njev=calls.get("grad", 0),
        nhev=calls.get("hess", 0),
        trace=solution.trace,
        path=np.array(points.path) if points.keep else None,
        values=None,
        certificate_=certificate,
    )
