"""Generalised linear regression, any loss with any penalty; classification has a class of its own.

For scikit-learn's contract says of a class, not of its parameters, whether it is a classifier: tags, splitters and
scorers follow it.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state

from tenfold.arrays import Array, namespace, on_host
from tenfold.data import Rows
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.glm.deviance import as_float, out_of_range
from tenfold.estimators.glm.offset import ScoredBeside, add_offset, validate_offset, with_offset
from tenfold.estimators.inference_mixin import InferenceMixin, compute_inference, inference_obstacle
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_weighted_rows,
    convert_like,
    require_finite,
    restore_on_error,
    rowwise,
    store,
    total_weight,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.loss_penalty_table import LOSSES, PENALTIES, PERCEPTRON, fit, is_free, penalty_of, rescale_penalty
from tenfold.plans.offsets import rescale, takes_offset, without_offset
from tenfold.plans.result import Fitted
from tenfold.stats.derivatives import Params

PARAMETERS: Constraints = {
    "alpha": (real(0),),
    "l1_ratio": (real(0, 1, "both"),),
    "groups": (nothing(), array_like()),
    "fit_intercept": (boolean(),),
    "tol": (real(0, np.inf, "neither"),),
    "max_iter": (integer(0),),
    "random_state": (random_state(),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}


REPORT_ONLY = {"n_iter_": "how many steps the solver took"}


class Generalised(CallbackSupportMixin, LinearPredictor):
    """What both have in common."""

    loss: Any
    penalty: Any
    alpha: Any
    l1_ratio: float
    groups: Any
    fit_intercept: bool
    tol: float
    max_iter: int
    random_state: Any
    time_limit: float | None
    _of_classes: ClassVar[bool]

    def _the_loss(self) -> Any:
        """The loss that is asked for."""
        if isinstance(self.loss, str) and self.loss == "perceptron":
            raise ValueError(PERCEPTRON)
        if not hasattr(self.loss, "signs") and (not isinstance(self.loss, str) or self.loss not in LOSSES):
            names = ", ".join(LOSSES)
            raise ValueError(f"loss must be one of {names}, or an object of tenfold.losses; got {self.loss!r}.")
        loss = LOSSES[self.loss]() if isinstance(self.loss, str) else self.loss
        if (loss.signs or loss.multi_output) is not self._of_classes:
            other = "GeneralizedLinear" if self._of_classes else "GeneralizedLinearClassifier"
            raise ValueError(f"{self.loss!r} is not a loss of {type(self).__name__}: use {other}.")
        return loss

    def _the_penalty(self, p: int) -> Any:
        """The penalty that is asked for, on p weights."""
        known = self.penalty is None or hasattr(self.penalty, "subgradient_distance")
        if not known and (not isinstance(self.penalty, str) or self.penalty not in PENALTIES):
            names = ", ".join(PENALTIES)
            raise ValueError(
                f"penalty must be one of {names}, None, or an object of tenfold.penalties; got {self.penalty!r}."
            )
        if self.penalty is None or isinstance(self.penalty, str):
            return penalty_of(self.penalty, self.alpha, float(self.l1_ratio), self.groups, p)
        return self.penalty

    def _problem(self, p: int) -> tuple[Any, Any]:
        """Loss and penalty of the problem that is solved."""
        penalty = self._the_penalty(p)
        if np.ndim(penalty.strength):
            raise ValueError(
                "Several strengths of an L2 penalty, one for each class, go with GeneralizedLinearClassifier('softmax')"
                f" alone; got {np.asarray(penalty.strength).tolist()}."
            )
        return self._the_loss(), penalty

    def _fit_penalised(self, X: Array, y: Any, rows: Rows, factor: float, flat: bool, classes: int = 2) -> Fitted:
        loss, penalty = self._problem(X.shape[1])
        fitted = require_finite(
            self,
            X,
            lambda: fit(
                rows,
                loss,
                rescale_penalty(penalty, 1.0 / factor),
                bool(self.fit_intercept),
                classes=classes,
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                time_limit=self.time_limit,
                callback=make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X, flat)),
                seed=self._seed(),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, factor, X, flat)
        return fitted

    def _seed(self) -> int:
        """Of the starts of a loss that is not convex; the same without a `random_state`."""
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _refusal(self, p: int) -> str | None:
        """Why there is no inference, or None."""
        return inference_obstacle(self.certificate_, penalised=not is_free(self._problem(p)[1], p))

    def _attributes(self, params: Params, X: Array, flat: bool) -> dict[str, Any]:
        coef, b = (params.coef[0], params.intercept[0]) if flat else params
        return {"coef_": convert_like(coef, X), "intercept_": convert_like(b, X) if self.fit_intercept else 0.0}

    def _store(self, fitted: Fitted, factor: float, X: Array, flat: bool) -> None:
        store(self, fitted, X, coef_flat=flat, intercept_flat=flat, intercept=bool(self.fit_intercept))
        self.certificate_ = rescale(fitted.certificate, factor)
        self.n_iter_ = int(fitted.iterations or 0)
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        warn_unless_certified(self)


class GeneralizedLinear(ScoredBeside, InferenceMixin, Generalised, RegressorMixin, BaseEstimator):
    """A linear regression model with any loss and any penalty.

    Minimises ``1/sum_i s_i sum_i s_i loss(y_i, x_i.w + b) + penalty(w)`` with weights s_i; the intercept is never
    penalised.

    Parameters
    ----------
    loss : str or a loss of tenfold.losses, default="square"
        "square", "huber", "laplace", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "poisson",
        "gamma", "tweedie" or "student", with usual settings; an object has others, for instance ``Quantile(0.9)``.
    penalty : {"l2", "l1", "elasticnet", "group", None} or a penalty of tenfold.penalties, default="l2"
        alpha/2 ||w||^2; alpha ||w||_1; their mixture by `l1_ratio`; alpha sum_g sqrt(size of g) ||w_g||; none.
    alpha : float, default=1.0
        Strength of the penalty; 0 for none.
    l1_ratio : float, default=0.5
        Fraction of the L1 penalty in "elasticnet".
    groups : array-like of shape (n_features,), default=None
        The group of each feature, for "group".
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the objective exceeds `tol` and the certificate is ok: the second
        is mostly the stronger. FISTA and the interior point method end when the certificate is ok, whatever `tol`.
    max_iter : int, default=1000
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts of a loss that is not convex; None means 0.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate. None for no
        limit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int
        Steps taken.
    certificate_ : Certificate
        Kind gap where the loss is convex: no other weights have an objective that is smaller by more. Kind stationarity
        for "student", the best of several starts: the gradient vanishes there.
    inference_ : LikelihoodInference
        Where there is no penalty and the loss is a likelihood, standard errors, p values, confidence intervals,
        deviance and log-likelihood; else an AttributeError with the reason. `summary` prints them, `tenfold.infer` has
        robust ones.
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
    Smooth losses run on dense and sparse arrays, files, Dask collections and devices, one pass over the data a step and
    one to judge, by Newton's method or L-BFGS with an L2 penalty, by proximal Newton steps with an L1 penalty or
    groups, by accelerated proximal gradients with others; memory p x p up to 1024 features, vectors beyond. Losses with
    kinks go by an interior point method, in the memory of one machine. The page on generalised linear models has the
    table.
    `fit`, `predict` and `score` take an `offset` (n,), the known part of the raw prediction:
    `set_fit_request(offset=True)` routes it.
    Seeger, section 8.1.2; Rosasco, chapters 7 and 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GeneralizedLinear
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 4)
    >>> y = X[:, 0] + rng.standard_t(2, 100)
    >>> model = GeneralizedLinear("laplace", "l1", alpha=0.1).fit(X, y)
    >>> model.certificate_.ok, np.flatnonzero(model.coef_)
    (True, array([0]))
    """

    _of_classes: ClassVar[bool] = False
    _registration: ClassVar = Registration(
        method="Generalised linear regression, any loss and penalty",
        texts=("S8.1.2", "R7", "R8"),
        reads=("a pass a step",),
        certificate=("gap", "stationarity"),
        judge="glm.any_loss",
        outputs="glm.mean",
        offset=True,
        report_only=REPORT_ONLY,
    )

    def __init__(
        self,
        loss: Any = "square",
        penalty: Any = "l2",
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        groups: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> "GeneralizedLinear":
        """Fit to X (n, p), targets y (n,), optional `sample_weight`, a number or (n,), and an optional offset (n,)."""
        check_parameters(self, PARAMETERS)
        loss = self._the_loss()
        X, y = validate(self, X, y, multi_output=False)
        given, counts = as_float(y), validate_weights(sample_weight, X)
        low = float(on_host(namespace(given).min(given)))
        if loss.link == "log" and (low < 0 or (low == 0 and loss.name == "gamma")):
            raise ValueError(out_of_range(loss.name, loss.name != "gamma", low))
        if offset is not None and not takes_offset(loss):
            raise ValueError(f"The loss {loss.name!r} takes no offset.")
        offset = validate_offset(offset, X)
        target, weight = without_offset(loss, given, counts, offset)
        factor = total_weight(target, weight) / total_weight(given, counts)
        params = self._fit_penalised(X, y, as_weighted_rows(X, target, weight), factor, flat=True).params
        self._inference = self._refusal(X.shape[1]) or compute_inference(
            self, loss, params, X, with_offset(given, offset), counts
        )
        return self

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The prediction for each sample of X, (n,): ``x.w + b`` plus the `offset` (n,), or its exponential where that
        is the mean.
        """
        raw = add_offset(self._predict_raw(X), offset)
        return rowwise(lambda z: namespace(z).exp(z), raw) if self._the_loss().link == "log" else raw

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = self.loss in ("poisson", "gamma", "tweedie")
        return tags


def problem_of(model: Any) -> tuple[Any, Any]:
    """The loss and the penalty that a fitted model minimises, of `GeneralizedLinear` or its classifier."""
    loss, penalty = model._problem(model.n_features_in_)
    return loss, penalty
