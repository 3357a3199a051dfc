"""Tables without a target: principal and kernel components, parts, clusters, mixtures, graphs and trees."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import calinski_harabasz_score

from tenfold.arrays import Floats
from tenfold.cli.candidates import leaderboard_classes
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.plots.dendrogram import DendrogramDisplay

PARTS_ROWS = 20_000  # rows that are factored: some seconds for all numbers of parts of a hundred features
MOST_CLUSTERS = 10  # merges among which the largest gap of the dendrogram is looked for
SHOWN_LEAVES = 30  # leaves of the dendrogram in the report
GRAPH_ROWS = 2000  # rows whose graph of neighbours is clustered, or whose kernel is decomposed: a second
SHOWN_ROWS = 800  # of them that a picture shows
MOST_OF_VARIANCE = 0.9  # fraction of the variance for which components are counted


@dataclass(frozen=True)
class UnsupervisedResult:
    """A fitted model, its score with a note, and the selected parameters among `tried` candidates."""

    name: str
    model: Any
    score: float | None
    chosen: dict[str, Any]
    tried: int
    seconds: float
    note: str
    picture: dict[str, Any] = field(default_factory=dict)


def fit_unsupervised(Z: Floats, deadline: float, callback: Callable[[str], None]) -> Iterator[UnsupervisedResult]:
    """Fit every method for tables without a target to encoded and standardised features Z, until the deadline."""
    for entry, cls in leaderboard_classes():
        if entry.task == "structure" and time.perf_counter() < deadline:
            callback(entry.name)
            yield METHODS[cls.__name__](entry, cls, Z)


def _components(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    begin = time.perf_counter()
    model = cls(**entry.settings).fit(Z)
    share = np.cumsum(model.explained_variance_ratio_)
    count = int(np.searchsorted(share, MOST_OF_VARIANCE) + 1)
    picture = {
        "x": list(range(1, len(share) + 1)),
        "y": share.tolist(),
        "title": "Variance held by the first components",
        "x_name": "components",
        "y_name": "share of the variance",
        "caption": f"{count} of {len(share)} components hold {MOST_OF_VARIANCE:.0%} of the variance.",
    }
    note = f"{count} of {len(share)} components hold {MOST_OF_VARIANCE:.0%} of the variance"
    seconds = time.perf_counter() - begin
    return UnsupervisedResult(
        entry.name, model, float(share[count - 1]), {"components": count}, 1, seconds, note, picture
    )


def _parts(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    """Non-negative factors of what evenly spaced rows have above the smallest value of each feature, for every number
    of parts of the grid; the fewest that hold most of the variance.
    """
    begin = time.perf_counter()
    Z = Z[:: -(-len(Z) // PARTS_ROWS)]
    above = Z - Z.min(axis=0)
    sizes = [k for k in entry.grid["n_components"] if k < min(Z.shape)] or [1]
    total = float(np.sum((Z - Z.mean(axis=0)) ** 2))
    models, share = [], []
    for k in sizes:
        models.append(cls(**{**entry.settings, "n_components": k}).fit(above))
        share.append(max(0.0, 1.0 - models[-1].reconstruction_err_ ** 2 / total) if total else 0.0)
        if share[-1] >= MOST_OF_VARIANCE:
            break
    best = int(np.argmax(share))
    picture = {
        "x": sizes[: len(share)],
        "y": share,
        "title": "Variance held by parts",
        "x_name": "parts",
        "y_name": "share of the variance",
        "chosen": sizes[best],
        "log": False,
        "caption": f"{sizes[best]} parts, whose sums are the rows, hold {share[best]:.0%} of the variance.",
    }
    note = f"sums of parts above the smallest values; {len(Z):,} rows"
    chosen, seconds = {"parts": sizes[best]}, time.perf_counter() - begin
    return UnsupervisedResult(entry.name, models[best], share[best], chosen, len(share), seconds, note, picture)


def _clusters(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    """k-means for every k of the grid; k by the index of Calinski and Harabasz."""
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
    return UnsupervisedResult(
        entry.name, models[best], share[best], {"clusters": sizes[best]}, len(sizes), seconds, note, picture
    )


def _mixture(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
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
    return UnsupervisedResult(
        entry.name, models[best], None, chosen, len(sizes), time.perf_counter() - begin, note, picture
    )


def _graph(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    """Spectral clustering of evenly spaced rows for every k of the grid; k by the largest gap between eigenvalues of
    the Laplacian. The lower bound on the cut into k is the sum of the k smallest.
    """
    begin = time.perf_counter()
    Z = Z[:: -(-len(Z) // GRAPH_ROWS)]
    sizes = [k for k in entry.grid["n_clusters"] if k < len(Z)]
    near = min(entry.settings["n_neighbors"], len(Z))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # parts of a graph are clusters
        models = [cls(**{**entry.settings, "n_neighbors": near, "n_clusters": k}).fit(Z) for k in sizes]
    certificates = [model.certificate_ for model in models]
    bounds = [certificate.lower_bound or 0.0 for certificate in certificates]
    eigenvalues = np.diff([0.0, *bounds])  # of the second one on: the first is zero
    best = int(np.argmax(np.diff(eigenvalues))) if len(sizes) > 1 else 0
    picture = {
        "x": list(sizes),
        "y": eigenvalues.tolist(),
        "title": "Eigenvalues of the graph of neighbours",
        "x_name": "clusters",
        "y_name": "eigenvalue",
        "chosen": sizes[best],
        "log": False,
        "caption": f"After eigenvalue {sizes[best]} comes the largest gap: so many clusters are nearly apart.",
    }
    note = f"cut {certificates[best].objective:.3g}, and none is below {bounds[best]:.3g}; {len(Z):,} rows"
    return UnsupervisedResult(
        entry.name,
        models[best],
        None,
        {"clusters": sizes[best]},
        len(sizes),
        time.perf_counter() - begin,
        note,
        picture,
    )


def _dendrogram(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    """The tree of Ward's merges of evenly spaced rows; the number of clusters by the largest gap between heights, among
    the last merges.
    """
    begin = time.perf_counter()
    Z = Z[:: -(-len(Z) // GRAPH_ROWS)]
    tree = cls(**entry.settings).fit(Z)
    last = tree.distances_[::-1][:MOST_CLUSTERS]  # of 2, 3, ... clusters
    size = int(np.argmax(last[:-1] - last[1:])) + 2 if len(last) > 1 else 2
    model = cls(**{**entry.settings, "n_clusters": size}).fit(Z)
    shown = DendrogramDisplay.of(model, max_leaves=SHOWN_LEAVES)
    caption = f"The last {len(shown.x)} merges of {len(Z):,} rows; the dashed line leaves {size} clusters."
    picture = {**shown.to_dict(), "caption": caption}
    note = (
        f"merged at up to {last[size - 1] if size <= len(last) else 0.0:.3g} within, from {last[size - 2]:.3g} between"
    )
    return UnsupervisedResult(
        entry.name, model, None, {"clusters": size}, 1, time.perf_counter() - begin, f"{note}; {len(Z):,} rows", picture
    )


def _kernel_components(entry: Entry, cls: type, Z: Floats) -> UnsupervisedResult:
    """Kernel components of evenly spaced rows, and the rows in the plane of the first two."""
    begin = time.perf_counter()
    Z = Z[:: -(-len(Z) // GRAPH_ROWS)]
    model: Any = cls(**{**entry.settings, "n_components": min(entry.settings["n_components"], len(Z))}).fit(Z)
    total = -float(model.certificate_.lower_bound or 0.0)
    share = np.cumsum(model.eigenvalues_) / total if total > 0.0 else np.zeros(len(model.eigenvalues_))
    points = (model.eigenvectors_ * np.sqrt(model.eigenvalues_))[:: -(-len(Z) // SHOWN_ROWS)]
    second = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    picture = {
        "x": points[:, 0].tolist(),
        "y": second.tolist(),
        "caption": f"{len(points):,} rows by their first two components in the feature space of a Gaussian kernel: "
        "groups that curve, or lie within each other, come apart.",
    }
    held = f"{len(share)} components hold {float(share[-1]) if len(share) else 0.0:.0%} of the variance"
    note = f"{held} in the feature space of a Gaussian kernel; score not comparable with the others'; {len(Z):,} rows"
    seconds = time.perf_counter() - begin
    return UnsupervisedResult(entry.name, model, None, {"components": len(share)}, 1, seconds, note, picture)


METHODS: dict[str, Callable[[Entry, type, Floats], UnsupervisedResult]] = {
    "PCA": _components,
    "NMF": _parts,
    "KernelPCA": _kernel_components,
    "KMeans": _clusters,
    "GaussianMixture": _mixture,
    "SpectralClustering": _graph,
    "AgglomerativeClustering": _dendrogram,
}
