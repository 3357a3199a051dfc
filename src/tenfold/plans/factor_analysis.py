"""Factor analysis: fitted from the second moments of one pass, rotated, and judged."""

from typing import NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.data import Rows
from tenfold.judge import factor_analysis as judge
from tenfold.judge.certificate import Certificate
from tenfold.judge.factor_analysis import noise_floor
from tenfold.linear_algebra import cholesky, condition_of_factor, invert_positive
from tenfold.plans.covariance import fold_scatter
from tenfold.plans.pca import fix_signs
from tenfold.solvers import factor_analysis as solver
from tenfold.solvers.loop import run

GRADIENT_TOL = 1e-8  # at which Newton's steps end: two orders below the tolerance of the certificate
ROTATIONS = 1000  # steps of a rotation
ROTATION_TOL = 1e-9  # relative asymmetry at which they end


class FittedFactors(NamedTuple):
    """Mean (p,), loadings (k, p), noise variances (p,), the log-likelihoods after each step, and the certificate."""

    mean: Floats
    loadings: Floats
    noise: Floats
    likelihoods: list[float]
    certificate: Certificate


def fit_factors(rows: Rows, count: int, *, start: Floats | None, rotation: str | None, max_iter: int) -> FittedFactors:
    """Fit at most `count` factors, from noise variances `start`."""
    scatter = fold_scatter(rows, False)
    S = scatter.covariance
    least = noise_floor(np.diag(S))
    first = guess_noise(S, count) if start is None else start
    solution = run(solver.steps(S, count, np.maximum(first, least), least, GRADIENT_TOL), max_iter)
    best: solver.Profile = solution.params
    loadings = fix_signs(best.loadings(count))
    if rotation is not None:
        loadings = rotate(loadings, rotation)
    noise = np.exp(best.logs)
    constant = 0.5 * len(S) * float(np.log(2.0 * np.pi))
    likelihoods = [-scatter.weight * (record.objective + constant) for record in solution.trace]
    certificate = judge.factor_analysis(
        rows, scatter.centre, loadings, noise, rotation=rotation, scatter=S, status=solution.status.value
    )
    return FittedFactors(scatter.centre, loadings, noise, likelihoods, certificate)


def guess_noise(S: Floats, count: int) -> Floats:
    """Joreskog's start: a share of the variances that the other features leave; half of all for a singular S."""
    p, L = len(S), cholesky(S)
    share = 1.0 - 0.5 * min(count, p) / p
    if L is None or condition_of_factor(np.tril(L), float(np.abs(S).sum(axis=0).max())) * p * EPS > 1e-3:
        return share * np.diag(S)
    return share / np.diag(invert_positive(L))


def rotate(loadings: Floats, kind: str) -> Floats:
    """Loadings (k, p) rotated so that their squares vary most: within each factor ("varimax"), or all ("quartimax")."""
    A = loadings.T
    turned, turn = A, np.eye(A.shape[1])
    for _ in range(ROTATIONS):
        M = A.T @ judge.rotation_gradient(turned, kind)
        aligned = turn.T @ M
        if float(np.linalg.norm(aligned - aligned.T)) <= ROTATION_TOL * float(np.linalg.norm(aligned)):
            break
        left, _, right = np.linalg.svd(M)
        turn = left @ right
        turned = A @ turn
    return np.ascontiguousarray(turned.T)
