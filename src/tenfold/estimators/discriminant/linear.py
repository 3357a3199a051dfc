"""Linear discriminant analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tenfold.arrays import Array, Floats, numpy_dtype, wide
from tenfold.data import Rows
from tenfold.estimators.class_statistics import cast_like
from tenfold.estimators.discriminant.gaussian_discriminant import (
    GaussianClasses,
    estimate_covariances,
    estimate_total_covariance,
    priors_in_float64,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, array_like, boolean, choice, has_methods, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import convert_like
from tenfold.plans import discriminant as plan
from tenfold.plans.class_statistics import TooFewSamples
from tenfold.plans.gaussian_classes import LinearSettings, fit_linear
from tenfold.stats.derivatives import Params, forward
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import WithinMoments, WithinScatter


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClasses):
    """Gaussian classes with one covariance: linear discriminants, and discriminant directions.

    ``score_c(x) = x'S^-1 m_c - 1/2 m_c'S^-1 m_c + log q_c`` with the weighted mean m_c and prior q_c of class c, and S
    the covariance within classes. `transform` gives Fisher's directions, the v with the largest ``v'Bv / v'Sv``, B the
    covariance between the means.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        All from the moments of one pass. "svd" leaves out directions in which classes do not vary; "lsqr" and "eigen"
        take shrinkage; "lsqr" has no `transform`.
    shrinkage : "auto" or float in [0, 1], default=None
        How far each class's covariance is moved towards a sphere; "auto" as Ledoit and Wolf (2004) say, on columns of
        unit variance, by one more pass.
    priors : array-like of shape (n_classes,), default=None
        None: the class frequencies.
    n_components : int, default=None
        Directions of `transform`, at most min(n_classes - 1, n_features).
    store_covariance : bool, default=False
        Whether "svd" keeps `covariance_` too.
    tol : float, default=1e-4
        Least spread within classes of a direction that "svd" keeps, in units of each column's own.
    covariance_estimator : estimator with `fit` and `covariance_`, default=None
        In place of the covariances; needs the samples in memory.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    means_ : ndarray of shape (n_classes, n_features)
        Weighted means of the classes.
    priors_ : ndarray of shape (n_classes,)
        Priors of the classes, given or learned.
    covariance_ : ndarray of shape (n_features, n_features)
        Within classes, by the priors.
    scalings_ : ndarray of shape (n_features, rank)
        Directions, of unit variance within classes.
    xbar_ : ndarray of shape (n_features,)
        The mean of the means by the priors, with "svd".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Fraction of the variance between the classes along each direction.
    certificate_ : Certificate
        Kind exact: means, directions and weights satisfy their equations with the covariance of the samples, which the
        judge never forms.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and one with products to judge; memory n_features^2, and as much for each class where its
    covariance is asked for: with shrinkage, `store_covariance` or another solver than "svd". Fewer dense samples in
    memory than features need n_samples x n_features alone, with "svd". Runs on dense arrays, files, devices and Dask
    collections, with sample weights. `partial_fit` takes samples in parts.
    Seeger, sections 6.4 and 11.2; Cookbook, ch. 16; Welling, ch. 13.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.98, True)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Linear discriminant analysis",
        texts=("S6.4", "S11.2", "B16", "W13"),
        peer="sklearn.discriminant_analysis",
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray().",
        certificate=("exact",),
        judge="discriminant.linear",
        outputs="class_scores.directions",
        board=Entry(
            "lda",
            "classification",
            {"solver": "lsqr", "shrinkage": "auto"},
            most_columns=2000,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "solver": (choice("svd", "lsqr", "eigen"),),
        "shrinkage": (nothing(), choice("auto"), real(0, 1, "both")),
        "priors": (nothing(), array_like()),
        "n_components": (nothing(), integer(1)),
        "store_covariance": (boolean(),),
        "tol": (real(0),),
        "covariance_estimator": (nothing(), has_methods("fit")),
    }

    means_: Array
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _fold(self, rows: Rows, classes: int) -> GroupedMoments | WithinScatter:
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance estimator is not supported with svd solver. Try another solver")
        self._check_covariance_parameters()
        if self.solver == "svd" and not self.store_covariance:
            return plan.fold_within(rows, classes)  # class covariances are not needed
        return super()._fold(rows, classes)

    def _merge(self, before: GroupedMoments | WithinScatter, new: GroupedMoments | WithinScatter) -> Any:
        if isinstance(before, WithinScatter) and isinstance(new, GroupedMoments):
            raise ValueError(
                "The covariances of the classes were not kept by the first fit, with solver='svd' and without "
                "store_covariance: fit again on all rows."
            )
        if isinstance(before, GroupedMoments) and isinstance(new, WithinScatter):
            before = WithinMoments.of(before)
        return super()._merge(before, new)

    def _estimate(self, sums: GroupedMoments | WithinScatter, rows: Rows | None, X: Array) -> None:
        pooled = sums if isinstance(sums, WithinScatter) else WithinMoments.of(sums)
        if pooled.count <= len(pooled.weight):
            raise TooFewSamples(
                f"The number of samples must be more than the number of classes: got {pooled.count} sample(s)."
            )
        self._check_class_weights(pooled.count, pooled.weight)
        priors = self._set_priors(pooled.weight)
        components = count_components(self.n_components, len(priors), self.n_features_in_)
        settings = LinearSettings(
            self.solver, self.shrinkage, components, float(self.tol), priors_in_float64(self.priors)
        )
        given = estimate_given_covariances(self.covariance_estimator, rows, len(priors))
        result = fit_linear(settings, sums, rows, priors, given, numpy_dtype(X.dtype))
        for name in ("scalings_", "xbar_", "explained_variance_ratio_", "covariance_"):
            self.__dict__.pop(name, None)
        if result.covariance is not None:
            self.covariance_ = convert_like(result.covariance, X)
        if result.axes is not None:
            self.scalings_, self.explained_variance_ratio_ = (convert_like(part, X) for part in result.axes)
        if result.centre is not None:
            self.xbar_ = convert_like(result.centre, X)
        self.means_, self.priors_, self.coef_, self.intercept_ = (convert_like(part, X) for part in result.scores[:4])
        self.certificate_ = result.certificate
        self._max_components = self._n_features_out = components

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        coef, intercept = wide(self.coef_), wide(self.intercept_)
        if len(wide(self.means_)) == 2:  # two classes: the first has the score zero
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
        return plan.LinearScores(coef, intercept)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p), classes y (n,) and optional `sample_weight` (n,), and transform the same samples."""
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Array:
        """Project the samples X on the directions, (n, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        return cast_like(self._predict_raw(X, self._along_directions), X)

    def _along_directions(self, small: bool) -> Callable[[Array], Array]:
        V = wide(self.scalings_)[:, : self._max_components]
        shift = wide(self.xbar_) if self.solver == "svd" else np.zeros(len(V))
        return partial(_along, np.ascontiguousarray(V.T), shift)


def _along(V: Floats, shift: Floats, X: Array) -> Array:
    return forward(X, Params(V, np.zeros(len(V))), shift)


def count_components(given: int | None, classes: int, features: int) -> int:
    """The number of directions."""
    most = min(classes - 1, features)
    if given is not None and given > most:
        raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
    return most if given is None else given


def estimate_given_covariances(estimator: Any, rows: Rows | None, classes: int) -> tuple[Floats, Floats] | None:
    """Covariances of the classes and of all samples by the user's covariance estimator, or None."""
    if estimator is None:
        return None
    each = estimate_covariances(estimator, rows, classes)
    assert rows is not None
    return each, estimate_total_covariance(estimator, rows)
