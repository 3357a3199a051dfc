"""Validation by scikit-learn's contract: arrays to `Rows`, weights, feature names, and fitted attributes."""

import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Number
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from tenfold.arrays import (
    FLOATS,
    Array,
    contiguous,
    is_array_api,
    is_dask,
    is_sparse,
    like,
    namespace,
    numpy_dtype,
    on_host,
)
from tenfold.data import BatchRows, MemoryRows, NotFinite, Rows, Table
from tenfold.estimators import array_api
from tenfold.estimators.error_hints import add_hint
from tenfold.machine import interruptible
from tenfold.plans import Fitted
from tenfold.solvers.loop import Status

Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")


def restore_on_error(method: Method) -> Method:
    """Decorate `fit`: where it raises, the estimator keeps its earlier state."""

    @wraps(method)
    def fit(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(estimator))
        try:
            with add_hint(estimator), interruptible():
                return method(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return cast(Method, fit)


def load_dask_input() -> Any:
    """The module of Dask input, imported with the first Dask collection."""
    from tenfold.estimators import dask_input

    return dask_input


def is_plain(X: Any) -> bool:
    """Whether X is a dense NumPy array, or a memory map of one, that needs no conversion."""
    plain = type(X) is np.ndarray or type(X) is np.memmap
    return plain and X.ndim == 2 and X.dtype in FLOATS and X.shape[0] > 0 and X.shape[1] > 0


def is_ready(X: Any) -> bool:
    """Whether X is a plain array in C order of finite numbers: scikit-learn's validation would return it as it is."""
    return is_plain(X) and bool(X.flags.c_contiguous) and all_finite(X)


def is_checked_target(y: Any, X: Array, *, numeric: bool = False, multi_output: bool = True) -> bool:
    """Whether y is an array of a target for each row of X, finite where its entries are floats: validation would return
    it as it is.
    """
    if type(y) is not np.ndarray or y.shape[:1] != X.shape[:1] or y.ndim not in ((1, 2) if multi_output else (1,)):
        return False
    return y.dtype.kind in ("biu" if numeric else "biuUS") or (y.dtype.kind == "f" and all_finite(y))


def is_checked_csr(X: Any) -> bool:
    """Whether X is CSR of finite floats, sorted and without duplicates: scikit-learn's validation, which takes a third
    of a small fit, would return it as it is.
    """
    if type(X) is not sparse.csr_matrix and type(X) is not sparse.csr_array:
        return False
    usual = X.ndim == 2 and X.dtype in FLOATS and X.shape[0] > 0 and X.shape[1] > 0
    return usual and bool(X.has_canonical_format) and all_finite(X.data)


def all_finite(values: Array) -> bool:
    """Whether all numbers of a NumPy array are finite; their sum mostly says so without a mask."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values))) or bool(np.isfinite(values).all())


def read_strings(estimator: Any, X: Any) -> Any:
    """Strings as a CSR matrix of code points, where the kernel of an estimator reads strings; X of all others."""
    for name in ("kernel", "affinity"):
        kernel: Any = getattr(estimator, name, None)
        if getattr(kernel, "reads_strings", False):
            return kernel.encode_samples(X)
    return X


def validate(estimator: Any, X: Any, y: Any, *, numeric: bool = True, multi_output: bool = True) -> tuple[Array, Array]:
    """X dense or CSR in float32 or float64, or a table, and y, validated as scikit-learn does.

    A plain array or a table is not checked for non-finite values: the first pass over the rows finds them
    (`require_finite`). Raises where the estimator does not support the source of X.
    """
    X = read_strings(estimator, X)
    if hasattr(estimator, "_registration"):
        estimator._registration.check_source(type(estimator).__name__, X)
    if (is_plain(X) or is_checked_csr(X)) and is_checked_target(y, X, numeric=numeric, multi_output=multi_output):
        return without_names(estimator, X), y
    if is_dask(X):
        return load_dask_input().validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if is_array_api(X):
        return array_api.validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if isinstance(X, Table):
        return X, _target_of(estimator, X, y, numeric=numeric, multi_output=multi_output)
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
    return sum_duplicates(X), y


def validate_rows(estimator: Any, X: Any) -> Array:
    """As `validate`, without a target; that of a table is ignored."""
    X = read_strings(estimator, X)
    if hasattr(estimator, "_registration"):
        estimator._registration.check_source(type(estimator).__name__, X)
    if is_dask(X):
        return load_dask_input().validate_rows(estimator, X)
    if is_array_api(X):
        X = array_api.validate_matrix(estimator, X)
        return without_names(estimator, X)
    if isinstance(X, Table):
        remember_columns(estimator, X)
        return X
    if is_plain(X) or is_checked_csr(X):
        return without_names(estimator, X)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finiteness(estimator))
    return sum_duplicates(X)


def as_rows_without_target(X: Array, weight: Array | None) -> Rows:
    """Rows without a target; it is zero."""
    if is_dask(X):
        return load_dask_input().as_rows_without_target(X, weight)
    return as_rows(X, np.zeros(X.shape[0]), weight)


def finiteness(estimator: Any) -> Any:
    """The `ensure_all_finite` of scikit-learn's validation."""
    return "allow-nan" if getattr(estimator, "_allow_nan", False) else True


def validate_more(
    estimator: Any, X: Any, y: Any, *, first: bool, numeric: bool = True, multi_output: bool = True
) -> tuple[Array, Array]:
    """X and y of a `partial_fit`: the first sets the features, later ones must match."""
    before = _columns_of(estimator)
    X, y = validate(estimator, X, y, numeric=numeric, multi_output=multi_output)
    if not first:
        _check_columns(estimator, *before)
    return X, y


def validate_more_rows(estimator: Any, X: Any, *, first: bool) -> Array:
    """X of a `partial_fit` without a target."""
    before = _columns_of(estimator)
    X = validate_rows(estimator, X)
    if not first:
        _check_columns(estimator, *before)
    return X


def _columns_of(estimator: Any) -> tuple[Any, Any]:
    return getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None)


def _check_columns(estimator: Any, known: Any, names: Any) -> None:
    """Raise where the features differ from the known ones, which are restored."""
    if known is None:
        return
    given, given_names = _columns_of(estimator)
    estimator.n_features_in_ = known
    if names is not None:
        estimator.feature_names_in_ = names
    if given != known:
        raise ValueError(
            f"X has {given} features, but {type(estimator).__name__} is expecting {known} features as input."
        )
    if names is not None and given_names is not None and list(names) != list(given_names):
        raise ValueError("The feature names should match those that were passed before.")


def without_names(estimator: Any, X: Array) -> Array:
    """Set `n_features_in_` from an array without names. scikit-learn's function first checks for data frames, which
    takes a tenth of a small fit.
    """
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return X


def _target_of(estimator: Any, table: Table, y: Any, *, numeric: bool, multi_output: bool) -> Array:
    """The target of a table, or the given one; sets the number and the names of the features."""
    y = _resolve(table.y, y, "y", "target")
    if y is None:
        raise ValueError("These rows have no target: name its column, tenfold.rows(..., target=...), or give y.")
    if numeric and table.y is not None and table.y.dtype.kind == "U":
        _raise_text_target(table)
    remember_columns(estimator, table)
    y = check_array(y, ensure_2d=False, dtype="numeric" if numeric else None, input_name="y", estimator=estimator)
    if y.ndim == 2 and not multi_output:
        y = column_or_1d(y, warn=True)
    check_consistent_length(table, y)
    return y


def _raise_text_target(table: Table) -> None:
    """Raise, naming the first value of a text target that is not a number."""
    values = np.asarray(table.y).reshape(len(table), -1)
    for row, column in np.ndindex(values.shape):
        try:
            float(values[row, column])
        except ValueError:
            text = str(values[row, column])
            raise ValueError(f"The target is text, not numbers: {table.place_of_row(row)} has {text!r}.") from None


def _resolve(from_table: Array | None, given: Any, name: str, role: str) -> Any:
    """The target or weights of a table, or the given ones; raises where there are both."""
    if from_table is not None and given is not None:
        raise ValueError(f"These rows have a {role} of their own: give {name} or the {role}, not both.")
    return from_table if given is None else given


def resolve_target(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Target and weights of a score; a table may have its own."""
    if not isinstance(X, Table):
        return y, sample_weight
    return _resolve(X.y, y, "y", "target"), _resolve(X.weight, sample_weight, "sample_weight", "weight")


def remember_columns(estimator: Any, table: Table) -> None:
    """Set the number and the names of the features."""
    estimator.n_features_in_ = table.shape[1]
    if table.feature_names is not None:
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    else:
        estimator.__dict__.pop("feature_names_in_", None)


def sum_duplicates(X: Array) -> Array:
    """CSR without duplicate entries, which compiled loops require; other arrays unchanged."""
    if not is_sparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def validate_weights(sample_weight: Any, X: Array) -> Array | None:
    """Weights (n,) in float64: finite, not negative, not all zero; None stays None, but for a table with weights."""
    if isinstance(X, Table):
        sample_weight = _resolve(X.weight, sample_weight, "sample_weight", "weight")
    if sample_weight is None:
        return None
    if is_dask(X):
        return load_dask_input().validate_weights(sample_weight, X)
    n = X.shape[0]
    if is_array_api(sample_weight):
        array_api.check_same_device(X, sample_weight, "sample_weight")
        if tuple(sample_weight.shape) == (n,) and (weight := array_api.check_weights(sample_weight)) is not None:
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
    return like(weight, X) if is_array_api(X) else weight


def align_values(values: Any, X: Array, name: str) -> Array:
    """Finite values (n,) in float64, aligned with the rows of a cluster."""
    return load_dask_input().align_values(values, X, name)


def total_weight(y: Array, weight: Array | None) -> float:
    """The sum of the weights of the rows of y."""
    return float(y.shape[0] if weight is None else on_host(namespace(weight).sum(weight)))


def as_rows(X: Array, y: Array, weight: Array | None) -> Rows:
    """Rows with targets (n, t) in float64."""
    if is_dask(X):
        return load_dask_input().as_rows(X, y, weight)
    if is_array_api(X):
        xp = namespace(X)
        y = xp.astype(like(y, X) if not is_array_api(y) else y, xp.float64, copy=False)
        return MemoryRows(X, y[:, None] if y.ndim == 1 else y, weight)
    y = np.asarray(y, dtype=np.float64)
    y = contiguous(y[:, None] if y.ndim == 1 else y)
    return BatchRows(X, y, weight) if isinstance(X, Table) else MemoryRows(X, y, weight)


def drop_zero_weights(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """The samples of positive weight: a sample of weight zero counts as removed."""
    if weight is None or isinstance(X, Table) or is_array_api(X) or weight.all():
        return X, y, weight
    inside = weight > 0
    return X[inside], y[inside], weight[inside]


def as_weighted_rows(X: Array, y: Array, weight: Array | None) -> Rows:
    """Rows of the samples of positive weight, for many passes: converted to C order once."""
    X, y, weight = drop_zero_weights(X, y, weight)
    return as_rows(contiguous(X), y, weight)


def rowwise(f: Callable[..., Array], *values: Array) -> Array:
    """f of arrays with the same rows; of Dask arrays chunk by chunk, lazily."""
    return load_dask_input().rowwise(f, *values) if is_dask(values[0]) else f(*values)


def require_finite(estimator: Any, X: Any, work: Callable[[], Result]) -> Result:
    """Return `work()`; where it raises `NotFinite`, raise scikit-learn's error for X, or the message of `work`."""
    try:
        return work()
    except NotFinite as reason:
        if isinstance(X, Table):
            place = X.place_of(lambda part: ~np.isfinite(part))
            if place is not None:
                raise ValueError(f"Input X contains NaN or infinity: {place}.") from None
        elif is_dask(X):
            load_dask_input().require_finite(estimator, X)
        elif is_array_api(X):
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
    """Names of the features: those of the data frame, or x0, x1, ..."""
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(map(str, names)) if names is not None else tuple(f"x{j}" for j in range(estimator.n_features_in_))


def store(estimator: Any, fitted: Fitted, X: Array, *, coef_flat: bool, intercept_flat: bool, intercept: bool) -> None:
    """Set `coef_`, `intercept_` and `certificate_` on the device of X, flat where scikit-learn has no target axis."""
    coef, b = fitted.params
    estimator.coef_ = convert_like(coef[0] if coef_flat else coef, X)
    estimator.intercept_ = convert_like(b[0] if intercept_flat else b, X) if intercept else 0.0
    estimator.certificate_ = fitted.certificate


# advice for uncertified fits by status; none for direct solvers, and where the certificate states that no maximum
# exists
STATUS_ADVICE = {status.value: status.message for status in Status if status not in (Status.NO_MAXIMUM, Status.SOLVED)}


def check_no_extra_params(estimator: Any, params: Iterable[str]) -> None:
    """Raise for parameters of `fit` that need metadata routing."""
    extra = sorted(params)
    if extra:
        raise ValueError(
            f"[{', '.join(extra)}] are passed but are not explicitly set as requested or not requested: passing extra "
            f"keyword arguments to {type(estimator).__name__}.fit is only supported if enable_metadata_routing=True, "
            "which you can set using `sklearn.set_config`."
        )


def warn_unless_certified(estimator: Any, first: str = "") -> None:
    """Issue a ConvergenceWarning, `first`, the certificate's sentence and advice, where a fit is not certified."""
    certificate = estimator.certificate_
    if not certificate.ok:
        advice = STATUS_ADVICE.get(certificate.status, "")
        message = f"{first}{type(estimator).__name__} ({certificate.status}): {certificate.explain()} {advice}"
        warnings.warn(message.rstrip(), ConvergenceWarning, stacklevel=5)


def convert_like(array: Array, X: Array, *, copy: bool = True) -> Array:
    """A fitted NumPy array in the dtype and on the device of X; on the client for the rows of a cluster."""
    map_params = array.astype(numpy_dtype(X.dtype), copy=copy)
    return like(map_params, X) if is_array_api(X) and not is_dask(X) else map_params
