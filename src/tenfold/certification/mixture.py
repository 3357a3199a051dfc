"""Mixtures: one exact step of EM from the stored parameters."""

from typing import Any

from sklearn.base import BaseEstimator

from tenfold.arrays import numpy_dtype, wide
from tenfold.certification.models import status
from tenfold.estimators.contract import refuse_not_finite, rows_alone, validate_rows, validate_weights
from tenfold.estimators.mixture import GaussianMixture
from tenfold.judge import Certificate, em_step
from tenfold.plans.mixture_start import look
from tenfold.problems import Gaussians
from tenfold.stats import Mixture


class _AnyRows(BaseEstimator):
    """Takes rows of which values are missing."""

    _missing = True


def gaussian(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X = validate_rows(_AnyRows(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    rows = rows_alone(X, validate_weights(sample_weight, X))
    seen = refuse_not_finite(_AnyRows(), X, lambda: look(rows))
    kind = model.covariance_type
    ours = isinstance(model, GaussianMixture)
    problem = model._problem(seen, X.shape[1]) if ours else Gaussians(kind, float(model.reg_covar))
    return em_step(
        rows,
        problem,
        Mixture(kind, wide(model.weights_), wide(model.means_), wide(model.covariances_)),
        missing=seen.missing,
        tol=float(model.tol),
        dtype=numpy_dtype(model.means_.dtype),
        triangles=wide(model.precisions_cholesky_),
        status=status(model),
    )


JUDGES = {"GaussianMixture": gaussian}
