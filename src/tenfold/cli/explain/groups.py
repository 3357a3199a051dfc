"""Data of the charts of unsupervised models: a map of the samples, loadings of components, means of clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.arrays import Floats

MAX_SAMPLES, MAX_COMPONENTS, MAX_FEATURES = 800, 3, 12  # points, components and their weights that a report shows


def describe_groups(models: Sequence[Any], Z: Floats, names: Sequence[str], rows: Any) -> dict[str, Any]:
    """Of fitted models without a target, on encoded and standardised samples Z.

    `map`: the first two components of a sub-sample, with their clusters and rows in the file. `loadings`: of the first
    components. `parts`: the first non-negative ones, of length one. `clusters`: sizes, and the means of the features
    that differ most between them, in standard deviations.
    """
    components = next((model for model in models if hasattr(model, "explained_variance_ratio_")), None)
    parts = next((model for model in models if hasattr(model, "reconstruction_err_")), None)
    labelled = next((model for model in models if hasattr(model, "labels_")), None)
    labels = None if labelled is None else np.asarray(labelled.labels_)
    groups: dict[str, Any] = {}
    if components is not None and len(components.components_) > 1:
        groups["map"] = _map(components, Z, labels, rows)
    if components is not None:
        groups["loadings"] = _loadings(components.components_, components.explained_variance_ratio_, names)
    if parts is not None:
        lengths = np.linalg.norm(parts.components_, axis=1)
        units = parts.components_ / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        groups["parts"] = [{"features": _largest(weights, names)} for weights in units[:MAX_COMPONENTS]]
    if labels is not None:
        groups["clusters"] = _clusters(Z, labels, names)
    return groups


def _map(components: Any, Z: Floats, labels: Any, rows: Any) -> dict[str, Any]:
    subsample = np.arange(len(Z))
    if len(Z) > MAX_SAMPLES:
        subsample = np.sort(np.random.default_rng(0).choice(len(Z), MAX_SAMPLES, replace=False))
    points = np.asarray(components.transform(Z[subsample]))[:, :2]
    share = components.explained_variance_ratio_[:2]
    return {
        "x": points[:, 0].tolist(),
        "y": points[:, 1].tolist(),
        "cluster": None if labels is None else labels[subsample].tolist(),
        "rows": rows[subsample].tolist(),
        "shares": share.tolist(),
        "samples": len(Z),
    }


def _loadings(components: Floats, shares: Floats, names: Sequence[str]) -> list[dict[str, Any]]:
    pairs = zip(components[:MAX_COMPONENTS], shares[:MAX_COMPONENTS], strict=True)
    return [{"share": float(share), "features": _largest(weights, names)} for weights, share in pairs]


def _largest(weights: Floats, names: Sequence[str]) -> list[dict[str, Any]]:
    order = np.argsort(-np.abs(weights), kind="stable")[:MAX_FEATURES]
    return [{"name": str(names[j]), "weight": float(weights[j])} for j in order]


def _clusters(Z: Floats, labels: Any, names: Sequence[str]) -> dict[str, Any]:
    values, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    centred = Z - Z.mean(axis=0)
    spread = Z.std(axis=0)
    means = np.vstack([centred[codes == k].mean(axis=0) for k in range(len(values))]) / np.where(spread > 0, spread, 1)
    between = np.sum(sizes[:, None] * means**2, axis=0)
    order = np.argsort(-between, kind="stable")[:MAX_FEATURES]
    return {
        "names": [str(value) for value in values],
        "sizes": sizes.tolist(),
        "features": [str(names[j]) for j in order],
        "means": means[:, order].T.tolist(),
    }
