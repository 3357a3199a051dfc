"""Certification of hierarchical clustering: the tree followed again with distances of the samples."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.arrays import EPS, FLOATS, Array
from tenfold.certification.models import contradict
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.hierarchy.agglomerative import check_settings, samples_of
from tenfold.estimators.hierarchy.connectivity import find_edges, validate_connectivity
from tenfold.estimators.hierarchy.divisive import distances_for
from tenfold.judge.certificate import Certificate
from tenfold.judge.divisive import judge_splits
from tenfold.judge.linkage import StoredTree
from tenfold.plans.hierarchy import Tree, certify_tree


def agglomerative(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether a tree of samples is that of greedy merges, and its labels those of a cut."""
    return _tree(model, validate_data(model, X, reset=False, dtype=list(FLOATS)), sample_weight)


def features(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The same of features."""
    return _tree(model, validate_data(model, X, reset=False, dtype=list(FLOATS)).T, sample_weight)


def _tree(model: Any, X: Array, sample_weight: Any) -> Certificate:
    if sample_weight is not None:
        raise ValueError(f"{type(model).__name__} has no sample weights.")
    check_settings(model, X)
    connectivity = validate_connectivity(model.connectivity, X)
    edges = None
    if connectivity is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            edges = find_edges(X, connectivity, model.metric, model.linkage)
    heights = getattr(model, "distances_", None)
    tree = Tree(np.asarray(model.children_), None if heights is None else np.asarray(heights, dtype=np.float64))
    points, samples = samples_of(model, X, edges)
    certificate = certify_tree(
        samples,
        tree,
        np.asarray(model.labels_),
        int(model.n_clusters_),
        model.linkage,
        points,
        edges,
        model.distance_threshold,
    )
    wanted = model.n_clusters
    if model.n_leaves_ != X.shape[0]:
        return contradict(certificate, f"The tree has {model.n_leaves_} leaves, and there are {X.shape[0]}.")
    if wanted is not None and model.n_clusters_ != wanted:
        return contradict(certificate, f"There are {model.n_clusters_} clusters, and {wanted} are asked for.")
    parts = 1 if edges is None else edges.parts
    if model.n_connected_components_ != parts:
        return contradict(certificate, f"The connectivity has {parts} parts, not {model.n_connected_components_}.")
    return certificate


def pool(model: Any, X: Array) -> list[Output | Labels]:
    """The pooled features of samples, cluster by cluster."""
    X, labels = np.asarray(X, dtype=np.float64), np.asarray(model.labels_)
    parts = [X[:, labels == label] for label in range(int(model.n_clusters_))]
    values = np.stack([np.asarray(model.pooling_func(part, axis=1), dtype=np.float64) for part in parts], axis=1)
    size = np.stack([np.sum(np.abs(part), axis=1) for part in parts], axis=1)
    return [Output("transform", values, 8.0 * EPS * X.shape[1] * size if np.isfinite(values).all() else np.inf)]


def divisive(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether each split follows the rule."""
    if sample_weight is not None:
        raise ValueError(f"{type(model).__name__} has no sample weights.")
    D = distances_for(model, validate_data(model, X, reset=False, dtype=list(FLOATS)))
    stored = StoredTree(
        np.asarray(model.children_),
        np.asarray(model.distances_, dtype=np.float64),
        np.asarray(model.labels_),
        int(model.n_clusters_),
    )
    certificate = judge_splits(D, stored, model.rule, model.distance_threshold)
    if model.n_leaves_ != model.n_clusters_ or model.n_clusters not in (None, model.n_clusters_):
        return contradict(certificate, "The number of clusters is not that of the parameters.")
    return certificate
