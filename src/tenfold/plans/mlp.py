"""Multi-layer perceptrons: epochs of stochastic gradient descent, or minimisation over all samples and the judge.

A fit by epochs is not judged: that costs as much as a hundred of them, and `certify` does it. Of the other solvers each
iteration reads all samples, so that the judge costs little beside them, and judges at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tenfold.arrays import TINY, Array, Floats, NotFinite, like, namespace, wide
from tenfold.data import Rows
from tenfold.judge.certificate import NOT_JUDGED, VARIANTS, Certificate
from tenfold.judge.network import judge_network
from tenfold.objectives.network import Network
from tenfold.objectives.network_loss import NetworkLoss
from tenfold.objectives.network_residuals import NetworkResiduals
from tenfold.plans.result import not_judged
from tenfold.solvers import lbfgs, levenberg_marquardt, line_search, scaled_cg, truncated_newton
from tenfold.solvers.loop import Callback, Record, Status, Step, run
from tenfold.solvers.mlp_epochs import Epochs, Progress

SMALLEST_DECREASE = 2.2e-9  # of the loss in a step, relative: where SciPy's L-BFGS stops by default
SMALLEST_SHARE = 1e-4  # of tol, where that is less

__all__ = ["MlpFit", "fit_epochs", "minimise"]


@dataclass(frozen=True)
class MlpFit:
    """The result of a fit: the vector of weights in the dtype and on the device of the samples, the mean loss of each
    epoch or the loss after each iteration, the scores on validation samples, and what another call goes on with.
    """

    params: Array
    certificate: Certificate
    status: Status
    iterations: int
    trace: tuple[Record, ...]
    losses: list[float]
    scores: list[float]
    progress: Progress | None = None


def fit_epochs(path: Epochs, max_iter: int, time_limit: float | None, callback: Callback | None) -> MlpFit:
    """Epochs until the loss, or the score on validation samples, has not improved for long."""
    solution = run(path, max_iter, time_limit, callback)
    status, losses = solution.status, path.losses
    rising = not path.scores and len(losses) > 1 and losses[-1] > max(losses[0], 2.0 * min(losses))
    if path.diverged or (rising and status is not Status.INTERRUPTED):
        status = Status.DIVERGED
    params = solution.params if path.best_params is None else path.best_params
    note = "Judging takes some sixty passes over the samples; ask for it with tenfold.certify(model, X, y)."
    tol = VARIANTS["network"].tol
    certificate = Certificate(
        "stationarity", np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, note=note, _variant="network"
    )
    return MlpFit(
        params, certificate, status, solution.iterations, solution.trace[1:], losses, path.scores, path.progress
    )


def minimise(
    network: Network,
    rows: Rows,
    alpha: float,
    start: Array,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    max_fun: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> MlpFit:
    """Minimise the loss of all samples until no derivative exceeds `tol`, and judge the result."""
    squares = solver == "levenberg-marquardt"
    objective: Minimised = (
        NetworkResiduals(network, rows, alpha) if squares else NetworkLoss(network, rows, alpha, rows.dtype)
    )
    begin = wide(start)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(objective.read(begin).value):
            raise NotFinite
        path = _limit(_steps(objective, begin, solver, tol), objective, max_fun, tol)
        solution = run(path, max_iter, time_limit, callback)
    status = solution.status
    if status is Status.STALLED and objective.readings >= max_fun:
        status = Status.MAX_ITER
    xp = namespace(start)
    params = xp.astype(like(solution.params, start), start.dtype, copy=False)
    try:
        certificate = judge_network(network, rows, alpha, wide(params), status=status.value)
    except KeyboardInterrupt:
        certificate = not_judged("stationarity")
    if status is Status.CONVERGED and not certificate.ok:
        certificate = replace(certificate, status=Status.STALLED.value)
    losses = [record.objective for record in solution.trace[1:]] or [solution.trace[0].objective]
    return MlpFit(params, certificate, status, solution.iterations, solution.trace, losses, [])


Minimised = NetworkLoss | NetworkResiduals


def _steps(objective: Minimised, start: Floats, solver: str, tol: float) -> Iterator[Step]:
    """The steps of a solver; the measure of convergence is the largest derivative, in units of `tol`."""

    def measure(gradient: Floats, _: float) -> float:
        return float(np.max(np.abs(gradient))) / max(tol, TINY)

    if isinstance(objective, NetworkResiduals):
        return levenberg_marquardt.steps(objective, start, measure)
    if solver == "scaled-cg":
        return scaled_cg.steps(objective, start, measure)
    if solver == "truncated-newton":
        return truncated_newton.steps(objective, start, measure)
    return lbfgs.steps(line_search.LineSearch(objective), start, lambda g: g, measure)


def _limit(path: Iterator[Step], objective: Minimised, max_fun: int, tol: float) -> Iterator[Step]:
    """The steps, until the loss was read `max_fun` times, or a step lowers it by next to nothing."""
    before = np.inf
    for step in path:
        size = max(abs(before), abs(step.objective), 1.0)
        ended = before - step.objective <= min(SMALLEST_DECREASE, SMALLEST_SHARE * tol) * size < np.inf
        before = step.objective
        yield step._replace(measure=0.0) if ended else step
        if objective.readings >= max_fun:
            return
