"""Strings as rows of numbers, so that every method that reads rows reads strings.

A string is a row of a CSR matrix: entry j is the code point of character j, plus one. All strings have the same number
of columns, `MAX_LENGTH`, however long they are: a row stores as many entries as the string has characters.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, is_sparse

MAX_LENGTH = 2**31 - 1
"""The largest length of a string, and the number of columns of all strings: the largest index of CSR in int32."""


def encode_strings(X: Any) -> Array:
    """Strings, a list or an array or column of one dimension, as a CSR matrix of code points; such a matrix unchanged.

    >>> from tenfold.kernels import decode_strings, encode_strings
    >>> codes = encode_strings(["ab", "", "aé"])
    >>> codes[[0, 2]].data - 1.0
    array([ 97.,  98.,  97., 233.])
    >>> decode_strings(codes)
    ['ab', '', 'aé']
    """
    if is_encoded(X):
        return X
    if isinstance(X, str):
        raise ValueError("A string kernel reads a list of strings, got one string: put it in a list.")
    if is_sparse(X):
        raise ValueError(f"A string kernel reads strings, got a sparse matrix of numbers of shape {X.shape}.")
    samples = list(X) if isinstance(X, (list, tuple)) else list(_as_column(X))
    for i, sample in enumerate(samples):
        if not isinstance(sample, str):
            raise ValueError(f"A string kernel reads strings, got {type(sample).__name__} as sample {i}.")
    lengths = np.array([len(sample) for sample in samples], dtype=np.int64)
    if lengths.size and lengths.max() > MAX_LENGTH:
        raise ValueError(f"A string has at most {MAX_LENGTH} characters, sample {int(lengths.argmax())} has more.")
    codes = np.frombuffer("".join(samples).encode("utf-32-le", "surrogatepass"), dtype=np.dtype("<u4"))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    kind = np.int32 if indptr[-1] <= MAX_LENGTH else np.int64
    within = np.arange(len(codes), dtype=np.int64) - np.repeat(indptr[:-1], lengths)
    parts = (codes + 1.0, within.astype(kind), indptr.astype(kind))
    result = sparse.csr_array(parts, shape=(len(samples), MAX_LENGTH))
    result.has_canonical_format = True
    return result


def _as_column(X: Any) -> Array:
    """An array or column of strings of one dimension."""
    column = np.asarray(X, dtype=object)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise ValueError(f"A string kernel reads strings, one a sample, got an array of shape {column.shape}.")
    return column


def decode_strings(codes: Array) -> list[str]:
    """The strings of a CSR matrix of code points, as models keep them."""
    data, indptr = split_strings(codes)
    text = (data - 1.0).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [text[a:b] for a, b in pairwise(indptr)]


def is_encoded(X: Any) -> bool:
    """Whether X are strings as a CSR matrix of code points."""
    return is_sparse(X) and X.format == "csr" and X.shape[1] == MAX_LENGTH


def split_strings(codes: Array) -> tuple[Floats, Integers]:
    """The characters of all strings, in one array, and the offsets at which strings begin."""
    indptr = codes.indptr.astype(np.int64)
    return np.ascontiguousarray(codes.data[: indptr[-1]], dtype=np.float64), indptr
