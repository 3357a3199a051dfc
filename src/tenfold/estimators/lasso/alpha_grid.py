"""Grids of alphas, those of scikit-learn."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_scalar

from tenfold.arrays import Floats

NO_GRID = (
    "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your estimator "
    "with the appropriate `alphas=` argument."
)


def largest_alpha(xty: Floats, positive: bool) -> float:
    """The smallest l1 at which all weights are zero: the dual norm of X'y (t, p)."""
    if positive:
        return max(0.0, float(np.max(xty, initial=0.0)))
    unit = float(np.max(np.abs(xty), initial=0.0)) or 1.0
    return unit * float(np.sqrt(np.max(np.sum((xty / unit) ** 2, axis=0), initial=0.0)))


def alphas_from(top: float, ratio: float, eps: float, count: int) -> Floats:
    """`count` alphas from top / ratio down to `eps` of it, equidistant in their logarithms."""
    if ratio == 0:
        raise ValueError(NO_GRID)
    highest = top / ratio
    resolution = float(np.finfo(np.float64).resolution)
    if highest <= resolution:
        return np.full(count, resolution)
    return np.geomspace(highest, highest * eps, num=count)


def check_alphas(alphas: Any) -> Floats:
    """Alphas that the user gave, the largest first."""
    for index, alpha in enumerate(alphas):
        check_scalar(alpha, f"alphas[{index}]", target_type=Real, min_val=0.0, include_boundaries="left")
    return np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
