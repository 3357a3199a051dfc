"""Kernel principal component analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, is_array_api, is_sparse, like, namespace, numpy_dtype, wide
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, name_kernel
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.schema import floats, number
from tenfold.estimators.validation import (
    require_finite,
    restore_on_error,
    validate_rows,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel, project_on
from tenfold.plans.kernel_pca import KernelComponents, fit_components, fit_inverse

WHERE: tuple[Source, ...] = ("arrays", "sparse", "devices")
INSTEAD = (
    "The kernel matrix holds all pairs of samples: load the samples into memory (load(), compute()), or take a sample "
    "of them."
)
NO_INVERSE = (
    "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse transform is not "
    "available."
)


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """Principal components in the feature space of a kernel.

    With the centred kernel matrix ``C = H K H``, ``H = I - 1 1'/n``, and its eigenpairs ``C v = l v``, the coordinate
    of x along a component is ``sum_i v_i k_c(x, x_i) / sqrt(l)``, where ``k_c`` is the kernel about the mean of the
    samples of `fit` in the feature space.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, at most the number of samples. None: all whose eigenvalue is not zero.
    kernel : str, kernel object or callable, default="linear"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, a
        function of two samples, or "precomputed": then X is the kernel matrix.
    gamma : float, default=None
        Width parameter of the names that have one. None: 1 / n_features.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    alpha : float, default=1.0
        Penalty of the ridge regression that learns pre-images.
    fit_inverse_transform : bool, default=False
        Whether pre-images are learned: by kernel ridge regression of the samples on their coordinates.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" computes eigenvectors of the whole matrix. "arpack" and "randomized" both mean block Lanczos, which
        takes steps until the components are certified; "auto" takes it for few components of many samples.
    tol : float, default=0
        The certificate allows it, relative to the largest eigenvalue, and block Lanczos ends at it.
    max_iter : int, default=None
        Most steps of block Lanczos; None for 300, and dense eigenvectors where these do not suffice.
    iterated_power : int or "auto", default="auto"
        Accepted for compatibility: steps are taken until the components are certified.
    remove_zero_eig : bool, default=False
        Whether components with an eigenvalue of zero are left out; with ``n_components=None`` they always are.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of block Lanczos.
    copy_X : bool, default=True
        Whether the model keeps a copy of X; if False, it keeps X, which must not change as long as the model is used.
    n_jobs : int, default=None
        Accepted for compatibility: all threads are used.
    center : bool, default=True
        Whether the kernel is centred. If False, components are eigenvectors of K itself.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix, in decreasing order.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its eigenvectors, of unit length, each with its largest entry positive.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Dual coefficients of the pre-images; only with ``fit_inverse_transform=True``.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Coordinates of the samples of the fit; only with ``fit_inverse_transform=True``.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Samples of the fit, which projections need; the kernel matrix with ``kernel="precomputed"``.
    gamma_ : float
        `gamma`, or 1 / n_features where it is None.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    method_ : str
        How the eigenvectors were computed.
    certificate_ : Certificate
        Kind spectral: residuals of the eigenvectors, how far they are from orthonormal and the stored eigenvalues from
        theirs, and a proof that none with a larger eigenvalue was left out, certain or with a stated probability. Not
        ok where the coefficients of pre-images are not those of kernel ridge regression.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Few components of many samples: a float32 copy of the kernel matrix, 4 n^2 bytes, and about ten products of it with
    16 vectors; then one product in float64 by tiles to correct the vectors, and one to judge them. Many components: an
    eigendecomposition, 9 n^3 multiplications. Projections never form the matrix of all pairs. Runs on dense and sparse
    arrays and on devices.
    Rosasco, section 10.6; Welling, ch. 12; Cookbook, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelPCA
    >>> angle = np.linspace(0.0, 6.0, 40)
    >>> rings = np.concatenate([np.c_[np.cos(angle), np.sin(angle)] * r for r in (0.3, 4.0)])
    >>> model = KernelPCA(1, kernel="rbf", gamma=0.5).fit(rings)
    >>> z = model.transform(rings)[:, 0]
    >>> bool(z[:40].min() > z[40:].max() or z[:40].max() < z[40:].min()), model.certificate_.ok
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Kernel principal component analysis",
        texts=("R10.6", "W12", "B8"),
        peer="sklearn.decomposition",
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("spectral",),
        judge="kernel_pca.components",
        outputs="kernel_pca.projections",
        report_only={"method_": "how the eigenvectors were computed, in words"},
        stored={
            "X_fit_": floats("n p", sparse=True),
            "eigenvalues_": floats("c", low=0.0),
            "eigenvectors_": floats("n c"),
            "X_transformed_fit_": floats("n c"),
            "dual_coef_": floats("n p"),
            "gamma_": number(0.0),
            "_offset": floats("c"),
        },
        transform_uses="samples",
        board=Entry(
            "kernel-components",
            "structure",
            {"n_components": 5, "kernel": "rbf", "random_state": 0},
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1), nothing()),
        **KERNEL,
        "gamma": (real(0), nothing()),
        "alpha": (real(0),),
        "fit_inverse_transform": (boolean(),),
        "eigen_solver": (choice("auto", "dense", "arpack", "randomized"),),
        "tol": (real(0),),
        "max_iter": (integer(1), nothing()),
        "iterated_power": (integer(0), choice("auto")),
        "remove_zero_eig": (boolean(),),
        "random_state": (random_state(),),
        "copy_X": (boolean(),),
        "n_jobs": (integer(-(1 << 30)), nothing()),
        "center": (boolean(),),
    }

    X_fit_: Array
    eigenvalues_: Array
    eigenvectors_: Array
    kernel_: Kernel
    certificate_: Certificate

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        center: bool = True,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.center = center

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), or array on a device
            The samples; with ``kernel="precomputed"`` the kernel matrix (n, n).
        y : object, default=None
            Not used.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        if self.fit_inverse_transform and is_pairwise(self.kernel):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        given, X = X, validate_rows(self, X)
        if self.fit_inverse_transform and is_sparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        self.gamma_ = compute_gamma(self.gamma, X)
        self.kernel_ = name_model_kernel(self, X)
        fitted = require_finite(self, X, lambda: self._compute(check_samples(self.kernel, X)))
        X = check_samples(self.kernel, X)
        self.X_fit_ = _copy(X) if self.copy_X and X is given else X
        self._store(fitted, X)
        warn_unless_certified(self)
        return self

    def _compute(self, X: Array) -> KernelComponents:
        return fit_components(
            self.kernel_,
            X,
            self.n_components,
            center=bool(self.center),
            drop_zero=bool(self.remove_zero_eig),
            solver=self.eigen_solver,
            tol=float(self.tol),
            max_iter=self.max_iter,
            random=lambda: check_random_state(self.random_state),
            dtype=numpy_dtype(X.dtype),
        )

    def _store(self, fitted: KernelComponents, X: Array) -> None:
        self.eigenvalues_, self.eigenvectors_ = (_place(part, X) for part in (fitted.values, fitted.vectors))
        self._offset = fitted.means @ scale_vectors(fitted.values, fitted.vectors, bool(self.center))
        self.method_, self.certificate_ = fitted.method, fitted.certificate
        self.__dict__.pop("dual_coef_", None)
        self.__dict__.pop("X_transformed_fit_", None)
        if self.fit_inverse_transform:
            Z = fitted.vectors * np.sqrt(fitted.values)
            pre_image = fit_inverse(self.kernel_, _place(Z, X), X, float(self.alpha), numpy_dtype(X.dtype))
            self.X_transformed_fit_, self.dual_coef_ = _place(Z, X), pre_image.dual_coef
            self.certificate_ = pre_image.join(fitted.certificate)

    def _coefficients(self) -> Floats:
        """The coefficients (n, k) of projections."""
        return scale_vectors(self.eigenvalues_, self.eigenvectors_, bool(self.center))

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        dtype = numpy_dtype(self.eigenvectors_.dtype)
        return partial(_project, self.kernel_, self.X_fit_, self._coefficients(), self._offset, dtype)

    def transform(self, X: Any) -> Array:
        """Coordinates (m, n_components) of the samples X (m, n_features), or of a kernel matrix (m, n_samples)."""
        return self._predict_raw(X)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to X (n, p), and return the coordinates (n, n_components) of the same samples; `y` is not used."""
        self.fit(X)
        xp = namespace(self.eigenvectors_)
        return self.eigenvectors_ * xp.sqrt(self.eigenvalues_)

    def leave_self_out(self) -> Floats:
        """Coordinates of the samples of the fit without each sample's own term, (n, n_components).

        ``sum over i of v_i k_c(x_j, x_i) / sqrt(l)`` with i = j left out: how the sample is placed by the others.
        """
        check_is_fitted(self)
        values, vectors = wide(self.eigenvalues_), wide(self.eigenvectors_)
        own = CentredKernel(self.kernel_, self.X_fit_, bool(self.center)).diagonal()
        return vectors * np.sqrt(values) - own[:, None] * scale_vectors(values, vectors, False)

    def inverse_transform(self, X: Any) -> Array:
        """Pre-images (m, n_features) of coordinates X (m, n_components), by kernel ridge regression.

        Parameters
        ----------
        X : array-like of shape (m, n_components)
            Coordinates along the components.

        Returns
        -------
        ndarray of shape (m, n_features)
            The learned pre-images. They do not have the mean of the samples, which a centred kernel has lost.
        """
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(NO_INVERSE)
        X = X if is_array_api(X) else check_array(X, input_name="X", dtype=list(FLOATS))
        coef = wide(self.dual_coef_)
        dtype = numpy_dtype(self.dual_coef_.dtype)
        return _project(self.kernel_, self.X_transformed_fit_, coef, np.zeros(coef.shape[1]), dtype, X)

    def denoise(self, X: Any) -> Array:
        """Samples X (m, n_features) without what is outside the components: pre-images of their projections."""
        return self.inverse_transform(np.asarray(self.transform(X)) if not is_array_api(X) else self.transform(X))

    @property
    def _n_features_out(self) -> int:
        return int(self.eigenvalues_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_inverse_transform
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def compute_gamma(gamma: float | None, X: Array) -> float:
    """gamma, or 1 / n_features."""
    return 1.0 / X.shape[1] if gamma is None else float(gamma)


def name_model_kernel(model: Any, X: Array) -> Kernel:
    """The kernel of the parameters of a model, ours or scikit-learn's, for samples X of its fit."""
    gamma = compute_gamma(model.gamma, X)
    rest = {"degree": model.degree, "coef0": model.coef0, "params": model.kernel_params}
    return name_kernel(model.kernel, X, gamma=gamma, **rest)


def scale_vectors(values: Array, vectors: Array, center: bool) -> Floats:
    """v / sqrt(l) (n, k), zero where l is zero; with `center` their means are taken off, so that kernel values need
    not be centred by the sample.
    """
    values, vectors = wide(values), wide(vectors)
    scaled = vectors * np.where(values > 0.0, 1.0 / np.sqrt(np.where(values > 0.0, values, 1.0)), 0.0)
    return np.asarray(scaled - scaled.mean(axis=0) if center and len(scaled) else scaled)


def _project(kernel: Kernel, samples: Array, coef: Floats, offset: Floats, dtype: Any, X: Array) -> Array:
    z = project_on(kernel, samples, coef, offset, X)
    xp = namespace(z)
    return xp.astype(z, getattr(xp, np.result_type(numpy_dtype(X.dtype), dtype).name), copy=False)


def _place(array: Floats, X: Array) -> Array:
    """A fitted array in its dtype, where X is."""
    return like(array, X) if is_array_api(X) else array


def _copy(X: Array) -> Array:
    return namespace(X).asarray(X, copy=True) if is_array_api(X) else X.copy()
