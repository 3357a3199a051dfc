"""Random kitchen sinks: ridge regression and classification on random Fourier features."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, is_array_api, is_dask, namespace, numpy_dtype, on_host, some_rows
from tenfold.cross_validation.ridge_selection import select
from tenfold.data import MappedRows
from tenfold.estimators.kernel_approximation.feature_map import check_finite
from tenfold.estimators.kernel_approximation.fourier import PARAMETERS, read_gamma, spectrum_of, store_draw
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    instance,
    nothing,
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
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels.random_features import Cosines
from tenfold.plans.least_squares import fit as fit_ridge
from tenfold.stats.derivatives import Params, forward

PIECE_VALUES = 1 << 21  # features that are made at a time to predict: 16 MiB in float64

STORED = {
    "random_weights_": floats("p c"),
    "random_offset_": floats("c"),
    "coef_": floats("c") | floats("t c"),
    "gamma_": number(0.0),
    "cv_errors_": floats("*", low=0.0) | no_value(),
}

REPORT_ONLY = {
    "gamma_": "the width of the draw, which is judged where random_state is a number",
    "method_": "the name of the method",
}


class _KitchenSinks(Predictor, BaseEstimator):
    """Base of both classes: the draw, the ridge on the features, and predictions."""

    _constraints: ClassVar[Constraints] = {
        **PARAMETERS,
        "alpha": (real(0), choice("loo")),
        "alphas": (array_like(), nothing()),
        "fit_intercept": (boolean(),),
    }

    gamma: Any
    n_components: int
    alpha: Any
    alphas: Any
    fit_intercept: bool
    random_state: Any
    random_weights_: Array
    random_offset_: Array
    coef_: Array
    intercept_: Array
    certificate_: Certificate

    def _fit_targets(self, X: Array, Y: Array, weight: Array | None, *, intercept_flat: bool) -> None:
        """Draw, fit and store; Y is (n,) or (n, t)."""
        alphas = None if self.alpha != "loo" else check_alphas(self.alphas)
        require_finite(self, X, lambda: check_finite(X))
        self.gamma_ = read_gamma(self, X, weight)
        random, p = check_random_state(self.random_state), X.shape[1]
        drawn = spectrum_of(self, self.gamma_).draw(p, int(self.n_components), random)
        self.random_weights_, self.random_offset_ = store_draw(drawn, X)
        dtype = numpy_dtype(X.dtype)
        rows = features_of(self, X, Y, weight)

        def work() -> Any:
            if alphas is None:
                chosen = np.full(rows.targets, float(self.alpha))
                self.alpha_, self.cv_errors_ = float(self.alpha), None
                return fit_ridge(rows, chosen, self.fit_intercept, dtype=dtype)
            selected = select(rows, alphas, self.fit_intercept, dtype=dtype)
            self.alpha_, self.cv_errors_ = selected.alpha, selected.errors
            return selected.fitted

        fitted = require_finite(self, X, work)
        flat = rows.targets == 1
        store(self, fitted, X, coef_flat=flat, intercept_flat=intercept_flat, intercept=self.fit_intercept)
        self.method_ = fitted.method
        warn_unless_certified(self)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        features = Cosines(self.random_weights_, self.random_offset_)
        coef = np.asarray(on_host(self.coef_))
        intercept = np.asarray(on_host(self.intercept_), dtype=np.float64)
        params = Params(
            np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64),
            np.ascontiguousarray(np.broadcast_to(intercept, np.atleast_2d(coef).shape[:1]), dtype=np.float64),
        )

        def predict(X: Array) -> Array:
            step = max(256, PIECE_VALUES // features.count)
            parts = [
                forward(features(some_rows(X, slice(start, min(start + step, X.shape[0])))), params)
                for start in range(0, X.shape[0] or 1, step)
            ]
            z = parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=0)
            dtype = X.dtype if is_array_api(X) else np.result_type(X.dtype, coef.dtype)
            z = namespace(z).astype(z, dtype, copy=False)
            return z[:, 0] if coef.ndim == 1 else z

        return predict

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def features_of(model: Any, X: Array, Y: Array, weight: Array | None) -> MappedRows:
    """The features of the samples with their targets and weights, block by block."""
    W, b = model.random_weights_, model.random_offset_
    if is_dask(X) or not is_array_api(X):
        W, b = on_host(W), on_host(b)
    return MappedRows(as_rows(X, Y, weight), Cosines(W, b), int(W.shape[1]), numpy_dtype(X.dtype))


def check_alphas(alphas: Any) -> Floats:
    """The candidates (A,): finite and positive."""
    if alphas is None:
        return np.logspace(-6.0, 3.0, 10)
    values = np.asarray(alphas, dtype=np.float64)
    if values.ndim != 1 or not values.size or not (np.isfinite(values).all() and np.all(values > 0.0)):
        raise ValueError(f"alphas must be a list of positive numbers, got {alphas!r}.")
    return values


class RandomKitchenSinks(ScoreMixin, MultiOutputMixin, RegressorMixin, _KitchenSinks):
    """Ridge regression on random Fourier features: kernel ridge regression at the cost of a linear model.

    Minimises ``sum_i weight_i (y_i - z(x_i).w - b)^2 + alpha ||w||^2`` with
    ``z_k(x) = sqrt(2 / K) cos(w_k.x + b_k)``; alpha is that of kernel ridge regression, whose kernel is approximated,
    and chosen by exact leave-one-out.

    Parameters
    ----------
    gamma : "scale" or float, default="scale"
        Of the kernel ``exp(-gamma ||x - y||^2)``; "scale" is ``1 / (n_features * X.var())``.
    n_components : int, default=500
        Number of features K.
    alpha : float or "loo", default="loo"
        Strength of the L2 penalty; "loo" takes that of the least mean squared leave-one-out error among `alphas`.
    alphas : array-like of shape (n_alphas,), default=None
        The candidates; None: 1e-6, 1e-5, ..., 1e3.
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.
    kernel : {"gaussian", "laplacian", "matern"}, default="gaussian"
        The kernel: Gaussian; ``exp(-gamma ||x - y||_1)``; or that of Matern with smoothness `nu` and length scale
        ``1 / sqrt(2 gamma)``.
    nu : float, default=1.5
        Smoothness of the Matern kernel.
    orthogonal : bool, default=False
        Whether the directions of each n_features weights are orthogonal, which makes the kernel error smaller.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components,) or (n_targets, n_components)
        Weights of the features.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept b; 0.0 with ``fit_intercept=False``.
    random_weights_ : ndarray of shape (n_features, n_components)
        The weights w_k.
    random_offset_ : ndarray of shape (n_components,)
        The offsets b_k.
    gamma_ : float
        The number that gamma means for the samples.
    alpha_ : float
        The penalty.
    cv_errors_ : ndarray of shape (n_alphas,), or None
        Mean squared leave-one-out errors of the candidates; None with a given alpha.
    method_ : str
        What solved the ridge: "gram", "svd" or "dual".
    certificate_ : Certificate
        Kind residual, of the ridge on the drawn features: the largest cosine between the penalised residual and a
        feature.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Three passes over the samples, ``n K^2`` operations for the moments of the features and ``2 n K^2`` more to choose
    alpha; features are made block by block and never kept. Memory K x K. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights.
    Cookbook, ch. 24; Rahimi and Recht 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RandomKitchenSinks
    >>> X = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> model = RandomKitchenSinks(gamma=1.0, n_components=100, random_state=0).fit(X, np.sin(2.0 * X[:, 0]))
    >>> round(model.score(X, np.sin(2.0 * X[:, 0])), 3), model.certificate_.ok
    (1.0, True)
    """

    _registration: ClassVar = Registration(
        method="Random kitchen sinks: ridge on random Fourier features",
        texts=("B24",),
        reads=("three passes",),
        certificate=("residual",),
        judge="kitchen_sinks.regression",
        outputs="kitchen_sinks.regression_outputs",
        choice="kitchen_sinks.check_regression_choice",
        report_only=REPORT_ONLY,
        stored=STORED,
        board=Entry("kitchen-sinks", "regression", {"random_state": 0}),
    )

    def __init__(
        self,
        *,
        gamma: Any = "scale",
        n_components: int = 500,
        alpha: Any = "loo",
        alphas: Any = None,
        fit_intercept: bool = True,
        random_state: Any = None,
        kernel: str = "gaussian",
        nu: float = 1.5,
        orthogonal: bool = False,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.kernel = kernel
        self.nu = nu
        self.orthogonal = orthogonal

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), targets y (n,) or (n, t), and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        self._fit_targets(X, y, validate_weights(sample_weight, X), intercept_flat=y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """``z(x).w + b`` of the samples X (n, p)."""
        return self._predict_raw(X)


class RandomKitchenSinksClassifier(RidgeClassification, _KitchenSinks):
    """Classification by ridge regression on random Fourier features, with targets of -1 and +1 (one against the rest).

    Minimises ``sum_i weight_i (t_ik - z(x_i).w_k - b_k)^2 + alpha ||w_k||^2`` for every class k with
    ``z_k(x) = sqrt(2 / K) cos(w_k.x + b_k)``; predicts the largest score. alpha is chosen by exact leave-one-out.

    Parameters
    ----------
    gamma : "scale" or float, default="scale"
        Of the kernel ``exp(-gamma ||x - y||^2)``; "scale" is ``1 / (n_features * X.var())``.
    n_components : int, default=500
        Number of features K.
    alpha : float or "loo", default="loo"
        Strength of the L2 penalty; "loo" takes that of the least mean squared leave-one-out error among `alphas`.
    alphas : array-like of shape (n_alphas,), default=None
        The candidates; None: 1e-6, 1e-5, ..., 1e3.
    fit_intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.
    kernel : {"gaussian", "laplacian", "matern"}, default="gaussian"
        The kernel: Gaussian; ``exp(-gamma ||x - y||_1)``; or that of Matern with smoothness `nu` and length scale
        ``1 / sqrt(2 gamma)``.
    nu : float, default=1.5
        Smoothness of the Matern kernel.
    orthogonal : bool, default=False
        Whether the directions of each n_features weights are orthogonal, which makes the kernel error smaller.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components,) or (n_classes, n_components)
        Weights of the features, one vector for two classes, else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    random_weights_ : ndarray of shape (n_features, n_components)
        The weights w_k.
    random_offset_ : ndarray of shape (n_components,)
        The offsets b_k.
    gamma_ : float
        The number that gamma means for the samples.
    alpha_ : float
        The penalty.
    cv_errors_ : ndarray of shape (n_alphas,), or None
        Mean squared leave-one-out errors of the candidates; None with a given alpha.
    method_ : str
        What solved the ridge: "gram", "svd" or "dual".
    certificate_ : Certificate
        Kind residual, of the ridge on the drawn features: the largest cosine, over classes, between the penalised
        residual and a feature.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Three passes over the samples, ``n K^2`` operations for the moments of the features and ``2 n K^2`` more to choose
    alpha; features are made block by block and never kept. Memory K x K. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights.
    Cookbook, ch. 24; Rahimi and Recht 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RandomKitchenSinksClassifier
    >>> X = np.random.RandomState(0).randn(200, 2)
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> RandomKitchenSinksClassifier(n_components=100, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _registration: ClassVar = Registration(
        method="Classification by random kitchen sinks",
        texts=("B24",),
        reads=("three passes",),
        certificate=("residual",),
        judge="kitchen_sinks.classification",
        outputs="kitchen_sinks.classification_outputs",
        choice="kitchen_sinks.check_classification_choice",
        report_only=REPORT_ONLY,
        stored=STORED,
        board=Entry("kitchen-sinks-classifier", "classification", {"random_state": 0}),
    )
    _constraints: ClassVar[Constraints] = {
        **_KitchenSinks._constraints,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
    }

    def __init__(
        self,
        *,
        gamma: Any = "scale",
        n_components: int = 500,
        alpha: Any = "loo",
        alphas: Any = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = None,
        kernel: str = "gaussian",
        nu: float = 1.5,
        orthogonal: bool = False,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.kernel = kernel
        self.nu = nu
        self.orthogonal = orthogonal

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), classes y (n,), or an indicator matrix of labels (n, k), and optional
        `sample_weight`, a number or (n,).
        """
        check_parameters(self, self._constraints)
        X, _, Y, weight = self._prepare(X, y, sample_weight)
        self._fit_targets(X, Y, weight, intercept_flat=False)
        return self
