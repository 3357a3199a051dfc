"""What regressions by the deviance of a family of distributions have in common."""

from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from tenfold.arrays import Array, namespace, on_host
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.glm.offset import add_offset, validate_offset, with_offset
from tenfold.estimators.glm.warm_start import earlier
from tenfold.estimators.inference_mixin import InferenceMixin, compute_inference, inference_obstacle
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    real,
)
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    as_weighted_rows,
    convert_like,
    require_finite,
    resolve_target,
    restore_on_error,
    rowwise,
    store,
    total_weight,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.losses.loss import Loss
from tenfold.penalties import L2
from tenfold.plans.glm import GlmFit
from tenfold.plans.glm import fit as fit_glm
from tenfold.plans.offsets import rescale, takes_offset, without_offset
from tenfold.stats.derivatives import Params, derivatives
from tenfold.stats.intercept_only import best_constant

# scikit-learn's names, and the method that each stands for here
SOLVERS = {"lbfgs": "lbfgs", "newton-cholesky": "newton"}

CONSTRAINTS: Constraints = {
    "alpha": (real(0),),
    "fit_intercept": (boolean(),),
    "solver": (choice(*SOLVERS),),
    "max_iter": (integer(1),),
    "tol": (real(0, np.inf, "neither"),),
    "warm_start": (boolean(),),
    "verbose": (integer(0), boolean()),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}


REPORT_ONLY = {"n_iter_": "how many steps the solver took"}


class DevianceRegressor(InferenceMixin, CallbackSupportMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """What the regressions by a deviance have in common."""

    _constraints: ClassVar[Constraints] = CONSTRAINTS
    _registration: ClassVar[Registration]

    alpha: float
    fit_intercept: bool
    solver: str
    max_iter: int
    tol: float
    warm_start: bool
    verbose: int
    time_limit: float | None

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _family(self) -> str:
        """scikit-learn's name of the loss, for its message about targets."""
        raise NotImplementedError

    def _lowest(self) -> tuple[float, bool]:
        """The least target, and whether it is allowed itself."""
        raise NotImplementedError

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Any:
        """Fit to X (n, p), targets y (n,), optional `sample_weight`, a number or (n,), and an optional offset (n,): the
        known part of the raw prediction, for instance the logarithm of an exposure.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        loss, given = self._loss(), as_float(y)
        self._check_targets(given)
        counts, offset = validate_weights(sample_weight, X), self._offset(offset, X)
        target, weight = without_offset(loss, given, counts, offset)
        factor = total_weight(target, weight) / total_weight(y, counts)
        rows = as_weighted_rows(X, target, weight)
        fitted = require_finite(
            self,
            X,
            lambda: fit_glm(
                rows,
                loss,
                L2(float(self.alpha) / factor),
                bool(self.fit_intercept),
                solver=SOLVERS[self.solver],
                tol=float(self.tol) / factor,
                max_iter=int(self.max_iter),
                start=earlier(self, X.shape[1]),
                time_limit=self.time_limit,
                callback=make_callback(self, X, y, self.max_iter, lambda params: self._attributes(params, X)),
                dtype=rows.dtype,
            ),
        )
        self._store(fitted, factor, X)
        self._inference = inference_obstacle(self.certificate_, penalised=self.alpha > 0) or compute_inference(
            self, loss, fitted.params, X, with_offset(given, offset), counts
        )
        return self

    def _offset(self, offset: Any, X: Array) -> Array | None:
        if offset is not None and not takes_offset(self._loss()):
            raise ValueError(
                f"{type(self).__name__} takes no offset with the identity link of this power: its mean is not known "
                "up to a factor or a summand. Use link='log'."
            )
        return validate_offset(offset, X)

    def _check_targets(self, y: Array) -> None:
        least, closed = self._lowest()
        low = float(on_host(namespace(y).min(y))) if least > -np.inf else np.inf
        if low < least or (low == least and not closed):
            raise ValueError(out_of_range(self._family(), closed, low))

    def _attributes(self, params: Params, X: Array) -> dict[str, Any]:
        b = convert_like(params.intercept[0], X) if self.fit_intercept else 0.0
        return {"coef_": convert_like(params.coef[0], X), "intercept_": b}

    def _store(self, fitted: GlmFit, factor: float, X: Array) -> None:
        store(self, fitted, X, coef_flat=True, intercept_flat=True, intercept=bool(self.fit_intercept))
        self.certificate_ = rescale(fitted.certificate, factor)
        self.n_iter_ = int(fitted.iterations or 0)
        self.status_ = fitted.certificate.status
        self.trace_ = fitted.trace
        warn_unless_certified(self)

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The expected target of each sample of X, (n,); with the offset (n,) that belongs to it, where one was fitted
        with.
        """
        raw = add_offset(self._predict_raw(X), offset)
        return rowwise(_exponential, raw) if self._loss().link == "log" else raw

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> float:
        """D^2 of the predictions for X with targets y, `sample_weight` and `offset`: the fraction of the deviance
        that is explained, one for a perfect model, zero for the mean of y.
        """
        y, sample_weight = resolve_target(X, y, sample_weight)
        z, loss = self._predict_raw(X), self._loss()
        z, y = validate(BaseEstimator(), z[:, None], y, multi_output=False)
        target, weight = as_float(y), validate_weights(sample_weight, z)
        self._check_targets(target)
        target, weight = without_offset(loss, target, weight, self._offset(offset, z))
        rows = as_rows(z, target, weight)
        sums = rows.fold(derivatives(loss, Params(np.ones((1, 1)), np.zeros(1)), 0))
        return explained_deviance(float(sums.value[0]) / sums.weight, best_constant(loss, rows).value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with suppress(TypeError):  # a power that is no number is refused by fit
            tags.target_tags.positive_only = self._lowest()[0] > -np.inf
        return tags


def explained_deviance(left: float, null: float) -> float:
    """The fraction of a deviance that is explained; where a constant explains all, one or, with something left,
    zero.
    """
    return 1.0 - left / null if null > 0.0 else float(left <= 0.0)


def out_of_range(loss: str, closed: bool, low: float) -> str:
    """What to say of targets that a loss does not take; `closed` says whether it takes zero."""
    wanted = "not be negative" if closed else "be positive"
    return (
        f"Some value(s) of y are out of the valid range of the loss '{loss}': they must {wanted}, the smallest is "
        f"{low:g}."
    )


def as_float(y: Array) -> Array:
    xp = namespace(y)
    return y if y.dtype == xp.float64 else xp.astype(y, xp.float64)


def _exponential(z: Array) -> Array:
    return namespace(z).exp(z)
