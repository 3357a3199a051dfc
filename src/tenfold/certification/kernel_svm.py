"""Support vector machines with kernels: the duality gap of every machine, and the consistency of what is stored.

What scikit-learn's `predict` reads is private - `_dual_coef_`, `_intercept_`, `_gamma` -, and must agree with what is
public, and with the data. Samples of weight zero are dropped before the fit: `support_` counts within the others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight

from tenfold.arrays import FLOATS, Array, Floats, Integers, is_sparse
from tenfold.certification.models import check_known_classes, contradict, fit_status, validate_like_fit
from tenfold.estimators.svm.kernel_model import read_weights
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kernel_machines import Coefficients
from tenfold.judge.kernel_machines import classification as judge_classes
from tenfold.judge.kernel_machines import one_class as judge_one_class
from tenfold.judge.kernel_machines import regression as judge_regression
from tenfold.judge.kernel_samples import KernelSamples, equal_samples
from tenfold.kernels import Callable, Constant, Kernel, as_kernel
from tenfold.kernels.conversion import gamma_of

GAMMA_ROUNDING = 1e-9  # relative, of the variance of the samples by another formula
DROPPED = (
    "{} predicts wrongly with a kernel matrix and samples of weight zero: its support_ counts within the samples of "
    "positive weight, and is used as numbers of columns of the whole matrix. Fit without the samples of weight zero."
)
REMOVED = (
    "{} predicts wrongly where a class before others has no sample of positive weight: its numbers of classes count "
    "within those that have, {}, and are used as numbers within classes_. Fit without the samples of weight zero."
)


@dataclass(frozen=True)
class _AsMatrix:
    """A kernel function of two sets of samples, whose values may be sparse."""

    function: Any

    def __call__(self, X: Any, Z: Any) -> Floats:
        values = self.function(X, Z)
        return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)


def kernel_of(model: Any, gamma: float) -> Kernel:
    """The kernel of a model."""
    kernel = model.kernel
    if callable(kernel):
        known = isinstance(kernel, Kernel) or hasattr(kernel, "is_stationary")
        return as_kernel(kernel) if known else Callable(_AsMatrix(kernel), matrices=True)
    if kernel == "rbf" and gamma == 0.0:
        return Constant(1.0)
    return as_kernel(kernel, gamma=gamma, degree=model.degree, coef0=model.coef0)


@dataclass(frozen=True)
class Data:
    """What was fitted: all samples, targets, weights (n,), and the numbers of those of positive weight."""

    X: Any
    y: Array
    weight: Floats
    index: Integers

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.X),) if isinstance(self.X, list) else tuple(self.X.shape)


def read_data(model: Any, X: Any, y: Any, sample_weight: Any, *, numeric: bool) -> Data:
    if callable(model.kernel):
        X = X if isinstance(X, list) or is_sparse(X) or hasattr(X, "shape") else np.asarray(X)
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        y = column_or_1d(y)
    else:
        X, y = validate_like_fit(model, X, y, numeric=numeric)
        X, y = X.astype(np.float64), column_or_1d(y)
    y = np.asarray(y, dtype=np.float64) if numeric else y
    n = len(X) if isinstance(X, list) else X.shape[0]
    weight = read_weights(sample_weight, n)
    if len(y) != n:
        raise ValueError(f"X has {n} samples, and y {len(y)}.")
    return Data(X, y, weight, np.flatnonzero(weight > 0.0))


def _samples(model: Any, data: Data) -> tuple[KernelSamples, str]:
    """The samples with their kernel, and what of the model contradicts them."""
    stored = getattr(model, "_gamma", None)
    if callable(model.kernel) or model.kernel == "precomputed":
        gamma, complaint = 0.0, ""
    else:
        given = model.gamma_ if hasattr(model, "gamma_") else model.gamma
        gamma = gamma_of(given, data.X)
        wrong = stored is not None and not abs(stored - gamma) <= GAMMA_ROUNDING * abs(gamma)
        complaint = f"_gamma is {stored!r}; gamma={given!r} of these samples is {gamma!r}." if wrong else ""
        gamma = gamma if wrong or stored is None else float(stored)
    return KernelSamples(kernel_of(model, gamma), data.X, data.index), complaint


def _dense(part: Any) -> Floats:
    return np.asarray(part.toarray() if is_sparse(part) else part)


def _coefficients(model: Any, data: Data, rows: int, machines: int) -> tuple[Coefficients | None, str]:
    """The public coefficients, or None, and what is wrong with them."""
    support, dual = np.asarray(model.support_), _dense(model.dual_coef_)
    b = np.asarray(model.intercept_, dtype=np.float64)
    if support.ndim != 1 or support.dtype.kind not in "iu" or len(np.unique(support)) != len(support):
        return None, "support_ must hold different numbers of samples."
    if len(support) and not (support.min() >= 0 and support.max() < len(data.index)):
        return None, f"support_ must count within the {len(data.index)} samples of positive weight."
    if not len(support) and not dual.size:
        dual = np.zeros((rows, 0))
    if dual.shape != (rows, len(support)) or b.shape != (machines,):
        return None, (
            f"dual_coef_ must have the shape {(rows, len(support))} and intercept_ {(machines,)}; they have "
            f"{dual.shape} and {b.shape}."
        )
    dtype = dual.dtype if dual.dtype in FLOATS else np.float64
    coefficients = Coefficients(support.astype(np.intp), dual.astype(np.float64), b, dtype)
    return coefficients, _find_contradiction(model, data, coefficients)


def _find_contradiction(model: Any, data: Data, given: Coefficients) -> str:
    """What of the stored arrays contradicts the public coefficients or the samples, as a sentence; "" where nothing
    does.
    """
    flip = -1.0 if len(getattr(model, "classes_", ())) == 2 else 1.0
    private = getattr(model, "_dual_coef_", None)
    if private is not None:
        # predict reads the data of a sparse array as if it had every entry
        full = is_sparse(private) and private.size == given.coef.size
        seen = private.data.reshape(given.coef.shape) if full else _dense(private)
        if given.coef.size and not np.array_equal(seen, flip * given.coef):
            return "_dual_coef_, which predict reads, is not what dual_coef_ says."
    if hasattr(model, "_intercept_") and not np.array_equal(model._intercept_, flip * given.intercept):
        return "_intercept_, which predict reads, is not what intercept_ says."
    if hasattr(model, "offset_") and not np.array_equal(np.ravel(model.offset_), -given.intercept):
        return "offset_ is not minus intercept_."
    if getattr(model, "shape_fit_", data.shape) != data.shape:
        return f"shape_fit_ is {model.shape_fit_}; the samples have the shape {data.shape}."
    return _check_support(model, data, given.support)


def _check_support(model: Any, data: Data, support: Integers) -> str:
    vectors = model.support_vectors_
    if callable(model.kernel) or model.kernel == "precomputed":
        if _dense(vectors).size:
            return "support_vectors_ must be empty: the kernel is no function of vectors."
        if not np.array_equal(getattr(model, "_columns", support), data.index[support]):
            return DROPPED.format(type(model).__name__)
        fitted = fit_samples(model)
        if callable(model.kernel) and fitted is not None and fitted is not data.X and not _same(fitted, data.X):
            return "The samples that predict gives to the kernel function are not those of the fit."
    elif not equal_samples(vectors, data.X[data.index[support]]):
        return "support_vectors_ must be the samples of positive weight with the numbers support_."
    if hasattr(model, "classes_"):
        own = np.searchsorted(model.classes_, data.y[data.index[support]])
        present = np.searchsorted(model.classes_, np.unique(data.y[data.index]))
        counts = np.bincount(own, minlength=len(model.classes_))[present]
        if np.any(np.diff(own) < 0):
            return "support_ must be sorted by class."
    else:
        counts = np.array([len(support)])
    return "" if np.array_equal(model.n_support_, counts) else f"n_support_ must be {counts.tolist()}."


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return list(one) == list(other)
    return equal_samples(one, other)


def fit_samples(model: Any) -> Any:
    """The samples with which a model evaluates a kernel function; None where it has none."""
    return getattr(model, "_BaseLibSVM__Xfit", getattr(model, "_fit_samples", None))


def _contradict_model(complaint: str) -> Certificate:
    return contradict(Certificate("gap", np.inf, 1.0, RULES["gap"].tol, 0.0, np.inf, parts=(np.inf,)), complaint)


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    data = read_data(model, X, y, sample_weight, numeric=False)
    check_known_classes(model, data.y)
    classes = np.unique(data.y)
    if not np.array_equal(model.classes_, classes):
        return _contradict_model(f"classes_ must be the classes of y, {classes.tolist()}.")
    present, number = np.unique(np.searchsorted(classes, data.y[data.index]), return_inverse=True)
    count = len(present)
    if count < 2:
        return _contradict_model("Samples of one class alone have weight.")
    if not np.array_equal(getattr(model, "_present", np.arange(count)), present):
        return _contradict_model(REMOVED.format(type(model).__name__, classes[present].tolist()))
    samples, complaint = _samples(model, data)
    given, more = _coefficients(model, data, count - 1, count * (count - 1) // 2)
    factors = np.asarray(compute_class_weight(model.class_weight, classes=classes, y=data.y), dtype=np.float64)
    stored = getattr(model, "class_weight_", factors)
    if not np.array_equal(stored, factors):
        more = more or f"class_weight_ is {np.asarray(stored).tolist()}; of these samples it is {factors.tolist()}."
    if given is None or complaint or more:
        return _contradict_model(complaint or more)
    nu = _parameter(model, "nu")
    weight = data.weight[data.index]
    if nu is None:
        with np.errstate(invalid="ignore"):  # infinite C, no weight
            weight = np.nan_to_num(_penalty(model) * factors[present][number] * weight, nan=0.0, posinf=np.inf)
    return judge_classes(
        samples,
        number,
        weight,
        given,
        classes=count,
        nu=nu,
        squared=_parameter(model, "loss") == "squared_hinge",
        without=len(classes) - count,
        breaks_ties=bool(model.break_ties),
        status=fit_status(model),
    )


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    data = read_data(model, X, y, sample_weight, numeric=True)
    samples, complaint = _samples(model, data)
    given, more = _coefficients(model, data, 1, 1)
    if given is None or complaint or more:
        return _contradict_model(complaint or more)
    return judge_regression(
        samples,
        data.y[data.index],
        _penalty(model) * data.weight[data.index],
        given,
        epsilon=_parameter(model, "epsilon") or 0.0,
        nu=_parameter(model, "nu"),
        squared=_parameter(model, "loss") == "squared_epsilon_insensitive",
        status=fit_status(model),
    )


def one_class(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    n = len(X) if hasattr(X, "__len__") and not is_sparse(X) else X.shape[0]
    data = read_data(model, X, np.ones(n), sample_weight, numeric=True)
    samples, complaint = _samples(model, data)
    given, more = _coefficients(model, data, 1, 1)
    if given is None or complaint or more:
        return _contradict_model(complaint or more)
    weight = data.weight[data.index]
    return judge_one_class(samples, weight, given, nu=float(model.nu), status=fit_status(model))


def _penalty(model: Any) -> float:
    """C, or the one that was chosen."""
    return float(model.C_ if hasattr(model, "C_") else model.C)


def _parameter(model: Any, name: str) -> Any:
    """A parameter, None where the class has none of this name."""
    return model.get_params(deep=False).get(name)
