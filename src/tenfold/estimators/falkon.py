"""Falkon: kernel ridge regression and classification on centres, for millions of samples."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state

from tenfold.arrays import (
    Array,
    Floats,
    is_array_api,
    is_dask,
    is_sparse,
    like,
    namespace,
    on_host,
)
from tenfold.data import Rows, Table
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.centres_parameter import CENTRES, read_centres
from tenfold.estimators.kernel_parameter import KERNEL, WITH_GAMMA, is_pairwise, name_kernel
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, number
from tenfold.estimators.schema import nothing as no_value
from tenfold.estimators.square_loss import RidgeClassification
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.plans import kernel_centres
from tenfold.plans.kernel_centres import CentreFit, Settings
from tenfold.stats.derivatives import Params

HOLD_OUT = "hold-out"

REPORT_ONLY = {
    "n_iter_": "how many iterations the solver took",
    "alphas_": "the candidates; alpha_ must be the best of them",
    "hold_out_errors_": "no method reads them, and alpha_ and kernel_ must be the best of them",
}
STORED = {
    "dual_coef_": floats("m", "m t"),
    "centres_": floats("m p", sparse=True),
    "intercept_": number() | floats("t"),
    "alpha_": number(0.0),
    "alphas_": floats("q", low=0.0) | no_value(),
    "hold_out_errors_": floats("* q", nan=True) | no_value(),
}


def evaluate(kernel: Kernel, centres: Array, coef: Floats, intercept: Floats, flat: bool, X: Array) -> Array:
    """sum_j coef_j k(z_j, x) + intercept for each sample, (m,) or (m, t), in the dtype of X and where it is."""
    if is_array_api(X):
        centres, coef, intercept = (like(part, X) for part in (on_host(centres), coef, intercept))
    else:
        centres = on_host(centres) if is_array_api(centres) else centres
        X, centres = match_storage(X, centres)
    z = kernel.multiply(X, centres, coef) + intercept
    z = z.astype(X.dtype, copy=False) if not is_array_api(X) else namespace(z).astype(z, X.dtype, copy=False)
    return z[:, 0] if flat else z


def match_storage(X: Array, centres: Array) -> tuple[Array, Array]:
    """Samples and centres both dense or both sparse."""
    if is_sparse(X) and not is_sparse(centres):
        return X, sparse.csr_array(centres)
    if is_sparse(centres) and not is_sparse(X):
        return sparse.csr_array(X), centres
    return X, centres


class _Falkon(CallbackSupportMixin, Predictor, BaseEstimator):
    """Base of both: parameters, candidates and the fit of targets (n, t)."""

    _constraints: ClassVar[Constraints] = {
        **KERNEL,
        **CENTRES,
        "alpha": (real(0, closed="neither"), choice(HOLD_OUT), array_like()),
        "gamma": (*KERNEL["gamma"], choice(HOLD_OUT), array_like()),
        "fit_intercept": (boolean(),),
        "validation_fraction": (real(0, 1, "neither"),),
        "tol": (real(0, closed="neither"),),
        "max_iter": (integer(1),),
        "random_state": (random_state(),),
    }

    alpha: Any
    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    centres: Any
    fit_intercept: bool
    validation_fraction: float
    tol: float
    max_iter: int
    random_state: Any

    dual_coef_: Array
    centres_: Array
    intercept_: Any
    kernel_: Kernel
    alpha_: float
    certificate_: Certificate

    def _fit_targets(self, X: Array, Y: Array, weight: Array | None, *, flat: bool) -> None:
        """Fit and store; Y is (n,) or (n, t)."""
        if is_pairwise(self.kernel):
            raise ValueError("A precomputed kernel has no samples among which centres are: give a name or a kernel.")
        rows, request = as_rows(X, Y, weight), read_centres(self, X)
        settings = Settings(
            bool(self.fit_intercept),
            float(self.tol),
            int(self.max_iter),
            float(self.validation_fraction),
            check_random_state(self.random_state),
        )

        def attributes(params: Params) -> dict[str, Any]:
            intercept = params.intercept if self.fit_intercept else 0.0
            return {"dual_coef_": params.coef[:, 0] if flat else params.coef, "intercept_": intercept}

        callback = make_callback(self, X, Y, self.max_iter, attributes)
        penalties = self._penalties()
        fitted = require_finite(
            self,
            X,
            lambda: kernel_centres.fit(rows, self._kernels(X, rows), penalties, request, settings, callback),
        )
        self._store(fitted, X, flat)

    def _penalties(self) -> Floats | None:
        """Candidates of the penalty; None for the grid."""
        if isinstance(self.alpha, str):
            return None
        values = np.ravel(np.asarray(self.alpha, dtype=np.float64))
        if not values.size or not (np.isfinite(values) & (values > 0.0)).all():
            raise ValueError(
                f"alpha must be finite and above zero, got {self.alpha!r}: without a penalty the certificate has no "
                "bound. A small one, 1e-10, changes little."
            )
        return values

    def _kernels(self, X: Array, rows: Rows) -> list[Kernel]:
        """Candidates of the kernel."""
        if not (isinstance(self.kernel, str) and self.kernel in WITH_GAMMA):
            if isinstance(self.gamma, str) and self.gamma == HOLD_OUT:
                raise ValueError(
                    f"gamma={HOLD_OUT!r} is for the kernels {', '.join(WITH_GAMMA)}; of others give the parameters."
                )
            return [self._name_kernel(X, None)]
        if isinstance(self.gamma, str) and self.gamma == HOLD_OUT:
            if self.kernel not in ("rbf", "laplacian"):
                raise ValueError(
                    f"gamma={HOLD_OUT!r} has candidates for 'rbf' and 'laplacian': give a list for {self.kernel!r}."
                )
            widths = kernel_centres.list_widths(rows)
            gammas = 1.0 / widths if self.kernel == "laplacian" else 0.5 * widths**-2.0
            return [self._name_kernel(X, float(gamma)) for gamma in gammas]
        if isinstance(self.gamma, str) and self.gamma == "scale" and (isinstance(X, Table) or is_dask(X)):
            return [self._name_kernel(X, kernel_centres.scale_gamma(rows))]
        if self.gamma is None or isinstance(self.gamma, str) or np.ndim(self.gamma) == 0:
            return [self._name_kernel(X, self.gamma)]
        gammas = np.ravel(np.asarray(self.gamma, dtype=np.float64))
        if not gammas.size or not (np.isfinite(gammas) & (gammas > 0.0)).all():
            raise ValueError(f"All candidates of gamma must be finite and above zero, got {self.gamma!r}.")
        return [self._name_kernel(X, float(gamma)) for gamma in gammas]

    def _name_kernel(self, X: Array, gamma: Any) -> Kernel:
        rest = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0, "params": self.kernel_params}
        return name_kernel(self.kernel, X, **rest)

    def _store(self, fitted: CentreFit, X: Array, flat: bool) -> None:
        device = is_array_api(X) and not is_dask(X)
        coef = fitted.params.coef[:, 0] if flat else fitted.params.coef
        self.dual_coef_ = like(coef, X) if device else coef
        self.centres_, self.kernel_, self.alpha_ = fitted.centres, fitted.kernel, float(fitted.penalty)
        b = fitted.params.intercept
        self.intercept_ = 0.0 if not self.fit_intercept else float(b[0]) if flat else like(b, X) if device else b
        for name in ("alphas_", "hold_out_errors_"):
            self.__dict__.pop(name, None)
        if fitted.errors is not None:
            self.alphas_, self.hold_out_errors_ = fitted.candidates, fitted.errors
        self.n_iter_, self.trace_, self.certificate_ = fitted.iterations, fitted.trace, fitted.certificate
        warn_unless_certified(self)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        coef = np.asarray(on_host(self.dual_coef_), dtype=np.float64)
        flat, b = coef.ndim == 1, np.atleast_1d(np.asarray(on_host(self.intercept_), dtype=np.float64))
        return partial(evaluate, self.kernel_, self.centres_, coef[:, None] if flat else coef, b, flat)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Falkon(ScoreMixin, MultiOutputMixin, RegressorMixin, _Falkon):
    """Kernel ridge regression on centres, for millions of samples (Falkon).

    Minimises over functions ``f(x) = sum_j c_j k(z_j, x)`` of m centres z_j and the intercept b

    ``1 / (2 W) sum_i weight_i (y_i - f(x_i) - b)^2 + alpha / 2 c'K c,``

    W the sum of the weights and K the kernel of the centres, by conjugate gradients with a Nystroem preconditioner.
    With all samples as centres it is `KernelRidge` with the penalty ``alpha W``.

    Parameters
    ----------
    alpha : float, array-like of float or "hold-out", default=1e-6
        Strength of the penalty, above zero, in units of the mean loss. Several candidates: the one with the least error
        on samples that are held out; "hold-out" takes ten of them, 1e-10 to 1e-1 times the mean of k(z, z).
    kernel : str, kernel object or callable, default="rbf"
        A name of scikit-learn's ("linear", "poly", "rbf", "laplacian", "sigmoid", "chi2", "additive_chi2", "cosine"), a
        kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, or a function of two samples.
    gamma : float, "scale", "auto", array-like of float or "hold-out", default=None
        Parameter of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2". None and "auto": 1 / n_features (1
        for "chi2"); "scale": 1 / (n_features X.var()). Several candidates: the best on samples that are held out;
        "hold-out" takes six, from the distances of some samples, for "rbf" and "laplacian".
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant of the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        The points z_j. A number m, or ("uniform", m): m samples drawn at random; ("kmeans", m): the means of m
        clusters; ("leverage", m): m samples drawn by their ridge leverage scores; an array: these points; None: ten
        times the root of the number of samples, at most 4000. Centres that others represent to working precision, as
        duplicates, are left out.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``, which is not penalised.
    validation_fraction : float, default=0.1
        Fraction of the samples that are held out to choose among candidates; the model is then fitted to all.
    tol : float, default=1e-6
        The objective is at most tol times that at zero coefficients above its minimum.
    max_iter : int, default=200
        Limit of the steps of the solver, each a pass over the samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres, of the samples that are held out, and of the preconditioner.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_centres,) or (n_centres, n_targets)
        Coefficients c, in float64 also where X is float32: they cancel in sums.
    centres_ : {ndarray, sparse matrix} of shape (n_centres, n_features)
        The centres, where the samples were.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    kernel_ : Kernel
        The kernel, with its parameters.
    alpha_ : float
        The penalty, given or chosen.
    alphas_ : ndarray of shape (n_alphas,)
        Candidates of the penalty; only where there was a choice.
    hold_out_errors_ : ndarray of shape (n_kernels, n_alphas)
        Mean squared errors on the samples that were held out; only where there was a choice.
    n_iter_ : int
        Steps of the solver in the fit to all samples.
    trace_ : tuple of Record
        Objective and measure of each step.
    certificate_ : Certificate
        Kind gap: how far the objective is at most above its minimum over all coefficients of these centres. With other
        centres it may be lower: the note has what the centres miss of k(x, x), measured on random samples, with
        Hoeffding's bound on the mean over all.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Cost: a pass takes n m values of the kernel, m the number of centres, and a fit some tens of passes, besides
    m^3 operations and about 4 m^2 numbers of memory; n m numbers are never in memory. With few centres, below about a
    thousand, most of the work goes into the preconditioner, and a few passes are left. All candidates of alpha share
    each pass; each kernel has passes of its own. Ctrl-C ends the fit with the coefficients of the last step. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rudi, Carratino and Rosasco, Falkon (2017); Cookbook, sections 21 and 24.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Falkon
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, (2000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.randn(2000)
    >>> model = Falkon(centres=50, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [1.5]]).round(1) + 0.0
    array([0., 1.])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Kernel ridge regression on centres (Falkon)",
        texts=("B21", "B24"),
        reads=("a pass a step",),
        certificate=("gap",),
        judge="kernel_centres.regression",
        outputs="kernel_centres.predictions",
        choice="kernel_centres.check_choice",
        report_only=REPORT_ONLY,
        stored=STORED,
        board=Entry(
            "falkon",
            "regression",
            {"alpha": "hold-out", "gamma": "hold-out", "random_state": 0},
            chosen=("alpha_",),
            how="hold-out",
            fast=False,
            fewest_rows=10_000,
            dense=True,
        ),
    )

    def __init__(
        self,
        alpha: Any = 1e-6,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        centres: Any = None,
        fit_intercept: bool = True,
        validation_fraction: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.centres = centres
        self.fit_intercept = fit_intercept
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        self._fit_targets(X, y, validate_weights(sample_weight, X), flat=y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """``sum_j c_j k(z_j, x) + b`` for each of the samples X, (n,) or (n, t), where these are."""
        return self._predict_raw(X)


class FalkonClassifier(RidgeClassification, _Falkon):
    """Classification by kernel ridge regression on centres (Falkon), one against the rest.

    For every class k, with targets t_ik = 1 for its samples and -1 for the others, minimises over functions
    ``f(x) = sum_j c_jk k(z_j, x)`` of m centres z_j and the intercept b_k

    ``1 / (2 W) sum_i weight_i (t_ik - f(x_i) - b_k)^2 + alpha / 2 c_k'K c_k,``

    W the sum of the weights and K the kernel of the centres; predicts the largest score. All classes share every pass.

    Parameters
    ----------
    alpha : float, array-like of float or "hold-out", default=1e-6
        Strength of the penalty, above zero, in units of the mean loss. Several candidates: the one with the least error
        on samples that are held out; "hold-out" takes ten of them, 1e-10 to 1e-1 times the mean of k(z, z).
    kernel : str, kernel object or callable, default="rbf"
        A name of scikit-learn's ("linear", "poly", "rbf", "laplacian", "sigmoid", "chi2", "additive_chi2", "cosine"), a
        kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, or a function of two samples.
    gamma : float, "scale", "auto", array-like of float or "hold-out", default=None
        Parameter of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2". None and "auto": 1 / n_features (1
        for "chi2"); "scale": 1 / (n_features X.var()). Several candidates: the best on samples that are held out;
        "hold-out" takes six, from the distances of some samples, for "rbf" and "laplacian".
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant of the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further arguments of a kernel that is a function.
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        The points z_j. A number m, or ("uniform", m): m samples drawn at random; ("kmeans", m): the means of m
        clusters; ("leverage", m): m samples drawn by their ridge leverage scores; an array: these points; None: ten
        times the root of the number of samples, at most 4000. Centres that others represent to working precision, as
        duplicates, are left out.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``, which is not penalised.
    validation_fraction : float, default=0.1
        Fraction of the samples that are held out to choose among candidates; the model is then fitted to all.
    tol : float, default=1e-6
        The objective is at most tol times that at zero coefficients above its minimum.
    max_iter : int, default=200
        Limit of the steps of the solver, each a pass over the samples.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres, of the samples that are held out, and of the preconditioner.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    dual_coef_ : ndarray of shape (n_centres,) or (n_centres, n_classes)
        Coefficients c, in float64 also where X is float32: they cancel in sums.
    centres_ : {ndarray, sparse matrix} of shape (n_centres, n_features)
        The centres, where the samples were.
    intercept_ : float or ndarray of shape (n_classes,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    kernel_ : Kernel
        The kernel, with its parameters.
    alpha_ : float
        The penalty, given or chosen.
    alphas_ : ndarray of shape (n_alphas,)
        Candidates of the penalty; only where there was a choice.
    hold_out_errors_ : ndarray of shape (n_kernels, n_alphas)
        Mean squared errors on the samples that were held out; only where there was a choice.
    n_iter_ : int
        Steps of the solver in the fit to all samples.
    trace_ : tuple of Record
        Objective and measure of each step.
    certificate_ : Certificate
        Kind gap: how far the objective is at most above its minimum over all coefficients of these centres. With other
        centres it may be lower: the note has what the centres miss of k(x, x), measured on random samples, with
        Hoeffding's bound on the mean over all.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Cost: a pass takes n m values of the kernel, m the number of centres, and a fit some tens of passes, besides
    m^3 operations and about 4 m^2 numbers of memory; n m numbers are never in memory. With few centres, below about a
    thousand, most of the work goes into the preconditioner, and a few passes are left. All candidates of alpha share
    each pass; each kernel has passes of its own. Ctrl-C ends the fit with the coefficients of the last step. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rudi, Carratino and Rosasco, Falkon (2017); Cookbook, sections 21 and 24.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from tenfold import FalkonClassifier
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> model = FalkonClassifier(gamma=1.0, centres=50, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.97
    """

    _registration: ClassVar = Registration(
        method="Classification by kernel ridge on centres (Falkon), one-vs-rest",
        texts=("B21", "B24"),
        reads=("a pass a step",),
        certificate=("gap",),
        judge="kernel_centres.classification",
        outputs="kernel_centres.labels",
        choice="kernel_centres.check_choice",
        report_only=REPORT_ONLY,
        stored=STORED,
        board=Entry(
            "falkon-classifier",
            "classification",
            {"alpha": "hold-out", "gamma": "hold-out", "random_state": 0},
            chosen=("alpha_",),
            how="hold-out",
            fast=False,
            fewest_rows=10_000,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **_Falkon._constraints,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
    }

    def __init__(
        self,
        alpha: Any = 1e-6,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        centres: Any = None,
        fit_intercept: bool = True,
        validation_fraction: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 200,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.centres = centres
        self.fit_intercept = fit_intercept
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), classes y (n,), or an indicator matrix of labels (n, k), and optional `sample_weight`, a
        number or (n,).
        """
        check_parameters(self, self._constraints)
        X, y, Y, weight = self._prepare(X, y, sample_weight)
        self._fit_targets(X, Y, weight, flat=Y.shape[1] == 1)
        return self
