"""The covariance function of a Gaussian process: a kernel of ours, of scikit-learn's, or of the user's own class.

The hyper-parameters are those of the kernel as it is given. A kernel of scikit-learn's is evaluated by ours: the
logarithms of our hyper-parameters are an affine function of the logarithms of theirs (gamma = 1 / (2 length_scale^2)),
whose slopes are the differences at a unit step. A class of the user's own, which may be anywhere in a sum or product,
is evaluated by itself, its gradients by those it returns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel

from tenfold.arrays import Array, Floats
from tenfold.kernels.conversion import as_kernel
from tenfold.kernels.evaluation import count, multiply_matrices
from tenfold.kernels.given import Callable
from tenfold.kernels.kernel import Kernel
from tenfold.machine import require_memory


@dataclass(frozen=True)
class Covariance:
    """A kernel with its hyper-parameters.

    Attributes
    ----------
    given : the kernel of the user, whose theta and bounds are the hyper-parameters.
    evaluated : the kernel that is evaluated in its place; None where it evaluates itself.
    slopes : of theta of the one that is evaluated in theta of the given one; None where they are the same.
    """

    given: Any
    evaluated: Kernel | None
    slopes: Floats | None = None

    @classmethod
    def of(cls, kernel: Any, X: Any) -> "Covariance":
        """The covariance function of a kernel; samples X for those that depend on the number of features."""
        if isinstance(kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        if isinstance(kernel, Kernel):
            return cls(kernel, kernel)
        ours = as_kernel(kernel, X)
        if _has_function(ours):
            return cls(kernel, None)
        theta = np.asarray(kernel.theta, dtype=np.float64)
        if ours.n_dims == len(theta) and np.array_equal(ours.theta, theta):
            return cls(kernel, ours)
        slopes = np.zeros((ours.n_dims, len(theta)))
        for j, unit in enumerate(np.eye(len(theta))):
            slopes[:, j] = as_kernel(kernel.clone_with_theta(theta + unit), X).theta - ours.theta
        return cls(kernel, ours, slopes)

    def at(self, theta: Any) -> "Covariance":
        """The same with other hyper-parameters."""
        given = self.given.clone_with_theta(theta)
        if self.evaluated is None:
            return Covariance(given, None)
        if self.evaluated is self.given:
            return Covariance(given, given)
        moved = np.asarray(theta, dtype=np.float64) - self.given.theta
        ours = self.evaluated.clone_with_theta(
            self.evaluated.theta + (moved if self.slopes is None else self.slopes @ moved)
        )
        return Covariance(given, ours, self.slopes)

    @property
    def theta(self) -> Floats:
        """The logarithms of the free hyper-parameters."""
        return np.array(self.given.theta, dtype=np.float64)

    @property
    def bounds(self) -> Floats:
        """The logarithms of their bounds, (n_dims, 2)."""
        return np.reshape(np.asarray(self.given.bounds, dtype=np.float64), (-1, 2))

    def block(self, X: Any, Y: Any = None) -> Array:
        """k(X, Y), (m, n); Y None: k(X, X). An array that the caller may change."""
        if self.evaluated is not None:
            return self.evaluated.block(X, Y)
        return np.array(self.given(X) if Y is None else self.given(X, Y), dtype=np.float64)

    def multiply(self, X: Any, Z: Any, V: Array) -> Array:
        """k(X, Z) V, for V (n,) or (n, t); Z None: k(X, X) V."""
        if self.evaluated is not None:
            return self.evaluated.multiply(X, Z, V)
        product = multiply_matrices(self.block(X, Z), V if V.ndim == 2 else V[:, None])
        return product if V.ndim == 2 else product[:, 0]

    def diagonal(self, X: Any) -> Array:
        """k(x_i, x_i), (n,)."""
        kernel = self.given if self.evaluated is None else self.evaluated
        return np.array(kernel.diag(X), dtype=np.float64)

    def weighted_gradient(self, X: Any, A: Array) -> Floats:
        """sum_ij A_ij dk(x_i, x_j)/dtheta, (n_dims,), for a symmetric A."""
        if self.evaluated is None:
            return np.tensordot(A, self._gradient(X), axes=2)
        gradient = self.evaluated.weighted_gradient(X, A)
        return gradient if self.slopes is None else gradient @ self.slopes

    def multiply_gradient(self, X: Any, V: Array) -> Floats:
        """(dk(X, X)/dtheta_j) V for each j, (n_dims, n, t), for V (n, t)."""
        if self.evaluated is None:
            return np.einsum("ijk,jt->kit", self._gradient(X), V)
        products = self.evaluated.multiply_gradient(X, V)
        return products if self.slopes is None else np.tensordot(self.slopes.T, products, axes=1)

    def _gradient(self, X: Any) -> Floats:
        """dk(X, X)/dtheta, (n, n, n_dims), by the user's class."""
        n, d = count(X), len(self.theta)
        instead = "Use the kernels of tenfold or of scikit-learn, whose gradients are summed by tiles."
        require_memory(f"The gradient of {type(self.given).__name__} at {n} samples", 8 * n * n * d, instead)
        return np.asarray(self.given(X, eval_gradient=True)[1], dtype=np.float64)


def _has_function(kernel: Kernel) -> bool:
    """Whether a function of the user, which has no gradients here, is part of a kernel."""
    return isinstance(kernel, Callable) or any(_has_function(part) for part in kernel._children())
