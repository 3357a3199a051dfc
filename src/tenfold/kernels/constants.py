"""The constant kernel and white noise."""

from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, device_of, is_array_api, like, namespace
from tenfold.kernels.evaluation import Image, PairForm, Tile, count, first_array
from tenfold.kernels.kernel import FREE, Bounds, Kernel


def fill(shape: tuple[int, ...], value: float, image: Image) -> Array:
    """An array of one value, where the samples are."""
    return like(np.full(shape, value), first_array(image))


class Constant(Kernel):
    """k(x, z) = constant_value."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("constant_value",)

    def __init__(self, constant_value: float = 1.0, constant_value_bounds: Bounds = FREE) -> None:
        self.constant_value = constant_value
        self.constant_value_bounds = constant_value_bounds

    @property
    def certainly_psd(self) -> bool:
        return bool(self.constant_value >= 0.0)

    @property
    def requires_vector_input(self) -> bool:
        return False

    def is_stationary(self) -> bool:
        return True

    def _pair_form(self) -> PairForm | None:
        return PairForm(None, None, constant=float(self.constant_value))

    def _values(self, tile: Tile) -> Array:
        return fill(tile.shape, float(self.constant_value), tile.x)

    def _gradients(self, tile: Tile) -> list[Array]:
        return [] if isinstance(self.constant_value_bounds, str) else [self._values(tile)]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        free = not isinstance(self.constant_value_bounds, str)
        return [float(self.constant_value) * float(namespace(W).sum(W))] if free else []

    def _diagonal(self, image: Image) -> Array:
        return fill((count(image),), float(self.constant_value), image)


class White(Kernel):
    """k(x, z) = noise_level where x and z are the same sample of k(X, X), and zero elsewhere, in k(X, Y) everywhere."""

    hyperparameter_names: ClassVar[tuple[str, ...]] = ("noise_level",)

    def __init__(self, noise_level: float = 1.0, noise_level_bounds: Bounds = FREE) -> None:
        self.noise_level = noise_level
        self.noise_level_bounds = noise_level_bounds

    @property
    def requires_vector_input(self) -> bool:
        return False

    def is_stationary(self) -> bool:
        return True

    def _pair_form(self) -> PairForm | None:
        return PairForm(None, None, noise=float(self.noise_level))

    def _values(self, tile: Tile) -> Array:
        m, n = tile.shape
        if not tile.same:
            return fill((m, n), 0.0, tile.x)
        other = first_array(tile.x)
        if not is_array_api(other):
            return float(self.noise_level) * np.eye(m, n, tile.row - tile.column)
        xp = namespace(other)
        diagonal = xp.eye(m, n, k=tile.row - tile.column, dtype=xp.float64, device=device_of(other))
        return float(self.noise_level) * diagonal

    def _gradients(self, tile: Tile) -> list[Array]:
        return [] if isinstance(self.noise_level_bounds, str) else [self._values(tile)]

    def _contract(self, tile: Tile, W: Array) -> list[float]:
        if isinstance(self.noise_level_bounds, str):
            return []
        if not tile.same:
            return [0.0]
        start = tile.row - tile.column
        square = W[:, start : start + tile.shape[0]]
        return [float(self.noise_level) * float(namespace(W).sum(namespace(W).linalg.diagonal(square)))]

    def _diagonal(self, image: Image) -> Array:
        return fill((count(image),), float(self.noise_level), image)


def number(value: Any) -> Constant:
    """A number in a sum or product of kernels."""
    return Constant(float(value))
