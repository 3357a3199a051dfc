"""Kernel logistic regression as it is written with scikit-learn and SciPy: Newton's method on the whole kernel matrix,
one Cholesky factor a step, as in scikit-learn's Gaussian process classifier, with an intercept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel

STEPS = 100
ENOUGH = 1e-7  # of the objective at zero: the decrease of a step that ends the iteration


class KernelLogisticRegression:
    """Two classes; `best_estimator_` has the coefficients in a model of ours, which is judged."""

    def __init__(self, C: float = 1.0, *, kernel: str = "rbf", gamma: float = 1.0) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X: Any, y: Any) -> KernelLogisticRegression:
        self.X, self.y = X, y
        classes, number = np.unique(y, return_inverse=True)
        t, K = number.astype(float), rbf_kernel(X, gamma=self.gamma)
        a, b, one = np.zeros(len(t)), 0.0, np.ones(len(t))
        before = np.inf
        for _ in range(STEPS):
            f = K @ a + b
            value = self.C * float(np.sum(np.logaddexp(0.0, f) - t * f)) + 0.5 * float(a @ (f - b))
            if before - value <= ENOUGH * self.C * len(t) * np.log(2.0):
                break
            before, p = value, expit(f)
            root = np.sqrt(np.maximum(self.C * p * (1.0 - p), 1e-300))
            # with W = root^2 and z = f + W^-1 C (t - p): (K + W^-1) a + b 1 = z and 1'a = 0
            B = root[:, None] * K * root
            B[np.diag_indices_from(B)] += 1.0
            factor = cho_factor(B, lower=True, overwrite_a=True)
            z = f + self.C * (t - p) / root**2
            with_z, with_one = (root * cho_solve(factor, root * right) for right in (z, one))
            b = float(np.sum(with_z) / np.sum(with_one))
            a = with_z - b * with_one
        self.coef, self.intercept, self.classes = a, b, classes
        return self

    @property
    def best_estimator_(self) -> Any:
        import tenfold

        model = tenfold.KernelLogisticRegression(self.C, kernel=self.kernel, gamma=self.gamma)
        model.classes_, model.X_fit_, model.dual_coef_ = self.classes, self.X, self.coef
        model.intercept_, model.n_features_in_ = np.array([self.intercept]), self.X.shape[1]
        model.kernel_ = tenfold.kernels.as_kernel(self.kernel, gamma=self.gamma)
        return model
