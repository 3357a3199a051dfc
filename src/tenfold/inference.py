"""Classical inference for unpenalised models: standard errors, test statistics, p values, confidence intervals.

Least squares, with k coefficients (the intercept counts) and n samples: residual variance s^2 = sum weight r^2 / (n -
k) and covariance s^2 (Z' diag(weight) Z)^-1 of Z = [1 X], Student's t with n - k degrees of freedom. Valid for
independent errors of equal variance (times 1 / weight).

Maximum likelihood, with u and c the slope and the curvature of the loss of a sample in its raw prediction: covariance
dispersion (sum weight c z z')^-1, c the Fisher information, where the model is right; where only its mean is, the
sandwich B M B, B = (sum weight c z z')^-1 with the observed information c and

    HC0  M = sum weight u^2 z z'                     HC1  n / (n - k) of it
    HC2  M = sum weight u^2 / (1 - h) z z'           HC3  M = sum weight u^2 / (1 - h)^2 z z',  h = c z'B z
    cluster  M = G / (G - 1) (n - 1) / (n - k) sum_g s_g s_g',  s_g the sum of weight u z over group g of G.

Of K classes u is a vector of K - 1 slopes, c the matrix C = diag(q) - q q' of their probabilities and the leverage of a
sample the matrix H = C^(1/2) G C^(1/2) of its K - 1 predictions, G_ab = z'B_ab z by the blocks of B. Its slopes become
C^(1/2) (I - H)^(-1/2) C^(-1/2) u for HC2, which makes their covariance C where the model is right, and C^(1/2) (I -
H)^-1 C^(-1/2) u for HC3, which is the Newton step that leaves out the sample; M = sum weight (u u') * (z z') by the
Kronecker product.

Normal quantiles. Sample weights of maximum likelihood are frequencies: n is the sum of the weights, and a sample of
weight two the same as the sample twice. Those of least squares are precisions, and n is the number of samples. Nothing
of this holds for penalised weights.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from tenfold.arrays import Floats
from tenfold.machine import one_blas_thread
from tenfold.stats.moments import Moments

COVARIANCES = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster")

COLLINEAR = (
    "The columns are collinear: their coefficients, and so their standard errors, are not determined. Drop columns."
)
BEYOND = "The variances of the coefficients of very small columns are beyond the range of numbers. Scale the columns."


class NoInferenceError(ValueError, AttributeError):
    """A fitted model has no classical inference; the message has the reason.

    An AttributeError as well, so that `hasattr(model, "inference_")` is False and `dir`, `inspect.getmembers` and a
    notebook's display leave the attribute out; scikit-learn's NotFittedError has the same two bases.
    """


SINGULAR = 64.0 * float(
    np.finfo(np.float64).eps
)  # pivots of a matrix of unit diagonal up to this, times p, are rounding


@dataclass(frozen=True, kw_only=True)
class Inference:
    """Inference about the coefficients of a model. An intercept, if any, comes first.

    Attributes
    ----------
    names : a name for each coefficient.
    coefficients, standard_errors, statistics, p_values : arrays of length k.
    covariance : (k, k) covariance of the coefficients.
    covariance_type : how it was estimated: "nonrobust", "HC0" to "HC3" or "cluster".
    count : the number of samples, n.
    degrees_of_freedom : n - k.
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    count: float
    degrees_of_freedom: float
    covariance_type: str = "nonrobust"
    symbol: ClassVar[str] = "t"
    """Of the statistics: t of Student's distribution, z of the normal one."""

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
        """Two-sided p values of the hypothesis that a coefficient is zero."""
        far = -np.abs(self.statistics)
        return np.asarray(2.0 * (ndtr(far) if self.symbol == "z" else stdtr(self.degrees_of_freedom, far)))

    def confidence_interval(self, level: float = 0.95) -> Floats:
        """Intervals (k, 2) that cover the true coefficients with probability `level`."""
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        probability = 0.5 + level / 2
        quantile = ndtri(probability) if self.symbol == "z" else stdtrit(self.degrees_of_freedom, probability)
        width = float(quantile) * self.standard_errors
        return np.column_stack([self.coefficients - width, self.coefficients + width])

    def _head(self) -> list[str]:
        """The lines above the table."""
        raise NotImplementedError

    def __str__(self) -> str:
        interval = self.confidence_interval()
        name_width = max(11, *(len(name) for name in self.names))
        titles = f"{'coefficient':>13} {'std. error':>12} {self.symbol:>9} {'p':>8} {'[0.025':>12} {'0.975]':>12}"
        head = f"{'':{name_width}} {titles}"
        lines = [*self._head(), head, "-" * len(head)]
        rows = zip(
            self.names, self.coefficients, self.standard_errors, self.statistics, self.p_values, interval, strict=True
        )
        for name, b, error, t, p, (low, high) in rows:
            lines.append(f"{name:{name_width}} {b:13.6g} {error:12.5g} {t:9.3f} {p:8.3g} {low:12.5g} {high:12.5g}")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class LeastSquaresInference(Inference):
    """Inference for one target of least squares, with Student's t.

    Attributes
    ----------
    sigma2 : estimated residual variance.
    r_squared, r_squared_adjusted : share of the (weighted) variance explained.
    """

    sigma2: float
    r_squared: float
    r_squared_adjusted: float

    def _head(self) -> list[str]:
        return [
            f"Least squares: {self.count} rows, {len(self.names)} coefficients, {self.degrees_of_freedom} degrees "
            "of freedom",
            f"R2 {self.r_squared:.4f}, adjusted {self.r_squared_adjusted:.4f}, residual standard deviation "
            f"{np.sqrt(self.sigma2):.6g}",
        ]


@dataclass(frozen=True, kw_only=True)
class LikelihoodInference(Inference):
    """Inference for maximum likelihood, with normal quantiles. Of several classes the coefficients are those of each
    class minus those of the first.

    Attributes
    ----------
    family : the name of the loss.
    dispersion : Pearson's statistic over n - k; one for counts and classes.
    deviance, null_deviance : twice the loss, and that of the best constant.
    deviance_explained : 1 - deviance / null_deviance, the analogue of R2; McFadden's pseudo R2 for classes.
    pearson : Pearson's statistic, the sum of (y - mean)^2 / variance at dispersion one; NaN for several classes.
    distance : the distance of the coefficients from the maximum of the likelihood, in standard errors: the Newton
        decrement.
    log_likelihood : at the estimated dispersion; NaN where the density has neither a formula nor a series.
    aic, bic : -2 log_likelihood + 2 k, or + k log n.
    groups : the number of groups of a cluster-robust covariance, else 0.
    """

    family: str
    dispersion: float
    deviance: float
    null_deviance: float
    pearson: float
    distance: float
    log_likelihood: float
    groups: int = 0
    symbol: ClassVar[str] = "z"

    @property
    def deviance_explained(self) -> float:
        """1 - deviance / null_deviance."""
        return 1.0 - self.deviance / self.null_deviance if self.null_deviance > 0.0 else np.nan

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return -2.0 * self.log_likelihood + 2.0 * len(self.names)

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return -2.0 * self.log_likelihood + float(np.log(self.count)) * len(self.names)

    def _head(self) -> list[str]:
        kind = self.covariance_type + (f" by {self.groups} groups" if self.groups else "")
        lines = [
            f"Maximum likelihood ({self.family}): {self.count:.15g} rows, {len(self.names)} coefficients, "
            f"{self.degrees_of_freedom:.15g} degrees of freedom, covariance {kind}",
            f"deviance {self.deviance:.6g}, of a constant {self.null_deviance:.6g}, explained "
            f"{self.deviance_explained:.4f}, dispersion {self.dispersion:.6g}",
        ]
        if np.isfinite(self.log_likelihood):
            lines.append(f"log-likelihood {self.log_likelihood:.6g}, AIC {self.aic:.6g}, BIC {self.bic:.6g}")
        return lines


def inverse_root(S: Floats) -> Floats | None:
    """R with R'R the inverse of a symmetric matrix, by Cholesky of the equilibrated one; None where it is singular."""
    diagonal = np.diag(S)
    if not np.all(diagonal > 0.0) or not np.isfinite(S).all():
        return None
    half = np.frexp(np.sqrt(diagonal))[1]
    with one_blas_thread:
        L, info = lapack.dpotrf(np.asfortranarray(np.ldexp(S, -(half[:, None] + half))), lower=1)
        if info != 0 or np.min(np.diag(L)) ** 2 <= SINGULAR * len(S):
            return None
        R, _ = lapack.dtrtri(L, lower=1)
    with np.errstate(over="ignore"):
        return np.ldexp(np.tril(R), -half)


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
        raise ValueError(COLLINEAR)
    inverse = inverse + inverse.T  # of a triangle whose other half is zero
    inverse.flat[:: len(inverse) + 1] *= 0.5
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
) -> LeastSquaresInference:
    """Inference for one target from the moments, the inverse Gram matrix, the residual sum of squares and the fit."""
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
        covariance = np.empty((k, k))
        covariance[0, 0], covariance[0, 1:], covariance[1:, 0], covariance[1:, 1:] = corner, cross, cross, inverse
        covariance *= sigma2
        coefficients = np.append(intercept, coef)
        names = ("intercept", *names)
    total = float(np.ldexp(moments.about(origin=intercept is None)[2][target], 2 * moments.exponent[p + target]))
    r_squared = 1.0 - rss / total if total > 0 else np.nan
    adjusted = 1.0 - (1.0 - r_squared) * (moments.count - (intercept is not None)) / free
    return LeastSquaresInference(
        names=names,
        coefficients=coefficients,
        covariance=covariance,
        count=moments.count,
        degrees_of_freedom=free,
        sigma2=sigma2,
        r_squared=r_squared,
        r_squared_adjusted=adjusted,
    )
