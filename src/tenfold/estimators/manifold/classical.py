"""Classical multidimensional scaling."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats
from tenfold.estimators.parameters import Constraints, check_parameters, function, instance, integer, nothing
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import restore_on_error, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.kernels.diagnostics import check_symmetric
from tenfold.plans.classical_mds import fit_scaling

DIRECT = ("euclidean", "l2")  # differences entry by entry: products of samples lose the distances of close ones


class ClassicalMDS(BaseEstimator):
    """Classical multidimensional scaling: points whose inner products come nearest to those of given distances.

    With the distances D and ``H = I - 1 1'/n``, the coordinates are ``V diag(l)^(1/2)`` for the eigenpairs of ``-1/2 H
    D^2 H`` with the largest eigenvalues. Euclidean distances of samples give their principal components.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    metric : str or callable, default="euclidean"
        Metric of the distances between samples: a name that ``sklearn.metrics.pairwise_distances`` knows, a function of
        two samples, or "precomputed": then X is the matrix of distances.
    metric_params : dict, default=None
        Keyword arguments of the metric.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        The distances.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues, the squared lengths of the coordinates, in decreasing order.
    certificate_ : Certificate
        Kind spectral: residuals of the eigenvectors, how far they are from orthonormal and the stored eigenvalues from
        theirs, and a proof that none with a larger eigenvalue was left out, certain or with a stated probability.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    n^2 distances, and products of their matrix with a few vectors: block Lanczos for few coordinates of many samples,
    an eigendecomposition otherwise. Memory: three matrices of n x n. Where fewer eigenvalues are positive than
    coordinates are asked for, further ones are zero; a negative one among them is an error. Runs on dense arrays.
    Cookbook, ch. 8.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ClassicalMDS
    >>> corners = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]])
    >>> model = ClassicalMDS(2).fit(corners)
    >>> np.linalg.norm(model.embedding_[1] - model.embedding_[2]).round(9), model.certificate_.ok
    (np.float64(5.0), True)
    """

    _registration: ClassVar = Registration(
        method="Classical multidimensional scaling",
        texts=("B8",),
        peer="sklearn.manifold",
        reads=("in memory",),
        where=("arrays",),
        instead="All pairs of samples are compared: load the samples into memory as a dense array.",
        certificate=("spectral",),
        judge="manifold.classical_mds",
        stored={
            "embedding_": floats("n c"),
            "dissimilarity_matrix_": floats("n n"),
            "eigenvalues_": floats("c", low=0.0),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "metric": (instance(str), function()),
        "metric_params": (instance(dict), nothing()),
    }

    embedding_: Floats
    certificate_: Certificate

    def __init__(
        self, n_components: int = 2, *, metric: Any = "euclidean", metric_params: dict[str, Any] | None = None
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the coordinates of samples X (n, p), or of distances (n, n); `y` is not used."""
        check_parameters(self, self._constraints)
        self._registration.check_source("ClassicalMDS", X)
        X = validate_data(self, X, dtype=list(FLOATS))
        self.dissimilarity_matrix_ = compute_dissimilarities(self, X)
        fitted = fit_scaling(self.dissimilarity_matrix_, self.n_components, lambda: np.random.RandomState(0))
        self.embedding_, self.eigenvalues_ = fitted.embedding, fitted.values
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Compute and return the coordinates (n, n_components) of X; `y` is not used."""
        return self.fit(X).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def compute_dissimilarities(model: Any, X: Array) -> Array:
    """The distances (n, n) by the parameters of a model."""
    if isinstance(model.metric, str) and model.metric == "precomputed":
        check_symmetric(X)
        return X
    params = model.metric_params or {}
    if model.metric in DIRECT and not params:
        return np.asarray(cdist(X, X))
    return np.asarray(pairwise_distances(X, metric=model.metric, **params))
