"""Logistic regression in the space of a kernel."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

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
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, instance, nothing, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tikhonov.model import COMMON, INSTEAD, REPORT_ONLY, RULES, STORED, WHERE, RiskModel
from tenfold.estimators.validation import restore_on_error, rowwise, total_weight, validate, validate_weights
from tenfold.losses.classification import loss_of_classes


class KernelLogisticRegression(ScoreMixin, ClassifierMixin, RiskModel):
    """Logistic regression in the space of a kernel, for two classes and for more (softmax).

    Two classes: minimises over functions f of the space of the kernel k and the intercept b

    ``C sum_i weight_i log(1 + exp(-y_i (f(x_i) + b))) + 1/2 ||f||^2``,  y_i = +1 for the second class and -1 for the
    first. More: ``C sum_i weight_i (log sum_k exp(z_ik) - z_i,y_i) + 1/2 sum_k ||f_k||^2``,  z_ik = f_k(x_i) + b_k.

    The best functions are ``f(x) = sum_i c_i k(x, x_i)`` (representer theorem), with ``c_i = C weight_i (t_i - p_i)``,
    t_i one for the sample's own class and p_i its probability: no coefficient is zero, unlike in a support vector
    machine.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses beside the penalty, above zero; the larger, the weaker the penalty.
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
    fit_intercept : bool, default=True
        Whether to fit intercepts, which are not penalised.
    tol : float, default=1e-6
        The fit ends when the certificate is ok: when the objective is at most `tol` times that of the best constant
        above its minimum.
    max_iter : int, default=200
        Most Newton steps, which take some tens of products with the kernel matrix each.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate. None for no
        limit.
    warm_start : bool, default=False
        Whether to start from the previous `dual_coef_` and `intercept_`, where these are of as many samples and
        classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Coefficients ``c``, for two classes those of the second; zero for samples of weight zero. In the dtype of X
        where the certificate holds in it, in float64 otherwise.
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
        Kind gap: no other functions and intercepts have a weighted mean objective (that above over C times the sum of
        the weights) that is smaller by more. ``decided(X)`` says which predictions no exact optimum changes, and
        ``intervals(X)`` encloses its scores; with centres all of that is about the best functions of these centres.
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
    dense and sparse arrays, with sample weights.
    Seeger, sections 9.2.3 and 9.4; Rosasco, section 8.3; Rasmussen and Williams, Gaussian Processes (2006), section
    3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelLogisticRegression
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> model = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (1.0, True)
    >>> model.predict_proba([[0.8, 0.8]]).round(2)
    array([[0.68, 0.32]])
    """

    _registration: ClassVar = Registration(
        method="Kernel logistic regression, binary and multinomial",
        texts=("S9.2.3", "S9.4", "R8.3"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("gap",),
        judge="tikhonov.logistic",
        outputs="tikhonov.probabilities",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
        board=Entry(
            "kernel-logistic",
            "classification",
            {"gamma": "scale"},
            {"C": (1.0, 10.0, 100.0)},
            fast=False,
            most_rows=5000,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "C": (real(0, np.inf, "neither"),),
        **COMMON,
        "class_weight": (instance(dict), choice("balanced"), nothing()),
        "warm_start": (boolean(),),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        class_weight: Any = None,
        centres: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
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
        self.warm_start = warm_start

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelLogisticRegression":
        """Fit to samples X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, number = encode_classes(y, X)
        count = int(self.classes_.shape[0])
        weight = combine_weights(self.class_weight, self.classes_, number, validate_weights(sample_weight, X))
        target = class_targets(number, count)
        strength = 1.0 / (float(self.C) * total_weight(target, weight))
        self._fit_risk(X, y, target, weight, loss_of_classes(count), strength, outputs=1 if count == 2 else count)
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of the samples X. Two classes: log odds of the second, (m,). More: raw scores, (m, n_classes)."""
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> Array:
        """The most probable class of each sample of X, (m,)."""
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else rowwise(argmax_scores, z))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of all classes for the samples X, (m, n_classes); small ones to full relative accuracy."""
        return rowwise(probabilities, self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities of all classes for the samples X, (m, n_classes)."""
        return rowwise(log_probabilities, self.decision_function(X))
