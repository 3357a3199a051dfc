"""Kind exact: the root N of a Nystroem map, by the identities that make it one, without an eigendecomposition.

With K = k(C, C) evaluated again, A = K N must be positive semidefinite with A A' = |K|, N symmetric, and no eigenvalue
of N may exceed the inverse root of the largest eigenvalue that is rounding (`kernels.nystroem_map`). That
determines N where K has eigenvalues above it. |K| is K where this is positive semidefinite, and else from its singular
value decomposition.
"""

from typing import Any

import numpy as np
from scipy.linalg import svd

from tenfold.arrays import Array, Floats, unit_roundoff
from tenfold.judge.certificate import Certificate
from tenfold.judge.recompute import Pair, exact
from tenfold.kernels import Kernel
from tenfold.kernels.nystroem_map import cut_of
from tenfold.linear_algebra import eigenvalues, product
from tenfold.machine import one_blas_thread


def inverse_root(kernel: Kernel, K: Floats, N: Floats, centres: tuple[Array, Array] | None, dtype: Any) -> Certificate:
    """The certificate of N (m, m) for the kernel matrix K of the centres; `centres`: those that are stored, and the
    samples that they must be, None where they need not be samples.
    """
    m, pairs = len(K), dict[str, Pair]()
    if centres is not None:
        stored, again = centres
        pairs["components_"] = (stored, again, float(np.max(np.abs(again), initial=0.0)) or 1.0)
    u = unit_roundoff(dtype)
    if N.shape != K.shape or not np.isfinite(N).all() or not np.isfinite(K).all():
        return exact({**pairs, "normalization_": (np.full(1, np.inf), np.zeros(1), 1.0)}, floor=0.0)
    size = float(np.max(np.abs(K), initial=0.0)) or 1.0
    A = product(K, N)
    square = product(A, np.ascontiguousarray(A.T))
    absolute = K if kernel.certainly_psd else _absolute(K)
    roots = eigenvalues(0.5 * (A + A.T))
    largest = float(roots[-1] ** 2) if m else 0.0
    slopes = eigenvalues(0.5 * (N + N.T))
    steepest = float(np.max(np.abs(slopes), initial=0.0))
    limit = 1.0 / np.sqrt(cut_of(m, largest, size, dtype)) if largest > 0.0 else np.inf
    root = np.sqrt(largest) or 1.0
    # N is rounded to its dtype, which K multiplies; what was cut is m u of the largest eigenvalue
    floor = 16.0 * m * u * max(1.0, largest / size) + 8.0 * u * m * steepest * root
    pairs["normalization_"] = (square, absolute, size)
    pairs["normalization_, symmetric"] = (N, N.T, max(steepest, 1e-300))
    pairs["normalization_, its signs"] = (np.minimum(roots, 0.0), np.zeros(m), root)
    beyond = max(0.0, steepest / (limit * 1.001) - 1.0)
    pairs["normalization_, beyond the rounding of the kernel matrix"] = (np.full(1, beyond), np.zeros(1), 1e-6)
    return exact(pairs, floor=min(floor, 1e-3) if dtype == np.float32 else floor)


def _absolute(K: Floats) -> Floats:
    with one_blas_thread:
        _, s, Vt = svd(K, check_finite=False)
        return np.asarray((Vt.T * s) @ Vt)
