"""More columns than rows: working sets of columns beside scikit-learn's fits."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import certify

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def data(n=60, p=400, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1.0
    W = np.zeros((p, t))
    W[:6] = rng.standard_normal((6, t))
    return X, X @ W + 0.5 * rng.standard_normal((n, t)), rng.uniform(0.2, 2.0, n)


KINDS = {
    "C": lambda X: X,
    "Fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: sparse.csr_array(np.where(np.abs(X - 1.0) < 1.0, 0.0, X)),
    "very sparse": lambda X: sparse.csr_array(np.where(np.abs(X - 1.0) < 2.0, 0.0, X)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Lasso", {"alpha": 0.1}),
        ("Lasso", {"alpha": 0.05, "positive": True, "fit_intercept": False}),
        ("ElasticNet", {"alpha": 0.2, "l1_ratio": 0.7}),
        ("MultiTaskLasso", {"alpha": 0.2}),
        ("MultiTaskElasticNet", {"alpha": 0.2, "fit_intercept": False}),
    ],
    ids=str,
)
def test_fits(name, settings, kind):
    X, Y, weight = data()
    single = kind == "float32"
    X, y = KINDS[kind](X), Y if name.startswith("Multi") else Y[:, 0]
    # single precision has its own limit
    ours = getattr(tenfold, name)(**{**TIGHT, "tol": 1e-5 if single else 1e-10}, **settings)
    ours.fit(X, y, sample_weight=weight)
    assert ours.method_ == "columns"
    assert ours.certificate_.ok, ours.certificate_.explain()
    assert certify(ours, X, y, sample_weight=weight).ok
    whole = X.astype(np.float64) if single else X
    sklearn_model = getattr(sklearn_module, name)(**TIGHT, **settings).fit(whole, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, atol=1e-2 if single else 1e-5)
    np.testing.assert_allclose(ours.intercept_, sklearn_model.intercept_, atol=1e-2 if single else 1e-5)


@pytest.mark.parametrize("kind", ["C", "Fortran", "sparse", "very sparse"])
def test_paths_and_folds(kind):
    X, Y, weight = data()
    X, y = KINDS[kind](X), Y[:, 0]
    grid = {"alphas": 15, "eps": 0.05}
    for a, b in zip(
        tenfold.lasso_path(X, y, **grid, **TIGHT), sklearn_module.lasso_path(X, y, **grid, **TIGHT), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    ours, sklearn_model = (
        m.LassoCV(cv=3, **grid, **TIGHT).fit(X, y, sample_weight=weight) for m in (tenfold, sklearn_module)
    )
    assert "shared rows" in ours.cv_method_
    np.testing.assert_allclose(ours.mse_path_, sklearn_model.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(ours.alpha_, sklearn_model.alpha_)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, atol=1e-5)
    assert ours.certificate_.ok


def test_the_set_grows_to_all_rows():
    """A small penalty: as many columns as rows are used, and many more have to be looked at."""
    X, Y, _ = data(50, 2000)
    model = tenfold.Lasso(alpha=1e-3, **TIGHT).fit(X, Y[:, 0])
    assert model.certificate_.ok, model.certificate_.explain()
    assert 40 <= np.count_nonzero(model.coef_) <= 50


def test_a_warm_start_and_columns_that_are_nothing():
    X, Y, _ = data()
    X[:, 300:] = 0.0
    X[:, 250] = 5.0
    model = tenfold.Lasso(alpha=0.1, warm_start=True, tol=1e-9).fit(X, Y[:, 0])
    assert not model.coef_[[250, 300, 399]].any()
    before = model.coef_.copy()
    np.testing.assert_allclose(model.fit(X, Y[:, 0]).coef_, before, atol=1e-6)
    assert tenfold.Lasso(alpha=1e9).fit(X, Y[:, 0]).coef_.any() == np.False_


def test_an_offset_costs_no_digits():
    X, Y, _ = data()
    far = tenfold.Lasso(alpha=0.1, **TIGHT).fit(np.asfortranarray(X + 1e6), Y[:, 0])
    near = tenfold.Lasso(alpha=0.1, **TIGHT).fit(X, Y[:, 0])
    assert far.certificate_.ok, far.certificate_.explain()
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)


def test_one_sweep_is_not_enough():
    X, Y, _ = data()
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = tenfold.Lasso(alpha=0.01, max_iter=1).fit(X, Y[:, 0])
    assert not model.certificate_.ok
    assert model.status_ == "iteration limit"


def test_many_columns_out_of_core_raise():
    X, Y, _ = data(20, 12_000)
    with pytest.raises(ValueError, match="need the rows in memory"):
        tenfold.Lasso().fit(tenfold.rows([(X, Y[:, 0])]))
