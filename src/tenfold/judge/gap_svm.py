"""Kinds gap and stationarity: support vector machines with kernels.

With q = beta' K beta, the returned coefficients and intercept have the objective  P = q / 2 + L(f + b),  f = K beta
(`svm_machines`). Feasible coefficients near the returned ones, beta + d, bound every objective from below by

    D = G(beta + d) - 1/2 (q + 2 d'f + d'K d),    d'K d <= (sum |d_i| sqrt(K_ii))^2,

so that one product with the kernel matrix does for both. A sum of coefficients that is e off zero for rounding costs
e (|b| + R), with R the largest |f|. Where K is not positive semidefinite neither holds: the number is then the root
mean square, by the weights, of what one projected step of the dual moves a coefficient, in units of its bound.

The hard margin minimises ||w||^2 / 2 over y_i (f_i + b) >= 1. Where all margins of the returned model are above zero,
divided by the smallest they are feasible. The gap is in units of the objective.

P is strongly convex in w: the optimal f is within r sqrt(k(x, x)) of the returned one, r = sqrt(2 gap), for all x. The
minimisers over b of L(f + b) are an interval, whose ends move by at most r max_i sqrt(K_ii) as f moves to the optimal
one. So the optimal intercept is within max(b_hi - b, b - b_lo) + r max_i sqrt(K_ii) of b (`drift`).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.objective_points import LOOSE, require_finite
from tenfold.judge.svm_machines import Machine

KKT = (
    "{} No duality gap exists. The number says how far a coefficient moves in one projected step of the dual, as a "
    "fraction of its bound (root mean square); it is zero where the conditions of Karush, Kuhn and Tucker hold, which "
    "need not be the best place."
)
NO_MARGIN = (
    "The smallest margin of the returned model is {margin:.2g}: it does not separate the classes, and none has a "
    "margin above {bound:.2g} in the space of the kernel, where samples are up to {size:.2g} long: up "
    "to that the classes touch or overlap. Take a finite C."
)
VANISHES = "The returned weights are zero: no objective above zero to compare with, as where the classes overlap."


class Fit(NamedTuple):
    """Coefficients (n,) of the samples of a machine, f = K beta (n,), the diagonal of K (n,), the intercept, and a
    bound on the error of entries of K beyond the rounding of their size.
    """

    beta: Floats
    f: Floats
    diagonal: Floats
    b: float
    error: float = 0.0


class Judged(NamedTuple):
    """A certificate, and bounds: f is within radius sqrt(k(x, x)) of the optimal one, b within drift."""

    certificate: Certificate
    radius: float
    drift: float


def gap(machine: Machine, fit: Fit, *, indefinite: str = "", status: str = "judged", dtype: Any = np.float64) -> Judged:
    """Judge a machine at the returned coefficients and intercept; `indefinite`: why K is not known to be positive
    semidefinite.
    """
    kind = "stationarity" if indefinite else "gap"
    invalid = require_finite(kind, (*fit[:3], np.array([fit.b])))
    if invalid is not None:
        return Judged(invalid, np.inf, np.inf)
    u = fit.f + fit.b
    square = float(fit.beta @ fit.f)
    objective = 0.5 * square + machine.loss(u, fit.b)
    if indefinite:
        return Judged(_stationarity(machine, fit, objective, indefinite, status), np.inf, np.inf)
    near = machine.region.nearest(fit.beta)
    d = near - fit.beta
    length = np.sqrt(np.maximum(fit.diagonal, 0.0))
    bound_square = max(0.0, square + 2.0 * float(d @ fit.f) + float(np.abs(d) @ length) ** 2)
    wrong = machine.region.violation(near)
    reach = abs(fit.b) + float(np.max(np.abs(fit.f), initial=0.0))
    lower = machine.gain(near) - 0.5 * bound_square - wrong * reach if np.isfinite(wrong) else -np.inf
    scale = machine.scale(bound_square)
    floor = _rounding(machine, fit, near, length, unit_roundoff(dtype))
    value = max(objective - lower, floor) if np.isfinite(lower) else np.inf
    radius = float(np.sqrt(2.0 * (value + floor)))
    certificate = Certificate(
        "gap", value, scale, RULES["gap"].tol, floor, objective, lower, radius, status=status, parts=(value,)
    )
    if not scale > floor:
        certificate = replace(certificate, note=VANISHES)
    elif value > certificate.allowed:
        certificate = replace(certificate, note=LOOSE)
    low, high = machine.intercepts(fit.f)
    widest = float(np.max(length, initial=0.0))
    rounding = 8.0 * EPS * float(np.abs(fit.beta) @ length) * widest + fit.error * float(np.sum(np.abs(fit.beta)))
    drift = max(high - fit.b, fit.b - low, 0.0) + radius * widest + rounding
    return Judged(certificate, radius, drift)


def _rounding(machine: Machine, fit: Fit, near: Floats, length: Floats, u: float) -> float:
    """The rounding of P and D: of sums of positive terms 8 units in the last place, of f those of sum |beta_j| |K_ij|,
    and that of the stored coefficients, intercept and targets.
    """
    size = float(np.abs(fit.beta) @ length)
    slopes = machine.slopes(fit.f + fit.b)
    terms = float(slopes @ (np.abs(fit.f) + abs(fit.b) + np.abs(machine.y)))
    square = float(np.abs(fit.beta) @ np.abs(fit.f))
    sums = abs(machine.gain(np.abs(near))) + terms + square
    total = float(np.sum(np.abs(fit.beta)))
    wrong = fit.error * total * (total + float(np.sum(slopes)))
    return wrong + 8.0 * EPS * sums + (EPS + u * (u > EPS)) * (size * (size + float(slopes @ length))) + u * terms


def _stationarity(machine: Machine, fit: Fit, objective: float, indefinite: str, status: str) -> Certificate:
    step = machine.step(fit.beta, fit.f + fit.b)
    weight = machine.C / (machine.total or 1.0)
    # the sums that a projected step of single coefficients does not see
    wrong = float(np.sum(np.abs(machine.region.nearest(fit.beta) - fit.beta))) / (machine.total or 1.0)
    value = float(np.sqrt(weight @ (step * step))) + wrong
    floor = 16.0 * EPS * (1.0 + float(weight @ np.abs(fit.f + fit.b)) / machine.unit)
    tol = RULES["stationarity"].tol
    value = max(value, floor) if np.isfinite(value) else np.inf
    note = KKT.format(indefinite)
    return Certificate("stationarity", value, 1.0, tol, floor, objective, status=status, parts=(value,), note=note)


def hard_margin_gap(y: Floats, counts: Any, fit: Fit, *, status: str = "judged", dtype: Any = np.float64) -> Judged:
    """Judge the machine that allows no slack, for y (n,) of -1 and 1, and (n,) whether a sample has a weight."""
    invalid = require_finite("gap", (*fit[:3], np.array([fit.b]), np.where(fit.beta[~counts], np.inf, 0.0)))
    if invalid is not None:
        return Judged(invalid, np.inf, np.inf)
    y, fit = y[counts], Fit(fit.beta[counts], fit.f[counts], fit.diagonal[counts], fit.b, fit.error)
    length = np.sqrt(np.maximum(fit.diagonal, 0.0))
    square = float(fit.beta @ fit.f)
    # feasible coefficients: of the right sign, the sides equal
    positive, negative = np.maximum(y * fit.beta, 0.0) * (y > 0.0), np.maximum(y * fit.beta, 0.0) * (y < 0.0)
    total = min(float(np.sum(positive)), float(np.sum(negative)))
    sides = [part * (total / (float(np.sum(part)) or 1.0)) for part in (positive, negative)]
    d = sides[0] - sides[1] - fit.beta
    bound_square = max(0.0, square + 2.0 * float(d @ fit.f) + float(np.abs(d) @ length) ** 2)
    margins = y * (fit.f + fit.b)
    size = float(np.abs(fit.beta) @ length)
    u = unit_roundoff(dtype)
    off = (8.0 * EPS + u * (u > EPS)) * (size * float(np.max(length, initial=0.0)) + abs(fit.b) + 1.0)
    off += fit.error * float(np.sum(np.abs(fit.beta)))
    smallest = float(np.min(margins)) - off
    # D at t (beta + d) is 2 t total - t^2 square / 2, largest at t = 2 total / square; half the distance of the convex
    # hulls of the classes bounds every margin
    lower = 2.0 * total**2 / bound_square if bound_square > 0.0 else (np.inf if total > 0.0 else 0.0)
    bound = 0.5 * np.sqrt(bound_square) / total if total > 0.0 else np.inf
    largest = float(np.max(length, initial=0.0))
    if not smallest > 0.0:
        note = NO_MARGIN.format(margin=smallest, bound=bound, size=largest)
        proved = bound <= 1e-6 * largest
        state = "no maximum" if proved else status
        return Judged(Certificate("gap", np.inf, 1.0, 1e-6, 0.0, np.inf, status=state, note=note), np.inf, np.inf)
    objective = 0.5 * square / smallest**2
    scale = max(objective, np.finfo(np.float64).tiny)
    floor = 8.0 * EPS * objective + objective * (off / smallest) + EPS * size**2
    floor += fit.error * float(np.sum(np.abs(fit.beta))) ** 2
    value = max(objective - lower, floor)
    radius = float(np.sqrt(2.0 * (value + floor))) + abs(1.0 - 1.0 / smallest) * float(np.sqrt(max(square, 0.0)))
    certificate = Certificate(
        "gap", value, scale, RULES["gap"].tol, floor, objective, lower, radius, status=status, parts=(value,)
    )
    if value > certificate.allowed:
        certificate = replace(certificate, note=LOOSE)
    low, high = 1.0 - float(np.min(fit.f[y > 0.0])), -1.0 - float(np.max(fit.f[y < 0.0]))
    drift = max(high - fit.b, fit.b - low, 0.0) + radius * largest + off
    return Judged(certificate, radius, drift)


def worst(judged: list[Judged]) -> Certificate:
    """The worst certificate of the pairs of classes, with the numbers of all."""
    certificates = [one.certificate for one in judged]
    if len(certificates) == 1:
        return certificates[0]
    certificate = max(certificates, key=lambda one: (not one.ok, one.value / one.allowed if one.allowed else np.inf))
    return replace(certificate, parts=tuple(one.value for one in certificates))
