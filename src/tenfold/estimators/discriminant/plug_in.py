"""Gaussian classes by maximum likelihood, or with a prior on their covariances."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tenfold.arrays import Array, on_host, wide
from tenfold.data import Rows
from tenfold.estimators.discriminant.gaussian_discriminant import GaussianClasses, priors_in_float64
from tenfold.estimators.parameters import Constraints, array_like, choice, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.plans import discriminant as plan
from tenfold.plans.gaussian_classes import fit_plug_in
from tenfold.stats.moments import GroupedMoments


class GaussianPlugIn(GaussianClasses):
    """Bayes' rule with estimated Gaussian classes.

    ``score_c(x) = log N(x; m_c, S_c) + log q_c`` with the weighted mean m_c and the prior q_c of class c, and a
    covariance: I in all classes ("unit"), sigma^2 I ("spherical"), S in all ("shared"), or S_c in each ("class"). With
    a Wishart prior of weight a on the inverse covariance, whose mean is I, the estimate is the mode of the posterior,
    ``S = (a I + n S_ml) / (a + n - p - 1)``: the same axes, and no variance below a / (a + n - p - 1).

    Parameters
    ----------
    covariance : {"unit", "spherical", "shared", "class"}, default="shared"
        The identity, with which the nearest mean counts beside the priors; one variance in all directions, sigma^2 I;
        one covariance S for all classes, or one S_c for each.
    wishart : float, default=None
        The weight a of the prior; None for maximum likelihood. Not with "unit", where no covariance is learned.
    priors : array-like of shape (n_classes,), default=None
        None: the class frequencies.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    means_ : ndarray of shape (n_classes, n_features)
        Weighted means of the classes.
    priors_ : ndarray of shape (n_classes,)
        Priors of the classes, given or learned.
    covariance_ : ndarray of shape (n_features, n_features) or (n_classes, n_features, n_features)
        The covariance of all classes, or with "class" that of each.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of two classes with one covariance: direction and threshold.
    certificate_ : Certificate
        Kind exact: means, and products of the covariances with some vectors, by the samples.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and two products to judge. Runs on dense arrays, files, devices and Dask collections.
    A covariance that is not positive definite is refused: give `wishart`, or fewer columns.
    Seeger, sections 6.4, 6.6 and 7.3.1; the text's posterior mean of the inverse is not the inverse of this mode.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianPlugIn
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]])
    >>> model = GaussianPlugIn("spherical").fit(X, [-1, -1, 1, 1])
    >>> model.covariance_
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    >>> model.coef_, model.intercept_
    (array([[12., 12.]]), array([-48.]))
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Gaussian plug-in classifiers",
        texts=("S6.4", "S7.3.1"),
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray().",
        certificate=("exact",),
        judge="discriminant.plug_in",
        outputs="class_scores.plug_in",
    )
    _constraints: ClassVar[Constraints] = {
        "covariance": (choice("unit", "spherical", "shared", "class"),),
        "wishart": (nothing(), real(0, np.inf, "neither")),
        "priors": (nothing(), array_like()),
    }
    shrinkage = None
    covariance_estimator = None

    means_: Array
    covariance_: Array

    def __init__(self, covariance: str = "shared", *, wishart: float | None = None, priors: Any = None) -> None:
        self.covariance = covariance
        self.wishart = wishart
        self.priors = priors

    def _estimate(self, sums: GroupedMoments, rows: Rows | None, X: Array) -> None:
        if self.covariance == "unit" and self.wishart is not None:
            raise ValueError("covariance='unit' learns no covariance, and takes no prior on it: leave out wishart.")
        weight = np.array([group.weight for group in sums.groups])
        self._check_class_weights(sum(group.count for group in sums.groups), weight)
        priors = self._set_priors(weight)
        result, self.certificate_ = fit_plug_in(
            sums,
            rows,
            priors,
            kind=self.covariance,
            wishart=self.wishart,
            given=priors_in_float64(self.priors),
            names=on_host(self.classes_),
        )
        self.priors_, self.means_, self.covariance_ = priors, result.mean, result.covariance
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        if result.linear is not None:
            self.coef_, self.intercept_ = result.linear

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        factors, logs = plan.factors_of(self.covariance_, on_host(self.classes_))
        with np.errstate(divide="ignore"):
            return plan.QuadraticScores(wide(self.means_), factors, np.log(self.priors_) - 0.5 * logs)
