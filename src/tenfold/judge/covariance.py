"""Kind exact: covariances, their shrinkage and their inverses, by other formulas than those of the plan.

location    the mean of the samples, by sums of the columns; zero where samples count as centred
covariance  products with vectors of random signs, against those of the rows: the p x p matrix is not formed
amount      Ledoit-Wolf's by the distance |S - m I|^2 and by fourth powers; the oracle approximating one by eigenvalues.
            Both need S, which the plan hands over, or which is folded here: it must have the products of the rows, too
precision   in the axes Q of the eigenvectors of the stored covariance, with values l, and in units of
            (l_i l_j)^(-1/2): the identity where l counts as positive, zero elsewhere. A rounding u of the matrix moves
            an entry by u l_1 / (l_i l_j)^(1/2), and one of its inverse by u (l_i l_j)^(1/2) / l_p: that much is allowed

Eigenvalues up to p units in the last place of the largest count as zero; the note says how many are left.
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff, wide
from tenfold.data import Rows
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.discriminant import probes
from tenfold.judge.recompute import Pair, exact
from tenfold.linear_algebra import eigenvalues, eigh, product
from tenfold.stats.class_totals import as_one_class, fourth_powers
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments
from tenfold.stats.scatter import scatter_about

TOL = RULES["exact"].tol


class Stored(NamedTuple):
    """Fitted arrays in float64: location (p,), covariance and its inverse (p, p), None where it is not stored; the
    amount of shrinkage, None where it is not.
    """

    location: Floats
    covariance: Floats
    precision: Floats | None
    amount: float | None


class Centred(NamedTuple):
    """Weight, mean, variances about the centre (p,), and standard deviations, of constant features one."""

    weight: float
    mean: Floats
    variance: Floats
    unit: Floats


def covariance(
    rows: Rows,
    stored: Stored,
    *,
    kind: str,
    amount: float | None,
    centred: bool,
    scatter: Floats | None = None,
    dtype: Any = np.float64,
    location_dtype: Any = None,
) -> Certificate:
    """The certificate of a covariance of a kind ("empirical", "shrunk" by `amount`, "ledoit_wolf", "oas"); `scatter` is
    an untrusted copy of the empirical covariance.
    """
    u, p = unit_roundoff(dtype), len(stored.location)
    coarse = u if location_dtype is None else max(u, unit_roundoff(location_dtype))
    if any(part.shape != (p, p) for part in (stored.covariance, stored.precision) if part is not None):
        return exact({"the shapes": (np.full(1, np.inf), np.zeros(1), 1.0)}, floor=EPS)
    columns = columns_about(rows, centred)
    vectors = probes(columns.variance[None])[0]
    centre = np.zeros(p) if centred else columns.mean
    images = np.asarray(rows.fold(scatter_about(centre, vectors)).products) / columns.weight
    pairs: dict[str, Pair] = {"the location": location_pair(stored.location, columns, centred, coarse)}
    if kind in ("ledoit_wolf", "oas"):
        S = wide(scatter) if scatter is not None else _fold_scatter(rows, centred)
        pairs["the scatter"] = (product(vectors, S), images, _image_size(columns, 0.0))
        amount, slack = _amount(kind, rows, S, centre, columns)
        pairs["the amount of shrinkage"] = (np.array([stored.amount]), np.array([amount]), slack)
        amount = stored.amount  # which may be off by the rounding of a difference
    share = 0.0 if amount is None else float(amount)
    mean = float(np.sum(columns.variance)) / p
    expected = (1.0 - share) * images + share * mean * vectors
    pairs["the covariance"] = (product(vectors, stored.covariance), expected, _image_size(columns, share * mean))
    note = ""
    if stored.precision is not None:
        pairs["the precision"], rank = precision_pair(stored.covariance, stored.precision, u)
        if rank < p:
            note = (
                f"The covariance is singular: rank {rank} of {p}. The precision is its pseudo-inverse, in which "
                f"eigenvalues below {p * 2.0 * u:.1e} of the largest count as zero."
            )
    return exact(pairs, floor=max(1e-12, 16.0 * u * np.sqrt(p)), note=note)


def columns_about(rows: Rows, centred: bool) -> Centred:
    """Means and variances of the features about their means, or about zero."""
    columns: Columns = rows.fold(Columns.lift)
    p, weight = columns.features, columns.weight
    mean, variance = columns.mean[:p], columns.spread[:p] ** 2 / weight
    if centred:
        variance = variance + mean**2
    return Centred(weight, mean, variance, np.sqrt(np.where(variance > 0.0, variance, 1.0)))


def location_pair(location: Floats, columns: Centred, centred: bool, u: float) -> Pair:
    """The stored location against the mean, or against zero."""
    if centred:
        return location, np.zeros(len(location)), columns.unit
    # the rounding of a mean far from zero counts in its own units
    rounding = 16.0 * u * (np.abs(columns.mean) + columns.unit)
    return location, columns.mean, np.maximum(columns.unit, rounding / TOL)


def _image_size(columns: Centred, added: float) -> Floats:
    """The size of products of a covariance with the probes, row by row."""
    deviation = np.sqrt(columns.variance)
    typical = float(np.sqrt(np.mean(columns.variance))) or 1.0
    size = deviation * np.sqrt(len(deviation)) + added / columns.unit
    return np.where(size > 0.0, size, typical)


def _fold_scatter(rows: Rows, centred: bool) -> Floats:
    moments: Moments = rows.fold(Moments.lift)
    return (moments.from_origin() if centred else moments).covariance()


def _amount(kind: str, rows: Rows, S: Floats, centre: Floats, columns: Centred) -> tuple[float, float]:
    """The amount of shrinkage, and the size of an error of it that rounding may cause."""
    p, weight = len(S), columns.weight
    if p == 1:
        return 0.0, 1.0
    mean = float(np.sum(columns.variance)) / p
    if not mean > 0.0:
        return (0.0 if kind == "ledoit_wolf" else 1.0), 1.0
    C = S / mean
    if kind == "oas":
        squares = float(np.sum(eigenvalues(C) ** 2)) / p**2
        distance = squares - 1.0 / p
        if distance <= 64.0 * EPS * squares:  # a multiple of the identity, but for rounding
            return 1.0, 1.0
        return min((squares + 1.0) / ((weight + 1.0) * distance), 1.0), max(1.0, 64.0 * EPS / TOL * squares / distance)
    sphere = float(np.sum((C - np.eye(p)) ** 2))
    powers = as_one_class(rows).fold(fourth_powers(centre[None, :], np.full((1, p), mean**-0.5)))
    noise = (float(powers.sum[0]) / weight - float(np.sum(C * C))) / weight
    square = float(np.sum(C * C))
    # what is subtracted from each other may be much larger than the difference
    slack = max(1.0, 64.0 * EPS / TOL * square / max(sphere, EPS * square))
    return (0.0 if min(noise, sphere) <= 0.0 else min(noise, sphere) / sphere), slack


def precision_pair(C: Floats, P: Floats, u: float) -> tuple[Pair, int]:
    """A precision against the inverse of a covariance, in the axes of the latter; and the rank of this."""
    p = len(C)
    if not (np.isfinite(C).all() and np.isfinite(P).all()):
        return (np.full(1, np.inf), np.zeros(1), 1.0), p
    values, Q = eigh(0.5 * (C + C.T))
    top = max(float(values[-1]), 0.0)
    kept = values > p * 2.0 * u * top
    rank = int(kept.sum())
    least = float(values[kept][0]) if rank else 1.0
    root = np.sqrt(np.where(kept, values, least))
    axes = Q * root
    seen = product(np.ascontiguousarray(axes.T), product(P, axes))
    outer = np.outer(root, root)
    slack = 16.0 * u * np.sqrt(p) * (max(top, least) / outer + outer / least)
    size = np.maximum(1.0, slack / TOL)
    return (seen, np.diag(kept.astype(np.float64)), size), rank
