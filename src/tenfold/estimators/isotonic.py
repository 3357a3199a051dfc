"""Monotone (isotonic) regression: a class, and a function of values in their order."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils import check_array, check_consistent_length, metadata_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_arguments,
    check_parameters,
    choice,
    nothing,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import flag, floats, number
from tenfold.estimators.validation import restore_on_error, validate_weights, warn_unless_certified, without_names
from tenfold.judge.certificate import Certificate
from tenfold.plans import isotonic as plan

ANY = real(-np.inf, np.inf, "both")


class IsotonicRegression(RegressorMixin, TransformerMixin, BaseEstimator):
    """Monotone regression: the non-decreasing function of one feature with the least squared error.

    ``min (1/2W) sum_i w_i (f(x_i) - y_i)^2`` over functions f that do not decrease (or do not increase), with values
    between `y_min` and `y_max`; linear between the samples.

    Parameters
    ----------
    y_min : float, default=None
        Lower bound on the values; None for none.
    y_max : float, default=None
        Upper bound on the values; None for none.
    increasing : bool or "auto", default=True
        Whether f increases or decreases; "auto" takes the sign of Spearman's rank correlation of x and y.
    out_of_bounds : {"nan", "clip", "raise"}, default="nan"
        What `predict` gives for samples outside the range of the samples of `fit`: NaN, the value at the nearest end,
        or a ValueError.

    Attributes
    ----------
    X_min_ : float
        The smallest x of a positive weight.
    X_max_ : float
        The largest x of a positive weight.
    X_thresholds_ : ndarray of shape (n_thresholds,)
        Places between which the function is linear, rising.
    y_thresholds_ : ndarray of shape (n_thresholds,)
        Its values there.
    f_ : callable
        The function itself: of x (n,), the values (n,).
    increasing_ : bool
        Whether the function increases.
    certificate_ : Certificate
        Kind gap: no monotone function between the bounds has a smaller objective by more; relative to half the
        variance of y. The multipliers are sums of weighted residuals in each block of equal values.
    n_features_in_ : int
        Number of features seen in `fit`: one.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A sort, then one pass (pool adjacent violators). Samples of equal x count as one with their mean; those of weight
    zero as removed. Runs on NumPy arrays, with sample weights. Zadrozny and Elkan (2002) calibrate probabilities by
    it.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import IsotonicRegression
    >>> model = IsotonicRegression().fit(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0]))
    >>> model.predict(np.array([1.5, 2.5])), model.certificate_.ok
    (array([1.75, 2.5 ]), True)
    """

    __metadata_request__predict: ClassVar = {"T": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar = {"T": metadata_routing.UNUSED}

    _registration: ClassVar = Registration(
        method="Monotone (isotonic) regression",
        texts=("S9.4",),
        peer="sklearn.isotonic",
        reads=("in memory",),
        where=("arrays",),
        instead="Samples are sorted by their only feature: pass a NumPy array.",
        certificate=("gap",),
        judge="isotonic.curve",
        stored={
            "X_min_": number(),
            "X_max_": number(),
            "X_thresholds_": floats("m"),
            "y_thresholds_": floats("m"),
            "increasing_": flag(),
        },
        rules={"X_thresholds_ must rise": lambda model: bool(np.all(np.diff(model.X_thresholds_) > 0.0))},
    )
    _constraints: ClassVar[Constraints] = {
        "y_min": (ANY, nothing()),
        "y_max": (ANY, nothing()),
        "increasing": (boolean(), choice("auto")),
        "out_of_bounds": (choice("nan", "clip", "raise"),),
    }

    X_thresholds_: Array
    y_thresholds_: Array
    certificate_: Certificate

    def __init__(
        self,
        *,
        y_min: float | None = None,
        y_max: float | None = None,
        increasing: bool | str = True,
        out_of_bounds: str = "nan",
    ) -> None:
        self.y_min = y_min
        self.y_max = y_max
        self.increasing = increasing
        self.out_of_bounds = out_of_bounds

    @restore_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, 1)
            The feature.
        y : array-like of shape (n,)
            The targets.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        low, high = bounds(self.y_min, self.y_max)
        given, X = X, as_feature(X, list(FLOATS))
        y = check_array(y, input_name="y", dtype=X.dtype, ensure_2d=False).reshape(-1)
        check_consistent_length(X, y, sample_weight if np.ndim(sample_weight) else None)
        weight = validate_weights(sample_weight, X)
        x, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        self.increasing_ = plan.choose_direction(self.increasing, x, targets, weight)
        fitted = plan.fit_curve(x, targets, weight, increasing=self.increasing_, low=low, high=high, dtype=X.dtype)
        self.X_thresholds_, self.y_thresholds_, self.certificate_ = fitted
        without_names(self, X[:, None])
        if hasattr(given, "columns"):
            validate_data(self, given, skip_check_array=True)  # the name of the column
        self.X_min_, self.X_max_ = self.X_thresholds_[0], self.X_thresholds_[-1]
        warn_unless_certified(self)
        return self

    @property
    def f_(self) -> Callable[[Floats], Floats]:
        """The function itself: of x (n,), the values (n,)."""
        if not hasattr(self, "X_thresholds_"):
            raise AttributeError("f_ is known after fit.")
        return self._evaluate

    def _evaluate(self, x: Floats) -> Floats:
        places, x = self.X_thresholds_, np.asarray(x)
        if self.out_of_bounds == "raise" and len(places) > 1 and x.size:
            if x.min() < places[0]:
                raise ValueError(f"A value ({x.min()}) in x_new is below the interpolation range's minimum value.")
            if x.max() > places[-1]:
                raise ValueError(f"A value ({x.max()}) in x_new is above the interpolation range's maximum value.")
        beyond = np.nan if self.out_of_bounds == "nan" and len(places) > 1 else None
        return np.interp(x, places, self.y_thresholds_, left=beyond, right=beyond)

    def _predict(self, T: Any) -> Floats:
        check_is_fitted(self)
        x = as_feature(T, self.X_thresholds_.dtype)
        return self._evaluate(x).astype(x.dtype, copy=False)

    def predict(self, T: Any) -> Array:
        """The values (m,) of the function at T (m,) or (m, 1)."""
        return self._predict(T)

    def transform(self, T: Any) -> Array:
        """The values (m,) of the function at T (m,) or (m, 1)."""
        return self._predict(T)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The name of the only output, ["isotonicregression0"]; `input_features` is not used."""
        check_is_fitted(self)
        return np.asarray([f"{type(self).__name__.lower()}0"], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def as_feature(X: Any, dtype: Any) -> Array:
    """The only feature of samples (n,) or (n, 1), finite, in one of these dtypes."""
    X = check_array(X, input_name="X", dtype=dtype, ensure_2d=False)
    if X.ndim != 1 and not (X.ndim == 2 and X.shape[1] == 1):
        raise ValueError("Isotonic regression input X should be a 1d array or 2d array with 1 feature")
    return X.reshape(-1)


def bounds(y_min: float | None, y_max: float | None) -> tuple[float, float]:
    """Bounds as numbers, in their order."""
    low, high = -np.inf if y_min is None else float(y_min), np.inf if y_max is None else float(y_max)
    if low > high:
        raise ValueError(f"y_min must be at most y_max; got {y_min!r} and {y_max!r}.")
    return low, high


def isotonic_regression(
    y: Any,
    *,
    sample_weight: Any = None,
    y_min: float | None = None,
    y_max: float | None = None,
    increasing: bool = True,
) -> Array:
    """The monotone values nearest to y, in the order given.

    ``min sum_i w_i (f_i - y_i)^2`` over ``y_min <= f_1 <= ... <= f_n <= y_max``. To see the certificate, take
    `IsotonicRegression`.

    Parameters
    ----------
    y : array-like of shape (n,)
        The data.
    sample_weight : array-like of shape (n,), default=None
        Weights; None: all ones. Where a weight is zero, the value is that of the sample before, or of the first.
    y_min : float, default=None
        Lower bound on the values; None for none.
    y_max : float, default=None
        Upper bound on the values; None for none.
    increasing : bool, default=True
        Whether the values increase or decrease.

    Returns
    -------
    ndarray of shape (n,)
        The monotone values, in the dtype of y.

    Notes
    -----
    One pass: pool adjacent violators.

    Examples
    --------
    >>> from tenfold import isotonic_regression
    >>> isotonic_regression([5, 3, 1, 2, 8, 10, 7, 9, 6, 4]).round(2).tolist()
    [2.75, 2.75, 2.75, 2.75, 7.33, 7.33, 7.33, 7.33, 7.33, 7.33]
    """
    check_arguments(
        "isotonic_regression",
        {
            "sample_weight": (array_like(), nothing()),
            "y_min": (ANY, nothing()),
            "y_max": (ANY, nothing()),
            "increasing": (boolean(),),
        },
        sample_weight=sample_weight,
        y_min=y_min,
        y_max=y_max,
        increasing=increasing,
    )
    low, high = bounds(y_min, y_max)
    y = check_array(y, ensure_2d=False, input_name="y", dtype=list(FLOATS))
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got {y.ndim}.")
    weight = validate_weights(sample_weight, y)
    values = plan.pool(np.asarray(y, np.float64), weight, increasing=bool(increasing), low=low, high=high)
    return values.astype(y.dtype, copy=False)
