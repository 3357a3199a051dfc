"""Array namespaces, dtypes and storage: the only module that knows them.

Mathematics above this file is written in the Array API and asks `namespace` where to run.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array: TypeAlias = Any
"""An array of any namespace of the Array API, or a SciPy sparse array."""

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.signedinteger[Any]]

FLOATS = (np.float64, np.float32)
"""The dtypes that fitted arrays keep; every other input becomes float64."""


def namespace(array: Array) -> Any:
    """The Array API namespace of `array`; NumPy is its own."""
    if isinstance(array, (np.ndarray, np.generic, float, int)):
        return np
    # an optional cost: only arrays of another library pay for this import
    from array_api_compat import array_namespace

    return array_namespace(array)


def is_sparse(array: Array) -> bool:
    """Whether `array` is stored sparsely."""
    return bool(sparse.issparse(array))


def entries(array: Array) -> int:
    """How many numbers are stored."""
    return int(array.nnz) if is_sparse(array) else math.prod(array.shape)


def is_foreign(array: Array) -> bool:
    """Whether `array` belongs to another library of the Array API: torch, CuPy, Dask, ..."""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    root = type(array).__module__.partition(".")[0]
    return hasattr(array, "__array_namespace__") or root in ("torch", "cupy", "dask")


def is_dask(array: Array) -> bool:
    """Whether `array` is a collection of Dask's: an array or a data frame; Dask is not imported to tell."""
    return type(array).__module__.partition(".")[0] == "dask"


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of the same name as that of any library."""
    return np.dtype(dtype) if isinstance(dtype, (np.dtype, type)) else np.dtype(str(dtype).rpartition(".")[2])


def is_numpy(array: Array) -> bool:
    """Whether `array` is a plain NumPy array, so that a compiled loop may read it."""
    return isinstance(array, np.ndarray)


def like(array: Array, other: Array) -> Array:
    """A NumPy `array` in the namespace and on the device of `other`: how parameters come to the rows."""
    if not is_foreign(other):
        return array
    # torch takes no reversed and no read-only arrays
    array = namespace(other).asarray(np.array(array, order="C"))
    if hasattr(array, "pin_memory"):  # torch, which else would wait for all that the device has to do
        return array.to(device_of(other), non_blocking=True)
    return namespace(other).asarray(array, device=device_of(other))


def ones(count: int, other: Array) -> Array:
    """So many ones in float64, where `other` is."""
    if not is_foreign(other):
        return np.ones(count)
    xp = namespace(other)
    return xp.ones(count, dtype=xp.float64, device=device_of(other))


def device_of(array: Array) -> Any:
    """The device on which `array` is."""
    from array_api_compat import device  # as in namespace

    return device(array)


def on_same_device(one: Array, other: Array) -> bool:
    """Whether two arrays belong to one library and are on one device."""
    return namespace(one) is namespace(other) and device_of(one) == device_of(other)


def on_host(array: Array) -> Array:
    """A NumPy array of the same values: how a statistic, which is small, leaves the device where its rows are."""
    if isinstance(array, (np.ndarray, np.generic, float, int)):
        return np.asarray(array)
    if is_dask(array):
        return array.compute()
    for name in ("cpu", "get"):  # torch, CuPy
        array = getattr(array, name)() if hasattr(array, name) else array
    return np.from_dlpack(array) if not isinstance(array, np.ndarray) else array


def flat(arrays: Sequence[Array]) -> Array:
    """The numbers of arrays of one library in float64, one array after the other."""
    xp = namespace(arrays[0])
    return xp.concat([xp.reshape(xp.astype(array, xp.float64, copy=False), (-1,)) for array in arrays], axis=0)


HEAD = 1024
"""Rows from which the place and the spread of a block are guessed."""


class Head(NamedTuple):
    """Mean and standard deviation of the columns of the first rows, and the value of those that are constant in them,
    not a number for others.
    """

    mean: Floats
    deviation: Floats
    constant: Floats


def heads_of(blocks: Sequence[tuple[Array, Array]]) -> list[Head]:
    """Of the columns of [X y], for each pair of them; one way from the device for all."""
    xp, found = namespace(blocks[0][0]), []
    for X, y in blocks:
        head = xp.concat(
            [xp.astype(part[: min(HEAD, X.shape[0]), :], xp.float64, copy=False) for part in (X, y)], axis=1
        )
        low = xp.min(head, axis=0)
        constant = xp.where(low == xp.max(head, axis=0), low, xp.nan)
        found.append(xp.stack([xp.mean(head, axis=0), xp.std(head, axis=0), constant], axis=0))
    return [Head(*head) for head in on_host(xp.stack(found, axis=0))]


def some_rows(array: Array, which: slice) -> Array:
    """A slice of rows; a standard index names every axis, but sparse arrays know no ellipsis."""
    return array[which] if is_sparse(array) else array[which, ...]


def picked(array: Array, index: Integers) -> Array:
    """The rows of these numbers."""
    return namespace(array).take(array, like(index, array), axis=0) if is_foreign(array) else array[index]


def unit_roundoff(dtype: Any) -> float:
    """Half the distance between 1 and the next number of `dtype`."""
    return float(np.finfo(dtype).eps) / 2.0


def contiguous(array: Array) -> Array:
    """A NumPy array in C order, aligned and in native byte order, a copy only where it is not; others as they are."""
    if not isinstance(array, np.ndarray):
        return array
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"])
