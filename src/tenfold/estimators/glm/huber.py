"""Huber's regression, robust to outliers, with the scale of the errors."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tenfold.arrays import Array, is_dask, namespace, on_host
from tenfold.data import Block, Table
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.offset import ScoredBeside, add_offset, validate_offset
from tenfold.estimators.glm.warm_start import earlier
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, real
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    as_weighted_rows,
    convert_like,
    require_finite,
    restore_on_error,
    store,
    total_weight,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.losses.regression import Huber
from tenfold.plans.huber import HuberFit
from tenfold.plans.huber import fit as fit_huber
from tenfold.plans.offsets import without_offset
from tenfold.stats.derivatives import Params, forward


class HuberRegressor(ScoredBeside, CallbackSupportMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Huber's regression: square errors up to `epsilon` times the scale, absolute ones beyond, with an L2 penalty.

    Minimises ``sum_i s_i (sigma + H((y_i - x_i.w - b) / sigma) sigma) + alpha ||w||^2`` over w, b and sigma > 0, with
    weights s_i, ``H(a) = a^2`` up to ``|a| = epsilon`` and ``2 epsilon |a| - epsilon^2`` beyond. With sigma found from
    the data, `epsilon` need not follow the units of y.

    Parameters
    ----------
    epsilon : float of at least 1, default=1.35
        Where errors, in units of the scale, cease to be squared; 1.35 is 95 % as efficient as least squares where
        errors are Gaussian.
    max_iter : int, default=100
        Most steps, each of which reads the data.
    alpha : float, default=0.0001
        Strength of the penalty; 0 for none.
    warm_start : bool, default=False
        Whether to start from the previous `coef_`, `intercept_` and `scale_`.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    tol : float, default=1e-5
        Accepted for compatibility: the fit ends when a step of Newton's method can gain next to nothing, and the
        certificate is ok.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    scale_ : float
        The scale sigma.
    outliers_ : ndarray of bool, (n_samples,)
        Samples whose error exceeds epsilon times the scale.
    n_iter_ : int
        Passes over the samples after the first.
    certificate_ : Certificate
        Kind gap, by the convex dual of the joint problem: no other weights, intercept and scale have an objective, over
        the sum of the weights, that is smaller by more.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples per step and one or two to judge; memory (p + 2)^2. Runs on dense and sparse arrays,
    files, Dask collections and devices. `fit`, `predict` and `score` take an `offset` (n,), the known part of the
    prediction. Seeger, section 8.1.2; Owen, *A robust hybrid of lasso and ridge regression* (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 2.0 * X[:, 0] + 1.0 + 0.1 * (-1.0) ** np.arange(20)
    >>> y[3] = 100.0
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(2), bool(model.outliers_[3])
    (array([2.]), True)
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Huber regression with estimated scale",
        texts=("S8.1.2",),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="glm.huber",
        outputs="linear_outputs.regression",
        offset=True,
        report_only={"n_iter_": "how many steps the solver took"},
        board=Entry(
            "huber",
            "regression",
            {"max_iter": 1000},
            {"alpha": (1e-4, 1.0, 100.0)},
            fast=False,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "epsilon": (real(1),),
        "max_iter": (integer(0),),
        "alpha": (real(0),),
        "warm_start": (boolean(),),
        "fit_intercept": (boolean(),),
        "tol": (real(0),),
        "time_limit": (nothing(), real(0, np.inf, "right")),
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-05,
        time_limit: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> "HuberRegressor":
        """Fit to X (n, p), targets y (n,), optional `sample_weight`, a number or (n,), and an optional offset (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        offset, weight = validate_offset(offset, X), validate_weights(sample_weight, X)
        target, weight = without_offset(Huber(1.0), as_float(y), weight, offset)
        rows = as_weighted_rows(X, target, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit_huber(
                rows,
                float(self.epsilon),
                strength(self.alpha, total_weight(target, weight)),
                bool(self.fit_intercept),
                max_iter=int(self.max_iter),
                start=self._start(X.shape[1]),
                time_limit=self.time_limit,
                callback=make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, X, target)
        return self

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        b, scale = params.intercept
        return {
            "coef_": convert_like(params.coef[0], X),
            "intercept_": convert_like(np.asarray(b), X) if self.fit_intercept else 0.0,
            "scale_": float(scale),
        }

    def _store(self, fitted: HuberFit, X: Array, target: Array) -> None:
        store(self, fitted, X, coef_flat=True, intercept_flat=True, intercept=bool(self.fit_intercept))
        self.scale_ = fitted.scale
        self.n_iter_ = int(fitted.iterations or 0)
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        error = as_rows(X, target, None).map(errors_of(fitted.params))[:, 0]
        outliers = namespace(error).abs(error) > self.scale_ * self.epsilon
        self.outliers_ = on_host(outliers) if is_dask(X) or isinstance(X, Table) else outliers
        warn_unless_certified(self)

    def _start(self, p: int) -> Params | None:
        """The previous parameters and scale, where they are to be continued."""
        before = earlier(self, p)
        return None if before is None else Params(before.coef, np.append(before.intercept, self.scale_))

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """``X w + b``, and the offset."""
        return add_offset(self._predict_raw(X), offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def errors_of(params: Params) -> Callable[[Block], Array]:
    """The map from a block to the errors y - x.w - b of its samples."""
    return lambda block: block.y - forward(block.X, params)


def strength(alpha: float, weight: float) -> float:
    """The strength of the penalty relative to the weighted mean loss."""
    return 2.0 * float(alpha) / weight
