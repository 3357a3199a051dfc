"""What a kernel matrix is like: its spectrum, whether it is positive semidefinite, how many dimensions it uses."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_array_api, is_sparse, numpy_dtype, on_host
from tenfold.kernels.conversion import as_kernel
from tenfold.kernels.evaluation import TILE_VALUES
from tenfold.kernels.kernel import Kernel
from tenfold.linear_algebra import eigenvalues, factor_in_place


def matrix_of(kernel: Any, X: Any = None) -> Floats:
    """A kernel matrix in float64: `kernel` itself where it is a matrix, otherwise kernel(X)."""
    if isinstance(kernel, (Kernel, str)) or callable(kernel):
        if X is None:
            raise ValueError("Give the samples X on which the kernel is evaluated, or a kernel matrix.")
        kernel = as_kernel(kernel, X)(X)
    K = on_host(kernel) if is_array_api(kernel) else kernel.toarray() if is_sparse(kernel) else np.asarray(kernel)
    check_symmetric(K)
    return np.asarray(K, dtype=np.float64)


def check_symmetric(K: Array) -> None:
    """Raise unless a given kernel matrix is square, finite and symmetric up to the rounding of its dtype; by blocks."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"A kernel matrix must be square, got an array of shape {tuple(K.shape)}.")
    n = K.shape[0]
    step = max(1, TILE_VALUES // max(1, n))
    largest, worst, place = 0.0, 0.0, (0, 0)
    for a in range(0, n, step):
        rows, columns = (on_host(part) for part in (K[a : a + step, a:], K[a:, a : a + step]))
        size = float(np.max(np.abs(rows)))
        if not np.isfinite(size):
            raise ValueError("The kernel matrix contains NaN or infinity.")
        largest = max(largest, size)
        difference = np.abs(rows - columns.T)
        if not difference.max() <= worst:
            i, j = divmod(int(np.argmax(difference)), difference.shape[1])
            worst, place = float(difference[i, j]), (a + i, a + j)
    if not worst <= 8.0 * _roundoff(K) * largest:
        (i, j), (one, other) = place, (K[place], K[place[::-1]])
        raise ValueError(
            f"A kernel matrix must be symmetric: K[{i}, {j}] = {one:.6g}, and K[{j}, {i}] = {other:.6g}. "
            "Use (K + K.T) / 2 where the difference is rounding."
        )


def _roundoff(K: Array) -> float:
    """The distance between one and the next number of the dtype of a matrix."""
    return float(np.finfo(np.float32).eps) if numpy_dtype(K.dtype) == np.float32 else EPS


def spectrum(kernel: Any, X: Any = None) -> Floats:
    """The eigenvalues of a kernel matrix, (n,), the largest first.

    kernel: the matrix, or a kernel (name, object, function) with samples X. The cost is that of n^3 * 4/3
    multiplications.

    >>> from tenfold.kernels import Linear, spectrum
    >>> spectrum(Linear(), [[1.0], [2.0]]).round(6).tolist()
    [5.0, 0.0]
    """
    return eigenvalues(matrix_of(kernel, X))[::-1].copy() + 0.0


@dataclass(frozen=True)
class Definiteness:
    """Whether a kernel matrix is positive semidefinite; true in a condition where it is.

    psd: whether the smallest eigenvalue is at least -floor; smallest, largest: eigenvalues; floor: the rounding of the
    eigenvalues, n eps times the largest in absolute value.
    """

    psd: bool
    smallest: float
    largest: float
    floor: float

    def __bool__(self) -> bool:
        return self.psd

    def explain(self) -> str:
        """A sentence with the eigenvalue that decides."""
        if self.psd:
            return f"positive semidefinite up to rounding: the smallest eigenvalue is {self.smallest:.6g}"
        return (
            f"not positive semidefinite: an eigenvalue is {self.smallest:.6g}, beyond the rounding of "
            f"{self.floor:.3g}; the largest is {self.largest:.6g}"
        )


def is_psd(kernel: Any, X: Any = None) -> Definiteness:
    """Whether a kernel matrix is positive semidefinite, with its smallest eigenvalue.

    kernel: the matrix, or a kernel (name, object, function) with samples X. One matrix that is not shows that a
    function is no kernel; that many are shows nothing.

    >>> import numpy as np
    >>> from tenfold.kernels import Sigmoid, is_psd
    >>> report = is_psd(Sigmoid(gamma=1.0, coef0=-1.0), np.array([[0.5], [1.0], [2.0]]))
    >>> bool(report), report.smallest < -0.4
    (False, True)
    """
    return _of_eigenvalues(spectrum(kernel, X), EPS)


def _of_eigenvalues(values: Floats, eps: float) -> Definiteness:
    if not values.size:
        return Definiteness(True, 0.0, 0.0, 0.0)
    smallest, largest = float(values[-1]), float(values[0])
    floor = len(values) * eps * max(abs(smallest), abs(largest))
    return Definiteness(smallest >= -floor, smallest, largest, floor)


def definiteness(K: Array) -> Definiteness:
    """As `is_psd` for a matrix that is known to be symmetric: where K + n eps ||K|| has a Cholesky factor, which takes
    a tenth of the time, no eigenvalue is looked for, and the two are bounds. eps is that of the dtype of K.
    """
    eps, n = _roundoff(K), K.shape[0]
    A = np.array(on_host(K), dtype=np.float64, order="F")
    size = float(np.max(np.abs(A).sum(axis=0), initial=0.0))
    lift = n * eps * size
    A[np.diag_indices(n)] += lift
    if not n or factor_in_place(A):
        return Definiteness(True, -lift, size, lift)
    return _of_eigenvalues(spectrum(on_host(K)), eps)


def check_precomputed(K: Any) -> Floats:
    """A kernel matrix that is given, in float64, after a check that it is square, finite, symmetric and positive
    semidefinite; the eigenvalue is named where it is not.
    """
    K = matrix_of(K)
    report = is_psd(K)
    if not report:
        raise ValueError(f"The precomputed kernel matrix is {report.explain()}.")
    return K


def effective_dimension(kernel: Any, alpha: float, X: Any = None) -> float:
    """sum_i s_i / (s_i + alpha) over the eigenvalues s of a kernel matrix: the trace of the hat matrix of kernel ridge
    regression, the number of directions that a penalty alpha leaves.

    >>> import numpy as np
    >>> from tenfold.kernels import effective_dimension
    >>> effective_dimension(np.eye(4), 1.0)
    2.0
    """
    if not alpha > 0.0:
        raise ValueError(f"alpha must be positive, got {alpha}.")
    values = np.maximum(spectrum(kernel, X), 0.0)
    return float(np.sum(values / (values + alpha)))
