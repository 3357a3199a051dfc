"""The density of sums of a Poisson number of Gamma variables: exact series, integrals, and where formulas meet."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import wright_bessel

import tenfold
from tenfold.losses.tweedie_density import log_saturated

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")


def halves(m):
    """Gamma(m / 2)."""
    result = Decimal(1) if m % 2 == 0 else PI.sqrt()
    for i in range(2 if m % 2 == 0 else 1, m, 2):
        result *= Decimal(i) / 2
    return result


def slowly(y, power, phi):
    """log f(y; y) by the series in eighty digits, where gamma functions have half of a whole number for argument."""
    with localcontext() as context:
        context.prec = 80
        p, y, phi = Decimal(power.numerator) / power.denominator, Decimal(y), Decimal(phi)
        a = (2 - p) / (p - 1)
        z = (a * (y / (p - 1)).ln() - (1 + a) * phi.ln() - (2 - p).ln()).exp()
        k = float(y ** (2 - p) / (phi * (2 - p)))
        total, term = Decimal(0), Decimal(1)
        for j in range(1, int(k + 40.0 * np.sqrt(k + 1.0) + 60.0)):
            term *= z / j
            total += term / halves(round(2 * a * j))
        return float(total.ln() - y.ln() + y ** (2 - p) / (phi * (1 - p) * (2 - p)))


@pytest.mark.parametrize("power", [Fraction(4, 3), Fraction(3, 2), Fraction(5, 3)], ids=str)
@pytest.mark.parametrize("phi", ["0.05", "0.4", "7"])
def test_the_series_in_eighty_digits(power, phi):
    targets = ["0.001", "0.5", "3.7", "20"]
    ours = log_saturated(np.array([float(y) for y in targets]), float(power), float(phi))
    np.testing.assert_allclose(ours, [slowly(y, power, phi) for y in targets], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("power", [1.02, 1.2, 1.5, 1.8])
def test_all_probability_is_there(power):
    """Of a mean that is not the target, too: log f(y; mu) = log f(y; y) - deviance / (2 phi)."""
    phi, mean = 0.9, 1.7
    loss = tenfold.losses.Tweedie(power)

    def density(log_y):
        y = np.exp(np.atleast_1d(log_y))
        value = loss.value(y, np.full_like(y, np.log(mean)))
        return float((np.exp(log_saturated(y, power, phi) - value / phi) * y)[0])

    nothing = np.exp(-(mean ** (2.0 - power)) / (phi * (2.0 - power)))
    points = list(np.log(mean) + np.linspace(-3.0, 3.0, 25))
    total = quad(density, -200.0, np.log(200.0), points=points, limit=2000, epsabs=1e-12)[0]
    assert total + nothing == pytest.approx(1.0, abs=1e-7)


def test_wrights_function():
    """Where SciPy's neither overflows nor, at smaller powers, loses digits."""
    rng = np.random.default_rng(0)
    for power in rng.uniform(1.25, 1.85, 20):
        y, phi = rng.gamma(1.0, 2.0, 50), rng.uniform(0.3, 3.0)
        a = (2.0 - power) / (power - 1.0)
        z = (y / (power - 1.0)) ** a / (phi ** (1.0 + a) * (2.0 - power))
        k = y ** (2.0 - power) / (phi * (2.0 - power))
        theirs = np.log(wright_bessel(a, 0.0, z)) - np.log(y) - k / (power - 1.0)
        kept = np.isfinite(theirs)
        assert kept.mean() > 0.5
        np.testing.assert_allclose(log_saturated(y, power, phi)[kept], theirs[kept], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("power", "phi", "y"), [(1.1786814667553362, 0.6813657036327854, 1.9), (1.05, 0.3, 0.7)])
def test_a_plain_sum(power, phi, y):
    a = (2.0 - power) / (power - 1.0)
    log_z = a * math.log(y / (power - 1.0)) - (1.0 + a) * math.log(phi) - math.log(2.0 - power)
    terms = [j * log_z - math.lgamma(1.0 + j) - math.lgamma(a * j) for j in range(1, 80)]
    log_sum = max(terms) + math.log(math.fsum(math.exp(term - max(terms)) for term in terms))
    expected = log_sum - math.log(y) - y ** (2.0 - power) / (phi * (2.0 - power) * (power - 1.0))
    assert log_saturated(np.array([y]), power, phi)[0] == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("power", [1.001, 1.1, 1.5, 1.9, 1.999])
def test_formulas_meet(power):
    """Few terms, smooth terms and Laplace's method: the logarithm bends nowhere, whatever the size of the target."""
    log_y = np.linspace(-30.0, 60.0, 20_001)
    # with the density of the Gaussian that it tends to taken off, nothing grows
    k = np.exp((2.0 - power) * log_y) / (2.0 - power)
    result = log_saturated(np.exp(log_y), power, 1.0) + 0.5 * (np.log(2.0 * np.pi) + power * log_y)
    far = k > 50.0 * max(1.0, 1.0 / (power - 1.0), 1.0 / (2.0 - power))
    assert np.abs(result[far]).max(initial=0.0) < 0.01
    assert np.abs(np.diff(result[far])).max(initial=0.0) < 2e-4
    assert np.isfinite(result).all()


def test_zero_has_a_probability():
    np.testing.assert_array_equal(log_saturated(np.array([0.0, 0.0]), 1.5, 2.0), [0.0, 0.0])


def test_criteria_of_a_fit_with_zeros():
    """Of sums that are zero for most rows; repeated rows count as weights."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 2))
    number = rng.poisson(np.exp(0.3 * X[:, 0] - 0.2))
    y = np.array([rng.gamma(2.0, 0.7, size).sum() for size in number])
    weight = rng.integers(1, 3, 200)
    model = tenfold.TweedieRegressor(power=1.6, alpha=0.0, tol=1e-10).fit(X, y, sample_weight=weight)
    again = tenfold.TweedieRegressor(power=1.6, alpha=0.0, tol=1e-10).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    result = model.inference_
    assert np.isfinite(result.log_likelihood)
    assert result.log_likelihood == pytest.approx(again.inference_.log_likelihood, rel=1e-9)
    assert "AIC" in model.summary()
    mean = model.predict(X)
    with np.errstate(divide="ignore"):
        value = tenfold.losses.Tweedie(1.6).value(y, np.log(mean))
    each = log_saturated(y, 1.6, result.dispersion) - value / result.dispersion
    assert result.log_likelihood == pytest.approx(float(weight @ each), rel=1e-9)
