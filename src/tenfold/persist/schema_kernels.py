"""Kernels in files: their classes and the checks of their parameters, of ours and of scikit-learn's Gaussian processes.

A class is added by an entry; its parameters are those of its constructor.
"""

import inspect
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from tenfold.estimators.schema import Check, Scope, anything, floats, many, mapping, nothing, number, text, whole

MODULES = {"tenfold": "tenfold.kernels", "sklearn": "sklearn.gaussian_process.kernels"}

_positive = number(0.0, inf=True)
_bounds = text("fixed") | many(_positive, "2") | floats("2", low=0.0, inf=True) | floats("* 2", low=0.0, inf=True)
_scales = _positive | floats("*", low=0.0) | many(_positive)


def _is_kernel(value: Any, _: Scope) -> bool:
    return name_of_kernel(value) is not None


kernel = Check("a kernel", _is_kernel)
"""A kernel object of a class that files have."""

_real = number(inf=True)
# what a parameter of this name must be; those that end in _bounds are bounds
PARAMETERS: dict[str, Check] = {
    "length_scale": _scales,
    **dict.fromkeys(("k1", "k2", "kernel"), kernel),
    **dict.fromkeys(("nu", "alpha", "periodicity", "sigma", "sigma_0", "noise_level"), _positive),
    **dict.fromkeys(("constant_value", "gamma", "coef0", "degree", "exponent"), _real),
    **dict.fromkeys(("length", "mismatches"), whole(0)),
    "alphabet_size": whole(1) | nothing(),
    "decay": _positive,
    "metric": text(),
    "pairwise_kernels_kwargs": mapping(text(), anything()) | nothing(),
    "params": mapping(text(), anything()) | nothing(),
    "matrices": anything(),
    "function": anything(),
}

# the classes of each library
KERNELS: Mapping[str, tuple[str, ...]] = {
    "tenfold": (
        *("ARD", "AdditiveChi2", "AllSubsets", "ArcSine", "Callable", "Chi2", "Composed", "Constant", "Exp"),
        *("Exponential", "Gaussian", "Laplacian", "Linear", "Matern", "Mismatch", "Normalised", "Periodic"),
        *("Polynomial", "Power", "Precomputed", "Product", "RationalQuadratic", "Scaled", "Sigmoid", "Spectrum"),
        *("Subsequence", "Sum", "White"),
    ),
    "sklearn": (
        *("ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel", "Product"),
        *("RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
    ),
}


@cache
def kernel_class(name: str) -> Any:
    """The class of a name in the file, as ``tenfold.Gaussian``; None where there is none."""
    library, _, short = name.partition(".")
    if short not in KERNELS.get(library, ()):
        return None
    return getattr(import_module(MODULES[library]), short)


def name_of_kernel(value: Any) -> str | None:
    """The name in the file of the class of a kernel; None of every other value."""
    name = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    return name if kernel_class(name) is type(value) else None


def checks_of(name: str) -> dict[str, Check]:
    """The checks of the parameters of a kernel of this class."""
    names = inspect.signature(kernel_class(name)).parameters
    return {part: _bounds if part.endswith("_bounds") else PARAMETERS[part] for part in names}
