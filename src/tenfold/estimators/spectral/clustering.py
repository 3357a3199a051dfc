"""Spectral clustering."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from tenfold.arrays import Array
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
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
from tenfold.estimators.schema import floats, integers
from tenfold.estimators.spectral.affinities import (
    GIVEN,
    HERE,
    INSTEAD,
    KERNELS,
    connect_neighbours,
    eigen_tolerance,
    evaluate_kernel,
    symmetrise,
    validate_samples,
)
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.plans.spectral_graph import fit_clusters


class SpectralClustering(ClusterMixin, BaseEstimator):
    """Spectral clustering: clusters of a graph with a small normalised cut.

    With affinities W >= 0, symmetric and without their diagonal, and degrees ``d_i = sum_j W_ij``, clusters A_k with a
    small cut,

        ``sum_k cut(A_k) / vol(A_k)``,   cut(A) = sum of W_ij with i in A, j outside,   vol(A) = sum of d_i in A,

    are looked for in the embedding by the eigenvectors of the normalised Laplacian ``I - D^(-1/2) W D^(-1/2)`` with the
    smallest eigenvalues. The sum of these eigenvalues is a lower bound on the cut of any clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    eigen_solver : {"arpack", "lobpcg", "amg"}, default=None
        Accepted for compatibility: eigenvectors are those of LAPACK or of a block Lanczos process, as is faster.
    n_components : int, default=None
        Number of eigenvectors of the embedding; None is n_clusters.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of the eigenvectors, and of the labels.
    n_init : int, default=10
        Runs of k-means, of which that with the least energy counts.
    gamma : float, default=1.0
        gamma of the kernels "rbf", "poly", "polynomial", "sigmoid", "laplacian" and "chi2".
    affinity : str or callable, default="rbf"
        Affinities: a kernel, "additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf" or
        "sigmoid"; "nearest_neighbors": of samples of which one is among the `n_neighbors` nearest of the other, 1 if
        both are, else 1/2; "precomputed": X itself; "precomputed_nearest_neighbors": neighbours by the distances X; or
        a function of two samples. Negative affinities raise an error.
    n_neighbors : int, default=10
        Number of neighbours, the sample itself among them.
    eigen_tol : float or "auto", default="auto"
        Accepted for compatibility: residuals are always within the tolerance of the certificate.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How labels follow from the embedding: by k-means; by the rotation and the labels that are nearest to each other
        (Yu and Shi 2003); or by the pivots of a QR factorisation (Damle, Minden and Ying 2019). The latter two give as
        many clusters as there are components.
    degree : float, default=3
        Degree of the kernels "poly" and "polynomial".
    coef0 : float, default=1
        Constant of the kernels "poly", "polynomial" and "sigmoid".
    kernel_params : dict, default=None
        Arguments of a function.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.
    verbose : bool, default=False
        Whether it is printed that labels are being assigned.
    normalize_rows : bool, default=False
        Whether the rows of the embedding are scaled to length one before labels are assigned (Ng, Jordan and Weiss
        2001; Welling, eq. 11.17).

    Attributes
    ----------
    affinity_matrix_ : ndarray or sparse matrix of shape (n_samples, n_samples)
        The affinities.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding that the labels come from: unit eigenvectors over the square roots of the degrees.
    certificate_ : Certificate
        Kind spectral: the largest residual of an eigenvector of the Laplacian, or deviation from orthonormality; and
        one exact step of Lloyd on the embedding (or of the rotations, or the pivots again) leaves the labels as they
        are. `objective` is the normalised cut, `lower_bound` a number that no cut into as many clusters is below: exact
        or with the probability that the note states.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The graph of all pairs takes n^2 p operations, and two matrices of n^2 numbers, where it is dense; that of k
    neighbours takes n k numbers. Then some products of the graph with a few vectors, at most the work of a Cholesky
    factor, n^3 / 3 operations; k-means is short beside them. Runs on dense and sparse arrays in memory.
    Welling, ch. 11; Cookbook, ch. 8 and 12.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SpectralClustering
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> model = SpectralClustering(n_clusters=2, random_state=0).fit(X)
    >>> np.unique(model.labels_[:3]).size, np.unique(model.labels_[3:]).size
    (1, 1)
    >>> model.certificate_.ok, model.certificate_.lower_bound <= model.certificate_.objective
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Spectral clustering",
        texts=("W11", "B8", "B12"),
        peer="sklearn.cluster",
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("spectral",),
        judge="spectral_graph.clustering",
        board=Entry(
            "spectral-clustering",
            "structure",
            {"affinity": "nearest_neighbors", "n_neighbors": 10, "random_state": 0},
            {"n_clusters": (2, 3, 4, 5, 6, 7, 8, 9)},
            dense=True,
        ),
        stored={
            "embedding_": floats("n e"),
            "affinity_matrix_": floats("n n", sparse=True),
            "labels_": integers("n", low=0),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_clusters": (integer(1),),
        "eigen_solver": (choice("arpack", "lobpcg", "amg"), nothing()),
        "n_components": (integer(1), nothing()),
        "random_state": (random_state(),),
        "n_init": (integer(1),),
        "gamma": (real(0),),
        "affinity": (function(), choice(*KERNELS, "nearest_neighbors", *GIVEN)),
        "n_neighbors": (integer(1),),
        "eigen_tol": (eigen_tolerance(),),
        "assign_labels": (choice("kmeans", "discretize", "cluster_qr"),),
        "degree": (real(0),),
        "coef0": (real(-np.inf, closed="neither"),),
        "kernel_params": (instance(dict), nothing()),
        "n_jobs": (instance(int, np.integer), nothing()),
        "verbose": (integer(0), boolean()),
        "normalize_rows": (boolean(),),
    }

    affinity_matrix_: Array
    labels_: Array
    embedding_: Array
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_init: int = 10,
        gamma: float = 1.0,
        affinity: Any = "rbf",
        n_neighbors: int = 10,
        eigen_tol: Any = "auto",
        assign_labels: str = "kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        normalize_rows: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.normalize_rows = normalize_rows

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples X (n, p), or by the affinities or distances X (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        X = validate_samples(self, X, np.float64)
        A = compute_affinity(self, X)
        if self.verbose:
            print(f"Computing label assignment using {self.assign_labels}")
        result = fit_clusters(
            symmetrise(A) if self.affinity == "precomputed" else A,
            self.n_clusters,
            count_components(self),
            self.assign_labels,
            unit_rows=self.normalize_rows,
            starts=self.n_init,
            random=check_random_state(self.random_state),
        )
        self.affinity_matrix_ = A
        self.labels_, self.embedding_, self.certificate_ = result.labels, result.embedding, result.certificate
        warn_unless_certified(self)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Cluster the samples X (n, p), or by the affinities or distances X (n, n), and return the labels (n,); `y` is
        not used.
        """
        return self.fit(X).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in GIVEN
        return tags


def count_components(model: Any) -> int:
    """The number of components of the embedding."""
    return int(model.n_clusters if model.n_components is None else model.n_components)


def compute_affinity(model: Any, X: Array) -> Array:
    """The affinities of validated samples by the parameters of a model, ours or scikit-learn's; given ones may not be
    symmetric.
    """
    if model.affinity == "precomputed":
        return X
    if model.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors"):
        given = model.affinity != "nearest_neighbors"
        return connect_neighbours(X, model.n_neighbors, given=given, n_jobs=model.n_jobs)
    return evaluate_kernel(X, model.affinity, model.gamma, model.degree, model.coef0, model.kernel_params)
