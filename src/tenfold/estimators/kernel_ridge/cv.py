"""Kernel ridge regression and classification with alpha and the kernel chosen by exact cross-validation."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array, Floats
from tenfold.estimators.kernel_ridge.classification import CLASS_WEIGHT
from tenfold.estimators.kernel_ridge.model import INSTEAD, RULES, STORED, WHERE, IntervalMixin
from tenfold.estimators.kernel_ridge.selection import CHOSEN, REPORT_ONLY, ChoosingKernelRidge
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.square_loss import RidgeClassification
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import restore_on_error, validate, validate_weights

MOST_ROWS = 4000  # of leaderboards: ten eigendecompositions of 4000 x 4000 take about two minutes


class KernelRidgeCV(IntervalMixin, ScoreMixin, MultiOutputMixin, RegressorMixin, ChoosingKernelRidge):
    """Kernel ridge regression with alpha and the width of the kernel chosen by exact leave-one-out or exact folds.

    Minimises ``sum_i weight_i (y_i - f(x_i))^2 + alpha ||f||^2`` over the functions of a kernel's space, for the alpha
    and the kernel of the best score. One eigendecomposition of the kernel matrix serves all alphas, each sample left
    out, and all folds; nothing is refitted.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Candidates of the penalty; positive when ``cv=None``.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix.
        Or a list of kernels to choose from, which are compared as they are.
    gammas : array-like of shape (n_gammas,), default=None
        Candidates of the width parameter of kernels by name that have one. None: for "rbf" and "laplacian" ten widths
        between quantiles of the distances (`tenfold.kernels.width_grid`), for others 1 / n_features (1 for "chi2").
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    scoring : str or callable, default=None
        None is minus the mean squared error when ``cv=None`` and the coefficient of determination otherwise.
    cv : int, cross-validation generator or an iterable, default=None
        None is leave-one-out; an int is a number of folds, else a splitter or pairs of training and test
        indices. Any splitter is exact, overlapping and repeated samples included.

    Attributes
    ----------
    alpha_ : float
        The penalty of the best score; of equal scores the largest.
    gamma_ : float or None
        The gamma of the best score; None for kernels without one.
    best_score_ : float
        The score of `alpha_` and `gamma_`: the mean over the splits.
    cv_results_ : dict of ndarrays
        A row for each candidate: "param_alpha", "param_gamma", "param_kernel", "mean_test_score", "std_test_score",
        "rank_test_score", for folds "split0_test_score" and so on, and "relative_error": how near predictions are to
        those of refits, 1e-8 where alpha is at least 1e-8 of the largest eigenvalue of the kernel matrix, elsewhere the
        condition of the system times 1e-15.
    alphas_ : ndarray of shape (n_alphas,)
        The candidates of the penalty.
    gammas_ : ndarray of shape (n_kernels,)
        The candidates of gamma; None for kernels without one.
    cv_method_ : str
        How the scores were computed, as a sentence.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Dual coefficients ``c``; in the dtype of X where the certificate holds in it, in float64 otherwise.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    method_ : str
        How the system was solved: "Cholesky in float32, corrected in float64", "Cholesky", or "eigenvectors".
    certificate_ : Certificate
        Kind dual residual: what the coefficients leave of their system, relative to the weighted targets, for the worst
        target: by this fraction of their norm the targets would have to differ for the coefficients to be exact. Its
        ``radius`` bounds the distance of f to the best function in the norm of the kernel, and ``decided(X)`` says
        where that cannot change the sign of a prediction. The choice is the best of the stored scores;
        these are not certified, but for leave-one-out errors of few samples, which `certify` computes again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    An eigendecomposition for each kernel, about 6 n^3 multiplications, and n^2 for each alpha by leave-one-out, or
    n |T|^2 for a fold of |T| samples; five matrices of n x n in memory. Nothing is refitted but the choice. Runs on
    dense and sparse arrays and on devices, with sample weights.
    Seeger, section 10.2.2; Cookbook, C.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidgeCV
    >>> rng = np.random.RandomState(0)
    >>> X = np.sort(6.0 * rng.rand(60, 1), axis=0)
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.randn(60)
    >>> model = KernelRidgeCV(alphas=np.logspace(-4, 1, 11)).fit(X, y)
    >>> round(model.alpha_, 5), round(model.gamma_, 3)
    (0.0001, 0.097)
    >>> model.predict_interval([[1.5]], coverage=0.9).shape
    (1, 2)
    """

    _registration: ClassVar = Registration(
        method="Kernel ridge regression, alpha and width by exact leave-one-out or k-fold",
        texts=("S10.2.2", "B C.3"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("dual residual",),
        judge="kernel_ridge.regression",
        outputs="kernel_ridge.predictions",
        choice="kernel_ridge.check_regression_choice",
        report_only=REPORT_ONLY,
        stored={**STORED, **CHOSEN},
        rules=RULES,
        board=Entry(
            "kernel-ridge",
            "regression",
            {"alphas": np.logspace(-6, 2, 17)},
            fast=False,
            most_rows=MOST_ROWS,
            dense=True,
        ),
        tuning=Tuning(
            single="KernelRidge",
            selected={"alpha": "alpha_", "gamma": "gamma_", "kernel": "kernel"},
            candidates={"alpha": "alphas_", "gamma": "gammas_", "kernel": "kernel"},
            leave_one_out=True,
        ),
    )

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "rbf",
        gammas: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        scoring: Any = None,
        cv: Any = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scoring = scoring
        self.cv = cv

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "KernelRidgeCV":
        """Choose and fit to X (n, p), or a kernel matrix (n, n), y (n,) or (n, t) and optional `sample_weight`, a
        number or (n,); further `params`, such as `groups`, go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        self._choose(X, y, y, validate_weights(sample_weight, X), params)
        return self

    def predict(self, X: Any) -> Array:
        """``sum_i c_i k(x, x_i)`` for the samples X (m, p), or a kernel matrix (m, n_samples)."""
        return self._predict_raw(X)

    def _penalties(self) -> Floats:
        return np.full(1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1], self.alpha_)


class KernelRidgeClassifierCV(RidgeClassification, ChoosingKernelRidge):
    """Classification by kernel ridge regression, with alpha and the kernel's width chosen by exact cross-validation.

    Minimises ``sum_i weight_i (t_ik - f_k(x_i))^2 + alpha ||f_k||^2`` for every class k, with targets t_ik of +1 for
    samples of the class and -1 for all others (one such problem for two classes), for the alpha and the kernel of the
    best score. One eigendecomposition of the kernel matrix serves all alphas, classes, samples and folds that are left
    out; nothing is refitted.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Candidates of the penalty; positive when ``cv=None``.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix.
        Or a list of kernels to choose from, which are compared as they are.
    gammas : array-like of shape (n_gammas,), default=None
        Candidates of the width parameter of kernels by name that have one. None: for "rbf" and "laplacian" ten widths
        between quantiles of the distances (`tenfold.kernels.width_grid`), for others 1 / n_features (1 for "chi2").
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    scoring : str or callable, default=None
        None is minus the mean squared error of the targets -1 and +1 when ``cv=None`` and the accuracy otherwise.
    cv : int, cross-validation generator or an iterable, default=None
        None is leave-one-out; an int is a number of stratified folds, else a splitter or pairs of training and test
        indices. Any splitter is exact, overlapping and repeated samples included.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.

    Attributes
    ----------
    alpha_ : float
        The penalty of the best score; of equal scores the largest.
    gamma_ : float or None
        The gamma of the best score; None for kernels without one.
    best_score_ : float
        The score of `alpha_` and `gamma_`: the mean over the splits.
    cv_results_ : dict of ndarrays
        A row for each candidate: "param_alpha", "param_gamma", "param_kernel", "mean_test_score", "std_test_score",
        "rank_test_score", for folds "split0_test_score" and so on, and "relative_error": how near predictions are to
        those of refits, 1e-8 where alpha is at least 1e-8 of the largest eigenvalue of the kernel matrix, elsewhere the
        condition of the system times 1e-15.
    alphas_ : ndarray of shape (n_alphas,)
        The candidates of the penalty.
    gammas_ : ndarray of shape (n_kernels,)
        The candidates of gamma; None for kernels without one.
    cv_method_ : str
        How the scores were computed, as a sentence.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Dual coefficients ``c``; in the dtype of X where the certificate holds in it, in float64 otherwise.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the fit, which predictions need; the kernel matrix with ``kernel="precomputed"``.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    method_ : str
        How the system was solved: "Cholesky in float32, corrected in float64", "Cholesky", or "eigenvectors".
    certificate_ : Certificate
        Kind dual residual: what the coefficients leave of their system, relative to the weighted targets, for the worst
        target: by this fraction of their norm the targets would have to differ for the coefficients to be exact. Its
        ``radius`` bounds the distance of f to the best function in the norm of the kernel, and ``decided(X)`` says
        where that cannot change the sign of a prediction. The choice is the best of the stored scores;
        these are not certified, but for leave-one-out errors of few samples, which `certify` computes again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    An eigendecomposition for each kernel, about 6 n^3 multiplications, and n^2 for each alpha by leave-one-out, or
    n |T|^2 for a fold of |T| samples; five matrices of n x n in memory. Nothing is refitted but the choice. Runs on
    dense and sparse arrays and on devices, with sample weights.
    Seeger, section 10.2.2; Cookbook, C.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidgeClassifierCV
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> KernelRidgeClassifierCV(alphas=np.logspace(-4, 1, 6)).fit(X, y).score(X, y)
    1.0
    """

    _registration: ClassVar = Registration(
        method="Kernel ridge classification, alpha and width by exact leave-one-out or k-fold",
        texts=("S10.2.2", "B C.3"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("dual residual",),
        judge="kernel_ridge.classification",
        outputs="kernel_ridge.decisions",
        choice="kernel_ridge.check_classification_choice",
        report_only=REPORT_ONLY,
        stored={**STORED, **CHOSEN},
        rules=RULES,
        board=Entry(
            "kernel-ridge-classifier",
            "classification",
            {"alphas": np.logspace(-6, 2, 17)},
            fast=False,
            most_rows=MOST_ROWS,
            dense=True,
        ),
        tuning=Tuning(
            single="KernelRidgeClassifier",
            selected={"alpha": "alpha_", "gamma": "gamma_", "kernel": "kernel"},
            candidates={"alpha": "alphas_", "gamma": "gammas_", "kernel": "kernel"},
            leave_one_out=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {**ChoosingKernelRidge._constraints, **CLASS_WEIGHT}

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "rbf",
        gammas: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        scoring: Any = None,
        cv: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "KernelRidgeClassifierCV":
        """Choose and fit to X (n, p), or a kernel matrix (n, n), classes y (n,) or an indicator matrix of labels, and
        optional `sample_weight`, a number or (n,); further `params` go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        X, y, Y, weight = self._prepare(X, y, sample_weight)
        self._choose(X, y, Y, weight, params)
        return self
