"""Base of the multi-layer perceptrons: parameters to networks and rules, validation samples, fitting and storage."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from tenfold.arrays import (
    Array,
    Integers,
    NotFinite,
    contiguous,
    is_array_api,
    is_numpy,
    is_sparse,
    like,
    namespace,
    numpy_dtype,
    on_host,
)
from tenfold.data import Table
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Source
from tenfold.estimators.schema import Check, floats, many, number, text, whole
from tenfold.estimators.schema import nothing as no_value
from tenfold.estimators.validation import as_rows, drop_zero_weights, require_finite
from tenfold.objectives.network import HIDDEN, Layer, Network
from tenfold.objectives.network_loss import predict_compiled
from tenfold.plans.mlp import MlpFit, fit_epochs, minimise
from tenfold.solvers.loop import Status
from tenfold.solvers.mlp_epochs import Epochs, Patience, Progress, Rule, draw_start, first_progress

WHERE: tuple[Source, ...] = ("arrays", "sparse", "files", "devices")
INSTEAD = "Steps follow one another, so that rows are read in order, by one machine."
EPOCHS = ("sgd", "adam")
SOLVERS = (*EPOCHS, "lbfgs", "scaled-cg", "truncated-newton", "levenberg-marquardt")

# the most samples of a batch with batch_size="auto", as in scikit-learn
AUTO_BATCH = 200

UNFINISHED = "Maximum iterations ({limit}) reached and the optimization hasn't converged yet."

# parameters of both classes
SHARED: Constraints = {
    "hidden_layer_sizes": (array_like(), integer(1)),
    "activation": (choice(*HIDDEN),),
    "solver": (choice(*SOLVERS),),
    "alpha": (real(0),),
    "batch_size": (choice("auto"), integer(1)),
    "learning_rate": (choice("constant", "invscaling", "adaptive"),),
    "learning_rate_init": (real(0, np.inf, "neither"),),
    "power_t": (real(0),),
    "max_iter": (integer(1),),
    "shuffle": (boolean(),),
    "random_state": (random_state(),),
    "tol": (real(0),),
    "verbose": (integer(0), boolean()),
    "warm_start": (boolean(),),
    "momentum": (real(0, 1, "both"),),
    "nesterovs_momentum": (boolean(),),
    "early_stopping": (boolean(),),
    "validation_fraction": (real(0, 1, "left"),),
    "beta_1": (real(0, 1, "left"),),
    "beta_2": (real(0, 1, "left"),),
    "epsilon": (real(0, np.inf, "neither"),),
    "n_iter_no_change": (integer(1), real(np.inf, np.inf, "both")),
    "max_fun": (integer(1),),
    "init": (choice("glorot", "fan_in"),),
    "momentum_form": (choice("sum", "mean"),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}

REPORT_ONLY = {
    "n_iter_": "how many epochs or iterations the solver took",
    "t_": "how many samples the steps saw",
    "loss_": "the loss as the last epoch saw it, while the weights moved",
    "best_loss_": "the least of the losses of all epochs",
    "loss_curve_": "the losses of all epochs",
    "validation_scores_": "scores on validation samples, which are not kept",
    "best_validation_score_": "the best of these",
}

curve = many(number(nan=True, inf=True))
STORED: dict[str, Check] = {
    "coefs_": many(floats("* *")),
    "intercepts_": many(floats("*")),
    "n_layers_": whole(2),
    "n_outputs_": whole(1),
    "out_activation_": text("identity", "exp", "logistic", "softmax"),
    "loss_": number(nan=True),
    "best_loss_": number(inf=True) | no_value(),
    "loss_curve_": curve,
    "validation_scores_": curve | no_value(),
    "best_validation_score_": number(inf=True) | no_value(),
    "t_": whole(0),
    "_moments": floats("*") | no_value(),
    "_numbers": many(number(inf=True)) | no_value(),
}


class Validation(NamedTuple):
    """Validation samples of early stopping: X, targets (n, k), weights."""

    X: Array
    y: Array
    weight: Array | None = None


def count_units(coefs: Sequence[Array]) -> tuple[int, ...]:
    """The sizes of the layers of weights (in, out)."""
    return (int(coefs[0].shape[0]), *(int(part.shape[1]) for part in coefs))


def join_weights(coefs: Sequence[Array], intercepts: Sequence[Array]) -> Array:
    """All weights as one vector; where they are views of one, as after a fit, this vector itself."""
    base = getattr(coefs[0], "base", None)
    parts = [part for pair in zip(coefs, intercepts, strict=True) for part in pair]
    if type(base) is np.ndarray and base.ndim == 1 and base.flags.c_contiguous:
        place = base.__array_interface__["data"][0]
        for part in parts:
            if type(part) is not np.ndarray or part.dtype != base.dtype or not part.flags.c_contiguous:
                break
            if part.__array_interface__["data"][0] != place or part.base is not base:
                break
            place += part.nbytes
        else:
            if place == base.__array_interface__["data"][0] + base.nbytes:
                return base
    xp = namespace(parts[0])
    return xp.concat([xp.reshape(part, (-1,)) for part in parts], axis=0)


def evaluate(network: Network, params: Array, X: Array, *, raw: bool = False) -> Array:
    """The outputs (n, k) for validated samples, where they are."""
    if is_array_api(X):
        xp = namespace(X)
        params = params if is_array_api(params) else like(params, X)
        z = network.forward(X, network.split(xp.astype(params, X.dtype, copy=False))).raw
        return z if raw else network.outputs(z)
    params = on_host(params)
    dtype = np.result_type(X.dtype, params.dtype)
    X = X if X.dtype == dtype else X.astype(dtype)
    return predict_compiled(network, params.astype(dtype, copy=False), X, raw=raw)


def _is_finite(X: Array) -> bool:
    """Whether samples in memory are finite; of a table it is not known."""
    if isinstance(X, Table):
        return X.place_of(lambda part: ~np.isfinite(part)) is None
    values = X.data if is_sparse(X) else X
    xp = namespace(values)
    return bool(xp.all(xp.isfinite(values)))


class MlpBase(CallbackSupportMixin, Predictor):
    """A multi-layer perceptron: what classifiers and regressors share."""

    hidden_layer_sizes: Any
    activation: str
    solver: str
    alpha: float
    batch_size: Any
    learning_rate: str
    learning_rate_init: float
    power_t: float
    max_iter: int
    shuffle: bool
    random_state: Any
    tol: float
    verbose: Any
    warm_start: bool
    momentum: float
    nesterovs_momentum: bool
    early_stopping: bool
    validation_fraction: float
    beta_1: float
    beta_2: float
    epsilon: float
    n_iter_no_change: Any
    max_fun: int
    init: str
    momentum_form: str
    time_limit: float | None

    coefs_: list[Array]
    intercepts_: list[Array]

    def _output(self) -> str:
        """The function of the outputs."""
        raise NotImplementedError

    def _score_of(self, outputs: Array, y: Array, weight: Array | None) -> float:
        """Accuracy or R^2 of outputs (n, k) of validation samples."""
        raise NotImplementedError

    def _hidden_sizes(self) -> list[int]:
        sizes = self.hidden_layer_sizes
        sizes = [sizes] if isinstance(sizes, Integral) else list(np.ravel(np.asarray(sizes, dtype=object)))
        if any(not isinstance(size, Integral) or size <= 0 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be > 0, got {sizes}.")
        return [int(size) for size in sizes]

    def _goes_on(self, partial: bool) -> bool:
        """Whether a fit begins at the fitted weights."""
        return hasattr(self, "coefs_") and (partial or self.warm_start)

    def _rule(self, samples: int) -> Rule:
        if self.batch_size == "auto":
            batch = min(AUTO_BATCH, samples)
        else:
            batch = int(self.batch_size)
            if batch > samples:
                warnings.warn(
                    "Got `batch_size` less than 1 or larger than sample size. It is going to be clipped.", stacklevel=7
                )
                batch = samples
        adam = self.solver == "adam"
        return Rule(
            adam=adam,
            rate=float(self.learning_rate_init),
            schedule="constant" if adam else self.learning_rate,
            power_t=float(self.power_t),
            first=float(self.beta_1 if adam else self.momentum),
            second=float(self.beta_2),
            epsilon=float(self.epsilon),
            nesterov=bool(self.nesterovs_momentum),
            mean=self.momentum_form == "mean",
            batch=batch,
            alpha=float(self.alpha),
        )

    def _learn(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        *,
        strata: Array | None = None,
        held: Validation | None = None,
        partial: bool = False,
    ) -> None:
        """Fit to validated samples with targets y (n, k); `strata` are the classes that a split keeps in proportion."""
        if partial and self.solver not in EPOCHS:
            raise AttributeError(
                f"partial_fit is only available for stochastic optimizers. {self.solver} is not stochastic."
            )
        if self.early_stopping and partial:
            raise ValueError("partial_fit does not support early_stopping=True")
        network = Network((X.shape[1], *self._hidden_sizes(), y.shape[1]), self.activation, self._output())
        random = check_random_state(self.random_state)
        goes_on = self._goes_on(partial)
        start = self._start(network, X, random, goes_on)
        fitted = require_finite(
            self,
            X,
            lambda: (
                self._fit_epochs(network, X, y, weight, start, random, goes_on, strata, held, partial)
                if self.solver in EPOCHS
                else self._minimise(network, X, y, weight, start)
            ),
        )
        self._store(network, fitted, X.shape[0], goes_on, bool(fitted.scores), partial)
        if not partial:
            self._warn(fitted)

    def _start(self, network: Network, X: Array, random: Any, goes_on: bool) -> Array:
        """The weights that a fit begins at, in the dtype and on the device of X."""
        dtype = numpy_dtype(X.dtype)
        if not goes_on:
            start = draw_start(network, random, self.init).astype(dtype)
            return like(start, X) if is_array_api(X) else start
        if count_units(self.coefs_) != network.units:
            raise ValueError(
                f"The fitted layers have {count_units(self.coefs_)} units, and hidden_layer_sizes and the data ask for "
                f"{network.units}: fit a new model, or set warm_start=False."
            )
        start = join_weights(self.coefs_, self.intercepts_)
        if is_array_api(X):
            start = start if is_array_api(start) else like(start, X)
            return namespace(X).astype(start, X.dtype, copy=True)
        return np.array(on_host(start), dtype=dtype)

    def _minimise(self, network: Network, X: Array, y: Array, weight: Array | None, start: Array) -> MlpFit:
        if self.solver == "levenberg-marquardt" and network.output != "identity":
            raise ValueError(
                "The solver 'levenberg-marquardt' is for sums of squares: MLPRegressor with loss='squared_error'."
            )
        X, y, weight = drop_zero_weights(X, y, weight)
        return minimise(
            network,
            as_rows(contiguous(X) if is_numpy(X) else X, y, weight),
            float(self.alpha),
            start,
            self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            max_fun=int(self.max_fun),
            time_limit=self.time_limit,
            callback=make_callback(self, X, y, self.max_iter, partial(self._attributes, network)),
        )

    def _fit_epochs(
        self,
        network: Network,
        X: Array,
        y: Array,
        weight: Array | None,
        start: Array,
        random: Any,
        goes_on: bool,
        strata: Array | None,
        held: Validation | None,
        partial_fit: bool,
    ) -> MlpFit:
        kept = None
        if self.early_stopping and held is None:
            kept, held = self._split(X, y, weight, strata, random)
        if weight is not None and not isinstance(X, Table):
            inside = np.flatnonzero(on_host(weight)) if kept is None else kept[on_host(weight)[kept] > 0]
            kept = inside if len(inside) < X.shape[0] else kept
        rule = self._rule(X.shape[0] if kept is None else len(kept))
        score = None if held is None else partial(self._score_held, network, held)
        path = Epochs(
            network,
            as_rows(contiguous(X) if is_numpy(X) else X, y, weight),
            rule,
            start,
            self._progress_of(rule, start, goes_on, partial_fit),
            Patience(float(self.tol), float(self.n_iter_no_change), score),
            random if self.shuffle else None,
            kept,
        )
        fitted = fit_epochs(
            path,
            1 if partial_fit else int(self.max_iter),
            None if partial_fit else self.time_limit,
            self._reporter(X, y, network, partial_fit),
        )
        if path.diverged and not _is_finite(X):
            raise NotFinite
        return fitted

    def _reporter(self, X: Array, y: Array, network: Network, partial_fit: bool) -> Any:
        if partial_fit:
            return None
        callback = make_callback(self, X, y, self.max_iter, partial(self._attributes, network))
        if not self.verbose:
            return callback
        numbers = count(1)

        def report(record: Any, params: Any) -> bool:
            print(f"Iteration {next(numbers)}, loss = {record.objective:.8f}")
            return False if callback is None else callback(record, params)

        return report

    def _progress_of(self, rule: Rule, start: Array, goes_on: bool, partial_fit: bool) -> Progress:
        """Where a fit begins: with the moments of earlier calls in `partial_fit`, without in a warm start."""
        fresh = first_progress(rule, start)
        if not goes_on:
            return fresh
        numbers = getattr(self, "_numbers", None)
        if numbers is None:
            return fresh._replace(seen=int(getattr(self, "t_", 0)))
        steps, rate, best, idle = numbers
        if not partial_fit:
            return fresh._replace(seen=int(self.t_), best=best, idle=int(idle))
        moments = self._moments
        if moments is None or moments.shape != fresh.moments.shape:
            return fresh._replace(seen=int(self.t_), best=best, idle=int(idle))
        xp = namespace(fresh.moments)
        moments = xp.astype(like(moments, start) if is_numpy(moments) else moments, start.dtype, copy=True)
        return Progress(moments, steps, int(self.t_), rate, best, int(idle))

    def _split(
        self, X: Array, y: Array, weight: Array | None, strata: Array | None, random: Any
    ) -> tuple[Integers, Validation]:
        """The samples that are learned from, and validation samples, as scikit-learn splits them."""
        if isinstance(X, Table):
            raise ValueError(
                "early_stopping keeps a part of the rows in memory, and these rows are read from outside: give X_val "
                "and y_val to fit."
            )
        index = np.arange(X.shape[0])
        host = None if strata is None else on_host(strata)
        train, held = train_test_split(index, random_state=random, test_size=self.validation_fraction, stratify=host)
        if len(held) < 2:
            raise ValueError(
                "The validation set is too small. Increase 'validation_fraction' or the size of your dataset."
            )
        take: Callable[[Array], Array] = lambda part: (  # noqa: E731
            namespace(part).take(part, like(held, part), axis=0) if is_array_api(part) else part[held]
        )
        return train, Validation(take(X), take(y), None if weight is None else take(weight))

    def _score_held(self, network: Network, held: Validation, params: Array) -> float:
        outputs = evaluate(network, params, held.X)
        if not bool(namespace(outputs).all(namespace(outputs).isfinite(outputs))):
            return float("nan")
        weight = None if held.weight is None else on_host(held.weight)
        return self._score_of(on_host(outputs), on_host(held.y), weight)

    def _attributes(self, network: Network, params: Array) -> dict[str, Any]:
        layers: list[Layer] = network.split(params)
        return {
            "coefs_": [layer.weights for layer in layers],
            "intercepts_": [layer.biases for layer in layers],
            "n_layers_": len(network.units),
            "n_outputs_": network.units[-1],
            "out_activation_": network.output,
        }

    def _store(
        self, network: Network, fitted: MlpFit, samples: int, goes_on: bool, held: bool, partial_fit: bool
    ) -> None:
        """Set fitted attributes; loss curves of calls that go on are continued."""
        before, scores = ([], []) if not goes_on else (getattr(self, "loss_curve_", []), self._scores_before())
        for name, value in self._attributes(network, fitted.params).items():
            setattr(self, name, value)
        self.n_iter_ = fitted.iterations
        self.loss_curve_ = [*before, *fitted.losses]
        self.loss_ = self.loss_curve_[-1] if self.loss_curve_ else float("nan")
        self.validation_scores_ = [*scores, *fitted.scores] if held else None
        self.best_validation_score_ = max(self.validation_scores_) if self.validation_scores_ else None
        self.best_loss_ = None if held else min(self.loss_curve_, default=float("inf"))
        progress = fitted.progress
        self.t_ = 0 if progress is None else progress.seen
        self._moments, self._numbers = None, None
        if progress is not None:
            self._moments = namespace(progress.moments).asarray(progress.moments, copy=True)
            self._numbers = [progress.steps, progress.rate, progress.best, float(progress.idle)]
        self.certificate_ = fitted.certificate
        self.status_ = fitted.status.value
        self.trace_ = fitted.trace

    def _scores_before(self) -> list[float]:
        return getattr(self, "validation_scores_", None) or []

    def _warn(self, fitted: MlpFit) -> None:
        """Say how a fit ended that did not converge, and what the judge found, where it judged."""
        certificate, words = fitted.certificate, []
        if fitted.status is Status.MAX_ITER:
            name = "Stochastic Optimizer: " if self.solver in EPOCHS else f"{self.solver}: "
            words.append(name + UNFINISHED.format(limit=self.max_iter))
        elif fitted.status in (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED, Status.DIVERGED):
            words.append(fitted.status.message)
        if words:
            if self.solver not in EPOCHS and not certificate.ok:
                words.append(certificate.explain())
            message = f"{type(self).__name__} ({fitted.status.value}): {' '.join(words)}"
            warnings.warn(message, ConvergenceWarning, stacklevel=6)

    def _network(self) -> Network:
        """The fitted network."""
        return Network(count_units(self.coefs_), self.activation, self.out_activation_)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(evaluate, self._network(), join_weights(self.coefs_, self.intercepts_))

    def _check_solver(self) -> bool:
        if self.solver not in EPOCHS:
            raise AttributeError(
                f"partial_fit is only available for stochastic optimizers. {self.solver} is not stochastic."
            )
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
