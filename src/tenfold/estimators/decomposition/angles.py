"""Principal angles between subspaces."""

from typing import Any

import numpy as np
from scipy import linalg as la
from sklearn.utils import check_array

from tenfold.arrays import Floats


def principal_angles(A: Any, B: Any) -> Floats:
    """Principal angles between the row spaces of two matrices, in ascending order, in radians.

    The first is the least angle between a vector of one space and one of the other; the next are those of the vectors
    orthogonal to them. Small angles come from sines, large ones from cosines, so that all are accurate (Björck and
    Golub 1973).

    Parameters
    ----------
    A : array-like of shape (k, p)
        Vectors that span the first space; those that depend on others are left out.
    B : array-like of shape (m, p)
        Vectors that span the second space; those that depend on others are left out.

    Returns
    -------
    ndarray of shape (min of the two dimensions
        The angles in radians, the smallest first.
    )
        The angles in radians, the smallest first.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import principal_angles
    >>> np.degrees(principal_angles([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 1.0, 1.0]])).round(6)
    array([45.])
    """
    spaces = [_basis(check_array(space, dtype=np.float64, input_name=name)) for space, name in ((A, "A"), (B, "B"))]
    if spaces[0].shape[1] != spaces[1].shape[1]:
        raise ValueError(f"A and B must have as many columns, got {spaces[0].shape[1]} and {spaces[1].shape[1]}.")
    larger, smaller = sorted(spaces, key=len, reverse=True)
    inner = smaller @ larger.T
    _, cosines, right = la.svd(inner)
    near = right[: len(smaller)] @ larger  # vectors of the larger space, nearest to the smaller one
    outside = near - (near @ smaller.T) @ smaller
    sines = np.sort(la.svdvals(outside)) if len(smaller) else np.zeros(0)
    cosines = np.clip(cosines, 0.0, 1.0)
    return np.where(cosines**2 > 0.5, np.arcsin(np.clip(sines, 0.0, 1.0)), np.arccos(cosines))


def _basis(A: Floats) -> Floats:
    """An orthonormal basis of the rows."""
    _, sizes, right = la.svd(A, full_matrices=False)
    return right[sizes > max(A.shape) * np.finfo(np.float64).eps * (sizes[0] if sizes.size else 0.0)]
