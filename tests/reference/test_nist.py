"""LinearRegression on the NIST reference sets: digits against scipy.linalg.lstsq, standard errors, condition."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
from nist import SETS, WAMPLER1, WAMPLER3, WAMPLER4, WAMPLER5, ReferenceSet

from tenfold import LinearRegression, certify

NOISE = 0.5
"""Digits by which two backward stable methods may differ."""

NOISY = [s for s in SETS if s.residual_sd > 0]
ALL = pytest.mark.parametrize("data", SETS, ids=lambda s: s.name)
WITH_NOISE = pytest.mark.parametrize("data", NOISY, ids=lambda s: s.name)


def digits(result, certified) -> float:
    """Log relative error: correct significant digits of the worst entry, 15 at most (NIST prints 15)."""
    result, certified = np.atleast_1d(result).astype(float), np.atleast_1d(certified).astype(float)
    error = np.max(np.abs(result - certified) / np.where(certified == 0, 1.0, np.abs(certified)))
    return 15.0 if error == 0 else min(15.0, -math.log10(error))


def weights(model) -> np.ndarray:
    return np.concatenate([[model.intercept_], model.coef_])


def _solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Solution of A w = b and the diagonal of A^-1, by Gauss and Jordan in rational numbers."""
    size = len(A)
    rows = [A[i] + [b[i]] + [Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    for i in range(size):
        pivot = rows[i][i]  # positive: A is positive definite
        rows[i] = [v / pivot for v in rows[i]]
        for k in range(size):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [v - factor * u for v, u in zip(rows[k], rows[i], strict=True)]
    return [row[size] for row in rows], [rows[i][size + 1 + i] for i in range(size)]


def _root(value: Fraction) -> float:
    with localcontext() as context:
        context.prec = 40
        return float((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


@ALL
def test_certified_values_follow_from_the_data_in_exact_arithmetic(data: ReferenceSet):
    """The normal equations in rational numbers give every certified value to 14 digits: nothing was mistyped."""
    design, y = data.exact_design(), data.exact_y()
    n, p = len(design), len(design[0])
    A = [[sum((row[i] * row[j] for row in design), Fraction(0)) for j in range(p)] for i in range(p)]
    b = [sum((row[i] * v for row, v in zip(design, y, strict=True)), Fraction(0)) for i in range(p)]
    w, inverse = _solve_exactly(A, b)
    residuals = [
        v - sum((a * c for a, c in zip(row, w, strict=True)), Fraction(0)) for row, v in zip(design, y, strict=True)
    ]
    rss = sum((r * r for r in residuals), Fraction(0))
    mean = sum(y, Fraction(0)) / n
    tss = sum(((v - mean) ** 2 for v in y), Fraction(0))
    sigma2 = rss / (n - p)
    assert digits([float(v) for v in w], data.coefficients) >= 14
    assert digits([_root(sigma2 * v) for v in inverse], data.standard_deviations) >= 14
    assert digits(_root(sigma2), data.residual_sd) >= 14
    assert digits(float(1 - rss / tss), data.r_squared) >= 14


def test_wampler_sets_differ_by_a_multiple_of_one_error_vector():
    """Wampler 3, 4 and 5 are Wampler 1 plus 1, 100 and 10 000 times the same errors."""
    errors = WAMPLER3.y - WAMPLER1.y
    np.testing.assert_array_equal(WAMPLER4.y - WAMPLER1.y, 100 * errors)
    np.testing.assert_array_equal(WAMPLER5.y - WAMPLER1.y, 10_000 * errors)


@ALL
def test_at_least_the_digits_of_lstsq(data: ReferenceSet):
    X, y = data.X, data.y
    reference = scipy.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0]
    ours = weights(LinearRegression().fit(X, y))
    assert digits(ours, data.coefficients) >= digits(reference, data.coefficients) - NOISE


@ALL
def test_at_least_the_digits_of_lstsq_with_a_constant_column(data: ReferenceSet):
    """The same with the constant as a column of the design: no centring helps here."""
    X, y = np.column_stack([np.ones(len(data.y)), data.X]), data.y
    reference = scipy.linalg.lstsq(X, y)[0]
    ours = LinearRegression(fit_intercept=False).fit(X, y).coef_
    assert digits(ours, data.coefficients) >= digits(reference, data.coefficients) - NOISE


@ALL
def test_certificate_is_ok_and_reports_the_condition(data: ReferenceSet):
    """The condition number of the centred columns at unit length, to a factor of ten, and an ok residual."""
    model = LinearRegression().fit(data.X, data.y)
    certificate = model.certificate_
    assert certificate.kind == "residual"
    assert certificate.ok
    centred = data.X - data.X.mean(axis=0)
    exact = np.linalg.cond(centred / np.linalg.norm(centred, axis=0))
    assert exact / 10 < certificate.condition < exact * 10
    assert certify(model, data.X, data.y).ok


@WITH_NOISE
def test_standard_errors(data: ReferenceSet):
    """Certified standard deviations of the estimates, as far as the conditioning allows."""
    X, y = data.X, data.y
    model = LinearRegression().fit(X, y)
    inference = model.inference_
    design = np.column_stack([np.ones(len(y)), X])
    condition = np.linalg.cond(design / np.linalg.norm(design, axis=0))
    allowed = min(13.0, -math.log10(np.finfo(float).eps * condition)) - 1.5
    assert digits(inference.standard_errors, data.standard_deviations) >= allowed
    assert digits(np.sqrt(inference.sigma2), data.residual_sd) >= min(allowed + 2, 12)
    assert inference.degrees_of_freedom == len(y) - len(data.coefficients)


@ALL
def test_r_squared(data: ReferenceSet):
    model = LinearRegression().fit(data.X, data.y)
    assert model.inference_.r_squared == pytest.approx(data.r_squared, abs=1e-10)
    assert model.score(data.X, data.y) == pytest.approx(data.r_squared, abs=1e-8)


@WITH_NOISE
def test_fitted_values_have_the_certified_residual(data: ReferenceSet):
    """Predictions are well determined even where the coefficients are not: residual standard deviation to 7 digits."""
    model = LinearRegression().fit(data.X, data.y)
    residuals = data.y - model.predict(data.X)
    n, p = len(data.y), len(data.coefficients)
    assert digits(np.sqrt(residuals @ residuals / (n - p)), data.residual_sd) >= 7
