"""Labels to classes and numbers: whole numbers are counted, not sorted, with the result of `np.unique`."""

import numpy as np
import pytest

from tenfold.estimators.class_labels import encode_labels

LABELS = [
    np.array([2, 0, 1, 1]),
    np.array([3, 9, 3]),
    np.array([-4, 7, -4], dtype=np.int8),
    np.array([250, 255, 250], dtype=np.uint8),
    np.array([2**63 + 7, 2**63 + 5], dtype=np.uint64),
    np.array([0, 2**40]),
    np.array([True, False, True]),
    np.array([True, True]),
    np.array([5]),
    np.array(["b", "a", "b"]),
]


@pytest.mark.parametrize("y", LABELS, ids=str)
def test_classes_and_numbers(y):
    classes, number = encode_labels(y, np.zeros((len(y), 1)))
    expected, places = np.unique(y, return_inverse=True)
    assert classes.dtype == expected.dtype
    assert np.array_equal(classes, expected)
    assert np.array_equal(number, places)
    assert not np.shares_memory(number, y)
