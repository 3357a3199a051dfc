"""The skewed chi-squared kernel."""

import numpy as np

from tenfold.arrays import Array
from tenfold.kernels.evaluation import Image, Tile
from tenfold.kernels.kernel import Kernel


class SkewedChi2(Kernel):
    """k(x, z) = prod_j 2 sqrt((x_j + c)(z_j + c)) / (x_j + z_j + 2 c), c the skewedness: the product over the
    features of sech((log(x_j + c) - log(z_j + c)) / 2), for entries above -c.
    """

    def __init__(self, skewedness: float = 1.0) -> None:
        self.skewedness = skewedness

    def _image(self, X: Array) -> Image:
        return np.log(np.asarray(X, dtype=np.float64) + self.skewedness)

    def _values(self, tile: Tile) -> Array:
        values = np.ones(tile.shape)
        for j in range(tile.x.shape[1]):
            values /= np.cosh(0.5 * (tile.x[:, j, None] - tile.z[None, :, j]))
        return values

    def _gradients(self, tile: Tile) -> list[Array]:
        return []

    def _diagonal(self, image: Image) -> Array:
        return np.ones(len(image))
