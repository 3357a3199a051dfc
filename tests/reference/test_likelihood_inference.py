"""Inference for maximum likelihood against statsmodels, to 1e-8: covariances, statistics, deviances, likelihoods."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import sklearn.linear_model

import tenfold
from design import only_if
from tenfold import infer

api = pytest.importorskip("statsmodels.api")
families, links = api.families, api.families.links
N = 150
GROUPS = np.arange(N) // 7


@dataclass(frozen=True)
class Case:
    """A model of ours, targets of a mean exp(z) or, for the identity, 3 + z, and the family of statsmodels."""

    ours: Callable[..., Any]
    family: Any
    draw: Callable[[Any, Any], Any]
    settings: dict[str, Any]
    intercept: bool = True
    offset: bool = False
    weights: bool = False


def tweedie(power: float, link: str, **more: Any) -> dict[str, Any]:
    return {"power": power, "link": link, **more}


def gamma(rng, mean):
    return rng.gamma(2.0, mean / 2.0)


def poisson(rng, mean):
    return rng.poisson(mean).astype(float)


def gaussian(rng, mean):
    return mean + 0.5 * rng.standard_normal(N) * mean


def inverse(rng, mean):
    return rng.wald(mean, 4.0)


CASES = {
    "poisson": Case(tenfold.PoissonRegressor, families.Poisson(), poisson, {}),
    "poisson with an offset": Case(tenfold.PoissonRegressor, families.Poisson(), poisson, {}, offset=True),
    "poisson through the origin": Case(tenfold.PoissonRegressor, families.Poisson(), poisson, {}, intercept=False),
    "poisson, rows counted": Case(tenfold.PoissonRegressor, families.Poisson(), poisson, {}, weights=True),
    "gamma": Case(tenfold.GammaRegressor, families.Gamma(links.Log()), gamma, {}),
    "gamma with an offset": Case(tenfold.GammaRegressor, families.Gamma(links.Log()), gamma, {}, offset=True),
    "gamma, rows counted": Case(tenfold.GammaRegressor, families.Gamma(links.Log()), gamma, {}, weights=True),
    "gaussian": Case(tenfold.TweedieRegressor, families.Gaussian(), gaussian, tweedie(0.0, "identity")),
    "gaussian of a logarithm": Case(
        tenfold.TweedieRegressor, families.Gaussian(links.Log()), gaussian, tweedie(0.0, "log")
    ),
    "tweedie": Case(tenfold.TweedieRegressor, families.Tweedie(links.Log(), var_power=1.5), gamma, tweedie(1.5, "log")),
    "inverse gaussian": Case(
        tenfold.TweedieRegressor, families.InverseGaussian(links.Log()), inverse, tweedie(3.0, "log")
    ),
    "poisson of the mean": Case(
        tenfold.TweedieRegressor, families.Poisson(links.Identity()), poisson, tweedie(1.0, "identity")
    ),
    "square": Case(tenfold.GeneralizedLinear, families.Gaussian(), gaussian, {"loss": "square", "penalty": None}),
    "general poisson": Case(
        tenfold.GeneralizedLinear, families.Poisson(), poisson, {"loss": "poisson", "penalty": None}, offset=True
    ),
}


@dataclass(frozen=True)
class Fit:
    model: Any
    X: Any
    y: Any
    given: dict[str, Any]
    design: Any
    case: Case

    def fit_statsmodels(self, **how: Any) -> Any:
        """statsmodels, with the constant first."""
        extra = {"freq_weights": self.given.get("sample_weight"), "offset": self.given.get("offset")}
        extra = {name: value for name, value in extra.items() if value is not None}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The Identity link function does not respect the domain")
            return api.GLM(self.y, self.design, family=self.case.family, **extra).fit(tol=1e-15, maxiter=200, **how)

    def ours(self, covariance: str, **more: Any) -> Any:
        return infer(self.model, self.X, self.y, covariance=covariance, **self.given, **more)


@pytest.fixture(scope="module", params=CASES, ids=str)
def fit(request) -> Fit:
    case = CASES[request.param]
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, 3)) * [0.3, 1.0, 5.0] + [0.0, 2.0, -10.0]
    z = 0.4 + (X - X.mean(axis=0)) @ [0.8, 0.2, -0.05]
    given: dict[str, Any] = {}
    if case.offset:
        given["offset"] = rng.uniform(0.0, 1.5, N)
        z = z + given["offset"]
    if case.weights:
        given["sample_weight"] = rng.integers(1, 4, N).astype(float)
    identity = isinstance(case.family.link, links.Identity)
    y = case.draw(rng, 3.0 + z if identity else np.exp(z))
    alpha = {} if case.ours is tenfold.GeneralizedLinear else {"alpha": 0.0}
    model = case.ours(tol=1e-13, fit_intercept=case.intercept, **alpha, **case.settings).fit(X, y, **given)
    design = np.column_stack([np.ones(N), X]) if case.intercept else X
    return Fit(model, X, y, given, design, case)


def close(ours, expected, rtol=1e-8):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=rtol, atol=1e-10 * np.max(np.abs(expected)))


def test_classical_inference(fit):
    ours, expected = fit.model.inference_, fit.fit_statsmodels()
    close(ours.coefficients, expected.params)
    close(ours.covariance, expected.cov_params())
    close(ours.standard_errors, expected.bse)
    close(ours.statistics, expected.tvalues)
    np.testing.assert_allclose(ours.p_values, expected.pvalues, rtol=1e-6, atol=1e-300)
    close(ours.confidence_interval(0.9), expected.conf_int(0.1))
    assert ours.degrees_of_freedom == expected.df_resid


def test_what_the_rows_say(fit):
    ours, expected = fit.model.inference_, fit.fit_statsmodels()
    assert ours.dispersion == pytest.approx(expected.scale, rel=1e-8)
    assert ours.deviance == pytest.approx(expected.deviance, rel=1e-9)
    assert ours.null_deviance == pytest.approx(expected.null_deviance, rel=1e-7)
    assert ours.pearson == pytest.approx(expected.pearson_chi2, rel=1e-8)
    assert ours.log_likelihood == pytest.approx(expected.llf, rel=1e-9)
    assert ours.aic == pytest.approx(expected.aic, rel=1e-9)
    assert ours.bic == pytest.approx(expected.bic_llf, rel=1e-9)


def test_robust_covariances(fit):
    """statsmodels has HC0 alone for these; the others follow from its scores, its Hessian and its leverages."""
    expected = fit.fit_statsmodels(cov_type="HC0")
    close(fit.ours("HC0").covariance, expected.cov_params())
    if fit.given:
        return
    n, k = fit.design.shape
    close(fit.ours("HC1").covariance, n / (n - k) * expected.cov_params())
    bread = np.linalg.inv(expected.model.hessian(expected.params))
    weight = expected.model.hessian_factor(expected.params) * expected.scale
    left = 1.0 - weight * np.einsum("ij,jk,ik->i", fit.design, -bread / expected.scale, fit.design)
    scores = expected.model.score_obs(expected.params)
    for name, power in (("HC2", 0.5), ("HC3", 1.0)):
        adjusted = scores / left[:, None] ** power
        close(fit.ours(name).covariance, bread @ adjusted.T @ adjusted @ bread)


# statsmodels counts rows, not weights, in its correction; weights are tested as repeated rows
@only_if(lambda fit: not CASES[fit].weights)
def test_covariance_of_clusters(fit):
    expected = fit.fit_statsmodels(cov_type="cluster", cov_kwds={"groups": GROUPS})
    ours = fit.ours("cluster", groups=[f"town {g}" for g in GROUPS])
    close(ours.covariance, expected.cov_params())
    assert ours.groups == len(set(GROUPS))


# -- classes


def labels(count: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 3)) + np.array([0.0, 2.0, -5.0])
    number = rng.integers(0, count, N)
    X[:, 0] += 0.5 * number
    return X, number, np.array(["ant", "bee", "cat", "dog"])[number]


@pytest.fixture(scope="module", params=[2, 3, 4], ids=lambda count: f"{count} classes")
def multinomial_fit(request):
    X, number, y = labels(request.param)
    model = tenfold.LogisticRegression(C=np.inf, tol=1e-13).fit(X, y)
    kind, design = (api.Logit if request.param == 2 else api.MNLogit), np.column_stack([np.ones(N), X])
    return model, X, y, lambda **how: kind(number, design).fit(method="newton", disp=0, tol=1e-15, **how)


def test_classes(multinomial_fit):
    model, _, _, fit = multinomial_fit
    ours, expected = model.inference_, fit()
    close(ours.coefficients, np.ravel(expected.params.T))
    close(ours.covariance, expected.cov_params())
    np.testing.assert_allclose(ours.p_values, np.ravel(expected.pvalues.T), rtol=1e-6)
    assert ours.log_likelihood == pytest.approx(expected.llf, rel=1e-10)
    assert ours.deviance_explained == pytest.approx(expected.prsquared, rel=1e-6)
    assert (ours.aic, ours.bic) == (pytest.approx(expected.aic, rel=1e-10), pytest.approx(expected.bic, rel=1e-10))
    assert ours.names[-4:] == tuple(
        f"{'' if len(model.classes_) == 2 else model.classes_[-1] + ': '}{name}"
        for name in ("intercept", "x0", "x1", "x2")
    )


def test_robust_covariances_of_classes(multinomial_fit):
    model, X, y, fit = multinomial_fit
    close(infer(model, X, y, covariance="HC0").covariance, fit(cov_type="HC0").cov_params())
    expected = fit(cov_type="cluster", cov_kwds={"groups": GROUPS})
    close(infer(model, X, y, covariance="cluster", groups=GROUPS).covariance, expected.cov_params())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("count", [3, 4])
def test_leverages_of_several_classes(count, intercept):
    """HC2 by roots of matrices, and HC3 as the one-step jackknife, formed densely row by row."""
    X, number, y = labels(count)
    model = tenfold.LogisticRegression(C=np.inf, tol=1e-13, fit_intercept=intercept).fit(X, y)
    design, m = (np.column_stack([np.ones(N), X]) if intercept else X), count - 1
    q = model.predict_proba(X)[:, 1:]
    u = q - (number[:, None] == np.arange(1, count))
    C = [np.diag(row) - np.outer(row, row) for row in q]
    Z = [np.kron(np.eye(m), row) for row in design]
    H = sum(z.T @ c @ z for z, c in zip(Z, C, strict=True))
    B, scores, steps = np.linalg.inv(H), [], []
    for z, c, slope in zip(Z, C, u, strict=True):
        root = scipy.linalg.sqrtm(c)
        left = scipy.linalg.sqrtm(np.eye(m) - root @ z @ B @ z.T @ root)
        scores.append(z.T @ root @ np.linalg.solve(left, np.linalg.solve(root, slope)))
        steps.append(np.linalg.solve(H - z.T @ c @ z, z.T @ slope))
    close(infer(model, X, y, covariance="HC2").covariance, B @ np.array(scores).T @ np.array(scores) @ B)
    close(infer(model, X, y, covariance="HC3").covariance, np.array(steps).T @ np.array(steps))


def test_leverages_are_those_of_newton_steps_without_a_row():
    """HC3 is the one-step jackknife: (1/n-free) sum of the squares of Newton steps that leave out one row each."""
    X, number, y = labels(2)
    model = tenfold.LogisticRegression(C=np.inf, tol=1e-13).fit(X, y)
    design = np.column_stack([np.ones(N), X])
    p = model.predict_proba(X)[:, 1]
    H = (design.T * (p * (1 - p))) @ design
    steps = []
    for i in range(N):
        rest = np.arange(N) != i
        left = H - p[i] * (1 - p[i]) * np.outer(design[i], design[i])
        steps.append(np.linalg.solve(left, design[rest].T @ (number[rest] - p[rest])))
    close(infer(model, X, y, covariance="HC3").covariance, np.array(steps).T @ np.array(steps))


def test_least_squares_with_robust_errors():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3)) + 5.0
    y = X @ [1.0, -1.0, 0.0] + rng.standard_normal(N) * (0.1 + np.abs(X[:, 0] - 5.0))
    model, design = tenfold.LinearRegression().fit(X, y), np.column_stack([np.ones(N), X])
    for kind in ("HC0", "HC1", "HC2", "HC3"):
        expected = api.OLS(y, design).fit(cov_type=kind)
        ours = infer(model, X, y, covariance=kind)
        close(ours.covariance, expected.cov_params())
        close(ours.p_values, expected.pvalues, rtol=1e-6)
    expected = api.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": GROUPS})
    close(infer(model, X, y, covariance="cluster", groups=GROUPS).covariance, expected.cov_params())


def test_models_of_scikit_learn():
    X, _, y = labels(2)
    expected = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    ours = tenfold.LogisticRegression(C=np.inf, tol=1e-12).fit(X, y)
    for kind in ("nonrobust", "HC3"):
        close(infer(expected, X, y, covariance=kind).covariance, infer(ours, X, y, covariance=kind).covariance, 1e-5)
    early = sklearn.linear_model.LogisticRegression(C=np.inf, max_iter=1000, tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match="not at the maximum of the likelihood"):
        infer(early, X, y)


def test_a_tiny_p_value_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 1))
    y = poisson(rng, np.exp(1.0 + X[:, 0]))
    expected = api.GLM(y, api.add_constant(X), family=families.Poisson()).fit(tol=1e-15)
    ours = tenfold.PoissonRegressor(alpha=0.0, tol=1e-13).fit(X, y).inference_
    assert 0.0 <= expected.pvalues[1] < 1e-200
    np.testing.assert_allclose(ours.statistics, expected.tvalues, rtol=1e-8)
