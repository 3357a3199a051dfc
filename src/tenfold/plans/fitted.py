"""What a plan returns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge import Certificate
from tenfold.solvers.loop import Record
from tenfold.stats import Moments, Params


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
