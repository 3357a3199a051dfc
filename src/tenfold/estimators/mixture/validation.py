"""Validation of given mixture parameters, with scikit-learn's messages."""

from typing import Any

import numpy as np
from scipy import linalg as la
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Floats, wide
from tenfold.machine import one_blas_thread
from tenfold.plans.mixture_start import Given


def shape_of(kind: str, k: int, p: int) -> tuple[int, ...]:
    """The shape of the covariances and precisions of a kind."""
    return {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,), "unit": (k,)}[kind]


def _check_shape(values: Any, shape: tuple[int, ...], name: str) -> Floats:
    array = check_array(values, dtype=list(FLOATS), ensure_2d=False, allow_nd=True, input_name=name)
    if array.shape != shape:
        raise ValueError(f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}")
    return wide(array)


def check_start(kind: str, k: int, p: int, weights: Any, means: Any, precisions: Any) -> Given:
    """The validated given parts of a start."""
    covariances = None
    if precisions is not None:
        precisions_checked = _check_shape(precisions, shape_of(kind, k, p), f"{kind} precision")
        covariances = _inverses(kind, precisions_checked)
    return Given(
        None if weights is None else _check_weights(weights, k),
        None if means is None else _check_shape(means, (k, p), "means"),
        covariances,
    )


def _check_weights(weights: Any, k: int) -> Floats:
    checked = _check_shape(weights, (k,), "weights")
    if np.any(checked < 0.0) or np.any(checked > 1.0):
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{checked.max():.5f}, min value {checked.min():.5f}"
        )
    single = getattr(weights, "dtype", None) == np.float32
    if abs(checked.sum() - 1.0) > (1e-6 if single else 1e-8):
        raise ValueError(f"The parameter 'weights' should be normalized, but got sum(weights) = {checked.sum():.5f}")
    return checked / checked.sum() if single else checked


def _inverses(kind: str, precisions: Floats) -> Floats:
    if kind == "unit":
        if np.any(precisions != 1.0):
            raise ValueError("'unit precision' should be ones: it is not learned")
        return precisions
    if kind in ("diag", "spherical"):
        if np.any(precisions <= 0.0):
            raise ValueError(f"'{kind} precision' should be positive")
        return 1.0 / precisions
    if kind == "tied":
        return check_positive_definite(precisions[None], f"'{kind} precision'", inverse=True)[0]
    return check_positive_definite(precisions, f"'{kind} precision'", inverse=True)


def check_positive_definite(matrices: Floats, name: str, inverse: bool = False) -> Floats:
    """Symmetric positive definite matrices (k, p, p), or their inverses; raises for others."""
    matrices_checked = []
    for P in matrices:
        if not np.isfinite(P).all():
            raise ValueError(f"{name} should hold finite numbers")
        with one_blas_thread:
            values, axes = la.eigh(P, check_finite=False)
        if not np.allclose(P, P.T) or not np.all(values > 0.0):
            raise ValueError(f"{name} should be symmetric, positive-definite")
        matrices_checked.append(np.einsum("ij,j,kj->ik", axes, 1.0 / values, axes) if inverse else P)
    return np.array(matrices_checked)
