"""Metrics by the names of scikit-learn: which algorithm has which, and the errors and warnings for others."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning, EfficiencyWarning
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array, is_sparse
from tenfold.distances import SETS, VALID, VALID_SPARSE
from tenfold.estimators.neighbours.distance_metric_objects import is_metric, metric_name_of


def name_metric(model: Any, columns: int) -> None:
    """`effective_metric_` and its parameters, as scikit-learn names them; an object is one of the names."""
    algorithm, metric, params = model.algorithm, model.metric, dict(model.metric_params or {})
    if is_metric(metric):
        metric, own = metric_name_of(metric, columns)
        params |= own
    if algorithm == "auto":
        known = callable(metric) or metric in VALID["ball_tree"]
        algorithm = "ball_tree" if known and metric != "precomputed" else "brute"
    if callable(metric):
        if algorithm == "kd_tree":
            raise ValueError(
                f"kd_tree does not support callable metric '{metric}'. Function call overhead will result "
                "in very poor performance."
            )
    elif metric not in VALID[algorithm]:
        raise ValueError(
            f"Metric '{metric}' not valid. Use sorted(sklearn.neighbors.VALID_METRICS['{algorithm}']) to get "
            "valid options. Metric can also be a callable function."
        )
    if "p" in (model.metric_params or {}) and model.p is not None:
        warnings.warn(
            "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
            SyntaxWarning,
            stacklevel=6,
        )
    model.effective_metric_ = metric
    if metric == "minkowski":
        p, w = params.pop("p", model.p), params.pop("w", None)
        plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if w is None and p in plain:
            model.effective_metric_ = plain[p]
        else:
            params |= {"p": p, "w": w}
    model.effective_metric_params_ = params


def check_search(model: Any, X: Array) -> None:
    """Raise or warn where scikit-learn does: sparse samples, powers below one, weights in a k-d tree."""
    metric, params = model.effective_metric_, model.effective_metric_params_
    if is_sparse(X):
        if model.algorithm not in ("auto", "brute"):
            warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=6)
        if not callable(metric) and metric not in VALID_SPARSE:
            raise ValueError(
                f"Metric '{metric}' not valid for sparse input. Use "
                "sorted(sklearn.neighbors.VALID_METRICS_SPARSE['brute']) to get valid options. Metric can also be "
                "a callable function."
            )
    if metric == "minkowski":
        if params["p"] < 1 and model.algorithm in ("kd_tree", "ball_tree"):
            raise ValueError(
                f'algorithm="{model.algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve '
                'this problem either set p >= 1 or algorithm="brute".'
            )
        if params["p"] < 1:
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution "
                "with `algorithm='brute'`.",
                stacklevel=6,
            )
        if params["w"] is not None and model.algorithm == "kd_tree":
            raise ValueError(
                "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w': try "
                "algorithm='ball_tree' or algorithm='brute' instead."
            )
    warn_of_sets(metric, X)


def warn_of_sets(metric: Any, X: Array) -> None:
    """Distances of sets look at zero or not: say so where values are lost."""
    if isinstance(metric, str) and metric in SETS and not np.isin(X, (0.0, 1.0)).all():
        warnings.warn(f"Data was converted to boolean for metric {metric}", DataConversionWarning, stacklevel=6)


def check_table(X: Any) -> Array:
    """Distances that are given: not negative; a sparse graph with the entries of each sample by distance."""
    if not is_sparse(X):
        return check_array(X, ensure_non_negative=True, input_name="X", dtype=list(FLOATS))
    if X.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros")
    graph = check_array(
        X, accept_sparse="csr", ensure_non_negative=True, input_name="precomputed distance matrix", dtype=list(FLOATS)
    )
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    if np.all((np.diff(graph.data) >= 0) | (np.diff(row) > 0)):
        return graph
    warnings.warn(
        "Precomputed sparse input was not sorted by row values. Use the function "
        "sklearn.neighbors.sort_graph_by_row_values to sort the input by row values, with warn_when_not_sorted=False "
        "to remove this warning.",
        EfficiencyWarning,
        stacklevel=6,
    )
    order = np.lexsort((graph.data, row))
    return type(graph)((graph.data[order], graph.indices[order], graph.indptr), shape=graph.shape)
