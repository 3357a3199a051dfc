"""Kernels as values: positive semidefinite functions of two samples.

A kernel evaluates blocks, products with vectors, its diagonal and its gradients, tile by tile; it has parameters by
name, hyper-parameters on a log scale, and the operators ``+ * **``. It serves as ``kernel=`` of the estimators here, of
scikit-learn's, and of scikit-learn's Gaussian processes.
"""

from tenfold.kernels.compositions import Composed, Exp, Normalised, Power, Product, Scaled, Sum
from tenfold.kernels.constants import Constant, White
from tenfold.kernels.conversion import as_kernel
from tenfold.kernels.diagnostics import Definiteness, check_precomputed, effective_dimension, is_psd, spectrum
from tenfold.kernels.given import Callable, Precomputed
from tenfold.kernels.kernel import Kernel
from tenfold.kernels.products import AdditiveChi2, AllSubsets, ArcSine, Chi2, Linear, Polynomial, Sigmoid
from tenfold.kernels.stationary import ARD, Exponential, Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from tenfold.kernels.string_codes import decode_strings, encode_strings
from tenfold.kernels.strings import Mismatch, Spectrum, Subsequence
from tenfold.kernels.target_alignment import Mixture, align, alignment
from tenfold.kernels.widths import WidthLimits, width_grid, width_limits

__all__ = [
    "ARD",
    "AdditiveChi2",
    "AllSubsets",
    "ArcSine",
    "Callable",
    "Chi2",
    "Composed",
    "Constant",
    "Definiteness",
    "Exp",
    "Exponential",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Mismatch",
    "Mixture",
    "Normalised",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "White",
    "WidthLimits",
    "align",
    "alignment",
    "as_kernel",
    "check_precomputed",
    "decode_strings",
    "effective_dimension",
    "encode_strings",
    "is_psd",
    "spectrum",
    "width_grid",
    "width_limits",
]
