"""Base of the perceptrons: validation, sample orders, partial fits, and fitted attributes."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from tenfold.arrays import Array, Floats, Integers, contiguous
from tenfold.data import Rows
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback
from tenfold.estimators.class_labels import (
    as_vector,
    check_label_indices,
    check_labels,
    class_seeds,
    compute_class_weights,
    encode_labels,
    take_classes,
)
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import ScoreMixin, SparsifyMixin
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    validate,
    validate_more,
    validate_weights,
)
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.plans.perceptron import Limits, PerceptronFit
from tenfold.problems import Separation
from tenfold.solvers.loop import Status
from tenfold.solvers.perceptron import Course
from tenfold.stats.derivatives import Params

WHERE: tuple[Source, ...] = ("arrays", "sparse", "files")
INSTEAD = "It looks at one row after the other: bring the rows to this machine, or take LogisticRegression."
UNFINISHED = {status.value: status.message for status in (Status.MAX_ITER, Status.TIME_LIMIT, Status.STOPPED)}
UNFINISHED |= {Status.INTERRUPTED.value: Status.INTERRUPTED.message}
PART = "The rows came in parts, of which the model knows the last: call tenfold.certify(model, X, y) with all of them."


REPORT_ONLY = {
    "n_iter_": "how many passes the solver took",
    "t_": "how many samples the solver has seen",
    "n_mistakes_": "how many mistakes the solver learned from, in the order of its passes",
}


class Mistaken(ScoreMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the three perceptrons: sequential updates, multiclass, partial fits."""

    _registration: ClassVar[Registration]
    _constraints: ClassVar[Constraints]
    classes_: Array
    t_: float

    def _course(self, *, parts: bool, rows: int = 2) -> Course:
        """The course of a fit; a single sample needs no seed, which would cost as much as its update."""
        mixed = bool(self.shuffle) and rows > 1
        seeds = class_seeds(self.random_state, len(self.classes_)) if mixed else []
        return Course(
            eta=float(self.eta0),
            batch=getattr(self, "mode", "online") == "batch",
            normalise=bool(self.normalize),
            shuffle=bool(self.shuffle),
            seed=seeds[0] if seeds else 0,
            seeds=tuple(seeds),
            tol=None if self.tol is None or parts else float(self.tol),
            patience=int(self.n_iter_no_change),
            keep=bool(getattr(self, "record", False)),
        )

    def _all_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Integers, Floats | None]:
        """Validate X, y, class indices and weights of a fit; sets `classes_`."""
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, label = encode_labels(as_vector(y), X)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class: "
                f"{self.classes_[0]!r}."
            )
        weight = validate_weights(sample_weight, X)
        if weight is not None and len(np.unique(label[weight > 0.0])) < 2:
            raise ValueError("The rows of positive weight are of one class; a classifier needs two.")
        return X, y, label, weight

    def _part(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Array, Integers, Floats | None]:
        """As above, for a partial fit; `classes_` is set by the first."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight {self.class_weight!r} is not supported for partial_fit: a part does not tell how many "
                "rows each class has. Give the weights of the classes as a dict."
            )
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if not first and classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit: {self.classes_!r}")
        X, y = validate_more(self, X, y, first=first, numeric=False, multi_output=False)
        check_labels(y)
        if first:
            self.classes_ = np.unique(classes)
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class.")
        return X, check_label_indices(self.classes_, y, X), validate_weights(sample_weight, X)

    def _rows(self, X: Array, label: Integers, weight: Floats | None) -> Rows:
        weight = weights_of_rows(self, label, weight)
        return as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, label, weight)

    def _limits(self, X: Array, y: Array) -> Limits:
        callback = make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X))
        return Limits(int(self.max_iter), self.time_limit, callback)

    def _one_pass(self) -> Limits:
        return Limits(1)

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        return {"coef_": convert_like(params.coef, X), "intercept_": convert_like(params.intercept, X)}

    def _store(self, fitted: PerceptronFit, X: Array) -> None:
        """Set the fitted attributes, and warn where a limit ended the fit."""
        for name, value in self._attributes(fitted.params, X).items():
            setattr(self, name, value)
        self._last = fitted.last
        self.n_iter_ = fitted.iterations
        self.certificate_ = fitted.certificate
        self.status_ = fitted.certificate.status
        self.trace_ = list(fitted.trace)
        self.n_mistakes_ = fitted.mistakes
        self.t_ = 1.0 + fitted.iterations * X.shape[0]
        unlimited = self.tol is None and self.status_ == Status.MAX_ITER.value
        if not fitted.certificate.ok and self.status_ in UNFINISHED and not unlimited:
            message = f"{fitted.certificate.explain()} {UNFINISHED[self.status_]}"
            warnings.warn(f"{type(self).__name__} ({self.status_}): {message}", ConvergenceWarning, stacklevel=4)

    def _store_part(self, fitted: PerceptronFit, X: Array) -> None:
        before = getattr(self, "t_", 1.0), getattr(self, "n_mistakes_", 0)
        for name, value in self._attributes(fitted.params, X).items():
            setattr(self, name, value)
        self._last = fitted.last
        self.n_iter_ = fitted.iterations
        self.status_ = NOT_JUDGED
        self.certificate_ = Certificate(
            "count", np.inf, 1.0, RULES["count"].tol, 0.0, np.inf, status=NOT_JUDGED, note=PART
        )
        self.t_ = before[0] + X.shape[0]
        self.n_mistakes_ = None if fitted.mistakes is None else before[1] + fitted.mistakes
        if not isinstance(getattr(self, "trace_", None), list):
            self.trace_ = list(getattr(self, "trace_", ()))
        self.trace_.extend(fitted.trace)  # last, and not copied: partial_fit may be called for each sample

    def _start(self, p: int) -> Params:
        """The weights after the last sample, or zero."""
        t = problem_of(self).targets
        if not hasattr(self, "_last"):
            return Params(np.zeros((t, p)), np.zeros(t))
        if self._last.coef.shape != (t, p):
            raise ValueError(
                f"The weights to go on from are of shape {self._last.coef.shape}, this problem needs {(t, p)}: fit "
                "with warm_start=False."
            )
        return self._last

    def _forget(self) -> None:
        """Delete the state of an earlier fit, except for a warm start."""
        keep = {"_last", "_memory", "_voters"} if self.warm_start else set()
        for name in [name for name in vars(self) if name in ("_last", "_memory", "_voters", "mistakes_")]:
            if name not in keep:
                delattr(self, name)

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (n,): of two, the second where its score is positive; of more, that of the
        largest.
        """
        z = self.decision_function(X)
        if z.ndim == 1:
            return take_classes(self.classes_, z >= 0 if self.tie == "positive" else z > 0)
        if self.tie == "positive":
            return take_classes(self.classes_, z.shape[1] - 1 - np.argmax(z[:, ::-1], axis=1))
        return take_classes(self.classes_, np.argmax(z, axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Linear(SparsifyMixin):
    """Linear scores, and storage of their weights."""

    def decision_function(self, X: Any) -> Array:
        """Scores ``X w + b``: (n,) of two classes, else (n, classes)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z


def problem_of(model: Any) -> Separation:
    """The problem of a perceptron of tenfold, or of scikit-learn with its defaults."""
    classes = len(model.classes_)
    multiclass = classes > 2 and getattr(model, "multi_class", "joint" if hasattr(model, "tie") else "ovr") == "joint"
    return Separation(classes, multiclass, bool(model.fit_intercept), getattr(model, "tie", "mistake") == "positive")


def weights_of_rows(model: Any, label: Integers, weight: Floats | None) -> Floats | None:
    """Sample weights times class weights; "balanced" counts samples regardless of weights, as in scikit-learn."""
    if model.class_weight is None:
        return weight
    factor = compute_class_weights(model.class_weight, model.classes_, label, None)[label]
    return factor if weight is None else weight * factor


COMMON: Constraints = {
    "fit_intercept": (boolean(),),
    "max_iter": (integer(1),),
    "tol": (real(0), nothing()),
    "shuffle": (boolean(),),
    "verbose": (integer(0), boolean()),
    "eta0": (real(0, np.inf, "neither"),),
    "random_state": (random_state(),),
    "n_iter_no_change": (integer(1),),
    "class_weight": (instance(dict), choice("balanced"), nothing()),
    "warm_start": (boolean(),),
    "tie": (choice("mistake", "positive"),),
    "normalize": (boolean(),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}
