"""Components judged: that they are eigenvectors, and that none with a larger value was left out.

The first is the residual ||S v - l v|| of every component, from two products of the rows, and how far the components
are from orthonormal. The second needs a proof that the rest of S has no value above the smallest kept one, l_k:

trace       The values left over sum to trace S - sum l. If that is at most l_k, none of them is larger.
inertia     mu I - (S - V'LV) has a Cholesky factor, with mu just above l_k, if and only if all that is left is below
            mu. An S that the plan formed is first compared with the rows, by products with random vectors; of few
            columns one is formed here.
chance      Else what is left is multiplied by random vectors: a larger value shows, and then the components are
            refused, or is excluded but for a chance that the note states; see deflated.py. Where neither was reached,
            the note says that it is not proved.

Wide sparse rows, A = W^(1/2) (X - 1 m') with fewer rows than columns, are met by vectors with one entry a row: outside
orthonormal components V, S has the values of A (I - V'V) A' = A A' - (A V')(A V')'.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.deflated import CHANCE, Proof, finish, proof
from tenfold.machine import one_blas_thread
from tenfold.stats import ByColumns, Columns, Moments, Params, Scattered, back_times, scattered, times

PROBES, FORMED, TOGETHER = 4, 512, 1 << 14

PROBABLE = (
    f"That no component with a larger variance was left out holds with probability 1 - {CHANCE:.0e}: random vectors of "
    "the judge's own would else have shown it."
)
NOT_PROVED = "That no component with a larger variance was left out is not proved."
FROM_PARTS = "Judged from the moments of the parts: their rows are gone."
LEFT_OUT = "A direction outside the components has a larger variance than the smallest of them."


def spectral(
    rows: Rows | None,
    *,
    mean: Floats,
    components: Floats,
    values: Floats,
    about_mean: bool = True,
    leading: bool = True,
    scatter: Floats | None = None,
    beside: Floats | None = None,
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """The certificate of components (k, p) with the values (k,) of the scatter: by the rows, or by a scatter of theirs
    where they are gone (None). `beside` are vectors that may come next: (m, p), of wide sparse rows (m, n).
    """
    tol = RULES["spectral"].tol if tol is None else tol
    said = _Said(components, values, leading, tol, 16.0 * unit_roundoff(dtype), beside)
    if rows is not None:
        witness = _Witness.of_rows(rows, mean, said, about_mean, scatter)
    else:
        witness = _Witness.of_scatter(scatter, mean, said)
    top, floor = said.top, said.floor(witness.total)
    residual = slant = 0.0
    if len(components):
        residual = float(np.max(witness.residuals)) / top
        slant = _slant(components)
    away = witness.away(mean)
    value, note = max(residual, slant, away, floor), witness.note
    if leading and len(components) < witness.rank:
        # what is refused anyway need not be proved
        verdict = _leading(witness, said) if value <= max(tol, floor) else NOT_PROVED
        note = " ".join(filter(None, (note, verdict)))
        value = np.inf if verdict is LEFT_OUT else value
    return Certificate(
        "spectral",
        value,
        1.0,
        tol,
        floor,
        -float(np.sum(values)),
        lower_bound=-witness.total,
        status=status,
        parts=(residual, slant, away),
        note=note,
    )


@dataclass(frozen=True)
class _Said:
    """What is said of the components, and how exactly it is to hold: relative to the largest value."""

    components: Floats
    values: Floats
    leading: bool
    tol: float
    rounded: float  # what the type of the components leaves
    beside: Floats | None

    @property
    def top(self) -> float:
        return max(float(self.values[0]) if self.values.size else 0.0, np.finfo(np.float64).tiny)

    def floor(self, total: float) -> float:
        return max(64.0 * unit_roundoff(np.float64) * max(1.0, total / self.top), self.rounded)

    def limit(self, total: float) -> float:
        """No value outside the components is to be above this."""
        return (float(self.values[-1]) if self.values.size else 0.0) + max(self.tol, self.floor(total)) * self.top

    def residuals(self, images: Floats, columns: slice = slice(None)) -> Floats:
        """The lengths of S v - l v, from the products with S; or their parts in some columns."""
        left = images - self.values[:, None] * self.components[:, columns]
        return np.sqrt(np.einsum("kp,kp->k", left, left))

    def by_trace(self, total: float) -> bool:
        return total - float(np.sum(self.values)) <= self.limit(total)

    def proof(self, total: float, rank: int, size: int) -> Proof | None:
        """By chance, begun; None where it is not asked for, or known from the trace."""
        if not self.leading or len(self.components) >= rank or self.by_trace(total):
            return None
        # drawn when the components are fixed, and otherwise for others; the same for the same
        random = np.random.default_rng(np.frombuffer(self.values.tobytes(), dtype=np.uint32))
        return proof(size, self.limit(total), 64.0 * unit_roundoff(np.float64) * total, random, self.beside)


@dataclass(frozen=True)
class _Rest:
    """What is left of the scatter outside the components: its products with vectors, a proof about it that has begun,
    and the products with what that asked for first.
    """

    apply: Callable[[Floats], Floats]
    proof: Proof
    first: Floats

    def is_below(self) -> bool | None:
        return finish(self.proof, self.apply, self.first)


@dataclass(frozen=True)
class _Witness:
    """Mean, the lengths of the columns about it, their scale and the largest rank; how far the products with the
    components are from their values times them, (k,); the scatter where there is one that agrees with the products,
    else what is left of it.
    """

    mean: Floats
    lengths: Floats
    root: float
    rank: int
    residuals: Floats
    scatter: Floats | None
    rest: _Rest | None = None
    note: str = ""

    @classmethod
    def of_rows(cls, rows: Rows, mean: Floats, said: _Said, about_mean: bool, scatter: Floats | None) -> "_Witness":
        components = said.components
        k, p = len(components), rows.shape[1]
        origin = np.zeros(p)
        if scatter is not None:
            probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, p))
            vectors = np.vstack([components, probes])
            found: Scattered = rows.fold(scattered(mean if about_mean else origin, vectors))
            step, images = found.about_mean(vectors) if about_mean else (origin, found.products)
            if _agree(images[k:], probes, scatter):
                place, lengths = (mean + step if about_mean else origin), np.sqrt(np.maximum(np.diag(scatter), 0.0))
                residuals = said.residuals(images[:k])
                return cls(place, lengths, np.sqrt(found.weight), min(rows.shape), residuals, scatter)
        # no scatter, or one that is not that of these rows
        own: Moments | None = rows.fold(Moments.lift) if p <= FORMED else None
        columns: Columns = rows.fold(Columns.lift) if own is None else Columns.of(own)
        place = columns.mean[:p] if about_mean else origin
        scatter = None if own is None else _scatter_of(own, about_mean)
        lengths, root = columns.lengths(origin=not about_mean)[0], np.sqrt(columns.weight or 1.0)
        asked = said if scatter is None else replace(said, leading=False)
        residuals, rest = _products(rows, place, asked, float(np.sum(lengths**2)), about_mean)
        return cls(place, lengths, root, min(rows.shape), residuals, scatter, rest)

    @classmethod
    def of_scatter(cls, S: Floats | None, mean: Floats, said: _Said) -> "_Witness":
        assert S is not None
        residuals = said.residuals(_inner(said.components, S))
        return cls(mean, np.sqrt(np.diag(S)), 1.0, len(S), residuals, S, note=FROM_PARTS)

    @property
    def total(self) -> float:
        return float(np.sum(self.lengths**2))

    def away(self, mean: Floats) -> float:
        """How far a stored mean is, in units of the columns."""
        size = np.maximum(self.lengths, np.abs(self.mean) * self.root)
        step = np.abs(mean - self.mean) * self.root
        return float(np.max(step / np.where(size > 0.0, size, 1.0), initial=0.0))


def _inner(A: Floats, B: Floats) -> Floats:
    """A B', by our threads and no others."""
    return np.ascontiguousarray(times(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _slant(V: Floats) -> float:
    """How far vectors are from orthonormal: some columns at a time, for they may be long."""
    products = -np.eye(len(V))
    with one_blas_thread:
        for begin in range(0, V.shape[1], TOGETHER):
            some = V[:, begin : begin + TOGETHER].T
            products += blas.dgemm(1.0, some, some, trans_a=1)
    return float(np.max(np.abs(products)))


def _scatter_of(moments: Moments, about_mean: bool) -> Floats:
    e = moments.exponent[: moments.features]
    return np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)


def _agree(products: Floats, probes: Floats, S: Floats) -> bool:
    """Whether a matrix has the products of the rows with random vectors."""
    rounding = 1e-9 * float(np.max(np.diag(S), initial=0.0)) * len(S)
    return bool(np.max(np.abs(products - _inner(probes, S))) <= rounding)


def _products(rows: Rows, place: Floats, said: _Said, total: float, about_mean: bool) -> tuple[Floats, _Rest | None]:
    """The residuals of the components, and what is left of the scatter: what the proof first asks for is multiplied in
    the same pass as they are.
    """
    V, k = said.components, len(said.components)
    wide = ByColumns.of(rows, place if about_mean else None)
    begun = said.proof(total, min(rows.shape), rows.shape[0 if wide is not None else 1])
    if wide is not None:
        scores = wide.scores(V)

        def other_side(u: Floats) -> Floats:
            return wide.products(u) - back_times(scores, _inner(scores, u))

        parts = [said.residuals(part.back(scores), columns) for columns, part in wide.parts()]
        rest = None if begun is None else _Rest(other_side, begun, other_side(next(begun)))
        return np.linalg.norm(parts, axis=0), rest

    def products(v: Floats) -> Floats:
        return rows.fold(scattered(place, v)).products

    def project(v: Floats) -> Floats:
        return v - back_times(V, _inner(V, v)) if k else v

    if begun is None:
        return said.residuals(products(V)), None
    images = products(np.vstack([V, project(next(begun))]))
    return said.residuals(images[:k]), _Rest(lambda v: project(products(project(v))), begun, project(images[k:]))


def _leading(witness: _Witness, said: _Said) -> str:
    """What is known of the values of the rest: nothing to say where none exceeds the limit."""
    if said.by_trace(witness.total):
        return ""
    if witness.scatter is not None:
        S, components = witness.scatter, said.components
        rest = said.limit(witness.total) * np.eye(len(S)) - S
        if len(components):
            rest += back_times(components, np.ascontiguousarray(components * said.values[:, None]))
        with one_blas_thread:
            return "" if lapack.dpotrf(rest.T, lower=1, overwrite_a=1)[1] == 0 else LEFT_OUT
    assert witness.rest is not None
    return {True: PROBABLE, None: NOT_PROVED, False: LEFT_OUT}[witness.rest.is_below()]
