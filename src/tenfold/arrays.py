"""Array namespaces, dtypes and storage: the only module that knows them.

Code above this layer is written in the Array API and calls `namespace` for the functions.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array: TypeAlias = Any
"""An array of any namespace of the Array API, or a SciPy sparse array."""

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.signedinteger[Any]]

FLOATS = (np.float64, np.float32)  # the dtypes that fitted arrays keep; every other input becomes float64

EPS = float(np.finfo(np.float64).eps)  # distance between 1 and the next float64
TINY = float(np.finfo(np.float64).tiny)  # smallest normal float64


class NotFinite(ValueError):
    """Samples hold a value that is not finite, or so large that its sums are not; raised by their first reader."""


_NAMESPACES: dict[type, Any] = {}


def namespace(array: Array) -> Any:
    """The Array API namespace of `array`; NumPy is its own."""
    if isinstance(array, (np.ndarray, np.generic, float, int)):
        return np
    if type(array) not in _NAMESPACES:
        # an optional cost: only arrays of another library pay for this import
        from array_api_compat import array_namespace

        _NAMESPACES[type(array)] = array_namespace(array)
    return _NAMESPACES[type(array)]


def is_sparse(array: Array) -> bool:
    """Whether `array` is a SciPy sparse array; called hundreds of times by small fits."""
    return type(array) is not np.ndarray and bool(sparse.issparse(array))


def entries(array: Array) -> int:
    """The number of stored entries."""
    return int(array.nnz) if is_sparse(array) else math.prod(array.shape)


def is_array_api(array: Array) -> bool:
    """Whether `array` belongs to another library of the Array API: torch, CuPy, Dask, ..."""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    return hasattr(array, "__array_namespace__") or _library(array) in ("torch", "cupy", "dask")


def _library(array: Array) -> str:
    """The package that defines the type of an array, without importing it."""
    return type(array).__module__.partition(".")[0]


def is_dask(array: Array) -> bool:
    """Whether `array` is a collection of Dask's: an array or a data frame."""
    return _library(array) == "dask"


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of the same name as that of any library."""
    return np.dtype(dtype) if isinstance(dtype, (np.dtype, type)) else np.dtype(str(dtype).rpartition(".")[2])


def is_numpy(array: Array) -> bool:
    """Whether `array` is a plain NumPy array, so that a compiled loop may read it."""
    return isinstance(array, np.ndarray)


def like(array: Array, other: Array) -> Array:
    """A NumPy `array` copied to the namespace and device of `other`; arrays of other libraries are returned as they
    are.
    """
    if not is_array_api(other) or is_array_api(array):
        return array
    # torch accepts neither negative strides nor read-only arrays
    array = namespace(other).asarray(np.array(array, order="C"))
    if _library(array) == "torch":  # otherwise it waits for all pending work of the device
        return array.to(device_of(other), non_blocking=True)
    return namespace(other).asarray(array, device=device_of(other))


def likes(arrays: Sequence[Floats], other: Array) -> list[Array]:
    """`like` for several arrays, in one transfer."""
    if not is_array_api(other):
        return list(arrays)
    return split_flat(
        like(np.concatenate([np.ravel(array) for array in arrays]), other), [array.shape for array in arrays]
    )


def ones(count: int, other: Array) -> Array:
    """A vector of ones in float64, on the device of `other`."""
    if not is_array_api(other):
        return np.ones(count)
    xp = namespace(other)
    return xp.ones(count, dtype=xp.float64, device=device_of(other))


def device_of(array: Array) -> Any:
    """The device on which `array` is."""
    if _library(array) in ("torch", "cupy"):  # the fast path
        return array.device
    from array_api_compat import device  # as in namespace

    return device(array)


def on_accelerator(array: Array) -> bool:
    """Whether `array` is on a device other than the processor."""
    return "cpu" not in str(device_of(array)).lower()


def on_same_device(one: Array, other: Array) -> bool:
    """Whether two arrays belong to one library and are on one device."""
    return namespace(one) is namespace(other) and device_of(one) == device_of(other)


def on_host(array: Array) -> Array:
    """A NumPy array of the same values: small statistics leave the device of their rows by this."""
    if isinstance(array, (np.ndarray, np.generic, float, int)):
        return np.asarray(array)
    if is_dask(array):
        return array.compute()
    for name in ("cpu", "get"):  # torch, CuPy
        array = getattr(array, name)() if hasattr(array, name) else array
    return np.from_dlpack(array) if not isinstance(array, np.ndarray) else array


def wide(array: Array) -> Floats:
    """A NumPy array of the same values in float64 and in C order."""
    return np.ascontiguousarray(on_host(array), dtype=np.float64)


def flat(arrays: Sequence[Array]) -> Array:
    """Arrays of one library and dtype, ravelled and concatenated."""
    xp = namespace(arrays[0])
    return xp.concat([array if array.ndim == 1 else xp.reshape(array, (-1,)) for array in arrays], axis=0)


def split_flat(numbers: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The inverse of `flat`: arrays of these shapes."""
    xp, start, result = namespace(numbers), 0, []
    for shape in shapes:
        part = numbers[start : (start := start + math.prod(shape))]
        result.append(part if len(shape) == 1 else xp.reshape(part, tuple(shape)))
    return result


def softplus(x: Array) -> Array:
    """log(1 + e^x) without overflow."""
    xp = namespace(x)
    if is_array_api(x):  # few calls: the launch of each costs as much as reading some megabytes
        with np.errstate(invalid="ignore"):
            return xp.logaddexp(x, 0.0 if _library(x) == "cupy" else xp.zeros_like(x))
    # the exponential of a negative number only
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.where(x > 0, x, xp.zeros_like(x))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x), to full relative accuracy on both sides."""
    if _library(x) == "torch":
        return namespace(x).sigmoid(x)
    if _library(x) == "cupy":
        from cupyx.scipy.special import expit

        return expit(x)
    return falling_sigmoid(-x)


def falling_sigmoid(x: Array) -> Array:
    """1 / (1 + e^x), to full relative accuracy on both sides."""
    xp = namespace(x)
    if _library(x) in ("torch", "cupy"):
        return sigmoid(-x)
    if is_array_api(x):  # few calls; intermediate infinities give the right limit
        with np.errstate(over="ignore"):
            return (1.0 + xp.exp(x)) ** -1.0
    e = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, e, xp.ones_like(e)) / (1.0 + e)


GEMM_SLICES = 256  # slices of a tall product, which fill the units of a device


def cross(left: Array, right: Array) -> Array:
    """left'right of matrices with equally many rows; very tall ones are multiplied in slices, as one product with a
    long inner dimension leaves a device underused.
    """
    xp, (m, p) = namespace(left), left.shape
    count = min(GEMM_SLICES, m // (16 * p))  # the partial products must stay small beside the rows
    if count < 16 or _library(left) == "cupy":  # which would copy transposed slices
        return xp.matmul(left.T, right)
    cut = m - m % count
    parts = [xp.reshape(part[:cut, :], (count, cut // count, -1)) for part in (left, right)]
    total = xp.sum(xp.matmul(parts[0].mT, parts[1]), axis=0)
    return total if cut == m else total + xp.matmul(left[cut:, :].T, right[cut:, :])


HEAD_ROWS = 1024  # rows from which the mean and the deviation of a block are estimated


class ColumnSummary(NamedTuple):
    """Mean, mean absolute deviation and mean squared deviation of the columns of sampled rows, and the value of columns
    that are constant in them, NaN for others.
    """

    mean: Floats
    deviation: Floats
    square: Floats
    constant: Floats


def column_summaries(X: Array, y: Array, cuts: Sequence[tuple[int, int]]) -> list[ColumnSummary]:
    """Heads of the columns of [X y] for each range of rows, from evenly spaced rows; one transfer from the device for
    all.

    A head whose mean differs from the first by less than the deviation is replaced by the first: sums about one shift
    can be added.
    """
    xp = namespace(X)
    size = min(HEAD_ROWS, max(stop - start for start, stop in cuts))
    index = like(np.concatenate([start + np.arange(size) * (stop - start) // size for start, stop in cuts]), X)
    parts = [xp.astype(xp.take(part, index, axis=0), xp.float64, copy=False) for part in (X, y)]
    head = xp.reshape(xp.concat(parts, axis=1), (len(cuts), size, -1))
    with np.errstate(invalid="ignore", over="ignore"):  # the caller rejects values that are not finite
        mean = xp.mean(head, axis=1)
        away = head - mean[:, None, :]
        about = xp.mean(xp.abs(away), axis=1), xp.mean(away * away, axis=1)
    result = on_host(xp.stack([mean, *about, xp.min(head, axis=1), xp.max(head, axis=1)], axis=1))
    heads = [ColumnSummary(m, d, s, np.where(low == high, low, np.nan)) for m, d, s, low, high in result]
    return [heads[0] if _agree(heads[0], head) else head for head in heads]


def _agree(one: ColumnSummary, other: ColumnSummary) -> bool:
    with np.errstate(invalid="ignore"):  # as in heads_of
        near = np.all(np.abs(other.mean - one.mean) <= one.deviation)
    return bool(near and np.array_equal(one.constant, other.constant, equal_nan=True))


def one_by_one(X: Array) -> list[Array]:
    """The rows as arguments of a callable metric, as scikit-learn passes them: (p,), or (1, p) of a sparse matrix."""
    return [X[[i]] for i in range(X.shape[0])] if is_sparse(X) else list(X)


def some_rows(array: Array, which: slice) -> Array:
    """A slice of rows; unlike SciPy, consecutive CSR rows are not copied."""
    if not is_sparse(array):
        return array[which, ...]
    start, stop, step = which.indices(array.shape[0])
    if step != 1 or array.format != "csr" or stop <= start:
        return array[which]
    ends = array.indptr[start : stop + 1]
    part = slice(int(ends[0]), int(ends[-1]))
    result = type(array)((stop - start, array.shape[1]), dtype=array.dtype)
    # the constructor would copy the views
    result.data, result.indices, result.indptr = array.data[part], array.indices[part], ends - ends[0]
    return result


def make_contiguous(array: Array) -> Array:
    """Strided rows, copied to be contiguous for CuPy, which would copy them in every product."""
    return namespace(array).asarray(array, copy=True) if _library(array) == "cupy" else array


def take_rows(array: Array, index: Integers) -> Array:
    """The rows at these indices."""
    return namespace(array).take(array, like(index, array), axis=0) if is_array_api(array) else array[index]


def smallest(table: Array, k: int) -> tuple[Array, Array]:
    """The k smallest entries of each row of a matrix of another library and their columns, in any order."""
    xp = namespace(table)
    if _library(table) == "torch":
        result = xp.topk(table, k, dim=1, largest=False)
        return result.values, result.indices
    order = (xp.argpartition(table, k - 1, axis=1) if _library(table) == "cupy" else xp.argsort(table, axis=1))[:, :k]
    return along_rows(table, order), order


def along_rows(table: Array, columns: Array) -> Array:
    """The entries of each row of a matrix (m, n) of another library in these columns (m, k)."""
    xp, (m, n) = namespace(table), table.shape
    first = n * xp.arange(m, dtype=columns.dtype, device=device_of(table))
    return xp.reshape(
        xp.take(xp.reshape(table, (-1,)), xp.reshape(columns + first[:, None], (-1,)), axis=0), columns.shape
    )


@cache
def unit_roundoff(dtype: Any) -> float:
    """Half the distance between 1 and the next number of `dtype`."""
    return float(np.finfo(dtype).eps) / 2.0


def contiguous(array: Array) -> Array:
    """A NumPy array in C order, aligned and in native byte order, copied only if necessary; others are returned as they
    are.
    """
    if not isinstance(array, np.ndarray):
        return array
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"])


def cholesky(A: Array) -> Array | None:
    """The lower factor of a matrix of another library, where it is; None where A is not positive definite."""
    xp = namespace(A)
    if _library(A) == "torch":
        L, info = xp.linalg.cholesky_ex(A)
        return L if int(info) == 0 else None
    try:
        L = xp.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return None
    return L if bool(xp.all(xp.isfinite(L))) else None


def solve_by_factor(L: Array, B: Array) -> Array:
    """(L L')^-1 B for a lower factor of another library, where it is."""
    xp = namespace(L)
    if _library(L) == "torch":
        return xp.cholesky_solve(B, L)
    if _library(L) == "cupy":
        from cupyx.scipy.linalg import solve_triangular

        return solve_triangular(L, solve_triangular(L, B, lower=True), lower=True, trans="T")
    return xp.linalg.solve(L.mT, xp.linalg.solve(L, B))
