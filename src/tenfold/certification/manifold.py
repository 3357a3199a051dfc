"""Certification of embeddings of distances."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.arrays import EPS, FLOATS, Floats, numpy_dtype, unit_roundoff, wide
from tenfold.certification.kernel_pca import bound_rounding
from tenfold.certification.models import contradict, fit_status
from tenfold.certification.neighbours import index as judge_neighbours
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.decomposition.kernel import scale_vectors
from tenfold.estimators.manifold.classical import compute_dissimilarities
from tenfold.estimators.manifold.isomap import link, make_graph
from tenfold.estimators.manifold.mds import dissimilarities_of, resolve_metric
from tenfold.judge import smacof as smacof_judge
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.geodesics import path_error
from tenfold.judge.kernel_pca import kernel_components
from tenfold.kernels import Precomputed
from tenfold.plans.classical_mds import inner_products

CLOSE = 1e-10  # of the largest squared distance: two ways of computing them differ by less


def classical_mds(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of ClassicalMDS: the distances, and the eigenpairs of their inner products."""
    X = validate_data(model, X, dtype=list(FLOATS), reset=False)
    D = wide(compute_dissimilarities(model, X))
    verdict = judge_scaling(D, wide(model.embedding_), wide(model.eigenvalues_), model.n_components, np.float64)
    stored, size = wide(model.dissimilarity_matrix_), float(np.max(D**2, initial=0.0))
    if stored.shape != D.shape or not np.all(np.abs(stored**2 - D**2) <= CLOSE * size):
        return contradict(verdict, "dissimilarity_matrix_ are not the distances of the samples.")
    return verdict


def judge_scaling(D: Floats, embedding: Floats, values: Floats, count: int, dtype: Any) -> Certificate:
    """The certificate of coordinates (n, k) and eigenvalues (k,) of distances D (n, n); coordinates of eigenvalue zero
    must be zero.
    """
    n = len(D)
    if embedding.shape != (n, len(values)) or len(values) != min(count, n):
        raise ValueError(
            f"The embedding has the shape {embedding.shape}, with {len(values)} eigenvalues, and X {n} samples: it is "
            "judged on the samples of its fit."
        )
    noise = 8.0 * n * EPS * max(float(np.max(values, initial=0.0)), 0.0)
    kept = values > noise
    vectors = embedding[:, kept] / np.sqrt(values[kept])
    verdict = kernel_components(
        Precomputed(),
        -0.5 * D**2,
        values=values[kept],
        vectors=np.ascontiguousarray(vectors.T),
        most=min(count, n),
        fewer=not kept.all(),
        dtype=dtype,
    )
    lengths = np.sum(embedding[:, ~kept] ** 2, axis=0)
    if not (np.all(np.abs(values[~kept]) <= noise) and np.all(lengths <= noise)):
        return contradict(verdict, "Coordinates of eigenvalue zero are not zero.")
    return verdict


def mds(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of MDS, of ours and of scikit-learn's: the dissimilarities, and one SMACOF step."""
    X = validate_data(model, X, dtype=list(FLOATS), reset=False)
    D, metric = dissimilarities_of(model, X), resolve_metric(model, warn=False)[1]
    normalised = not metric if model.normalized_stress == "auto" else bool(model.normalized_stress)
    ours = type(model).__module__.startswith("tenfold")
    tol = smacof_judge.max_decrease(model.eps)
    embedding = wide(model.embedding_)
    if embedding.ndim != 2 or (embedding.shape[1] != model.n_components and ours):
        raise ValueError(f"The embedding has the shape {embedding.shape}, n_components is {model.n_components}.")
    verdict = smacof_judge.smacof_step(
        D,
        embedding,
        metric=metric,
        stored=float(model.stress_),
        normalised=normalised,
        tol=tol,
        status=fit_status(model),
        slack=0.0 if ours or metric else tol,  # scikit-learn's is by the disparities of the step before
    )
    stored, size = wide(model.dissimilarity_matrix_), float(np.max(D**2, initial=0.0))
    if stored.shape != D.shape or not np.all(np.abs(stored**2 - D**2) <= CLOSE * size):
        return contradict(verdict, "dissimilarity_matrix_ are not the dissimilarities of the samples.")
    return verdict


def isomap(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of Isomap: neighbours, the lengths of the paths between them, and eigenpairs."""
    near = judge_neighbours(model.nbrs_, X, None, None)
    components, D = model.kernel_pca_, wide(model.dist_matrix_)
    if model.n_features_in_ != model.nbrs_.n_features_in_:
        raise ValueError(f"The model has {model.n_features_in_} features, its index {model.nbrs_.n_features_in_}.")
    values, vectors = wide(components.eigenvalues_), wide(components.eigenvectors_)
    if vectors.shape != (len(D), len(values)):
        raise ValueError(f"The model has eigenvectors of shape {vectors.shape}, and {len(D)} samples.")
    dtype = numpy_dtype(components.eigenvectors_.dtype)
    verdict = kernel_components(
        Precomputed(),
        -0.5 * D**2,
        values=values,
        vectors=np.ascontiguousarray(vectors.T),
        most=min(len(D), model.n_components),
        fewer=False,
        tol=max(RULES["spectral"].tol, float(model.tol)) if type(model).__module__.startswith("tenfold") else None,
        dtype=dtype,
    )
    complaint = "" if near.ok else f"The neighbours are not those of the samples: {near.explain()}"
    allowed = 64.0 * unit_roundoff(numpy_dtype(model.dist_matrix_.dtype))
    names = ("n_neighbors", "radius", "metric", "p", "metric_params")
    if any(getattr(model.nbrs_, name) != getattr(model, name) for name in names):
        complaint = "The index of neighbours has other parameters than the model."
    if not complaint and not path_error(D, make_graph(model, model.nbrs_, warn=False)) <= allowed:
        complaint = "dist_matrix_ are not the lengths of the shortest paths in the graph of neighbours."
    embedding, expected = wide(model.embedding_), vectors * np.sqrt(np.maximum(values, 0.0))
    size = 16.0 * unit_roundoff(dtype) * float(np.max(np.abs(expected), initial=0.0))
    if not complaint and not (embedding.shape == expected.shape and np.all(np.abs(embedding - expected) <= size)):
        complaint = "embedding_ are not the coordinates of the eigenpairs."
    return contradict(verdict, complaint) if complaint else verdict


def projections(model: Any, X: Any) -> list[Output | Labels]:
    """The expected coordinates of new samples, from judged arrays."""
    components, G = model.kernel_pca_, inner_products(wide(model.dist_matrix_))
    coef = scale_vectors(components.eigenvalues_, components.eigenvectors_, True)
    means, rows = G.mean(axis=0), wide(link(model, X))
    kept = (components.eigenvectors_, model.dist_matrix_, X)
    u = max(unit_roundoff(numpy_dtype(part.dtype)) for part in kept)
    return [
        Output(
            "transform",
            rows @ coef - means @ coef,
            bound_rounding(Precomputed(), G, coef, means, rows, u),
        )
    ]
