"""Certificates of kernel principal components: eigenvectors of a centred kernel matrix, and none larger is missing.

The judge evaluates C = H K H (or K) again, by tiles in float64, with means of its own. From one product C V with the
stored vectors it has Rayleigh quotients r = v'Cv / v'v, the residuals ||C v - r v||, the deviation of V from
orthonormality (a pair that is stored twice passes everything else), and the distances of stored values from r. That P C
P, P = I - V V', has no eigenvalue above the smallest r (above zero, where fewer pairs are stored than were asked for
because the others vanish) is shown by one of:

trace       where K is positive semidefinite: the remaining eigenvalues sum to trace C - sum r.
inertia     mu I - (C - V R V') has a Cholesky factor, for few samples.
random      a Lanczos process from random vectors, up to a probability that the note states (largest_eigenvalue.py). Its
            products are those of a float32 copy of K: E, what that changes, has |E|_F^2 <= |E G|_F^2 / q for vectors G
            of normal numbers but for that probability, and the limit is lowered by the bound. Where the copy does not
            decide, exact products do.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import NORMAL_BOUND, NORMAL_PROBES, TINY, distance, divide_by_lengths, slant
from tenfold.judge.largest_eigenvalue import ERROR_PROBABILITY, finish, proof
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel
from tenfold.linear_algebra import cholesky, product

MAX_FACTORED = 1000  # samples up to which a Cholesky factor is cheaper than random vectors
MAX_FORMED = 4096  # up to which one is tried where random vectors do not decide

PROBABLE = (
    f"That no component with a larger eigenvalue was left out holds with probability 1 - {ERROR_PROBABILITY:.0e}: "
    "random vectors of the judge's own would else have shown it."
)
NOT_PROVED = "That no component with a larger eigenvalue was left out is not proved."
LEFT_OUT = "A direction outside the components has a larger eigenvalue than the smallest of them."
UNORDERED = "The stored eigenvalues do not descend."
WRONG_COUNT = "The number of components is not the one that the parameters ask for."
FAILURES = (NOT_PROVED, LEFT_OUT, UNORDERED, WRONG_COUNT)


def kernel_components(
    kernel: Kernel,
    X: Array,
    *,
    values: Floats,
    vectors: Floats,
    most: int,
    fewer: bool,
    center: bool = True,
    beside: Floats | None = None,
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Judge eigenvalues (k,) and vectors (k, n) of the centred kernel matrix of samples X.

    most: the number of components that was asked for, at most n; fewer: whether those of eigenvalue zero are left out.
    beside: approximate next eigenvectors (m, n), which are not trusted.
    """
    tol = RULES["spectral"].tol if tol is None else tol
    centred = CentredKernel(kernel, X, center)
    n, k = centred.n, len(values)
    if vectors.shape != (k, n) or not (np.isfinite(vectors).all() and np.isfinite(values).all()):
        return Certificate("spectral", np.inf, 1.0, tol, 0.0, 0.0, status=status, note=WRONG_COUNT)
    matrix = centred.dense() if n <= MAX_FACTORED else None
    if matrix is not None:
        probes, images = np.zeros((0, n)), product(vectors, matrix)
    else:
        probes = np.random.default_rng(0).standard_normal((NORMAL_PROBES, n))
        images = centred.apply(np.vstack([vectors, probes]))
    quotients, residuals = _rayleigh(vectors, images[:k])
    total, size = float(np.sum(centred.diagonal())), centred.size()
    top, rounded = float(np.max(quotients, initial=0.0)), 16.0 * unit_roundoff(dtype)
    least_value = (64.0 * EPS + rounded**2) * max(size, TINY)  # below which eigenvalues are rounding
    only_rounding = top <= 64.0 * EPS * size  # equal samples, or no component: then all must be as small
    floor = max(64.0 * EPS * (1.0 if only_rounding else max(1.0, size / top)), rounded)
    allowed = max(tol, floor)
    top = max(64.0 * EPS * size / allowed if only_rounding else top, TINY)
    parts = [
        float(np.max(residuals, initial=0.0)) / top,
        slant(vectors) if k else 0.0,
        distance(values, np.maximum(quotients, 0.0), np.maximum(quotients, least_value / allowed)),
    ]
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    value, note = max(*parts, floor), ""
    if value <= allowed < 1.0:
        smallest = float(np.min(quotients)) if k == most and k else 0.0
        note = _check_values(values, rounded, least_value, k, most, fewer)
        if not note and k < n:
            limit = max(smallest, 0.0) + allowed * top
            left = _Left(centred, vectors, quotients, images[k:], probes, limit, size)
            by_trace = kernel.certainly_psd and total - float(np.sum(quotients)) <= limit
            note = "" if by_trace else left.examine(matrix, values, beside)
        value = np.inf if note in FAILURES else value
    return Certificate(
        "spectral",
        value,
        1.0,
        tol,
        floor,
        -float(np.sum(quotients)),
        lower_bound=-total if kernel.certainly_psd else None,
        status=status,
        parts=tuple(parts),
        note=note,
    )


def _rayleigh(V: Floats, images: Floats) -> tuple[Floats, Floats]:
    """Rayleigh quotients and the lengths of the residuals of vectors (k, n), from their images."""
    if not len(V):
        return np.zeros(0), np.zeros(0)
    quotients = divide_by_lengths(V, np.einsum("kn,kn->k", V, images))
    left = images - quotients[:, None] * V
    return quotients, np.sqrt(divide_by_lengths(V, np.einsum("kn,kn->k", left, left)))


def _check_values(values: Floats, rounded: float, least: float, k: int, most: int, fewer: bool) -> str:
    """A note where the eigenvalues do not descend, are negative, or are not as many as were asked for; else ""."""
    if np.any(np.diff(values) > rounded * np.abs(values[:-1]) + least) or np.any(values < 0.0):
        return UNORDERED
    if k > most or (k < most and not fewer) or (fewer and np.any(values <= 0.0)):
        return WRONG_COUNT
    return ""


def join_certificates(components: Certificate, pre_images: Certificate) -> Certificate:
    """The certificate of components whose pre-images are judged as kernel ridge regression: not ok where these are
    not.
    """
    words = f"Coefficients of pre-images: residual {pre_images.value:.2g}, allowed {pre_images.allowed:.2g}."
    value = components.value if pre_images.ok else np.inf
    return replace(components, value=value, note=f"{components.note} {words}".lstrip())


class _Left:
    """What the components leave of the matrix, and whether an eigenvalue of that exceeds a limit."""

    def __init__(
        self,
        centred: CentredKernel,
        V: Floats,
        quotients: Floats,
        images: Floats,
        probes: Floats,
        limit: float,
        size: float,
    ) -> None:
        self.centred, self.V, self.quotients = centred, V, quotients
        self.images, self.probes = images, probes  # exact products with the probes of the copy
        self.limit, self.rounding = limit, 64.0 * EPS * size

    def examine(self, matrix: Floats | None, values: Floats, beside: Floats | None) -> str:
        """A note: "" where it is proved that no eigenvalue exceeds the limit."""
        if matrix is not None:
            return self._factor(matrix)
        seed = np.frombuffer(np.ascontiguousarray(values).tobytes(), dtype=np.uint32)
        stored = self.centred.in_float32()
        error = 2.0 * NORMAL_BOUND * float(np.linalg.norm(stored.apply(self.probes) - self.images))
        below = None
        if self.limit > 2.0 * error:
            below = self._ask(stored.apply, self.limit - error, self.rounding + error, seed, beside)
        if below is not True:
            below = self._ask(self.centred.apply, self.limit, self.rounding, seed, beside)
        if below is None and self.centred.n <= MAX_FORMED:
            return self._factor(self.centred.dense())
        return {True: PROBABLE, None: NOT_PROVED, False: LEFT_OUT}[below]

    def _ask(
        self, apply: Callable[[Floats], Floats], limit: float, rounding: float, seed: Any, beside: Floats | None
    ) -> bool | None:
        def rest(v: Floats) -> Floats:
            return self._project(apply(self._project(v)))

        running = proof(self.centred.n, lambda: limit, rounding, np.random.default_rng(seed), beside)
        return finish(running, rest, rest(next(running)))

    def _project(self, v: Floats) -> Floats:
        """The part of vectors outside the components."""
        return v - product(product(v, self.V.T), self.V) if len(self.V) else v

    def _factor(self, matrix: Floats) -> str:
        """By the inertia of limit I - (C - V R V')."""
        rest = product(self.V.T * self.quotients, self.V) - matrix if len(self.V) else -matrix
        rest[np.diag_indices_from(rest)] += self.limit
        return "" if cholesky(rest) is not None else LEFT_OUT
