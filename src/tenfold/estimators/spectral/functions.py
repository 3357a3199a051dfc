"""Spectral embedding and clustering as functions of affinities."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from tenfold.arrays import FLOATS, Array
from tenfold.estimators.parameters import boolean, check_arguments, choice, integer, nothing
from tenfold.estimators.parameters import random_state as seed
from tenfold.estimators.spectral.affinities import eigen_tolerance, symmetrise
from tenfold.estimators.spectral.clustering import SpectralClustering
from tenfold.pairwise.graphs import graph_of
from tenfold.plans.spectral_graph import embed, require_samples, warn_of_parts


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: str | None = None,
    random_state: Any = None,
    eigen_tol: Any = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Array:
    """The embedding of a graph by the smallest eigenvectors of its Laplacian.

    With affinities W, taken without their diagonal, and degrees d, these are eigenvectors of ``I - D^(-1/2) W
    D^(-1/2)`` over the square roots of the degrees, or of ``D - W``. To see the certificate, take `SpectralEmbedding`.

    Parameters
    ----------
    adjacency : {array-like, sparse matrix} of shape (n_samples, n_samples)
        The affinities.
    n_components : int, default=8
        Number of columns of the embedding.
    eigen_solver : {"arpack", "lobpcg", "amg"}, default=None
        Accepted for compatibility: eigenvectors are those of LAPACK or of a block Lanczos process, as is faster.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of the eigenvectors.
    eigen_tol : float or "auto", default="auto"
        Accepted for compatibility.
    norm_laplacian : bool, default=True
        Whether the Laplacian is normalised.
    drop_first : bool, default=True
        Whether the first eigenvector, which is constant on a connected graph, is left out.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
        The embedding. The entry of largest size of each column is positive.

    Notes
    -----
    Some products of the graph with a few vectors, at most the work of a Cholesky factor, n^3 / 3 operations.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import spectral_embedding
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> spectral_embedding(path, n_components=1, norm_laplacian=False).ravel().round(3)
    array([ 0.653,  0.271, -0.271, -0.653])
    """
    check_arguments(
        "spectral_embedding",
        {
            "n_components": (integer(1),),
            "eigen_solver": (choice("arpack", "lobpcg", "amg"), nothing()),
            "random_state": (seed(),),
            "eigen_tol": (eigen_tolerance(),),
            "norm_laplacian": (boolean(),),
            "drop_first": (boolean(),),
        },
        n_components=n_components,
        eigen_solver=eigen_solver,
        random_state=random_state,
        eigen_tol=eigen_tol,
        norm_laplacian=norm_laplacian,
        drop_first=drop_first,
    )
    A = symmetrise(check_array(adjacency, accept_sparse="csr", dtype=list(FLOATS), input_name="adjacency"))
    count = n_components + int(drop_first)
    require_samples(A.shape[0], count, f"n_components={n_components} takes {count} eigenvectors")
    graph = graph_of(A, normalised=norm_laplacian)
    warn_of_parts(graph)
    columns = embed(graph, count, check_random_state(random_state))[0]
    return np.ascontiguousarray(columns[:, int(drop_first) :])


def spectral_clustering(
    affinity: Any,
    *,
    n_clusters: int = 8,
    n_components: int | None = None,
    eigen_solver: str | None = None,
    random_state: Any = None,
    n_init: int = 10,
    eigen_tol: Any = "auto",
    assign_labels: str = "kmeans",
    verbose: bool = False,
) -> Array:
    """Clusters of a graph with a small normalised cut.

    Labels follow from the embedding by the smallest eigenvectors of the normalised Laplacian. To see the certificate
    and the bound on all cuts, take `SpectralClustering`.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        The affinities.
    n_clusters : int, default=8
        Number of clusters.
    n_components : int, default=None
        Number of eigenvectors of the embedding; None is n_clusters.
    eigen_solver : {"arpack", "lobpcg", "amg"}, default=None
        Accepted for compatibility: eigenvectors are those of LAPACK or of a block Lanczos process, as is faster.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of the eigenvectors, and of the labels.
    n_init : int, default=10
        Runs of k-means, of which that with the least energy counts.
    eigen_tol : float or "auto", default="auto"
        Accepted for compatibility.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How labels follow from the embedding.
    verbose : bool, default=False
        Whether it is printed that labels are being assigned.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        The cluster of each sample.

    Notes
    -----
    Some products of the graph with a few vectors, at most the work of a Cholesky factor, n^3 / 3 operations.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import spectral_clustering
    >>> two = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> labels = spectral_clustering(two, n_clusters=2, random_state=0)
    >>> int(labels[0] == labels[2]), int(labels[0] == labels[3])
    (1, 0)
    """
    model = SpectralClustering(
        n_clusters,
        n_components=n_components,
        eigen_solver=eigen_solver,
        random_state=random_state,
        n_init=n_init,
        affinity="precomputed",
        eigen_tol=eigen_tol,
        assign_labels=assign_labels,
        verbose=verbose,
    )
    return model.fit(affinity).labels_
