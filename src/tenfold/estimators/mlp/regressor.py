"""Regression by multi-layer perceptrons."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array, is_array_api
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.mlp.training import INSTEAD, REPORT_ONLY, SHARED, STORED, WHERE, MlpBase, Validation
from tenfold.estimators.parameters import Constraints, check_parameters, choice
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.sgd.sgd_fit import validate_held
from tenfold.estimators.validation import restore_on_error, validate_more, validate_weights


class MLPRegressor(ScoreMixin, MlpBase, RegressorMixin, BaseEstimator):
    """Regression by a multi-layer perceptron, of any depth.

    Layer l maps ``a_l`` to ``a_{l+1} = f(a_l W_l + b_l)``, from ``a_0 = x``; the last one has the identity, or with
    the Poisson loss ``exp``, in place of f. Minimises ``1/S (sum_i s_i loss_i + alpha/2 sum_l ||W_l||^2)``, S the sum
    of the sample weights s_i and ``loss_i`` = ``||y_i - a||^2 / 2``, or half the Poisson deviance ``y log(y / a) - y
    + a`` for y >= 0, summed over the targets. The loss is not convex.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}, default="squared_error"
        The loss of the formula above.
    hidden_layer_sizes : int or array-like of shape (n_layers - 2,), default=(100,)
        The number of units of each hidden layer; an empty one gives a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        The function f of the hidden units: a, 1 / (1 + exp(-a)), tanh a, or max(0, a).
    solver : {"lbfgs", "sgd", "adam", "scaled-cg", "truncated-newton", "levenberg-marquardt"}, default="adam"
        "sgd" and "adam" take steps on batches of samples, the others read all samples in each iteration: L-BFGS,
        scaled conjugate gradients and truncated Newton with products of the Hessian, and for the square loss of small
        networks the method of Levenberg and Marquardt.
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
        Whether to stop on the R^2 of a held-out fraction of the samples; the weights of the best epoch
        are kept.
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
    coefs_ : list of ndarray of shape (n_inputs, n_units)
        The weights of each layer.
    intercepts_ : list of ndarray of shape (n_units,)
        The biases of each layer.
    n_layers_ : int
        Number of layers, the inputs among them.
    n_outputs_ : int
        Number of outputs.
    out_activation_ : str
        The function of the outputs: "identity" or "exp".
    loss_ : float
        The last of `loss_curve_`.
    loss_curve_ : list of float
        The mean loss of each epoch, as its steps saw it; or the loss after each iteration.
    best_loss_ : float or None
        The least of these; None with early stopping.
    validation_scores_ : list of float or None
        The R^2 on the validation samples after each epoch; None without early stopping.
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
    finite one, where scikit-learn raises. Samples of weight zero are removed samples. The loss of several targets
    is their sum, whose gradient scikit-learn follows, too, while it reports their mean.
    Seeger, chapter 3, sections 7.2.1 and 8; Welling, ch. 7. Rumelhart, Hinton and Williams, Nature 323 (1986);
    Kingma and Ba, Adam (2015); Liu and Nocedal, L-BFGS (1989);
    Moller, Scaled conjugate gradients (1993); Pearlmutter, Multiplication by the Hessian (1994).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MLPRegressor
    >>> x = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", max_iter=2000, random_state=0)
    >>> model = model.fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 3)
    1.0
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Multi-layer perceptron for numbers",
        texts=("S3", "S7.2.1", "W7"),
        peer="sklearn.neural_network",
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("stationarity",),
        judge="mlp.regression",
        outputs="mlp.numbers",
        report_only=REPORT_ONLY,
        stored=STORED,
        board=Entry(
            "mlp-regressor",
            "regression",
            {"hidden_layer_sizes": (32,), "solver": "lbfgs", "activation": "tanh", "max_iter": 1000, "random_state": 0},
            {"alpha": (1e-2, 1.0, 100.0)},
            fast=False,
            most_columns=2000,
            most_rows=50_000,
            fewest_rows=100,
        ),
    )
    _constraints: ClassVar[Constraints] = {**SHARED, "loss": (choice("squared_error", "poisson"),)}

    def __init__(
        self,
        loss: str = "squared_error",
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
        init: str = "glorot",
        momentum_form: str = "sum",
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
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
        self.init = init
        self.momentum_form = momentum_form
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> "MLPRegressor":
        """Fit to X (n, p), targets y (n,) or (n, k), and optional `sample_weight`.

        With `X_val` and `y_val` a fit by "sgd" or "adam" ends on the R^2 there, whatever `early_stopping` says.
        """
        check_parameters(self, self._constraints)
        X, y = validate_more(self, X, y, first=not self._goes_on(False))
        held = None
        if X_val is not None:
            X_held, y_held = validate_held(self, X_val, y_val)
            held = Validation(X_held, self._check_targets(y_held))
        self._learn(X, self._check_targets(y), validate_weights(sample_weight, X), held=held)
        return self

    @available_if(lambda model: model._check_solver())  # type: ignore[untyped-decorator]
    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MLPRegressor":
        """One more epoch over samples X (n, p) and targets y (n,) or (n, k) with optional `sample_weight`."""
        check_parameters(self, self._constraints)
        X, y = validate_more(self, X, y, first=not hasattr(self, "coefs_"))
        self._learn(X, self._check_targets(y), validate_weights(sample_weight, X), partial=True)
        return self

    def _check_targets(self, y: Array) -> Array:
        """Targets (n, k)."""
        if not is_array_api(y):
            y = np.asarray(y, dtype=np.float64)
        if self.loss == "poisson" and bool((y < 0).any() if not is_array_api(y) else (y < 0).sum() > 0):
            raise ValueError("The Poisson loss needs targets of at least zero, and some values of y are negative.")
        return y[:, None] if y.ndim == 1 else y

    def _output(self) -> str:
        return "exp" if self.loss == "poisson" else "identity"

    def _score_of(self, outputs: Array, y: Array, weight: Array | None) -> float:
        return float(r2_score(y, outputs, sample_weight=weight))

    def predict(self, X: Any) -> Array:
        """The predicted targets (n,) or (n, k) of the samples X."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
