"""Tikhonov regularisation: any loss of classes in the space of a kernel."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from tenfold.arrays import Array
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.class_labels import (
    argmax_scores,
    class_targets,
    combine_weights,
    encode_classes,
    log_probabilities,
    probabilities,
    take_classes,
)
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, nothing, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tikhonov.model import COMMON, INSTEAD, REPORT_ONLY, RULES, STORED, WHERE, RiskModel
from tenfold.estimators.tikhonov.regression import find_loss
from tenfold.estimators.validation import restore_on_error, rowwise, validate, validate_weights
from tenfold.losses.classification import Logistic
from tenfold.losses.likelihoods import likelihood_of
from tenfold.losses.loss import Loss


def has_probabilities(model: Any) -> bool:
    """Raises where the loss is no likelihood, so that `hasattr` and scorers know."""
    if likelihood_of(find_loss(model, of_classes=True)) is None:
        raise AttributeError(
            f"The loss {model.loss!r} is no likelihood: it has no probabilities. Use loss='logistic' or 'softmax', or "
            "calibrate the scores by sklearn.calibration.CalibratedClassifierCV."
        )
    return True


class TikhonovClassifier(ScoreMixin, ClassifierMixin, RiskModel):
    """Classification in the space of a kernel with any loss (Tikhonov regularisation).

    Minimises over functions f of the space of the kernel k and the intercept b

    ``1/W sum_i weight_i loss(y_i, f(x_i) + b) + alpha/2 ||f||^2``,  y_i = +1 for the second of two classes and -1 for
    the first, W the sum of the weights. "softmax", for any number of classes, has a function and an intercept for
    each, and the sum of the squares of their norms as the penalty. By the representer theorem the best function is
    ``f(x) = sum_i c_i k(x, x_i)``.

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
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        None: f is an expansion in all samples. Otherwise it is one in centres z_j, ``f(x) = sum_j c_j k(x, z_j)``, and
        the same objective is minimised over those functions alone, for many samples. A number m, or ("uniform", m): m
        samples drawn at random; ("kmeans", m): the means of m clusters; ("leverage", m): m samples drawn by their ridge
        leverage scores; an array: these points. Centres that others represent to working precision are left out.
        Not for "hinge" and "tanh".
    fit_intercept : bool, default=True
        Whether to fit intercepts, which are not penalised.
    tol : float, default=1e-6
        The fit ends when the certificate is ok: when the objective is at most `tol` times that of the best constant
        above its minimum.
    max_iter : int, default=1000
        Most Newton steps, which take some tens of products with the kernel matrix each.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate. None for no
        limit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Coefficients ``c``, for two classes those of the second (for "softmax" too, of the difference of both); zero for
        samples of weight zero. In the dtype of X where the certificate holds in it, in float64 otherwise.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts ``b``, of more than two classes with a mean of zero; zero with ``fit_intercept=False``.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``; the centres, where
        these are asked for.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    n_iter_ : int
        Newton steps taken.
    method_ : str
        How the problem was solved, in words.
    certificate_ : Certificate
        Kind gap where the loss is convex: no other functions and intercepts have an objective that is smaller by more.
        ``decided(X)`` says which predictions no exact optimum changes, and ``intervals(X)`` encloses its scores; with
        centres all of that is about the best functions of these centres. Kind stationarity for "tanh": the gradient in
        the space of functions vanishes.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted" or
        "stalled" (rounding).
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Newton's method in the space of functions: each step solves its system by conjugate gradients, whose preconditioner
    is a low rank and a diagonal in place of the kernel matrix K. K is in memory, 8 n^2 bytes, and from 1500 samples in
    float32, 4 n^2; the judge evaluates it in float64 by tiles, twice. With m centres memory is 24 n m bytes. Runs on
    dense and sparse arrays, with sample weights. Losses with kinks go by the dual problem: decomposition with an
    intercept, interior points without; "tanh" by L-BFGS from one start. "logistic" and "softmax" have `predict_proba`
    and `predict_log_proba`.
    Seeger, section 9.2.3 (what has Tikhonov's form has a kernel) and 9.4; Rosasco, sections 8.2 and 8.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import TikhonovClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> model = TikhonovClassifier("squared_hinge").fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (1.0, True)
    """

    _registration: ClassVar = Registration(
        method="Tikhonov regularisation with a kernel, any loss of classes",
        texts=("S9.2.3", "S9.4", "R8.2", "R8.3"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap", "stationarity"),
        judge="tikhonov.classification",
        outputs="tikhonov.classes",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )
    _constraints: ClassVar[Constraints] = {
        "alpha": (real(0, np.inf, "neither"),),
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
        centres: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.class_weight = class_weight
        self.centres = centres
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TikhonovClassifier":
        """Fit to samples X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        find_loss(self, of_classes=True)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        count = int(self.classes_.shape[0])
        weight = combine_weights(self.class_weight, self.classes_, number, validate_weights(sample_weight, X))
        loss, strength = risk_of(self)
        self._fit_risk(
            X, y, class_targets(number, count), weight, loss, strength, outputs=count if loss.multi_output else 1
        )
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


def risk_of(model: Any) -> tuple[Loss, float]:
    """The loss and the strength of the penalty, of the softmax of two classes as the logistic loss of f_1 - f_0, whose
    best halves are opposite: half of the penalty.
    """
    loss, count = find_loss(model, of_classes=True), int(model.classes_.shape[0])
    if count > 2 and not loss.multi_output:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass: {count} classes. Use "
            "loss='softmax', or wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
        )
    if count == 2 and loss.multi_output and not loss.nonsmooth:
        return Logistic(), 0.5 * float(model.alpha)
    return loss, float(model.alpha)
