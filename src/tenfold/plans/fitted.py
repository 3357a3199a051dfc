"""What a plan returns, and how a path of steps becomes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge import Certificate
from tenfold.solvers.loop import Record, Solution, Status, Step, Watch, continued, run
from tenfold.stats import Moments, Params

ATTEMPTS = 3
"""How often a fit that is not certified is continued."""


@dataclass(frozen=True)
class Fitted:
    """Parameters as they will be stored, how they were found, and what the judge says.

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


def stored(params: Params, dtype: Any) -> Params:
    """The parameters as they will be stored, in float64 for the judge."""
    with np.errstate(over="ignore"):
        kept = Params(*(np.asarray(part).astype(dtype).astype(np.float64) for part in params))
    if not all(np.isfinite(part).all() for part in kept):
        raise ValueError(
            f"The best weights are beyond the range of {np.dtype(dtype).name}: a column of X is much too small for"
            " y. Scale the columns."
        )
    return kept


Result = TypeVar("Result", bound=Fitted)


def certified(
    path: Iterator[Step],
    judged: Callable[[Solution], Result],
    tighten: Callable[[], None],
    max_iter: int,
    time_limit: float | None = None,
    watch: Watch | None = None,
) -> tuple[Solution, Result]:
    """The end of a path and what the judge says of it; a path whose solver alone was content is followed further."""
    solution = run(path, max_iter, time_limit, watch)
    found = judged(solution)
    for _ in range(ATTEMPTS):
        settled = found.certificate.ok or found.certificate.status == Status.NO_MAXIMUM.value
        if settled or solution.status is not Status.CONVERGED:
            break
        tighten()
        more = continued(path, solution, max_iter, time_limit, watch)
        if more is None:
            break
        solution, found = more, judged(more)
    return solution, found
