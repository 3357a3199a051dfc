"""Poisson, Gamma and Tweedie regression beside scikit-learn and statsmodels."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse

import tenfold

FAMILIES = [
    ("PoissonRegressor", {}),
    ("PoissonRegressor", {"alpha": 0.0, "solver": "newton-cholesky"}),
    ("PoissonRegressor", {"alpha": 0.01, "fit_intercept": False}),
    ("GammaRegressor", {}),
    ("GammaRegressor", {"alpha": 1e-3}),
    ("TweedieRegressor", {}),
    ("TweedieRegressor", {"power": 1, "alpha": 0.1}),
    ("TweedieRegressor", {"power": 1.5, "alpha": 0.1}),
    ("TweedieRegressor", {"power": 1.9, "alpha": 0.0}),
    ("TweedieRegressor", {"power": 2, "alpha": 0.1}),
    ("TweedieRegressor", {"power": 3, "alpha": 0.1}),
    ("TweedieRegressor", {"power": 0.5, "alpha": 0.1}),
    ("TweedieRegressor", {"power": 0, "link": "log", "alpha": 0.1}),
    ("TweedieRegressor", {"power": 1, "link": "identity", "alpha": 0.01}),
    ("TweedieRegressor", {"power": 2, "link": "identity", "alpha": 0.01}),
    ("TweedieRegressor", {"power": -1, "alpha": 0.01}),
    ("TweedieRegressor", {"power": 0, "link": "log", "alpha": 0.01}),
]


def counts(n=400, p=5, seed=0):
    """Counts, positive numbers with noise in proportion, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    mean = np.exp(0.2 * X @ rng.uniform(-1.0, 1.0, p) + 0.7)
    return X, rng.poisson(mean).astype(float), rng.gamma(5.0, mean / 5.0), rng.uniform(0.0, 2.0, n)


@pytest.mark.parametrize(("name", "settings"), FAMILIES, ids=str)
def test_same_optimum(name, settings):
    X, whole, positive, weight = counts()
    y = whole if settings.get("power", 1) in (1, 1.5, 1.9) and name != "GammaRegressor" else positive
    if settings.get("link") == "identity" or settings.get("power", 1) < 0:
        y = 5.0 + 0.3 * X[:, 0] + 0.1 * positive  # all means are positive
    if settings.get("power", 1) == 0 and settings.get("link") == "log":
        y = y - 1.5  # negative targets of positive means
    ours = getattr(tenfold, name)(**{"tol": 1e-9, **settings}).fit(X, y, sample_weight=weight)
    sklearn_model = getattr(sklearn_module, name)(**{"tol": 1e-9, "max_iter": 10_000, **settings}).fit(
        X, y, sample_weight=weight
    )
    assert ours.certificate_.ok, ours.certificate_.explain()
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, atol=5e-7)
    np.testing.assert_allclose(ours.intercept_, sklearn_model.intercept_, atol=5e-7)
    np.testing.assert_allclose(ours.predict(X), sklearn_model.predict(X), rtol=1e-5)
    assert ours.score(X, y, sample_weight=weight) == pytest.approx(
        sklearn_model.score(X, y, sample_weight=weight), abs=2e-9
    )
    assert tenfold.certify(sklearn_model, X, y, sample_weight=weight).ok
    assert not tenfold.certify(sklearn_model, X, 2.0 * y + 1.0, sample_weight=weight).ok


@pytest.mark.product
@pytest.mark.parametrize("name", ["PoissonRegressor", "GammaRegressor"])
def test_sparse_and_wide_by_lbfgs(name):
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 1500), density=0.01, rng=rng, format="csr")
    mean = np.exp(0.5 * np.asarray(X @ rng.standard_normal(1500)) + 0.5)
    y = rng.poisson(mean) + (0.5 if name == "GammaRegressor" else 0.0)
    ours = getattr(tenfold, name)(alpha=1e-3).fit(X, y)
    assert ours.certificate_.ok
    sklearn_model = getattr(sklearn_module, name)(alpha=1e-3, tol=1e-8, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), sklearn_model.predict(X), rtol=3e-3)
    assert ours.certificate_.objective <= tenfold.certify(sklearn_model, X, y).objective + ours.certificate_.value
    dense = getattr(tenfold, name)(alpha=1e-3).fit(X.toarray()[:100], y[:100])
    assert dense.certificate_.ok
    assert tenfold.certify(dense, X[:100], y[:100]).ok


def test_many_rows_by_a_sample():
    """So many rows that a sample comes first, then L-BFGS on top of its Hessian."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 90)) + 1.0
    y = rng.poisson(np.exp(X @ rng.standard_normal(90) * 0.05)).astype(float)
    model = tenfold.PoissonRegressor(alpha=1e-4).fit(X, y)
    assert model.certificate_.ok
    assert model.n_iter_ <= 8
    exact = tenfold.PoissonRegressor(alpha=1e-4, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-3)
    assert abs(model.certificate_.objective - exact.certificate_.objective) <= model.certificate_.allowed


@pytest.mark.parametrize("name", ["Poisson", "Gamma", "Tweedie"])
def test_against_statsmodels_with_an_exposure(name):
    api = pytest.importorskip("statsmodels.api")
    X, whole, positive, weight = counts()
    exposure = np.random.default_rng(1).uniform(0.5, 4.0, len(X))
    families = api.families
    log, exact = families.links.Log(), {"alpha": 0.0, "tol": 1e-10}
    family, model, y = {
        "Poisson": (families.Poisson(), tenfold.PoissonRegressor(**exact), whole),
        "Gamma": (families.Gamma(log), tenfold.GammaRegressor(**exact), positive),
        "Tweedie": (
            families.Tweedie(log, var_power=1.6),
            tenfold.TweedieRegressor(power=1.6, **exact),
            whole,
        ),
    }[name]
    offset = np.log(exposure)
    expected = api.GLM(y, api.add_constant(X), family, offset=offset, var_weights=weight).fit(tol=1e-12, maxiter=200)
    model.fit(X, y, sample_weight=weight, offset=offset)
    assert model.certificate_.ok
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected.params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(X, offset=offset), expected.fittedvalues, rtol=1e-6)
    deviance = 1.0 - expected.deviance / expected.null_deviance
    assert model.score(X, y, sample_weight=weight, offset=offset) == pytest.approx(deviance, abs=1e-7)
    np.testing.assert_allclose(model.certificate_.objective, expected.deviance / 2.0 / weight.sum(), rtol=1e-9)
