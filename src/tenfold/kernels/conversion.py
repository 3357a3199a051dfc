"""Kernels from scikit-learn's names, from the kernels of its Gaussian processes, and from functions."""

from collections.abc import Callable as Function
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sklearn_kernels

from tenfold.arrays import is_sparse, namespace
from tenfold.kernels.compositions import Normalised, Power, Product, Sum
from tenfold.kernels.constants import Constant, White
from tenfold.kernels.given import Callable, Precomputed
from tenfold.kernels.kernel import OPERATORS, Kernel
from tenfold.kernels.products import AdditiveChi2, Chi2, Linear, Polynomial, Sigmoid
from tenfold.kernels.stationary import Gaussian, Laplacian, Matern, Periodic, RationalQuadratic

NAMES = (
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "polynomial",
    "precomputed",
    "rbf",
    "sigmoid",
)
"""The names that `as_kernel` knows, which are those of scikit-learn's ``pairwise_kernels``."""


def as_kernel(
    kernel: Any,
    X: Any = None,
    *,
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 1,
    params: dict[str, Any] | None = None,
) -> Kernel:
    """The kernel of a name, of a kernel of scikit-learn's Gaussian processes, of ours (unchanged), or of a function.

    Names are those of ``sklearn.metrics.pairwise``; they read gamma, degree and coef0. gamma None is 1 / n_features (1
    for "chi2"), "auto" 1 / n_features, "scale" 1 / (n_features X.var()), for which the samples X are needed. A function
    of two samples gets `params`.

    >>> from tenfold.kernels import as_kernel
    >>> as_kernel("rbf", gamma=0.125)
    Gaussian(length_scale=2.0)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return _of_name(kernel, X, gamma, degree, coef0)
    if isinstance(kernel, sklearn_kernels.Kernel):
        return _of_sklearn(kernel, X)
    if callable(kernel):
        return Callable(kernel, params)
    raise ValueError(f"A kernel is a name, a kernel object or a function, got {kernel!r}. Names: {', '.join(NAMES)}.")


def _of_name(name: str, X: Any, gamma: Any, degree: float, coef0: float) -> Kernel:
    if name == "linear":
        return Linear()
    if name == "precomputed":
        return Precomputed()
    if name == "cosine":
        return Normalised(Linear())
    if name == "additive_chi2":
        return AdditiveChi2()
    if name not in NAMES:
        raise ValueError(f"Unknown kernel {name!r}. Known are {', '.join(NAMES)}, kernel objects and functions.")
    g = 1.0 if name == "chi2" and gamma is None else gamma_of(gamma, X)
    if name == "chi2":
        return Chi2(g)
    if name == "sigmoid":
        return Sigmoid(g, coef0)
    if name in ("poly", "polynomial"):
        return Polynomial(degree, g, coef0)
    if not g > 0.0:
        raise ValueError(f"gamma of the kernel {name!r} must be positive, got {g}.")
    return Laplacian(1.0 / g) if name == "laplacian" else Gaussian(float(np.sqrt(0.5 / g)))


def gamma_of(gamma: Any, X: Any) -> float:
    """The number that scikit-learn means by gamma: None or "auto" 1 / n_features, "scale" 1 / (n_features X.var())."""
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    if gamma not in (None, "auto", "scale"):
        raise ValueError(f"gamma must be a number, None, 'auto' or 'scale', got {gamma!r}.")
    if X is None:
        raise ValueError(f"gamma={gamma!r} depends on the samples: give X, or a number for gamma.")
    if gamma != "scale":
        return 1.0 / X.shape[1]
    if is_sparse(X):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        xp = namespace(X)
        variance = float(xp.var(xp.astype(X, xp.float64, copy=False)))
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def _of_sklearn(kernel: Any, X: Any) -> Kernel:
    for cls, convert in CONVERSIONS.items():
        if type(kernel) is cls:
            return convert(kernel, X)
    return _of_unknown(kernel)


def _of_unknown(kernel: Any) -> Kernel:
    """A kernel class of somebody else: a function of two matrices, without gradients."""
    if isinstance(kernel, sklearn_kernels.CompoundKernel):
        raise ValueError("CompoundKernel is a list of kernels, not one: use the kernels in it.")
    return Callable(kernel.__call__, matrices=True)


def _pairwise(kernel: Any, X: Any) -> Kernel:
    given = dict(kernel.pairwise_kernels_kwargs or {})
    result = as_kernel(kernel.metric, X, gamma=kernel.gamma, params=given, **_take_known(given))
    bounds = kernel.gamma_bounds
    if isinstance(result, (Gaussian, Laplacian)):  # of the length scale, which falls with gamma
        power = 0.5 if isinstance(result, Gaussian) else 1.0
        factor = 0.5 if isinstance(result, Gaussian) else 1.0
        low_high = None if isinstance(bounds, str) else np.ravel(bounds)
        result.length_scale_bounds = (
            "fixed" if low_high is None else tuple(float((factor / b) ** power) for b in low_high[::-1])
        )
    elif hasattr(result, "gamma_bounds"):
        result.gamma_bounds = bounds
    return result


def _take_known(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("degree", "coef0") if name in given}


CONVERSIONS: dict[type, Function[[Any, Any], Kernel]] = {
    sklearn_kernels.ConstantKernel: lambda k, _: Constant(k.constant_value, k.constant_value_bounds),
    sklearn_kernels.WhiteKernel: lambda k, _: White(k.noise_level, k.noise_level_bounds),
    sklearn_kernels.RBF: lambda k, _: Gaussian(k.length_scale, k.length_scale_bounds),
    sklearn_kernels.Matern: lambda k, _: Matern(k.length_scale, k.length_scale_bounds, k.nu),
    sklearn_kernels.RationalQuadratic: lambda k, _: RationalQuadratic(
        k.length_scale, k.alpha, k.length_scale_bounds, k.alpha_bounds
    ),
    sklearn_kernels.ExpSineSquared: lambda k, _: Periodic(
        k.length_scale, k.periodicity, k.length_scale_bounds, k.periodicity_bounds
    ),
    sklearn_kernels.DotProduct: lambda k, _: Linear(k.sigma_0, k.sigma_0_bounds),
    sklearn_kernels.PairwiseKernel: _pairwise,
    sklearn_kernels.Sum: lambda k, X: Sum(as_kernel(k.k1, X), as_kernel(k.k2, X)),
    sklearn_kernels.Product: lambda k, X: Product(as_kernel(k.k1, X), as_kernel(k.k2, X)),
    sklearn_kernels.Exponentiation: lambda k, X: Power(as_kernel(k.kernel, X), k.exponent),
}
"""How each kernel class of scikit-learn's Gaussian processes becomes one of ours."""


def _operand(value: Any) -> Kernel:
    """The other operand of a sum or product: a number, or a kernel."""
    return Constant(float(value)) if np.ndim(value) == 0 and not callable(value) else as_kernel(value)


OPERATORS["convert"] = _operand
