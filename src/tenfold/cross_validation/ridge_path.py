"""Ridge paths from one eigendecomposition, and the norm-bounded form."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from tenfold.arrays import Floats
from tenfold.cross_validation.ridge_spectrum import Spectrum, intercepts, inverse, of
from tenfold.data import Rows


@dataclass(frozen=True)
class RidgePath:
    """A path of ridge regression: solutions for many strengths of the penalty, from `ridge_path`.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths of the penalty.
    coefs : ndarray of shape (n_alphas, p) or (n_alphas, n_targets, p)
        Weights at each alpha; the second shape for targets (n, t).
    intercepts : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Intercepts at each alpha.
    singular_values : ndarray of shape (r,)
        Singular values s_j of the weighted and centred X.
    shrinkage : ndarray of shape (n_alphas, r)
        ``s_j^2 / (s_j^2 + alpha)``: the part of each least-squares component that is kept.
    degrees_of_freedom : ndarray of shape (n_alphas,)
        Sums of the shrinkage factors.
    norms : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Euclidean norms of the weights.
    training_error : ndarray of shape (n_alphas,) or (n_alphas, n_targets)
        Weighted sums of squared residuals.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    singular_values: Floats
    shrinkage: Floats
    degrees_of_freedom: Floats
    norms: Floats
    training_error: Floats


def path(rows: Rows, alphas: Floats, intercept: bool, *, flat: bool) -> RidgePath:
    """The path at `alphas`; `flat` drops the axis of targets."""
    if not (np.isfinite(alphas).all() and (alphas >= 0).all()):
        raise ValueError(f"alphas must be finite and at least zero, got {alphas!r}.")
    return _path(of(rows, intercept), alphas, flat)


def _path(spectrum: Spectrum, alphas: Floats, flat: bool) -> RidgePath:
    coefs = spectrum.coef(alphas)
    shrinkage = spectrum.values * inverse(spectrum.values, alphas)
    error = spectrum.training_error(alphas)
    offsets = intercepts(spectrum, coefs)
    norms = np.linalg.norm(coefs, axis=2)
    if flat:
        coefs, offsets, norms, error = coefs[:, 0], offsets[:, 0], norms[:, 0], error[:, 0]
    return RidgePath(alphas, coefs, offsets, np.sqrt(spectrum.values), shrinkage, shrinkage.sum(axis=1), norms, error)


def norm_bounded(rows: Rows, norm: float, intercept: bool, *, flat: bool) -> RidgePath:
    """Least squares with ||w|| <= norm: the alpha at which the bound is met, by root finding in log alpha (the norm
    decreases in alpha).
    """
    if not (np.isfinite(norm) and norm > 0):
        raise ValueError(f"norm must be a positive number, got {norm!r}.")
    if rows.targets != 1:
        raise ValueError(f"The norm-bounded form has one alpha, for one target; got {rows.targets} targets.")
    spectrum = of(rows, intercept)

    def excess(log_alpha: float) -> float:
        return float(np.linalg.norm(spectrum.coef(np.exp([log_alpha])))) / norm - 1.0

    if float(np.linalg.norm(spectrum.coef(np.zeros(1)))) <= norm:
        return _path(spectrum, np.zeros(1), flat)
    top = float(np.max(spectrum.values))
    low, high = np.log(top) - 80.0, np.log(top)
    while excess(high) > 0:
        high += 4.0
    while excess(low) < 0:
        low -= 20.0
    return _path(spectrum, np.exp([brentq(excess, low, high, xtol=1e-14, rtol=1e-15)]), flat)
