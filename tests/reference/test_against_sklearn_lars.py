"""Least angles beside scikit-learn's: the same knots, weights and choices, and where ours differ, the proof."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from scipy.optimize import nnls
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import tenfold

CUT_SHORT = pytest.mark.filterwarnings("ignore:LassoLars .iteration limit")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def data(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)) / np.sqrt(p))
    y = X[:, :5] @ rng.standard_normal(min(p, 5)) + 0.5 * rng.standard_normal(n)
    return X, y


SHAPES = [(50, 5), (80, 30), (40, 40), (30, 90)]


def same_path(ours, sklearn_model, **close):
    """Equal knots, but for a last one that is rounding."""
    k = min(len(ours[0]), len(sklearn_model[0]))
    assert abs(len(ours[0]) - len(sklearn_model[0])) <= 1
    np.testing.assert_allclose(ours[0][:k], sklearn_model[0][:k], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours[2][:, : k - 1], sklearn_model[2][:, : k - 1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("settings", [{}, {"alpha_min": 0.05}, {"max_iter": 4}, {"Gram": True}], ids=str)
def test_the_path_of_the_lasso(shape, settings):
    X, y = data(*shape)
    sklearn_model = sklearn_module.lars_path(X, y, method="lasso", return_n_iter=True, **settings)
    for kind in (np.asarray, sparse.csr_array):
        ours = tenfold.lars_path(kind(X), y, method="lasso", return_n_iter=True, **settings)
        same_path(ours, sklearn_model)
        if "alpha_min" in settings or "max_iter" in settings:
            assert ours[1] == sklearn_model[1]
            assert ours[3] == sklearn_model[3]
            np.testing.assert_allclose(ours[2][:, -1], sklearn_model[2][:, -1], rtol=1e-7, atol=1e-9)
    settings.pop("Gram", None)
    given = tenfold.lars_path_gram(X.T @ y, X.T @ X, n_samples=len(y), method="lasso", return_n_iter=True, **settings)
    same_path(given, sklearn_model)
    last = tenfold.lars_path(X, y, method="lasso", return_path=False, **settings)
    assert last[0].shape == (1,)
    np.testing.assert_allclose(last[2], ours[2][:, -1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", ["lar", "lasso"])
def test_diabetes(diabetes, method):
    """The data of Efron and others: ten steps of least angles, twelve of the Lasso, which drops a column."""
    X, y = diabetes
    y = y - y.mean()
    ours = tenfold.lars_path(X, y, method=method, return_n_iter=True)
    sklearn_model = sklearn_module.lars_path(X, y, method=method, return_n_iter=True)
    assert ours[3] == sklearn_model[3] == (10 if method == "lar" else 12)
    assert ours[1] == sklearn_model[1]
    np.testing.assert_allclose(ours[0], sklearn_model[0], atol=1e-10)
    np.testing.assert_allclose(ours[2], sklearn_model[2], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Lars", {}),
        ("Lars", {"n_nonzero_coefs": 4, "fit_path": False}),
        ("Lars", {"fit_intercept": False, "n_nonzero_coefs": 3}),
        ("LassoLars", {"alpha": 0.1}),
        ("LassoLars", {"alpha": 0.1, "precompute": True, "fit_path": False}),
        ("LassoLars", {"alpha": 1000.0}),
        pytest.param("LassoLars", {"alpha": 0.01, "max_iter": 3}, marks=CUT_SHORT),
        ("LassoLarsIC", {}),
        ("LassoLarsIC", {"criterion": "bic", "noise_variance": 2000.0}),
        ("LassoLarsIC", {"criterion": "bic", "fit_intercept": False}),
        ("LassoLarsCV", {}),
        ("LassoLarsCV", {"cv": KFold(4, shuffle=True, random_state=0), "fit_intercept": False}),
    ],
    ids=str,
)
def test_estimators(diabetes, name, settings):
    X, y = diabetes
    ours, sklearn_model = (
        getattr(tenfold, name)(**settings).fit(X, y),
        getattr(sklearn_module, name)(**settings).fit(X, y),
    )
    # without a path he leaves an axis of targets, of length one
    np.testing.assert_allclose(ours.coef_, np.ravel(sklearn_model.coef_), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, np.ravel(sklearn_model.intercept_)[0], rtol=1e-10)
    for attribute in ("alphas_", "coef_path_", "criterion_", "noise_variance_", "alpha_", "cv_alphas_", "mse_path_"):
        if hasattr(sklearn_model, attribute):
            close = {"rtol": 1e-7, "atol": 1e-7}
            np.testing.assert_allclose(
                getattr(ours, attribute), getattr(sklearn_model, attribute), err_msg=attribute, **close
            )
    assert ours.n_iter_ == sklearn_model.n_iter_
    assert getattr(ours, "active_", None) == getattr(sklearn_model, "active_", None)
    judged = tenfold.certify(sklearn_model, X, y)
    assert judged.kind == ours.certificate_.kind
    # three steps do not lead down to alpha = 0.01, and both are told so
    assert judged.ok == ours.certificate_.ok == (settings.get("max_iter") != 3)


def test_several_targets(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, y**2 / 100.0, X[:, 3]])
    ours, sklearn_model = tenfold.LassoLars(0.01).fit(X, Y), sklearn_module.LassoLars(0.01).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-7, atol=1e-7)
    # scikit-learn lists what is active after the next knot, so that a weight that is not zero may be missing
    assert [sorted(active) for active in ours.active_] == [np.flatnonzero(w).tolist() for w in sklearn_model.coef_]
    assert len(ours.alphas_) == len(ours.coef_path_) == 3
    assert ours.certificate_.ok
    assert len(ours.certificate_.parts) == 3


def test_products_that_are_given(diabetes):
    X, y = diabetes
    centred = X - X.mean(axis=0)
    G, c = centred.T @ centred, centred.T @ (y - y.mean())
    plain = tenfold.LassoLars(0.1).fit(X, y)
    np.testing.assert_allclose(tenfold.LassoLars(0.1, precompute=G).fit(X, y, c).coef_, plain.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="precompute is the Gram matrix"):
        tenfold.LassoLars(0.1, precompute=G[:3]).fit(X, y)
    with pytest.raises(ValueError, match="Xy are the products"):
        tenfold.LassoLars(0.1).fit(X, y, c[:3])
    # products of something else are found out
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        assert not tenfold.LassoLars(0.1, precompute=2.0 * G).fit(X, y).certificate_.ok
    with pytest.warns(UserWarning, match='"precompute" cannot be an array'):
        tenfold.LassoLarsCV(precompute=G).fit(X, y)


def test_jitter(diabetes):
    X, y = diabetes
    ours = tenfold.LassoLars(0.1, jitter=1e-3, random_state=7).fit(X, y)
    sklearn_model = sklearn_module.LassoLars(0.1, jitter=1e-3, random_state=7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-8, atol=1e-8)
    assert ours.certificate_.ok


def test_the_same_errors():
    X, y = data(10, 20)
    for module in (tenfold, sklearn_module):
        with pytest.raises(ValueError, match="Provide an estimate of the noise variance"):
            module.LassoLarsIC().fit(X, y)
        with pytest.raises(ValueError, match="Positive constraint not supported for 'lar'"):
            module.lars_path(X, y, positive=True)
        with pytest.raises(ValueError, match="Use lars_path_gram"):
            module.lars_path(None, y, Gram=np.eye(3))
        with pytest.raises(ValueError, match="shapes of the inputs Gram and Xy do not match"):
            module.lars_path(X, y, Gram=np.eye(3))
        with pytest.raises(ValueError, match="'method' parameter of lars_path must be"):
            module.lars_path(X, y, method="lazy")


def test_single_precision():
    X, y = data(60, 8)
    for ours, sklearn_model in zip(
        tenfold.lars_path(X.astype(np.float32), y.astype(np.float32), method="lasso")[::2],
        sklearn_module.lars_path(X.astype(np.float32), y.astype(np.float32), method="lasso")[::2],
        strict=True,
    ):
        assert ours.dtype == sklearn_model.dtype == np.float32


# -- where scikit-learn's path is not what it should be --------------------------------------------------------------


def test_angles_stay_equal_where_a_weight_passes_through_zero():
    """Its signs turn there; from then on its columns have unequal products with the residual, ours equal ones."""
    X, y = data(50, 20)
    alphas, _, path = tenfold.lars_path(X, y)
    crossed = np.flatnonzero(np.any(path[:, 1:-1] * path[:, 2:] < 0, axis=0))
    assert crossed.size
    for alpha, weights in zip(alphas, path.T, strict=True):
        products = np.abs(X.T @ (y - X @ weights)) / len(y)
        np.testing.assert_allclose(products[weights != 0], alpha, rtol=1e-8, atol=1e-12)
        assert products.max() <= alpha * (1 + 1e-9) + 1e-12
    sklearn_model = sklearn_module.Lars(n_nonzero_coefs=18, fit_intercept=False).fit(X, y)
    ours = tenfold.Lars(n_nonzero_coefs=18, fit_intercept=False).fit(X, y)
    assert ours.certificate_.ok
    assert not tenfold.certify(sklearn_model, X, y).ok


def test_weights_of_one_sign_end_at_least_squares_of_one_sign(diabetes):
    """scikit-learn's path stops where no other column can join; ours goes on to the solution of Lawson and Hanson."""
    X, y = diabetes
    y = y - y.mean()
    alphas, _, path = tenfold.lars_path(X, y, method="lasso", positive=True)
    assert alphas[-1] == 0.0
    np.testing.assert_allclose(path[:, -1], nnls(X, y)[0], rtol=1e-8, atol=1e-8)
    assert tenfold.LassoLars(0.1, positive=True).fit(X, y).certificate_.ok
    assert not tenfold.certify(sklearn_module.LassoLars(0.1, positive=True).fit(X, y), X, y).ok
