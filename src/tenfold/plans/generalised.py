"""Any loss with any penalty: which method a pair gets.

| loss | none, L2 | L1, elastic net | groups |
|---|---|---|---|
| smooth, convex | Newton's method, L-BFGS | proximal gradients | proximal gradients |
| with kinks | interior point | interior point | refused |
| not convex | Newton's method on parabolas, several starts | proximal gradients | proximal gradients |

The perceptron's loss max(0, -y z) is refused: it is least, zero, at no weights at all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge import RULES, gap, stationarity
from tenfold.judge.points import prepare
from tenfold.losses import (
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Laplace,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Square,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Student,
    Tanh,
    Tweedie,
)
from tenfold.penalties import L2, ElasticNet, Groups, Penalty
from tenfold.plans import glm, piecewise
from tenfold.plans.fitted import Fitted, stored
from tenfold.plans.frames import middle, moved
from tenfold.problems import Glm
from tenfold.solvers import accelerated
from tenfold.solvers.loop import Watch, run
from tenfold.stats import Params

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
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "tanh": Tanh,
}
"""The losses by name, with usual settings; an object of `tenfold.losses` has others."""

PENALTIES = ("l2", "l1", "elasticnet", "group")

PERCEPTRON = (
    "The perceptron's loss max(0, -y z) is least, zero, at no weights at all: there is nothing to minimise. Use "
    "loss='hinge', which asks for a margin, or tenfold.Perceptron, which counts mistakes."
)
KINKED_GROUPS = (
    "A loss with kinks does not go with groups of columns here. The nearest that do: loss='huber' for 'laplace' and "
    "the epsilon-insensitive losses, loss='squared_hinge' for 'hinge'; or penalty='l1'."
)

STARTS, SPREAD = 4, 1.0
"""How many starts a loss that is not convex gets, and how far from no weights, in units of the columns' spread."""


def penalty_of(name: str | None, alpha: float, ratio: float, groups: Any, p: int) -> Penalty:
    """The penalty of a name: alpha times ||w||^2 / 2, ||w||_1, a mixture by `ratio`, or the sum over groups of the root
    of their size times ||w_g||; `groups` (p,) has the group of each column.
    """
    if name is None:
        return L2(0.0)
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


def rescaled_penalty(penalty: Any, factor: float) -> Any:
    """The penalty times a factor."""
    if factor == 1.0:
        return penalty
    if isinstance(penalty, Groups):
        return Groups(penalty.member, factor * penalty.limits)
    if isinstance(penalty, ElasticNet):
        return replace(penalty, l1=factor * penalty.l1, l2=factor * penalty.l2)
    return replace(penalty, strength=factor * penalty.strength)


def is_free(penalty: Penalty, p: int) -> bool:
    """Whether a penalty on p weights is none."""
    return float(np.max(penalty.value(np.stack([np.ones(p), -np.ones(p)])))) == 0.0


def fit(
    rows: Rows,
    loss: Any,
    penalty: Any,
    intercept: bool,
    *,
    tol: float,
    max_iter: int,
    time_limit: float | None = None,
    watch: Watch | None = None,
    seed: int = 0,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise the weighted mean loss + penalty."""
    limits: dict[str, Any] = {"max_iter": max_iter, "time_limit": time_limit, "watch": watch, "dtype": dtype}
    plain = isinstance(penalty, L2) and not penalty.positive
    if loss.kinked:
        if isinstance(penalty, Groups):
            raise ValueError(KINKED_GROUPS)
        l1, l2 = (0.0, float(np.max(penalty.strength))) if plain else (penalty.l1, penalty.l2)
        return piecewise.fit(rows, loss, l1, l2, intercept, **limits)
    if plain and loss.convex:
        return glm.fit(rows, loss, float(np.max(penalty.strength)), intercept, solver="lbfgs", tol=tol, **limits)
    if plain:
        return _best_of_starts(rows, loss, penalty, intercept, tol, seed, limits)
    return _proximal(rows, Glm(loss, penalty, intercept), **limits)


def _best_of_starts(
    rows: Rows, loss: Loss, penalty: L2, intercept: bool, tol: float, seed: int, limits: dict[str, Any]
) -> Fitted:
    """The best of several places of rest: from no weights, and from random ones."""
    problem, random = Glm(loss, penalty, intercept), np.random.default_rng(seed)
    spread = np.sqrt(prepare(problem, rows).squares)
    found = []
    for k in range(STARTS):
        w = random.standard_normal((1, rows.shape[1])) / np.where(spread > 0.0, spread, 1.0)
        start = None if k == 0 else Params(SPREAD * w / np.sqrt(rows.shape[1]), np.zeros(1))
        strength = float(np.max(penalty.strength))
        found.append(glm.fit(rows, loss, strength, intercept, solver="lbfgs", tol=tol, start=start, **limits))
    return min(found, key=lambda fitted: (not fitted.certificate.ok, fitted.certificate.objective))


def _proximal(
    rows: Rows, problem: Glm, max_iter: int, time_limit: float | None, watch: Watch | None, dtype: Any
) -> Fitted:
    """FISTA from the best constant, then the judge."""
    p = rows.shape[1]
    shift = middle(rows, False) if problem.intercept else np.zeros(p)
    first, scale = glm.first_constant(problem, rows)
    start = Params(np.zeros((1, p)), first)

    def measure(params: Params, gradient: Floats) -> float:
        away = problem.penalty.subgradient_distance(params.coef, gradient[None, :-1])[0]
        room = float(np.sum(np.abs(params.coef[0]) * away)) + float(np.sum(away * away)) / max(scale, 1e-300)
        return (room + float(gradient[-1] ** 2)) / (1e-3 * RULES["gap"].tol * scale)

    heard: Watch | None = None if watch is None else lambda record, params: watch(record, moved(params, -shift))
    path = accelerated.steps(problem, rows, start, shift, measure)
    solution = run(path, max_iter, time_limit, heard)
    params, status = stored(moved(solution.params, -shift), dtype), solution.status.value
    if problem.loss.convex:
        certificate = gap(problem, rows, params, status=status, dtype=dtype)
    else:
        certificate = stationarity(problem, rows, params, start, status=status, dtype=dtype)
    return Fitted(params, certificate, "fista", iterations=solution.iterations, trace=solution.trace)
