"""Kernels that are given: as matrices, or as functions of the user."""

from collections import abc
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, namespace, one_by_one
from tenfold.kernels.evaluation import Image, Tile, count
from tenfold.kernels.kernel import Kernel


class Precomputed(Kernel):
    """A kernel whose matrix is given in the place of the samples: k(K) is K, (n, n), and k(K, .) is K, (m, n)."""

    psd: ClassVar[bool] = False

    def __init__(self) -> None:
        pass

    def _values(self, tile: Tile) -> Array:
        xp, n = namespace(tile.x), tile.column + count(tile.z)
        if tile.x.shape[1] != n:
            raise ValueError(
                f"A precomputed kernel of {n} samples has {n} columns, and is square where these are all samples; got "
                f"{tile.x.shape[1]} columns."
            )
        return xp.astype(tile.x[:, tile.column :], xp.float64, copy=True)

    def _gradients(self, tile: Tile) -> list[Array]:
        return []

    def _diagonal(self, image: Image) -> Array:
        if image.shape[0] != image.shape[1]:
            raise ValueError(f"The diagonal needs a square kernel matrix, got one of shape {image.shape}.")
        return namespace(image).linalg.diagonal(image) if not isinstance(image, np.ndarray) else np.diag(image).copy()


class Evaluated(Precomputed):
    """The matrix of a kernel, in memory in the place of the samples, where a pair of samples costs more than all uses
    of its value. It is positive semidefinite where the kernel is.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def certainly_psd(self) -> bool:
        return self.kernel.certainly_psd

    @property
    def reads_strings(self) -> bool:
        return False


class Callable(Kernel):
    """k(x, z) = function(x, z) for a function of the user: of two samples, or with ``matrices`` of two matrices of
    samples (m, p) and (n, p), which returns (m, n).
    """

    psd: ClassVar[bool] = False

    def __init__(
        self,
        function: abc.Callable[..., Any],
        params: dict[str, Any] | None = None,
        matrices: bool = False,
    ) -> None:
        self.function = function
        self.params = params
        self.matrices = matrices

    @property
    def requires_vector_input(self) -> bool:
        return False

    def _values(self, tile: Tile) -> Array:
        params = self.params or {}
        if self.matrices:
            return np.array(self.function(tile.x, tile.z, **params), dtype=np.float64)
        values = np.empty(tile.shape)
        rows, columns = _samples(tile.x), _samples(tile.z)
        for i, x in enumerate(rows):
            for j, z in enumerate(columns):
                values[i, j] = self.function(x, z, **params)
        return values

    def _gradients(self, tile: Tile) -> list[Array]:
        return []

    def _diagonal(self, image: Image) -> Array:
        params = self.params or {}
        if self.matrices:
            parts = [self.function(image[i : i + 1], image[i : i + 1], **params)[0, 0] for i in range(count(image))]
            return np.array(parts, dtype=np.float64)
        return np.array([self.function(x, x, **params) for x in _samples(image)], dtype=np.float64)


def _samples(image: Image) -> Any:
    return image if isinstance(image, list) else one_by_one(image)
