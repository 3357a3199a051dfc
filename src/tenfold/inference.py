"""Classical inference for unpenalised least squares: standard errors, t statistics, p values, confidence intervals.

With k = p + 1 coefficients (the intercept counts), residual variance s^2 = sum weight r^2 / (n - k) and covariance
s^2 (Z' diag(weight) Z)^-1 of Z = [1 X]. Valid for independent errors of equal variance (times 1 / weight); never for
penalised weights.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.special import stdtr, stdtrit

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats import Moments


@dataclass(frozen=True)
class Inference:
    """Inference for one target. The intercept, if any, comes first.

    Attributes
    ----------
    names : a name for each coefficient.
    coefficients, standard_errors, statistics, p_values : arrays of length k.
    covariance : (k, k) covariance of the coefficients.
    sigma2 : estimated residual variance.
    degrees_of_freedom : n - k.
    r_squared, r_squared_adjusted : share of the (weighted) variance explained.
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    sigma2: float
    degrees_of_freedom: int
    count: int
    r_squared: float
    r_squared_adjusted: float

    @property
    def standard_errors(self) -> Floats:
        """Roots of the diagonal of the covariance."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def statistics(self) -> Floats:
        """Coefficients over their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> Floats:
        """Two-sided p values of the hypothesis that a coefficient is zero, from Student's t."""
        return np.asarray(2.0 * stdtr(self.degrees_of_freedom, -np.abs(self.statistics)))

    def confidence_interval(self, level: float = 0.95) -> Floats:
        """Intervals (k, 2) that cover the true coefficients with probability `level`."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        width = float(stdtrit(self.degrees_of_freedom, 0.5 + level / 2)) * self.standard_errors
        return np.column_stack([self.coefficients - width, self.coefficients + width])

    def __str__(self) -> str:
        interval = self.confidence_interval()
        wide = max(11, *(len(name) for name in self.names))
        head = f"{'':{wide}} {'coefficient':>13} {'std. error':>12} {'t':>9} {'p':>8} {'[0.025':>12} {'0.975]':>12}"
        lines = [
            f"Least squares: {self.count} rows, {len(self.names)} coefficients, {self.degrees_of_freedom} degrees "
            "of freedom",
            f"R2 {self.r_squared:.4f}, adjusted {self.r_squared_adjusted:.4f}, residual standard deviation "
            f"{np.sqrt(self.sigma2):.6g}",
            head,
            "-" * len(head),
        ]
        rows = zip(
            self.names, self.coefficients, self.standard_errors, self.statistics, self.p_values, interval, strict=True
        )
        for name, b, error, t, p, (low, high) in rows:
            lines.append(f"{name:{wide}} {b:13.6g} {error:12.5g} {t:9.3f} {p:8.3g} {low:12.5g} {high:12.5g}")
        return "\n".join(lines)


def inverse_gram(moments: Moments, origin: bool) -> Floats:
    """(X' diag(weight) X)^-1 about the means or the origin, in the units of the data, by Cholesky of the equilibrated
    matrix.
    """
    S = moments.about(origin)[0]
    half = np.frexp(np.sqrt(np.diag(S)))[1]
    with one_blas_thread:
        L, info = lapack.dpotrf(np.asfortranarray(np.ldexp(S, -(half[:, None] + half))), lower=1)
        if info == 0:
            inverse, info = lapack.dpotri(L, lower=1)
    if info != 0:
        raise ValueError(
            "The columns are collinear: their coefficients, and so their standard errors, are not determined."
        )
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    q = half + moments.exponent[: moments.features]
    with np.errstate(over="ignore"):
        return np.ldexp(inverse, -(q[:, None] + q))


def least_squares_inference(
    moments: Moments,
    inverse: Floats,
    target: int,
    rss: float,
    coef: Floats,
    intercept: float | None,
    names: tuple[str, ...],
) -> Inference:
    """Inference for one target from the moments, the inverse Gram matrix, the sum of squared residuals that was read
    from the rows, and the fit.
    """
    p = moments.features
    k = p + (intercept is not None)
    free = moments.count - k
    if free <= 0:
        raise ValueError(
            f"{moments.count} rows do not leave a degree of freedom for {k} coefficients: standard errors need "
            "more rows."
        )
    sigma2 = rss / free
    if intercept is None:
        covariance, coefficients = sigma2 * inverse, coef
    else:
        mean = moments.mean
        cross = -inverse @ mean
        corner = 1.0 / moments.weight + mean @ inverse @ mean
        covariance = sigma2 * np.block([[np.atleast_2d(corner), cross[None]], [cross[:, None], inverse]])
        coefficients = np.append(intercept, coef)
        names = ("intercept", *names)
    total = float(np.ldexp(moments.about(origin=intercept is None)[2][target], 2 * moments.exponent[p + target]))
    r_squared = 1.0 - rss / total if total > 0 else np.nan
    adjusted = 1.0 - (1.0 - r_squared) * (moments.count - (intercept is not None)) / free
    return Inference(names, coefficients, covariance, sigma2, free, moments.count, r_squared, adjusted)
