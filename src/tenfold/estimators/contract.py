"""The contract with scikit-learn, once: arrays in, `Rows` out; weights, names, callbacks and the prediction of linear
models.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from numbers import Number
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.callback import with_callbacks as sklearn_with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import (
    FLOATS,
    Array,
    Floats,
    contiguous,
    is_dask,
    is_foreign,
    is_numpy,
    is_sparse,
    like,
    namespace,
    numpy_dtype,
    on_host,
)
from tenfold.data import BatchRows, Block, MemoryRows, NotFinite, Rows, Table
from tenfold.estimators import foreign
from tenfold.plans import Fitted
from tenfold.solvers.loop import Record, Status, Watch
from tenfold.stats import Params, times

__all__ = [
    "CallbackSupportMixin",
    "Claims",
    "LinearPredictor",
    "Predictor",
    "Scored",
    "all_or_nothing",
    "as_rows",
    "beside",
    "canonical",
    "chosen_classes",
    "class_factors",
    "counted",
    "encoded",
    "factor_of_each",
    "follow",
    "kept_rows",
    "names_of",
    "numbered",
    "own_target",
    "refuse_not_finite",
    "remember_columns",
    "rows_alone",
    "rowwise",
    "store",
    "total_weight",
    "unknown_classes",
    "validate",
    "validate_more",
    "validate_rows",
    "validate_weights",
    "warn_unless_certified",
    "watcher",
    "weights_by_class",
    "with_callbacks",
    "without_names",
]

Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")


def with_callbacks(method: Method) -> Method:
    """scikit-learn's decorator for a `fit` that tells callbacks of its progress; the end of the fit is told here."""

    @wraps(method)
    def fit(estimator: Any, X: Any, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        fitted = method(estimator, X, y, *args, **kwargs)
        context = getattr(estimator, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: _fitted_attributes(estimator)
            )
        return fitted

    return cast(Method, sklearn_with_callbacks(fit))


def all_or_nothing(method: Method) -> Method:
    """A `fit` that raises leaves the estimator as it was: unfitted, or with its earlier fit."""

    @wraps(method)
    def fit(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return cast(Method, fit)


def _fitted_attributes(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def _cluster() -> Any:
    """What knows Dask; imported when the first collection of Dask's comes."""
    from tenfold.estimators import cluster

    return cluster


SOURCES = {
    "arrays": "NumPy arrays and memory maps",
    "sparse": "SciPy's sparse matrices and arrays",
    "files": "Parquet, CSV, Arrow and .npy files, frames, iterables (`tenfold.rows`)",
    "Dask": "Dask arrays and data frames",
    "devices": "torch (CPU and CUDA), CuPy, and every library of the Array API",
}
"""Where rows may be: what a method that reads them by folds reads."""


def source_of(X: Any) -> str:
    """Where these rows are, a key of `SOURCES`."""
    if is_dask(X):
        return "Dask"
    if is_foreign(X):
        return "devices"
    if isinstance(X, Table):
        return "files"
    return "sparse" if is_sparse(X) else "arrays"


@dataclass(frozen=True)
class Claims:
    """What a class claims, for the tables of methods: its method in words, how it reads data, its certificate, sources
    in the texts, counterpart, where the rows may be (`SOURCES`), and what to use instead where they may not.
    """

    method: str
    data: str
    certificate: str
    sources: str
    peer: str
    where: tuple[str, ...] = tuple(SOURCES)
    instead: str = ""

    def refuse(self, name: str, X: Any) -> None:
        """Refuse rows that are where the class does not claim to read them."""
        source = source_of(X)
        if source not in self.where:
            read = ", ".join(SOURCES[where] for where in self.where)
            raise TypeError(f"{name} does not read {SOURCES[source]}; it reads {read}. {self.instead}".rstrip())


def is_plain(X: Any) -> bool:
    """Whether X is a dense NumPy array, or a memory map of one, that needs no conversion."""
    plain = type(X) is np.ndarray or type(X) is np.memmap
    return plain and X.ndim == 2 and X.dtype in FLOATS and X.shape[0] > 0 and X.shape[1] > 0


def validate(estimator: Any, X: Any, y: Any, *, numeric: bool = True, multi_output: bool = True) -> tuple[Array, Array]:
    """X dense or CSR in float32 or float64, or a table, and y, checked as scikit-learn does.

    A plain array or a table is not searched for values that are not finite: the first pass over the rows finds them
    (`refuse_not_finite`). Rows where the estimator does not claim to read them are refused.
    """
    if hasattr(estimator, "_claims"):
        estimator._claims.refuse(type(estimator).__name__, X)
    if is_dask(X):
        return _cluster().validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if is_foreign(X):
        return foreign.validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if isinstance(X, Table):
        return X, _target_of(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if (
        is_plain(X)
        and type(y) is np.ndarray
        and y.ndim in (1, 2)
        and y.dtype.kind == "f"
        and (multi_output or y.ndim == 1)
    ):
        check_consistent_length(X, y)
        if np.isfinite(y).all():
            return without_names(estimator, X), y
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=list(FLOATS),
        ensure_all_finite=finiteness(estimator),
        multi_output=multi_output,
        y_numeric=numeric,
    )
    return canonical(X), y


def validate_rows(estimator: Any, X: Any) -> Array:
    """X without a target, as `validate` has it; the target of a table is not looked at."""
    if hasattr(estimator, "_claims"):
        estimator._claims.refuse(type(estimator).__name__, X)
    if is_dask(X):
        return _cluster().validate_rows(estimator, X)
    if is_foreign(X):
        X = foreign.matrix(estimator, X)
        return without_names(estimator, X)
    if isinstance(X, Table):
        remember_columns(estimator, X)
        return X
    if is_plain(X):
        return without_names(estimator, X)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finiteness(estimator))
    return canonical(X)


def rows_alone(X: Array, weight: Array | None) -> Rows:
    """Rows without targets: they are zero."""
    if is_dask(X):
        return _cluster().rows_alone(X, weight)
    return as_rows(X, np.zeros(X.shape[0]), weight)


def finiteness(estimator: Any) -> Any:
    """Whether all values must be finite, or some may be missing, in scikit-learn's words."""
    return "allow-nan" if getattr(estimator, "_missing", False) else True


def validate_more(
    estimator: Any, X: Any, y: Any, *, first: bool, numeric: bool = True, multi_output: bool = True
) -> tuple[Array, Array]:
    """X and y of a `partial_fit`: the first sets the columns, later ones must have the same."""
    known, names = getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None)
    X, y = validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if first or known is None:
        return X, y
    given, given_names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    estimator.n_features_in_ = known
    if names is not None:
        estimator.feature_names_in_ = names
    if given != known:
        raise ValueError(
            f"X has {given} features, but {type(estimator).__name__} is expecting {known} features as input."
        )
    if names is not None and given_names is not None and list(names) != list(given_names):
        raise ValueError("The feature names should match those that were passed before.")
    return X, y


def without_names(estimator: Any, X: Array) -> Array:
    """A plain array X, of which the estimator remembers the number of columns: scikit-learn's own way there asks
    whether it is a data frame, which takes a tenth of a small fit.
    """
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return X


def _target_of(estimator: Any, table: Table, y: Any, *, numeric: bool, multi_output: bool) -> Array:
    """The target of a table, or the one given beside it; sets the number and the names of the columns."""
    y = _own(table.y, y, "y", "target")
    if y is None:
        raise ValueError("These rows have no target: name its column, tenfold.rows(..., target=...), or give y.")
    if numeric and table.y is not None and table.y.dtype.kind == "U":
        _refuse_text(table)
    remember_columns(estimator, table)
    y = check_array(y, ensure_2d=False, dtype="numeric" if numeric else None, input_name="y", estimator=estimator)
    if y.ndim == 2 and not multi_output:
        y = column_or_1d(y, warn=True)
    check_consistent_length(table, y)
    return y


def _refuse_text(table: Table) -> None:
    """Name the first value of a text target that is not a number."""
    values = np.asarray(table.y).reshape(len(table), -1)
    for row, column in np.ndindex(values.shape):
        try:
            float(values[row, column])
        except ValueError:
            text = str(values[row, column])
            raise ValueError(f"The target is text, not numbers: {table.place_of_row(row)} has {text!r}.") from None


def _own(own: Array | None, given: Any, name: str, role: str) -> Any:
    """What belongs to a table, or what was given beside it, but not both."""
    if own is not None and given is not None:
        raise ValueError(f"These rows have a {role} of their own: give {name} or the {role}, not both.")
    return own if given is None else given


def own_target(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Target and weights to score with: a table may bring its own."""
    if not isinstance(X, Table):
        return y, sample_weight
    return _own(X.y, y, "y", "target"), _own(X.weight, sample_weight, "sample_weight", "weight")


def remember_columns(estimator: Any, table: Table) -> None:
    """Set the number and the names of the columns."""
    estimator.n_features_in_ = table.shape[1]
    if table.feature_names is not None:
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    else:
        estimator.__dict__.pop("feature_names_in_", None)


def canonical(X: Array) -> Array:
    """Sparse rows without repeated entries, in index and value types that a compiled loop reads."""
    if not is_sparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def validate_weights(sample_weight: Any, X: Array) -> Array | None:
    """Weights (n,) in float64: finite, not negative, not all zero; None stays None, but for a table with weights."""
    if isinstance(X, Table):
        sample_weight = _own(X.weight, sample_weight, "sample_weight", "weight")
    if sample_weight is None:
        return None
    if is_dask(X):
        return _cluster().validate_weights(sample_weight, X)
    n = X.shape[0]
    if is_foreign(sample_weight):
        foreign.refuse_elsewhere(X, sample_weight, "sample_weight")
        if tuple(sample_weight.shape) == (n,) and (weight := foreign.weights(sample_weight)) is not None:
            return weight
        return like(validate_weights(on_host(sample_weight), np.zeros((n, 1))), X)
    if isinstance(sample_weight, Number):
        weight = np.full(n, float(sample_weight))  # type: ignore[arg-type]
    else:
        weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weight.ndim}D array. "
            f"Expected either a scalar value or a 1D array of length {n}."
        )
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if np.any(weight < 0):
        raise ValueError("Negative values in data passed to `sample_weight`: weights must be at least zero.")
    if not np.any(weight > 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return like(weight, X) if is_foreign(X) else weight


def beside(values: Any, X: Array, name: str) -> Array:
    """Finite numbers (n,) in float64 beside the rows of a cluster."""
    return _cluster().beside(values, X, name)


def total_weight(y: Array, weight: Array | None) -> float:
    """The sum of the weights of the rows of y."""
    return float(y.shape[0] if weight is None else on_host(namespace(weight).sum(weight)))


def as_rows(X: Array, y: Array, weight: Array | None) -> Rows:
    """Rows with targets (n, t) in float64."""
    if is_dask(X):
        return _cluster().as_rows(X, y, weight)
    if is_foreign(X):
        xp = namespace(X)
        y = xp.astype(like(y, X) if not is_foreign(y) else y, xp.float64, copy=False)
        return MemoryRows(X, y[:, None] if y.ndim == 1 else y, weight)
    y = np.asarray(y, dtype=np.float64)
    y = contiguous(y[:, None] if y.ndim == 1 else y)
    return BatchRows(X, y, weight) if isinstance(X, Table) else MemoryRows(X, y, weight)


def counted(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """The rows of positive weight: a row of weight zero is a removed row, for whoever samples the rows too."""
    if weight is None or isinstance(X, Table) or is_foreign(X) or weight.all():
        return X, y, weight
    inside = weight > 0
    return X[inside], y[inside], weight[inside]


LITTLE = 1 << 12
"""Whole numbers in a range of this width are counted, not sorted."""


def kept_rows(X: Array, y: Array, weight: Array | None) -> Rows:
    """The rows of positive weight, for many passes: an array in another order is put in C order once."""
    X, y, weight = counted(X, y, weight)
    return as_rows(contiguous(X), y, weight)


def encoded(y: Array, X: Array) -> tuple[Array, Array]:
    """The classes of y, sorted, and the number of each row's class, where X lives (labels of text stay on the host)."""
    if is_dask(y):
        return _cluster().encoded(y)
    if is_foreign(y):
        return _of_two(y) or tuple(namespace(y).unique_inverse(y))
    found = _counted_classes(y) if y.dtype.kind in "biu" and y.size else None
    classes, number = np.unique(y, return_inverse=True) if found is None else found
    return classes, like(number, X) if is_foreign(X) else number


def _of_two(y: Array) -> tuple[Array, Array] | None:
    """Two classes of numbers on a device, where sorting is as dear as a few passes."""
    if not (xp := namespace(y)).isdtype(y.dtype, ("integral", "real floating")):
        return None
    low, high = xp.min(y), xp.max(y)
    second = y == high
    if not bool(xp.all(second | (y == low)) & (low != high)):
        return None
    return xp.stack([low, high]), xp.astype(second, xp.int64)


def _counted_classes(y: Array) -> tuple[Array, Array] | None:
    """Classes and numbers of labels that are whole numbers close together, without sorting them."""
    low, high = y.min(), y.max()
    if int(high) - int(low) >= LITTLE:
        return None
    away = (y != low).astype(np.int64) if y.dtype.kind == "b" else y.astype(np.int64) - int(low)
    present = np.flatnonzero(np.bincount(away))
    place = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    place[present] = np.arange(len(present))
    classes = np.array([low, high])[: len(present)] if y.dtype.kind == "b" else (present + int(low)).astype(y.dtype)
    return classes, place[away]


def numbered(classes: Array, y: Array, X: Array) -> Array:
    """The number of each row's class among known ones, where X lives."""
    if is_dask(y):
        return _cluster().numbered(on_host(classes), y)
    found = np.searchsorted(on_host(classes), on_host(y))
    return like(found, X) if is_foreign(X) else found


def unknown_classes(classes: Array, y: Array) -> Array:
    """The values of y that are no classes."""
    return _cluster().unknown(on_host(classes), y) if is_dask(y) else np.setdiff1d(on_host(y), on_host(classes))


def chosen_classes(classes: Array, number: Array) -> Array:
    """classes[number], where the classes live, or the rows of a cluster; two classes may be numbered by bool."""
    if is_dask(number):
        return _cluster().rowwise(partial(chosen_classes, classes), number)
    if not is_foreign(classes):
        return classes[on_host(number).astype(np.intp)]
    xp = namespace(number)
    return xp.take(classes, xp.astype(number, xp.int64))


def rowwise(f: Callable[..., Array], *values: Array) -> Array:
    """f of arrays of the same rows; of Dask arrays chunk by chunk, and not computed yet."""
    return _cluster().rowwise(f, *values) if is_dask(values[0]) else f(*values)


def class_factors(class_weight: Any, classes: Array, number: Array, weight: Array | None) -> Array:
    """scikit-learn's weight of each class, from the weights of their rows (or how many there are)."""
    names = on_host(classes)
    sums = weights_by_class(len(names), number, weight)
    found = compute_class_weight(class_weight, classes=names, y=names, sample_weight=sums)
    return np.asarray(found, dtype=np.float64)


def weights_by_class(count: int, number: Array, weight: Array | None) -> Floats:
    """The sum of the weights of each class's rows, or how many there are."""
    if is_dask(number):
        return np.array([*map(float, _cluster().sums_by_class(number, weight, count))])
    if is_numpy(number):
        return np.bincount(number, weights=weight, minlength=count).astype(np.float64)
    xp, parts = namespace(number), [number == k for k in range(count)]
    sums = [xp.count_nonzero(part) if weight is None else xp.sum(xp.where(part, weight, 0.0)) for part in parts]
    return on_host(xp.stack(sums)).astype(np.float64)


def factor_of_each(factors: Floats, number: Array) -> Array:
    """The factor of each row's class, where the rows are."""
    if is_dask(number):
        return chosen_classes(factors, number)
    return namespace(number).take(like(factors, number), number)


def refuse_not_finite(estimator: Any, X: Any, work: Callable[[], Result]) -> Result:
    """Do `work`; if it met a value that is not finite, raise scikit-learn's own error for it, or what `work` says."""
    try:
        return work()
    except NotFinite as reason:
        if isinstance(X, Table):
            place = X.place_of(lambda part: ~np.isfinite(part))
            if place is not None:
                raise ValueError(f"Input X contains NaN or infinity: {place}.") from None
        elif is_dask(X):
            _cluster().refuse_not_finite(estimator, X)
        elif is_foreign(X):
            if not bool(namespace(X).all(namespace(X).isfinite(X))):
                raise ValueError("Input X contains NaN or infinity.") from None
        else:
            check_array(X, accept_sparse=True, dtype=None, input_name="X", estimator=estimator)
        raise ValueError(
            str(reason)
            or "Input X holds values so large that sums of their products overflow. Divide the columns by their "
            "largest value."
        ) from None


def names_of(estimator: Any) -> tuple[str, ...]:
    """Names of the columns: those of the data frame, or x0, x1, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(map(str, names)) if names is not None else tuple(f"x{j}" for j in range(estimator.n_features_in_))


FEW = 4096
"""Predictions from fewer entries are not worth the call of a compiled loop."""


class Predictor:
    """What a fitted model says of each row, wherever the rows are."""

    _missing: ClassVar[bool] = False
    """Whether values may be missing."""

    def _of_rows(self, few: bool) -> Callable[[Array], Array]:
        """A function of rows that were checked, dense or CSR or of another library: it goes to where they are. With
        `few` of them a compiled loop is not worth its call.
        """
        raise NotImplementedError

    def _raw(self, X: Any, of_rows: Callable[[bool], Callable[[Array], Array]] | None = None) -> Array:
        """What `_of_rows`, or another one, says of the rows."""
        check_is_fitted(self)
        of_rows = self._of_rows if of_rows is None else of_rows
        if isinstance(X, Table):
            return self._raw_of_table(X, of_rows)
        if is_dask(X):
            return _cluster().predictions(self, X, of_rows(False))
        if is_foreign(X):
            return of_rows(False)(foreign.to_predict(self, X))
        if not (is_plain(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")):  # type: ignore[attr-defined]
            finite = finiteness(self)
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finite, reset=False)
        elif not np.isfinite(X).all():
            check_array(X, ensure_all_finite=finiteness(self), input_name="X", estimator=self)
        return of_rows(X.shape[0] * X.shape[1] < FEW)(canonical(X) if is_sparse(X) else contiguous(X))

    def _raw_of_table(self, table: Table, of_rows: Callable[[bool], Callable[[Array], Array]]) -> Array:
        """Predictions of all rows, in memory; a table without names is taken by position."""
        names = getattr(self, "feature_names_in_", None)
        if table.shape[1] != self.n_features_in_:  # type: ignore[attr-defined]
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."  # type: ignore[attr-defined]
            )
        if names is not None and table.feature_names is not None and list(names) != list(table.feature_names):
            raise ValueError(
                "The feature names should match those that were passed during fit: name the columns of the table in "
                f"this order, tenfold.rows(..., columns={list(names)})."
            )
        # all blocks go the same way, so that bits do not change
        f = of_rows(table.shape[0] * table.shape[1] < FEW)

        def predictions(block: Block) -> Array:
            if not self._missing and not np.isfinite(block.X.data if is_sparse(block.X) else block.X).all():
                raise NotFinite
            return f(block.X)

        rows = BatchRows(table, np.zeros((table.shape[0], 0)))
        return refuse_not_finite(self, table, lambda: rows.map(predictions))


class LinearPredictor(Predictor):
    """Raw predictions of a linear model with `coef_` (p,) or (t, p) and `intercept_`."""

    coef_: Array
    intercept_: Array

    def _of_rows(self, few: bool) -> Callable[[Array], Array]:
        coef = self.coef_.toarray() if is_sparse(self.coef_) else on_host(self.coef_)
        return partial(_linear, coef, on_host(self.intercept_), few)


def _linear(coef: Array, intercept: Array, few: bool, X: Array) -> Array:
    """``X w + b`` in the dtype of X, or of the weights where that is wider."""
    dtype = X.dtype if is_foreign(X) else np.result_type(X.dtype, coef.dtype)
    if few and is_numpy(X):
        return (X @ coef.T + intercept).astype(dtype, copy=False)
    flat, coef = coef.ndim == 1, np.atleast_2d(coef)
    params = Params(
        np.ascontiguousarray(coef, dtype=np.float64),
        np.ascontiguousarray(np.broadcast_to(intercept, coef.shape[:1]), dtype=np.float64),
    )
    z = times(X, params)
    z = namespace(z).astype(z, dtype, copy=False)
    return z[:, 0] if flat else z


class Scored:
    """scikit-learn's `score`, for tables too; stands before its mixins."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """scikit-learn's score, R^2 or accuracy; a table brings its own target and weights."""
        y, sample_weight = own_target(X, y, sample_weight)
        if is_dask(X):
            return _cluster().score(self, X, y, sample_weight)
        if is_foreign(X):
            return foreign.score(self, X, y, validate_weights(sample_weight, X))
        return float(super().score(X, y, sample_weight=sample_weight))  # type: ignore[misc]


def store(estimator: Any, fitted: Fitted, X: Array, *, coef_flat: bool, intercept_flat: bool, intercept: bool) -> None:
    """Set `coef_`, `intercept_` and `certificate_`, flat where scikit-learn has no axis of targets; where X lives."""
    coef, b = fitted.params
    estimator.coef_ = follow(coef[0] if coef_flat else coef, X)
    estimator.intercept_ = follow(b[0] if intercept_flat else b, X) if intercept else 0.0
    estimator.certificate_ = fitted.certificate


ADVICE = {status.value: status.message for status in Status if status is not Status.NO_MAXIMUM}
"""What to do after a fit that is not certified; where there is no maximum the certificate says it."""


def warn_unless_certified(estimator: Any) -> None:
    """A ConvergenceWarning with the certificate's sentence, and what to do, where a fit is not certified."""
    certificate = estimator.certificate_
    if not certificate.ok:
        advice = ADVICE.get(certificate.status, "")
        message = f"{type(estimator).__name__} ({certificate.status}): {certificate.explain()} {advice}"
        warnings.warn(message.rstrip(), ConvergenceWarning, stacklevel=5)


def follow(array: Array, X: Array) -> Array:
    """A fitted NumPy array in the dtype of X, and where X lives; of the rows of a cluster, on the client."""
    kept = array.astype(numpy_dtype(X.dtype))
    return like(kept, X) if is_foreign(X) and not is_dask(X) else kept


def watcher(
    estimator: Any, X: Array, y: Array, max_iter: int, attributes: Callable[[Params], dict[str, Any]]
) -> Watch | None:
    """Tell scikit-learn's callbacks of each iteration, where there are any; they get a fitted estimator through
    `attributes`.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        return None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    before: list[Params] = []

    def watch(record: Record, params: Params) -> bool:
        # a step is told when it has been taken; what was there before it, too
        then = partial(attributes, before.pop()) if before else None
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y, reconstruction_attributes=then)
        before.append(params)
        now = partial(attributes, params)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=now))

    return watch
