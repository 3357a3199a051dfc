"""Quadratic discriminant analysis."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from tenfold.arrays import Array, on_host, wide
from tenfold.data import Rows
from tenfold.estimators.discriminant.gaussian_discriminant import (
    GaussianClasses,
    estimate_covariances,
    priors_in_float64,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, array_like, boolean, choice, has_methods, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.plans import discriminant as plan
from tenfold.plans.class_statistics import TooFewSamples
from tenfold.plans.gaussian_classes import Deficient, QuadraticSettings, fit_quadratic
from tenfold.stats.moments import GroupedMoments


class QuadraticDiscriminantAnalysis(GaussianClasses):
    """Gaussian classes with one covariance each: quadratic discriminants.

    ``score_c(x) = -1/2 (x - m_c)'S_c^-1 (x - m_c) - 1/2 log|S_c| + log q_c`` with the weighted mean m_c, covariance S_c
    and prior q_c of class c.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Both from the moments of one pass; "svd" takes `reg_param`, "eigen" takes `shrinkage`.
    shrinkage : "auto" or float in [0, 1], default=None
        How far each class's covariance is moved towards a sphere; "auto" as Ledoit and Wolf (2004) say, on features of
        unit variance, by one more pass. None for not at all.
    priors : array-like of shape (n_classes,), default=None
        None: the class frequencies.
    reg_param : float in [0, 1], default=0.0
        Covariances become (1 - reg_param) S_c + reg_param I.
    store_covariance : bool, default=False
        Whether to keep `covariance_`.
    tol : float, default=1e-4
        The least variance along an axis of a class that is taken for one.
    covariance_estimator : estimator with `fit` and `covariance_`, default=None
        In place of the covariances; needs the samples in memory, and ``solver="eigen"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    means_ : ndarray of shape (n_classes, n_features)
        Weighted means of the classes.
    priors_ : ndarray of shape (n_classes,)
        Priors of the classes, given or learned.
    rotations_ : list of ndarray of shape (n_features, n_features)
        The axes of each class.
    scalings_ : list of ndarray of shape (n_features,)
        The variances along them.
    covariance_ : list of ndarrays of shape (n_features, n_features)
        Covariance of each class; only with ``store_covariance=True``.
    certificate_ : Certificate
        Kind exact: axes and variances give the same products with some vectors as the samples of each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and two products of the samples to judge; memory n_classes x n_features^2. Runs on dense
    arrays, files, devices and Dask collections, with sample weights.
    Seeger, section 6.4; Cookbook, appendix C.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.98, True)
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Quadratic discriminant analysis",
        texts=("S6.4", "B C.1"),
        peer="sklearn.discriminant_analysis",
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray().",
        certificate=("exact",),
        judge="discriminant.quadratic",
        outputs="class_scores.quadratic",
        board=Entry(
            "qda",
            "classification",
            {},
            {"reg_param": (1e-3, 0.1, 0.5)},
            most_columns=500,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "solver": (choice("svd", "eigen"),),
        "shrinkage": (nothing(), choice("auto"), real(0, 1, "both")),
        "priors": (nothing(), array_like()),
        "reg_param": (real(0, 1, "both"),),
        "store_covariance": (boolean(),),
        "tol": (real(0),),
        "covariance_estimator": (nothing(), has_methods("fit")),
    }

    means_: Array

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1.0e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _fold(self, rows: Rows, classes: int) -> GroupedMoments:
        if classes < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {classes} class.")
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead.")
        self._check_covariance_parameters()
        return super()._fold(rows, classes)

    def _estimate(self, sums: GroupedMoments, rows: Rows | None, X: Array) -> None:
        names = on_host(self.classes_)
        for name, group in zip(names, sums.groups, strict=True):
            if group.count < 2 and group.weight <= 1.0:
                raise TooFewSamples(f"y has only {group.count} sample in class {name}, covariance is ill defined.")
        weight = np.array([group.weight for group in sums.groups])
        priors = weight / weight.sum() if self.priors is None else np.array(self.priors)
        if priors.shape != weight.shape:
            raise ValueError(f"priors must have one entry for each of {len(names)} classes.")
        given = None
        if self.covariance_estimator is not None:
            given = estimate_covariances(self.covariance_estimator, rows, len(names))
        settings = QuadraticSettings(
            self.reg_param if self.solver == "svd" else None,
            self.shrinkage,
            self.tol,
            self.store_covariance,
            priors_in_float64(self.priors),
        )
        try:
            result, self.certificate_ = fit_quadratic(settings, sums, rows, priors, given)
        except Deficient as reason:
            raise self._deficient(names[reason.number], sums.groups[reason.number].count) from None
        self.priors_, self.means_ = priors, result.mean
        self.scalings_, self.rotations_ = result.variances, result.axes
        self.__dict__.pop("covariance_", None)
        if result.covariances is not None:
            self.covariance_ = result.covariances

    def _deficient(self, name: Any, count: int) -> LinAlgError:
        p = self.n_features_in_
        if self.solver == "svd" and count <= p:
            return LinAlgError(
                f"The covariance matrix of class {name} is not full rank. When using `solver='svd'` the number of "
                f"samples in each class should be more than the number of features, but class {name} has {count} "
                f"samples and {p} features. Try using `solver='eigen'` and setting the parameter `shrinkage` for "
                "regularization."
            )
        parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
        return LinAlgError(
            f"The covariance matrix of class {name} is not full rank. Increase the value of `{parameter}` to reduce "
            "the collinearity."
        )

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        pairs = list(zip(self.scalings_, self.rotations_, strict=True))
        factors = np.array([plan.triangle(variances, axes) for variances, axes in pairs])
        with np.errstate(divide="ignore"):
            offset = np.log(self.priors_) - 0.5 * np.array([np.sum(np.log(variances)) for variances, _ in pairs])
        return plan.QuadraticScores(wide(self.means_), factors, offset)
