"""Whether the largest value of a symmetric matrix B >= 0, known by its products alone, is below a limit L.

A proof with a stated probability, after Kuczynski and Wozniakowski (1992), but from what is seen and not in advance.
Let z be the unit eigenvector of the largest value l, and g a vector of standard normal numbers drawn here. Lanczos'
recurrence from q_1 = g / |g|,

    B q_i = beta_{i-1} q_{i-1} + alpha_i q_i + beta_i q_{i+1},

gives for w_i = z'q_i that (l - alpha_i) w_i = beta_{i-1} w_{i-1} + beta_i w_{i+1}. Elimination from the first row on
has pivots d_i = l - alpha_i - beta_{i-1}^2 / d_{i-1}, and since |w_{i+1}| <= 1,

    |z'g| = |g| |w_1| <= |g| prod_i beta_i / d_i.

Pivots grow with l while all are positive: if l were above L, those at L would give a bound on |z'g| as well. But z'g is
a normal number, and the squares of `PROBES` independent ones sum to less than the quantile of chi-squared at `CHANCE`
no more often than that. So where the bounds are that small, l <= L, but with that chance: whatever the number of steps,
for it is one and the same event after any of them. A pivot that is not positive shows a value above L. Only the
recurrence and the lengths of the vectors are used, not that they are orthogonal; what rounding adds to a row of it is
carried along.

Vectors G that are believed to come next make it easier. With B = [[C, R'], [R, D]] in their space and outside it, B is
below L if and only if C is and D <= L - R (L - C)^-1 R'; that D <= L - |R|^2 / (L - max C) is enough. What is left in D
is smaller, and fewer steps show it. Nothing is believed of G: C and R are computed.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy import linalg as la
from scipy.special import gammaincinv

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats.derivatives import Params, adjoint, forward

PROBES, STEPS = 8, 40
CHANCE = 1e-9
"""That a larger value is not seen."""

EARLY = 10
"""After so many steps it is asked whether the others can be enough."""

Apply = Callable[[Floats], Floats]

Proof = Generator[Floats, Floats, bool | None]
"""Yields vectors, is sent what the matrix makes of them, and returns what was found out."""


def below(apply: Apply, size: int, limit: float, rounding: float, random: Any, beside: Floats | None) -> bool | None:
    """True (with probability 1 - CHANCE) or False; None where it was not found out. `rounding`: of products with unit
    vectors; `beside` (m, size): vectors that may come next.
    """
    begun = proof(size, lambda: limit, rounding, random, beside)
    return finish(begun, apply, apply(next(begun)))


def finish(begun: Proof, apply: Apply, images: Floats) -> bool | None:
    """Go on with a proof from what the matrix makes of the vectors that it asked for first."""
    try:
        while True:
            images = apply(begun.send(images))
    except StopIteration as end:
        found: bool | None = end.value
        return found


def proof(size: int, bound: Callable[[], float], rounding: float, random: Any, beside: Floats | None) -> Proof:
    """The proof that `below` gives, for one who has other products to take in the same pass: the limit, `bound()`, need
    not be known before these.
    """
    if beside is not None and len(beside) and beside.shape[1] == size and np.isfinite(beside).all():
        G = _orthonormal(beside)
        start = _outside(G, random.standard_normal((PROBES, size)))
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
            found = yield from _lanczos(start, _outside(G, first), lambda v: _outside(G, v), lower, rounding)
            if found is not False:  # a larger value of D is not yet one of B
                return found
    start = random.standard_normal((PROBES, size))
    images = yield start
    limit = bound()
    return (yield from _lanczos(start, images, lambda v: v, limit, rounding))


def _outside(G: Floats, v: Floats) -> Floats:
    """What orthonormal vectors leave of others."""
    return v - adjoint(G, _inner(G, v))


def _lanczos(start: Floats, image: Floats, project: Apply, limit: float, rounding: float) -> Proof:
    """From random vectors and what the matrix makes of them; `project` keeps out of a space that is left out."""
    lengths = np.linalg.norm(start, axis=1)
    needed = 2.0 * float(gammaincinv(0.5 * PROBES, CHANCE))
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
        if step + 1 == EARLY and _hopeless(bounds, needed):
            return None
        before, q = q, left / np.where(beta > 0.0, beta, 1.0)[:, None]
    return None


def _hopeless(bounds: list[float], needed: float) -> bool:
    """Whether the fall of the bounds so far, were it to double, would leave them too large at the last step."""
    half = len(bounds) // 2
    fall = (np.log(bounds[half - 1]) - np.log(bounds[-1])) / (len(bounds) - half)
    return bool(np.log(bounds[-1]) - 2.0 * fall * (STEPS - len(bounds)) > np.log(needed))


class _Pivots:
    """The rows of the recurrence at the limit, for several starts side by side."""

    def __init__(self, limit: float, rounding: float) -> None:
        self.limit, self.rounding = limit, rounding
        self.betas: list[Floats] = []
        self.pivots: list[Floats] = []
        self.errors: list[Floats] = []

    def add(self, alpha: Floats, beta: Floats) -> bool:
        """A row; whether all pivots are positive."""
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
    """A B', by our threads and no others."""
    return np.ascontiguousarray(forward(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _orthonormal(vectors: Floats) -> Floats:
    with one_blas_thread:
        return np.ascontiguousarray(la.qr(vectors.T, mode="economic", check_finite=False)[0].T)
