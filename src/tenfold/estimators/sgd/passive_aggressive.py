"""Passive-aggressive learning: the smallest step that gives a sample the required margin."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, integer, nothing, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.sgd.classifier import OnlineClassifier
from tenfold.estimators.sgd.regressor import OnlineRegressor
from tenfold.estimators.sgd.sgd_fit import INSTEAD, REPORT_ONLY, SHARED, STOPPING, WHERE
from tenfold.estimators.validation import restore_on_error
from tenfold.plans.sgd import Rule


def _rule(model: Any, loss: str, epsilon: float) -> Rule:
    return Rule(
        loss=loss,
        epsilon=epsilon,
        schedule="pa2" if model.loss.startswith("squared") else "pa1",
        eta0=float(model.C),
        intercept=bool(model.fit_intercept),
        average=int(model.average),
    )


def _check_partial_fit(model: Any) -> None:
    if model.early_stopping:
        raise ValueError("early_stopping should be False with partial_fit")


class PassiveAggressiveClassifier(ScoreMixin, OnlineClassifier, ClassifierMixin, BaseEstimator):
    """Passive-aggressive classification (Crammer et al., 2006).

    For every sample with hinge loss ``l = max(0, 1 - y (x.w + b)) > 0`` the weights move by ``tau y x``, with
    ``tau = min(C, l / ||x||^2)`` (PA-I, loss "hinge") or ``tau = l / (||x||^2 + 1 / (2 C))`` (PA-II, loss
    "squared_hinge"): the smallest step that reaches the margin, limited by C. scikit-learn has deprecated its own
    class in favour of `SGDClassifier` with ``penalty=None, learning_rate="pa1", eta0=C``, which is the same here.

    Parameters
    ----------
    C : float, default=1.0
        The longest step of PA-I; the larger, the less PA-II is damped.
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``. On sparse data its steps are a hundredth, as in scikit-learn.
    max_iter : int, default=1000
        Limit of the epochs of `fit`.
    tol : float or None, default=1e-3
        A fit stops when for `n_iter_no_change` consecutive epochs the mean online loss (or, with early stopping,
        the score) was not better by `tol` than the best before. None: `max_iter` epochs.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of a held-out fraction `validation_fraction` of the samples.
    validation_fraction : float, default=0.1
        Fraction of the samples held out with `early_stopping`.
    n_iter_no_change : int, default=5
        Epochs without improvement after which a fit ends; see `tol`.
    shuffle : bool, default=True
        Whether each epoch takes the samples in another order, as in scikit-learn for the same `random_state`.
        Samples from files are shuffled within their blocks of about 32 MiB: store them in random order.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        PA-I or PA-II.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle and of the held-out samples.
    warm_start : bool, default=False
        Whether `fit` starts from the previous weights and intercept.
    class_weight : dict or "balanced", default=None
        Weights of the classes, factors of the steps; "balanced" makes their total weights equal. With more than two
        classes a class weight applies to the problem of that class alone, as in scikit-learn. None: all ones.
    average : bool or int, default=False
        Whether, or from which step on, the iterates are averaged.
    time_limit : float, default=None
        Seconds after which no further epoch is begun. None for no limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    n_iter_ : int
        Epochs, of the class that took most.
    t_ : float
        One more than the steps taken.
    certificate_ : Certificate
        Not judged, by `fit` or later: there is no problem of which a fit would be the solution.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback" or "interrupted".
    trace_ : tuple of Record
        Mean online objective and seconds of each epoch.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    An epoch costs 4 n p operations at most, one read of X, and memory p per class; sparse samples cost their
    entries, averages and penalties included. Runs on dense and sparse arrays and on files. Samples of weight zero are
    removed; other weights are factors of a sample's step, not repetitions. Ctrl-C ends a fit with the last complete
    epoch. Features should have similar scales.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tenfold import PassiveAggressiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PassiveAggressiveClassifier(C=0.01, random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.95
    True
    """

    _registration: ClassVar = Registration(
        method="Passive-aggressive classification",
        texts=(),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=(),
        judged=False,
        judge="sgd.passive_aggressive",
        report_only=REPORT_ONLY,
    )
    _constraints: ClassVar[Constraints] = {
        **SHARED,
        **STOPPING,
        "C": (real(0, np.inf, "right"),),
        "loss": (choice("hinge", "squared_hinge"),),
        "n_jobs": (integer(-(2**31)), nothing()),
        "class_weight": (choice("balanced"), instance(dict), nothing()),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "hinge",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int = False,
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average
        self.time_limit = time_limit

    def _rule(self) -> Rule:
        return _rule(self, "hinge", 0.0)

    @restore_on_error
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        *,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> "PassiveAggressiveClassifier":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, factors of the steps, from `coef_init` and
        `intercept_init` if given.

        With `X_val` and `y_val` the fit ends on the accuracy there, whatever `early_stopping` says.
        """
        check_parameters(self, self._constraints)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        return self

    @restore_on_error
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, sample_weight: Any = None
    ) -> "PassiveAggressiveClassifier":
        """One more epoch over samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        check_parameters(self, self._constraints)
        _check_partial_fit(self)
        self._partial_fit(X, y, classes, sample_weight)
        return self


class PassiveAggressiveRegressor(ScoreMixin, OnlineRegressor, RegressorMixin, BaseEstimator):
    """Passive-aggressive regression (Crammer et al., 2006).

    For every sample with loss ``l = max(0, |x.w + b - y| - epsilon) > 0`` the weights move towards y by ``tau x``, with
    ``tau = min(C, l / ||x||^2)`` (PA-I, loss "epsilon_insensitive") or ``tau = l / (||x||^2 + 1 / (2 C))`` (PA-II,
    loss "squared_epsilon_insensitive"). scikit-learn has deprecated its own class in favour of `SGDRegressor` with
    ``loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=C``, which is the same here.

    Parameters
    ----------
    C : float, default=1.0
        The longest step of PA-I; the larger, the less PA-II is damped.
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``. On sparse data its steps are a hundredth, as in scikit-learn.
    max_iter : int, default=1000
        Limit of the epochs of `fit`.
    tol : float or None, default=1e-3
        A fit stops when for `n_iter_no_change` consecutive epochs the mean online loss (or, with early stopping,
        the score) was not better by `tol` than the best before. None: `max_iter` epochs.
    early_stopping : bool, default=False
        Whether to stop on the R^2 of a held-out fraction `validation_fraction` of the samples.
    validation_fraction : float, default=0.1
        Fraction of the samples held out with `early_stopping`.
    n_iter_no_change : int, default=5
        Epochs without improvement after which a fit ends; see `tol`.
    shuffle : bool, default=True
        Whether each epoch takes the samples in another order, as in scikit-learn for the same `random_state`.
        Samples from files are shuffled within their blocks of about 32 MiB: store them in random order.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        PA-I or PA-II.
    epsilon : float, default=0.1
        Half width of the tube in which errors cost nothing, in the units of y.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle and of the held-out samples.
    warm_start : bool, default=False
        Whether `fit` starts from the previous weights and intercept.
    average : bool or int, default=False
        Whether, or from which step on, the iterates are averaged.
    time_limit : float, default=None
        Seconds after which no further epoch is begun. None for no limit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept ``b``; zero with ``fit_intercept=False``.
    n_iter_ : int
        Epochs.
    t_ : float
        One more than the steps taken.
    certificate_ : Certificate
        Not judged, by `fit` or later: there is no problem of which a fit would be the solution.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback" or "interrupted".
    trace_ : tuple of Record
        Mean online objective and seconds of each epoch.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    An epoch costs 4 n p operations at most, one read of X, and memory p; sparse samples cost their entries,
    averages and penalties included. Runs on dense and sparse arrays and on files. Samples of weight zero are removed;
    other weights are factors of a sample's step, not repetitions. Ctrl-C ends a fit with the last complete epoch.
    Features should have similar scales.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PassiveAggressiveRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(500, 2)
    >>> model = PassiveAggressiveRegressor(C=0.01, random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> model.coef_.round(1)
    array([ 1., -2.])
    """

    _registration: ClassVar = Registration(
        method="Passive-aggressive regression",
        texts=(),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=(),
        judged=False,
        judge="sgd.passive_aggressive",
        report_only=REPORT_ONLY,
    )
    _constraints: ClassVar[Constraints] = {
        **SHARED,
        **STOPPING,
        "C": (real(0, np.inf, "right"),),
        "loss": (choice("epsilon_insensitive", "squared_epsilon_insensitive"),),
        "epsilon": (real(0),),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        random_state: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.epsilon = epsilon
        self.random_state = random_state
        self.warm_start = warm_start
        self.average = average
        self.time_limit = time_limit

    def _rule(self) -> Rule:
        return _rule(self, "epsilon_insensitive", float(self.epsilon))

    @restore_on_error
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        *,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> "PassiveAggressiveRegressor":
        """Fit to X (n, p), targets y (n,) and optional `sample_weight`, factors of the steps, from `coef_init` and
        `intercept_init` if given.

        With `X_val` and `y_val` the fit ends on R^2 there, whatever `early_stopping` says.
        """
        check_parameters(self, self._constraints)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "PassiveAggressiveRegressor":
        """One more epoch over samples X (n, p) of targets y (n,) with optional `sample_weight`."""
        check_parameters(self, self._constraints)
        _check_partial_fit(self)
        self._partial_fit(X, y, sample_weight)
        return self
