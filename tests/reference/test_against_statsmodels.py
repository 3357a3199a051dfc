"""Inference of LinearRegression against statsmodels OLS and WLS, to 1e-8."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tenfold import LinearRegression, Ridge

CASES = {
    "plain": {},
    "through the origin": {"fit_intercept": False},
    "weights": {"weights": "real"},
    "weights through the origin": {"weights": "real", "fit_intercept": False},
    "a few zero weights": {"weights": "zeros"},
    "far from the origin": {"offset": 30.0},
    "columns of different size": {"scales": (0.1, 1.0, 30.0, 3.0)},
    "one feature": {"features": 1},
}


def make(features: int = 4, offset: float = 0.0, scales=(1.0, 1.0, 1.0, 1.0), weights: str | None = None, n: int = 60):
    rng = np.random.default_rng(2024)
    X = (rng.standard_normal((n, features)) @ (np.eye(features) + 0.3) + offset) * np.asarray(scales)[:features]
    y = 2.0 + X @ (np.array([1.0, 0.0, -0.5, 0.2])[:features] / np.asarray(scales)[:features]) + rng.standard_normal(n)
    weight = None
    if weights is not None:
        weight = rng.uniform(0.2, 3.0, n)
        if weights == "zeros":
            weight[[3, 10, 40]] = 0.0
    return X, y, weight


def reference(X, y, weight, fit_intercept):
    """statsmodels with the constant first; rows of weight zero are rows that are not there."""
    api = pytest.importorskip("statsmodels.api")
    design = np.column_stack([np.ones(len(y)), X]) if fit_intercept else X
    if weight is None:
        return api.OLS(y, design).fit(method="qr")
    kept = weight > 0
    return api.WLS(y[kept], design[kept], weights=weight[kept]).fit(method="qr")


@pytest.fixture(params=CASES, ids=str)
def pair(request):
    case = dict(CASES[request.param])
    fit_intercept = case.pop("fit_intercept", True)
    X, y, weight = make(**case)
    ours = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    return ours, reference(X, y, weight, fit_intercept)


def close(ours, expected, rtol=1e-8):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=rtol, atol=1e-12 * np.max(np.abs(expected)))


def test_coefficients(pair):
    ours, expected = pair
    result = np.concatenate([[ours.intercept_], ours.coef_]) if ours.fit_intercept else ours.coef_
    close(result, expected.params)


def test_standard_errors_and_covariance(pair):
    ours, expected = pair
    close(ours.inference_.standard_errors, expected.bse)
    close(ours.inference_.covariance, expected.cov_params())


def test_statistics_and_p_values(pair):
    ours, expected = pair
    close(ours.inference_.statistics, expected.tvalues)
    np.testing.assert_allclose(ours.inference_.p_values, expected.pvalues, rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_confidence_intervals(pair, level):
    ours, expected = pair
    close(ours.inference_.confidence_interval(level), expected.conf_int(1 - level))


def test_residual_variance_and_r_squared(pair):
    ours, expected = pair
    close(ours.inference_.sigma2, expected.scale)
    assert ours.inference_.degrees_of_freedom == expected.df_resid
    assert ours.inference_.r_squared == pytest.approx(expected.rsquared, rel=1e-8)


def test_tiny_p_values_keep_their_digits():
    """A t statistic of about 1000 on 58 degrees of freedom: the p value is 1e-120 or so, not zero."""
    X, y, _ = make()
    y = 1000.0 * X[:, 0] + y
    expected = reference(X, y, None, True)
    ours = LinearRegression().fit(X, y)
    assert 0 < expected.pvalues[1] < 1e-80
    np.testing.assert_allclose(ours.inference_.p_values, expected.pvalues, rtol=1e-6)


def test_several_targets_are_several_regressions():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    Y = X @ rng.standard_normal((3, 2)) + rng.standard_normal((40, 2))
    together = LinearRegression().fit(X, Y).inference_
    assert len(together) == 2
    for k, ours in enumerate(together):
        expected = reference(X, Y[:, k], None, True)
        close(ours.standard_errors, expected.bse)
        close(ours.p_values, expected.pvalues, rtol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_units_of_the_columns_do_not_matter(offset):
    """Beyond what statsmodels can follow (it squares the condition): units from 1e-9 to 1e9, far from the origin."""
    X, y, _ = make()
    units = np.array([1e-9, 1.0, 1e9, 1e3])
    plain = LinearRegression().fit(X, y).inference_
    scaled = LinearRegression().fit((X + offset) * units, y).inference_
    np.testing.assert_allclose(scaled.standard_errors[1:] * units, plain.standard_errors[1:], rtol=1e-8)
    np.testing.assert_allclose(scaled.p_values[1:], plain.p_values[1:], rtol=1e-7)


def test_integer_weights_are_analytic_weights():
    """Weights scale the precision of a row: doubling them all leaves every standard error as it is (as in WLS)."""
    X, y, _ = make()
    weight = np.random.default_rng(6).integers(1, 5, len(y)).astype(float)
    one = LinearRegression().fit(X, y, sample_weight=weight).inference_
    two = LinearRegression().fit(X, y, sample_weight=2 * weight).inference_
    np.testing.assert_allclose(one.standard_errors, two.standard_errors, rtol=1e-10)
    np.testing.assert_allclose(one.standard_errors, reference(X, y, weight, True).bse, rtol=1e-8)


def test_summary_shows_the_numbers():
    X, y, _ = make()
    model = LinearRegression().fit(X, y)
    printed = np.array([float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", str(model.summary()))])
    expected = reference(X, y, None, True)
    interval = expected.conf_int()[1]
    for number in (
        expected.rsquared,
        expected.params[1],
        expected.bse[1],
        expected.tvalues[1],
        expected.pvalues[1],
        *interval,
    ):
        assert np.min(np.abs(printed - number)) <= 1e-3 * abs(number)


def test_names_are_the_columns_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    X, y, _ = make()
    frame = pandas.DataFrame(X, columns=["height", "weight", "age", "dose"])
    model = LinearRegression().fit(frame, y)
    assert list(model.inference_.names)[-4:] == ["height", "weight", "age", "dose"]
    assert "dose" in str(model.summary())


def _read_inference(model):
    return model.inference_


@pytest.mark.parametrize("ask", [_read_inference, LinearRegression.summary], ids=["inference_", "summary"])
@pytest.mark.parametrize(
    ("shape", "positive"), [((5, 5), False), ((4, 8), False), ((30, 3), True)], ids=["p = n", "p > n", "positive"]
)
def test_raises_where_inference_is_not_valid(shape, positive, ask):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    model = LinearRegression(positive=positive).fit(X, y)
    with pytest.raises(ValueError, match=r"[a-z]"):
        ask(model)


def test_raises_for_collinear_columns():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(30)
    model = LinearRegression().fit(np.column_stack([x, 2 * x, rng.standard_normal(30)]), rng.standard_normal(30))
    with pytest.raises(ValueError, match=r"singular|collinear|rank"):
        _read_inference(model)


def test_raises_for_a_penalised_fit():
    rng = np.random.default_rng(0)
    model = Ridge(alpha=1.0).fit(rng.standard_normal((30, 3)), rng.standard_normal(30))
    with pytest.raises(ValueError, match=r"penal|alpha|bias"):
        model.summary()
