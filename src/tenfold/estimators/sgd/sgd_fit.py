"""Base of the SGD estimators: parameters to rules, validation samples, fitting and storage."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats, contiguous, is_sparse
from tenfold.data import Table
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback
from tenfold.estimators.parameters import Constraints, boolean, integer, nothing, random_state, real
from tenfold.estimators.predictors import SparsifyMixin
from tenfold.estimators.registration import Source
from tenfold.estimators.validation import as_rows, convert_like, is_plain, require_finite, sum_duplicates
from tenfold.plans.sgd import Held, Patience, Rule, SgdFit, Target, fit, start_at
from tenfold.solvers.loop import Status
from tenfold.stats.derivatives import Params

WHERE: tuple[Source, ...] = ("arrays", "sparse", "files")
INSTEAD = "Steps follow one another, so that rows are read in order, by one machine."


UNFINISHED = "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit."

# parameters of all SGD estimators
SHARED: Constraints = {
    "fit_intercept": (boolean(),),
    "max_iter": (integer(1),),
    "tol": (real(0), nothing()),
    "shuffle": (boolean(),),
    "verbose": (integer(0), boolean()),
    "random_state": (random_state(),),
    "warm_start": (boolean(),),
    "average": (integer(1), boolean()),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}

# parameters of early stopping
STOPPING: Constraints = {
    "early_stopping": (boolean(),),
    "validation_fraction": (real(0, 1, "neither"),),
    "n_iter_no_change": (integer(1),),
}


REPORT_ONLY = {
    "n_iter_": "how many passes the solver took",
    "t_": "one more than the samples that were seen; partial_fit goes on with it",
}


class Online(CallbackSupportMixin, SparsifyMixin):
    """A linear model that is fitted sample by sample."""

    max_iter: int
    tol: float | None
    average: int | bool
    warm_start: bool
    shuffle: bool
    random_state: Any
    time_limit: float | None

    def _rule(self) -> Rule:
        """The rule of the parameters."""
        raise NotImplementedError

    def _bias(self) -> Floats:
        """The intercepts of the learners, from fitted attributes."""
        return np.asarray(self.intercept_, dtype=np.float64).reshape(-1)

    def _put_bias(self, b: Floats, X: Array) -> dict[str, Any]:
        return {"intercept_": convert_like(b, X)}

    def _learn(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        targets: Sequence[Target],
        start: tuple[Any, Any] | None,
        *,
        held: Held | None = None,
        skip: Array | None = None,
    ) -> None:
        """Fit from `start`, weights and intercepts, or take one more epoch (None) from the fitted state."""
        rule, partial = self._rule(), start is None
        coef, b = self._now() if start is None else start
        state = start_at(coef, b)
        if partial:
            state = start_at(*(self._standard if rule.average and hasattr(self, "_standard") else (coef, b)), self.t_)
            if rule.average and hasattr(self, "_average"):
                state = start_at(*state.last, self.t_, self._average)
        patience = Patience(self.tol, getattr(self, "n_iter_no_change", 5))
        rows = as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, y, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit(
                rows,
                rule,
                targets,
                state,
                max_iter=1 if partial else int(self.max_iter),
                patience=patience,
                held=held,
                skip=skip,
                time_limit=None if partial else self.time_limit,
                callback=None
                if partial
                else make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
            ),
        )
        self._store(fitted, rule, X, in_place=partial)
        if not partial:
            self._warn(fitted)

    def _now(self) -> tuple[Any, Any]:
        coef = self.coef_.toarray() if is_sparse(self.coef_) else np.asarray(self.coef_)
        return np.atleast_2d(coef), self._bias()

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        coef, b = params
        return {"coef_": convert_like(coef[0] if self._flat else coef, X), **self._put_bias(b, X)}

    def _store(self, fitted: SgdFit, rule: Rule, X: Array, *, in_place: bool) -> None:
        """Set fitted attributes; `in_place`, as in scikit-learn's partial_fit, into existing arrays."""
        for name, value in self._attributes(fitted.params, X).items():
            now: Any = vars(self).get(name)
            if in_place and _holds(now, value):
                now[...] = value
            else:
                setattr(self, name, value)
        self.n_iter_ = int(fitted.iterations or 0)
        self.t_ = float(fitted.state.t)
        self.certificate_ = fitted.certificate
        self.status_ = fitted.status.value
        self.trace_ = fitted.trace
        for name in ("_standard", "_average"):
            self.__dict__.pop(name, None)
        if rule.average:
            self._standard, self._average = fitted.state.last, fitted.state.average

    def _warn(self, fitted: SgdFit) -> None:
        if self.tol is not None and fitted.status is Status.MAX_ITER:
            message = UNFINISHED
        elif fitted.status in (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED):
            message = fitted.status.message
        else:
            return
        name = f"{type(self).__name__} ({fitted.status.value})"
        warnings.warn(f"{name}: {message}", ConvergenceWarning, stacklevel=6)

    def _initial_parameters(self, coef_init: Any, intercept_init: Any, learners: int, columns: int) -> tuple[Any, Any]:
        """The start of a fit: given parameters, else those of a warm start, else zero."""
        if self.warm_start and hasattr(self, "coef_"):
            coef, b = self._now()
            coef_init = coef if coef_init is None else coef_init
            intercept_init = b if intercept_init is None else intercept_init
        coef = np.zeros((learners, columns)) if coef_init is None else np.asarray(coef_init, dtype=np.float64)
        b = self._first_bias(learners) if intercept_init is None else np.asarray(intercept_init, dtype=np.float64)
        if learners == 1 and coef.size == columns:
            coef = coef.reshape(1, columns)
        if coef.shape != (learners, columns):
            raise ValueError(
                f"Provided coef_init does not match dataset. Its shape is {coef.shape}, expected {(learners, columns)}."
            )
        if b.shape != (learners,) and not (learners == 1 and b.shape == ()):
            raise ValueError(
                f"Provided intercept_init does not match dataset. Its shape is {b.shape}, expected {(learners,)}."
            )
        return coef, b.reshape(learners)

    def _first_bias(self, learners: int) -> Floats:
        return np.zeros(learners)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _holds(now: Any, value: Array) -> bool:
    """Whether `value` can be written into `now` without a change of its kind."""
    alike = type(now) is np.ndarray and type(value) is np.ndarray
    return alike and now.shape == value.shape and now.dtype == value.dtype and now.flags.writeable


def check_together(model: Any, partial: bool = False) -> None:
    """scikit-learn's checks of parameter combinations."""
    if getattr(model, "early_stopping", False) and partial:
        raise ValueError("early_stopping should be False with partial_fit")
    if model.learning_rate == "optimal" and getattr(model, "alpha", 1.0) == 0:
        raise ValueError(
            "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the optimal learning rate."
        )
    if getattr(model, "penalty", None) == "elasticnet" and model.l1_ratio is None:
        raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")


def warn_negative_power(model: Any) -> None:
    if model.power_t < 0:
        warnings.warn(
            "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. "
            "Use values in the range [0.0, inf) instead.",
            FutureWarning,
            stacklevel=6,
        )


def make_rule(model: Any, loss: str) -> Rule:
    """The rule of scikit-learn's parameters of penalty and schedule."""
    return Rule(
        loss=loss,
        epsilon=float(model.epsilon),
        penalised=model.penalty is not None,
        alpha=float(model.alpha),
        l1_ratio={"l1": 1.0, "elasticnet": float(model.l1_ratio or 0.0)}.get(model.penalty, 0.0),
        schedule=model.learning_rate,
        eta0=float(model.eta0),
        power_t=float(model.power_t),
        intercept=bool(model.fit_intercept),
        average=int(model.average),
        batch=int(model.batch_size),
    )


def validate_part(model: Any, X: Any, y: Any, validated: Any) -> tuple[Array, Array]:
    """X and y of a `partial_fit` by `validated`: the first call sets the columns, later ones must have the same."""
    if not hasattr(model, "t_"):
        return validated(model, X, y)
    if isinstance(X, Table):
        model._registration.check_source(type(model).__name__, X)
    known = {name: vars(model)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(model)}
    if not isinstance(X, Table) and not (is_plain(X) and len(known) == 1):  # else there are no names to compare
        validate_data(model, X, reset=False, skip_check_array=True)
    X, y = validated(model, X, y)
    given = X.shape[1]
    vars(model).update(known)
    if given != model.n_features_in_:
        raise ValueError(
            f"X has {given} features, but {type(model).__name__} is expecting {model.n_features_in_} features as input."
        )
    return X, y


def validate_held(model: Any, X_val: Any, y_val: Any) -> tuple[Array, Any]:
    """Validate samples of early stopping against the features of the fit."""
    if isinstance(X_val, Table):
        y_val = X_val.y if y_val is None else y_val
        X_val = X_val.load()
    if y_val is None:
        raise ValueError("X_val was given without y_val: give both, or neither.")
    X_val, y_val = validate_data(
        model, X_val, y_val, reset=False, accept_sparse="csr", dtype=list(FLOATS), y_numeric=False
    )
    return sum_duplicates(X_val), y_val


def split_validation(splitter: Any, X: Array, y: Array, weight: Array | None, fraction: float) -> tuple[Any, Array]:
    """The validation samples of scikit-learn's splitter: indices and a mask (n,)."""
    if isinstance(X, Table):
        raise ValueError(
            "early_stopping keeps a part of the rows in memory, and these rows are read from outside: give X_val and "
            "y_val to fit."
        )
    n = X.shape[0]
    train, held = next(splitter.split(np.zeros((n, 1)), y))
    if weight is not None and not np.any(weight[held]):
        raise ValueError("The sample weights for validation set are all zero, consider using a different random state.")
    if train.size == 0 or held.size == 0:
        raise ValueError(
            f"Splitting {n} samples into a train set and a validation set with validation_fraction={fraction!r} led to "
            f"an empty set ({train.size} and {held.size} samples). Please either change validation_fraction, increase "
            "number of samples, or disable early_stopping."
        )
    mark = np.zeros(n, dtype=np.uint8)
    mark[held] = 1
    return held, mark


def take_validation(X: Array, y: Array, weight: Array | None, held: Array) -> Held:
    return Held(X[held], np.asarray(y[held], dtype=np.float64), None if weight is None else weight[held])
