"""Classification by kernel ridge regression on targets -1 and +1."""

from typing import Any, ClassVar

from tenfold.estimators.kernel_ridge.model import INSTEAD, REPORT_ONLY, RULES, STORED, WHERE, KernelModel
from tenfold.estimators.parameters import Constraints, check_parameters, choice, instance, nothing
from tenfold.estimators.registration import Registration
from tenfold.estimators.square_loss import RidgeClassification
from tenfold.estimators.validation import restore_on_error

CLASS_WEIGHT: Constraints = {"class_weight": (instance(dict), choice("balanced"), nothing())}


class KernelRidgeClassifier(RidgeClassification, KernelModel):
    """Classification by kernel ridge regression on targets -1 and +1 (one against the rest).

    A least-squares support vector machine without an offset: minimises
    ``sum_i weight_i (t_ik - f_k(x_i))^2 + alpha ||f_k||^2`` for every class k, with targets t_ik of +1 for samples of
    the class and -1 for all others (one such problem for two classes); predicts the class of the largest
    ``f_k(x) = sum_i c_ik k(x, x_i)``. All classes share one factor. For an offset, which is penalised, add a
    `tenfold.kernels.Constant` to the kernel.

    Parameters
    ----------
    alpha : float or array-like of shape (n_outputs,), default=1
        Strength of the penalty, for all classes or for each; 0 for none. Two classes have one output.
    kernel : str, kernel object or callable, default="rbf"
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
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes the total weights of the classes
        equal, by the numbers of their samples. None: all ones.
    centres : int, (str, int), array-like of shape (n_centres, n_features) or None, default=None
        None: f is an expansion in all samples. Otherwise it is one in centres z_j, ``f(x) = sum_j c_j k(x, z_j)``, and
        the same objective is minimised over those functions alone, for many samples. A number m, or ("uniform", m): m
        samples drawn at random; ("kmeans", m): the means of m clusters; ("leverage", m): m samples drawn by their ridge
        leverage scores; an array: these points. Centres that others represent to working precision are left out.
    random_state : int, RandomState instance or None, default=None
        Seed of the centres.

    Attributes
    ----------
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
        where that cannot change the sign of a prediction.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A Cholesky factor for all classes, n^3 / 3 multiplications, in float32 with corrections in float64 where these
    converge, else in float64; where the matrix has no factor, its eigenvectors. Only the factor is in memory: 4 n^2
    bytes, 8 n^2 in float64. Runs on dense and sparse arrays and on devices, with sample weights.
    Seeger, section 10.2.2; Rosasco, ch. 5 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelRidgeClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> KernelRidgeClassifier(alpha=0.1).fit(X, y).score(X, y)
    0.99
    """

    _registration: ClassVar = Registration(
        method="Kernel ridge classification (least-squares support vector machine), one-vs-rest",
        texts=("S10.2.2", "R6"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("dual residual", "gap"),
        judge="kernel_ridge.classification",
        outputs="kernel_ridge.decisions",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules=RULES,
    )
    _constraints: ClassVar[Constraints] = {**KernelModel._constraints, **CLASS_WEIGHT}

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        class_weight: Any = None,
        centres: Any = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.class_weight = class_weight
        self.centres = centres
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelRidgeClassifier":
        """Fit to X (n, p), or a kernel matrix (n, n), classes y (n,) or an indicator matrix of labels (n, k), and
        optional `sample_weight`, a number or (n,).
        """
        check_parameters(self, self._constraints)
        X, y, Y, weight = self._prepare(X, y, sample_weight)
        self._fit_targets(X, Y, weight, self.alpha, flat=False)
        return self
