"""k-means in the feature space of a kernel."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats
from tenfold.estimators.kmeans.centroid_model import require_rows
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, integers, number
from tenfold.estimators.validation import read_strings, restore_on_error, validate_weights, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel, as_kernel
from tenfold.kernels.conversion import NAMES
from tenfold.machine import require_memory
from tenfold.plans.kernel_kmeans import fit


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Kernel k-means: clusters with the least squared distances from their means in the feature space of a kernel.

    With clusters A_k of weight ``W_k = sum w_i`` and their means ``m_k = sum w_i phi(x_i) / W_k``, looks for clusters
    that minimise the energy

        ``sum_k sum_(i in A_k) w_i ||phi(x_i) - m_k||^2``
        ``= sum_i w_i K_ii - sum_k (1 / W_k) sum_(i, j in A_k) w_i w_j K_ij``,

    which has many local minima, by steps of Lloyd from several starts: samples go to the nearest mean, which follows
    them. Clusters need not be convex in the space of the samples. With the kernel W_ij / (d_i d_j) of affinities W and
    weights d, their degrees, the energy is the normalised cut up to a constant.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : str, callable or kernel, default="rbf"
        A name, "additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid" or
        "precomputed", for which X is the kernel matrix; a kernel of `tenfold.kernels` or of scikit-learn's Gaussian
        processes; or a function of two samples.
    gamma : float, default=None
        gamma of the kernels that have one; None is 1 / n_features, for "chi2" 1.
    degree : float, default=3
        Degree of the kernels "poly" and "polynomial".
    coef0 : float, default=1
        Constant of the kernels "poly", "polynomial" and "sigmoid".
    kernel_params : dict, default=None
        Arguments of a function.
    init : {"k-means++", "random"} or array-like of shape (n_samples,), default="k-means++"
        Starts: clusters around samples that are drawn far apart (greedy k-means++ in feature space), labels drawn for
        each sample, or these labels.
    n_init : int, default=10
        Runs, of which that with the least energy counts; one from given labels.
    max_iter : int, default=300
        Steps of one run.
    tol : float, default=0.0
        A run ends when a step decreases the energy by at most tol times itself, or changes no label.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample.
    inertia_ : float
        The energy.
    dual_coef_ : ndarray of shape (n_samples, n_clusters)
        The means as combinations of the samples: their weights over those of the cluster.
    squared_norms_ : ndarray of shape (n_clusters,)
        The squared norms of the means.
    kernel_ : Kernel
        The kernel, with the number that gamma stands for.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The samples, which `predict` compares with.
    n_iter_ : int
        Steps of the run that counts.
    trace_ : tuple of Record
        The energy after each of its steps.
    certificate_ : Certificate
        Kind fixed point: the decrease of the energy in one more exact step, at most 1e-6 of it (tol, if that is more).
        That is a local minimum at best. `lower_bound` is the energy below which no labels can be, from the eigenvalues
        of the kernel matrix; it is left out where it would cost more than the fit (`tenfold.certify` asks for it up to
        4096 samples).
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The kernel matrix takes n^2 p operations and n^2 numbers; a step takes 2 n^2 k operations. Of a kernel that is not
    positive semidefinite a step may raise the energy; the run ends there. Runs on dense and sparse arrays in memory,
    with sample weights.
    Welling, ch. 11; Cookbook, ch. 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelKMeans
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> model = KernelKMeans(n_clusters=2, gamma=0.1, random_state=0).fit(X)
    >>> model.labels_[:3].tolist() == model.predict(X + 0.1)[:3].tolist()
    True
    >>> model.certificate_.ok, model.certificate_.lower_bound <= model.inertia_
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Kernel k-means",
        texts=("W11", "B12"),
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="The kernel matrix of all samples is kept in memory: give a sample of the rows as an array.",
        certificate=("fixed point",),
        judge="kernel_kmeans.clusters",
        outputs="kernel_kmeans.nearest",
        report_only={"n_iter_": "how many steps of Lloyd the solver took"},
        stored={
            "labels_": integers("n", low=0),
            "dual_coef_": floats("n c", low=0.0),
            "squared_norms_": floats("c"),
            "X_fit_": floats("n *", sparse=True) | anything(),
            "inertia_": number(),
        },
        rules={
            "labels_ must be numbers of the columns of dual_coef_": lambda model: (
                int(model.labels_.max()) < model.dual_coef_.shape[1]
            )
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_clusters": (integer(1),),
        "kernel": (choice(*NAMES), instance(Kernel), function()),
        "gamma": (real(0), nothing()),
        "degree": (real(0),),
        "coef0": (real(-np.inf, closed="neither"),),
        "kernel_params": (instance(dict), nothing()),
        "init": (choice("k-means++", "random"), array_like()),
        "n_init": (integer(1),),
        "max_iter": (integer(1),),
        "tol": (real(0),),
        "random_state": (random_state(),),
    }

    labels_: Array
    inertia_: float
    dual_coef_: Floats
    squared_norms_: Floats
    kernel_: Kernel
    X_fit_: Any
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the samples X (n, p), or by the kernel matrix X (n, n), with optional `sample_weight`, a number or
        (n,); `y` is not used.
        """
        check_parameters(self, self._constraints)
        X = validate_samples(self, X, reset=True)
        weight = validate_weights(sample_weight, X)
        require_rows(X, self.n_clusters, weight)
        weight = np.ones(X.shape[0]) if weight is None else weight
        kernel = resolve_kernel(self, X)
        K = evaluate_matrix(kernel, X)
        start, starts = self.init, self.n_init
        if not isinstance(start, str):
            start, starts = _check_labels(start, X.shape[0], self.n_clusters), 1
        random = check_random_state(self.random_state)
        result = fit(
            K, weight, self.n_clusters, start, starts=starts, max_iter=self.max_iter, tol=self.tol, random=random
        )
        self.labels_, self.inertia_ = result.labels.astype(np.int32), result.energy
        self.dual_coef_, self.squared_norms_ = result.dual, result.norms
        self.kernel_, self.X_fit_ = kernel, X
        self.trace_, self.n_iter_ = result.trace, len(result.trace)
        self.certificate_ = result.certificate
        warn_unless_certified(self)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and give the cluster of each sample, (n,); `y` is not
        used.
        """
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Array:
        """The index of the nearest mean of each sample of X (m, p), or by the kernel X (m, n) with the samples of the
        fit, (m,).
        """
        check_is_fitted(self)
        X = validate_samples(self, X, reset=False)
        products = self.kernel_.multiply(X, self.X_fit_, self.dual_coef_)
        squares = np.where(self.dual_coef_.any(axis=0), self.squared_norms_ - 2.0 * products, np.inf)
        return np.argmin(squares, axis=1).astype(np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def validate_samples(model: KernelKMeans, X: Any, *, reset: bool) -> Array:
    """Samples, dense or CSR; a kernel matrix where it is given."""
    model._registration.check_source(type(model).__name__, X)
    X = validate_data(model, read_strings(model, X), accept_sparse="csr", dtype=list(FLOATS), reset=reset)
    given = isinstance(model.kernel, str) and model.kernel == "precomputed"
    if reset and given and X.shape[0] != X.shape[1]:
        raise ValueError(f"A precomputed kernel matrix must be square, got an array of shape {X.shape}.")
    return X.toarray() if given and not isinstance(X, np.ndarray) else X


def resolve_kernel(model: KernelKMeans, X: Array) -> Kernel:
    """The kernel that the parameters ask for."""
    return as_kernel(
        model.kernel, X, gamma=model.gamma, degree=model.degree, coef0=model.coef0, params=model.kernel_params
    )


def evaluate_matrix(kernel: Kernel, X: Array) -> Floats:
    """The kernel matrix of samples, (n, n), in float64; raises where it is not finite or not symmetric."""
    n = X.shape[0]
    require_memory(f"The kernel matrix of {n:,} samples, twice,", 16 * n * n, "Take a sample of the rows.")
    K = np.ascontiguousarray(kernel.block(X), dtype=np.float64)
    if not np.isfinite(np.sum(K)):
        raise ValueError("The kernel of these samples is not finite: scale the features, or take another kernel.")
    if np.max(np.abs(K - K.T), initial=0.0) > 1e-8 * np.max(np.abs(K), initial=0.0):
        raise ValueError("The kernel matrix is not symmetric.")
    return K


def _check_labels(init: Any, n: int, k: int) -> Any:
    labels = np.asarray(init)
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise ValueError(
            f"init must be labels from 0 to {k - 1}, one for each of {n} samples, got an array of {labels.dtype} and "
            f"shape {labels.shape}."
        )
    return labels
