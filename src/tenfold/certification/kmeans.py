"""Certificates of k-means: the decrease of the energy in one exact step of Lloyd, a lower bound, labels and inertia."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array, Floats, contiguous, is_sparse, numpy_dtype, on_host, unit_roundoff, wide
from tenfold.certification.models import fit_status
from tenfold.certification.outputs import Labels, Output
from tenfold.data import MemoryRows
from tenfold.estimators.kmeans.bisecting import BisectingKMeans, tree_of
from tenfold.estimators.validation import as_rows, as_rows_without_target, validate_rows, validate_weights
from tenfold.judge.bisection import Tree, leaves_of
from tenfold.judge.certificate import Certificate
from tenfold.judge.kmeans import Labelled, lloyd_step, split_step
from tenfold.plans.kmeans import max_decrease


def centres(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether centres are a fixed point of Lloyd. Those of batches, single samples or a bisection seldom are: the value
    is then a lower bound on the decrease by further steps. Labels and inertia are judged where the parameters of the
    model promise them.
    """
    X = _columns(model, X)
    weight = validate_weights(sample_weight, X)
    dtype = numpy_dtype(model.cluster_centers_.dtype)
    promised = getattr(model, "compute_labels", True)
    known = promised and model.labels_.shape[0] == X.shape[0]
    result = lloyd_step(
        as_rows_without_target(X, weight),
        wide(model.cluster_centers_),
        tol=max_decrease(float(getattr(model, "tol", 0.0))),
        dtype=dtype,
        reported=Labelled(as_rows(X, model.labels_, weight), float(model.inertia_), dtype) if known else None,
        status=fit_status(model),
    )
    if known or not promised:
        return result
    note = f"The labels are those of {model.labels_.shape[0]} samples, and X has {X.shape[0]}: parts has the fall."
    return replace(result, value=np.inf, note=f"{note} {result.note}".rstrip())


def halves(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Split by split, down the tree."""
    X = contiguous(_columns(model, X))
    rows = MemoryRows(X, np.zeros((X.shape[0], 0)), validate_weights(sample_weight, X))
    tree, nodes = _tree_of(model)
    return split_step(
        rows,
        tree,
        nodes,
        centres=wide(model.cluster_centers_),
        labels=np.asarray(model.labels_),
        inertia=float(model.inertia_),
        tol=max_decrease(float(model.tol)),
        dtype=numpy_dtype(model.cluster_centers_.dtype),
        status=fit_status(model),
    )


def _tree_of(model: Any) -> tuple[Tree, Floats]:
    """The children of every node, and the centres of the nodes; scikit-learn keeps these about the mean of dense
    rows.
    """
    if isinstance(model, BisectingKMeans):
        return tree_of(model)
    nodes, tree = [model._bisecting_tree], []
    for node in nodes:
        tree.append((-1, -1) if node.left is None else (len(nodes), len(nodes) + 1))
        nodes += [] if node.left is None else [node.left, node.right]
    centres = np.array([np.asarray(node.center, dtype=np.float64).ravel() for node in nodes])
    return tree, centres + np.asarray(getattr(model, "_X_mean", 0.0), dtype=np.float64)


def _columns(model: Any, X: Any) -> Any:
    X = validate_rows(BaseEstimator(), X)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, and the model {model.n_features_in_}.")
    return X


def _squares(X: Array, C: Floats) -> tuple[Floats, Floats]:
    """Squared distances (n, k), and the rounding of a model's own, which may form them by products."""
    X_ = np.asarray(X.toarray() if is_sparse(X) else on_host(X), dtype=np.float64)
    squares = np.sum((X_[:, None, :] - C) ** 2, axis=2)
    sizes = np.sum(X_**2, axis=1, keepdims=True) + np.sum(C**2, axis=1)
    return squares, 4.0 * (X.shape[1] + 8.0) * unit_roundoff(numpy_dtype(X.dtype)) * sizes


def _distances(squares: Floats, rounding: Floats) -> Output:
    root = np.sqrt(squares)
    spread = np.minimum(np.sqrt(rounding), rounding / np.where(root > 0.0, root, np.inf) + 1e-15 * root)
    return Output("transform", root, np.where(root > 0.0, spread, np.sqrt(rounding)))


def nearest(model: Any, X: Array) -> list[Output | Labels]:
    squares, rounding = _squares(X, wide(model.cluster_centers_))
    numbers = np.arange(squares.shape[1])
    return [Labels("predict", -squares, numbers, 2.0 * np.max(rounding, axis=1)), _distances(squares, rounding)]


def down_the_tree(model: Any, X: Array) -> list[Output | Labels]:
    """Every label that is reached by the nearer of two centres, up to rounding, has score 1."""
    tree, nodes = _tree_of(model)
    squares, rounding = _squares(X, nodes)
    slack = 2.0 * np.max(rounding, axis=1)
    reached = np.zeros((X.shape[0], len(tree)), dtype=bool)
    reached[:, 0] = True
    for node, (left, right) in enumerate(tree):
        if left >= 0:
            further = squares[:, left] - squares[:, right]
            reached[:, left], reached[:, right] = (
                reached[:, node] & (further <= slack),
                reached[:, node] & (further >= -slack),
            )
    scores = reached[:, leaves_of(tree)].astype(np.float64)
    own = _distances(*_squares(X, wide(model.cluster_centers_)))
    return [Labels("predict", scores, np.arange(scores.shape[1]), 0.0), own]
