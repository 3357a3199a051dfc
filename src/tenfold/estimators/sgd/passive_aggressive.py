"""Passive-aggressive learning: the smallest step after which a row is right."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.contract import Claims, all_or_nothing
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, integer, nothing, real
from tenfold.estimators.predictors import Scored
from tenfold.estimators.sgd.classifier import OnlineClassifier
from tenfold.estimators.sgd.online import INSTEAD, SHARED, STOPPING, WHERE
from tenfold.estimators.sgd.regressor import OnlineRegressor
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


def _refuse_partial(model: Any) -> None:
    if model.early_stopping:
        raise ValueError("early_stopping should be False with partial_fit")


class PassiveAggressiveClassifier(Scored, OnlineClassifier, ClassifierMixin, BaseEstimator):
    """Passive-aggressive classification (Crammer et al., 2006).

    For every row with hinge loss ``l = max(0, 1 - y (x.w + b)) > 0`` the weights move by ``tau y x``, with
    ``tau = min(C, l / ||x||^2)`` (PA-I, loss "hinge") or ``tau = l / (||x||^2 + 1 / (2 C))`` (PA-II, loss
    "squared_hinge"): the smallest step that puts the row right, held back by C. scikit-learn has deprecated its own
    class in favour of `SGDClassifier` with ``penalty=None, learning_rate="pa1", eta0=C``, which is the same here.

    Parameters
    ----------
    C : float, default=1.0
        The longest step of PA-I; the larger, the less PA-II is damped.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float or None, default=1e-3
    early_stopping : bool, default=False
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=5
    shuffle : bool, default=True
    verbose : accepted for compatibility.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    n_jobs : accepted for compatibility.
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
    class_weight : dict or "balanced", default=None
    average : bool or int, default=False
    time_limit : float, default=None
        All but `C` and `loss` as in `SGDClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_, certificate_, status_, trace_, n_features_in_, feature_names_in_ : as in
        `SGDClassifier`. There is no problem of which a fit would be the solution: the certificate stays not judged.

    Notes
    -----
    Cost and sources of rows are as in `SGDClassifier`.

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

    _claims: ClassVar = Claims(
        "Passive-aggressive classification",
        "scan",
        "not judged",
        "completes the family",
        "PassiveAggressiveClassifier",
        WHERE,
        INSTEAD,
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

    @all_or_nothing
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
        """Fit to X (n, p), classes y (n,); weights are factors of the steps, `X_val`, `y_val` as in SGDClassifier."""
        check_parameters(self, self._constraints)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, sample_weight: Any = None
    ) -> "PassiveAggressiveClassifier":
        """One more epoch over these rows; `classes` names all classes in the first call."""
        check_parameters(self, self._constraints)
        _refuse_partial(self)
        self._partial_fit(X, y, classes, sample_weight)
        return self


class PassiveAggressiveRegressor(Scored, OnlineRegressor, RegressorMixin, BaseEstimator):
    """Passive-aggressive regression (Crammer et al., 2006).

    For every row with loss ``l = max(0, |x.w + b - y| - epsilon) > 0`` the weights move towards y by ``tau x``, with
    ``tau = min(C, l / ||x||^2)`` (PA-I, loss "epsilon_insensitive") or ``tau = l / (||x||^2 + 1 / (2 C))`` (PA-II,
    loss "squared_epsilon_insensitive"). scikit-learn has deprecated its own class in favour of `SGDRegressor` with
    ``loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=C``, which is the same here.

    Parameters
    ----------
    C : float, default=1.0
        The longest step of PA-I; the larger, the less PA-II is damped.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float or None, default=1e-3
    early_stopping : bool, default=False
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=5
    shuffle : bool, default=True
    verbose : accepted for compatibility.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    epsilon : float, default=0.1
    random_state : int, RandomState or None, default=None
    warm_start : bool, default=False
    average : bool or int, default=False
    time_limit : float, default=None
        All but `C` and `loss` as in `SGDRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, t_, certificate_, status_, trace_, n_features_in_, feature_names_in_ : as in
        `SGDRegressor`. There is no problem of which a fit would be the solution: the certificate stays not judged.

    Notes
    -----
    Cost and sources of rows are as in `SGDClassifier`.

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

    _claims: ClassVar = Claims(
        "Passive-aggressive regression",
        "scan",
        "not judged",
        "completes the family",
        "PassiveAggressiveRegressor",
        WHERE,
        INSTEAD,
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

    @all_or_nothing
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
        """Fit to X (n, p) and y (n,); weights are factors of the steps. `X_val`, `y_val` as in SGDRegressor."""
        check_parameters(self, self._constraints)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "PassiveAggressiveRegressor":
        """One more epoch over these rows."""
        check_parameters(self, self._constraints)
        _refuse_partial(self)
        self._partial_fit(X, y, sample_weight)
        return self
