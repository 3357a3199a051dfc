"""Whether the largest eigenvalue of a symmetric matrix B >= 0, given by its products, is below a limit L.

A proof with a stated error probability, after Kuczynski and Wozniakowski (1992), but a posteriori. Let z be the unit
eigenvector of the largest eigenvalue l, and g a vector of standard normal numbers drawn here. Lanczos' recurrence from
q_1 = g / |g|,

    B q_i = beta_{i-1} q_{i-1} + alpha_i q_i + beta_i q_{i+1},

gives for w_i = z'q_i that (l - alpha_i) w_i = beta_{i-1} w_{i-1} + beta_i w_{i+1}. Elimination from the first row on
has pivots d_i = l - alpha_i - beta_{i-1}^2 / d_{i-1}, and since |w_{i+1}| <= 1,

    |z'g| = |g| |w_1| <= |g| prod_i beta_i / d_i.

Pivots grow with l while all are positive: if l were above L, those at L would give a bound on |z'g| as well. But z'g is
a normal number, and the squares of `PROBES` independent ones sum to less than the quantile of chi-squared at
`ERROR_PROBABILITY` with that probability only. So where the bounds are that small, l <= L up to that probability,
after any number of
steps, for it is the same event. A pivot that is not positive proves an eigenvalue above L. Only the recurrence and the
norms of the vectors are used, not their orthogonality; the rounding of each row is included.

Approximate leading eigenvectors G make it easier. With B = [[C, R'], [R, D]] in their space and outside it, B is
below L if and only if C is and D <= L - R (L - C)^-1 R'; that D <= L - |R|^2 / (L - max C) is enough. The spectrum
of D is smaller, and fewer steps suffice. G is not trusted: C and R are computed.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy import linalg as la
from scipy.special import gammaincinv

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, adjoint, forward

PROBES, STEPS = 8, 40  # random start vectors, and Lanczos steps of each at most
ERROR_PROBABILITY = 1e-9  # probability that a larger eigenvalue is not detected

EARLY_STEPS = 10  # steps after which a hopeless proof is abandoned

Apply = Callable[[Floats], Floats]

Proof = Generator[Floats, Floats, bool | None]
"""Yields vectors, is sent their products with the matrix, and returns the verdict."""


def below(apply: Apply, size: int, limit: float, rounding: float, random: Any, beside: Floats | None) -> bool | None:
    """True (with probability 1 - CHANCE) or False; None where undecided. `rounding` is that of products with unit
    vectors; `beside` (m, size) are approximate leading eigenvectors.
    """
    running = proof(size, lambda: limit, rounding, random, beside)
    return finish(running, apply, apply(next(running)))


def finish(running: Proof, apply: Apply, images: Floats) -> bool | None:
    """Run a proof to its end, from the products with its first vectors."""
    try:
        while True:
            images = apply(running.send(images))
    except StopIteration as end:
        verdict: bool | None = end.value
        return verdict


def proof(size: int, bound: Callable[[], float], rounding: float, random: Any, beside: Floats | None) -> Proof:
    """The proof of `below` as a generator, for callers that combine its products with others in one pass: the limit
    `bound()` is evaluated after the first products.
    """
    if beside is not None and len(beside) and beside.shape[1] == size and np.isfinite(beside).all():
        G = _orthonormal(beside)
        start = _project_out(G, random.standard_normal((PROBES, size)))
        images = yield np.vstack([G, start])
        limit = bound()
        images, first = images[: len(G)], images[len(G) :]
        C = _inner(G, images)
        R = images - adjoint(G, C)
        with one_blas_thread:
            top = float(la.eigvalsh(0.5 * (C + C.T), check_finite=False)[-1])
            square = float(la.eigvalsh(_inner(R, R), check_finite=False)[-1])
        if top > limit:
            return False
        if 2.0 * square < limit * (limit - top):
            lower = limit - square / (limit - top)
            verdict = yield from _lanczos(start, _project_out(G, first), lambda v: _project_out(G, v), lower, rounding)
            if verdict is not False:  # a larger eigenvalue of D does not imply one of B
                return verdict
    start = random.standard_normal((PROBES, size))
    images = yield start
    limit = bound()
    return (yield from _lanczos(start, images, lambda v: v, limit, rounding))


def _project_out(G: Floats, v: Floats) -> Floats:
    """Project vectors on the complement of orthonormal ones."""
    return v - adjoint(G, _inner(G, v))


def _lanczos(start: Floats, image: Floats, project: Apply, limit: float, rounding: float) -> Proof:
    """Lanczos from random vectors and their products; `project` restricts it to a subspace."""
    lengths = np.linalg.norm(start, axis=1)
    needed = 2.0 * float(gammaincinv(0.5 * PROBES, ERROR_PROBABILITY))
    scale = np.where(lengths > 0.0, lengths, 1.0)[:, None]
    q, image = start / scale, image / scale
    before, beta = np.zeros_like(start), np.zeros(PROBES)
    recurrence = _Pivots(limit, rounding)
    bounds: list[float] = []
    for step in range(STEPS):
        if step > 0:
            image = project((yield project(q)))
        alpha = np.einsum("ij,ij->i", q, image)
        left = image - alpha[:, None] * q - beta[:, None] * before
        beta = np.linalg.norm(left, axis=1)
        if not recurrence.add(alpha, beta):
            return False
        bounds.append(float(np.sum((lengths * recurrence.first()) ** 2)))
        if bounds[-1] <= needed:
            return True
        if step + 1 == EARLY_STEPS and _is_hopeless(bounds, needed):
            return None
        before, q = q, left / np.where(beta > 0.0, beta, 1.0)[:, None]
    return None


def _is_hopeless(bounds: list[float], needed: float) -> bool:
    """Whether twice the decrease of the bounds so far would leave them too large at the last step."""
    half = len(bounds) // 2
    decrease = (np.log(bounds[half - 1]) - np.log(bounds[-1])) / (len(bounds) - half)
    return bool(np.log(bounds[-1]) - 2.0 * decrease * (STEPS - len(bounds)) > np.log(needed))


class _Pivots:
    """The pivots of the recurrence at the limit, for several starts."""

    def __init__(self, limit: float, rounding: float) -> None:
        self.limit, self.rounding = limit, rounding
        self.betas: list[Floats] = []
        self.pivots: list[Floats] = []
        self.errors: list[Floats] = []

    def add(self, alpha: Floats, beta: Floats) -> bool:
        """Add a row; return whether all pivots are positive."""
        pivot, error = self.limit - alpha, np.full(len(alpha), self.rounding)
        if self.pivots:
            ratio = self.betas[-1] / self.pivots[-1]
            pivot, error = pivot - self.betas[-1] * ratio, error + ratio * self.errors[-1]
        self.betas.append(beta)
        self.pivots.append(pivot)
        self.errors.append(error)
        return bool(np.all(pivot > 0.0))

    def first(self) -> Floats:
        """The bound on |w_1|, by substitution from the last row, where |w| <= 1."""
        w = np.ones(len(self.betas[0]))
        for beta, pivot, error in zip(self.betas[::-1], self.pivots[::-1], self.errors[::-1], strict=True):
            w = np.minimum((beta * w + error) / pivot, 1.0)
        return w


def _inner(A: Floats, B: Floats) -> Floats:
    """A B', by the threads of the compiled core."""
    return np.ascontiguousarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _orthonormal(vectors: Floats) -> Floats:
    with one_blas_thread:
        return np.ascontiguousarray(la.qr(vectors.T, mode="economic", check_finite=False)[0].T)
