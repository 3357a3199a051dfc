"""A step of expectation for many components by products with quadratic features of the rows.

With a = (x - c) s, c and 1/s the mean and the spread of the columns in the mixture, the log density of a component with
its weight is a linear form in 1, a_j and a_j a_k, and what the components take of the rows are sums of the same
features. One product serves all components. The terms of a form are larger than its value by up to p times the largest
entry of a precision in these units, and so is what rounding does to it: where that is too large, components are taken
one after the other about their own means.
"""

from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats
from tenfold.stats.gaussians import Mixture

LEAST_COMPONENTS, MOST_COLUMNS = 8, 24
"""Fewer components do not fill the registers; the features of more columns do not stay in the cache."""

LARGEST = 1e5
"""Of p times the precisions, in units of the columns: of sixteen digits eleven are left."""


@dataclass(frozen=True)
class Forms:
    """Twice the negative log densities as forms (k, features) of the rows about `centre` in units 1/`scale`."""

    centre: Floats
    scale: Floats
    coef: Floats

    def sums(
        self, mixture: Mixture, X: Array, weight: Array | None, threads: int
    ) -> tuple[float, float, Floats, Floats, Floats]:
        """Weight, value, count, sums and squares as in `MixtureSums`."""
        p, away = mixture.shape[1], mixture.means - self.centre
        total, value, found = _core.gmm_estep_gemm(X, weight, self.centre, self.scale, self.coef, threads)
        count, first = found[:, 0].copy(), found[:, 1 : p + 1] / self.scale
        squares, (i, j) = np.empty((len(count), p, p)), np.triu_indices(p)
        squares[:, i, j] = squares[:, j, i] = found[:, p + 1 :] / (self.scale[i] * self.scale[j])
        moved = away[:, :, None] * first[:, None, :]
        squares -= moved + moved.transpose(0, 2, 1) - count[:, None, None] * away[:, :, None] * away[:, None, :]
        return total, value, count, first - count[:, None] * away, squares


def forms_of(mixture: Mixture) -> Forms | None:
    """None where components are better taken one after the other."""
    k, p = mixture.shape
    if mixture.kind != "full" or k < LEAST_COMPONENTS or p > MOST_COLUMNS:
        return None
    share = mixture.weights / np.sum(mixture.weights)
    centre = share @ mixture.means
    spread = np.sqrt(share @ (mixture.variances + (mixture.means - centre) ** 2))
    triangles = mixture.factors.triangles
    assert triangles is not None
    with np.errstate(over="ignore", invalid="ignore"):
        turned = spread[:, None] * triangles
        P = np.einsum("kij,klj->kil", turned, turned)
        if not (np.all(spread > 0.0) and p * np.max(np.abs(P)) <= LARGEST):
            return None
    mean = (mixture.means - centre) / spread
    along, (i, j) = np.einsum("kij,kj->ki", P, mean), np.triu_indices(p)
    constant = np.einsum("ki,ki->k", along, mean) - 2.0 * mixture.offsets
    coef = np.concatenate([constant[:, None], -2.0 * along, np.where(i == j, 1.0, 2.0) * P[:, i, j]], axis=1)
    return Forms(centre, 1.0 / spread, coef)
