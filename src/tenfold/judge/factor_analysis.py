"""Kind stationarity: factor analysis, by the profile gradient in the logarithms of the noise variances.

With the stored noise variances psi, the judge takes eigenpairs of psi^-1/2 S psi^-1/2 for its own best loadings. Then

loadings   the excess of the stored ones, f(W, psi) - f(psi) >= 0 in nats a sample, counts by its root, as it is a
square gradient   of f(psi), with the best loadings for each psi: with fixed ones it vanishes at W = 0, psi =
variances, too, and a
           step of EM is tiny far from an optimum. Where psi is at its floor, only descent counts
rotation   the asymmetry of A'G, where G is the gradient of the criterion at the rotated loadings A, relative to its
size

A likelihood may grow without bound as a noise variance vanishes: NOISE_FLOOR of the variance is its floor, that of
constant features CONSTANT_FLOOR; the note says how many are there. The scale is one nat a sample.
"""

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.covariance import columns_about
from tenfold.judge.discriminant import probes
from tenfold.judge.recompute import exact
from tenfold.linear_algebra import cholesky, eigh, product
from tenfold.stats.moments import Moments
from tenfold.stats.scatter import scatter_about

NOISE_FLOOR = 1e-6  # of the variance of a feature, the least noise variance
CONSTANT_FLOOR = 1e-12  # the noise variance of a constant feature


def noise_floor(variance: Floats) -> Floats:
    """The least noise variances (p,) of features with these variances."""
    return np.where(variance > 0.0, NOISE_FLOOR * variance, CONSTANT_FLOOR)


def rotation_gradient(A: Floats, kind: str) -> Floats:
    """A quarter of the gradient of the criterion of a rotation at loadings A (p, k)."""
    cubes = A**3
    return cubes - A * np.mean(A * A, axis=0) if kind == "varimax" else cubes


def factor_analysis(
    rows: Rows,
    mean: Floats,
    loadings: Floats,
    noise: Floats,
    *,
    rotation: str | None,
    scatter: Floats | None = None,
    status: str = "judged",
) -> Certificate:
    """The certificate of loadings (k, p) and noise variances (p,); `scatter` is an untrusted copy of the covariance."""
    complaint = _check(loadings, noise, mean)
    if complaint:
        return _fail(complaint, status)
    columns = columns_about(rows, False)
    p = len(noise)
    if scatter is None:
        moments: Moments = rows.fold(Moments.lift)
        scatter = moments.covariance()
    vectors = probes(columns.variance[None])[0]
    images = np.asarray(rows.fold(scatter_about(columns.mean, vectors)).products) / columns.weight
    size = np.maximum(columns.unit, 32.0 * EPS / RULES["exact"].tol * np.abs(columns.mean))
    same = exact(
        {
            "the mean": (mean, columns.mean, size),
            "the scatter": (product(vectors, scatter), images, columns.unit * np.sqrt(p)),
        },
        floor=1e-12,
    )
    if not same.ok:
        return _fail(same.note, status)
    floor = noise_floor(columns.variance)
    at_floor = noise <= floor * (1.0 + 1e-6)
    best, gradient, top = _profile(scatter, noise, len(loadings))
    excess = _objective(scatter, loadings, noise) - best
    rounding = 64.0 * EPS * (p + abs(best) + float(np.sum(columns.variance / noise)))
    descent = np.where(at_floor, np.maximum(-gradient, 0.0), np.abs(gradient))
    parts = [float(np.sqrt(max(excess - rounding, 0.0))), float(np.max(descent, initial=0.0))]
    if rotation is not None and len(loadings) > 1:
        parts.append(_asymmetry(loadings, rotation))
    limit = max(64.0 * EPS * max(top, 1.0), np.sqrt(EPS))
    words = []
    if at_floor.any():
        words.append(
            f"{int(at_floor.sum())} noise variances are at their floor, {NOISE_FLOOR:.0e} of the variance: the "
            "likelihood may grow without bound as they vanish."
        )
    value = max(parts)
    return Certificate(
        "stationarity",
        max(value, limit) if np.isfinite(value) else np.inf,
        1.0,
        RULES["stationarity"].tol,
        limit,
        best + max(excess, 0.0) + 0.5 * p * float(np.log(2.0 * np.pi)),
        status=status,
        parts=tuple(parts),
        note=" ".join(words),
    )


def _check(loadings: Floats, noise: Floats, mean: Floats) -> str:
    if loadings.ndim != 2 or loadings.shape[1] != len(noise) or mean.shape != noise.shape:
        return "The shapes of the loadings and noise variances do not go together."
    if not (np.isfinite(loadings).all() and np.isfinite(noise).all() and (noise > 0.0).all()):
        return "A noise variance is not positive, or a number not finite."
    return ""


def _fail(note: str, status: str) -> Certificate:
    rule = RULES["stationarity"]
    return Certificate("stationarity", np.inf, 1.0, rule.tol, EPS, np.inf, status=status, note=note)


def _profile(S: Floats, noise: Floats, count: int) -> tuple[float, Floats, float]:
    """f(psi), its gradient by the difference of variances and communalities, and the largest eigenvalue."""
    root = np.sqrt(noise)
    values, V = eigh(S / np.outer(root, root))
    values = np.maximum(values, 0.0)
    order = np.argsort(values)[::-1][:count]
    leading = order[values[order] > 1.0]
    rest = np.setdiff1d(np.arange(len(values)), leading)
    logs = float(np.sum(np.log(noise)))
    objective = 0.5 * (logs + float(np.sum(np.log(values[leading]) + 1.0)) + float(np.sum(values[rest])))
    communal = (V[:, leading] ** 2) @ (values[leading] - 1.0)  # in units of the noise
    gradient = 0.5 * (1.0 + communal - np.diag(S) / noise)
    return objective, gradient, float(values.max(initial=0.0))


def _objective(S: Floats, loadings: Floats, noise: Floats) -> float:
    """f(W, psi) by the inverse of a k x k matrix (Woodbury)."""
    scaled = loadings / noise
    M = np.eye(len(loadings)) + product(scaled, np.ascontiguousarray(loadings.T))
    L = cholesky(M) if len(M) else np.zeros((0, 0))
    if L is None:
        return np.inf
    inner = product(product(scaled, S), np.ascontiguousarray(scaled.T))
    trace = float(np.sum(np.diag(S) / noise)) - (float(np.trace(np.linalg.solve(M, inner))) if len(M) else 0.0)
    return 0.5 * (float(np.sum(np.log(noise))) + 2.0 * float(np.sum(np.log(np.diag(L)))) + trace)


def _asymmetry(loadings: Floats, kind: str) -> float:
    A = loadings.T
    M = A.T @ rotation_gradient(A, kind)
    size = float(np.linalg.norm(M))
    return float(np.linalg.norm(M - M.T)) / (2.0 * size) if size > 0.0 else 0.0
