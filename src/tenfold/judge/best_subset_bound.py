"""Kind exact for the best subset of columns: its sum of squares by another formula, and a search of the judge's own.

The rows are folded into a triangular factor, not into products: least squares on the returned columns by QR must leave
the sum of squares that the returned weights leave. Then the judge looks for any other columns, as many, that leave
less: by trying all of them where there are few, else by a search on inverses, which is a proof when it is complete
(`core/include/tenfold/best_subset_verify.hpp`). The number is the larger difference, as a share of the target's sum of
squares.
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
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.rfactor import RFactor

TRIED = 1000
"""Up to so many subsets are tried one by one."""

TRIED_SATURATED = 100_000
"""The same where all columns together leave nothing."""

NODES = 20_000_000
"""How many sets of columns the judge looks at in search of a better one: about a minute. Counted, so that a verdict
does not depend on the load of the machine.
"""

DEPENDENT = 1e-12
"""Columns of which so little is left beside others depend on them: nothing is fitted to their rounding."""

SUMS = 1e-6
"""By which part sums of squares of all sizes may differ from those that are computed again."""

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
    about = columns.lengths(origin=not intercept)[0]
    eps = float(np.finfo(np.float64).eps)
    parts, floors, bounds, notes = [], [], [], []
    for t, inside in enumerate(taken):
        k = int(inside.sum()) if size is None else size
        yy = float(factor[:, p + t] @ factor[:, p + t])
        unit = yy if yy > 0.0 else 1.0
        own = _left(factor[:, :p], factor[:, p + t], np.flatnonzero(inside))
        w = np.abs(params.coef[t])
        # of sums over the samples as they are, and of weights in dtype times features about their means
        rounding = eps * (target_lengths[t] + w @ lengths) + unit_roundoff(dtype) * (w @ about)
        floors.append(2.0 * (4.0 + np.sqrt(p)) * float(rounding) / np.sqrt(unit) + 32.0 * RIDGE)
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


def check_sizes(
    rows: Rows,
    columns: Columns,
    intercept: bool,
    target: int,
    inside: NDArray[np.bool_],
    squares: Floats,
    *,
    prove: bool,
) -> str:
    """Why columns (sizes, p) are not the best of each size from 0 on, or do not leave these sums of squares; "" where
    they are. Without `prove` only the sums are judged.
    """
    factor, p = _factor(rows, columns, intercept), columns.features
    X, y = factor[:, :p], factor[:, p + target]
    yy = float(y @ y)
    slack = 0.5 * RULES["exact"].tol * (yy if yy > 0.0 else 1.0)
    lost = float(np.finfo(np.float64).eps) * float(columns.lengths(origin=True)[1][target]) ** 2
    if inside.shape != (len(squares), p):
        return "subsets_ and rss_path_ do not belong together."
    for size, (chosen, left) in enumerate(zip(inside, squares, strict=True)):
        if int(chosen.sum()) != size:
            return f"subsets_[{size}] does not have {size} columns."
        own = _left(X, y, np.flatnonzero(chosen))
        if not abs(float(left) - own) <= SUMS * own + 2.0 * slack + 16.0 * (4.0 + np.sqrt(p)) * lost:
            return f"rss_path_[{size}] is not the sum of squares that these columns leave."
        if prove:
            smallest, complete = _smallest(X, y, size, own - slack)
            if not complete:
                return f"Whether other {size} columns are better was not judged within the budget."
            if smallest < own - slack:
                return f"subsets_[{size}] are not the best {size} columns."
    return ""


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
        w = lstsq(X[:, some], y, cond=DEPENDENT, lapack_driver="gelsy", check_finite=False)[0]
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
    smallest, _, complete = _core.verify_subset(upper, z, rest, size, bound, NODES)
    return smallest, complete
