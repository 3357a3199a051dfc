"""The plan of Gaussian mixtures: several starts, EM from each, and the certificate."""

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
    """Settings of the search for the best parameters."""

    components: int
    init: str
    given: Given
    inits: int
    tol: float
    max_iter: int
    random: Any


class Listener(Protocol):
    """A listener to the begin of each start, and its final bound."""

    def begin(self, start: int) -> None: ...
    def end(self, bound: float, converged: bool) -> None: ...


@dataclass(frozen=True)
class FittedMixture:
    """The fitted mixture in the precision of storage, and its certificate."""

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
    """The best of several starts, or a warm start; EM continues with smaller tolerances until certified."""
    model = GaussianSteps(problem, seen.missing)
    best: EMResult | None = None
    for number in range(search.inits if earlier is None else 1):
        if listener is not None:
            listener.begin(number)
        if earlier is None:
            first, bound = _start(model, rows, seen, search), -np.inf
        else:
            first, bound = earlier
        result = ascend(model, rows, first, search.tol, search.max_iter, callback, bound)
        if listener is not None:
            listener.end(result.bound, result.status is Status.CONVERGED)
        best = result if best is None or result.bound > best.bound else best
        if result.status in (Status.INTERRUPTED, Status.STOPPED):
            break
    assert best is not None
    certificate = _certify(problem, rows, seen, best, search.tol, dtype)
    tol = search.tol
    for _ in range(ATTEMPTS):
        left = search.max_iter - len(best.bounds)
        if certificate.ok or best.status is not Status.CONVERGED or left <= 0:
            break
        tol /= 10.0
        best = continue_em(model, rows, best, tol, left, callback)
        certificate = _certify(problem, rows, seen, best, search.tol, dtype)
    return FittedMixture(convert(best.mixture, dtype), best.bounds, best.status, best.restarted, certificate)


def _start(model: GaussianSteps, rows: Rows, seen: Seen, search: Search) -> Mixture:
    kind = model.problem.kind
    return start(model, rows, seen, kind, search.components, search.init, search.given, search.random)


def convert(mixture: Mixture, dtype: Any) -> Mixture:
    """The mixture rounded to `dtype`, in float64."""
    parts = (mixture.weights, mixture.means, mixture.covariances)
    return Mixture(mixture.kind, *(np.asarray(part).astype(dtype).astype(np.float64) for part in parts))


def _certify(problem: Gaussians, rows: Rows, seen: Seen, result: EMResult, tol: float, dtype: Any) -> Certificate:
    note = ""
    if result.restarted:
        note = f"Components {sorted(set(result.restarted))} had collapsed and were set off again."
        lost = find_collapsed(result.mixture, problem.reg_covar)
        note += f" Components {list(lost)} collapsed each time." if lost else ""
    return em_step(
        rows,
        problem,
        convert(result.mixture, dtype),
        missing=seen.missing,
        tol=tol,
        dtype=dtype,
        status=result.status.value,
        note=note,
    )
