"""Spectral embedding: Laplacian eigenmaps."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import Array, numpy_dtype
from tenfold.estimators.parameters import (
    Constraints,
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
from tenfold.estimators.schema import floats, number, whole
from tenfold.estimators.spectral.affinities import (
    GIVEN,
    HERE,
    INSTEAD,
    check_affinity,
    connect_neighbours,
    eigen_tolerance,
    evaluate_kernel,
    symmetrise,
    validate_samples,
)
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.plans.spectral_graph import fit_embedding


class SpectralEmbedding(BaseEstimator):
    """Laplacian eigenmaps: an embedding of samples in which those with a large affinity are close.

    With affinities W >= 0, symmetric and without their diagonal, degrees ``d_i = sum_j W_ij`` and D = diag(d), the
    columns of the embedding Y minimise

        ``sum_ij W_ij ||y_i - y_j||^2``     over  Y'DY = I,  Y'd = 0.

    They are ``u / d^(1/2)`` for unit eigenvectors u of the normalised Laplacian ``I - D^(-1/2) W D^(-1/2)`` with the
    smallest eigenvalues after the first, whose column is constant.

    Parameters
    ----------
    n_components : int, default=2
        Number of columns of the embedding.
    affinity : {"nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"} or callable, \
default="nearest_neighbors"
        Affinities: of samples of which one is among the `n_neighbors` nearest of the other, 1 if both are, else 1/2;
        ``exp(-gamma ||x - z||^2)``; X itself; neighbours by the distances X; or what a function of all samples returns,
        (n_samples, n_samples).
    gamma : float, default=None
        gamma of "rbf"; None is 1 / n_features.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of the eigenvectors; their result does not depend on it, but for the choice where eigenvalues
        are equal.
    eigen_solver : {"arpack", "lobpcg", "amg"}, default=None
        Accepted for compatibility: eigenvectors are those of LAPACK or of a block Lanczos process, as is faster.
    eigen_tol : float or "auto", default="auto"
        Accepted for compatibility: residuals are always within the tolerance of the certificate.
    n_neighbors : int, default=None
        Number of neighbours, the sample itself among them; None is n_samples / 10, and at least 1.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, in the precision of X. The entry of largest size of each column is positive.
    affinity_matrix_ : ndarray or sparse matrix of shape (n_samples, n_samples)
        The affinities.
    n_neighbors_ : int
        Number of neighbours; only with affinity="nearest_neighbors".
    gamma_ : float
        gamma of the affinities; only with affinity="rbf".
    certificate_ : Certificate
        Kind spectral: the largest residual of an eigenvector of the Laplacian, or deviation from orthonormality. That
        no eigenvector with a smaller eigenvalue is missing is proved by a Cholesky factor, or holds with the
        probability that the note states. `objective` is the sum of the eigenvalues.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The graph of all pairs takes n^2 p operations, and two matrices of n^2 numbers, where it is dense; that of k
    neighbours takes n k numbers. Then some products of the graph with a few vectors, at most the work of a Cholesky
    factor, n^3 / 3 operations. Isolated samples have the eigenvalue 1. Runs on dense and sparse arrays in memory.
    Cookbook, ch. 8; Welling, ch. 11.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SpectralEmbedding
    >>> X = np.linspace(0.0, 1.0, 30)[:, None]
    >>> model = SpectralEmbedding(n_components=1, affinity="rbf", gamma=50.0).fit(X)
    >>> places = model.embedding_[:, 0]
    >>> len(np.unique(np.sign(np.diff(places))))  # in the order of the samples, or the reverse
    1
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Laplacian eigenmaps",
        texts=("B8", "W11"),
        peer="sklearn.manifold",
        reads=("in memory",),
        where=HERE,
        instead=INSTEAD,
        certificate=("spectral",),
        judge="spectral_graph.embedding",
        stored={
            "embedding_": floats("n e"),
            "affinity_matrix_": floats("n n", sparse=True),
            "n_neighbors_": whole(1),
            "gamma_": number(0.0),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "affinity": (choice("nearest_neighbors", "rbf", *GIVEN), function()),
        "gamma": (real(0), nothing()),
        "random_state": (random_state(),),
        "eigen_solver": (choice("arpack", "lobpcg", "amg"), nothing()),
        "eigen_tol": (eigen_tolerance(),),
        "n_neighbors": (integer(1), nothing()),
        "n_jobs": (instance(int, np.integer), nothing()),
    }

    embedding_: Array
    affinity_matrix_: Array
    n_neighbors_: int
    gamma_: float
    certificate_: Certificate

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        gamma: float | None = None,
        random_state: Any = None,
        eigen_solver: str | None = None,
        eigen_tol: Any = "auto",
        n_neighbors: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples X (n, p), or the affinities or distances X (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        X = validate_samples(self, X)
        for name in ("n_neighbors_", "gamma_"):
            self.__dict__.pop(name, None)
        if self.affinity == "nearest_neighbors":
            self.n_neighbors_ = count_neighbours(self.n_neighbors, X)
        elif self.affinity == "rbf":
            self.gamma_ = gamma_of(self.gamma, X)
        A = compute_affinity(self, X)
        random = check_random_state(self.random_state)
        self.embedding_, self.certificate_ = fit_embedding(
            symmetrise(A) if _is_given(self) else A, self.n_components, random, numpy_dtype(X.dtype)
        )
        self.affinity_matrix_ = A
        warn_unless_certified(self)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the samples X (n, p), or the affinities or distances X (n, n), and return the embedding
        (n, n_components); `y` is not used.
        """
        return self.fit(X).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.affinity in GIVEN
        return tags


def count_neighbours(n_neighbors: int | None, X: Array) -> int:
    """The number of neighbours."""
    return max(X.shape[0] // 10, 1) if n_neighbors is None else n_neighbors


def gamma_of(gamma: float | None, X: Array) -> float:
    """gamma of "rbf"."""
    return 1.0 / X.shape[1] if gamma is None else float(gamma)


def _is_given(model: Any) -> bool:
    return callable(model.affinity) or model.affinity == "precomputed"


def compute_affinity(model: Any, X: Array) -> Array:
    """The affinities of validated samples by the parameters of a model, ours or scikit-learn's; given ones may not be
    symmetric.
    """
    if model.affinity == "precomputed":
        return X
    if model.affinity == "precomputed_nearest_neighbors":
        default = NEIGHBOURS if model.n_neighbors is None else model.n_neighbors
        return connect_neighbours(X, default, given=True, n_jobs=model.n_jobs)
    if model.affinity == "nearest_neighbors":
        return connect_neighbours(X, count_neighbours(model.n_neighbors, X), given=False, n_jobs=model.n_jobs)
    if model.affinity == "rbf":
        return evaluate_kernel(X, "rbf", gamma_of(model.gamma, X))
    return check_affinity(as_floats(model.affinity(X)))


NEIGHBOURS = 5
"""Neighbours of given distances where their number is None."""


def as_floats(A: Any) -> Array:
    """What a function returned, as floats."""
    return A.tocsr().astype(np.float64) if hasattr(A, "tocsr") else np.asarray(A, dtype=np.float64)
