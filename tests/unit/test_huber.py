"""Huber's regression with its scale: the dual bound, exact fits, outliers, units."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy import sparse
from scipy.optimize import minimize

import tenfold
from tenfold import HuberRegressor
from tenfold.data import Block, MemoryRows
from tenfold.judge.gap_huber import huber_gap
from tenfold.problems import ScaledHuber
from tenfold.stats import huber_scale
from tenfold.stats.derivatives import Params


def heavy(n=200, p=4, seed=0):
    """Errors of Student with two degrees of freedom."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1.0
    return X, X @ rng.standard_normal(p) + 1.0 + 0.5 * rng.standard_t(2, n), rng.uniform(0.2, 2.0, n)


@pytest.mark.parametrize(
    "settings", [{}, {"alpha": 0.0}, {"alpha": 5.0, "epsilon": 1.1}, {"alpha": 0.1, "fit_intercept": False}], ids=str
)
def test_beside_scikit_learn(settings):
    X, y, weight = heavy()
    ours = HuberRegressor(**settings).fit(X, y, sample_weight=weight)
    sklearn_model = theirs.HuberRegressor(tol=1e-9, max_iter=10_000, **settings).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.scale_, sklearn_model.scale_, rtol=2e-5)
    np.testing.assert_array_equal(ours.outliers_, sklearn_model.outliers_)
    judged = tenfold.certify(sklearn_model, X, y, sample_weight=weight)
    assert ours.certificate_.objective <= judged.objective + ours.certificate_.value
    np.testing.assert_allclose(judged.objective, ours.certificate_.objective, rtol=1e-7)
    dense, sparse_model = (HuberRegressor(**settings).fit(part, y) for part in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(sparse_model.coef_, dense.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("strength", [0.0, 0.3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_bound_is_below_the_optimum_wherever_it_is_taken(strength, intercept):
    X, y, weight = heavy(40, 2)
    problem = ScaledHuber(1.35, strength, intercept)
    rows = MemoryRows(X, y[:, None], weight)

    def objective(v):
        r, sigma = np.abs(y - X @ v[:2] - intercept * v[2]), np.exp(v[3])
        H = np.where(r < 1.35 * sigma, r**2 / sigma, 2.7 * r - 1.35**2 * sigma)
        return weight @ (sigma + H) / weight.sum() + strength / 2 * v[:2] @ v[:2]

    best = min(minimize(objective, s * np.ones(4), method="Nelder-Mead", options={"maxiter": 9000, "xatol": 1e-9,
               "fatol": 1e-13}).fun for s in (0.0, 1.0))  # fmt: skip
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-3, 0.1, 1.0, 10.0):
        v = np.append(np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)[0], 0.0)
        v = v + size * rng.standard_normal(4)
        v[2] *= intercept
        result = huber_gap(problem, rows, Params(v[None, :2], v[2:3]), float(np.exp(v[3])))
        np.testing.assert_allclose(result.objective, objective(v), rtol=1e-10)
        assert result.lower_bound <= best + 1e-9
        assert result.value >= result.objective - best - 1e-9


@pytest.mark.parametrize(
    "settings", [{}, {"alpha": 0.0}, {"alpha": 5.0}, {"alpha": 0.1, "fit_intercept": False}], ids=str
)
@pytest.mark.parametrize(("n", "p"), [(20, 50), (30, 30), (2, 4), (1, 3)])
def test_exact_fits_have_a_scale_near_zero(settings, n, p):
    X, y, _ = heavy(n, p, seed=1)
    model = HuberRegressor(**settings).fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert np.isfinite(model.coef_).all()
    assert model.scale_ > 0.0


def test_gross_errors_hardly_move_it():
    X, y, _ = heavy(300, 3)
    clean = HuberRegressor().fit(X, y)
    y[:10] += 1e6
    model = HuberRegressor().fit(X, y)
    assert model.certificate_.ok
    assert model.outliers_[:10].all()
    assert np.abs(model.coef_ - clean.coef_).max() < 0.1
    least = tenfold.LinearRegression().fit(X, y)
    assert np.abs(least.coef_ - clean.coef_).max() > 100.0


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_scale_follows_the_units_of_the_targets(unit):
    X, y, _ = heavy()
    model, plain = HuberRegressor(alpha=0.0).fit(X, unit * y), HuberRegressor(alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.scale_, unit * plain.scale_, rtol=1e-5)
    np.testing.assert_allclose(model.coef_, unit * plain.coef_, rtol=1e-3, atol=1e-5 * unit)


def test_a_worse_scale_is_not_certified():
    X, y, _ = heavy()
    model = HuberRegressor().fit(X, y)
    model.scale_ *= 1.01
    assert not tenfold.certify(model, X, y).ok


def test_too_many_columns():
    X = sparse.random_array((300, 5000), density=0.01, rng=np.random.default_rng(0), format="csr")
    with pytest.raises(ValueError, match="at most 4096 columns"):
        HuberRegressor().fit(X, np.arange(300.0))


def test_an_offset():
    X, y, _ = heavy()
    offset = 3.0 * X[:, 0]
    model, plain = HuberRegressor().fit(X, y, offset=offset), HuberRegressor().fit(X, y - offset)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_allclose(model.predict(X, offset=offset), plain.predict(X) + offset)


def test_warm_start_continues():
    X, y, _ = heavy()
    model = HuberRegressor(warm_start=True).fit(X, y)
    model.fit(X, y)
    assert model.n_iter_ <= 1


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_that_were_rounded_are_no_worse(fit_intercept):
    """Single precision of a large constant moves all residuals by far less than they are; the bound follows."""
    X, y, _ = heavy()
    X, y = np.column_stack([X, np.ones(len(X))]), y + 1000.0
    model = HuberRegressor(alpha=0.05, epsilon=1.1, fit_intercept=fit_intercept).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert model.certificate_.ok
    model.coef_ = model.coef_ + np.float32(0.02)
    assert not tenfold.certify(model, X, y).ok


def test_absolute_errors_are_the_limit_of_a_scale_of_zero():
    """The best scale is next to nothing: samples fitted exactly have slopes that only a search for them tells."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20 + 4 * seed, 1 + seed % 8))
        y = X @ rng.standard_normal(X.shape[1]) + rng.standard_t(1.5, len(X))
        model = HuberRegressor(epsilon=1.01, alpha=(0.0, 1e-4)[seed % 2]).fit(X, y)
        assert model.certificate_.ok, model.certificate_
        assert tenfold.certify(model, X, y).ok


@pytest.mark.parametrize("cls", [HuberRegressor, theirs.HuberRegressor])
def test_outliers_are_judged(cls):
    X, y, weight = heavy()
    model = cls(max_iter=1000).fit(X, y, sample_weight=weight)
    assert tenfold.certify(model, X, y, weight).ok
    model.outliers_ = ~model.outliers_
    result = tenfold.certify(model, X, y, weight)
    assert not result.ok
    assert "outliers_" in result.note


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_sums_are_those_of_the_formulas(dtype, weighted, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((300, 4)).astype(dtype), rng.standard_normal((300, 1))
    weight = rng.integers(0, 3, 300).astype(np.float64) if weighted else None
    y[:5] = 0.0  # a residual of nothing has no sign
    params = Params(rng.standard_normal((1, 4)), np.array([0.2]))
    X[:5] = 0.0
    lift = huber_scale.huber_sums(params, 0.7, 1.35, 2, np.zeros(4), 1e-2)
    compiled = lift(Block(X, y, weight))
    monkeypatch.setattr(huber_scale, "is_numpy", lambda X: False)
    plain = lift(Block(X, y, weight))
    for name in ("sums", "gradient", "rows", "outer", "cross", "inner"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), rtol=1e-12, atol=1e-12)
