"""Kernel canonical correlation analysis."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, numpy_dtype, wide
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, name_kernel
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
    splitter,
)
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.schema import floats, many
from tenfold.estimators.validation import require_finite, restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel
from tenfold.kernels.centring import project_on
from tenfold.plans.kernel_cca import KernelViews, average_correlation, fit_views

WHERE: tuple[Source, ...] = ("arrays", "sparse")
INSTEAD = "The kernel matrices hold all pairs of samples: load the samples into memory."


class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Canonical correlations of two or more views in the feature spaces of kernels.

    With the centred kernel matrix ``K_i`` of each view, directions ``a_i`` maximise ``sum over i != j of a_i' K_i K_j
    a_j`` where ``sum of a_i' (K_i^2 + ridge_i I) a_i`` is the number of views. For two views the values of the
    components are correlations that the ridge shrinks.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, at most the number of samples.
    kernel : str, kernel object or callable, or a list of them, default="rbf"
        Kernel of all views, or of each: a name of scikit-learn's, a kernel of `tenfold.kernels` or of scikit-learn's
        Gaussian processes, a function of two samples, or "precomputed": then the views are kernel matrices.
    gamma : float, default=None
        Width parameter of the names that have one. None: 1 / n_features of the view.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    ridge : float, array-like of shape (n_views,) or "cv", default="cv"
        The ridge of all views, or of each. "cv": that of the grid whose scores of held-out samples correlate most.
        Without one (0) every kernel matrix of full rank gives correlations of one, on unrelated views too: the fit ends
        with the status "no maximum" and is not certified.
    ridges : array-like of shape (g,) or (g, n_views), default=None
        The grid. None: eight ridges from 1e-4 to 1e3 times the mean squared eigenvalue of each view's kernel matrix.
    cv : int, splitter or iterable, default=5
        Folds of the cross-validation; an integer shuffles.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the start of block Lanczos.

    Attributes
    ----------
    dual_coefs_ : list of ndarray of shape (n_samples, n_components)
        The directions ``a_i`` of each view; the largest coefficient of the first is positive.
    values_ : ndarray of shape (n_components,)
        Values of the eigenproblem, in decreasing order.
    correlations_ : ndarray of shape (n_components,)
        Correlations of the scores of the samples of the fit, on average over all pairs of views. Those of other samples
        are smaller.
    ridge_ : ndarray of shape (n_views,)
        The ridge of each view.
    cv_results_ : dict
        ``ridges`` (g, n_views), ``fold_scores`` (g, folds), ``mean_test_score`` (g,); only with ``ridge="cv"``.
    X_fit_ : list of ndarray or sparse matrix of shape (n_samples, n_features of the view)
        The views of the fit, which scores need.
    kernels_ : list of Kernel
        The kernels as values of `tenfold.kernels`.
    certificate_ : Certificate
        Kind spectral: residuals of the directions, how far they are from orthonormal, and a proof that none with a
        larger value was left out, certain or with a stated probability. Not of the choice of the ridge.
    n_features_in_ : int
        Number of features of the first view.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features of the first view; only where it had names, all of them strings.

    Notes
    -----
    One eigendecomposition of each kernel matrix, 9 n^3 multiplications, serves all ridges; with cross-validation one
    more in each fold. Memory: five matrices of n x n for each view. Runs on dense and sparse arrays.
    Welling, ch. 14; Cookbook, ch. 11.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelCCA
    >>> z = np.random.RandomState(0).uniform(0.0, 6.28, 100)
    >>> X, Y = np.sin(z)[:, None], np.cos(z)[:, None]
    >>> model = KernelCCA(kernel="rbf", gamma=0.5, ridge=0.1).fit(X, Y)
    >>> bool(np.corrcoef(X[:, 0], Y[:, 0])[0, 1] < 0.2), bool(model.correlations_[0] > 0.9), model.certificate_.ok
    (True, True, True)
    """

    _registration: ClassVar = Registration(
        method="Kernel canonical correlation analysis",
        texts=("B11", "W14"),
        reads=("in memory",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("spectral",),
        judge="kernel_cca.directions",
        report_only={"cv_results_": "the scores of the grid that the ridge was chosen from"},
        stored={
            "X_fit_": many(floats("* *", sparse=True)),
            "dual_coefs_": many(floats("* *")),
            "ridge_": floats("*", low=0.0),
            "_offsets": many(floats("*")),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        **KERNEL,
        "kernel": (*KERNEL["kernel"], array_like()),
        "gamma": (real(0), nothing()),
        "ridge": (choice("cv"), real(0), array_like()),
        "ridges": (array_like(), nothing()),
        "cv": (splitter(),),
        "random_state": (random_state(),),
    }

    dual_coefs_: list[Array]
    certificate_: Certificate

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        ridge: Any = "cv",
        ridges: Any = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.ridge = ridge
        self.ridges = ridges
        self.cv = cv
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), or a list of views
            The first view, or all views.
        y : array-like or sparse matrix of shape (n, q) or (n,), default=None
            The second view; None where X is a list.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        for view in X if is_list_of_views(X) else [X]:
            self._registration.check_source("KernelCCA", view)
        views = validate_views(self, X, y, reset=True)
        n = int(views[0].shape[0])
        if n < 2:
            raise ValueError(f"Found array with {n} sample(s) while a minimum of 2 is required by KernelCCA.")
        if self.n_components > n:
            raise ValueError(f"n_components={self.n_components} must be at most the number of samples, {n}.")
        ridge = None if isinstance(self.ridge, str) else each_view(self.ridge, len(views), "ridge")
        table = None if self.ridges is None else _table(self.ridges, len(views))
        random = check_random_state(self.random_state)

        def work() -> KernelViews:
            kernels = name_kernels(self, views)
            dtype = numpy_dtype(views[0].dtype)
            splits = partial(_split, self.cv, views[0], random)
            return fit_views(kernels, views, self.n_components, ridge, table, splits, random, dtype)

        fitted = require_finite(self, views[0], work)
        self.kernels_, self.X_fit_ = name_kernels(self, views), views
        self.dual_coefs_, self._offsets = fitted.coefs, fitted.offsets
        self.values_, self.correlations_, self.ridge_ = fitted.values, fitted.correlations, fitted.ridge
        self.__dict__.pop("cv_results_", None)
        if fitted.grid is not None:
            self.cv_results_ = fitted.grid
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def transform(self, X: Any, y: Any = None) -> Any:
        """Scores of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, p), or a list of views
            Samples of the first view, or of all views.
        y : array-like or sparse matrix of shape (m, q), default=None
            Samples of the second view.

        Returns
        -------
        ndarray of shape (m, n_components), or tuple of them
            Scores of the first view, or of each of the views that are given.
        """
        check_is_fitted(self)
        if y is None and not is_list_of_views(X):
            X = read_strings_of_view(self, X, 0)
            return self._scores(0, validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), reset=False))
        views = validate_views(self, X, y, reset=False)
        if len(views) != len(self.X_fit_):
            raise ValueError(f"X has {len(views)} views, but KernelCCA is expecting {len(self.X_fit_)} views.")
        return tuple(self._scores(i, view) for i, view in enumerate(views))

    def _scores(self, i: int, X: Array) -> Array:
        if X.shape[1] != self.X_fit_[i].shape[1]:
            raise ValueError(
                f"View {i} has {X.shape[1]} features, but KernelCCA is expecting {self.X_fit_[i].shape[1]} features."
            )
        coef = wide(self.dual_coefs_[i])
        z = project_on(self.kernels_[i], self.X_fit_[i], coef - coef.mean(axis=0), self._offsets[i], X)
        return np.asarray(z, dtype=np.result_type(numpy_dtype(X.dtype), self.dual_coefs_[i].dtype))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to X (n, p) and y (n, q), and return the scores of X; of a list of views those of each."""
        return self.fit(X, y).transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    def score(self, X: Any, y: Any = None) -> float:
        """The correlation of the scores of samples X and y, on average over components and pairs of views."""
        return average_correlation([wide(z) for z in self.transform(X, y)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.input_tags.pairwise = not isinstance(self.kernel, (list, tuple)) and is_pairwise(self.kernel)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def is_list_of_views(X: Any) -> bool:
    """Whether X is a list of matrices, and not a matrix that is a list of lists."""
    return isinstance(X, (list, tuple)) and bool(X) and all(getattr(view, "ndim", 0) == 2 for view in X)


def validate_views(model: Any, X: Any, y: Any, *, reset: bool) -> list[Array]:
    """The views as dense or CSR matrices of floats with equally many samples."""
    if y is None and is_list_of_views(X):
        given = list(X)
        if len(given) < 2:
            raise ValueError("KernelCCA needs at least two views, got a list of one.")
    elif y is None:
        raise ValueError("KernelCCA requires y to be passed, but the target y is None: give y, or a list of views.")
    else:
        given = [X, y]
    given = [read_strings_of_view(model, view, i) for i, view in enumerate(given)]
    first = validate_data(model, given[0], accept_sparse="csr", dtype=list(FLOATS), reset=reset)
    rest = [
        check_array(view, accept_sparse="csr", dtype=list(FLOATS), ensure_2d=False, input_name="y", estimator=model)
        for view in given[1:]
    ]
    views = [first, *(view[:, None] if view.ndim == 1 else view for view in rest)]
    check_consistent_length(*views)
    return views


def read_strings_of_view(model: Any, view: Any, i: int) -> Any:
    """A view as validation takes it: strings as rows of numbers, where the kernel of the view reads them."""
    kernel = model.kernel[i] if isinstance(model.kernel, (list, tuple)) else model.kernel
    return kernel.encode_samples(view) if getattr(kernel, "reads_strings", False) else view


def each_view(value: Any, count: int, name: str) -> list[float]:
    """A number for each view."""
    numbers = np.asarray(value, dtype=np.float64)
    numbers = np.full(count, float(numbers)) if numbers.ndim == 0 else numbers
    if numbers.shape != (count,) or not np.all(numbers >= 0.0) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a number that is not negative, or one for each of {count} views: {value!r}.")
    return [float(number) for number in numbers]


def _table(ridges: Any, count: int) -> Floats:
    """The grid (g, views)."""
    table = np.asarray(ridges, dtype=np.float64)
    table = np.repeat(table[:, None], count, axis=1) if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[1] != count or not len(table) or not np.all(table > 0.0):
        raise ValueError(f"ridges must be positive, of shape (g,) or (g, {count}).")
    return table


def name_kernels(model: Any, views: list[Array]) -> list[Kernel]:
    """The kernel of each view by the parameters of a model."""
    given = list(model.kernel) if isinstance(model.kernel, (list, tuple)) else [model.kernel] * len(views)
    if len(given) != len(views):
        raise ValueError(f"kernel names {len(given)} kernels for {len(views)} views.")
    rest = {"degree": model.degree, "coef0": model.coef0, "params": model.kernel_params}
    kernels = []
    for kernel, X in zip(given, views, strict=True):
        X = check_samples(kernel, X)
        gamma = 1.0 / X.shape[1] if model.gamma is None else float(model.gamma)
        kernels.append(name_kernel(kernel, X, gamma=gamma, **rest))
    return kernels


def _split(cv: Any, X: Array, random: Any) -> list[tuple[Any, Any]]:
    """Folds; those of an integer are shuffled, and have at least two samples."""
    n = int(X.shape[0])
    if cv is None or isinstance(cv, int):
        order, count = random.permutation(n), max(2, min(5 if cv is None else cv, n // 2))
        parts = np.array_split(order, count)
        return [(np.setdiff1d(order, part), np.sort(part)) for part in parts]
    return list(check_cv(cv).split(np.zeros(n)))
