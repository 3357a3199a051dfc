"""What models of regularised risks have in common: parameters, the fit of targets, and predictions by tiles."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import FLOATS, Array, Floats, is_sparse
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback
from tenfold.estimators.centres_parameter import CENTRES, read_centres
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, make_kernel
from tenfold.estimators.parameters import Constraints, boolean, integer, nothing, random_state, real
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Source
from tenfold.estimators.schema import Check, Rule, floats
from tenfold.estimators.schema import number as number_check
from tenfold.estimators.validation import as_rows_without_target, require_finite, sum_duplicates, warn_unless_certified
from tenfold.judge.certificate import NOT_JUDGED, Certificate
from tenfold.kernels import Kernel
from tenfold.losses.loss import Loss
from tenfold.plans.kernel_risk import KernelFit, KernelTask, Limits, fit_centres, fit_samples
from tenfold.solvers.loop import Record

WHERE: tuple[Source, ...] = ("arrays", "sparse")
INSTEAD = (
    "The kernel matrix holds all pairs of samples: load the samples into memory (load(), compute()), take a sample of "
    "them, or use FalkonClassifier or Falkon, which read them where they are."
)
STORED: dict[str, Check] = {
    "X_fit_": floats("m p", sparse=True),
    "dual_coef_": floats("m") | floats("m t"),
    "intercept_": floats("t") | number_check(),
    "centres_": floats("m p", sparse=True),
}
REPORT_ONLY = {
    "method_": "how the problem was solved, in words",
    "n_iter_": "how many steps the solver took",
}


def _has_coefficients_for_samples(model: Any) -> bool:
    return model.dual_coef_.shape[0] == model.X_fit_.shape[0]


RULES: dict[str, Rule] = {"dual_coef_ must have a row for each sample of X_fit_": _has_coefficients_for_samples}

COMMON: Constraints = {
    **KERNEL,
    **CENTRES,
    "fit_intercept": (boolean(),),
    "tol": (real(0, np.inf, "neither"),),
    "max_iter": (integer(0),),
    "random_state": (random_state(),),
    "time_limit": (nothing(), real(0, np.inf, "right")),
}


class RiskModel(CallbackSupportMixin, Predictor, BaseEstimator):
    """f_k(x) = sum_j dual_coef_jk k(x, X_fit_j) + intercept_k."""

    kernel: Any
    centres: Any
    random_state: Any
    fit_intercept: bool
    tol: float
    max_iter: int
    time_limit: float | None
    X_fit_: Array
    kernel_: Kernel
    dual_coef_: Array
    intercept_: Any
    certificate_: Certificate
    status_: str
    trace_: tuple[Record, ...]
    n_iter_: int
    method_: str

    def _fit_risk(
        self,
        X: Array,
        y: Any,
        target: Floats,
        weight: Array | None,
        loss: Loss,
        strength: float,
        *,
        outputs: int = 1,
    ) -> None:
        """Fit targets (n,) by the loss with a penalty of the weighted mean; store and judge."""
        limits = Limits(
            float(self.tol),
            int(self.max_iter),
            self.time_limit,
            make_callback(self, X, y, self.max_iter, lambda _: {}),
        )
        if self.centres is not None and is_pairwise(self.kernel):
            raise ValueError("A precomputed kernel has no samples among which centres are: give a name or a kernel.")

        def work() -> tuple[Array, Kernel, KernelFit]:
            samples = check_samples(self.kernel, X)
            kernel = make_kernel(self, samples)
            task = self._task(kernel, samples, target, weight, loss, strength, outputs)
            if self.centres is None:
                return samples, kernel, fit_samples(task, limits, self._start(samples, outputs))
            request, random = read_centres(self, samples), check_random_state(self.random_state)
            rows = as_rows_without_target(samples, weight)
            fitted = fit_centres(task, request.choose(rows, kernel, random), limits)
            return fitted.centres, kernel, fitted

        self._store(*require_finite(self, X, work), outputs)

    def _task(
        self,
        kernel: Kernel,
        X: Array,
        target: Floats,
        weight: Array | None,
        loss: Loss,
        strength: float,
        outputs: int,
    ) -> KernelTask:
        return KernelTask(
            kernel,
            X,
            np.asarray(target, dtype=np.float64)[:, None],
            None if weight is None else np.asarray(weight, dtype=np.float64),
            loss,
            strength,
            bool(self.fit_intercept),
            outputs,
            X.dtype if X.dtype in FLOATS else np.float64,
        )

    def _start(self, X: Array, outputs: int) -> tuple[Floats, Floats] | None:
        """The previous coefficients, where they are to be continued."""
        if not getattr(self, "warm_start", False) or not hasattr(self, "dual_coef_"):
            return None
        coef = np.asarray(self.dual_coef_, dtype=np.float64).reshape(len(self.dual_coef_), -1)
        if coef.shape != (X.shape[0], outputs):
            return None
        return coef, np.ravel(np.asarray(self.intercept_, dtype=np.float64))

    def _store(self, samples: Array, kernel: Kernel, fitted: KernelFit, outputs: int) -> None:
        self.X_fit_, self.kernel_ = samples, kernel
        self.dual_coef_ = fitted.coef[:, 0] if outputs == 1 else fitted.coef
        self._store_intercept(fitted.intercept)
        self.n_iter_, self.trace_ = fitted.iterations, fitted.trace
        self.method_, self.certificate_, self.status_ = fitted.method, fitted.certificate, fitted.status
        if fitted.status != NOT_JUDGED:
            warn_unless_certified(self)

    def _store_intercept(self, b: Floats) -> None:
        self.intercept_ = b

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        coef = np.asarray(self.dual_coef_)
        return partial(evaluate, self.kernel_, self.X_fit_, coef.reshape(len(coef), -1), np.ravel(self.intercept_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags


def evaluate(kernel: Kernel, samples: Array, coef: Floats, b: Floats, X: Array) -> Array:
    """k(X, samples) coef + b (m, k) by tiles, in the dtype of X or of the coefficients where it is wider."""
    dtype = np.result_type(X.dtype, coef.dtype)
    X = sum_duplicates(X)
    if is_sparse(X) and not is_sparse(samples):
        X = X.toarray()
    elif is_sparse(samples) and not is_sparse(X):
        samples = samples.toarray()
    z = kernel.multiply(X, samples, np.ascontiguousarray(coef, dtype=np.float64)) + np.asarray(b, dtype=np.float64)
    return np.asarray(z, dtype=dtype)
