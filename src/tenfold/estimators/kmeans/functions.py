"""k-means and its seeds as functions."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import Array, contiguous, is_sparse
from tenfold.estimators.contract import refuse_not_finite, rows_alone, validate_rows, validate_weights
from tenfold.estimators.kmeans.centres import require_rows
from tenfold.estimators.kmeans.kmeans import KMeans
from tenfold.estimators.parameters import boolean, check_arguments, integer, nothing
from tenfold.plans.clusters import chosen, sample_for, scale_of


def k_means(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: Any = "auto",
    max_iter: int = 300,
    verbose: bool = False,
    tol: float = 1e-4,
    random_state: Any = None,
    copy_x: bool = True,
    algorithm: str = "lloyd",
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """k-means as a function: centres, labels, energy, and with `return_n_iter` the steps.

    Parameters are those of `KMeans`; to see the certificate, take the class.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import k_means
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centres, labels, energy = k_means(X, n_clusters=2, random_state=0)
    >>> centres
    array([[10.,  2.],
           [ 1.,  2.]])
    >>> energy
    16.0
    """
    check_arguments("k_means", {"return_n_iter": (boolean(),)}, return_n_iter=return_n_iter)
    model = KMeans(
        n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        verbose=verbose,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
    ).fit(X, sample_weight=sample_weight)
    found = (model.cluster_centers_, model.labels_, model.inertia_)
    return (*found, model.n_iter_) if return_n_iter else found


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
) -> tuple[Array, Array]:
    """Seeds by greedy k-means++: rows far from each other, and their numbers.

    The first row is drawn by weight, each further one by weight times the squared distance from those before: of
    `n_local_trials` candidates (2 + log k if None) the one that leaves the least energy.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, p)
    n_clusters : int
    sample_weight : array-like of shape (n,), default=None
    x_squared_norms : accepted for compatibility.
    random_state : int, RandomState or None, default=None
    n_local_trials : int or None, default=None

    Returns
    -------
    centers : ndarray of shape (n_clusters, p)
    indices : ndarray of shape (n_clusters,)

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import kmeans_plusplus
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans_plusplus(X, n_clusters=2, random_state=0)[1]
    array([3, 2])
    """
    counts = {"n_clusters": (integer(1),), "n_local_trials": (integer(1), nothing())}
    check_arguments("kmeans_plusplus", counts, n_clusters=n_clusters, n_local_trials=n_local_trials)
    given = X
    X = validate_rows(_Anyone(), X)
    require_rows(X, n_clusters)
    if x_squared_norms is not None and len(x_squared_norms) != X.shape[0]:
        raise ValueError(
            f"The length of x_squared_norms {len(x_squared_norms)} should be equal to the length of n_samples "
            f"{X.shape[0]}."
        )
    weight = validate_weights(sample_weight, X)
    rows = rows_alone(contiguous(X), weight)
    refuse_not_finite(BaseEstimator(), X, lambda: scale_of(rows))
    index = chosen(sample_for(rows, n_clusters), weight, n_clusters, check_random_state(random_state), n_local_trials)
    some = (given if hasattr(given, "dtype") and not is_sparse(given) else X)[index]
    return (some.toarray() if is_sparse(some) else some), index


class _Anyone(BaseEstimator):
    """Who validates the rows of a function."""
