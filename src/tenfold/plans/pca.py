"""Spectra of scatter matrices for principal components.

With S = sum w (x - m)(x - m)' the scatter of the rows about their mean m (or about the origin), components are its
eigenvectors in descending order of the eigenvalues. Few columns: from the moments of one pass, or, for accurate small
eigenvalues, from a QR factorisation. Fewer rows than columns: from the n x n Gram matrix of the rows. Few components of
large data: by block Lanczos with two products of the rows a step, on the side of the rows where these are wide and
sparse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg as la
from scipy.linalg import blas
from scipy.special import gammaln

from tenfold import _core
from tenfold.arrays import Floats, contiguous, is_numpy
from tenfold.data import MemoryRows, NotFinite, Rows
from tenfold.linear_algebra import eigh
from tenfold.machine import one_blas_thread, require_memory, threads
from tenfold.plans.least_squares import fold_moments
from tenfold.solvers import block_lanczos, power_method
from tenfold.solvers.dual_ridge import centre_samples
from tenfold.solvers.loop import Status, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments
from tenfold.stats.rfactor import RFactor
from tenfold.stats.scatter import scatter_about
from tenfold.stats.transposed import ByColumns

MAX_NARROW_COLUMNS, MAX_SHORT_ROWS = 1024, 4096  # up to which the scatter, and the Gram matrix of the rows, is formed
# Approximate next eigenvectors handed to the judge (the second number on the side of the rows): they make the bound on
# the remaining spectrum cheaper.
EXTRA_VECTORS, EXTRA_VECTORS_SHORT = 12, 32
# Oversampling of a block, and its largest width (the last one in single precision): at equal cost narrow blocks reach a
# higher degree. An eigenvalue whose multiplicity exceeds the width may be missed; a wide block then repeats the search.
OVERSAMPLING, MAX_BLOCK, MAX_BLOCK_FLOAT32 = 10, 24, 16
# on sparse rows: half the time of 16 to 24 (TruncatedSVD of 10 components, 2k x 5k to 150k x 2k, 1 to 40 a sample)
MAX_BLOCK_SPARSE = 6
MAX_CONDITION = 100.0  # ratio of extreme eigenvalues up to which A'u / sqrt(l) are orthonormal to rounding
# Relative residuals that are attainable in single precision, and after one product in double precision.
FLOAT32_TOL, REFINED_TOL = 1e-8, 1e-9


@dataclass(frozen=True)
class Spectrum:
    """Mean, weight of the rows, eigenvalues (r,) of the scatter in descending order, eigenvectors (r, p), and its
    trace; whether all nonzero eigenvalues are included; the scatter, where it was formed.
    """

    mean: Floats
    weight: float
    values: Floats
    vectors: Floats
    total: float
    complete: bool
    scatter: Floats | None = None
    status: Status = Status.SOLVED
    iterations: int = 0
    is_approximate: bool = (
        False  # whether blocks were narrower than the number of components, or products in single precision
    )
    extra: Floats | None = None  # approximate next eigenvectors (m, p), or (m, n) on the side of the rows

    def first(self, count: int) -> tuple[Floats, Floats]:
        return self.values[:count], self.vectors[:count]


def of_rows(
    rows: Rows,
    count: int | None,
    *,
    about_mean: bool = True,
    accurate: bool = False,
    tol: float = 1e-9,
    max_iter: int = 300,
    random: Any = None,
    widest: int = MAX_BLOCK,
    oversampling: int | None = None,
    power: bool = False,
) -> Spectrum:
    """The spectrum of the rows: `count` leading components, or all (None); by the `power` method where asked for. With
    `oversampling` block Lanczos takes `max_iter` steps with blocks that are wider than `count` by it, and is not made
    to converge.
    """
    if power:
        return _by_power(rows, min(rows.shape) if count is None else count, about_mean, tol, max_iter, random)
    method = select_method(rows, count, oversampling, accurate)
    if method == "qr":
        return _by_qr(rows, about_mean)
    if method == "samples":
        return _by_products_of_rows(rows, about_mean)
    if method == "lanczos" and count is not None:
        return _by_krylov(rows, count, about_mean, tol, max_iter, random, widest, oversampling)
    return of_moments(fold_moments(rows), count, about_mean)


def select_method(rows: Rows, count: int | None, oversampling: int | None, accurate: bool) -> str:
    """ "scatter", eigenvectors of the p x p scatter matrix; "qr", the same from a QR factorisation; "samples", of the
    n x n Gram matrix of the samples; or "lanczos", block Lanczos for few components.
    """
    n, p = rows.shape
    few = count is not None and 5 * (count + (OVERSAMPLING if oversampling is None else oversampling)) < min(n, p)
    if p <= MAX_NARROW_COLUMNS or (p <= n and not few):
        return "qr" if accurate and not rows.distributed else "scatter"
    if n <= MAX_SHORT_ROWS and not few and not rows.distributed:
        return "samples"
    return "lanczos" if few else "scatter"


def of_moments(moments: Moments, count: int | None, about_mean: bool = True) -> Spectrum:
    """The spectrum from second moments."""
    p, e = moments.features, moments.exponent[: moments.features]
    S = np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)
    wanted = None if count is None or 4 * count > p else p - count
    values, vectors = eigh(S, wanted or 0)
    mean = moments.mean if about_mean else np.zeros(p)
    values = np.maximum(values[::-1], 0.0)
    return Spectrum(mean, moments.weight, values, vectors.T[::-1], float(np.trace(S)), wanted is None, S)


def _column_moments(rows: Rows, about_mean: bool) -> tuple[Floats, float, float]:
    """Mean, weight and the trace of the scatter."""
    columns = rows.fold(Columns.lift)
    p = columns.features
    if not (np.isfinite(columns.mean[:p]).all() and np.isfinite(columns.spread[:p]).all()):
        raise NotFinite
    lengths = columns.lengths(origin=not about_mean)[0]
    return columns.mean[:p] if about_mean else np.zeros(p), columns.weight, float(np.sum(lengths**2))


def _by_qr(rows: Rows, about_mean: bool) -> Spectrum:
    """The spectrum from a QR factorisation, accurate for small eigenvalues."""
    mean, weight, total = _column_moments(rows, about_mean)
    p, t = rows.shape[1], rows.targets
    scale = np.append(np.ones(p), np.zeros(t))
    R = rows.fold(RFactor.lifter(np.append(mean, np.zeros(t)), scale)).R[:, :p]
    with one_blas_thread:
        _, sizes, vectors = la.svd(R, full_matrices=False, check_finite=False)
    return Spectrum(mean, weight, sizes**2, vectors, total, True)


def _by_products_of_rows(rows: Rows, about_mean: bool) -> Spectrum:
    """The spectrum from the Gram matrix K = A A' of the centred rows: v = A'u / sqrt(l)."""
    mean, weight, total = _column_moments(rows, about_mean)
    data = centre_samples(rows, mean, np.zeros(rows.targets))
    values, u = eigh(data.gram())
    most = min(rows.shape)
    values, u = np.maximum(values[::-1][:most], 0.0), u[:, ::-1][:, :most]
    kept = values > values[0] * len(values) * np.finfo(np.float64).eps
    vectors = np.zeros((len(values), rows.shape[1]))
    vectors[kept] = data.back(np.ascontiguousarray(u[:, kept])) / np.sqrt(values[kept])[:, None]
    return Spectrum(mean, weight, values, _complete_basis(vectors, kept), total, True)


def _complete_basis(vectors: Floats, kept: Any) -> Floats:
    """Orthonormal rows; those that are not `kept`, of zero variance, become an arbitrary completion."""
    with one_blas_thread:
        known, R = la.qr(vectors[kept].T, mode="economic", check_finite=False)
        vectors[kept] = (known * np.sign(np.diag(R))).T
        rest = np.flatnonzero(~kept)
        if rest.size:
            random = np.random.default_rng(0).standard_normal((rest.size, vectors.shape[1]))
            for _ in range(2):
                random -= (random @ known) @ known.T
            vectors[rest] = la.qr(random.T, mode="economic", check_finite=False)[0].T
    return vectors


def _by_krylov(
    rows: Rows,
    count: int,
    about_mean: bool,
    tol: float,
    max_iter: int,
    random: Any,
    widest: int = MAX_BLOCK,
    oversampling: int | None = None,
) -> Spectrum:
    mean, weight, total = _column_moments(rows, about_mean)
    random = np.random.RandomState(0) if random is None else random
    wide = ByColumns.of(rows, mean if about_mean else None)
    size = rows.shape[1] if wide is None else rows.shape[0]
    products = partial(_products, rows, mean) if wide is None else wide.products
    short = None
    if wide is None and widest <= MAX_BLOCK and tol >= REFINED_TOL:
        short = _float32_products(rows, mean, total)
    if oversampling is not None:
        block = min(count + oversampling, size)
    elif widest == MAX_BLOCK and rows.sparse:
        block = min(count + OVERSAMPLING, size, MAX_BLOCK_SPARSE)
    else:
        in_short = widest == MAX_BLOCK and short is not None
        block = min(count + OVERSAMPLING, size, MAX_BLOCK_FLOAT32 if in_short else widest)
    require_memory(f"{4 * block} vectors of {size} entries", 64 * block * size, "Ask for fewer components.")
    target_tol = tol if short is None else max(tol, FLOAT32_TOL)
    more = EXTRA_VECTORS if wide is None else EXTRA_VECTORS_SHORT
    steps = block_lanczos.steps(
        short or products,
        size,
        count,
        block,
        random,
        target_tol,
        more=more,
        transposed=wide is not None,
        unchecked=0 if oversampling is None else max_iter,
    )
    result = run(steps, max_iter)
    space: block_lanczos.Space = result.params
    vectors, values, status = space.vectors(0, count), space.values[:count], result.status
    if oversampling is not None and status is Status.MAX_ITER:
        status, more = Status.REQUESTED_STEPS, 0
    extra = space.vectors(count, count + more) if more else None
    if wide is not None:
        vectors = _right_vectors(wide, vectors, values)
    elif short is not None:
        vectors, values = block_lanczos.refine(vectors, products(vectors), total)
    is_approximate = oversampling is None and (short is not None or block < min(count + OVERSAMPLING, size))
    values = np.maximum(values, 0.0)
    return Spectrum(mean, weight, values, vectors, total, False, None, status, result.iterations, is_approximate, extra)


def _by_power(rows: Rows, count: int, about_mean: bool, tol: float, max_iter: int, random: Any) -> Spectrum:
    mean, weight, total = _column_moments(rows, about_mean)
    random = np.random.RandomState(0) if random is None else random
    start = random.standard_normal((count, rows.shape[1]))
    result = run(power_method.steps(partial(_products, rows, mean), start, tol), max_iter)
    values, vectors = result.params
    values = np.maximum(values, 0.0)
    return Spectrum(mean, weight, values, vectors, total, False, None, result.status, result.iterations)


def _right_vectors(wide: ByColumns, u: Floats, values: Floats) -> Floats:
    """Orthonormal v = A'u / sqrt(l)."""
    kept = values > values[0] * len(u[0]) * np.finfo(np.float64).eps
    u = u / np.sqrt(np.where(kept, values, 1.0))[:, None]
    vectors, products = np.empty((len(u), wide.columns)), np.zeros((len(u), len(u)))
    with one_blas_thread:
        for columns, part in wide.parts():
            some = part.back(u)
            vectors[:, columns] = some
            products += blas.dgemm(1.0, some.T, some.T, trans_a=1)
        if not kept.all():
            return _complete_basis(vectors, kept)
        if values[0] <= MAX_CONDITION * values[-1]:
            return vectors
        R = la.cholesky(products, check_finite=False)
        turn = la.solve_triangular(R, np.eye(len(u)), check_finite=False)
        for columns, _ in wide.parts():
            vectors[:, columns] = blas.dgemm(1.0, vectors[:, columns].T, turn).T
    return vectors


def _float32_products(rows: Rows, mean: Floats, total: float) -> Callable[[Floats], Floats] | None:
    """Products with the scatter in single precision, from a copy of rows in memory; None for other sources."""
    if not isinstance(rows, MemoryRows) or not is_numpy(rows.X) or not 0.0 < total < np.inf:
        return None
    n, p = rows.shape
    require_memory(f"a copy of {n} x {p} rows in single precision", 4 * n * p, "Ask for all components.")
    exponent = int(np.frexp(np.sqrt(total / (n * p)))[1])  # scales entries to unit size
    root = None if rows.weight is None else np.sqrt(rows.weight)
    count = threads(n * p)
    A = _core.centre_float32(contiguous(rows.X), mean, root, 2.0**-exponent, count)

    def products(vectors: Floats) -> Floats:
        padded = np.zeros((len(vectors), A.shape[1]), dtype=np.float32)
        padded[:, :p] = vectors
        return np.ldexp(_core.scatter_products_float32(A, padded, count)[:, :p], 2 * exponent)

    return products


def _products(rows: Rows, mean: Floats, vectors: Floats) -> Floats:
    return np.ascontiguousarray(rows.fold(scatter_about(mean, vectors)).products)


def fix_signs(vectors: Floats) -> Floats:
    """Flip signs, in place, so that the largest entry of each vector is positive, as in scikit-learn."""
    largest = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    vectors[largest < 0.0] *= -1.0
    return vectors


def count_explaining(values: Floats, total: float, wanted: float) -> int:
    """The smallest number of components that explain more than the `wanted` fraction of the variance, at least one."""
    if not total > 0.0:
        return 1
    return int(np.searchsorted(np.cumsum(values / total), wanted, side="right")) + 1


def count_by_evidence(variances: Floats, weight: float) -> int:
    """The number of components of largest evidence, given all variances (Minka 2000)."""
    rounding = len(variances) * np.finfo(np.float64).eps * variances[0]
    positive = np.where(variances > rounding, variances, 0.0)
    logs = [_log_evidence(positive, k, weight) for k in range(1, len(positive))]
    return int(np.argmax([-np.inf, *logs]))


def _log_evidence(variances: Floats, k: int, n: float) -> float:
    p = len(variances)
    if variances[k - 1] < np.finfo(np.float64).eps:
        return -np.inf
    pu = -k * np.log(2.0) + sum(gammaln((p - i) / 2.0) - np.log(np.pi) * (p - i) / 2.0 for i in range(k))
    pl = -0.5 * n * float(np.sum(np.log(variances[:k])))
    noise = max(np.finfo(np.float64).eps, float(np.sum(variances[k:])) / (p - k))
    pv = -0.5 * n * (p - k) * np.log(noise)
    m = p * k - k * (k + 1.0) / 2.0
    pp = np.log(2.0 * np.pi) * (m + k) / 2.0
    smoothed = np.append(variances[:k], np.full(p - k, noise))
    pa = 0.0
    for i in range(k):
        rest = np.arange(i + 1, p)
        pa += float(np.sum(np.log((variances[i] - variances[rest]) * (1.0 / smoothed[rest] - 1.0 / smoothed[i]))))
        pa += np.log(n) * len(rest)
    return float(pu + pl + pv + pp - pa / 2.0 - k * np.log(n) / 2.0)
