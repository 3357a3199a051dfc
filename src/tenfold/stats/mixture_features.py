"""E-step of a mixture with many components as matrix products with quadratic features.

With a = (x - c) s, c and 1/s the mean and the standard deviation of the features in the mixture, the weighted log
density of a component is linear in 1, a_j and a_j a_k, and the M-step needs sums of the same features. One product
serves all components. The terms of a form exceed its value by up to p times the largest entry of a precision in these
units, and so does its rounding error: where that is too large, components are evaluated one after the other about their
own means.
"""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats
from tenfold.stats.gaussians import Mixture

MIN_COMPONENTS = 8  # fewer do not fill the registers
MAX_COLUMNS = 24  # the quadratic features of more columns leave the cache

MAX_PRECISION = 1e5  # of p times the precisions in units of the columns: eleven of sixteen digits are left


@dataclass(frozen=True)
class QuadraticForms:
    """Twice the negative log densities as forms (k, features) of the samples about `centre` in units 1/`scale`."""

    centre: Floats
    scale: Floats
    coef: Floats

    def sums(
        self, mixture: Mixture, X: Array, weight: Array | None, threads: int
    ) -> tuple[float, float, Floats, Floats, Floats]:
        """Weight, value, count, sums and squares as in `MixtureSums`."""
        p, offsets = mixture.shape[1], mixture.means - self.centre
        total, value, moments = _core.gmm_estep_gemm(X, weight, self.centre, self.scale, self.coef, threads)
        count, first = moments[:, 0].copy(), moments[:, 1 : p + 1] / self.scale
        squares, (i, j) = np.empty((len(count), p, p)), np.triu_indices(p)
        squares[:, i, j] = squares[:, j, i] = moments[:, p + 1 :] / (self.scale[i] * self.scale[j])
        cross = offsets[:, :, None] * first[:, None, :]
        squares -= cross + cross.transpose(0, 2, 1) - count[:, None, None] * offsets[:, :, None] * offsets[:, None, :]
        return total, value, count, first - count[:, None] * offsets, squares


def quadratic_forms(mixture: Mixture) -> QuadraticForms | None:
    """None where components are better evaluated one after the other."""
    k, p = mixture.shape
    if mixture.kind != "full" or k < MIN_COMPONENTS or p > MAX_COLUMNS:
        return None
    proportions = mixture.weights / np.sum(mixture.weights)
    centre = proportions @ mixture.means
    spread = np.sqrt(proportions @ (mixture.variances + (mixture.means - centre) ** 2))
    triangles = mixture.factors.triangles
    assert triangles is not None
    with np.errstate(over="ignore", invalid="ignore"):
        scaled_factors = spread[:, None] * triangles
        P = np.einsum("kij,klj->kil", scaled_factors, scaled_factors)
        if not (np.all(spread > 0.0) and p * np.max(np.abs(P)) <= MAX_PRECISION):
            return None
    mean = (mixture.means - centre) / spread
    linear, (i, j) = np.einsum("kij,kj->ki", P, mean), np.triu_indices(p)
    constant = np.einsum("ki,ki->k", linear, mean) - 2.0 * mixture.offsets
    coef = np.concatenate([constant[:, None], -2.0 * linear, np.where(i == j, 1.0, 2.0) * P[:, i, j]], axis=1)
    return QuadraticForms(centre, 1.0 / spread, coef)
