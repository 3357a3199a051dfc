"""Kind exact for the best subset: its sum of squares by another formula, and an independent search.

The samples are folded into a triangular factor, not into products: least squares on the returned features by QR must
leave the sum of squares of the returned weights. Then the judge searches for other features, as many, that leave less:
among all where these are few, else by a search on inverses, which is a proof when it is complete
(`core/include/tenfold/best_subset_verify.hpp`). The number is the larger difference, relative to the sum of squares of
the target.
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
from tenfold.judge.objective_points import storage_roundoff
from tenfold.losses.regression import Square
from tenfold.machine import one_blas_thread
from tenfold.penalties import L2
from tenfold.problems import Glm
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params
from tenfold.stats.rfactor import RFactor

ENUMERATED_SUBSETS = 1000  # subsets up to which all are enumerated

ENUMERATED_SUBSETS_SATURATED = 100_000  # the same where all features together fit exactly

MAX_NODES = 20_000_000  # of the search tree: about a minute; counted, so that verdicts do not depend on load

DEPENDENT = 1e-12  # relative norm outside other features below which a feature depends on them

SUMS_RTOL = 1e-6  # relative error of stored sums of squares

RIDGE = 1e-13  # relative, added to each square so that dependent features have an inverse


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
    """Judge weights that are zero but for the best `size` features (the number of nonzero ones, where None); the
    certificate, and the gradient (t, p) of half the sum of squares.
    """
    taken = params.coef != 0.0
    problem = Glm(Square(), L2(np.zeros(len(taken))), intercept)
    verdict = residual(problem, rows, params, columns, status=status, dtype=dtype, free=taken)
    if not np.isfinite(verdict.certificate.value):
        return _reject(status), verdict.gradient
    factor = _factor(rows, columns, intercept)
    p = columns.features
    lengths, target_lengths = columns.lengths(origin=True)
    centred_lengths = columns.lengths(origin=not intercept)[0]
    eps = float(np.finfo(np.float64).eps)
    parts, floors, bounds, notes = [], [], [], []
    for t, inside in enumerate(taken):
        k = int(inside.sum()) if size is None else size
        yy = float(factor[:, p + t] @ factor[:, p + t])
        unit = yy if yy > 0.0 else 1.0
        rss = _rss(factor[:, :p], factor[:, p + t], np.flatnonzero(inside))
        w = np.abs(params.coef[t])
        # of sums over uncentred samples, and of weights in dtype times centred features
        rounding = eps * (target_lengths[t] + w @ lengths) + unit_roundoff(dtype) * (w @ centred_lengths)
        # an error of the intercept is orthogonal to the residual of best weights: only its square adds to the sum
        b = params.intercept[t]
        offset = storage_roundoff(b, dtype) * np.abs(b) * np.sqrt(columns.weight)
        relative = 2.0 * (4.0 + np.sqrt(p)) * rounding / np.sqrt(unit) + 2.0 * offset**2 / unit
        floors.append(float(relative) + 32.0 * RIDGE)
        slack = 0.5 * RULES["exact"].tol * unit
        smallest, complete = _smallest(factor[:, :p], factor[:, p + t], k, rss - slack)
        first = abs(float(verdict.residual_squares[t]) - rss) / unit
        second = max(rss - smallest - slack, 0.0) / unit if complete else 1.0
        # more features are never worse, so exactly `size` are compared
        parts.append(max(first, second))
        bounds.append(min(smallest, rss) if complete else _rss(factor[:, :p], factor[:, p + t], np.arange(p)))
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
    """Why features (sizes, p) are not the best of each size from 0 on, or do not leave these sums of squares; "" where
    they are. Without `prove` only the sums are judged.
    """
    factor, p = _factor(rows, columns, intercept), columns.features
    X, y = factor[:, :p], factor[:, p + target]
    yy = float(y @ y)
    slack = 0.5 * RULES["exact"].tol * (yy if yy > 0.0 else 1.0)
    lost = float(np.finfo(np.float64).eps) * float(columns.lengths(origin=True)[1][target]) ** 2
    if inside.shape != (len(squares), p):
        return "subsets_ and rss_path_ do not belong together."
    for size, (members, left) in enumerate(zip(inside, squares, strict=True)):
        if int(members.sum()) != size:
            return f"subsets_[{size}] does not have {size} columns."
        rss = _rss(X, y, np.flatnonzero(members))
        if not abs(float(left) - rss) <= SUMS_RTOL * rss + 2.0 * slack + 16.0 * (4.0 + np.sqrt(p)) * lost:
            return f"rss_path_[{size}] is not the sum of squares that these columns leave."
        if prove:
            smallest, complete = _smallest(X, y, size, rss - slack)
            if not complete:
                return f"Whether other {size} columns are better was not judged within the budget."
            if smallest < rss - slack:
                return f"subsets_[{size}] are not the best {size} columns."
    return ""


def _reject(status: str) -> Certificate:
    note = "The weights are not finite."
    return Certificate("exact", np.inf, 1.0, RULES["exact"].tol, 0.0, np.inf, status=status, note=note)


def _factor(rows: Rows, columns: Columns, intercept: bool) -> Floats:
    """The triangular factor of features scaled to norms of about one, and of the targets."""
    p = columns.features
    lengths, target_lengths = columns.lengths(origin=not intercept)
    shift = columns.mean if intercept else np.zeros_like(columns.mean)
    if intercept:
        # about its mean a constant feature is rounding
        least = 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * np.abs(columns.mean[:p])
        lengths = np.where(lengths > least, lengths, 0.0)
    exponents = np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1]
    scale = np.where(lengths > 0.0, np.ldexp(1.0, -exponents), 0.0)
    return rows.fold(RFactor.lifter(shift, np.concatenate([scale, np.ones(len(target_lengths))]))).R


def _rss(X: Floats, y: Floats, support: NDArray[np.intp]) -> float:
    """The residual sum of squares on some features, by a pivoted QR."""
    if not support.size:
        return float(y @ y)
    with one_blas_thread:
        w = lstsq(X[:, support], y, cond=DEPENDENT, lapack_driver="gelsy", check_finite=False)[0]
    r = y - X[:, support] @ w
    return float(r @ r)


def _smallest(X: Floats, y: Floats, size: int, bound: float) -> tuple[float, bool]:
    """The smallest sum of squares below `bound` of `size` features, or the bound; and whether the search is full."""
    support = np.flatnonzero(np.einsum("ij,ij->j", X, X) > 0.0)
    size = min(size, support.size)
    # where all features together fit exactly, their inverse is mostly rounding, and trying more subsets pays
    saturated = _rss(X, y, support) <= 1e-9 * float(y @ y)
    if comb(support.size, size) <= (ENUMERATED_SUBSETS_SATURATED if saturated else ENUMERATED_SUBSETS):
        return min(
            [bound, *(_rss(X, y, support[list(members)]) for members in combinations(range(support.size), size))]
        ), True
    A = X[:, support]
    extended = np.vstack([A, np.diag(np.sqrt(RIDGE * np.einsum("ij,ij->j", A, A)))])
    stacked = np.column_stack([extended, np.append(y, np.zeros(support.size))])
    with one_blas_thread:
        R = np.triu(lapack.dgeqrf(np.asfortranarray(stacked))[0][: support.size + 1])
    rest = float(R[-1, -1] ** 2) if len(R) > support.size else 0.0
    upper, z = np.ascontiguousarray(R[: support.size, :-1]), np.ascontiguousarray(R[: support.size, -1])
    smallest, _, complete = _core.verify_subset(upper, z, rest, size, bound, MAX_NODES)
    return smallest, complete
