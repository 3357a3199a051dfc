"""Certificates of spectral embeddings and clusterings: the affinities again, eigenvectors, labels and the cut."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from tenfold.arrays import FLOATS, Array, Floats, is_sparse, numpy_dtype, unit_roundoff
from tenfold.certification.models import contradict, fit_status
from tenfold.estimators.spectral import clustering as clusters
from tenfold.estimators.spectral import embedding as embeddings
from tenfold.estimators.spectral.affinities import symmetrise, validate_samples
from tenfold.judge import spectral_graph as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.spectral_graph import Labelling
from tenfold.pairwise.graphs import graph_of
from tenfold.plans.spectral_graph import certify_cut


def embedding(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether the embedding is that of the samples."""
    _check_unweighted(model, sample_weight)
    X = validate_samples(model, X, FLOATS, reset=False)
    A, complaint = _compare(model, X, embeddings.compute_affinity(model, X))
    stored = np.asarray(model.embedding_)
    if stored.shape != (X.shape[0], model.n_components):
        complaint = f"The embedding has shape {stored.shape}, which is not that of the parameters."
    if (
        model.affinity == "nearest_neighbors"
        and embeddings.count_neighbours(model.n_neighbors, X) != model.n_neighbors_
    ):
        complaint = "n_neighbors_ is not the number of neighbours."
    if model.affinity == "rbf" and embeddings.gamma_of(model.gamma, X) != model.gamma_:
        complaint = "gamma_ is not that of the parameters."
    graph, dtype = graph_of(A), numpy_dtype(stored.dtype)
    certificate = judge.embedding(
        graph, stored.astype(np.float64), drop_first=True, dtype=dtype, status=fit_status(model)
    )
    return contradict(certificate, complaint) if complaint else certificate


def clustering(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether embedding and labels are those of the samples; scikit-learn's class keeps no embedding: its cut and the
    bound are reported, and nothing is judged.
    """
    _check_unweighted(model, sample_weight)
    X = validate_samples(model, X, np.float64, reset=False)
    A, complaint = _compare(model, X, clusters.compute_affinity(model, X))
    components, labels = clusters.count_components(model), np.asarray(model.labels_)
    if not hasattr(model, "embedding_"):
        if labels.shape != (X.shape[0],):
            raise ValueError(f"The model has labels of {labels.size} samples, and X has {X.shape[0]}.")
        certificate = certify_cut(A, labels, components, check_random_state(0))
        return contradict(certificate, complaint) if complaint else certificate
    stored = np.asarray(model.embedding_)
    if stored.shape != (X.shape[0], components):
        complaint = f"The embedding has shape {stored.shape}, which is not that of the parameters."
    labelling = Labelling(model.assign_labels, model.n_clusters, model.normalize_rows)
    certificate = judge.clustering(A, graph_of(A), stored.astype(np.float64), labels, labelling)
    return contradict(certificate, complaint) if complaint else certificate


def _check_unweighted(model: Any, sample_weight: Any) -> None:
    if sample_weight is not None:
        raise ValueError(f"{type(model).__name__} has no sample weights: multiply the affinities by them.")


def _compare(model: Any, X: Array, A: Array) -> tuple[Array, str]:
    """Symmetric affinities of the samples, and a complaint where those of the model are others. Of neighbours at equal
    distances the model may have others than ours: then its own graph counts.
    """
    own = model.affinity_matrix_
    if own.shape != A.shape:
        return symmetrise(A), f"The model has affinities of {own.shape[0]} samples, and X has {A.shape[0]}."
    unit = max(unit_roundoff(numpy_dtype(own.dtype)), unit_roundoff(np.float64))
    away = _largest_difference(own, A)
    largest = float(np.max(np.abs(A.data if is_sparse(A) else A), initial=0.0))
    if away <= 256.0 * unit * largest * X.shape[1]:
        return symmetrise(A), ""
    if model.affinity == "nearest_neighbors" and not is_sparse(X) and _differs_by_ties(X, own, A):
        return own.tocsr().astype(np.float64), ""
    return symmetrise(A), "affinity_matrix_ does not hold the affinities of the samples."


def _largest_difference(own: Any, A: Any) -> float:
    if is_sparse(own) or is_sparse(A):
        difference = abs(sparse.csr_array(own) - sparse.csr_array(A))
        return float(difference.max()) if difference.nnz else 0.0
    return float(np.max(np.abs(own - A), initial=0.0))


def _differs_by_ties(X: Floats, own: Any, A: Any) -> bool:
    """Whether two graphs of neighbours differ only at pairs whose distance is that of the last neighbour of one, and
    have as many neighbours in all.
    """
    own, A = sparse.csr_array(own), sparse.csr_array(A)
    if not np.isin(own.data, (0.0, 0.5, 1.0)).all() or abs(own - own.T).sum() > 0.0 or own.sum() != A.sum():
        return False
    n, pairs, entries = X.shape[0], (own - A).tocoo(), A.tocoo()
    X = np.asarray(X, dtype=np.float64)
    away = np.sum((X[entries.row] - X[entries.col]) ** 2, axis=1)
    order = np.lexsort((away, entries.row))
    starts = np.concatenate([[0], np.cumsum(np.bincount(entries.row, minlength=n))])[:-1]
    # samples that have this one among their nearest are no nearer than its own last neighbour, unless they are its own
    last = away[order[starts + round(float(A.sum()) / n) - 1]]
    lengths = np.einsum("ij,ij->i", X, X)
    slack = 64.0 * X.shape[1] * unit_roundoff(np.float64) * (lengths[pairs.row] + lengths[pairs.col])
    distances = np.sum((X[pairs.row] - X[pairs.col]) ** 2, axis=1)
    at_tie = (np.abs(distances - last[pairs.row]) <= slack) | (np.abs(distances - last[pairs.col]) <= slack)
    return bool(at_tie[pairs.data != 0.0].all())
