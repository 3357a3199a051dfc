"""Any loss with any penalty: the solver of each pair, and the kind of its certificate.

`select_method` decides; the table in the documentation is generated from it. The perceptron's loss max(0, -y z) is
rejected: its minimum, zero, is at zero weights.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.linear_models import design_of, gap, stationarity
from tenfold.losses.classification import Hinge, Logistic, ModifiedHuber, Softmax, SquaredHinge, Tanh
from tenfold.losses.deviances import Gamma, Poisson, Tweedie
from tenfold.losses.loss import Loss
from tenfold.losses.regression import (
    EpsilonInsensitive,
    Huber,
    Laplace,
    Quantile,
    Square,
    SquaredEpsilonInsensitive,
    Student,
)
from tenfold.penalties import L2, ElasticNet, Groups, Penalty
from tenfold.plans import glm, l1_glm, piecewise_linear
from tenfold.plans.coordinates import approximate_centre, shift_intercept
from tenfold.plans.result import Fitted, round_to_dtype, solve_until_certified
from tenfold.problems import Evaluation, Glm
from tenfold.solvers.loop import Callback, Solution
from tenfold.stats.derivatives import Params

# the losses by name, with usual settings; an object of `tenfold.losses` has others
LOSSES: dict[str, Callable[[], Any]] = {
    "square": Square,
    "huber": lambda: Huber(1.35),
    "laplace": Laplace,
    "quantile": lambda: Quantile(0.5),
    "epsilon_insensitive": lambda: EpsilonInsensitive(0.1),
    "squared_epsilon_insensitive": lambda: SquaredEpsilonInsensitive(0.1),
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": lambda: Tweedie(1.5),
    "student": lambda: Student(3.0),
    "logistic": Logistic,
    "softmax": Softmax,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "modified_huber": ModifiedHuber,
    "tanh": Tanh,
}

PENALTIES = ("l2", "l1", "elasticnet", "group")

PERCEPTRON = (
    "The perceptron's loss max(0, -y z) is least, zero, at no weights at all: there is nothing to minimise. Use "
    "loss='hinge', which asks for a margin, or tenfold.Perceptron, which counts mistakes."
)
POSITIVE = "A loss with kinks does not go with weights that are constrained to be positive. Use a smooth loss."
NONSMOOTH_GROUPS = (
    "A loss with kinks does not go with groups of columns here. The nearest that do: loss='huber' for 'laplace' and "
    "the epsilon-insensitive losses, loss='squared_hinge' for 'hinge'; or penalty='l1'."
)

N_STARTS = 4  # initial points of a loss that is not convex: zero and random weights
START_SCALE = 1.0  # about the standard deviation of the raw predictions of random weights


def penalty_of(name: str | None, alpha: Any, ratio: float, groups: Any, p: int) -> Penalty:
    """The penalty of a name: alpha times ||w||^2 / 2, ||w||_1, a mixture by `ratio`, or the sum over groups of the root
    of their size times ||w_g||; `groups` (p,) has the group of each column. Squares may have a strength for each class.
    """
    if name is None:
        return L2(0.0)
    if name == "l2" and np.ndim(alpha):
        return L2(np.asarray(alpha, dtype=np.float64))
    if np.ndim(alpha):
        raise ValueError(f"penalty={name!r} has one strength alpha for all classes; got {alpha!r}.")
    alpha = float(alpha)
    if name == "l2":
        return L2(alpha)
    if name in ("l1", "elasticnet"):
        ratio = 1.0 if name == "l1" else ratio
        return ElasticNet(alpha * ratio, alpha * (1.0 - ratio)) if ratio > 0.0 else L2(alpha)
    member = np.zeros((p, 0)) if groups is None else np.asarray(groups)
    if groups is None or member.shape != (p,):
        raise ValueError(f"penalty='group' needs groups, one for each of the {p} columns; got {groups!r}.")
    names, number = np.unique(member, return_inverse=True)
    table = np.zeros((p, len(names)))
    table[np.arange(p), number] = 1.0
    return Groups(table, alpha * np.sqrt(table.sum(axis=0)))


def rescale_penalty(penalty: Any, factor: float) -> Any:
    """The penalty times a factor."""
    if factor == 1.0:
        return penalty
    if isinstance(penalty, Groups):
        return Groups(penalty.member, factor * penalty.limits)
    if isinstance(penalty, ElasticNet):
        return replace(penalty, l1=factor * penalty.l1, l2=factor * penalty.l2)
    return replace(penalty, strength=factor * penalty.strength)


def is_free(penalty: Penalty, p: int) -> bool:
    """Whether a penalty on p weights is zero everywhere."""
    return not np.any([penalty.value(np.full((1, p), side)) for side in (1.0, -1.0)])


def of_two_classes(loss: Loss, penalty: Any) -> tuple[Loss, Any]:
    """The softmax of two classes as the logistic loss of w = w_1 - w_0, with the smallest penalty of any two weights of
    that difference; half the L2 penalty where both have the same strength. Other losses are returned as they are.
    """
    if not loss.multi_output:
        return loss, penalty
    if isinstance(penalty, L2):
        # the difference is split in proportion to 1 / strength
        first, second = np.broadcast_to(np.asarray(penalty.strength, dtype=np.float64), 2)
        return Logistic(), L2(float(first * second / (first + second)) if first + second > 0.0 else 0.0)
    return Logistic(), replace(penalty, l2=0.5 * penalty.l2) if isinstance(penalty, ElasticNet) else penalty


class Method(NamedTuple):
    """The name of a method, the kind of its certificate, and the reason why a pair is rejected, if it is."""

    method: str
    kind: str
    rejected: str = ""


NEWTON = "Newton's method, L-BFGS"
PARABOLAS = "Newton's method on parabolas, several starts"
SPARSE = "proximal Newton's method, working sets"
GROUPED = "proximal Newton's method, accelerated gradients"
FISTA = "accelerated proximal gradients"
FISTA_STARTS = "accelerated proximal gradients, several starts"
INTERIOR = "interior point"


def select_method(loss: Any, penalty: Any) -> Method:
    """The method and the certificate of a pair."""
    kind = "gap" if loss.convex else "stationarity"
    if loss.nonsmooth:
        reason = NONSMOOTH_GROUPS if isinstance(penalty, Groups) else POSITIVE if penalty.positive else ""
        return Method("refused" if reason else INTERIOR, "" if reason else kind, reason)
    if isinstance(penalty, L2) and not penalty.positive:
        return Method(NEWTON if loss.convex else PARABOLAS, kind)
    if isinstance(penalty, ElasticNet) and not penalty.positive and loss.convex:
        return Method(SPARSE, kind)
    if isinstance(penalty, Groups) and loss.convex:
        return Method(GROUPED, kind)
    return Method(FISTA if loss.convex else FISTA_STARTS, kind)


def fit(
    rows: Rows,
    loss: Any,
    penalty: Any,
    intercept: bool,
    *,
    classes: int = 2,
    tol: float,
    max_iter: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
    seed: int = 0,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise the weighted mean loss + penalty; `classes` are those of a softmax."""
    selected = select_method(loss, penalty)
    if selected.rejected:
        raise ValueError(selected.rejected)
    limits: dict[str, Any] = {"max_iter": max_iter, "time_limit": time_limit, "callback": callback}
    if selected.method == INTERIOR:
        l1, l2 = (penalty.l1, penalty.l2) if isinstance(penalty, ElasticNet) else (0.0, float(penalty.strength))
        return piecewise_linear.fit(rows, loss, l1, l2, intercept, dtype=dtype, **limits)
    outputs, problem = classes if loss.multi_output else 1, Glm(loss, penalty, intercept)
    if selected.method in (NEWTON, PARABOLAS, SPARSE, GROUPED):
        common: dict[str, Any] = {"outputs": outputs, "solver": "lbfgs", "tol": tol, "dtype": dtype, **limits}
        solve = partial(glm.fit, rows, loss, penalty, intercept, **common)
        return solve() if loss.convex else _best(solve(start=start) for start in _starts(problem, rows, seed))
    work = _ProximalFit.on(problem, rows, outputs, dtype)
    starts = [None] if loss.convex else _starts(problem, rows, seed)
    return _best(work.fit(start, **limits) for start in starts)


def _starts(problem: Glm, rows: Rows, seed: int) -> list[Params | None]:
    """Initial points of a loss that is not convex: zero weights (None), and random ones."""
    random, p = np.random.default_rng(seed), rows.shape[1]
    spread = np.sqrt(design_of(problem, rows).squares)
    unit = START_SCALE / np.where(spread > 0.0, spread, 1.0) / np.sqrt(p)
    drawn = [Params(random.standard_normal((1, p)) * unit, np.zeros(1)) for _ in range(N_STARTS - 1)]
    return [None, *drawn]


def _best(fits: Iterable[Fitted]) -> Fitted:
    """The best of several stationary points."""
    return min(fits, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.objective))


class Distance:
    """A measure of the distance of the loss gradient from the subdifferential of the penalty, and of the gradient of
    the intercepts from zero; at most one at convergence. `tighten` lowers the tolerance.
    """

    def __init__(self, problem: Glm, scale: float) -> None:
        self.problem, self.scale = problem, max(scale, 1e-300)
        self.allowed = 1e-3 * RULES["gap"].tol * self.scale

    def tighten(self) -> None:
        self.allowed *= 1e-3

    def __call__(self, params: Params, here: Evaluation) -> float:
        penalty = self.problem.penalty
        g = here.gradient.reshape(len(params.intercept), -1)
        loss_gradient = g[:, :-1] - np.reshape(penalty.strength, (-1, 1)) * params.coef
        away = penalty.subgradient_distance(params.coef, loss_gradient)
        room = float(np.sum(np.abs(params.coef) * away)) + float(np.sum(away * away)) / self.scale
        return (room + float(np.sum(g[:, -1] ** 2))) / self.allowed


class _ProximalFit(NamedTuple):
    """A problem whose penalty has a proximal map, on samples centred at `shift`."""

    problem: Glm
    rows: Rows
    shift: Floats
    first: Params
    scale: float
    dtype: Any

    @classmethod
    def on(cls, problem: Glm, rows: Rows, outputs: int, dtype: Any) -> "_ProximalFit":
        p = rows.shape[1]
        shift = approximate_centre(rows, False) if problem.intercept else np.zeros(p)
        b, scale = glm.first_constant(problem, rows, outputs)
        return cls(problem, rows, shift, Params(np.zeros((outputs, p)), b), scale, dtype)

    def fit(self, start: Params | None, max_iter: int, time_limit: float | None, callback: Callback | None) -> Fitted:
        """FISTA from the best constant or from a start for uncentred samples; then the judge."""
        problem, rows, shift = self.problem, self.rows, self.shift
        first = self.first if start is None else shift_intercept(start, shift)
        rule = Distance(problem, self.scale)
        path = l1_glm.gradient_steps(problem, rows, first, shift, rule)
        outer_callback: Callback | None = (
            None if callback is None else lambda record, params: callback(record, shift_intercept(params, -shift))
        )
        return solve_until_certified(path, self._judge, rule.tighten, max_iter, time_limit, outer_callback)[1]

    def _judge(self, solution: Solution) -> Fitted:
        params = round_to_dtype(shift_intercept(solution.params, -self.shift), self.dtype, self.shift)
        certificate = self._certificate(params, solution.status.value)
        return Fitted(params, certificate, "proximal", iterations=solution.iterations, trace=solution.trace)

    def _certificate(self, params: Params, status: str) -> Certificate:
        if self.problem.loss.convex:
            return gap(self.problem, self.rows, params, status=status, dtype=self.dtype)
        return stationarity(self.problem, self.rows, params, self.first, status=status, dtype=self.dtype)
