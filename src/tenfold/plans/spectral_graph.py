"""Spectral embedding and clustering of a graph: eigenvectors, labels, and the judge."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, Integers
from tenfold.data import MemoryRows
from tenfold.judge import spectral_graph as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.spectral_graph import Labelling, scale_rows
from tenfold.pairwise.graphs import Graph, graph_of
from tenfold.plans import kmeans
from tenfold.plans.graph_eigenvectors import Eigenvectors, smallest
from tenfold.solvers import partition_rotation
from tenfold.solvers.loop import Status, run

MAX_STEPS = 300  # of Lloyd, and of rotations


@dataclass(frozen=True)
class Clusters:
    """Labels (n,), the embedding (n, k) that they come from, and the certificate of both."""

    labels: Integers
    embedding: Floats
    certificate: Certificate


def require_samples(n: int, count: int, what: str) -> None:
    """Raise where there are fewer samples than eigenvectors."""
    if count > n:
        raise ValueError(f"{what}, and there are n_samples={n}: take fewer components, or more samples.")


def warn_of_parts(graph: Graph) -> None:
    """scikit-learn's warning where a graph is not connected, with the number of its parts."""
    sizes = np.bincount(graph.part)
    if len(sizes) > 1:
        isolated = int(np.sum(sizes == 1))
        words = f"it has {len(sizes)} parts, the largest of {np.max(sizes)} samples"
        words += f", and {isolated} of them are isolated samples." if isolated else "."
        warnings.warn(
            f"Graph is not fully connected, spectral embedding may not work as expected: {words} More neighbours or a "
            "wider kernel connect them.",
            UserWarning,
            stacklevel=5,
        )


def embed(graph: Graph, count: int, random: Any) -> tuple[Floats, Eigenvectors]:
    """The embedding (n, count), each column with a positive entry of the largest size, and its eigenvectors."""
    eigenvectors = smallest(graph, count, random)
    columns = eigenvectors.vectors / graph.roots
    largest = np.argmax(np.abs(columns), axis=1)
    signs = np.where(columns[np.arange(len(columns)), largest] < 0.0, -1.0, 1.0)
    return np.ascontiguousarray((columns * signs[:, None]).T), eigenvectors


def fit_embedding(A: Array, count: int, random: Any, dtype: Any) -> tuple[Floats, Certificate]:
    """The embedding (n, count) of affinities without the first eigenvector, rounded to a dtype, and its certificate."""
    require_samples(A.shape[0], count + 1, f"n_components={count} takes as many eigenvectors after the first")
    graph = graph_of(A)
    warn_of_parts(graph)
    columns, eigenvectors = embed(graph, count + 1, random)
    stored = np.ascontiguousarray(columns[:, 1:]).astype(dtype)
    wide = stored.astype(np.float64)
    return stored, judge.embedding(graph, wide, drop_first=True, dtype=dtype, beside=eigenvectors.beside)


def fit_clusters(
    A: Array, k: int, components: int, method: str, *, unit_rows: bool, starts: int, random: Any
) -> Clusters:
    """Clusters of affinities: k by k-means from so many starts, else as many as components."""
    require_samples(A.shape[0], components, f"An embedding of {components} components takes as many eigenvectors")
    require_samples(A.shape[0], k, f"n_clusters={k}")
    graph, labelling = graph_of(A), Labelling(method, k, unit_rows)
    warn_of_parts(graph)
    columns, eigenvectors = embed(graph, components, random)
    labels, status = assign(scale_rows(columns) if unit_rows else columns, k, method, starts, random)
    certificate = judge.clustering(
        A, graph, columns, labels, labelling, beside=eigenvectors.beside, status=status.value
    )
    return Clusters(labels, columns, certificate)


def assign(rows: Floats, k: int, method: str, starts: int, random: Any) -> tuple[Integers, Status]:
    """Labels of the rows of an embedding, and how their search ended."""
    if method == "cluster_qr":
        return partition_rotation.pivot(rows), Status.SOLVED
    if method == "discretize":
        result = run(partition_rotation.rotate(rows, random), MAX_STEPS)
        return result.params, result.status
    samples = MemoryRows(np.ascontiguousarray(rows), np.zeros((len(rows), 0)), None)
    best = kmeans.of_rows(samples, kmeans.plus_plus(k), k, starts=starts, max_iter=MAX_STEPS, tol=0.0, random=random)
    return np.asarray(kmeans.label_samples(samples, None, best.centres)[0]), best.status


def certify_cut(A: Array, labels: Integers, components: int, random: Any) -> Certificate:
    """The cut of labels of somebody else's and a bound on all cuts into as many clusters."""
    graph = graph_of(A)
    columns, eigenvectors = embed(graph, min(max(components, len(np.unique(labels))), graph.size), random)
    return judge.cut_alone(A, graph, labels, columns, eigenvectors.beside)
