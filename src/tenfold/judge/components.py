"""Components judged: that they are eigenvectors, and that none with a larger value was left out.

The first is the residual ||S v - l v|| of every component, from two products of the rows, and how far the components
are from orthonormal. The second needs a proof that the rest of S has no value above the smallest kept one, l_k:

trace       The values left over sum to trace S - sum l. If that is at most l_k, none of them is larger.
inertia     mu I - (S - V'LV) has a Cholesky factor, with mu just above l_k, if and only if all that is left is below
            mu. An S that the plan formed is first compared with the rows, by products with random vectors; of few
            columns one is formed here.
search      Else some random vectors, kept orthogonal to the components, are multiplied by S: a larger value mostly
            shows, and then the components are refused. If none shows, the note says that it is not proved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.machine import one_blas_thread
from tenfold.stats import Columns, Moments, Params, Scattered, back_times, scattered, times

PROBES, LOOKS, FORMED = 4, 2, 512

NOT_PROVED = "That no component with a larger variance was left out is not proved: several looks for one found none."
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
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """The certificate of components (k, p) with the values (k,) of the scatter: by the rows, or by a scatter of theirs
    where they are gone (None).
    """
    if rows is not None:
        witness = _Witness.of_rows(rows, mean, components, about_mean, scatter)
    else:
        witness = _Witness.of_scatter(scatter, mean, components)
    top = max(float(values[0]) if values.size else 0.0, np.finfo(np.float64).tiny)
    tol = RULES["spectral"].tol if tol is None else tol
    floor = max(64.0 * unit_roundoff(np.float64) * max(1.0, witness.total / top), 16.0 * unit_roundoff(dtype))
    residual = slant = 0.0
    if len(components):
        left = witness.images - values[:, None] * components
        residual = float(np.max(np.linalg.norm(left, axis=1))) / top
        slant = float(np.max(np.abs(_inner(components, components) - np.eye(len(components)))))
    away = witness.away(mean)
    value, note = max(residual, slant, away, floor), witness.note
    if leading and len(components) < witness.rank:
        verdict = _leading(witness, components, values, max(tol, floor) * top)
        note = " ".join(filter(None, (note, {True: "", None: NOT_PROVED, False: LEFT_OUT}[verdict])))
        value = np.inf if verdict is False else value
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
class _Witness:
    """Mean, the lengths of the columns about it, their scale and the largest rank; products with vectors, those with
    the components (k, p), and with directions outside them (m, p) where these will be needed; and the scatter where
    there is one that agrees with the products.
    """

    mean: Floats
    lengths: Floats
    root: float
    rank: int
    products: Callable[[Floats], Floats]
    images: Floats
    scatter: Floats | None
    outside: tuple[Floats, Floats] | None = None
    note: str = ""

    @classmethod
    def of_rows(
        cls, rows: Rows, mean: Floats, components: Floats, about_mean: bool, scatter: Floats | None
    ) -> "_Witness":
        k, p = len(components), rows.shape[1]
        origin = np.zeros(p)

        def products(place: Floats, v: Floats) -> Floats:
            return rows.fold(scattered(place, v)).products

        if scatter is not None:
            probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, p))
            vectors = np.vstack([components, probes])
            found: Scattered = rows.fold(scattered(mean if about_mean else origin, vectors))
            step, images = found.about_mean(vectors) if about_mean else (origin, found.products)
            if _agree(images[k:], probes, scatter):
                place, lengths = (mean + step if about_mean else origin), np.sqrt(np.maximum(np.diag(scatter), 0.0))
                root, rank = np.sqrt(found.weight), min(rows.shape)
                return cls(place, lengths, root, rank, partial(products, place), images[:k], scatter)
        # no scatter, or one that is not that of these rows
        own: Moments | None = rows.fold(Moments.lift) if p <= FORMED else None
        columns: Columns = rows.fold(Columns.lift) if own is None else Columns.of(own)
        place = columns.mean[:p] if about_mean else origin
        outside = _outside(np.random.default_rng(1).standard_normal((min(PROBES, p - k), p)), components)
        images = products(place, np.vstack([components, outside]))
        return cls(
            place,
            columns.lengths(origin=not about_mean)[0],
            np.sqrt(columns.weight or 1.0),
            min(rows.shape),
            partial(products, place),
            images[:k],
            None if own is None else _scatter_of(own, about_mean),
            (outside, images[k:]),
        )

    @classmethod
    def of_scatter(cls, S: Floats | None, mean: Floats, components: Floats) -> "_Witness":
        assert S is not None

        def products(v: Floats) -> Floats:
            return _inner(v, S)

        return cls(mean, np.sqrt(np.diag(S)), 1.0, len(S), products, products(components), S, note=FROM_PARTS)

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
    return np.asarray(times(np.ascontiguousarray(A), Params(np.ascontiguousarray(B), np.zeros(len(B)))))


def _scatter_of(moments: Moments, about_mean: bool) -> Floats:
    e = moments.exponent[: moments.features]
    return np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)


def _agree(products: Floats, probes: Floats, S: Floats) -> bool:
    """Whether a matrix has the products of the rows with random vectors."""
    rounding = 1e-9 * float(np.max(np.diag(S), initial=0.0)) * len(S)
    return bool(np.max(np.abs(products - _inner(probes, S))) <= rounding)


def _leading(witness: _Witness, components: Floats, values: Floats, slack: float) -> bool | None:
    """Whether no value of the rest exceeds the smallest kept one by more than `slack`; None where nobody knows."""
    least = float(values[-1]) if values.size else 0.0
    if witness.total - float(np.sum(values)) <= least + slack:
        return True
    if witness.scatter is not None:
        S = witness.scatter
        rest = (least + slack) * np.eye(len(S)) - S
        if len(components):
            rest += back_times(components, np.ascontiguousarray(components * values[:, None]))
        with one_blas_thread:
            return bool(lapack.dpotrf(rest.T, lower=1, overwrite_a=1)[1] == 0)
    assert witness.outside is not None
    return None if not _search(witness, components, least + slack) else False


def _outside(vectors: Floats, components: Floats) -> Floats:
    """Orthonormal vectors outside the components."""
    for _ in range(2):
        if len(components):
            vectors = vectors - back_times(components, np.ascontiguousarray(_inner(components, vectors)))
        vectors = np.ascontiguousarray(la.qr(vectors.T, mode="economic", check_finite=False)[0].T, dtype=np.float64)
    return vectors


def _search(witness: _Witness, components: Floats, limit: float) -> bool:
    """Whether some direction outside the components was found whose value exceeds `limit`."""
    assert witness.outside is not None
    found, images = witness.outside
    for look in range(LOOKS + 1):
        inside = _inner(found, images)
        if float(la.eigvalsh(0.5 * (inside + inside.T))[-1]) > limit:
            return True
        if look < LOOKS:
            found = _outside(images, components)
            images = witness.products(found)
    return False
