"""Stochastic gradients in the space of a kernel, for any loss."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array, Floats
from tenfold.estimators.class_labels import (
    argmax_scores,
    class_targets,
    combine_weights,
    encode_classes,
    log_probabilities,
    probabilities,
    take_classes,
)
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, make_kernel
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tikhonov.classification import has_probabilities, risk_of
from tenfold.estimators.tikhonov.model import INSTEAD, REPORT_ONLY, RULES, STORED, WHERE, RiskModel
from tenfold.estimators.tikhonov.regression import check_targets, find_loss
from tenfold.estimators.validation import (
    require_finite,
    restore_on_error,
    rowwise,
    validate,
    validate_weights,
)
from tenfold.kernels import Kernel
from tenfold.losses.loss import Loss
from tenfold.plans.kernel_risk import KernelFit
from tenfold.plans.kernel_sgd import descend

COMMON: Constraints = {
    "alpha": (real(0, np.inf, "neither"),),
    **KERNEL,
    "fit_intercept": (boolean(),),
    "max_iter": (integer(1),),
    "batch_size": (integer(1),),
    "learning_rate": (choice("optimal", "invscaling", "constant"),),
    "eta0": (real(0, np.inf, "neither"), nothing()),
    "average": (boolean(),),
    "shuffle": (boolean(),),
    "random_state": (random_state(),),
}


class _Descending(RiskModel):
    """What both have in common."""

    batch_size: int
    learning_rate: str
    eta0: float | None
    average: bool
    shuffle: bool

    def _descend(
        self, X: Array, target: Floats, weight: Array | None, loss: Loss, strength: float, outputs: int = 1
    ) -> None:
        def work() -> tuple[Array, Kernel, KernelFit]:
            samples = check_samples(self.kernel, X)
            kernel = make_kernel(self, samples)
            fitted = descend(
                self._task(kernel, samples, target, weight, loss, strength, outputs),
                passes=int(self.max_iter),
                batch=int(self.batch_size),
                rule=self.learning_rate,
                first=self.eta0,
                average=bool(self.average),
                random=check_random_state(self.random_state) if self.shuffle else None,
            )
            return samples, kernel, fitted

        self._store(*require_finite(self, X, work), outputs)


class KernelSGD(ScoreMixin, RegressorMixin, _Descending):
    """Regression in the space of a kernel with any loss, by stochastic gradients.

    Goes towards the minimum over functions f of the space of the kernel k and the intercept b of

    ``1/W sum_i weight_i loss(y_i, f(x_i) + b) + alpha/2 ||f||^2``,  W the sum of the weights, f = sum_i c_i k(x_i, .),
    by steps along the gradient of a batch of samples, which changes the coefficients of these alone and shrinks all.

    Parameters
    ----------
    loss : str or a loss of tenfold.losses, default="square"
        "square", "huber", "laplace", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "poisson",
        "gamma", "tweedie" or "student", with usual settings; an object has others, for instance ``Quantile(0.9)``.
    alpha : float, default=1e-3
        Strength of the penalty, above zero, in units of the mean loss.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix. It must be positive semidefinite.
    gamma : float, {"auto", "scale"}, default=None
        Width parameter of the names that have one. None and "auto": 1 / n_features (1 for "chi2"); "scale":
        1 / (n_features * X.var()).
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    fit_intercept : bool, default=True
        Whether to fit intercepts, which are not penalised.
    max_iter : int, default=20
        Passes over the samples.
    batch_size : int, default=32
        Samples of a step.
    learning_rate : {"optimal", "invscaling", "constant"}, default="optimal"
        Length of step t: ``eta0 / (1 + eta0 alpha t)``, ``eta0 / sqrt(1 + t)``, or ``eta0``.
    eta0 : float, default=None
        Length of the first step; None: one over the largest k(x, x) and the largest curvature of the loss (1 where it
        has none).
    average : bool, default=True
        Whether the result is the mean of the iterates of the second half of the passes, or the last.
    shuffle : bool, default=True
        Whether each pass has a random order of its own.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        Coefficients ``c``; zero for samples of weight zero.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    n_iter_ : int
        Passes over the samples.
    method_ : str
        How the problem was solved, in words.
    certificate_ : Certificate
        Not judged by `fit`, which it would make longer: ``tenfold.certify(model, X, y)`` computes the duality gap, or
        the gradient where the loss is not convex.
    status_ : str
        "not judged".
    trace_ : tuple
        Empty.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A pass evaluates the kernel of all pairs of samples, or reads it where it fits into 256 MiB. Runs on dense and
    sparse arrays, with sample weights. `Tikhonov` minimises the same objective, and proves it.
    Seeger, section 9.2.2 (least mean squares with a kernel); Rosasco, section 8.3; Cookbook, ch. 21.
    Kivinen, Smola and Williamson 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelSGD
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(1.5, 200)
    >>> KernelSGD("huber").fit(X, y).predict([[0.0], [1.5]]).round(1)
    array([-0.1,  0.9])
    """

    _registration: ClassVar = Registration(
        method="Kernel stochastic gradients, any loss of numbers",
        texts=("S9.2.2", "R8.3", "B21"),
        reads=("random batches",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap", "stationarity"),
        judged=False,
        judge="tikhonov.regression",
        outputs="tikhonov.mean",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )
    _constraints: ClassVar[Constraints] = COMMON

    def __init__(
        self,
        loss: Any = "square",
        *,
        alpha: float = 1e-3,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = True,
        max_iter: int = 20,
        batch_size: int = 32,
        learning_rate: str = "optimal",
        eta0: float | None = None,
        average: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.shuffle = shuffle
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSGD":
        """Fit to samples X (n, p), targets y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        loss = find_loss(self, of_classes=False)
        X, y = validate(self, X, y, multi_output=False)
        target = np.asarray(y, dtype=np.float64)
        check_targets(loss, target)
        self._descend(X, target, validate_weights(sample_weight, X), loss, float(self.alpha))
        return self

    def _store_intercept(self, b: Floats) -> None:
        self.intercept_ = float(b[0])

    def predict(self, X: Any) -> Array:
        """The prediction for each sample of X, (m,): ``f(x) + b``, or its exponential where that is the mean."""
        raw = self._predict_raw(X)[:, 0]
        return rowwise(np.exp, raw) if find_loss(self, of_classes=False).link == "log" else raw

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in ("poisson", "gamma", "tweedie")
        return tags


class KernelSGDClassifier(ScoreMixin, ClassifierMixin, _Descending):
    """Classification in the space of a kernel with any loss, by stochastic gradients.

    Goes towards the minimum over functions f of the space of the kernel k and the intercept b of

    ``1/W sum_i weight_i loss(y_i, f(x_i) + b) + alpha/2 ||f||^2``,  y_i = +1 for the second of two classes and -1 for
    the first, f = sum_i c_i k(x_i, .), by steps along the gradient of a batch of samples, which changes the
    coefficients of these alone and shrinks all. "softmax", for any number of classes, has a function and an intercept
    for each.

    Parameters
    ----------
    loss : str or a loss of tenfold.losses, default="logistic"
        "logistic", "softmax", "hinge", "squared_hinge", "modified_huber" or "tanh".
    alpha : float, default=1e-3
        Strength of the penalty, above zero, in units of the mean loss.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix. It must be positive semidefinite.
    gamma : float, {"auto", "scale"}, default=None
        Width parameter of the names that have one. None and "auto": 1 / n_features (1 for "chi2"); "scale":
        1 / (n_features * X.var()).
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" by the weighted counts.
    fit_intercept : bool, default=True
        Whether to fit intercepts, which are not penalised.
    max_iter : int, default=20
        Passes over the samples.
    batch_size : int, default=32
        Samples of a step.
    learning_rate : {"optimal", "invscaling", "constant"}, default="optimal"
        Length of step t: ``eta0 / (1 + eta0 alpha t)``, ``eta0 / sqrt(1 + t)``, or ``eta0``.
    eta0 : float, default=None
        Length of the first step; None: one over the largest k(x, x) and the largest curvature of the loss (1 where it
        has none).
    average : bool, default=True
        Whether the result is the mean of the iterates of the second half of the passes, or the last.
    shuffle : bool, default=True
        Whether each pass has a random order of its own.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Coefficients ``c``, for two classes those of the second; zero for samples of weight zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts ``b``, of more than two classes with a mean of zero; zero with ``fit_intercept=False``.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    n_iter_ : int
        Passes over the samples.
    method_ : str
        How the problem was solved, in words.
    certificate_ : Certificate
        Not judged by `fit`, which it would make longer: ``tenfold.certify(model, X, y)`` computes the duality gap, or
        the gradient where the loss is not convex.
    status_ : str
        "not judged".
    trace_ : tuple
        Empty.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A pass evaluates the kernel of all pairs of samples, or reads it where it fits into 256 MiB. Runs on dense and
    sparse arrays, with sample weights. `TikhonovClassifier` minimises the same objective, and proves it.
    Seeger, section 9.2.2; Rosasco, section 8.3; Cookbook, ch. 21.
    Kivinen, Smola and Williamson 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelSGDClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> KernelSGDClassifier("hinge").fit(X, y).score(X, y) > 0.95
    True
    """

    _registration: ClassVar = Registration(
        method="Kernel stochastic gradients, any loss of classes",
        texts=("S9.2.2", "R8.3", "B21"),
        reads=("random batches",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap", "stationarity"),
        judged=False,
        judge="tikhonov.classification",
        outputs="tikhonov.classes",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )
    _constraints: ClassVar[Constraints] = {
        **COMMON,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
    }

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        alpha: float = 1e-3,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        class_weight: Any = None,
        fit_intercept: bool = True,
        max_iter: int = 20,
        batch_size: int = 32,
        learning_rate: str = "optimal",
        eta0: float | None = None,
        average: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.average = average
        self.shuffle = shuffle
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSGDClassifier":
        """Fit to samples X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        find_loss(self, of_classes=True)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        count = int(self.classes_.shape[0])
        weight = combine_weights(self.class_weight, self.classes_, number, validate_weights(sample_weight, X))
        loss, strength = risk_of(self)
        self._descend(X, class_targets(number, count), weight, loss, strength, count if loss.multi_output else 1)
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of the samples X. Two classes: ``f(x) + b``, positive for the second, (m,). More: scores of all, (m,
        n_classes).
        """
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (m,)."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else rowwise(argmax_scores, z))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for the samples X, (m, n_classes); of a loss that is a likelihood."""
        return rowwise(probabilities, self.decision_function(X))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of all classes for the samples X, (m, n_classes)."""
        return rowwise(log_probabilities, self.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "softmax" or getattr(self.loss, "multi_output", False)
        return tags
