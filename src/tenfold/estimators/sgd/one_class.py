"""The one-class SVM by the delta rule."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import SEEDS
from tenfold.estimators.parameters import Constraints, check_parameters, choice, integer, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.sgd.sgd_fit import (
    INSTEAD,
    REPORT_ONLY,
    SHARED,
    WHERE,
    Online,
    check_together,
    validate_part,
    warn_negative_power,
)
from tenfold.estimators.validation import (
    convert_like,
    restore_on_error,
    validate_rows,
    validate_weights,
)
from tenfold.plans.sgd import Rule, Target


class SGDOneClassSVM(Online, OutlierMixin, BaseEstimator):
    """The linear one-class SVM by stochastic gradient descent: which samples are unlike the others.

    Minimises ``nu / 2 ||w||^2 + nu b + 1/n sum_i s_i max(0, 1 - (x_i.w + b))``, whose ``offset_`` is 1 - b; a sample is
    inside where ``x.w >= offset_``. At the optimum about a fraction nu of the samples is outside. As a kernel, put
    scikit-learn's Nystroem before it.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        A bound on the fraction of outlying samples, and the strength of the penalty.
    fit_intercept : bool, default=True
        Whether to learn the offset; without it ``offset_`` is 1. On sparse data its steps are a hundredth, as in
        scikit-learn.
    max_iter : int, default=1000
        Limit of the epochs of `fit`.
    tol : float or None, default=1e-3
        A fit stops when for five consecutive epochs the mean online objective was not better by `tol` than the best
        before. None: `max_iter` epochs.
    shuffle : bool, default=True
        Whether each epoch takes the samples in another order, as in scikit-learn for the same `random_state`.
        Samples from files are shuffled within their blocks of about 32 MiB: store them in random order.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffle.
    learning_rate : {"optimal", "constant", "invscaling", "adaptive"}, default="optimal"
        With t the number of the step: "optimal" 1 / (nu (t0 + t - 1)), t0 Bottou's; "constant" `eta0`; "invscaling"
        eta0 / t^power_t; "adaptive" `eta0`, divided by 5 where a fit would end.
    eta0 : float, default=0.01
        The step size, or its first value, of all schedules but "optimal".
    power_t : float, default=0.5
        Exponent of "invscaling".
    warm_start : bool, default=False
        Whether `fit` starts from the previous weights and intercept.
    average : bool or int, default=False
        Whether, or from which step on, the iterates are averaged.
    batch_size : int, default=1
        Samples per step, whose mean gradient it takes.
    time_limit : float, default=None
        Seconds after which no further epoch is begun. None for no limit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    offset_ : ndarray of shape (1,)
        Where ``x.w`` is smaller, a sample is outside; 1 - b.
    intercept_ : ndarray of shape (1,)
        b, that is ``1 - offset_``.
    n_iter_ : int
        Epochs.
    t_ : float
        One more than the steps taken.
    certificate_ : Certificate
        Not judged by `fit`, where it would cost as much as several epochs: ``tenfold.certify(model, X)`` gives the
        duality gap, by which no other weights have a smaller objective.
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
    >>> from tenfold import SGDOneClassSVM
    >>> rng = np.random.RandomState(0)
    >>> X = 3.0 + 0.5 * rng.randn(500, 2)
    >>> model = SGDOneClassSVM(nu=0.1, random_state=0, average=True).fit(X)
    >>> model.predict([[3.0, 3.0], [-3.0, -3.0]])
    array([ 1, -1], dtype=int32)
    """

    _registration: ClassVar = Registration(
        method="One-class SVM by stochastic gradient descent",
        texts=(),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap",),
        judged=False,
        judge="sgd.one_class",
        outputs="linear_outputs.inliers",
        report_only=REPORT_ONLY,
    )
    _flat: ClassVar[bool] = True
    _constraints: ClassVar[Constraints] = {
        **SHARED,
        "nu": (real(0, 1, "right"),),
        "learning_rate": (choice("constant", "optimal", "invscaling", "adaptive"),),
        "eta0": (real(0, np.inf, "neither"),),
        "power_t": (real(-np.inf, np.inf, "neither"),),
        "batch_size": (integer(1),),
    }

    offset_: Array

    def __init__(
        self,
        nu: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        warm_start: bool = False,
        average: bool | int = False,
        *,
        batch_size: int = 1,
        time_limit: float | None = None,
    ) -> None:
        self.nu = nu
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size
        self.time_limit = time_limit

    def _rule(self) -> Rule:
        return Rule(
            loss="hinge",
            penalised=True,
            alpha=float(self.nu),
            schedule=self.learning_rate,
            eta0=float(self.eta0),
            power_t=float(self.power_t),
            intercept=bool(self.fit_intercept),
            one_class=True,
            average=int(self.average),
            batch=int(self.batch_size),
        )

    @property
    def intercept_(self) -> Array:
        """What is added to ``X w``: minus the offset."""
        return -self.offset_

    def _bias(self) -> Floats:
        return 1.0 - np.asarray(self.offset_, dtype=np.float64).reshape(-1)

    def _first_bias(self, learners: int) -> Floats:
        return np.ones(learners)

    def _put_bias(self, b: Floats, X: Array) -> dict[str, Any]:
        return {"offset_": convert_like(1.0 - b, X)}

    @restore_on_error
    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, offset_init: Any = None, sample_weight: Any = None
    ) -> "SGDOneClassSVM":
        """Fit to X (n, p) and optional `sample_weight` (n,), from `coef_init` and `offset_init` if given; y is not
        used.
        """
        check_parameters(self, self._constraints)
        check_together(self)
        X, ones = rows_and_ones(self, X, y)
        weight = validate_weights(sample_weight, X)
        bias = None if offset_init is None else 1.0 - np.asarray(offset_init, dtype=np.float64)
        self._learn(X, ones, weight, [self._target()], self._initial_parameters(coef_init, bias, 1, X.shape[1]))
        warn_negative_power(self)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SGDOneClassSVM":
        """One more epoch over samples X (n, p) with optional `sample_weight` (n,); y is not used."""
        check_parameters(self, self._constraints)
        X, ones = validate_part(self, X, y, rows_and_ones)
        weight = validate_weights(sample_weight, X)
        if not hasattr(self, "coef_"):
            self.coef_, self.offset_, self.t_ = np.zeros(X.shape[1]), np.zeros(1), 1.0
        self._learn(X, ones, weight, [self._target()], None)
        return self

    def _target(self) -> Target:
        seed = int(check_random_state(self.random_state).randint(0, SEEDS))
        return Target(seed=seed if self.shuffle else None)

    def decision_function(self, X: Any) -> Array:
        """``X w - offset``, (n,): negative outside."""
        return np.ravel(self._predict_raw(X))

    def score_samples(self, X: Any) -> Array:
        """``X w``, (n,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """+1 for samples of X that are inside, -1 outside, (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.int32)


def rows_and_ones(model: Any, X: Any, y: Any = None) -> tuple[Array, Floats]:
    """X alone, and a target of ones."""
    X = validate_rows(model, X)
    return X, np.ones(X.shape[0])
