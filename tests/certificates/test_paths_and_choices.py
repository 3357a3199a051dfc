"""What sparse models keep beside their weights: paths, subsets, grids and choices that do not follow from the data."""

import copy
import warnings

import numpy as np
import pytest
import sklearn.linear_model
from test_tamper import survivors

import tenfold
from tenfold import certify

LIBRARIES = [tenfold, sklearn.linear_model]


def data(n=80, p=12, targets=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    shape = p if targets is None else (p, targets)
    y = X @ (rng.standard_normal(shape) * (rng.random(shape) < 0.5))
    return X, 3.0 + y + 0.5 * rng.standard_normal(y.shape)


CHOOSING = [
    ("OrthogonalMatchingPursuitCV", {"max_iter": 8}),
    ("MultiTaskLassoCV", {"alphas": 4, "cv": 3, "tol": 1e-10}),
    ("MultiTaskElasticNetCV", {"alphas": 4, "l1_ratio": [0.3, 0.9], "cv": 3, "tol": 1e-10}),
    ("ElasticNetCV", {"alphas": [0.01, 0.1, 1.0], "l1_ratio": [0.3, 0.9], "cv": 3, "tol": 1e-10}),
]


@pytest.mark.parametrize("library", LIBRARIES, ids=["tenfold", "sklearn"])
@pytest.mark.parametrize(("name", "settings"), CHOOSING, ids=[name for name, _ in CHOOSING])
def test_tampered_choices_are_not_certified(library, name, settings):
    X, y = data(targets=2 if "MultiTask" in name else None)
    model = getattr(library, name)(**settings).fit(X, y)
    assert certify(model, X, y).ok
    assert survivors(model, X, y) == []


@pytest.mark.parametrize("library", LIBRARIES, ids=["tenfold", "sklearn"])
@pytest.mark.parametrize("name", ["Lars", "LassoLars", "LassoLarsCV"])
def test_one_knot_that_was_moved_is_not_certified(library, name):
    X, y = data()
    model = getattr(library, name)(**({"alpha": 0.001} if name == "LassoLars" else {})).fit(X, y)
    assert certify(model, X, y).ok
    for attribute in ("alphas_", "coef_path_"):
        worse = copy.deepcopy(model)
        getattr(worse, attribute)[..., 2] *= 1.001
        assert not certify(worse, X, y).ok


@pytest.mark.parametrize("library", LIBRARIES, ids=["tenfold", "sklearn"])
def test_a_path_that_ends_too_early_is_not_certified(library):
    X, y = data()
    model, short = (library.Lars(n_nonzero_coefs=count).fit(X, y) for count in (8, 5))
    short.n_nonzero_coefs = 8
    assert certify(model, X, y).ok
    assert "ends elsewhere" in certify(short, X, y).note


@pytest.mark.parametrize("library", LIBRARIES, ids=["tenfold", "sklearn"])
def test_another_point_of_the_path_is_no_knot(library):
    """With the criterion that belongs to it."""
    X, y = data()
    model = library.LassoLarsIC().fit(X, y)
    assert certify(model, X, y).ok
    between = 0.5 * (model.alphas_[1] + model.alphas_[2])
    path = sklearn.linear_model.lars_path(X - X.mean(axis=0), y - y.mean(), method="lasso", alpha_min=between)[2]
    left = y - y.mean() - (X - X.mean(axis=0)) @ path[:, -1]
    model.alphas_[2] = between
    model.criterion_[2] = (
        len(y) * np.log(2 * np.pi * model.noise_variance_)
        + left @ left / model.noise_variance_
        + 2 * np.count_nonzero(path[:, -1])
    )
    assert "not the knots" in certify(model, X, y).note


def test_second_best_subset_is_not_certified_with_its_own_sum_of_squares():
    X, y = data(p=6)
    model = tenfold.BestSubset(n_nonzero_coefs=4).fit(X, y)
    assert certify(model, X, y).ok
    inside = model.subsets_[2]
    other = np.zeros_like(inside)
    other[np.flatnonzero(inside)[0]] = other[np.flatnonzero(~inside)[0]] = True
    centred, target = X - X.mean(axis=0), y - y.mean()
    left = target - centred[:, other] @ np.linalg.lstsq(centred[:, other], target, rcond=None)[0]
    squares = float(left @ left)
    model.subsets_[2], model.rss_path_[2] = other, squares
    model.criterion_[2] = len(y) * np.log(squares / len(y)) + 2 * np.log(len(y))
    assert "not the best 2 columns" in certify(model, X, y).note


def test_columns_that_repeat_others_are_judged_as_one():
    X, y = data(p=6)
    X[:, 5] = X[:, 0]
    model = tenfold.BestSubset().fit(X, y)
    assert model.certificate_.ok
    assert certify(model, X, y).ok


def test_sweeps_over_few_columns_are_not_iterations():
    """Many features and noise as strong as the signal: coordinate descent of scikit-learn converges at its limit."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 3000))
        signal = X[:, :300] @ rng.standard_normal(300)
        y = signal + signal.std() * rng.standard_normal(300)
        model = tenfold.Lasso(alpha=0.05).fit(X, y)
        assert model.certificate_.ok
        assert model.n_iter_ <= model.max_iter


@pytest.mark.parametrize("shape", [(40, 500), (100, 20)])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_an_l1_penalty_it_is_ridge_regression(shape, intercept):
    X, y = data(*shape, targets=2)
    ridge = sklearn.linear_model.Ridge(alpha=0.3 * len(y), fit_intercept=intercept).fit(X, y)
    settings = {"alpha": 0.3, "l1_ratio": 0, "fit_intercept": intercept}
    for model in (tenfold.ElasticNet(**settings), tenfold.MultiTaskElasticNet(**settings)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, y)
        np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-8, atol=1e-10)
        assert certify(model, X, y).ok
