"""Quantile regression with an L1 penalty."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.glm.deviance import as_float
from tenfold.estimators.glm.offset import ScoredBeside, add_offset, validate_offset
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_weighted_rows,
    convert_like,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.losses.regression import Quantile
from tenfold.plans.offsets import without_offset
from tenfold.plans.piecewise_linear import fit as fit_piecewise
from tenfold.plans.result import Fitted
from tenfold.stats.derivatives import Params

# scikit-learn's names: all stand for the interior point method of our own
SOLVERS = ("highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex")

IN_MEMORY = "It keeps some numbers for each sample in the memory of one machine: bring X there, or use HuberRegressor."


class QuantileRegressor(ScoredBeside, CallbackSupportMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Quantile regression: the conditional median or another quantile, with an L1 penalty.

    Minimises ``1/sum_i s_i sum_i s_i PB_q(y_i - x_i.w - b) + alpha ||w||_1`` with weights s_i and the pinball loss
    ``PB_q(r) = q max(r, 0) + (1 - q) max(-r, 0)``. The intercept is not penalised.

    Parameters
    ----------
    quantile : float, default=0.5
        Strictly between 0 and 1.
    alpha : float, default=1.0
        Strength of the penalty; 0 for none.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    solver : {"highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"}, default="highs"
        scikit-learn's names are accepted; all mean one interior point method, which reaches the same optimum.
    solver_options : dict, default=None
        Accepted for compatibility, without effect.
    max_iter : int, default=100
        Most steps.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int
        Steps of the interior point method.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more. The method's multipliers are the dual
        point, which the judge makes feasible.
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
    About fifteen steps, each a weighted Gram matrix and four products with the samples; memory p x p and a few
    numbers for each sample. Runs on dense and sparse arrays and files. `fit`, `predict` and `score` take an `offset`
    (n,), the known part of the prediction.
    Seeger, section 8.1.2; Portnoy and Koenker, *The Gaussian hare and the Laplacian tortoise* (1997).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import QuantileRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = X[:, 0] + X[:, 0] * rng.uniform(size=200)
    >>> model = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    >>> float(np.mean(y <= model.predict(X) + 1e-9).round(2))
    0.8
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Quantile regression",
        texts=("S8.1.2",),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        where=("arrays", "sparse", "files", "devices"),
        instead=IN_MEMORY,
        certificate=("gap",),
        judge="glm.quantile",
        outputs="linear_outputs.regression",
        offset=True,
        report_only={"n_iter_": "how many steps the solver took"},
        board=Entry(
            "median",
            "regression",
            {"quantile": 0.5},
            {"alpha": (0.0, 1e-3, 1e-2)},
            fast=False,
            most_columns=500,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "quantile": (real(0, 1, "neither"),),
        "alpha": (real(0),),
        "fit_intercept": (boolean(),),
        "solver": (choice(*SOLVERS),),
        "solver_options": (instance(dict), nothing()),
        "max_iter": (integer(0),),
        "time_limit": (nothing(), real(0, np.inf, "right")),
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "highs",
        solver_options: dict[str, Any] | None = None,
        max_iter: int = 100,
        time_limit: float | None = None,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.max_iter = max_iter
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> "QuantileRegressor":
        """Fit to X (n, p), targets y (n,), optional `sample_weight`, a number or (n,), and an optional offset (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        weight, offset = validate_weights(sample_weight, X), validate_offset(offset, X)
        loss = Quantile(float(self.quantile))
        target, weight = without_offset(loss, as_float(y), weight, offset)
        rows = as_weighted_rows(X, target, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit_piecewise(
                rows,
                loss,
                float(self.alpha),
                0.0,
                bool(self.fit_intercept),
                max_iter=int(self.max_iter),
                time_limit=self.time_limit,
                callback=make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, X)
        return self

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        b = convert_like(params.intercept[0], X) if self.fit_intercept else 0.0
        return {"coef_": convert_like(params.coef[0], X), "intercept_": b}

    def _store(self, fitted: Fitted, X: Array) -> None:
        store(self, fitted, X, coef_flat=True, intercept_flat=True, intercept=bool(self.fit_intercept))
        self.n_iter_ = int(fitted.iterations or 0)
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        warn_unless_certified(self)

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """``X w + b``, and the offset."""
        return add_offset(self._predict_raw(X), offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
