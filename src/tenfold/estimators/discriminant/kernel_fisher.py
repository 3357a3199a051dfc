"""Kernel Fisher discriminant."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, numpy_dtype, wide
from tenfold.estimators.class_labels import as_vector, encode_labels
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, name_kernel
from tenfold.estimators.parameters import Constraints, check_parameters, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    read_strings,
    require_finite,
    restore_on_error,
    validate,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.plans.kernel_fisher import fit_directions


class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Fisher's discriminant in the feature space of a kernel.

    Directions ``a`` maximise ``a' S_B a / a' (S_W + beta I) a``, where ``S_B = sum_c N_c (kappa_c - kappa) (kappa_c -
    kappa)'`` is the scatter of the kernel means of the classes, and ``S_W = K^2 - sum_c N_c kappa_c kappa_c'`` that
    within. A sample with scores z goes to the class with the smallest ``sum_d (z_d - mean_cd)^2 / variance_cd``.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions, at most the number of classes less one; None for all.
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's, a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix.
    gamma : float, default=None
        Width parameter of the names that have one. None: 1 / n_features.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    beta : float, default=1e-3
        What is added to the diagonal of the scatter within classes; positive. Small values overfit.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples, n_components)
        The directions ``a``, each with its largest entry positive.
    values_ : ndarray of shape (n_components,)
        The ratios that they reach, in decreasing order.
    means_ : ndarray of shape (n_classes, n_components)
        Means of the scores of each class.
    variances_ : ndarray of shape (n_classes, n_components)
        Variances of the scores of each class.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the fit, which scores need; the kernel matrix with ``kernel="precomputed"``.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`.
    certificate_ : Certificate
        Kind spectral: residuals of the directions, how far they are from orthonormal, and all values of the small
        eigenproblem of the classes, of which none can be missing.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One Cholesky factor and one product, 7 n^3 / 3 multiplications, for the fit, and as many to judge it; five matrices
    of n x n. Runs on dense and sparse arrays.
    Welling, section 13.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelFisherDiscriminant
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 2)
    >>> y = np.hypot(X[:, 0], X[:, 1]) > 1.2
    >>> model = KernelFisherDiscriminant(beta=0.1).fit(X, y)
    >>> model.score(X, y) > 0.9, model.certificate_.ok
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Kernel Fisher discriminant",
        texts=("W13.1",),
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="The kernel matrix holds all pairs of samples: load the samples into memory.",
        certificate=("spectral",),
        judge="kernel_fisher.directions",
        outputs="kernel_fisher.decisions",
        stored={
            "X_fit_": floats("n p", sparse=True),
            "dual_coef_": floats("n c"),
            "values_": floats("c", low=0.0),
            "means_": floats("k c"),
            "variances_": floats("k c", low=0.0),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1), nothing()),
        **KERNEL,
        "gamma": (real(0), nothing()),
        "beta": (real(0, closed="neither"),),
    }

    classes_: Array
    dual_coef_: Array
    values_: Array
    kernel_: Kernel
    certificate_: Certificate

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        beta: float = 1e-3,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.beta = beta

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to X (n, p), or a kernel matrix (n, n), and classes y (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        check_classification_targets(y)
        self.classes_, number = encode_labels(as_vector(y), X)
        if len(self.classes_) < 2:
            raise ValueError("KernelFisherDiscriminant needs samples of at least 2 classes in the data, got 1 class.")
        count = self._count(len(self.classes_))

        def work() -> Any:
            samples = check_samples(self.kernel, X)
            kernel = name_model_kernel(self, samples)
            fitted = fit_directions(
                kernel, samples, np.asarray(number), count, float(self.beta), numpy_dtype(samples.dtype)
            )
            return samples, kernel, fitted

        self.X_fit_, self.kernel_, fitted = require_finite(self, X, work)
        self.dual_coef_, self.values_ = fitted.coef, fitted.values
        self.means_, self.variances_ = fitted.means, fitted.variances
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def _count(self, classes: int) -> int:
        """The number of directions."""
        if self.n_components is None:
            return classes - 1
        if self.n_components > classes - 1:
            raise ValueError(f"n_components={self.n_components} must be at most the classes less one, {classes - 1}.")
        return int(self.n_components)

    def transform(self, X: Any) -> Array:
        """Scores (m, n_components) of the samples X (m, n_features), or of a kernel matrix (m, n_samples)."""
        check_is_fitted(self)
        X = validate_data(self, read_strings(self, X), accept_sparse="csr", dtype=list(FLOATS), reset=False)
        z = self.kernel_.multiply(X, self.X_fit_, wide(self.dual_coef_))
        return np.asarray(z, dtype=np.result_type(numpy_dtype(X.dtype), self.dual_coef_.dtype))

    def decision_function(self, X: Any) -> Floats:
        """Distances of the samples X from the classes with the sign turned, (m, n_classes); of two classes their
        difference (m,).
        """
        near = -class_distances(self, wide(self.transform(X)))
        return near[:, 1] - near[:, 0] if len(self.classes_) == 2 else near

    def predict(self, X: Any) -> Array:
        """The nearest class of each of the samples X, (m,)."""
        z = self.decision_function(X)
        return self.classes_[(z > 0.0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)]

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def class_distances(model: Any, z: Floats) -> Floats:
    """sum_d (z_d - mean_cd)^2 / variance_cd of scores (m, k) from each class, (m, n_classes)."""
    means, variances = wide(model.means_), wide(model.variances_)
    least = np.finfo(np.float64).eps * np.maximum(np.max(variances, axis=0), np.finfo(np.float64).tiny)
    spread = np.maximum(variances, least)
    return np.asarray(np.sum((z[:, None, :] - means) ** 2 / spread, axis=2))


def name_model_kernel(model: Any, X: Array) -> Kernel:
    """The kernel of the parameters of a model, for samples X of its fit."""
    gamma = 1.0 / X.shape[1] if model.gamma is None else float(model.gamma)
    rest = {"degree": model.degree, "coef0": model.coef0, "params": model.kernel_params}
    return name_kernel(model.kernel, X, gamma=gamma, **rest)
