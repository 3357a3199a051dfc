"""Length scales: the two limits between which a kernel says something, and a grid of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, on_host, take_rows
from tenfold.kernels.evaluation import as_samples
from tenfold.kernels.kernel import Kernel
from tenfold.kernels.stationary import Gaussian, Stationary
from tenfold.pairwise import PairFunction, StoredPoints

SAMPLE = 1000  # samples whose distances are looked at: a million pairs


@dataclass(frozen=True)
class WidthLimits:
    """Length scales from which on a kernel matrix says nothing.

    identity: below it every two samples are strangers, K is the identity up to `tol`; ones: above it every two samples
    are the same, K is all ones up to `tol`.
    """

    identity: float
    ones: float
    tol: float


def distances(X: Any) -> Floats:
    """Distances (m, m) of at most 1000 evenly spaced samples; of equal ones they are zero."""
    X = as_samples(Gaussian(), X)
    index = np.arange(X.shape[0])
    if len(index) > SAMPLE:
        index = index[np.arange(SAMPLE) * len(index) // SAMPLE]
        X = take_rows(X, index)
    return _distances(X)


def _distances(X: Array) -> Floats:
    D = np.asarray(on_host(StoredPoints(X).block(None, PairFunction("distance"))))
    if is_sparse(X):  # the root of the rounding of a product is no distance
        scale = float(np.max(D, initial=0.0))
        D = np.where(1e-7 * scale < D, D, 0.0)
    return D


def width_limits(X: Any, kernel: Kernel | None = None, tol: float = 0.01) -> WidthLimits:
    """The two limits of the length scale of a kernel of the distance, by default the Gaussian, on samples X.

    As the length scale falls every entry off the diagonal of K falls to zero, and as it grows every entry grows to one.
    The limits are where the largest entry between distinct samples is `tol`, and where the smallest is 1 - tol;
    distances are those of at most 1000 samples.

    >>> from tenfold.kernels import width_limits
    >>> limits = width_limits([[0.0], [1.0], [3.0]])
    >>> round(limits.identity, 3), round(limits.ones, 3)
    (0.33, 21.16)
    """
    kernel = Gaussian() if kernel is None else kernel
    if not isinstance(kernel, Stationary) or kernel.anisotropic:
        raise ValueError(f"Limits of the width are those of kernels with one length scale, got {kernel!r}.")
    if not 0.0 < tol < 0.5:
        raise ValueError(f"tol must be between 0 and 1/2, got {tol}.")
    D = distances(X)
    positive = D[D > 0.0]
    if not positive.size:
        return WidthLimits(0.0, 0.0, tol)
    one = type(kernel)(**{**kernel.get_params(deep=False), "length_scale": 1.0})
    small, large = _distance_of_value(one, tol), _distance_of_value(one, 1.0 - tol)
    return WidthLimits(float(positive.min()) / small, float(positive.max()) / large, tol)


def _distance_of_value(kernel: Kernel, value: float) -> float:
    """The distance at which a kernel of length scale one has a value, by bisection of its logarithm."""
    low, high = -20.0, 20.0
    if kernel([0.0], [float(np.exp(high))]) > value:
        raise ValueError(f"{kernel!r} does not fall to {value} with the distance.")
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kernel([0.0], [float(np.exp(middle))]) > value else (low, middle)
    return float(np.exp(0.5 * (low + high)))


def width_grid(X: Any, n: int = 10) -> Floats:
    """A grid of n length scales for samples X, in geometric progression: from half the 0.1-quantile of the distances to
    the nearest other sample to four times the 0.9-quantile of all distances.

    Shorter scales tell samples apart from their nearest neighbours, longer ones make every kernel linear or constant.
    Distances are those of at most 1000 evenly spaced samples; equal samples do not count. For gamma of a Gaussian take
    1 / (2 l^2).

    >>> from tenfold.kernels import width_grid
    >>> width_grid([[0.0], [1.0], [3.0]], 3).round(3).tolist()
    [0.5, 2.366, 11.2]
    """
    if n < 1:
        raise ValueError(f"A grid has at least one width, got n={n}.")
    D = distances(X)
    pairs = D[np.triu_indices(len(D), 1)]
    pairs = pairs[pairs > 0.0]
    if not pairs.size:
        return np.ones(n)
    nearest = np.min(np.where(D > 0.0, D, np.inf), axis=1)
    low = 0.5 * float(np.quantile(nearest[np.isfinite(nearest)], 0.1))
    return np.geomspace(low, 4.0 * float(np.quantile(pairs, 0.9)), n)
