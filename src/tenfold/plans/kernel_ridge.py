"""Ridge in the feature space of a kernel: factors in float32 or float64, judged, and eigenvectors where these fail."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_array_api, like, namespace, on_host, take_rows
from tenfold.judge.certificate import Certificate
from tenfold.judge.dual_system import examine_kernel, kernel_ridge
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.evaluation import take_columns
from tenfold.machine import require_memory
from tenfold.solvers.kernel_system import MIN_SINGLE, KernelSystem, attempts

INSTEAD = (
    "Fit a sample of the rows, or approximate the kernel by features (scikit-learn's Nystroem or RBFSampler, then "
    "Ridge), which takes memory in proportion to the samples."
)


@dataclass(frozen=True)
class KernelFit:
    """Dual coefficients (n, t) as they will be stored, how they were computed, and their certificate."""

    dual_coef: Array
    certificate: Certificate
    method: str


@dataclass(frozen=True)
class Weighted:
    """The samples of positive weight: their indices (None for all), the samples, targets, and roots of weights."""

    index: Any
    X: Array
    Y: Array
    root: Array | None


def keep_weighted(kernel: Kernel, X: Array, Y: Array, weight: Array | None) -> Weighted:
    """The samples of positive weight; of a given kernel matrix their rows and columns."""
    if weight is None:
        return Weighted(None, X, Y, None)
    xp = namespace(weight)
    inside = np.flatnonzero(on_host(weight) > 0.0)
    if len(inside) == X.shape[0]:
        return Weighted(None, X, Y, xp.sqrt(weight))
    X = take_rows(X, inside)
    X = take_columns(X, inside) if isinstance(kernel, Precomputed) else X
    return Weighted(inside, X, take_rows(Y, inside), xp.sqrt(take_rows(weight, inside)))


def check_kernel(kernel: Kernel, X: Array) -> bool:
    """Whether the kernel matrix is known to be positive semidefinite; raises where it is not, naming the eigenvalue."""
    report = examine_kernel(kernel, X)
    if report is not None and not report:
        raise ValueError(
            f"The kernel matrix is {report.explain()}. Ridge in the space of a kernel needs one without negative "
            "eigenvalues: use another kernel, or other parameters of it."
        )
    return True


def require_matrix(n: int, bytes_a_pair: int) -> None:
    """Raise before anything is begun where matrices of n x n pairs do not fit."""
    require_memory(f"The {n} x {n} kernel matrix and its factor", bytes_a_pair * n * n, INSTEAD)


def fit(kernel: Kernel, X: Array, Y: Array, weight: Array | None, alpha: Floats, dtype: Any) -> KernelFit:
    """Fit each target t with its alpha[t]. The coefficients are kept in `dtype` where they are certified in it, and in
    float64 otherwise.
    """
    n = X.shape[0]
    if not is_array_api(X):
        require_matrix(n, (4 if n >= MIN_SINGLE and kernel.certainly_psd else 8))
    psd = check_kernel(kernel, X)
    part = keep_weighted(kernel, X, Y, weight)
    right = part.Y if part.root is None else part.root[:, None] * part.Y
    system = KernelSystem(kernel, part.X, part.root)
    best: KernelFit | None = None
    for solved in attempts(system, alpha, right):
        c = solved.z if part.root is None else part.root[:, None] * solved.z
        c = c if part.index is None else _spread(c, part.index, n)
        for kept in _in_dtypes(c, dtype):
            verdict = kernel_ridge(kernel, X, Y, weight, alpha, kept, psd=psd, condition=solved.condition)
            fitted = KernelFit(kept, verdict, solved.how)
            if verdict.ok:
                return fitted
            if best is None or not best.certificate.value <= verdict.value:
                best = fitted
    assert best is not None
    return best


def _spread(c: Array, index: Any, n: int) -> Array:
    """Coefficients of all samples: zero for those of weight zero."""
    place = np.full(n, len(index))
    place[index] = np.arange(len(index))
    zero = like(np.zeros((1, c.shape[1])), c)
    return take_rows(namespace(c).concat([c, zero], axis=0), place)


def _in_dtypes(c: Array, dtype: Any) -> list[Array]:
    """The coefficients in a dtype, and as they are where that is another."""
    if np.dtype(dtype) == np.float64:
        return [c]
    xp = namespace(c)
    return [xp.astype(c, getattr(xp, np.dtype(dtype).name)), c]
