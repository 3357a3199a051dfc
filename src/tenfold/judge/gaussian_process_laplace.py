"""Kind gap: the Laplace approximation of a Gaussian process for two classes, at the fitted kernel.

With targets t in {0, 1}, y = 2 t - 1, stored probabilities pi and beta = t - pi, the mode minimises over f = K beta
    P = 1/2 beta'K beta + sum_i log(1 + exp(-y_i f_i)),
and for every pi in [0, 1] no value is below D = -1/2 beta'K beta + sum_i H(pi_i), H the entropy in nats. The number is
    P - D = sum_i log(1 + exp(-y_i f_i)) + beta'K beta - sum_i H(pi_i),
in units of n log 2, the value at f = 0: no other f is better by more. K is recomputed in float64 and must be positive
semidefinite, up to rounding: otherwise I + W^1/2 K W^1/2 has no factor, or D is no bound. Also judged:
  W_sr_         by sqrt(pi (1 - pi));
  L_            by L (L'z) = z + W^1/2 K W^1/2 z at random z;
  the evidence  -P - 1/2 log det (I + W^1/2 K W^1/2), by another factorisation.
The hyper-parameters are not judged.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.linear_algebra import cholesky, eigenvalues
from tenfold.machine import one_blas_thread

ROOT_DISTANCE = 1e-9  # of W_sr_
FACTOR_DISTANCE = 1e-9  # of L L'z, in units of |L| |L'| |z|
EVIDENCE_DISTANCE = 1e-6  # of the stored evidence, relative to it and to the number of samples
PROBES = 3  # random vectors z

NOTE = "The mode is judged at the fitted kernel; that its hyper-parameters have the most evidence is not."


@dataclass(frozen=True)
class StoredMode:
    """What a fitted process of two classes holds: probabilities of the second, roots of their variances, the factor,
    and the log evidence.
    """

    probabilities: Floats
    root: Floats
    L: Floats
    evidence: float


def classification(stored: StoredMode, K: Floats, t: Floats, *, psd: bool, status: str) -> Certificate:
    """Judge the mode for a kernel matrix and targets (0.0 or 1.0); `psd`: whether K is known to be semidefinite."""
    n, pi = len(t), stored.probabilities
    failed = Certificate("gap", np.inf, n * float(np.log(2.0)), RULES["gap"].tol, 0.0, np.inf, status=status)
    if pi.shape != (n,) or stored.root.shape != (n,) or stored.L.shape != (n, n):
        return replace(failed, note="The fitted arrays have other shapes than the samples.")
    if not (np.isfinite(stored.L).all() and np.isfinite(stored.evidence) and np.all((pi >= 0.0) & (pi <= 1.0))):
        return replace(failed, note="The fitted arrays are not finite, or pi_ are no probabilities.")
    if not psd and (least := _least_eigenvalue(K)) < 0.0:
        return replace(failed, note=f"The kernel matrix is not positive semidefinite: an eigenvalue is {least:.3g}.")
    beta = t - pi
    with one_blas_thread:
        f = K @ beta
        rounding = np.abs(K) @ np.abs(beta)
    losses = float(np.sum(np.logaddexp(0.0, (1.0 - 2.0 * t) * f)))
    quadratic, entropy = float(beta @ f), float(np.sum(entr(pi) + entr(1.0 - pi)))
    gap = losses + quadratic - entropy
    # a rounding e of f changes each loss by e, and the quadratic form by |beta|'e; entropies have the rounding of pi
    floor = EPS * (float((n + 8.0) ** 0.5 * np.sum((1.0 + np.abs(beta)) * rounding)) + 8.0 * (losses + entropy + n))
    complaint = _check_arrays(stored, K, pi, -0.5 * quadratic - losses)
    return replace(
        failed,
        value=np.inf if complaint else max(gap, floor),
        floor=floor,
        objective=0.5 * quadratic + losses,
        lower_bound=None if complaint else entropy - 0.5 * quadratic,
        note=complaint or NOTE,
    )


def _least_eigenvalue(K: Floats) -> float:
    """The least eigenvalue, zero where it may be the rounding of a positive one."""
    values = eigenvalues(K)
    return float(values[0]) if values[0] < -len(K) * EPS * max(abs(values[0]), abs(values[-1])) else 0.0


def _check_arrays(stored: StoredMode, K: Floats, pi: Floats, psi: float) -> str:
    """A complaint where an array or the evidence is not that of the probabilities."""
    root = np.sqrt(pi * (1.0 - pi))
    if np.any(np.abs(stored.root - root) > ROOT_DISTANCE * root + 4.0 * EPS):
        return "W_sr_ are not the roots of pi_ (1 - pi_)."
    z = np.random.default_rng(0).standard_normal((len(K), PROBES))
    with one_blas_thread:
        again = z + root[:, None] * (K @ (root[:, None] * z))
        away = np.abs(stored.L @ (stored.L.T @ z) - again)
        size = np.abs(stored.L) @ (np.abs(stored.L).T @ np.abs(z))
    if np.any(away > FACTOR_DISTANCE * np.max(size, axis=0)) or np.any(np.diag(stored.L) <= 0.0):
        return "L_ is not the Cholesky factor of I + W^1/2 K W^1/2."
    B = root[:, None] * K * root
    B.flat[:: len(K) + 1] += 1.0
    L = cholesky(B)
    if L is None:
        return "I + W^1/2 K W^1/2 is not positive definite."
    evidence = psi - float(np.sum(np.log(np.diag(L))))
    if not abs(stored.evidence - evidence) <= EVIDENCE_DISTANCE * (abs(evidence) + len(K)):
        return f"The stored evidence is not that of the mode, {evidence:.6g}."
    return ""


def combine(certificates: list[Certificate]) -> Certificate:
    """The certificate of several problems: that of the worst, with the numbers of all in units of their scales."""
    if len(certificates) == 1:
        return certificates[0]
    worst = max(certificates, key=lambda one: (not one.ok, one.value / one.scale))
    return replace(worst, parts=tuple(one.value / one.scale for one in certificates))
