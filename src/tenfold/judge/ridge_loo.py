"""Leave-one-out errors of ridge regression, by an independent formula.

With A = root (X - mean), B = root (Y - mean), means weighted and root the square roots of the weights, and the singular
value decomposition A = U diag(s) V', the fit leaves R = B - U diag(s^2 / (s^2 + alpha)) U'B, and the sample i has the
leverage h_i = weight_i / W + sum_k U_ik^2 s_k^2 / (s_k^2 + alpha). Its leave-one-out error is r_i / (1 - h_i), in
the units of the targets. Without an intercept nothing is centred, and the first term of h_i is absent.
"""

import numpy as np
from scipy.linalg import svd

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread

MAX_PRODUCTS = 1 << 30  # n p min(n, p) up to which the decomposition takes about a second

MIN_COMPLEMENT = 1e-9  # 1 - h below which an error is dominated by rounding


def leave_one_out_errors(X: Floats, Y: Floats, weight: Floats, alphas: Floats, intercept: bool) -> Floats | None:
    """Errors (n, t, len(alphas)) of X (n, p) and Y (n, t) in float64; None where rounding dominates."""
    total = float(np.sum(weight))
    mean, target_mean = (weight @ X / total, weight @ Y / total) if intercept else (0.0, 0.0)
    root = np.sqrt(weight)[:, None]
    away = Y - target_mean
    with one_blas_thread:
        U, s, Vt = svd(root * (X - mean), full_matrices=False, check_finite=False)
        scores, products = (X - mean) @ Vt.T, U.T @ (root * away)
    errors = np.empty((*Y.shape, len(alphas)))
    for k, alpha in enumerate(alphas):
        total_squares = s * s + alpha
        inverse = np.where(s > 0.0, 1.0 / np.where(total_squares > 0.0, total_squares, 1.0), 0.0)
        left = 1.0 - (U * U) @ (s * s * inverse) - (weight / total if intercept else 0.0)
        if not np.min(left, initial=1.0) > MIN_COMPLEMENT:
            return None
        errors[:, :, k] = (away - scores @ ((s * inverse)[:, None] * products)) / left[:, None]
    return errors
