"""Kernels of the inner product of two samples, or of products of their features."""

import math
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, is_array_api, is_sparse, like, namespace, on_host
from tenfold.kernels.evaluation import Image, PairForm, Tile
from tenfold.kernels.kernel import FREE, Bounds
from tenfold.kernels.pairs import PairKernel, compute_lengths, evaluate_pairs, scale_features
from tenfold.pairwise import PairFunction


class Linear(PairKernel):
    """k(x, z) = sigma_0^2 + x.z."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("sigma_0",)

    def __init__(self, sigma_0: float = 0.0, sigma_0_bounds: Bounds = "fixed") -> None:
        self.sigma_0 = sigma_0
        self.sigma_0_bounds = sigma_0_bounds

    def _pair_form(self) -> PairForm | None:
        return PairForm(self._image, PairFunction("inner"), constant=float(self.sigma_0) ** 2)

    def _pair_function(self) -> PairFunction:
        return PairFunction("inner")

    def _values(self, tile: Tile) -> Array:
        values = evaluate_pairs(tile, PairFunction("inner"))
        return values + float(self.sigma_0) ** 2 if self.sigma_0 else values

    def _gradients(self, tile: Tile) -> list[Array]:
        if isinstance(self.sigma_0_bounds, str):
            return []
        values = evaluate_pairs(tile, PairFunction("inner", scale=0.0))
        return [values * 0.0 + 2.0 * float(self.sigma_0) ** 2]

    def _diagonal(self, image: Image) -> Array:
        return compute_lengths(image) + float(self.sigma_0) ** 2


class Polynomial(PairKernel):
    """k(x, z) = (gamma x.z + coef0)^degree; coef0 = 0 is the homogeneous kernel."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("coef0", "gamma")

    def __init__(
        self,
        degree: float = 3,
        gamma: float = 1.0,
        coef0: float = 1.0,
        gamma_bounds: Bounds = FREE,
        coef0_bounds: Bounds = "fixed",
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds
        self.coef0_bounds = coef0_bounds

    @property
    def certainly_psd(self) -> bool:
        whole = float(self.degree) == int(self.degree) and self.degree >= 0
        return bool(whole and self.gamma >= 0.0 and self.coef0 >= 0.0)

    def _pair_function(self) -> PairFunction:
        return PairFunction("polynomial", gamma=self.gamma, offset=self.coef0, degree=self.degree)

    def _gradients(self, tile: Tile) -> list[Array]:
        names = [h.name for h in self.own_hyperparameters if not h.fixed]
        if not names:
            return []
        slope = float(self.degree) * evaluate_pairs(
            tile, PairFunction("polynomial", gamma=self.gamma, offset=self.coef0, degree=self.degree - 1)
        )
        inner = evaluate_pairs(tile, PairFunction("inner", scale=self.gamma))
        return [slope * (inner if name == "gamma" else self.coef0) for name in names]


class AllSubsets(PairKernel):
    """k(x, z) = prod_j (1 + x_j z_j), the sum over all sets of features of the products of x_j z_j in the set."""

    def __init__(self) -> None:
        pass

    def _pair_function(self) -> PairFunction:
        return PairFunction("subsets")

    def _gradients(self, tile: Tile) -> list[Array]:
        return []

    def _diagonal(self, image: Image) -> Array:
        if is_sparse(image):
            logs = image.copy()
            logs.data = np.log1p(image.data.astype(np.float64) ** 2)
            return np.exp(np.asarray(logs.sum(axis=1)).ravel())
        xp = namespace(image)
        wide = xp.astype(image, xp.float64, copy=False)
        return xp.prod(1.0 + wide * wide, axis=1)


class ArcSine(PairKernel):
    """k(x, z) = (2 / pi) arcsin(2 u.v / sqrt((1 + 2 u.u) (1 + 2 v.v))), u = (sigma_0, sigma x), v = (sigma_0, sigma z):
    an infinitely wide network with one layer of error functions (Williams 1998).
    """

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("sigma", "sigma_0")

    def __init__(
        self,
        sigma_0: float = 1.0,
        sigma: float = 1.0,
        sigma_0_bounds: Bounds = FREE,
        sigma_bounds: Bounds = FREE,
    ) -> None:
        self.sigma_0 = sigma_0
        self.sigma = sigma
        self.sigma_0_bounds = sigma_0_bounds
        self.sigma_bounds = sigma_bounds

    def _image(self, X: Array) -> Image:
        """sqrt(2) u / sqrt(1 + 2 u.u), whose inner products are the argument of the arcsine; and 1 / (1 + 2 u.u)."""
        s, s0 = float(self.sigma), float(self.sigma_0)
        lengths = 1.0 + 2.0 * s0**2 + (2.0 * s**2) * compute_lengths(X)
        factor = math.sqrt(2.0) / on_host(lengths) ** 0.5
        return _with_column(scale_features(X, np.full(X.shape[1], s)), s0, factor)

    def _pair_function(self) -> PairFunction:
        return PairFunction("arcsine")

    def _gradients(self, tile: Tile) -> list[Array]:
        # with c = the argument, b_i = 2 s0^2 / (1 + 2 u_i.u_i): u.v of the image has a part b = sqrt(b_i b_j) of the
        # constant feature, and the lengths are those of the images: ||image||^2 = 1 - 1 / (1 + 2 u.u)
        names = [h.name for h in self.own_hyperparameters if not h.fixed]
        if not names:
            return []
        xp = namespace(tile.x) if is_array_api(tile.x) else np
        c = evaluate_pairs(tile, PairFunction("inner"))
        root = (2.0 / math.pi) / xp.sqrt(xp.clip(1.0 - c * c, 1e-300, 1.0))
        bx, bz = (_last_column(part) for part in (tile.x, tile.z))
        qx, qz = (compute_lengths(part) for part in (tile.x, tile.z))
        constant = bx[:, None] * bz[None, :]
        result = []
        for name in names:
            if name == "sigma_0":  # d log(1 + 2 u.u) / d log s0 = 2 b_i
                result.append(root * (2.0 * constant - c * (bx[:, None] ** 2 + bz[None, :] ** 2)))
            else:
                rest = (qx - bx**2)[:, None] + (qz - bz**2)[None, :]
                result.append(root * (2.0 * (c - constant) - c * rest))
        return result

    def _diagonal(self, image: Image) -> Array:
        return self._pair_function().evaluate(compute_lengths(image))


def _with_column(X: Array, value: float, factor: Any) -> Array:
    """Samples with a constant feature at the end, each multiplied by a factor."""
    if is_sparse(X):
        column = sparse.csr_array(np.full((X.shape[0], 1), value))
        return (sparse.diags_array(factor) @ sparse.hstack([X, column])).tocsr()
    xp = namespace(X)
    column = like(np.full((X.shape[0], 1), value), X)
    return xp.concat([xp.astype(X, xp.float64, copy=False), column], axis=1) * like(factor, X)[:, None]


def _last_column(X: Array) -> Array:
    return X[:, [X.shape[1] - 1]].toarray()[:, 0] if is_sparse(X) else X[:, -1]


class Sigmoid(PairKernel):
    """tanh(gamma x.z + coef0), which is symmetric but not positive semidefinite in general: `certainly_psd` is False,
    and `is_psd` names an eigenvalue.
    """

    psd: ClassVar[bool] = False
    hyperparameter_names: ClassVar[tuple[str, ...]] = ("gamma",)

    def __init__(self, gamma: float = 1.0, coef0: float = 1.0, gamma_bounds: Bounds = FREE) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.gamma_bounds = gamma_bounds

    def _pair_function(self) -> PairFunction:
        return PairFunction("sigmoid", gamma=self.gamma, offset=self.coef0)

    def _gradients(self, tile: Tile) -> list[Array]:
        if isinstance(self.gamma_bounds, str):
            return []
        K = self._values(tile)
        return [(1.0 - K * K) * evaluate_pairs(tile, PairFunction("inner", scale=self.gamma))]


class AdditiveChi2(PairKernel):
    """k(x, z) = -sum_j (x_j - z_j)^2 / (x_j + z_j) of samples without negative entries; conditionally positive
    definite only.
    """

    psd: ClassVar[bool] = False

    def __init__(self) -> None:
        pass

    def _image(self, X: Array) -> Image:
        return not_negative(X)

    def _pair_function(self) -> PairFunction:
        return PairFunction("additive_chi2", scale=-1.0)

    def _gradients(self, tile: Tile) -> list[Array]:
        return []


class Chi2(PairKernel):
    """k(x, z) = exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)) of samples without negative entries."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("gamma",)

    def __init__(self, gamma: float = 1.0, gamma_bounds: Bounds = FREE) -> None:
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds

    def _image(self, X: Array) -> Image:
        return not_negative(X)

    def _pair_function(self) -> PairFunction:
        return PairFunction("chi2", gamma=self.gamma)

    def _gradients(self, tile: Tile) -> list[Array]:
        if isinstance(self.gamma_bounds, str):
            return []
        return [self._values(tile) * evaluate_pairs(tile, PairFunction("additive_chi2", scale=-float(self.gamma)))]


def not_negative(X: Array) -> Array:
    """X, after a check that no entry is negative."""
    if not X.shape[0] or not X.shape[1]:
        return X
    if float(X.min() if is_sparse(X) else namespace(X).min(X)) < 0.0:
        raise ValueError("The chi-squared kernels are for samples without negative values: X contains negative values.")
    return X
