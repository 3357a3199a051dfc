"""Stochastic gradient descent: `fit` takes epochs until the objective, or the validation score, stops improving.

Arguments: a `Rule` (loss, penalty, schedule), a `Target` for each learner (one, or one per class against the rest), and
the initial `State` (`start_at`). Result: a `SgdFit`, whose `params` are averages where the rule averages, and whose
`state` allows to continue. Judging would cost several epochs, so it is left to `certify`, as the certificate notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse
from tenfold.data import NotFinite, Rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.plans.result import Fitted
from tenfold.solvers.loop import Callback, Status, run
from tenfold.solvers.sgd import Epochs, Patience, Rule, State, Target
from tenfold.stats.derivatives import Params, forward

__all__ = ["Held", "Patience", "Rule", "SgdFit", "State", "Target", "fit", "start_at"]


@dataclass(frozen=True)
class SgdFit(Fitted):
    """The result of a fit: parameters, status, and state for warm starts."""

    status: Status = field(kw_only=True)
    state: State = field(kw_only=True)


@dataclass(frozen=True)
class Held:
    """Validation samples of early stopping: X, y (class indices or values), weights or None."""

    X: Array
    y: Floats
    weight: Floats | None = None


def start_at(coef: Array, intercept: Array, t: float = 1.0, average: Params | None = None) -> State:
    """The state from weights (k, p) and intercepts (k,), in float64; copies."""
    return State(Params(np.array(coef, dtype=np.float64), np.array(intercept, dtype=np.float64)), average, float(t))


def fit(
    rows: Rows,
    rule: Rule,
    targets: Sequence[Target],
    start: State,
    *,
    max_iter: int,
    patience: Patience | None = None,
    held: Held | None = None,
    skip: Array | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> SgdFit:
    """At most `max_iter` epochs of every target's learner.

    Parameters
    ----------
    rows : X (n, p) with y (n, 1): class numbers where targets have an `own` class, else the values themselves.
    rule, targets, start : see `solvers.sgd`.
    patience : when a learner ends; None: after `max_iter` epochs.
    held : where given, a learner is patient with its accuracy or R^2 there, not with its objective.
    skip : (n,) uint8, rows in memory that are not learned from.

    Raises
    ------
    NotFinite
        Where weights overflow, or the rows hold what is not finite.
    """
    patience = Patience(tol=None) if patience is None else patience
    if held is not None:
        patience = Patience(patience.tol, patience.epochs, lambda k, params: _score(held, targets[k], k, params))
    path = Epochs(rows, rule, targets, start, patience, skip)
    solution = run(path, max_iter, time_limit, callback)
    # the start has no objective; the trace has epochs only
    return SgdFit(
        solution.params,
        _not_judged(),
        "sgd",
        iterations=solution.iterations,
        trace=solution.trace[1:],
        status=solution.status,
        state=path.state,
    )


def _not_judged() -> Certificate:
    note = "A duality gap costs several passes over the rows; ask for it with tenfold.certify(model, X, y)."
    return Certificate("gap", np.inf, 1.0, RULES["gap"].tol, 0.0, np.inf, status=NOT_JUDGED, note=note)


def _score(held: Held, target: Target, k: int, params: Params) -> float:
    """Accuracy of the sign where there are classes, else R^2; of one learner."""
    one = Params(contiguous(params.coef[k : k + 1]), contiguous(params.intercept[k : k + 1]))
    z = forward(held.X if is_sparse(held.X) else contiguous(held.X), one)[:, 0]
    if not np.isfinite(z).all():
        raise NotFinite
    weight = np.ones(z.shape[0]) if held.weight is None else held.weight
    if target.own is not None:
        return float(np.average((z > 0) == (held.y == target.own), weights=weight))
    centre = np.average(held.y, weights=weight)
    rest, spread = np.sum(weight * (held.y - z) ** 2), np.sum(weight * (held.y - centre) ** 2)
    return float(1.0 - rest / spread) if spread > 0 else float(rest == 0)
