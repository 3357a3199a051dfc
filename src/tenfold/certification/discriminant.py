"""Certification of discriminants and nearest centroids: fitted arrays against the samples."""

from typing import Any

import numpy as np

from tenfold.arrays import numpy_dtype, wide
from tenfold.certification.class_scores import rows_of_classes
from tenfold.estimators.discriminant.centroid import resolve_priors
from tenfold.estimators.discriminant.gaussian_discriminant import estimate_covariances, priors_in_float64
from tenfold.estimators.discriminant.linear import count_components, estimate_given_covariances
from tenfold.judge import centroids as of_centroids
from tenfold.judge import gaussian_classes as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.discriminant import Stored


def linear(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows = rows_of_classes(model, X, y, sample_weight)
    mean, priors, coef = wide(model.means_), wide(model.priors_), np.atleast_2d(wide(model.coef_))
    stored = Stored(mean, priors, coef, wide(model.intercept_), numpy_dtype(model.means_.dtype))
    axes = None if model.solver == "lsqr" else (wide(model.scalings_), wide(model.explained_variance_ratio_))
    priors_given = priors_in_float64(model.priors)
    if model.solver == "svd":
        assert axes is not None
        return judge.svd_discriminant(
            rows,
            None,
            stored,
            axes,
            float(model.tol),
            centre=wide(model.xbar_),
            covariance=wide(model.covariance_) if model.store_covariance else None,
            priors=priors_given,
        )
    components = count_components(model.n_components, len(mean), model.n_features_in_)
    if axes is not None and axes[1].shape != (components,):
        raise ValueError(f"There must be {components} shares of the directions.")
    given = estimate_given_covariances(model.covariance_estimator, rows, len(mean))
    return judge.solver_discriminant(
        rows,
        None,
        stored,
        axes,
        covariance=wide(model.covariance_),
        shrinkage=model.shrinkage,
        given=None if given is None else (np.einsum("k,kij->ij", priors, given[0]), given[1]),
        priors=priors_given,
    )


def quadratic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    rows, given = rows_of_classes(model, X, y, sample_weight), None
    if model.covariance_estimator is not None:
        given = estimate_covariances(model.covariance_estimator, rows, len(model.scalings_))
    stored = judge.Quadratic(
        wide(model.means_),
        wide(model.priors_),
        model.scalings_,
        model.rotations_,
        getattr(model, "covariance_", None),
    )
    return judge.quadratic(
        rows,
        None,
        stored,
        shrinkage=model.shrinkage,
        added=model.reg_param if model.solver == "svd" else None,
        given=given,
        priors=priors_in_float64(model.priors),
    )


def plug_in(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    linear = (wide(model.coef_), wide(model.intercept_)) if hasattr(model, "coef_") else None
    return judge.plug_in(
        rows_of_classes(model, X, y, sample_weight),
        None,
        model.covariance_,
        kind=model.covariance,
        wishart=model.wishart,
        mean=wide(model.means_),
        shares=wide(model.priors_),
        linear=linear,
        priors=priors_in_float64(model.priors),
    )


def centroids(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    stored = of_centroids.Stored(
        *map(wide, (model.centroids_, model.deviations_, model.within_class_std_dev_, model.class_prior_))
    )
    return of_centroids.centroids(
        rows_of_classes(model, X, y, sample_weight),
        None,
        metric=model.metric,
        threshold=model.shrink_threshold,
        stored=stored._replace(whitener=getattr(model, "whitener_", None)),
        priors=resolve_priors(model.priors, len(model.centroids_)),
    )
