"""The family of the Lasso at the ends of its parameters, on products of columns, on columns, and sparse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold

SHAPES = {
    "gram": lambda rng: rng.standard_normal((80, 12)) + 1.0,
    "columns": lambda rng: rng.standard_normal((40, 300)) + 1.0,
    "sparse": lambda rng: sparse.random_array((60, 400), density=0.1, rng=rng, format="csr"),
}
MODELS = {
    "Lasso": tenfold.Lasso,
    "positive": lambda **settings: tenfold.Lasso(positive=True, **settings),
    "ElasticNet": tenfold.ElasticNet,
    "MultiTaskLasso": tenfold.MultiTaskLasso,
    "MultiTaskElasticNet": tenfold.MultiTaskElasticNet,
}
every_shape = pytest.mark.parametrize("shape", SHAPES)
every_model = pytest.mark.parametrize("name", MODELS)


def data(shape, name):
    rng = np.random.default_rng(3)
    X = SHAPES[shape](rng)
    Y = X @ (rng.uniform(0.5, 1.5, (X.shape[1], 2)) * (np.arange(X.shape[1]) < 5)[:, None])
    Y = Y + 0.1 * rng.standard_normal(Y.shape)
    return X, Y if name.startswith("Multi") else Y[:, 0]


def beside(X, Z):
    return sparse.csr_array(sparse.hstack([X, Z])) if sparse.issparse(X) else np.hstack([X, Z])


@every_shape
@every_model
def test_huge_penalty_leaves_no_weights_and_a_note(name, shape):
    X, y = data(shape, name)
    model = MODELS[name](alpha=1e6).fit(X, y)
    assert not model.coef_.any()
    assert model.certificate_.ok
    assert "All weights are zero" in model.certificate_.explain()
    np.testing.assert_allclose(model.intercept_, y.mean(axis=0))


@every_shape
@every_model
def test_a_tiny_penalty(name, shape):
    X, y = data(shape, name)
    model = MODELS[name](alpha=1e-7, tol=1e-6, max_iter=100_000).fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.coef_.any()


@every_shape
@every_model
def test_columns_of_zeros_have_no_weight(name, shape):
    X, y = data(shape, name)
    plain = MODELS[name](alpha=0.01, tol=1e-12, max_iter=100_000).fit(X, y)
    model = MODELS[name](alpha=0.01, tol=1e-12, max_iter=100_000).fit(beside(X, np.zeros((X.shape[0], 3))), y)
    assert not np.atleast_2d(model.coef_)[:, -3:].any()
    assert model.certificate_.ok
    np.testing.assert_allclose(
        np.atleast_2d(model.coef_)[:, :-3], np.atleast_2d(plain.coef_), atol=1e-6 * np.abs(plain.coef_).max()
    )


@every_shape
@every_model
def test_columns_that_come_twice(name, shape):
    X, y = data(shape, name)
    model = MODELS[name](alpha=0.01, tol=1e-10, max_iter=100_000).fit(beside(X, X), y)
    assert model.certificate_.ok, model.certificate_.explain()
    if "Elastic" in name:  # the ridge shares their weight out
        first, second = np.split(np.atleast_2d(model.coef_), 2, axis=1)
        np.testing.assert_allclose(first, second, atol=1e-6 * np.abs(first).max())
        return
    plain = MODELS[name](alpha=0.01, tol=1e-10, max_iter=100_000).fit(X, y)
    assert model.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=1e-7)
    np.testing.assert_allclose(model.predict(beside(X, X)), plain.predict(X), atol=1e-3 * np.abs(y).max())


@every_shape
@every_model
def test_warning_after_one_sweep_has_the_gap(name, shape):
    X, y = data(shape, name)
    with pytest.warns(ConvergenceWarning, match="iteration limit") as caught:
        model = MODELS[name](alpha=1e-3, tol=1e-8, max_iter=1).fit(X, y)
    judged = model.certificate_
    assert not judged.ok
    assert judged.value > judged.allowed
    message = str(caught[0].message)
    assert f"duality gap {judged.value:.2g}, allowed {judged.allowed:.2g}" in message
    assert "max_iter" in message
    assert model.n_iter_ == 1


@every_shape
@every_model
def test_weights_are_right_to_rounding(name, shape):
    """A gap alone says that they are right to its root: the exact step at the end does better."""
    X, y = data(shape, name)
    loose, tight = (MODELS[name](alpha=0.05, tol=tol, max_iter=100_000).fit(X, y) for tol in (1e-7, 1e-14))
    np.testing.assert_array_equal(loose.coef_ != 0, tight.coef_ != 0)
    np.testing.assert_allclose(loose.coef_, tight.coef_, atol=1e-9 * np.abs(tight.coef_).max())


@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"l1_ratio": 0.7}], ids=["lasso", "positive", "net"])
def test_a_path_goes_on_along_its_lines(settings):
    """Between kinks the next penalty is met by a sweep; each model is that of a fit by itself."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 20))
    X[:, 1:8] += 1.5 * X[:, :1]
    y = X[:, :8] @ np.append(rng.uniform(0.5, 1.5, 6), [-1.0, -0.5]) + 0.1 * rng.standard_normal(500)
    alphas = np.append(np.linspace(0.35, 0.05, 61), [0.04, 0.04, 1.0])
    path = tenfold.enet_path if "l1_ratio" in settings else tenfold.lasso_path
    result, coefs, _, sweeps = path(X, y, alphas=alphas, tol=1e-10, return_n_iter=True, **settings)
    np.testing.assert_array_equal(result, np.sort(alphas)[::-1])
    assert "l1_ratio" in settings or max(sweeps[20:50]) == 1
    model = tenfold.ElasticNet if "l1_ratio" in settings else tenfold.Lasso
    for k in (0, 5, 30, 63):
        alone = model(alpha=result[k], fit_intercept=False, tol=1e-12, **settings).fit(X, y)
        np.testing.assert_allclose(coefs[:, k], alone.coef_, atol=1e-4)


def test_paths_of_several_targets_that_turn_back():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 30))
    Y = X[:, :4] @ rng.standard_normal((4, 3)) + 0.1 * rng.standard_normal((300, 3))
    alphas = np.geomspace(2.0, 0.01, 40)
    result, coefs, gaps = tenfold.lasso_path(X, Y, alphas=alphas, tol=1e-8)
    assert np.all(gaps <= 1e-8 * np.sum(Y**2) / len(Y))
    for k in (10, 39):
        alone = tenfold.MultiTaskLasso(alpha=result[k], fit_intercept=False, tol=1e-10).fit(X, Y)
        np.testing.assert_allclose(coefs[:, :, k], alone.coef_, atol=1e-4)
