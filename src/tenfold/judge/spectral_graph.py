"""Certificate of spectral embeddings and spectral clusterings of a graph.

An embedding has columns u / d^(1/2), u unit eigenvectors of the Laplacian L with the smallest eigenvalues. With S = 2 I
- L (pairwise/graphs.py), whose eigenvalues lie in [0, 2], the judge computes Rayleigh quotients r, the residuals
||S u - r u||, the deviation from orthonormality, and the order. That S has no larger eigenvalue outside the embedding
is proved by inertia: with m just above the smallest r, m I - (S - sum r u u') has a Cholesky factor if and only if all
other eigenvalues are below m; or, for many samples, by random vectors (largest_eigenvalue.py), with the probability
stated. A first eigenvector that was dropped, L u = 0, is the direction of the null vectors of the connected parts that
the embedding lacks.

Labels are judged on the embedding: one exact step of Lloyd (kmeans.py); or of the alternation of Yu and Shi (2003)
between labels and the rotation of the embedding that is nearest to them, which must not gain; or, of the pivots of a QR
factorisation (Damle, Minden, Ying 2019), the labels computed again.

The normalised cut of a partition into k is sum_k cut(A_k) / vol(A_k), with weights and degrees both without the
diagonal. It is trace H' L H of orthonormal H, so that it is at least the sum of the k smallest eigenvalues of L, where
each isolated sample has the eigenvalue 0, as a part of volume 0 has the cut 0. With the residual of all components R,
and no other eigenvalue of S above m, eigenvalues are at most max(r, m) + ||R||, for orthonormal components; deviations
from that and rounding are added.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg as la

from tenfold.arrays import EPS, Array, Floats, Integers, is_sparse, unit_roundoff
from tenfold.data import MemoryRows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.judge.kmeans import Labelled, lloyd_step
from tenfold.judge.largest_eigenvalue import ERROR_PROBABILITY, below
from tenfold.linear_algebra import cholesky
from tenfold.machine import one_blas_thread
from tenfold.pairwise.graphs import Graph
from tenfold.stats.derivatives import Params, adjoint, forward

FORMED_SIZE = 512  # up to which inertia is asked first, and not random vectors
MAX_FORMED = 6000  # up to which it is asked where random vectors do not decide

OF_GRAPH = "The matrix is the Laplacian of the affinities without their diagonal."
PROBABLE = (
    f"That no eigenvector with a smaller eigenvalue was left out holds with probability 1 - {ERROR_PROBABILITY:.0e}: "
    "random vectors of the judge's own would else have shown it."
)
NOT_PROVED = "That no eigenvector with a smaller eigenvalue was left out is not proved."
LEFT_OUT = "An eigenvector outside the embedding has a smaller eigenvalue than the last one inside."
UNORDERED = "The eigenvectors are not in the order of their eigenvalues."


@dataclass(frozen=True)
class _Components:
    """Unit eigenvectors (k, n), Rayleigh quotients r (k,) of S, residuals (k,), the deviation from orthonormality, the
    norm of all residuals together, and the dropped vector (0 or 1, n).
    """

    vectors: Floats
    values: Floats
    residuals: Floats
    slant: float
    norm: float
    dropped: Floats


def embedding(
    graph: Graph,
    stored: Floats,
    *,
    drop_first: bool,
    tol: float | None = None,
    dtype: Any = np.float64,
    beside: Floats | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of an embedding (n, k); `beside` are approximate next eigenvectors (m, n)."""
    return _judge(graph, stored, drop_first, tol, dtype, beside, status)[0]


def _judge(
    graph: Graph, stored: Floats, drop_first: bool, tol: float | None, dtype: Any, beside: Floats | None, status: str
) -> tuple[Certificate, _Components | None, float]:
    tol = RULES["spectral"].tol if tol is None else tol
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype))
    if stored.ndim != 2 or stored.shape[0] != graph.size or not 0 < stored.shape[1] <= graph.size:
        note = f"The embedding has shape {stored.shape}, and there are {graph.size} samples."
        return _reject(tol, floor, status, note), None, np.inf
    if not np.isfinite(stored).all():
        return _reject(tol, floor, status, "The embedding is not finite."), None, np.inf
    basis = _components(graph, stored, drop_first)
    allowed = max(tol, floor)
    limit = float(np.min(basis.values)) + allowed
    parts = (float(np.max(basis.residuals)), basis.slant)
    value, note = max(*parts, floor), OF_GRAPH
    if value <= allowed:
        failure, remark = _check_leading(graph, basis, limit, allowed, beside)
        value, note = (np.inf if failure else value), f"{note} {failure or remark}".rstrip()
    eigenvalues = graph.scale * np.maximum(2.0 - basis.values, 0.0)
    certificate = Certificate(
        "spectral", value, 1.0, tol, floor, float(np.sum(eigenvalues)), status=status, parts=parts, note=note
    )
    return certificate, basis, limit


def _reject(tol: float, floor: float, status: str, note: str) -> Certificate:
    return Certificate("spectral", np.inf, 1.0, tol, floor, np.nan, status=status, note=note)


def _inner(A: Floats, B: Floats) -> Floats:
    return np.asarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _components(graph: Graph, stored: Floats, drop_first: bool) -> _Components:
    vectors = np.ascontiguousarray((stored * graph.roots[:, None]).T)
    dropped = np.zeros((0, graph.size))
    if drop_first and len(graph.null):
        rest = graph.null - adjoint(vectors, np.ascontiguousarray(_inner(vectors, graph.null)))
        with one_blas_thread:
            dropped = la.svd(rest, full_matrices=False, check_finite=False)[2][:1]
    everything = np.vstack([dropped, vectors])
    G = _inner(everything, everything)
    slant = float(np.max(np.abs(G - np.eye(len(G)))))
    images = graph.multiply(vectors)
    lengths = np.maximum(np.einsum("kn,kn->k", vectors, vectors), np.finfo(np.float64).tiny)
    values = np.einsum("kn,kn->k", vectors, images) / lengths
    left = images - values[:, None] * vectors
    residuals = np.sqrt(np.einsum("kn,kn->k", left, left) / lengths)
    return _Components(vectors, values, residuals, slant, float(np.sqrt(np.sum(residuals**2))), dropped)


def _check_leading(
    graph: Graph, basis: _Components, limit: float, allowed: float, beside: Floats | None
) -> tuple[str, str]:
    """Why these are not the leading eigenvectors of S, "" where they are; and a remark on the proof."""
    if np.any(np.diff(basis.values) > allowed):
        return UNORDERED, ""
    inside = np.vstack([basis.dropped, basis.vectors])
    if len(inside) == graph.size:
        return "", ""
    values = np.append(np.full(len(basis.dropped), 2.0), basis.values)
    if graph.size > FORMED_SIZE:
        verdict = _by_random_vectors(graph, inside, limit, beside)
        if verdict is not None:
            return ("", PROBABLE) if verdict else (LEFT_OUT, "")
        if graph.size > MAX_FORMED:
            return NOT_PROVED, ""
    rest = graph.dense()
    rest -= adjoint(inside, np.ascontiguousarray(values[:, None] * inside))
    np.negative(rest, out=rest)
    rest.reshape(-1)[:: graph.size + 1] += limit
    return ("" if cholesky(rest) is not None else LEFT_OUT), ""


def _by_random_vectors(graph: Graph, inside: Floats, limit: float, beside: Floats | None) -> bool | None:
    """Whether S outside the embedding is below the limit, with a probability; None where that is not decided."""

    def project(vectors: Floats) -> Floats:
        return vectors - adjoint(inside, np.ascontiguousarray(_inner(inside, vectors)))

    def apply(vectors: Floats) -> Floats:
        return project(graph.multiply(project(vectors)))

    # seeded by the embedding, so that vectors are independent of the solver's and reproducible
    random = np.random.default_rng(np.frombuffer(np.ascontiguousarray(inside[-1]).tobytes(), dtype=np.uint32))
    # |S| has the norm of S, at most 2, so that rounding of products is at most 2 n units
    return below(apply, graph.size, limit, 2.0 * (graph.size + 8) * EPS, random, beside)


def lowest_cut(graph: Graph, basis: _Components, limit: float, k: int) -> float:
    """A lower bound on the normalised cut of any partition into k."""
    isolated = int(np.sum(graph.degrees <= 0.0))
    wanted = k - isolated
    if wanted <= 0:
        return 0.0
    slack = 2.0 * basis.norm + 4.0 * len(basis.vectors) * basis.slant + 4.0 * graph.size * EPS
    tops = np.append(np.full(len(basis.dropped), 2.0), np.maximum(basis.values, limit) + slack)[:wanted]
    beyond = np.full(wanted - len(tops), limit + slack)
    return max(0.0, 2.0 * wanted - float(np.sum(np.minimum(np.append(tops, beyond), 2.0))))


def compute_cut(A: Array, graph: Graph, labels: Integers) -> float:
    """sum_k cut(A_k) / vol(A_k) of affinities A, from the weights that are cut."""
    names, number = np.unique(labels, return_inverse=True)
    n, k = len(labels), len(names)
    cut = np.zeros(k)
    if is_sparse(A):
        entries = A.tocoo()
        apart = number[entries.row] != number[entries.col]
        cut += np.bincount(number[entries.row[apart]], weights=entries.data[apart], minlength=k)
    else:
        member = np.zeros((n, k))
        member[np.arange(n), number] = 1.0
        sums = np.asarray(forward(np.ascontiguousarray(A, dtype=np.float64), Params(member.T.copy(), np.zeros(k))))
        sums[np.arange(n), number] = 0.0
        np.add.at(cut, number, np.sum(sums, axis=1))
    volume = np.bincount(number, weights=graph.degrees, minlength=k)
    return float(np.sum(cut[volume > 0.0] / volume[volume > 0.0]))


@dataclass(frozen=True)
class Labelling:
    """How labels follow from the embedding: "kmeans" into so many clusters, "discretize" or "cluster_qr" into as many
    as there are components; whether rows had length one.
    """

    method: str
    clusters: int
    unit_rows: bool = False


def clustering(
    A: Array,
    graph: Graph,
    stored: Floats,
    labels: Integers,
    labelling: Labelling,
    *,
    dtype: Any = np.float64,
    beside: Floats | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of an embedding (n, k) and labels (n,): `objective` is the cut, `lower_bound` that of any cut
    into as many clusters.
    """
    certificate, basis, limit = _judge(graph, stored, False, None, dtype, beside, status)
    if basis is None:
        return certificate
    wrong = _complain_of_labels(graph, stored, labels, labelling)
    if wrong:
        return replace(certificate, value=np.inf, note=f"{wrong} {certificate.note}")
    return report_cut(certificate, *_cut_and_bound(A, graph, labels, basis, limit, certificate.ok))


def _cut_and_bound(
    A: Array, graph: Graph, labels: Integers, basis: _Components, limit: float, proved: bool
) -> tuple[float, float | None, int]:
    k = len(np.unique(labels))
    return compute_cut(A, graph, labels), lowest_cut(graph, basis, limit, k) if proved else None, k


def report_cut(certificate: Certificate, cut: float, bound: float | None, k: int) -> Certificate:
    """The certificate with a cut and a bound on the cuts into k clusters."""
    words = f"The normalised cut into {k} clusters is {cut:.6g}"
    words += "." if bound is None else f", and no other labels have one below {bound:.6g}."
    return replace(certificate, objective=cut, lower_bound=bound, note=f"{certificate.note} {words}".lstrip())


def cut_alone(A: Array, graph: Graph, labels: Integers, stored: Floats, beside: Floats | None) -> Certificate:
    """The cut of labels and its bound, by an embedding of somebody else's; the labels are not judged."""
    certificate, basis, limit = _judge(graph, stored, False, None, np.float64, beside, NOT_JUDGED)
    if basis is None:
        return certificate
    proved = replace(certificate, status="solved").ok
    why = "The model does not keep the embedding that its labels come from."
    empty = replace(certificate, value=np.inf, note=why)
    return report_cut(empty, *_cut_and_bound(A, graph, labels, basis, limit, proved))


def _complain_of_labels(graph: Graph, stored: Floats, labels: Integers, labelling: Labelling) -> str:
    """Why labels do not follow from the embedding; "" where they do."""
    n = graph.size
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or int(np.min(labels)) < 0:
        return f"The labels are not numbers of clusters, one for each of {n} samples."
    rows = scale_rows(stored) if labelling.unit_rows else stored
    k = labelling.clusters if labelling.method == "kmeans" else stored.shape[1]
    if int(np.max(labels)) >= k:
        return f"There are labels above {k - 1}, and {k} clusters."
    return LABELLINGS[labelling.method](np.asarray(rows, dtype=np.float64), labels, k)


def scale_rows(rows: Floats) -> Floats:
    """Rows of length one; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def _complain_of_means(rows: Floats, labels: Integers, k: int) -> str:
    names, number = np.unique(labels, return_inverse=True)
    member = np.zeros((len(rows), len(names)))
    member[np.arange(len(rows)), number] = 1.0
    centres = np.ascontiguousarray((adjoint(np.ascontiguousarray(rows), member)) / np.sum(member, axis=0)[:, None])
    if float(np.sum((rows - centres[number]) ** 2)) <= (64.0 * EPS) ** 2 * float(np.sum(rows**2)):
        return ""  # every row is its centre up to rounding, as of a graph in parts: no labels have less energy
    samples = MemoryRows(np.ascontiguousarray(rows), np.zeros((len(rows), 0)), None)
    reported = Labelled(MemoryRows(samples.X, number[:, None].astype(np.float64), None), None)
    step = lloyd_step(samples, centres, bound=False, reported=reported)
    if len(names) < k and step.objective > step.floor:  # a centre of its own would lower the energy of any sample
        return f"Only {len(names)} of {k} clusters have samples."
    if step.ok:
        return ""
    return f"One exact step of Lloyd on the embedding changes the clusters: {step.explain()}"


def _complain_of_rotation(rows: Floats, labels: Integers, k: int) -> str:
    """The step of Yu and Shi: with V the embedding of unit columns and then unit rows, and Z the labels, the rotation
    R = W U' of Z'V = U s W' gives labels argmax V R, whose sum of s is no larger.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    V = scale_rows(rows / np.where(lengths > 0.0, lengths, 1.0))
    n = len(V)

    def rotate(number: Integers) -> tuple[float, Floats]:
        member = np.zeros((n, k))
        member[np.arange(n), number] = 1.0
        with one_blas_thread:
            U, s, W = la.svd(adjoint(np.ascontiguousarray(V), member), check_finite=False)
        return float(np.sum(s)), _inner(V, U @ W)

    before, scores = rotate(labels)
    gain = max(0.0, rotate(np.argmax(scores, axis=1))[0] - before)
    if gain <= RULES["fixed point"].tol * n:
        return ""
    return f"One more rotation brings the labels nearer to the embedding, by {gain / n:.2g} of what is possible."


def _complain_of_pivots(rows: Floats, labels: Integers, k: int) -> str:
    with one_blas_thread:
        pivots = la.qr(rows.T, mode="r", pivoting=True, check_finite=False)[1][:k]
        U, _, W = la.svd(rows[pivots].T, check_finite=False)
    scores = np.abs(_inner(rows, (U @ W).T))
    short = np.max(scores, axis=1) - scores[np.arange(len(labels)), labels]
    wrong = int(np.sum(short > 1e-8 * np.max(scores, initial=0.0)))
    return f"{wrong} of {len(labels)} labels are not those of the pivoted QR factorisation." if wrong else ""


LABELLINGS: dict[str, Callable[[Floats, Integers, int], str]] = {
    "kmeans": _complain_of_means,
    "discretize": _complain_of_rotation,
    "cluster_qr": _complain_of_pivots,
}
