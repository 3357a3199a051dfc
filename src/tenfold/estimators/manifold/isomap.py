"""Isometric mapping."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Floats, is_sparse, wide
from tenfold.estimators.decomposition.kernel import KernelPCA
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.parameters import (
    Constraints,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.plans.classical_mds import inner_products
from tenfold.plans.isomap import count_parts, join_parts, measure_paths


class Isomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Isometric mapping: classical scaling of the lengths of shortest paths between neighbours.

    Samples are joined to their neighbours; D are the lengths of the shortest paths between all samples. The coordinates
    are ``V diag(l)^(1/2)`` for the eigenpairs of ``-1/2 H D^2 H``, ``H = I - 1 1'/n``, with the largest eigenvalues.

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Number of neighbours of each sample. If an int, `radius` must be None.
    radius : float or None, default=None
        Samples at most this far away are neighbours. If a float, `n_neighbors` must be None.
    n_components : int, default=2
        Number of coordinates.
    eigen_solver : {"auto", "arpack", "dense"}, default="auto"
        "dense" computes eigenvectors of the whole matrix; "arpack" means block Lanczos, and "auto" takes it for few
        coordinates of many samples.
    tol : float, default=0
        The certificate allows it, relative to the largest eigenvalue, and block Lanczos ends at it.
    max_iter : int, default=None
        Most steps of block Lanczos; None for 300, and dense eigenvectors where these do not suffice.
    path_method : {"auto", "FW", "D"}, default="auto"
        Search for shortest paths: by Floyd and Warshall, or by Dijkstra.
    neighbors_algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        Search for neighbours; all are exact.
    n_jobs : int or None, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.
    metric : str or callable, default="minkowski"
        Metric of the distances between samples, or "precomputed": then X is the matrix of distances.
    p : float, default=2
        Power of Minkowski's metric.
    metric_params : dict, default=None
        Keyword arguments of the metric.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates.
    kernel_pca_ : KernelPCA
        The eigenpairs of ``-1/2 H D^2 H``.
    nbrs_ : NearestNeighbors
        The index of the samples.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        The lengths of shortest paths, D.
    certificate_ : Certificate
        Kind spectral: residuals of the eigenvectors, and a proof that none with a larger eigenvalue was left out,
        certain or with a stated probability. `certify` judges the neighbours and the lengths of the paths, too.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A search for neighbours, n^2 k log(n) operations for the paths, and products of their matrix with a few vectors.
    Memory: three matrices of n x n. Where the graph is in several parts, a warning names their number, and each pair of
    parts is joined by its nearest samples. Runs on dense and sparse arrays.
    Cookbook, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Isomap
    >>> t = np.linspace(0.0, 9.0, 60)
    >>> spiral = np.c_[(2.0 + t) * np.cos(t), (2.0 + t) * np.sin(t)]
    >>> model = Isomap(n_neighbors=3, n_components=1).fit(spiral)
    >>> z = model.embedding_[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0)), model.certificate_.ok
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Isometric mapping",
        texts=("B8",),
        peer="sklearn.manifold",
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="The paths between all pairs of samples are measured: load the samples into memory.",
        certificate=("spectral",),
        judge="manifold.isomap",
        outputs="manifold.projections",
        stored={
            "embedding_": floats("n c"),
            "dist_matrix_": floats("n n", low=0.0),
            "kernel_pca_": anything(),
            "nbrs_": anything(),
        },
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_neighbors": (integer(1), nothing()),
        "radius": (real(0, closed="both"), nothing()),
        "n_components": (integer(1),),
        "eigen_solver": (choice("auto", "arpack", "dense"),),
        "tol": (real(0),),
        "max_iter": (integer(1), nothing()),
        "path_method": (choice("auto", "FW", "D"),),
        "neighbors_algorithm": (choice("auto", "brute", "kd_tree", "ball_tree"),),
        "n_jobs": (integer(-(1 << 30)), nothing()),
        "metric": (instance(str), function()),
        "p": (real(1),),
        "metric_params": (instance(dict), nothing()),
    }

    embedding_: Floats
    dist_matrix_: Floats
    certificate_: Certificate

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the coordinates of the samples X (n, p), or of distances (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                "Both n_neighbors and radius are provided. Use"
                f" Isomap(radius={self.radius}, n_neighbors=None) if intended to use"
                " radius-based neighbors"
            )
        self._registration.check_source("Isomap", X)
        search: Any = NearestNeighbors  # which takes None for the one that is not used
        self.nbrs_ = search(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm=self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(X)
        self.n_features_in_ = self.nbrs_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.nbrs_, "feature_names_in_"):
            self.feature_names_in_ = self.nbrs_.feature_names_in_
        dtype = self.nbrs_._fit_X.dtype
        method: Any = self.path_method
        D = measure_paths(make_graph(self, self.nbrs_, warn=True), method)
        self.dist_matrix_ = D.astype(dtype, copy=False) if dtype in FLOATS else D
        self.kernel_pca_ = KernelPCA(
            n_components=self.n_components,
            kernel="precomputed",
            eigen_solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            random_state=0,
            copy_X=False,
        )
        self.kernel_pca_.set_output(transform="default")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one warning is enough: that of this class
            G = inner_products(self.dist_matrix_).astype(self.dist_matrix_.dtype)
            self.embedding_ = self.kernel_pca_.fit_transform(G)
        self.certificate_ = self.kernel_pca_.certificate_
        warn_unless_certified(self)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Compute and return the coordinates (n, n_components) of X; `y` is not used."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Floats:
        """Coordinates (m, n_components) of samples X (m, p), which are linked to their neighbours in the graph."""
        check_is_fitted(self)
        return self.kernel_pca_.transform(link(self, X))

    def reconstruction_error(self) -> float:
        """The error of the inner products of the coordinates: ``||-1/2 H D^2 H - Z Z'||_F / n``."""
        check_is_fitted(self)
        G = inner_products(wide(self.dist_matrix_))
        means = G.mean(axis=0)
        G = G - means[:, None] - (means - means.mean())
        left = float(np.sum(G**2)) - float(np.sum(wide(self.kernel_pca_.eigenvalues_) ** 2))
        return float(np.sqrt(max(left, 0.0)) / len(G))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def make_graph(model: Any, nbrs: Any, *, warn: bool) -> Any:
    """The graph of the distances between neighbours, in one part."""
    radius = model.n_neighbors is None
    graph = nbrs.radius_neighbors_graph(mode="distance") if radius else nbrs.kneighbors_graph(mode="distance")
    count, part = count_parts(graph)
    if count == 1:
        return graph
    if model.metric == "precomputed" and is_sparse(nbrs._fit_X):
        raise RuntimeError(
            f"The number of connected components of the neighbors graph is {count} > 1. The graph cannot be completed "
            "with metric='precomputed', and Isomap cannot be fitted. Increase the number of neighbors to avoid this "
            "issue, or precompute the full distance matrix instead of passing a sparse neighbors graph."
        )
    if warn:
        warnings.warn(
            f"The number of connected components of the neighbors graph is {count} > 1. Completing the graph to fit "
            "Isomap might be slow. Increase the number of neighbors to avoid this issue.",
            stacklevel=4,
        )
    if model.metric == "precomputed":
        table = wide(nbrs._fit_X)
        positions = np.arange(len(table))
        return join_parts(graph, positions, part, lambda one, other: table[np.ix_(one, other)])
    name, params = nbrs.effective_metric_, nbrs.effective_metric_params_
    return join_parts(
        graph, nbrs._fit_X, part, lambda one, other: pairwise_distances(one, other, metric=name, **params)
    )


def link(model: Any, X: Any) -> Floats:
    """-1/2 of the squared lengths of the shortest paths from samples X to those of the fit, (m, n)."""
    find = model.nbrs_.kneighbors if model.n_neighbors is not None else model.nbrs_.radius_neighbors
    lengths, numbers = find(X)
    D = np.stack(
        [
            np.min(model.dist_matrix_[near] + np.asarray(far)[:, None], axis=0, initial=np.inf)
            for far, near in zip(lengths, numbers, strict=True)
        ]
    )
    single = getattr(X, "dtype", None) == np.float32
    return inner_products(D).astype(np.float32 if single else np.float64)
