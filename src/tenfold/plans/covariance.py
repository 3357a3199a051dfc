"""Covariances from the moments of one pass: empirical, shrunk by a given amount, and by Ledoit-Wolf's and the oracle
approximating amount; their inverses.

    C = (1 - a) S + a m I,   m = trace(S) / p,   S the covariance about the mean, or about the origin

Ledoit and Wolf (2004) take for a the squared error of S, estimated by fourth powers of a second pass, relative to the
squared distance of S from m I; Chen et al. (2010) a formula of trace(S), trace(S^2) and the number of samples alone.
"""

from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, wide
from tenfold.data import NotFinite, Rows
from tenfold.judge import covariance as judge
from tenfold.judge.certificate import Certificate
from tenfold.linear_algebra import cholesky, condition_of_factor, eigh, invert_positive
from tenfold.stats.class_totals import as_one_class, fourth_powers
from tenfold.stats.moments import Moments


class Scatter(NamedTuple):
    """The centre (p,), the covariance (p, p) about it, and the sum of the weights."""

    centre: Floats
    covariance: Floats
    weight: float


class FittedCovariance(NamedTuple):
    """The fitted arrays in the precision of storage, in float64; the amount of shrinkage, None without; the
    certificate.
    """

    location: Floats
    covariance: Floats
    precision: Floats | None
    amount: float | None
    certificate: Certificate


def fold_scatter(rows: Rows, centred: bool) -> Scatter:
    """The covariance about the mean in one pass, or about the origin where samples count as `centred`."""
    return of_moments(rows.fold(Moments.lift), centred)


def of_moments(moments: Moments, centred: bool) -> Scatter:
    """The same from moments."""
    S = (moments.from_origin() if centred else moments).covariance()
    if not (np.isfinite(S).all() and np.isfinite(moments.offset).all()):
        raise NotFinite
    return Scatter(np.zeros(len(S)) if centred else moments.mean, S, moments.weight)


def shrink(S: Floats, amount: float) -> Floats:
    """(1 - amount) S + amount (trace S / p) I, of one matrix or of several (..., p, p)."""
    p = S.shape[-1]
    moved = (1.0 - amount) * S
    mean = np.trace(S, axis1=-2, axis2=-1) / p
    moved[..., range(p), range(p)] += amount * mean[..., None]
    return moved


def ledoit_wolf_amount(rows: Rows, scatter: Scatter) -> float:
    """Ledoit-Wolf's amount, by one more pass; zero for one feature."""
    S, p = scatter.covariance, len(scatter.covariance)
    if p == 1:
        return 0.0
    unit = np.sqrt(max(float(np.trace(S)) / p, np.finfo(np.float64).tiny))  # fourth powers of it could overflow
    powers = as_one_class(rows).fold(fourth_powers(scatter.centre[None, :], np.full((1, p), 1.0 / unit)))
    C = S / unit**2
    square, mean = float(np.sum(C * C)), float(np.trace(C)) / p
    fourth = float(powers.sum[0]) / scatter.weight
    # of two samples about their mean the difference is zero but for rounding
    noise = (fourth - square) / (p * scatter.weight) if fourth - square > 8.0 * EPS * fourth else 0.0
    spread = (square - 2.0 * mean * float(np.trace(C)) + p * mean**2) / p
    return 0.0 if min(noise, spread) <= 0.0 else min(noise, spread) / spread


def oas_amount(S: Floats, weight: float) -> float:
    """The oracle approximating amount of `weight` samples; zero for one feature."""
    p = len(S)
    if p == 1:
        return 0.0
    unit = float(np.trace(S)) / p
    if not unit > 0.0:
        return 1.0
    square = float(np.mean((S / unit) ** 2))
    rest = (weight + 1.0) * (square - 1.0 / p)
    return 1.0 if rest <= 0.0 else min((square + 1.0) / rest, 1.0)


def invert(S: Floats) -> Floats:
    """The inverse of a covariance; where it is singular in its precision, the pseudo-inverse, in which eigenvalues up
    to p units in the last place of the largest count as zero.
    """
    p = len(S)
    L = cholesky(S)
    if L is not None and condition_of_factor(np.tril(L), float(np.abs(S).sum(axis=0).max())) * 10.0 * p * EPS < 1.0:
        return invert_positive(L)
    values, vectors = eigh(S)
    kept = values > p * EPS * max(float(values[-1]), 0.0)
    V = vectors[:, kept]
    return np.asarray((V / values[kept]) @ V.T)


def fit_covariance(
    rows: Rows, *, kind: str, amount: float | None, centred: bool, store_precision: bool, dtype: Any
) -> FittedCovariance:
    """Fit a covariance of a `kind`: "empirical", "shrunk" by `amount`, "ledoit_wolf" or "oas"."""
    scatter = fold_scatter(rows, centred)
    if kind == "ledoit_wolf":
        amount = ledoit_wolf_amount(rows, scatter)
    elif kind == "oas":
        amount = oas_amount(scatter.covariance, scatter.weight)
    C = scatter.covariance if amount is None else shrink(scatter.covariance, amount)
    precision = invert(C) if store_precision else None

    def convert(part: Floats) -> Floats:
        return part if part.dtype == dtype else wide(part.astype(dtype))

    location, C = convert(scatter.centre), convert(C)
    precision = None if precision is None else convert(precision)
    certificate = judge.covariance(
        rows,
        judge.Stored(location, C, precision, None if kind == "shrunk" else amount),
        kind=kind,
        amount=amount,
        centred=centred,
        scatter=scatter.covariance,
        dtype=dtype,
    )
    return FittedCovariance(location, C, precision, amount, certificate)


def log_likelihood(S: Floats, precision: Floats) -> float:
    """The mean log-likelihood of samples of covariance S in the Gaussian model with this precision; -inf where that is
    not positive definite.
    """
    p = len(precision)
    L = cholesky(np.ascontiguousarray(precision))
    if L is None:
        sign, size = np.linalg.slogdet(precision)
        size = float(size) if sign > 0.0 else -np.inf
    else:
        size = 2.0 * float(np.sum(np.log(np.diag(L))))
    return 0.5 * (-float(np.sum(S * precision)) + size - p * float(np.log(2.0 * np.pi)))
