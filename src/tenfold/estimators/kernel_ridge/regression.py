"""Kernel ridge regression."""

from typing import Any, ClassVar

from sklearn.base import MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array, Floats
from tenfold.estimators.kernel_ridge.model import (
    INSTEAD,
    REPORT_ONLY,
    RULES,
    STORED,
    WHERE,
    IntervalMixin,
    KernelModel,
)
from tenfold.estimators.parameters import check_parameters
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.square_loss import penalties
from tenfold.estimators.validation import restore_on_error, validate, validate_weights


class KernelRidge(IntervalMixin, ScoreMixin, MultiOutputMixin, RegressorMixin, KernelModel):
    """Kernel ridge regression: ridge regression in the feature space of a kernel.

    Minimises ``sum_i weight_i (y_i - f(x_i))^2 + alpha ||f||^2`` over the functions of the kernel's space; the minimum
    is ``f(x) = sum_i c_i k(x, x_i)`` with ``(K + alpha diag(1 / weight)) c = y``. There is no intercept.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1
        Strength of the penalty, for all targets or for each; 0 for none: of all functions that fit best the one of
        least norm.
    kernel : str, kernel object or callable, default="linear"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix.
    gamma : float, {"auto", "scale"}, default=None
        Width parameter of the names that have one. None and "auto": 1 / n_features (1 for "chi2"); "scale":
        1 / (n_features * X.var()).
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        None: f is an expansion in all samples. Otherwise it is one in centres z_j, ``f(x) = sum_j c_j k(x, z_j)``, and
        the same objective is minimised over those functions alone, for many samples. A number m, or ("uniform", m): m
        samples drawn at random; ("kmeans", m): the means of m clusters; ("leverage", m): m samples drawn by their ridge
        leverage scores; an array: these points. Centres that others represent to working precision are left out.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.

    Attributes
    ----------
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
        where that cannot change the sign of a prediction.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A Cholesky factor, n^3 / 3 multiplications, in float32 with corrections in float64 where these converge, else in
    float64; where the matrix has no factor, its eigenvectors. The kernel matrix is evaluated by tiles, and only the
    factor is in memory: 4 n^2 bytes, 8 n^2 in float64. Predictions never form the matrix of all pairs. What does not
    fit in memory is refused before it starts. Runs on dense and sparse arrays and on devices, with sample weights.
    Seeger, section 9.2.2; Rosasco, ch. 6; Welling, ch. 10; Cookbook, ch. 23.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidge
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2), model.certificate_.ok
    (array([1.]), True)
    """

    _registration: ClassVar = Registration(
        method="Kernel ridge regression",
        texts=("S9.2.2", "R6", "B23", "W10"),
        peer="sklearn.kernel_ridge",
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("dual residual", "gap"),
        judge="kernel_ridge.regression",
        outputs="kernel_ridge.predictions",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        centres: Any = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.centres = centres
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelRidge":
        """Fit to X (n, p), or a kernel matrix (n, n), y (n,) or (n, t), and optional `sample_weight`, a number or
        (n,).
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        self._fit_targets(X, y, validate_weights(sample_weight, X), self.alpha, flat=y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """``sum_i c_i k(x, x_i)`` for the samples X (m, p), or a kernel matrix (m, n_samples)."""
        return self._predict_raw(X)

    def _penalties(self) -> Floats:
        return penalties(self.alpha, 1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1])
