"""Where a search for hyper-parameters begins again, after one whose kernel explains nothing.

With length scales far below the distances of the samples the kernel matrix is diagonal, far above them it is constant,
and the evidence is flat in both places. A search that ends there, with no more evidence than a constant and noise,
begins once more at length scales of the data: the standard deviation of each feature times the root of their number,
for one length scale the root of the sum of the variances.
"""

from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.kernels.covariance import Covariance


def has_constant_evidence(y: Floats, evidence: float) -> bool:
    """Whether the log evidence for targets (n, t) is no better than that of a constant and noise, whose variances have
    their maxima of likelihood: with a the share of the mean in y'y and b = (y'y - a) / (n - 1), those of the mean a, at
    least b, and of the rest b.
    """
    n, total = len(y), 0.0
    for column in y.T:
        squares, first = float(column @ column), float(np.sum(column)) ** 2 / n
        within = (squares - first) / max(n - 1, 1)
        if not within > 0.0:
            return False
        logs = (n - 1) * np.log(within) + np.log(first) if first >= within else n * np.log(squares / n)
        total -= 0.5 * float(logs + n * (1.0 + np.log(2.0 * np.pi)))
    return evidence <= total + 1e-6 * y.size


def start_at_widths(covariance: Covariance, X: Any) -> Floats | None:
    """The given hyper-parameters with length scales of the data; None where there are none that are free."""
    kernel = covariance.evaluated
    if kernel is None or covariance.slopes is not None or not isinstance(X, np.ndarray) or X.ndim != 2:
        return None
    deviations = np.std(np.asarray(X, dtype=np.float64), axis=0)
    if not (deviations > 0.0).any():
        return None
    deviations = np.where(deviations > 0.0, deviations, np.max(deviations))
    theta, place, changed = covariance.theta.copy(), 0, False
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        size = parameter.n_elements
        if parameter.name.endswith("length_scale"):
            each = np.log(deviations * np.sqrt(len(deviations)))
            whole = 0.5 * np.log(np.sum(deviations**2))
            theta[place : place + size] = each if size == len(deviations) > 1 else whole
            changed = True
        place += size
    return np.clip(theta, *covariance.bounds.T) if changed else None
