"""Kernels of the distance of two samples, with one length scale or one for each feature.

With v = sum_j ((x_j - z_j) / l_j)^2 every kernel here is a function f(v). Its derivative in log l_j is
slope(v) ((x_j - z_j) / l_j)^2, slope = -2 f', and in the logarithm of a common length scale slope(v) v.
"""

import math
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, is_array_api, is_sparse, like, namespace, on_host
from tenfold.kernels.bessel import matern_slope, matern_values
from tenfold.kernels.evaluation import Image, PairForm, Tile, inner_product
from tenfold.kernels.kernel import FREE, Bounds
from tenfold.kernels.pairs import PairKernel, contract_pairs, differences, evaluate_pairs, scale_features
from tenfold.pairwise import PairFunction

ONE = PairFunction("squares", scale=0.0, shift=1.0)

SMALLEST_SCALE = 1e-150  # shorter length scales have squares that are zero


class Stationary(PairKernel):
    """A kernel with a length scale: a number, or one for each feature."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("length_scale",)
    length_scale: Any

    @property
    def anisotropic(self) -> bool:
        """Whether there is a length scale for each feature."""
        return bool(np.size(self.length_scale) > 1)

    def is_stationary(self) -> bool:
        return True

    def _scale(self) -> float:
        """The length scale of the function of pairs: that of all features, or one where the image has been scaled."""
        if self.anisotropic:
            return 1.0
        value = float(np.ravel(self.length_scale)[0])
        if not value > 0.0:
            raise ValueError(f"The length scale of {type(self).__name__} must be positive, got {value}.")
        return max(value, SMALLEST_SCALE)

    def _image(self, X: Array) -> Image:
        if not self.anisotropic:
            return X
        scales = np.asarray(self.length_scale, dtype=np.float64)
        if scales.shape != (X.shape[1],):
            raise ValueError(
                f"Anisotropic kernel must have the same number of dimensions as data: {scales.size} length scales, "
                f"{X.shape[1]} features."
            )
        if not np.all(scales > 0.0):
            raise ValueError(f"The length scales of {type(self).__name__} must be positive.")
        return scale_features(X, 1.0 / np.maximum(scales, SMALLEST_SCALE))

    def _slope(self) -> PairFunction | None:
        """slope(v) as a function of pairs; None where it is none."""
        raise NotImplementedError

    def _derivatives(self, name: str) -> PairFunction:
        """The derivative in the logarithm of another hyper-parameter, as a function of pairs."""
        raise NotImplementedError

    def _is_free(self, name: str) -> bool:
        return not isinstance(getattr(self, f"{name}_bounds"), str)

    def _slope_values(self, tile: Tile) -> Array:
        slope = self._slope()
        assert slope is not None
        return evaluate_pairs(tile, slope)

    def _gradients(self, tile: Tile) -> list[Array]:
        result = []
        for name in filter(self._is_free, self.hyperparameter_names):
            if name != "length_scale":
                result.append(evaluate_pairs(tile, self._derivatives(name)))
            elif self.anisotropic:
                slope = self._slope_values(tile)
                result += [slope * differences(tile, j) ** 2 for j in range(np.size(self.length_scale))]
            else:
                squares = evaluate_pairs(tile, PairFunction("squares", scale=self._scale() ** -2))
                result.append(self._slope_values(tile) * squares)
        return result

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        slope, result = self._slope(), []
        for name in filter(self._is_free, self.hyperparameter_names):
            if name != "length_scale":
                result += contract_pairs(tile, self._derivatives(name), W, 0)
                continue
            function = ONE if slope is None else slope
            M = W * self._slope_values(tile) if slope is None else W
            values = contract_pairs(tile, function, M, 2 if self.anisotropic else 1)
            result += [value * self._scale() ** -2 for value in values]
        return result


class Gaussian(Stationary):
    """k(x, z) = exp(-||x - z||^2 / (2 length_scale^2)), the radial basis function."""

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = FREE) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def _pair_function(self) -> PairFunction:
        return PairFunction("gaussian", gamma=0.5 * self._scale() ** -2)

    def _slope(self) -> PairFunction | None:
        return PairFunction("gaussian", gamma=0.5 * self._scale() ** -2)


class ARD(Gaussian):
    """k(x, z) = exp(-1/2 sum_j ((x_j - z_j) / length_scale_j)^2): the Gaussian with a length scale for each feature."""

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = FREE) -> None:
        super().__init__(length_scale, length_scale_bounds)


class Exponential(Stationary):
    """k(x, z) = exp(-||x - z|| / length_scale), the Matern kernel of nu = 1/2."""

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = FREE) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def _pair_function(self) -> PairFunction:
        return PairFunction("exponential", gamma=1.0 / self._scale())

    def _slope(self) -> PairFunction | None:
        return exponential_slope(self._scale())


def exponential_slope(scale: float) -> PairFunction:
    """exp(-r) / r, r = sqrt(v) / scale; zero at zero, where it is multiplied by zero."""
    return PairFunction("exponential_slope", gamma=1.0 / scale, scale=scale)


class Matern(Stationary):
    """k(x, z) = 2^(1 - nu) / Gamma(nu) t^nu K_nu(t), t = sqrt(2 nu) ||x - z|| / length_scale."""

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = FREE, nu: float = 1.5) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds
        self.nu = nu

    def _pair_function_of_nu(self) -> PairFunction | None:
        """The function of pairs where it needs no Bessel function."""
        scale = self._scale()
        if not self.nu > 0.0:
            raise ValueError(f"nu of a Matern kernel must be positive, got {self.nu}.")
        if self.nu == 0.5:
            return PairFunction("exponential", gamma=1.0 / scale)
        if self.nu == 1.5:
            return PairFunction("matern32", gamma=scale**-2)
        if self.nu == 2.5:
            return PairFunction("matern52", gamma=scale**-2)
        return PairFunction("gaussian", gamma=0.5 * scale**-2) if self.nu == math.inf else None

    def _pair_form(self) -> PairForm | None:
        function = self._pair_function_of_nu()
        return None if function is None else PairForm(self._image, function)

    def _values(self, tile: Tile) -> Array:
        function = self._pair_function_of_nu()
        if function is not None:
            return evaluate_pairs(tile, function)
        v = evaluate_pairs(tile, PairFunction("squares", scale=self._scale() ** -2))
        return like(matern_values(on_host(v), self.nu), v)

    def _slope(self) -> PairFunction | None:
        scale = self._scale()
        if self.nu == 0.5:
            return exponential_slope(scale)
        if self.nu == 1.5:
            return PairFunction("exponential", gamma=math.sqrt(3.0) / scale, scale=3.0)
        if self.nu == 2.5:  # 5/3 (1 + t) exp(-t), t = sqrt(5 v)
            return PairFunction("matern32", gamma=5.0 / 3.0 * scale**-2, scale=5.0 / 3.0)
        return PairFunction("gaussian", gamma=0.5 * scale**-2) if self.nu == math.inf else None

    def _slope_values(self, tile: Tile) -> Array:
        slope = self._slope()
        if slope is not None:
            return evaluate_pairs(tile, slope)
        v = evaluate_pairs(tile, PairFunction("squares", scale=self._scale() ** -2))
        return like(matern_slope(on_host(v), self.nu), v)

    def _diagonal(self, image: Image) -> Array:
        return _ones(image)


class RationalQuadratic(Stationary):
    """k(x, z) = (1 + ||x - z||^2 / (2 alpha length_scale^2))^-alpha: a mixture of Gaussians of all length scales."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("alpha", "length_scale")

    def __init__(
        self,
        length_scale: Any = 1.0,
        alpha: float = 1.0,
        length_scale_bounds: Bounds = FREE,
        alpha_bounds: Bounds = FREE,
    ) -> None:
        self.length_scale = length_scale
        self.alpha = alpha
        self.length_scale_bounds = length_scale_bounds
        self.alpha_bounds = alpha_bounds

    def _pair_function(self) -> PairFunction:
        if not self.alpha > 0.0:
            raise ValueError(f"alpha of RationalQuadratic must be positive, got {self.alpha}.")
        return PairFunction("rational", gamma=0.5 / self.alpha * self._scale() ** -2, degree=self.alpha)

    def _slope(self) -> PairFunction | None:
        function = self._pair_function()
        return PairFunction("rational", gamma=function.gamma, degree=self.alpha + 1.0)

    def _derivatives(self, name: str) -> PairFunction:
        function = self._pair_function()
        return PairFunction("rational_slope", gamma=function.gamma, degree=self.alpha)


class Periodic(Stationary):
    """k(x, z) = exp(-2 sin(pi ||x - z|| / periodicity)^2 / length_scale^2).

    Positive semidefinite for one feature; with more it need not be, as the distance is no sum over the features:
    `certainly_psd` is False.
    """

    psd: ClassVar[bool] = False
    hyperparameter_names: ClassVar[tuple[str, ...]] = ("length_scale", "periodicity")

    def __init__(
        self,
        length_scale: float = 1.0,
        periodicity: float = 1.0,
        length_scale_bounds: Bounds = FREE,
        periodicity_bounds: Bounds = FREE,
    ) -> None:
        self.length_scale = length_scale
        self.periodicity = periodicity
        self.length_scale_bounds = length_scale_bounds
        self.periodicity_bounds = periodicity_bounds

    @property
    def anisotropic(self) -> bool:
        if np.size(self.length_scale) > 1:
            raise ValueError("Periodic has one length scale: it multiplies no distance of single features.")
        return False

    def _pair_function(self) -> PairFunction:
        if not self.periodicity > 0.0:
            raise ValueError(f"periodicity of Periodic must be positive, got {self.periodicity}.")
        return PairFunction("periodic", gamma=math.pi / self.periodicity, degree=self._scale() ** -2)

    def _gradients(self, tile: Tile) -> list[Array]:
        xp = namespace(tile.x) if is_array_api(tile.x) else np
        a = (math.pi / self.periodicity) * evaluate_pairs(tile, PairFunction("distance"))
        K, sine, weight = self._values(tile), xp.sin(a), 4.0 * self._scale() ** -2
        result = []
        if self._is_free("length_scale"):
            result.append(weight * sine * sine * K)
        if self._is_free("periodicity"):
            result.append(weight * a * xp.cos(a) * sine * K)
        return result

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        return [inner_product(W, gradient) for gradient in self._gradients(tile)]


class Laplacian(Stationary):
    """k(x, z) = exp(-sum_j |x_j - z_j| / length_scale_j)."""

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = FREE) -> None:
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def _pair_function(self) -> PairFunction:
        return PairFunction("laplacian", gamma=1.0 / self._scale())

    def _gradients(self, tile: Tile) -> list[Array]:
        if not self._is_free("length_scale"):
            return []
        K = self._values(tile)
        if not self.anisotropic:
            return [K * evaluate_pairs(tile, PairFunction("sizes", scale=1.0 / self._scale()))]
        return [K * abs(differences(tile, j)) for j in range(np.size(self.length_scale))]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        if not self._is_free("length_scale"):
            return []
        M = W * self._values(tile)
        if not self.anisotropic:
            return [inner_product(M, evaluate_pairs(tile, PairFunction("sizes", scale=1.0 / self._scale())))]
        return [inner_product(M, abs(differences(tile, j))) for j in range(np.size(self.length_scale))]


def _ones(image: Image) -> Array:
    if is_sparse(image):
        return np.ones(image.shape[0])
    return like(np.ones(image.shape[0]), image)
