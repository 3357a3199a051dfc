"""Gaussian naive Bayes: a Gaussian for each feature in each class."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, numpy_dtype, on_host
from tenfold.data import Rows
from tenfold.estimators.class_statistics import check_priors
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.naive_bayes.learned import NaiveBayes
from tenfold.estimators.parameters import Constraints, array_like, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import convert_like
from tenfold.plans import naive_bayes
from tenfold.stats.class_totals import ClassColumns


class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes, for real-valued features.

    ``p(x | c) = prod_j N(x_j; theta_cj, var_cj)``, with the weighted mean of feature j in class c, and its weighted
    variance (divided by the weight, not one less) plus `var_smoothing` times the largest variance of a feature of all
    samples.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Fixed priors; None takes the class frequencies.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance that is added to all variances, so that none is zero.
    threshold : float, default=0.0
        With two classes, the second is predicted where its log odds exceed this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the samples of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Priors of the classes.
    theta_ : ndarray of shape (n_classes, n_features)
        Weighted mean of each feature in each class.
    var_ : ndarray of shape (n_classes, n_features)
        Weighted variance of each feature in each class, plus `epsilon_`.
    epsilon_ : float
        The term added to the variances.
    certificate_ : Certificate
        Kind exact: sums about the stored means vanish, and those of squares are the stored variances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data for all classes, about a mean of the first samples of each, and one to judge; memory
    n_classes x n_features. Runs on dense arrays, files, devices and Dask collections, with sample weights;
    `partial_fit` gives what `fit` on all samples gives, unlike scikit-learn's, whose `epsilon_` is that of the
    last part.
    Seeger, section 6.5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.96, True)
    """

    _propagates_nonfinite: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Gaussian naive Bayes",
        texts=("S6.5.2",),
        peer="sklearn.naive_bayes",
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Take MultinomialNB or BernoulliNB for counts.",
        certificate=("exact",),
        judge="naive_bayes.gaussian",
        outputs="class_scores.gaussian",
        board=Entry("naive-bayes", "classification", {}, {"var_smoothing": (1e-9, 1e-3, 0.1)}, dense=True),
    )
    _constraints: ClassVar[Constraints] = {
        "priors": (nothing(), array_like()),
        "var_smoothing": (real(0),),
        "threshold": (real(-np.inf, np.inf, "both"),),
    }

    theta_: Array
    var_: Array
    class_prior_: Array

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9, threshold: float = 0.0) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.threshold = threshold

    def _fold(self, rows: Rows, classes: int) -> ClassColumns:
        priors = check_priors(self.priors, classes)
        if priors is not None and not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if priors is not None and np.any(priors < 0):
            raise ValueError("Priors must be non-negative.")
        return naive_bayes.fold_columns(rows, classes)

    def _estimate(self, sums: ClassColumns, rows: Rows | None, X: Array) -> None:
        priors = check_priors(self.priors, len(sums.weight))
        estimates, self.certificate_ = naive_bayes.fit_gaussian(
            sums, rows, self.var_smoothing, priors, numpy_dtype(X.dtype)
        )
        self.theta_, self.var_, self.epsilon_ = (
            convert_like(estimates.mean, X),
            convert_like(estimates.variance, X),
            estimates.added,
        )
        self.class_count_, self.class_prior_ = convert_like(estimates.weight, X), convert_like(estimates.priors, X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        mean, variance, prior = (
            np.ascontiguousarray(on_host(part), dtype=np.float64)
            for part in (self.theta_, self.var_, self.class_prior_)
        )
        with np.errstate(divide="ignore"):
            return naive_bayes.GaussianScores(mean, variance, np.log(prior))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draw samples (n_samples, n_features), and their classes from the model; `random_state` is the seed."""
        random = check_random_state(random_state)
        with np.errstate(divide="ignore"):
            which = self._draw_classes(n_samples, random, np.log(on_host(self.class_prior_)))
        mean, variance = on_host(self.theta_)[which], on_host(self.var_)[which]
        return mean + np.sqrt(variance) * random.standard_normal(mean.shape), on_host(self.classes_)[which]
