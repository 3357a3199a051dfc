"""k-means and k-means++ as functions."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tenfold.arrays import Array, contiguous, is_sparse
from tenfold.estimators.kmeans.centroid_model import require_rows
from tenfold.estimators.kmeans.kmeans import KMeans
from tenfold.estimators.parameters import boolean, check_arguments, integer, nothing
from tenfold.estimators.validation import as_rows_without_target, require_finite, validate_rows, validate_weights
from tenfold.plans.kmeans import choose_rows, sample_for, scale_of


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
    """k-means as a function: centres, labels and energy.

    Looks for centres c that minimise the energy ``sum_i w_i min_k ||x_i - c_k||^2``, which has many local minima, by
    steps of Lloyd from good seeds. To see the certificate, take `KMeans`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    n_clusters : int
        Number of clusters.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.
    init : {"k-means++", "random"}, callable or array-like of shape (n_clusters, n_features), default="k-means++"
        Seeds: samples that are drawn far apart (greedy k-means++), samples drawn by weight, what ``init(X, n_clusters,
        random_state)`` returns, or these.
    n_init : int or "auto", default="auto"
        Runs, of which that with the least energy counts; "auto" is 1, and 10 for "random" and callables.
    max_iter : int, default=300
        Most steps of one run.
    verbose : bool, default=False
        Whether the energy of each step is printed, and why a run ended.
    tol : float, default=1e-4
        A run ends when the squared moves of the centres sum to at most tol times the mean variance of the features and
        the energy decreases by less than the certificate allows, or when no sample changes its cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; with an integer seeds are those of scikit-learn.
    copy_x : bool, default=True
        Accepted for compatibility: X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Accepted for compatibility: both give the steps of Lloyd, and distances that bounds rule out are never computed.
    return_n_iter : bool, default=False
        Whether to return the number of steps.

    Returns
    -------
    centroid : ndarray of shape (n_clusters, n_features)
        The centres.
    label : ndarray of shape (n_samples,)
        The nearest centre of each sample.
    inertia : float
        The energy.
    best_n_iter : int
        Steps of the run that counts; only with `return_n_iter`.

    Notes
    -----
    One pass over the data a step, of 2 n p k operations at most. Runs on dense and sparse arrays, files, devices and
    Dask collections.
    Seeger, section 12.1; Welling, ch. 11; Cookbook, ch. 12.

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
    result = (model.cluster_centers_, model.labels_, model.inertia_)
    return (*result, model.n_iter_) if return_n_iter else result


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
) -> tuple[Array, Array]:
    """Seeds by greedy k-means++: samples far from each other, and their indices.

    The first sample is drawn by weight, each further one by weight times the squared distance from those before: of
    `n_local_trials` candidates the one that leaves the least energy ``sum_i w_i min_k ||x_i - c_k||^2``.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    n_clusters : int
        Number of clusters.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.
    x_squared_norms : array-like of shape (n_samples,), default=None
        Accepted for compatibility, without effect.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; with an integer seeds are those of scikit-learn.
    n_local_trials : int, default=None
        Candidates of which the best becomes the next seed; None is 2 + log(n_clusters).

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The seeds.
    indices : ndarray of shape (n_clusters,)
        Their indices in X.

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
    rows = as_rows_without_target(contiguous(X), weight)
    require_finite(BaseEstimator(), X, lambda: scale_of(rows))
    index = choose_rows(
        sample_for(rows, n_clusters), weight, n_clusters, check_random_state(random_state), n_local_trials
    )
    some = (given if hasattr(given, "dtype") and not is_sparse(given) else X)[index]
    return (some.toarray() if is_sparse(some) else some), index


class _Anyone(BaseEstimator):
    """The estimator that validates the samples of a function."""
