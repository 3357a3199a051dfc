"""Kind exact for the best subset of columns: its sum of squares by another formula, and a search of the judge's own.

The rows are folded into a triangular factor, not into products: least squares on the returned columns by QR must leave
the sum of squares that the returned weights leave. Then the judge looks for any other columns, as many, that leave
less: by trying all of them where there are few, else by a search on inverses (`core/include/tenfold/subset_proof.hpp`),
which is a proof when it is complete. The number is the larger difference, as a share of the target's sum of squares.
"""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, lstsq

from tenfold import _core
from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.least_squares import residual
from tenfold.losses import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats import Columns, Params, RFactor

TRIED = 1000
"""Up to so many subsets are tried one by one."""

TRIED_SATURATED = 100_000
"""The same where all columns together leave nothing."""

SECONDS = 60.0
"""How long the judge searches for a better subset."""

RIDGE = 1e-13
"""So much of its square is added to every column, so that those that depend on others have an inverse."""


def best_subset(
    rows: Rows,
    params: Params,
    columns: Columns,
    intercept: bool,
    size: int | None,
    *,
    status: str = "solved",
    dtype: Any = np.float64,
) -> tuple[Certificate, Floats]:
    """Judge weights that are zero but for the best `size` columns (as many as are not zero, where it is not given); the
    certificate, and the gradient (t, p) of half the sum of squares.
    """
    taken = params.coef != 0.0
    problem = Glm(Square(), L2(np.zeros(len(taken))), intercept)
    verdict = residual(problem, rows, params, columns, status=status, dtype=dtype, free=taken)
    if not np.isfinite(verdict.certificate.value):
        return _refused(status), verdict.gradient
    factor = _factor(rows, columns, intercept)
    p = columns.features
    lengths, target_lengths = columns.lengths(origin=True)
    eps = max(float(np.finfo(np.float64).eps), unit_roundoff(dtype))
    parts, floors, bounds, notes = [], [], [], []
    for t, inside in enumerate(taken):
        k = int(inside.sum()) if size is None else size
        yy = float(factor[:, p + t] @ factor[:, p + t])
        unit = yy if yy > 0.0 else 1.0
        own = _left(factor[:, :p], factor[:, p + t], np.flatnonzero(inside))
        reading = target_lengths[t] + float(np.abs(params.coef[t]) @ lengths)
        floors.append(2.0 * (4.0 + np.sqrt(p)) * eps * reading / np.sqrt(unit) + 32.0 * RIDGE)
        slack = 0.5 * RULES["exact"].tol * unit
        smallest, complete = _smallest(factor[:, :p], factor[:, p + t], k, own - slack)
        first = abs(float(verdict.residual_squares[t]) - own) / unit
        second = max(own - smallest - slack, 0.0) / unit if complete else 1.0
        # as many columns as asked for are always at least as good as fewer
        parts.append(max(first, second))
        bounds.append(min(smallest, own) if complete else _left(factor[:, :p], factor[:, p + t], np.arange(p)))
        if not complete:
            notes.append("The search of the judge was cut short: nothing is proved.")
        elif second > RULES["exact"].tol:
            notes.append(f"Other columns, as many, leave less by {second:.2g} of the target's sum of squares.")
    floor = max(floors)
    numbers = np.maximum(np.array(parts), floor)
    certificate = Certificate(
        kind="exact",
        value=float(np.max(numbers)),
        scale=1.0,
        tol=RULES["exact"].tol,
        floor=floor,
        objective=float(np.sum(verdict.residual_squares)) / (2.0 * columns.weight),
        lower_bound=max(float(np.sum(bounds)), 0.0) / (2.0 * columns.weight),
        status=status,
        parts=tuple(map(float, numbers)),
        note=" ".join(dict.fromkeys(notes)),
    )
    return certificate, verdict.gradient


def _refused(status: str) -> Certificate:
    note = "The weights are not finite."
    return Certificate("exact", np.inf, 1.0, RULES["exact"].tol, 0.0, np.inf, status=status, note=note)


def _factor(rows: Rows, columns: Columns, intercept: bool) -> Floats:
    """The triangular factor of columns of about unit length and of the targets."""
    p = columns.features
    lengths, target_lengths = columns.lengths(origin=not intercept)
    shift = columns.mean if intercept else np.zeros_like(columns.mean)
    if intercept:
        # a constant column is nothing but the rounding of its mean
        least = 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * np.abs(columns.mean[:p])
        lengths = np.where(lengths > least, lengths, 0.0)
    exponents = np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1]
    scale = np.where(lengths > 0.0, np.ldexp(1.0, -exponents), 0.0)
    return rows.fold(RFactor.lifter(shift, np.concatenate([scale, np.ones(len(target_lengths))]))).R


def _left(X: Floats, y: Floats, some: NDArray[np.intp]) -> float:
    """What least squares on some columns leaves, by a pivoted QR."""
    if not some.size:
        return float(y @ y)
    with one_blas_thread:
        w = lstsq(X[:, some], y, lapack_driver="gelsy", check_finite=False)[0]
    r = y - X[:, some] @ w
    return float(r @ r)


def _smallest(X: Floats, y: Floats, size: int, bound: float) -> tuple[float, bool]:
    """The smallest sum of squares below `bound` that `size` columns leave, or the bound; and whether all were tried."""
    some = np.flatnonzero(np.einsum("ij,ij->j", X, X) > 0.0)
    size = min(size, some.size)
    # where all columns together leave nothing, their inverse is mostly rounding, and more are worth trying
    saturated = _left(X, y, some) <= 1e-9 * float(y @ y)
    if comb(some.size, size) <= (TRIED_SATURATED if saturated else TRIED):
        return min([bound, *(_left(X, y, some[list(chosen)]) for chosen in combinations(range(some.size), size))]), True
    A = X[:, some]
    extended = np.vstack([A, np.diag(np.sqrt(RIDGE * np.einsum("ij,ij->j", A, A)))])
    joint = np.column_stack([extended, np.append(y, np.zeros(some.size))])
    with one_blas_thread:
        R = np.triu(lapack.dgeqrf(np.asfortranarray(joint))[0][: some.size + 1])
    rest = float(R[-1, -1] ** 2) if len(R) > some.size else 0.0
    upper, z = np.ascontiguousarray(R[: some.size, :-1]), np.ascontiguousarray(R[: some.size, -1])
    smallest, _, complete = _core.prove_subset(upper, z, rest, size, bound, SECONDS)
    return smallest, complete
