"""A table without a target: its components, clusters and mixture, each with what was tried."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import calinski_harabasz_score

from tenfold.arrays import Floats
from tenfold.cli.candidates import entered
from tenfold.estimators.leaderboard_entry import Entry

ENOUGH = 0.9
"""The share of the variance that is called most of it."""


@dataclass(frozen=True)
class Found:
    """What a method found: the model, a score with what it means, and what was chosen among how many."""

    name: str
    model: Any
    score: float | None
    chosen: dict[str, Any]
    tried: int
    seconds: float
    note: str
    picture: dict[str, Any] = field(default_factory=dict)


def found(Z: Floats, deadline: float, tell: Callable[[str], None]) -> Iterator[Found]:
    """Every method for tables without a target, on encoded and standardised columns Z."""
    for entry, cls in entered():
        if entry.task == "structure" and time.perf_counter() < deadline:
            tell(entry.name)
            yield METHODS[cls.__name__](entry, cls, Z)


def _components(entry: Entry, cls: type, Z: Floats) -> Found:
    begin = time.perf_counter()
    model = cls(**entry.settings).fit(Z)
    share = np.cumsum(model.explained_variance_ratio_)
    most = int(np.searchsorted(share, ENOUGH) + 1)
    picture = {
        "x": list(range(1, len(share) + 1)),
        "y": share.tolist(),
        "title": "Variance held by the first components",
        "x_name": "components",
        "y_name": "share of the variance",
        "caption": f"{most} of {len(share)} components hold {ENOUGH:.0%} of the variance.",
    }
    note = f"{most} of {len(share)} components hold {ENOUGH:.0%} of the variance"
    seconds = time.perf_counter() - begin
    return Found(entry.name, model, float(share[most - 1]), {"components": most}, 1, seconds, note, picture)


def _clusters(entry: Entry, cls: type, Z: Floats) -> Found:
    """k-means for every k of the grid; the k with the largest ratio of variances between and within (Calinski)."""
    begin = time.perf_counter()
    sizes = [k for k in entry.grid["n_clusters"] if k < len(Z)]
    total = float(np.sum((Z - Z.mean(axis=0)) ** 2))
    models = [cls(**{**entry.settings, "n_clusters": k}).fit(Z) for k in sizes]
    ratio = [
        calinski_harabasz_score(Z, model.labels_) if len(np.unique(model.labels_)) > 1 else 0.0 for model in models
    ]
    best = int(np.argmax(ratio))
    share = [1.0 - model.inertia_ / total if total else 0.0 for model in models]
    picture = {
        "x": list(sizes),
        "y": share,
        "title": "Variance between clusters",
        "x_name": "clusters",
        "y_name": "share of the variance",
        "chosen": sizes[best],
        "log": False,
        "caption": f"{sizes[best]} clusters have the largest ratio of variance between to variance within.",
    }
    note = "chosen by the ratio of variances of Calinski and Harabasz"
    seconds = time.perf_counter() - begin
    return Found(entry.name, models[best], share[best], {"clusters": sizes[best]}, len(sizes), seconds, note, picture)


def _mixture(entry: Entry, cls: type, Z: Floats) -> Found:
    begin = time.perf_counter()
    sizes = [k for k in entry.grid["n_components"] if k < len(Z)]
    models = [cls(**{**entry.settings, "n_components": k}).fit(Z) for k in sizes]
    criterion = [float(model.bic(Z)) for model in models]
    best = int(np.argmin(criterion))
    picture = {
        "x": list(sizes),
        "y": criterion,
        "title": "BIC of mixtures",
        "x_name": "components",
        "y_name": "BIC, smaller is better",
        "chosen": sizes[best],
        "log": False,
        "caption": f"A mixture of {sizes[best]} has the smallest BIC.",
    }
    note = f"BIC {criterion[best]:,.0f}; score not comparable with the others'"
    chosen = {"components": sizes[best]}
    return Found(entry.name, models[best], None, chosen, len(sizes), time.perf_counter() - begin, note, picture)


METHODS: dict[str, Callable[[Entry, type, Floats], Found]] = {
    "PCA": _components,
    "KMeans": _clusters,
    "GaussianMixture": _mixture,
}
