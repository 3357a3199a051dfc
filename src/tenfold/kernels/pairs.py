"""Kernels that are an elementwise function of inner products or distances of mapped samples."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, is_array_api, is_sparse, like, namespace
from tenfold.kernels.evaluation import Image, PairForm, Tile, inner_product
from tenfold.kernels.kernel import Kernel
from tenfold.pairwise import PairFunction, StoredPoints


class PairKernel(Kernel):
    """A kernel of the value of a `PairFunction` for the images of two samples."""

    def _pair_function(self) -> PairFunction:
        raise NotImplementedError

    def _pair_form(self) -> PairForm | None:
        return PairForm(self._image, self._pair_function())

    def _values(self, tile: Tile) -> Array:
        return evaluate_pairs(tile, self._pair_function())

    def _diagonal(self, image: Image) -> Array:
        return StoredPoints(image).diagonal(self._pair_function())


def evaluate_pairs(tile: Tile, function: PairFunction) -> Array:
    """A function of pairs of a tile."""
    return StoredPoints(tile.z).block(tile.x, function)


def contract_pairs(tile: Tile, function: PairFunction, W: Array, moment: int) -> list[float]:
    """sum_ij W_ij f(v_ij) over a tile of squared distances v; moment 1: of f(v) v, 2: of f(v) times the square of the
    difference of each feature. Compiled where the samples are dense and NumPy's.
    """
    if not is_sparse(tile.x) and not is_array_api(tile.x):
        return [float(value) for value in StoredPoints(tile.z).gradient(tile.x, function, W, moment)]
    M = W * evaluate_pairs(tile, function)
    if moment == 0:
        return [float(namespace(M).sum(M))]
    if moment == 1:
        return [inner_product(M, evaluate_pairs(tile, PairFunction("squares")))]
    return [inner_product(M, differences(tile, j) ** 2) for j in range(tile.x.shape[1])]


def differences(tile: Tile, j: int) -> Array:
    """Differences of feature j of the images, (m, n)."""
    x, z = (part[:, [j]].toarray()[:, 0] if is_sparse(part) else part[:, j] for part in (tile.x, tile.z))
    return x[:, None] - z[None, :]


def scale_features(X: Array, factors: Any) -> Array:
    """The samples with their features multiplied by factors (p,), where they are."""
    if is_sparse(X):
        return X.multiply(np.asarray(factors)[None, :]).tocsr()
    if is_array_api(X):
        return namespace(X).astype(X, namespace(X).float64, copy=False) * like(np.asarray(factors), X)
    return X * np.asarray(factors)


def compute_lengths(X: Array) -> Array:
    """||x_i||^2, (n,), where the samples are."""
    return StoredPoints(X).diagonal(PairFunction("inner"))
