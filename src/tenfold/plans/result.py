"""What a plan returns, and how a path of steps becomes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.machine import limit_after_interrupt
from tenfold.solvers.loop import Callback, Record, Solution, Status, Step, resume, run
from tenfold.stats.derivatives import Params
from tenfold.stats.moments import Moments

ATTEMPTS = 3  # continuations of a fit that is not certified


@dataclass(frozen=True)
class Fitted:
    """Parameters as they will be stored, how they were computed, and their certificate.

    The last four only for least squares: sums of squared residuals (t,), singular values and rank of X, and the
    inverse Gram matrix.
    """

    params: Params
    certificate: Certificate
    method: str
    iterations: int | None = None
    trace: tuple[Record, ...] = ()
    moments: Moments | None = None
    residual_squares: Floats | None = None
    singular_values: Floats | None = None
    rank: int | None = None
    inverse: Floats | None = None

    def __post_init__(self) -> None:
        """How a fit ended follows the judge: a solver that met its stopping rule has not converged where the
        certificate is not ok.
        """
        if self.certificate.status == Status.CONVERGED.value and not self.certificate.ok:
            object.__setattr__(self, "certificate", replace(self.certificate, status=Status.STALLED.value))


def round_to_dtype(params: Params, dtype: Any, centre: Floats | None = None) -> Params:
    """The parameters as they will be stored, in float64 for the judge: rounded to `dtype`, the intercept corrected
    so that rounding the weights changes no prediction at `centre` (p,), a point amid the samples.
    """
    if np.dtype(dtype) == np.float64:
        kept = Params(*(np.asarray(part, dtype=np.float64) for part in params))
        if all(np.isfinite(part).all() for part in kept):
            return kept
    with np.errstate(over="ignore", invalid="ignore"):
        coef = np.asarray(params.coef).astype(dtype).astype(np.float64)
        b = np.asarray(params.intercept, dtype=np.float64)
        moved = b if centre is None else b + (params.coef - coef) @ centre
        kept = Params(coef, moved.astype(dtype).astype(np.float64))
    if not all(np.isfinite(part).all() for part in kept):
        raise ValueError(
            f"The best weights are beyond the range of {np.dtype(dtype).name}: a column of X is much too small for"
            " y. Scale the columns."
        )
    return kept


def not_judged(kind: str) -> Certificate:
    """The certificate of a fit whose judge was interrupted."""
    limit_after_interrupt()
    note = "The fit was interrupted before it was judged; call tenfold.certify(model, X, y)."
    return Certificate(kind, np.inf, 1.0, RULES[kind].tol, 0.0, np.inf, status=NOT_JUDGED, note=note)


Result = TypeVar("Result", bound=Fitted)


def solve_until_certified(
    path: Iterator[Step],
    judged: Callable[[Solution], Result],
    tighten: Callable[[], None],
    max_iter: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> tuple[Solution, Result]:
    """Run a solver until the judge certifies its result, a limit is reached, or ATTEMPTS tolerances are spent."""
    solution = run(path, max_iter, time_limit, callback)
    fitted = judged(solution)
    for _ in range(ATTEMPTS):
        final = fitted.certificate.ok or fitted.certificate.status == Status.NO_MAXIMUM.value
        if final or solution.status is not Status.CONVERGED:
            break
        tighten()
        more = resume(path, solution, max_iter, time_limit, callback)
        if more is None:
            break
        solution, fitted = more, judged(more)
    return solution, fitted
