"""A mixture of Gaussians from rows: starts, EM from each, and the judge."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tenfold.data import Rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.mixtures import em_step
from tenfold.plans.mixture import EMResult, GaussianSteps, ascend, continue_em, find_collapsed
from tenfold.plans.mixture_start import Given, Seen, start
from tenfold.plans.result import ATTEMPTS
from tenfold.problems import Gaussians
from tenfold.solvers.loop import Callback, Status
from tenfold.stats.gaussians import Mixture


@dataclass(frozen=True)
class Search:
    """How the best parameters are looked for."""

    components: int
    init: str
    given: Given
    inits: int
    tol: float
    max_iter: int
    random: Any


class Listener(Protocol):
    """Who wants to hear of each start: that it begins, and the bound where it ended."""

    def begin(self, start: int) -> None: ...
    def end(self, bound: float, converged: bool) -> None: ...


@dataclass(frozen=True)
class FittedMixture:
    """What was found, as it will be stored, and what the judge says of it."""

    mixture: Mixture
    bounds: tuple[float, ...]
    status: Status
    restarted: tuple[int, ...]
    certificate: Certificate

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED


def fit(
    problem: Gaussians,
    rows: Rows,
    seen: Seen,
    search: Search,
    dtype: Any,
    *,
    callback: Callback | None = None,
    listener: Listener | None = None,
    earlier: tuple[Mixture, float] | None = None,
) -> FittedMixture:
    """The best of several starts, or of the one where an earlier fit ended; one that the judge does not find at rest
    goes on.
    """
    model = GaussianSteps(problem, seen.missing)
    best: EMResult | None = None
    for number in range(search.inits if earlier is None else 1):
        if listener is not None:
            listener.begin(number)
        if earlier is None:
            first, bound = _start(model, rows, seen, search), -np.inf
        else:
            first, bound = earlier
        found = ascend(model, rows, first, search.tol, search.max_iter, callback, bound)
        if listener is not None:
            listener.end(found.bound, found.status is Status.CONVERGED)
        best = found if best is None or found.bound > best.bound else best
        if found.status in (Status.INTERRUPTED, Status.STOPPED):
            break
    assert best is not None
    certificate = _judged(problem, rows, seen, best, search.tol, dtype)
    tol = search.tol
    for _ in range(ATTEMPTS):
        left = search.max_iter - len(best.bounds)
        if certificate.ok or best.status is not Status.CONVERGED or left <= 0:
            break
        tol /= 10.0
        best = continue_em(model, rows, best, tol, left, callback)
        certificate = _judged(problem, rows, seen, best, search.tol, dtype)
    return FittedMixture(stored(best.mixture, dtype), best.bounds, best.status, best.restarted, certificate)


def _start(model: GaussianSteps, rows: Rows, seen: Seen, search: Search) -> Mixture:
    kind = model.problem.kind
    return start(model, rows, seen, kind, search.components, search.init, search.given, search.random)


def stored(mixture: Mixture, dtype: Any) -> Mixture:
    """As it will be stored, in float64."""
    parts = (mixture.weights, mixture.means, mixture.covariances)
    return Mixture(mixture.kind, *(np.asarray(part).astype(dtype).astype(np.float64) for part in parts))


def _judged(problem: Gaussians, rows: Rows, seen: Seen, found: EMResult, tol: float, dtype: Any) -> Certificate:
    note = ""
    if found.restarted:
        note = f"Components {sorted(set(found.restarted))} had collapsed and were set off again."
        lost = find_collapsed(found.mixture, problem.reg_covar)
        note += f" Components {list(lost)} collapsed each time." if lost else ""
    return em_step(
        rows,
        problem,
        stored(found.mixture, dtype),
        missing=seen.missing,
        tol=tol,
        dtype=dtype,
        status=found.status.value,
        note=note,
    )
