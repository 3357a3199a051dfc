"""Centres of clusters: the fall of the energy in one exact step of Lloyd, and the lower bound."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Floats, contiguous, numpy_dtype, wide
from tenfold.certification.models import status
from tenfold.estimators.contract import rows_alone, validate_rows, validate_weights
from tenfold.judge import Certificate, lloyd_step, split_step
from tenfold.plans.clusters import allowed_fall, sample_for


def centres(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Whether centres are at rest, whoever found them: of batches, of single rows or by bisection they seldom are, and
    then the number says what steps of Lloyd from there would gain at least.
    """
    X = _columns(model, X)
    return lloyd_step(
        rows_alone(X, validate_weights(sample_weight, X)),
        wide(model.cluster_centers_),
        tol=allowed_fall(float(getattr(model, "tol", 0.0))),
        dtype=numpy_dtype(model.cluster_centers_.dtype),
        status=status(model),
    )


def halves(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Split by split, down the tree."""
    X = _columns(model, X)
    rows = sample_for(rows_alone(contiguous(X), validate_weights(sample_weight, X)), model.n_clusters)
    tree, nodes = (model._tree, wide(model._nodes)) if hasattr(model, "_nodes") else _tree_of(model)
    tol, dtype = allowed_fall(float(model.tol)), numpy_dtype(model.cluster_centers_.dtype)
    return split_step(rows, tree, nodes, tol=tol, dtype=dtype, status=status(model))


def _tree_of(model: Any) -> tuple[list[tuple[int, int]], Floats]:
    """The children of every node of scikit-learn's tree, and the centres of the nodes, which he keeps about the mean of
    dense rows.
    """
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


JUDGES = {"KMeans": centres, "MiniBatchKMeans": centres, "OnlineKMeans": centres, "BisectingKMeans": halves}
