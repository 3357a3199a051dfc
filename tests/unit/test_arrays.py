"""Namespaces, dtypes and storage."""

import array_api_strict as strict
import numpy as np
import pytest
from scipy import sparse

from tenfold.arrays import contiguous, is_numpy, is_sparse, namespace, unit_roundoff


def test_namespace():
    assert namespace(np.ones(2)) is np
    assert namespace(np.float64(1.0)) is np
    assert namespace(1.0) is np
    assert namespace(strict.ones(2)) is strict
    with pytest.raises(TypeError):
        namespace("array")


def test_kinds_of_storage():
    assert is_sparse(sparse.csr_array((2, 2)))
    assert is_sparse(sparse.csc_matrix((2, 2)))
    assert not is_sparse(np.ones(2))
    assert is_numpy(np.ones(2))
    assert not is_numpy(strict.ones(2))
    assert not is_numpy([1.0])


@pytest.mark.parametrize(("dtype", "u"), [(np.float64, 2.0**-53), (np.float32, 2.0**-24)])
def test_unit_roundoff(dtype, u):
    assert unit_roundoff(dtype) == u
    one = dtype(1)
    assert dtype(one + dtype(u)) == one
    assert dtype(one + dtype(2 * u)) > one


@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", "<f4"])
def test_contiguous_is_native_c_and_aligned(dtype):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3)).astype(dtype)
    result = contiguous(array)
    assert result.flags.c_contiguous
    assert result.flags.aligned
    assert result.dtype.isnative
    assert result.dtype.itemsize == array.dtype.itemsize
    np.testing.assert_array_equal(result, array)


def test_contiguous_copies_only_what_it_must():
    array = np.ones((3, 2))
    assert np.shares_memory(contiguous(array), array)
    array.setflags(write=False)
    assert np.shares_memory(contiguous(array), array)
    assert not np.shares_memory(contiguous(array.T), array)
