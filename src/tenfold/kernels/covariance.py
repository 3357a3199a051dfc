"""The covariance function of a Gaussian process: a kernel of ours, of scikit-learn's, or of the user's own class.

The hyper-parameters are those of the kernel as it is given. A kernel of scikit-learn's is evaluated by ours: the
logarithms of our hyper-parameters are an affine function of the logarithms of theirs (gamma = 1 / (2 length_scale^2)),
whose slopes are the differences at a unit step. A class of the user's own, which may be anywhere in a sum or product,
is evaluated by itself, its gradients by those it returns.
"""

from dataclasses import dataclass
from functools import cached_property
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
    given : the kernel of the user.
    evaluated : the kernel that is evaluated in its place; None where it evaluates itself.
    start : the covariance of which this one has other hyper-parameters `moved`; None where they are those of `given`.
    """

    given: Any
    evaluated: Kernel | None
    start: "Covariance | None" = None
    moved: Floats | None = None

    @classmethod
    def of(cls, kernel: Any, X: Any) -> "Covariance":
        """The covariance function of a kernel; samples X for those that depend on the number of features."""
        if isinstance(kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        ours = as_kernel(kernel, X)
        return cls(kernel, ours if ours is kernel or not _has_function(ours) else None)

    @cached_property
    def theta(self) -> Floats:
        """The logarithms of the free hyper-parameters."""
        return np.array(self.given.theta if self.moved is None else self.moved, dtype=np.float64)

    @cached_property
    def bounds(self) -> Floats:
        """The logarithms of their bounds, (n_dims, 2)."""
        return np.reshape(np.asarray(self.given.bounds, dtype=np.float64), (-1, 2))

    @cached_property
    def slopes(self) -> Floats | None:
        """Of theta of the kernel that is evaluated in that of the given one; None where they are the same."""
        if self.start is not None:
            return self.start.slopes
        if self.evaluated is None or self.evaluated is self.given:
            return None
        ours = self.evaluated.theta
        if np.array_equal(ours, self.theta):
            return None
        units = [as_kernel(self.given.clone_with_theta(self.theta + unit)).theta for unit in np.eye(len(self.theta))]
        return np.reshape([unit - ours for unit in units], (-1, len(ours))).T

    def at(self, theta: Any) -> "Covariance":
        """The same with other hyper-parameters."""
        start = self if self.start is None else self.start
        theta = np.array(theta, dtype=np.float64)
        if start.evaluated is None:
            return Covariance(start.given.clone_with_theta(theta), None)
        ours = theta if start.slopes is None else start.evaluated.theta + start.slopes @ (theta - start.theta)
        return Covariance(start.given, start.evaluated.clone_with_theta(ours), start, theta)

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
