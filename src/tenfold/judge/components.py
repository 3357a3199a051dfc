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
from typing import Any

import numpy as np
from scipy import linalg as la
from scipy.linalg import lapack

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.machine import one_blas_thread
from tenfold.stats import Columns, Moments, scatter_products

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
    witness = _Witness.of_rows(rows, about_mean, scatter) if rows is not None else _Witness.of_scatter(scatter, mean)
    top = max(float(values[0]) if values.size else 0.0, np.finfo(np.float64).tiny)
    tol = RULES["spectral"].tol if tol is None else tol
    floor = max(64.0 * unit_roundoff(np.float64) * max(1.0, witness.total / top), 16.0 * unit_roundoff(dtype))
    residual = slant = 0.0
    if len(components):
        left = witness.products(components) - values[:, None] * components
        residual = float(np.max(np.linalg.norm(left, axis=1))) / top
        slant = float(np.max(np.abs(components @ components.T - np.eye(len(components)))))
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
    """Mean, the lengths of the columns about it, their scale, the largest rank, products with vectors, and the scatter
    where there is one that agrees with the products.
    """

    mean: Floats
    lengths: Floats
    root: float
    rank: int
    products: Callable[[Floats], Floats]
    scatter: Floats | None
    note: str = ""

    @classmethod
    def of_rows(cls, rows: Rows, about_mean: bool, scatter: Floats | None) -> "_Witness":
        columns: Columns = rows.fold(Columns.lift)
        p = columns.features
        mean = columns.mean[:p] if about_mean else np.zeros(p)

        def products(v: Floats) -> Floats:
            return rows.fold(scatter_products(mean, np.ascontiguousarray(v))).sum

        if scatter is None or not _agree(products, scatter):  # or it is not that of these rows
            scatter = _own_scatter(rows, about_mean) if p <= FORMED else None
        lengths = columns.lengths(origin=not about_mean)[0]
        return cls(mean, lengths, np.sqrt(columns.weight or 1.0), min(rows.shape), products, scatter)

    @classmethod
    def of_scatter(cls, S: Floats | None, mean: Floats) -> "_Witness":
        assert S is not None
        return cls(mean, np.sqrt(np.diag(S)), 1.0, len(S), lambda v: v @ S, S, FROM_PARTS)

    @property
    def total(self) -> float:
        return float(np.sum(self.lengths**2))

    def away(self, mean: Floats) -> float:
        """How far a stored mean is, in units of the columns."""
        size = np.maximum(self.lengths, np.abs(self.mean) * self.root)
        step = np.abs(mean - self.mean) * self.root
        return float(np.max(step / np.where(size > 0.0, size, 1.0), initial=0.0))


def _own_scatter(rows: Rows, about_mean: bool) -> Floats:
    moments: Moments = rows.fold(Moments.lift)
    e = moments.exponent[: moments.features]
    return np.ldexp(moments.about(not about_mean)[0], e[:, None] + e)


def _agree(products: Callable[[Floats], Floats], S: Floats) -> bool:
    """Whether a matrix has the products of the rows with random vectors."""
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, len(S)))
    rounding = 1e-9 * float(np.max(np.diag(S), initial=0.0)) * len(S)
    return bool(np.max(np.abs(products(probes) - probes @ S)) <= rounding)


def _leading(witness: _Witness, components: Floats, values: Floats, slack: float) -> bool | None:
    """Whether no value of the rest exceeds the smallest kept one by more than `slack`; None where nobody knows."""
    least = float(values[-1]) if values.size else 0.0
    if witness.total - float(np.sum(values)) <= least + slack:
        return True
    if witness.scatter is not None:
        S = witness.scatter
        with one_blas_thread:
            rest = (least + slack) * np.eye(len(S)) - S + (components.T * values) @ components
            return bool(lapack.dpotrf(rest, lower=1, overwrite_a=1)[1] == 0)
    return None if not _search(witness, components, least + slack) else False


def _search(witness: _Witness, components: Floats, limit: float) -> bool:
    """Whether some direction outside the components was found whose value exceeds `limit`."""
    count = min(PROBES, len(witness.mean) - len(components))
    found = np.random.default_rng(1).standard_normal((count, len(witness.mean)))
    for _ in range(LOOKS + 1):
        for _ in range(2):
            found = found - (found @ components.T) @ components
            found = np.asarray(la.qr(found.T, mode="economic", check_finite=False)[0].T, dtype=np.float64)
        images = witness.products(found)
        inside = found @ images.T
        if float(la.eigvalsh(0.5 * (inside + inside.T))[-1]) > limit:
            return True
        found = images
    return False
