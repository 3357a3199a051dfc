"""Kind dual residual: ridge in the feature space of a kernel, from the dual coefficients, the samples and the targets.

The problem is  min_f 1/2 sum_i s_i (y_i - f(x_i))^2 + alpha/2 ||f||^2  over functions f = sum_i c_i k(., x_i), with
c_i = 0 where s_i = 0. What the coefficients leave of their system is, in units of the weighted targets,

    rho = sqrt(s) (y - K c) - alpha c / sqrt(s),

so c is exact for the targets y - rho / sqrt(s), and the number is ||rho|| / ||sqrt(s) y||, for each target. With A the
map from functions to sqrt(s) f(x_i), the error g = f - f* solves (A'A + alpha) g = -A' rho. Hence the objective is at
most ||rho||^2 / 2 above its minimum, ||g|| <= ||rho|| / (2 sqrt(alpha)), and |g(x)| <= sqrt(k(x, x)) ||g||, where K is
positive semidefinite. Without a penalty and with a singular K, rho need not vanish but A' rho must: the number is then
||K rho|| / (||K|| ||sqrt(s) y||), K weighted, for a rho that K maps to nothing.

K is evaluated again in float64, tile by tile, and is never in memory as a whole.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import (
    EPS,
    Array,
    Floats,
    is_array_api,
    like,
    numpy_dtype,
    on_host,
    take_rows,
    unit_roundoff,
    wide,
)
from tenfold.judge.certificate import RULES, Certificate
from tenfold.kernels import Definiteness, Kernel, Precomputed
from tenfold.kernels.diagnostics import definiteness
from tenfold.kernels.evaluation import take_columns
from tenfold.machine import poll

KIND = "dual residual"

LARGEST_FLOOR = 1e-4  # of the weighted targets: what rounding hides beyond this is counted as an error

NULL = 1e-8  # ||K rho|| / (||K|| ||rho||) up to which K maps rho to nothing

IMPRECISE = (
    "The dual coefficients are so large that rounding alone moves the fit by more than a ten-thousandth of the "
    "targets: increase alpha, or the distance between equal samples."
)
SINGULAR = (
    "The kernel matrix is singular and nothing is penalised: the number is the residual of least squares, and the "
    "targets are not interpolated."
)
UNKNOWN_SIGN = "The kernel matrix was not shown to be positive semidefinite, so nothing is said of the best function."
WEIGHTLESS = "Samples of weight zero have dual coefficients that are not zero."
NOT_FINITE = "The dual coefficients are not finite."


@dataclass(frozen=True)
class DecidedByKernel:
    """Whether the error that is left can change the sign of predictions f(x) = sum_i c_i k(x, x_i), by target."""

    kernel: Kernel
    samples: Any  # (n, p)
    coef: Floats  # (n, t)
    radius: Floats  # (t,), of the error in the norm of the kernel

    def __call__(self, X: Any) -> Any:
        coef = like(self.coef, X) if is_array_api(X) else self.coef
        samples = self.samples
        if is_array_api(samples) != is_array_api(X):
            samples = like(samples, X) if is_array_api(X) else on_host(samples)
        z = wide(self.kernel.multiply(X, samples, coef))
        reach = np.sqrt(np.maximum(wide(self.kernel.diag(X)), 0.0))
        sizes = np.sqrt(np.maximum(wide(self.kernel.diag(samples)), 0.0)) @ np.abs(self.coef)
        rounding = len(self.coef) * EPS * sizes
        sure = np.abs(z) > reach[:, None] * (self.radius + rounding)
        return sure[:, 0] if sure.shape[1] == 1 else sure


def examine_kernel(kernel: Kernel, X: Array) -> Definiteness | None:
    """Whether the kernel matrix of samples X is positive semidefinite; None where its class is known to be."""
    return None if kernel.certainly_psd else definiteness(kernel(X))


def kernel_ridge(
    kernel: Kernel,
    X: Array,
    Y: Array,
    weight: Array | None,
    alpha: Floats,
    coef: Array,
    *,
    psd: bool,
    status: str = "solved",
    condition: float | None = None,
) -> Certificate:
    """Judge dual coefficients (n, t) of targets Y (n, t), with a penalty alpha (t,) each.

    psd: whether the kernel matrix is known to be positive semidefinite.
    """
    return _Judge(kernel, X, Y, weight, alpha, coef).certificate(psd, status, condition)


class _Judge:
    """The samples of positive weight, and what is computed from them."""

    def __init__(self, kernel: Kernel, X: Array, Y: Array, weight: Array | None, alpha: Floats, coef: Array) -> None:
        self.kernel, self.alpha = kernel, np.asarray(alpha, dtype=np.float64)
        self.roundoff = unit_roundoff(numpy_dtype(coef.dtype))
        self.coef, targets = wide(coef), wide(Y)
        self.weightless = False
        s = np.ones(len(targets)) if weight is None else wide(weight)
        if not s.all():
            inside = np.flatnonzero(s > 0.0)
            self.weightless = bool(np.any(self.coef[s == 0.0] != 0.0))
            X = take_rows(X, inside)
            X = take_columns(X, inside) if isinstance(kernel, Precomputed) else X
            self.coef, targets, s = self.coef[inside], targets[inside], s[inside]
        self.X, self.root = X, np.sqrt(s)[:, None]
        self.targets = self.root * targets

    def product(self, V: Floats) -> Floats:
        """K V for V (n, m)."""
        poll()
        return wide(self.kernel.multiply(self.X, None, like(np.ascontiguousarray(V), self.X)))

    def certificate(self, psd: bool, status: str, condition: float | None) -> Certificate:
        if not np.isfinite(self.coef).all():
            return _fail(NOT_FINITE, status)
        if self.weightless:
            return _fail(WEIGHTLESS, status)
        root, n = self.root, len(self.coef)
        probe = np.random.default_rng(0).standard_normal((n, 1))
        products = self.product(np.column_stack([self.coef, root * probe]))
        fits = products[:, :-1]
        if not np.isfinite(products).all():
            return _fail(NOT_FINITE, status)
        rho = self.targets - root * fits - self.alpha * self.coef / root
        left, scale = np.linalg.norm(rho, axis=0), np.linalg.norm(self.targets, axis=0)
        z = self.coef / root  # the coefficients of the weighted matrix
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = np.nan_to_num(8.0 * self.roundoff * np.linalg.norm(z, axis=0) / scale, nan=0.0)
            size = self._norm(np.column_stack([z, probe]), root * products, RULES[KIND].tol / np.max(unit))
            floor = size * unit
            number = np.where(left > 0.0, left / scale, 0.0)
        number, singular = self._without_penalty(rho, number, floor, size, scale)
        parts = np.maximum(number, floor)
        allowed = np.maximum(RULES[KIND].tol, np.minimum(floor, LARGEST_FLOOR))
        worst = int(np.argmax(parts / allowed))
        notes = [SINGULAR] if singular else []
        notes += [IMPRECISE] if floor[worst] > LARGEST_FLOOR else []
        notes += [] if psd else [UNKNOWN_SIGN]
        proved = psd and not isinstance(self.kernel, Precomputed)
        noise = self._rounding_of_fits()
        most = left + np.linalg.norm(root * noise, axis=0)
        residual = np.linalg.norm(self.targets - root * fits, axis=0)
        penalty = self.alpha * np.sum(self.coef * fits, axis=0)
        objective = 0.5 * float(np.sum(residual**2 + penalty))
        # what the rounding of the fits moves the objective by
        moved = (most - left) * (residual + 0.5 * (most - left)) + 0.5 * self.alpha * np.sum(abs(self.coef) * noise, 0)
        moved += EPS * len(self.coef) * (residual**2 + abs(penalty))
        radius = 0.5 * most / np.sqrt(self.alpha) if (self.alpha > 0.0).all() else None
        return Certificate(
            kind=KIND,
            value=float(parts[worst]),
            scale=1.0,
            tol=RULES[KIND].tol,
            floor=float(min(floor[worst], LARGEST_FLOOR)),
            objective=objective,
            lower_bound=objective - float(0.5 * most @ most + np.sum(moved)) if psd else None,
            radius=float(np.max(radius)) if radius is not None and psd else None,
            condition=condition,
            status=status,
            parts=tuple(float(part) for part in parts),
            note=" ".join(notes),
            _decide=DecidedByKernel(self.kernel, self.X, self.coef, radius) if radius is not None and proved else None,
        )

    def _rounding_of_fits(self) -> Floats:
        """A bound on the rounding of K c, (n, t): |K_ij| <= sqrt(K_ii K_jj), each with the errors of its evaluation."""
        reach = np.sqrt(self._diagonal())
        steps = len(self.coef) + 4 * self.X.shape[1] + 16
        return steps * EPS * reach[:, None] * (reach @ np.abs(self.coef))

    def _diagonal(self) -> Floats:
        if isinstance(self.kernel, Precomputed):
            return np.maximum(np.diagonal(wide(self.X)), 0.0)
        return np.maximum(wide(self.kernel.diag(self.X)), 0.0)

    def _norm(self, V: Floats, products: Floats, matters: float) -> float:
        """A lower bound of the spectral norm of the weighted K, from its products with V; by one more product where a
        norm of `matters` may be reached.
        """
        lengths = np.linalg.norm(V, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.nan_to_num(np.linalg.norm(products, axis=0) / lengths)
        best = int(np.argmax(ratios))
        if not ratios[best] * len(V) >= 0.01 * matters:
            return float(ratios[best])
        start = products[:, [best]] / np.linalg.norm(products[:, best])
        return max(float(ratios[best]), float(np.linalg.norm(self.root * self.product(self.root * start))))

    def _without_penalty(
        self, rho: Floats, number: Floats, floor: Floats, size: float, scale: Floats
    ) -> tuple[Floats, bool]:
        """The numbers, of targets without a penalty whose residual is in the null space of K those of least squares."""
        free = (self.alpha == 0.0) & (number > np.maximum(RULES[KIND].tol, np.minimum(floor, LARGEST_FLOOR)))
        if not free.any() or not size > 0.0:
            return number, False
        mapped = np.linalg.norm(self.root * self.product(self.root * rho[:, free]), axis=0)
        null = mapped <= NULL * size * np.linalg.norm(rho[:, free], axis=0)
        number = number.copy()
        number[free] = np.where(null, mapped / (size * scale[free]), number[free])
        return number, bool(null.any())


def _fail(note: str, status: str) -> Certificate:
    return Certificate(KIND, np.inf, 1.0, RULES[KIND].tol, 0.0, np.inf, status=status, note=note)
