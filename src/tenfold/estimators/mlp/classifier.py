"""Classification by multi-layer perceptrons."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from tenfold.arrays import Array, is_array_api, like, namespace, on_host
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import (
    as_vector,
    check_label_indices,
    compute_class_weights,
    encode_classes,
    sample_factors,
    take_classes,
    unknown_classes,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.mlp.training import INSTEAD, REPORT_ONLY, SHARED, STORED, WHERE, MlpBase, Validation
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, nothing
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import flag
from tenfold.estimators.sgd.sgd_fit import validate_held
from tenfold.estimators.validation import restore_on_error, validate_more, validate_weights


class MLPClassifier(ScoreMixin, MlpBase, ClassifierMixin, BaseEstimator):
    """Classification by a multi-layer perceptron, of any depth.

    Layer l maps ``a_l`` to ``a_{l+1} = f(a_l W_l + b_l)``, from ``a_0 = x``; the last one has, in place of f, the
    softmax of several classes or ``p = 1 / (1 + exp(-z))`` of two, or of each label. Minimises ``1/S (sum_i s_i
    loss_i + alpha/2 sum_l ||W_l||^2)``, S the sum of the sample weights s_i and ``loss_i`` minus the logarithm of the
    probability of the right class, or the sum of those of several labels. The loss is not convex.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of shape (n_layers - 2,), default=(100,)
        The number of units of each hidden layer; an empty one gives a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        The function f of the hidden units: a, 1 / (1 + exp(-a)), tanh a, or max(0, a).
    solver : {"lbfgs", "sgd", "adam", "scaled-cg", "truncated-newton"}, default="adam"
        "sgd" and "adam" take steps on batches of samples, the others read all samples in each iteration: L-BFGS,
        scaled conjugate gradients and truncated Newton with products of the Hessian.
    alpha : float, default=1e-4
        Strength of the weight decay; it is divided by the sum of the sample weights, as in scikit-learn.
    batch_size : int or "auto", default="auto"
        Samples of a batch; "auto": min(200, n_samples).
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Of "sgd": `learning_rate_init`, this divided by (samples seen + 1)^power_t, or divided by 5 where a fit would
        end, down to 1e-6.
    learning_rate_init : float, default=1e-3
        The step size, or its first value, of "sgd" and "adam".
    power_t : float, default=0.5
        Exponent of "invscaling".
    max_iter : int, default=200
        Limit of the epochs of "sgd" and "adam", and of the iterations of the other solvers.
    shuffle : bool, default=True
        Whether each epoch takes the samples in another order, as in scikit-learn for the same `random_state`.
        Samples from files are shuffled within their blocks of about 32 MiB: store them in random order.
    random_state : int, RandomState or None, default=None
        Of the first weights, the held-out samples and the shuffle.
    tol : float, default=1e-4
        "sgd" and "adam" stop when for more than `n_iter_no_change` consecutive epochs the mean loss (with early
        stopping, the score) was not better by `tol` than the best before; the others when no derivative of the loss
        exceeds `tol`.
    verbose : bool, default=False
        Whether to print the loss of each epoch.
    warm_start : bool, default=False
        Whether `fit` starts from `coefs_` and `intercepts_`.
    momentum : float, default=0.9
        The factor mu of "sgd".
    nesterovs_momentum : bool, default=True
        Whether "sgd" takes Nesterov's momentum.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of a held-out fraction of the samples, of each class alike; the weights of the
        best epoch are kept.
    validation_fraction : float, default=0.1
        Fraction of the samples held out with `early_stopping`.
    beta_1 : float, default=0.9
        Decay of the first moments of "adam".
    beta_2 : float, default=0.999
        Decay of the second moments of "adam".
    epsilon : float, default=1e-8
        Added to the root of the second moments of "adam".
    n_iter_no_change : int, default=10
        Epochs without improvement after which a fit ends; see `tol`.
    max_fun : int, default=15000
        Limit of the evaluations of the loss, of the solvers that read all samples.
    class_weight : dict or "balanced", default=None
        Factors of the sample weights by class; "balanced" makes the classes weigh the same. Not with several labels.
    init : {"glorot", "fan_in"}, default="glorot"
        The first weights: uniform, as in scikit-learn, or normal with variance 1 / (inputs of the unit + 1) (Seeger,
        section 3.4.1).
    momentum_form : {"sum", "mean"}, default="sum"
        A step of "sgd" is u <- mu u - eta g, or with "mean" u <- mu u - eta (1 - mu) g, whose length under a constant
        gradient g is eta |g|.
    time_limit : float, default=None
        Seconds after which no further epoch is begun.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; of several labels their numbers.
    coefs_ : list of ndarray of shape (n_inputs, n_units)
        The weights of each layer.
    intercepts_ : list of ndarray of shape (n_units,)
        The biases of each layer.
    n_layers_ : int
        Number of layers, the inputs among them.
    n_outputs_ : int
        Number of outputs.
    out_activation_ : str
        The function of the outputs: "logistic" or "softmax".
    loss_ : float
        The last of `loss_curve_`.
    loss_curve_ : list of float
        The mean loss of each epoch, as its steps saw it; or the loss after each iteration.
    best_loss_ : float or None
        The least of these; None with early stopping.
    validation_scores_ : list of float or None
        The accuracy on the validation samples after each epoch; None without early stopping.
    best_validation_score_ : float or None
        The best of these.
    n_iter_ : int
        Epochs or iterations.
    t_ : int
        Samples that the steps have seen.
    certificate_ : Certificate
        Kind stationarity: the decrease of the loss in 50 steps of L-BFGS that the judge takes from the fitted weights
        on all samples, relative to the loss of the best constant; at most 1e-3 is ok. Not judged by `fit` with "sgd"
        and "adam", where it costs as much as a hundred epochs: ``tenfold.certify(model, X, y)`` judges it.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "diverged" or "stalled".
    trace_ : tuple of Record
        Loss and seconds of each epoch or iteration.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    An epoch takes 6 operations for each weight and sample, forward and back, in the dtype of X: float32 takes half
    the time. Memory: weights, gradient and moments in one array, and the values of a batch. Runs on dense and sparse
    arrays, on files in shuffled blocks, and on devices. For the same `random_state` the weights are scikit-learn's up
    to rounding; they do not depend on the number of threads. Columns should have mean zero and similar scales.

    Ctrl-C ends a fit with the last complete epoch. A loss that is no longer finite ends it with the last weights of a
    finite one, where scikit-learn raises. Samples of weight zero are removed samples.
    Seeger, chapter 3, sections 7.2.1 and 8; Welling, ch. 7. Rumelhart, Hinton and Williams, Nature 323 (1986);
    Kingma and Ba, Adam (2015); Liu and Nocedal, L-BFGS (1989);
    Moller, Scaled conjugate gradients (1993); Pearlmutter, Multiplication by the Hessian (1994).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from tenfold import MLPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MLPClassifier((10,), "tanh", solver="lbfgs", alpha=1.0, max_iter=1000, random_state=0)
    >>> model = model.fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Multi-layer perceptron for classes",
        texts=("S3", "S7.2.1", "S8", "W7"),
        peer="sklearn.neural_network",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("stationarity",),
        judge="mlp.classification",
        outputs="mlp.classes",
        report_only=REPORT_ONLY,
        stored={**STORED, "_multilabel": flag()},
        board=Entry(
            "mlp-classifier",
            "classification",
            {"hidden_layer_sizes": (32,), "solver": "lbfgs", "activation": "tanh", "max_iter": 1000, "random_state": 0},
            {"alpha": (1e-2, 1.0, 100.0)},
            fast=False,
            most_columns=2000,
            most_rows=50_000,
            fewest_rows=100,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **SHARED,
        "class_weight": (choice("balanced"), instance(dict), nothing()),
    }

    classes_: Array

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: Any = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: Any = 10,
        max_fun: int = 15000,
        class_weight: Any = None,
        init: str = "glorot",
        momentum_form: str = "sum",
        time_limit: float | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.class_weight = class_weight
        self.init = init
        self.momentum_form = momentum_form
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> "MLPClassifier":
        """Fit to X (n, p), classes y (n,) or labels (n, k) of zeros and ones, and optional `sample_weight`.

        With `X_val` and `y_val` a fit by "sgd" or "adam" ends on the accuracy there, whatever `early_stopping` says.
        """
        check_parameters(self, self._constraints)
        X, y = validate_more(self, X, y, first=not self._goes_on(False), numeric=False)
        number, targets = self._encode(y, X, first=not hasattr(self, "classes_") or not self.warm_start)
        weight = self._weights(sample_weight, X, number)
        held = None
        if X_val is not None:
            X_held, labels = validate_held(self, X_val, y_val)
            held = Validation(X_held, self._targets_of(labels, X_held)[1])
        self._learn(X, targets, weight, strata=number, held=held)
        return self

    @available_if(lambda model: model._check_solver())  # type: ignore[untyped-decorator]
    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None) -> "MLPClassifier":
        """One more epoch over samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        check_parameters(self, self._constraints)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit: give the weights of "
                "compute_class_weight('balanced', classes=classes, y=y) for all data as class_weight."
            )
        X, y = validate_more(self, X, y, first=not hasattr(self, "coefs_"), numeric=False)
        if not hasattr(self, "classes_"):
            self._set_classes(y, classes)
        elif classes is not None and not np.array_equal(on_host(self.classes_), np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit: {self.classes_!r}")
        number, targets = self._targets_of(y, X)
        self._learn(X, targets, self._weights(sample_weight, X, number), partial=True)
        return self

    def _set_classes(self, y: Array, classes: Any) -> None:
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        self._multilabel = y.ndim == 2 and y.shape[1] > 1
        self.classes_ = np.arange(y.shape[1]) if self._multilabel else np.unique(classes)
        if len(self.classes_) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")

    def _encode(self, y: Array, X: Array, *, first: bool) -> tuple[Array | None, Array]:
        """Class indices (n,), None of several labels, and targets (n, k); sets the classes in a first fit."""
        if not first:
            number, targets = self._targets_of(y, X)
            present = on_host(namespace(number).unique_values(number)) if number is not None else self.classes_
            if len(present) != len(self.classes_):
                raise ValueError(
                    "warm_start can only be used where `y` has the same classes as in the previous call to fit. "
                    f"Previously got {self.classes_}, `y` has {on_host(self.classes_)[present]}"
                )
            return number, targets
        self._multilabel = y.ndim == 2 and y.shape[1] > 1
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            return self._targets_of(y, X)
        self.classes_, number = encode_classes(y if is_array_api(y) and y.ndim == 1 else as_vector(on_host(y)), X)
        return number, self._indicators(number)

    def _targets_of(self, y: Array, X: Array) -> tuple[Array | None, Array]:
        """Class indices and targets of known classes."""
        if self._multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes_):
                raise ValueError(f"y must hold the {len(self.classes_)} labels of the fit, (n, {len(self.classes_)}).")
            kind = type_of_target(on_host(y))
            if kind != "multilabel-indicator":
                raise ValueError(f"Several labels must be a matrix of zeros and ones; y is {kind!r}.")
            return None, y
        y = y if is_array_api(y) and y.ndim == 1 else as_vector(on_host(y))
        unknown = unknown_classes(self.classes_, y)
        if unknown.size:
            raise ValueError(
                f"`y` has classes not in `self.classes_`. `self.classes_` has {self.classes_}. 'y' has {unknown}."
            )
        number = check_label_indices(self.classes_, y, X)
        return number, self._indicators(number)

    def _indicators(self, number: Array) -> Array:
        """Targets (n, 1) of two classes, else (n, k)."""
        count = int(self.classes_.shape[0])
        columns = like(np.array([1]) if count == 2 else np.arange(count), number)
        return number[:, None] == columns[None, :]

    def _weights(self, sample_weight: Any, X: Array, number: Array | None) -> Array | None:
        weight = validate_weights(sample_weight, X)
        if self.class_weight is None:
            return weight
        if number is None:
            raise ValueError("class_weight needs one class a sample; give sample_weight with several labels.")
        factor = sample_factors(compute_class_weights(self.class_weight, self.classes_, number, weight), number)
        return factor if weight is None else weight * factor

    def _output(self) -> str:
        return "softmax" if not self._multilabel and self.classes_.shape[0] > 2 else "logistic"

    def _score_of(self, outputs: Array, y: Array, weight: Array | None) -> float:
        if self._multilabel:
            right = np.all((outputs > 0.5) == (y > 0.5), axis=1)
        elif outputs.shape[1] == 1:
            right = (outputs[:, 0] > 0.5) == (y[:, 0] > 0.5)
        else:
            right = np.argmax(outputs, axis=1) == np.argmax(y, axis=1)
        return float(np.average(right, weights=weight))

    def predict(self, X: Any) -> Array:
        """The most probable class of each sample of X, (n,), or the labels (n, k) of probability above one half."""
        p = self._predict_raw(X)
        if self._multilabel:
            return namespace(p).astype(p > 0.5, namespace(p).int64)
        number = p[:, 0] > 0.5 if p.shape[1] == 1 else namespace(p).argmax(p, axis=1)
        return take_classes(self.classes_, number)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, n_classes), or of each label, for the samples X."""
        p = self._predict_raw(X)
        return p if p.shape[1] > 1 else namespace(p).concat([1.0 - p, p], axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities for the samples X, (n, n_classes)."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return namespace(p).log(p)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
