"""Linear regression by the delta rule."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import ShuffleSplit
from sklearn.utils import check_random_state

from tenfold.arrays import Array
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import SEEDS
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters, choice, integer, nothing, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.sgd.sgd_fit import (
    INSTEAD,
    REPORT_ONLY,
    SHARED,
    STOPPING,
    WHERE,
    Online,
    check_together,
    make_rule,
    split_validation,
    take_validation,
    validate_held,
    validate_part,
    warn_negative_power,
)
from tenfold.estimators.validation import restore_on_error, validate, validate_weights
from tenfold.plans.sgd import Held, Rule, Target
from tenfold.stats.derivatives import Params

LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


class OnlineRegressor(Online):
    """One target."""

    _flat: ClassVar[bool] = True

    early_stopping: bool
    validation_fraction: float

    def _fit(
        self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any, X_val: Any, y_val: Any
    ) -> None:
        X, y = validate_numbers(self, X, y)
        weight = validate_weights(sample_weight, X)
        start = self._initial_parameters(coef_init, intercept_init, 1, X.shape[1])
        held: Held | None = None
        skip = None
        if X_val is not None:
            X_held, values = validate_held(self, X_val, y_val)
            held = Held(X_held, np.asarray(values, dtype=np.float64))
        elif self.early_stopping:
            fraction = self.validation_fraction
            splitter = ShuffleSplit(test_size=fraction, random_state=self.random_state)
            apart, skip = split_validation(splitter, X, y, weight, fraction)
            held = take_validation(X, y, weight, apart)
        self._learn(X, y, weight, [self._target()], start, held=held, skip=skip)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = validate_part(self, X, y, validate_numbers)
        weight = validate_weights(sample_weight, X)
        if not hasattr(self, "coef_"):
            self.coef_, self.intercept_, self.t_ = np.zeros(X.shape[1]), np.zeros(1), 1.0
        self._learn(X, y, weight, [self._target()], None)

    def _target(self) -> Target:
        seed = int(check_random_state(self.random_state).randint(0, SEEDS))
        return Target(seed=seed if self.shuffle else None)

    def predict(self, X: Any) -> Array:
        """``X w + b``, (n,)."""
        return np.ravel(self._predict_raw(X))


def validate_numbers(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    return validate(model, X, y, multi_output=False)


class SGDRegressor(ScoreMixin, OnlineRegressor, RegressorMixin, BaseEstimator):
    """Linear regression by stochastic gradient descent (the delta rule): one step per sample.

    Minimises ``1/n sum_i s_i loss(y_i, x_i.w + b) + alpha R(w)``, n the number of samples, s_i the weight of a sample,
    ``R`` = ``||w||^2 / 2``, ``||w||_1`` or ``(1 - l1_ratio) ||w||^2 / 2 + l1_ratio ||w||_1``. With the residual
    ``r_i = x_i.w + b - y_i``, losses are ``squared_error`` r^2 / 2 (least mean squares), ``huber`` r^2 / 2 up to
    |r| = epsilon and linear beyond, ``epsilon_insensitive`` max(0, |r| - epsilon) and its square.

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"}, default="squared_error"
        One of the above.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        The penalty R(w) of the formula above; None for none.
    alpha : float, default=1e-4
        Strength of the penalty; sets the step size of "optimal", too.
    l1_ratio : float or None, default=0.15
        Fraction of the L1 penalty of "elasticnet".
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``. It is not penalised; on sparse data its steps are a hundredth, as in
        scikit-learn.
    max_iter : int, default=1000
        Limit of the epochs of `fit`.
    tol : float or None, default=1e-3
        A fit stops when for `n_iter_no_change` consecutive epochs the mean online objective (or, with early
        stopping, the score) was not better by `tol` than the best before. None: `max_iter` epochs.
    shuffle : bool, default=True
        Whether each epoch takes the samples in another order, as in scikit-learn for the same `random_state`.
        Samples from files are shuffled within their blocks of about 32 MiB: store them in random order.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    epsilon : float, default=0.1
        Where "huber" becomes linear, and the half width of the tube of the insensitive losses, in the units of y.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle and of the held-out samples.
    learning_rate : {"invscaling", "constant", "optimal", "adaptive", "pa1", "pa2"}, default="invscaling"
        With t the number of the step: "invscaling" eta0 / t^power_t; "constant" `eta0`; "optimal" 1 / (alpha (t0 + t -
        1)), t0 Bottou's; "adaptive" `eta0`, divided by 5 where a fit would end; "pa1", "pa2" passive-aggressive steps
        for the loss "epsilon_insensitive", of at most, or damped by, `eta0`.
    eta0 : float, default=0.01
        The step size, or its first value, of all schedules but "optimal".
    power_t : float, default=0.25
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to stop on the R^2 of a held-out fraction `validation_fraction` of the samples.
    validation_fraction : float, default=0.1
        Fraction of the samples held out with `early_stopping`.
    n_iter_no_change : int, default=5
        Epochs without improvement after which a fit ends; see `tol`.
    warm_start : bool, default=False
        Whether `fit` starts from the previous weights and intercept.
    average : bool or int, default=False
        Whether, or from which step on, the iterates are averaged.
    batch_size : int, default=1
        Samples per step, whose mean gradient it takes.
    time_limit : float, default=None
        Seconds after which no further epoch is begun. None for no limit.
    threshold : float, default=0.0
        Weights whose absolute value is smaller are set to zero at the end of `fit` and of each call of `partial_fit`,
        which goes on from there (of an average only what is stored); the intercept is not.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features, none between zero and `threshold`.
    intercept_ : ndarray of shape (1,)
        Intercept ``b``; zero with ``fit_intercept=False``.
    n_iter_ : int
        Epochs.
    t_ : float
        One more than the steps taken.
    certificate_ : Certificate
        Not judged by `fit`, where it would cost as much as several epochs: ``tenfold.certify(model, X, y)`` gives the
        duality gap, by which no other weights have a smaller objective; it is that of the weights after `threshold`.
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

    Where scikit-learn's own arithmetic is not that of these formulas, this is: averages with an L1 penalty or over
    several calls of `partial_fit`, the objective with an L1 penalty or on sparse samples, and early stopping, whose
    score there is of weights without their scale.
    Seeger, section 2.4.2; Welling, section 7.1; Rosasco, section 8.1; Cookbook, ch. 18.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SGDRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(1000, 2)
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> model = SGDRegressor(random_state=0, alpha=1e-6, tol=1e-6).fit(X, y)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([ 1., -2.]), array([3.]))
    """

    _registration: ClassVar = Registration(
        method="Linear regression by stochastic gradient descent",
        texts=("S2.4", "W7.1", "R8.1", "B18"),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap",),
        judged=False,
        judge="sgd.regression",
        choice="sgd.check_threshold",
        outputs="linear_outputs.regression",
        report_only=REPORT_ONLY,
        board=Entry(
            "sgd-regression",
            "regression",
            {"random_state": 0},
            {"alpha": (1e-5, 1e-3)},
            fast=False,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **SHARED,
        **STOPPING,
        "loss": (choice(*LOSSES),),
        "penalty": (choice("l2", "l1", "elasticnet"), nothing()),
        "alpha": (real(0),),
        "l1_ratio": (real(0, 1, "both"), nothing()),
        "epsilon": (real(0),),
        "learning_rate": (choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),),
        "eta0": (real(0, np.inf, "neither"),),
        "power_t": (real(-np.inf, np.inf, "neither"),),
        "batch_size": (integer(1),),
        "threshold": (real(0),),
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        random_state: Any = None,
        learning_rate: str = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | int = False,
        batch_size: int = 1,
        time_limit: float | None = None,
        threshold: float = 0.0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size
        self.time_limit = time_limit
        self.threshold = threshold

    def _check(self, partial: bool) -> None:
        check_parameters(self, self._constraints)
        check_together(self, partial)
        if self.learning_rate in ("pa1", "pa2") and self.loss != "epsilon_insensitive":
            raise ValueError(f"Learning rate '{self.learning_rate}' only works with loss 'epsilon_insensitive'.")

    def _rule(self) -> Rule:
        return make_rule(self, self.loss)

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        if self.threshold:
            params = Params(np.where(np.abs(params.coef) < self.threshold, 0.0, params.coef), params.intercept)
        return super()._attributes(params, X)

    @restore_on_error
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> "SGDRegressor":
        """Fit to X (n, p), y (n,) and optional `sample_weight`; from `coef_init` and `intercept_init` if given.

        With `X_val` and `y_val` the fit ends on R^2 there, whatever `early_stopping` says.
        """
        self._check(partial=False)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        warn_negative_power(self)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SGDRegressor":
        """One more epoch over samples X (n, p) of targets y (n,) with optional `sample_weight`."""
        self._check(partial=True)
        self._partial_fit(X, y, sample_weight)
        return self
