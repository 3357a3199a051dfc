"""Linear classifiers by the delta rule."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold import _core
from tenfold.arrays import Array, contiguous
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import (
    check_label_indices,
    check_labels,
    class_seeds,
    compute_class_weights,
    encode_labels,
    take_classes,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    real,
)
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

LOSSES = (
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "tanh",
)


class OnlineClassifier(Online):
    """A class against the other, or each class against the rest."""

    _flat: ClassVar[bool] = False
    _constraints: ClassVar[Constraints]

    classes_: Array
    class_weight: Any
    early_stopping: bool
    validation_fraction: float

    def _fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any,
        intercept_init: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
    ) -> None:
        X, y = validate_classes(self, X, y)
        classes, number = encode_labels(y, y)
        weight = validate_weights(sample_weight, X)
        check_two_classes(classes, number, weight)
        start = self._initial_parameters(
            coef_init, intercept_init, 1 if len(classes) == 2 else len(classes), X.shape[1]
        )
        self.classes_ = classes
        held: Held | None = None
        skip = None
        if X_val is not None:
            X_held, labels = validate_held(self, X_val, y_val)
            held = Held(X_held, check_label_indices(self.classes_, labels, X_held).astype(np.float64))
        elif self.early_stopping:
            fraction = self.validation_fraction
            splitter = StratifiedShuffleSplit(test_size=fraction, random_state=self.random_state)
            apart, skip = split_validation(splitter, X, number, weight, fraction)
            held = take_validation(X, number, weight, apart)
        self._learn(X, number, weight, self._targets(number, weight), start, held=held, skip=skip)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough "
                "sample of the full training set target to properly estimate the class frequency distributions. Pass "
                "the resulting weights as the class_weight parameter."
            )
        X, y = validate_part(self, X, y, validate_classes)
        if not hasattr(self, "classes_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit: {self.classes_!r}")
        number = check_label_indices(self.classes_, y, X)
        count = len(self.classes_)
        if count == 1:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        weight = validate_weights(sample_weight, X)
        if not hasattr(self, "coef_"):
            learners = 1 if count == 2 else count
            self.coef_, self.intercept_ = np.zeros((learners, X.shape[1])), np.zeros(learners)
            self.t_ = 1.0
        self._learn(X, number, weight, self._targets(number, weight), None)

    def _targets(self, number: Array, weight: Array | None) -> list[Target]:
        """One learner for two classes, or one a class; with the orders of scikit-learn for the same seeds."""
        count = len(self.classes_)
        factors = np.ones(count)
        if self.class_weight is not None:
            kept = number if weight is None else number[weight > 0]
            factors = compute_class_weights(self.class_weight, self.classes_, kept, None)
        seeds = class_seeds(self.random_state, count) if self.shuffle else [None] * count
        if count == 2:
            return [Target(1, float(factors[1]), float(factors[0]), seeds[0])]
        # as in scikit-learn, a class weight applies to the problem of that class alone
        return [Target(k, float(factors[k]), 1.0, seeds[k]) for k in range(count)]

    def decision_function(self, X: Any) -> Array:
        """``X w + b`` of the second class, (n,), or of each class against the rest, (n, k)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (n,): the side it is on, or the class with the largest decision function."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else np.argmax(z, axis=1))


def validate_classes(model: Any, X: Any, y: Any) -> tuple[Array, Array]:
    X, y = validate(model, X, y, numeric=False, multi_output=False)
    check_labels(y)
    return X, y


def check_two_classes(classes: Array, number: Array, weight: Array | None) -> None:
    present = len(classes) if weight is None else len(np.unique(number[weight > 0]))
    if present < 2:
        removed = "" if present == len(classes) else " (all rows of the others have weight zero)"
        raise ValueError(f"The number of classes has to be greater than one; got {present} class{removed}")


def has_probabilities(model: Any) -> bool:
    if model.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(f"probability estimates are not available for loss={model.loss!r}")
    return True


class SGDClassifier(ScoreMixin, OnlineClassifier, ClassifierMixin, BaseEstimator):
    """Linear classification by stochastic gradient descent (the delta rule): any loss, one step per sample.

    Minimises ``1/n sum_i s_i loss(y_i, x_i.w + b) + alpha R(w)``, n the number of samples, s_i the weight of a sample
    times that of its class, ``R`` = ``||w||^2 / 2``, ``||w||_1`` or ``(1 - l1_ratio) ||w||^2 / 2 + l1_ratio ||w||_1``.
    A step for sample i is ``w <- w - eta (s_i loss'_i x_i + alpha R'(w))``, with y_i = +1 for the class and -1 for the
    rest; more than two classes are learned each against the rest, one in a thread. The L1 part is taken by cumulative
    truncation, so that weights become exactly zero. With ``m_i = y_i (x_i.w + b)`` and ``r_i = x_i.w + b - y_i``,
    losses are ``hinge`` max(0, 1 - m), ``log_loss`` log(1 + exp(-m)), ``squared_hinge`` max(0, 1 - m)^2,
    ``modified_huber``
    (the same, but -4 m below m = -1), ``perceptron`` max(0, -m), ``tanh`` -tanh(m) (bounded, not convex),
    ``squared_error`` r^2 / 2 (the LMS rule, Adaline), ``huber``, ``epsilon_insensitive`` max(0, |r| - epsilon) and its
    square.

    Parameters
    ----------
    loss : str, default="hinge"
        One of the above; "tanh" is not in scikit-learn.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        The penalty R(w) of the formula above; None for none.
    alpha : float, default=1e-4
        Strength of the penalty; sets the step size of "optimal", too.
    l1_ratio : float or None, default=0.15
        Fraction of the L1 penalty of "elasticnet".
    fit_intercept : bool, default=True
        The intercept is not penalised; on sparse samples its steps are a hundredth, as in scikit-learn.
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
        Of the losses "huber" and the insensitive ones.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    random_state : int, RandomState or None, default=None
        Of the shuffle and of the held-out samples.
    learning_rate : {"optimal", "constant", "invscaling", "adaptive", "pa1", "pa2"}, default="optimal"
        With t the number of the step: "optimal" 1 / (alpha (t0 + t - 1)), t0 Bottou's; "constant" `eta0`;
        "invscaling" eta0 / t^power_t (1/t with power_t=1); "adaptive" `eta0`, divided by 5 where a fit would end;
        "pa1", "pa2" passive-aggressive steps for the hinge loss, of at most, or damped by, `eta0`.
    eta0 : float, default=0.01
        The step size, or its first value, of all schedules but "optimal".
    power_t : float, default=0.5
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to stop on the accuracy of a held-out fraction `validation_fraction` of the samples.
    validation_fraction : float, default=0.1
        Fraction of the samples held out with `early_stopping`.
    n_iter_no_change : int, default=5
        Epochs without improvement after which a fit ends; see `tol`.
    class_weight : dict or "balanced", default=None
        With more than two classes a class weight applies to the problem of that class alone, as in scikit-learn.
    warm_start : bool, default=False
        Whether `fit` starts from `coef_` and `intercept_`.
    average : bool or int, default=False
        Whether, or from which step on, the iterates are averaged.
    batch_size : int, default=1
        Samples per step, whose mean gradient it takes.
    time_limit : float, default=None
        Seconds after which no further epoch is begun.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    n_iter_ : int
        Epochs of the class that took most.
    t_ : float
        Steps taken, and one.
    certificate_ : Certificate
        Not judged by `fit`, where it would cost as much as several epochs: ``tenfold.certify(model, X, y)`` gives the
        duality gap of a convex loss.
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
    removed samples; other weights are factors of a sample's step, not repeated samples. Ctrl-C ends a fit with the last
    complete epoch. Columns should have similar scales.

    Where scikit-learn's own arithmetic is not that of these formulas, this is: averages with an L1 penalty (its
    average does not see what is truncated) or over several calls of `partial_fit` (its intercepts start again), the
    objective with an L1 penalty or on sparse samples (its norms are those before a truncation, or of the last sample's
    columns), and early stopping (its score is of weights without their scale).
    CMU lecture, Extensions; Seeger, section 2.4.2; Welling, ch. 7; Rosasco, section 8.1; Cookbook, ch. 18 to 20.
    Bottou, Stochastic gradient descent tricks (2012); Tsuruoka et al. (2009); Crammer et al. (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tenfold import SGDClassifier, certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier(loss="log_loss", alpha=0.01, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    >>> model.certificate_.status
    'not judged'
    """

    _registration: ClassVar = Registration(
        method="Linear classification by stochastic gradient descent",
        texts=("C29", "S2.4", "W7", "R8.1", "B18-20"),
        peer="sklearn.linear_model",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap",),
        judged=False,
        judge="sgd.classification",
        outputs="linear_outputs.classification",
        report_only=REPORT_ONLY,
        board=Entry(
            "sgd-classifier",
            "classification",
            {"loss": "log_loss", "random_state": 0},
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
        "n_jobs": (integer(-(2**31)), nothing()),
        "learning_rate": (choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),),
        "eta0": (real(0, np.inf, "neither"),),
        "power_t": (real(-np.inf, np.inf, "neither"),),
        "class_weight": (choice("balanced"), instance(dict), nothing()),
        "batch_size": (integer(1),),
    }

    def __init__(
        self,
        loss: str = "hinge",
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
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
        batch_size: int = 1,
        time_limit: float | None = None,
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.batch_size = batch_size
        self.time_limit = time_limit

    def _check(self, partial: bool) -> None:
        check_parameters(self, self._constraints)
        check_together(self, partial)
        if self.learning_rate in ("pa1", "pa2") and self.loss != "hinge":
            raise ValueError(f"Learning rate '{self.learning_rate}' only works with loss 'hinge'.")

    def _rule(self) -> Rule:
        return make_rule(self, self.loss)

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
    ) -> "SGDClassifier":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`; from `coef_init` and `intercept_init` if given.

        With `X_val` and `y_val` the fit ends on the accuracy there, whatever `early_stopping` says.
        """
        self._check(partial=False)
        self._fit(X, y, coef_init, intercept_init, sample_weight, X_val, y_val)
        warn_negative_power(self)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "SGDClassifier":
        """One more epoch over samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        self._check(partial=True)
        self._partial_fit(X, y, classes, sample_weight)
        return self

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for the samples X, (n, n_classes).

        With "log_loss" 1 / (1 + exp(-z)), with "modified_huber" (clip(z, -1, 1) + 1) / 2 (Zhang, 2004), z the decision
        function; those of more than two classes are divided by their sum.
        """
        check_is_fitted(self)
        z = self.decision_function(X)
        if self.loss == "log_loss":
            part = _core.sigmoid(contiguous(np.ravel(z))).reshape(z.shape)
            rest = _core.sigmoid(contiguous(-np.ravel(z))).reshape(z.shape)
        else:
            part = 0.5 * (np.clip(z, -1, 1) + 1.0)
            rest = 1.0 - part
        if z.ndim == 1:
            return np.column_stack([rest, part])
        total = np.sum(part, axis=1, keepdims=True)
        nobody = total == 0
        return np.where(nobody, 1.0 / part.shape[1], part / np.where(nobody, 1.0, total))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of the classes for the samples X, (n, n_classes)."""
        z = self.decision_function(X)
        if self.loss == "log_loss" and z.ndim == 1:
            z = contiguous(z)
            return np.column_stack([-_core.softplus(z), -_core.softplus(-z)])
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
