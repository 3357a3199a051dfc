"""Where a fit with `warm_start` begins."""

from typing import Any

import numpy as np

from tenfold.arrays import on_host
from tenfold.stats.derivatives import Params


def earlier(model: Any, p: int) -> Params | None:
    """The parameters of the previous fit, where they are to be continued."""
    if not model.warm_start or not hasattr(model, "coef_"):
        return None
    coef = np.asarray(on_host(model.coef_), dtype=np.float64)
    if coef.shape != (p,):
        raise ValueError(f"warm_start needs weights of shape ({p},), the earlier fit has {coef.shape}.")
    b = float(on_host(model.intercept_)) if model.fit_intercept else 0.0
    return Params(np.ascontiguousarray(coef[None, :]), np.array([b]))
