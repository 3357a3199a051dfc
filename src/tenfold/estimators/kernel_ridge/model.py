"""What models of dual coefficients share: the fit of targets with a penalty each, and predictions by tiles."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, is_array_api, is_sparse, like, namespace, numpy_dtype, on_host, wide
from tenfold.cross_validation.kernel_jackknife import jackknife_plus
from tenfold.estimators.centres_parameter import CENTRES, read_centres
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, make_kernel
from tenfold.estimators.parameters import Constraints, array_like, random_state, real
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Source
from tenfold.estimators.schema import Check, Rule, floats, nothing
from tenfold.estimators.square_loss import penalties
from tenfold.estimators.validation import as_rows, read_strings, require_finite, sum_duplicates, warn_unless_certified
from tenfold.judge.certificate import RULES as RULES_OF_KINDS
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.plans.kernel_centres import CentreFit
from tenfold.plans.kernel_centres import fit_ridge as fit_on_centres
from tenfold.plans.kernel_ridge import KernelFit, fit

CENTRE_STEPS = 200  # of conjugate gradients, which take some tens

WHERE: tuple[Source, ...] = ("arrays", "sparse", "devices")
INSTEAD = (
    "The kernel matrix holds all pairs of samples: load the samples into memory (load(), compute()), or take a sample "
    "of them."
)
STORED: dict[str, Check] = {
    "X_fit_": floats("n p", sparse=True),
    "dual_coef_": floats("n") | floats("n t"),
    "_weight": floats("n", low=0.0) | nothing(),
}


def _has_coefficients_for_samples(model: Any) -> bool:
    return model.dual_coef_.shape[0] == model.X_fit_.shape[0]


RULES: dict[str, Rule] = {"dual_coef_ must have a row for each sample": _has_coefficients_for_samples}
REPORT_ONLY = {"method_": "how the system was solved, in words"}


class KernelModel(Predictor, BaseEstimator):
    """f(x) = sum_i dual_coef_i k(x, X_fit_i), for one or several targets."""

    _constraints: ClassVar[Constraints] = {
        "alpha": (real(0), array_like()),
        **KERNEL,
        **CENTRES,
        "random_state": (random_state(),),
    }

    kernel: Any
    random_state: Any
    kernel_: Kernel
    X_fit_: Array
    dual_coef_: Array
    certificate_: Certificate
    _weight: Array | None

    def _fit_targets(self, X: Array, Y: Array, weight: Array | None, alpha: Any, *, flat: bool) -> None:
        """Fit targets (n, t) or (n,) with the kernel and the penalties of the parameters; store and judge."""
        if getattr(self, "centres", None) is not None:
            self._fit_centres(X, Y, weight, alpha, flat=flat)
            return

        def work() -> tuple[Array, Kernel, KernelFit]:
            samples = check_samples(self.kernel, X)
            targets = as_rows(samples, Y, weight).whole().y
            kernel, each = make_kernel(self, samples), penalties(alpha, targets.shape[1])
            return samples, kernel, fit(kernel, samples, targets, weight, each, dtype_of(X))

        self._store(*require_finite(self, X, work), weight, flat)

    def _fit_centres(self, X: Array, Y: Array, weight: Array | None, alpha: Any, *, flat: bool) -> None:
        """The same with centres in the place of the samples in the expansion of f."""
        if is_pairwise(self.kernel):
            raise ValueError("A precomputed kernel has no samples among which centres are: give a name or a kernel.")
        request, random = read_centres(self, X), check_random_state(self.random_state)

        def work() -> CentreFit:
            rows, kernel = as_rows(check_samples(self.kernel, X), Y, weight), make_kernel(self, X)
            each = penalties(alpha, rows.targets)
            return fit_on_centres(rows, kernel, each, request, RULES_OF_KINDS["gap"].tol, CENTRE_STEPS, random)

        fitted = require_finite(self, X, work)
        coef = fitted.params.coef[:, 0] if flat else fitted.params.coef
        self.X_fit_, self.kernel_, self._weight = fitted.centres, fitted.kernel, None
        self.dual_coef_ = like(coef, X) if is_array_api(X) else coef
        self.method_, self.certificate_ = "conjugate gradients on centres", fitted.certificate
        warn_unless_certified(self)

    def _store(self, X: Array, kernel: Kernel, fitted: KernelFit, weight: Array | None, flat: bool) -> None:
        self.X_fit_, self.kernel_, self._weight = X, kernel, weight
        self.dual_coef_ = fitted.dual_coef[:, 0] if flat else fitted.dual_coef
        self.method_, self.certificate_ = fitted.method, fitted.certificate
        warn_unless_certified(self)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(combine_kernels, self.kernel_, self.X_fit_, self.dual_coef_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags


def dtype_of(X: Array) -> Any:
    """The dtype in which coefficients are kept: that of X where it is one of floats."""
    dtype = numpy_dtype(X.dtype)
    return dtype if dtype in FLOATS else np.float64


def combine_kernels(kernel: Kernel, samples: Array, coef: Array, X: Array) -> Array:
    """k(X, samples) coef by tiles, where X is and in its dtype, or that of the coefficients where it is wider."""
    dtype = np.result_type(numpy_dtype(X.dtype), numpy_dtype(coef.dtype))
    if is_array_api(samples) and not is_array_api(X):
        samples, coef = on_host(samples), on_host(coef)
    elif is_array_api(X) and not is_array_api(samples):
        samples, coef = like(samples.toarray() if is_sparse(samples) else samples, X), like(coef, X)
    xp = namespace(coef)
    z = kernel.multiply(sum_duplicates(X), samples, xp.astype(coef, xp.float64, copy=False))
    return xp.astype(z, getattr(xp, dtype.name), copy=False)


class IntervalMixin:
    """Jackknife+ intervals around the predictions of a kernel model of numbers."""

    def _penalties(self) -> Floats:
        """The alpha of each target."""
        raise NotImplementedError

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Jackknife+ intervals for new observations at X (m, n_features), from exact leave-one-out residuals.

        For exchangeable samples, and a kernel and an alpha that do not depend on them, they cover a new observation
        with probability at least ``2 coverage - 1``, typically `coverage`. Where alpha or the width of the kernel was
        chosen on the same samples, that proof does not hold, and intervals are slightly too short. (Barber, Candes,
        Ramdas and Tibshirani 2021.)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Samples to predict.
        coverage : float, default=0.9
            Probability with which an interval is to cover.

        Returns
        -------
        ndarray of shape (m, 2) or (m, n_targets, 2)
            Lower and upper ends.

        Notes
        -----
        Each call factors the kernel matrix again, n^3 / 3 multiplications and two matrices of n x n.
        """
        model: Any = self
        check_is_fitted(model)
        if getattr(model, "centres", None) is not None:
            raise ValueError("Jackknife+ needs a coefficient for every sample: fit without centres.")
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        if is_array_api(model.X_fit_):
            raise ValueError("Prediction intervals are computed in NumPy: fit the model on NumPy arrays.")
        fits = np.asarray(model._predict_raw(X), dtype=np.float64)
        coef = wide(model.dual_coef_)
        queries = validate_data(model, read_strings(model, X), accept_sparse="csr", dtype=list(FLOATS), reset=False)
        result = jackknife_plus(
            model.kernel_,
            model.X_fit_,
            None if model._weight is None else wide(model._weight),
            coef.reshape(len(coef), -1),
            self._penalties(),
            queries,
            fits.reshape(len(fits), -1),
            coverage,
        )
        return result[:, 0] if fits.ndim == 1 else result
