"""Multi-layer perceptrons beside scikit-learn's: for the same seed the same weights, up to rounding."""

import warnings

import numpy as np
import pytest
import sklearn.neural_network
from scipy import sparse

import tenfold


def samples(n=150, p=5, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    Y = np.column_stack([np.sin(X[:, k]) + 0.1 * rng.standard_normal(n) for k in range(outputs)])
    return X, Y[:, 0] if outputs == 1 else Y


def labels(count):
    X, y = samples()
    return X, np.digitize(y, np.quantile(y, np.arange(1, count) / count))


def both(name, X, y, weight=None, **settings):
    """Both classes fitted to the same."""
    models = [getattr(module, name)(random_state=1, **settings) for module in (tenfold, sklearn.neural_network)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models:
            model.fit(X, y, sample_weight=weight)
    return models


def assert_same(ours, theirs, rtol=1e-9, curves=True):
    for name in ("coefs_", "intercepts_"):
        for one, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-10)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.t_ == theirs.t_
    assert (ours.n_layers_, ours.n_outputs_, ours.out_activation_) == (
        theirs.n_layers_,
        theirs.n_outputs_,
        theirs.out_activation_,
    )
    if curves:
        np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-9)
        assert ours.best_loss_ == pytest.approx(theirs.best_loss_) or ours.best_loss_ is theirs.best_loss_ is None


RULES = {
    "adam": {},
    "adam of small batches": {"batch_size": 7, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3},
    "momentum": {"solver": "sgd", "nesterovs_momentum": False, "momentum": 0.5},
    "Nesterov": {"solver": "sgd", "batch_size": 20},
    "invscaling": {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.2, "batch_size": 20},
    "adaptive": {"solver": "sgd", "learning_rate": "adaptive", "learning_rate_init": 0.05, "tol": 1e-2},
    "in order": {"shuffle": False, "batch_size": 64},
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_epochs(rule, activation):
    X, y = labels(3)
    settings = {"hidden_layer_sizes": (8, 5), "activation": activation, "max_iter": 15, "alpha": 0.1}
    assert_same(*both("MLPClassifier", X, y, **{**settings, **rule}))


@pytest.mark.parametrize("count", [2, 3])
def test_weights_and_sparse_rows(count):
    X, y = labels(count)
    X[np.abs(X) < 0.5] = 0.0
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    settings = {"hidden_layer_sizes": (8,), "max_iter": 10, "batch_size": 32}
    ours, theirs = both("MLPClassifier", X, y, weight, **settings)
    assert_same(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()
    rows, _ = both("MLPClassifier", sparse.csr_array(X), y, weight, **settings)
    assert_same(rows, theirs)
    np.testing.assert_allclose(rows.predict_proba(sparse.csr_array(X)), theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_regression(outputs, loss):
    X, y = samples(outputs=outputs)
    y = np.random.default_rng(1).poisson(np.exp(y)) if loss == "poisson" else y
    ours, theirs = both("MLPRegressor", X, y, loss=loss, hidden_layer_sizes=(8,), max_iter=10, tol=0.0)
    # of several targets scikit-learn reports the mean of the square losses, and follows the gradient of their sum
    assert_same(ours, theirs, curves=outputs == 1 or loss == "poisson")
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_several_labels():
    X, y = samples(outputs=3)
    ours, theirs = both("MLPClassifier", X, (y > 0).astype(int), hidden_layer_sizes=(8,), max_iter=10)
    assert_same(ours, theirs)
    assert (ours.classes_ == theirs.classes_).all()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_early_stopping(name):
    X, y = labels(2) if name == "MLPClassifier" else samples()
    settings = {"hidden_layer_sizes": (8,), "early_stopping": True, "learning_rate_init": 0.02}
    ours, theirs = both(name, X, y, **settings)
    assert_same(ours, theirs)
    assert ours.validation_scores_ == pytest.approx(theirs.validation_scores_)
    assert ours.best_validation_score_ == pytest.approx(theirs.best_validation_score_)


def test_partial_fit_and_warm_start():
    X, y = labels(3)
    ours, theirs = (
        module.MLPClassifier((8,), random_state=1, max_iter=3, warm_start=True)
        for module in (tenfold, sklearn.neural_network)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (ours, theirs):
            for part in (slice(0, 90), slice(90, 150), slice(20, 140)):
                model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert_same(ours, theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (ours, theirs):
            model.fit(X, y).fit(X, y)
    assert_same(ours, theirs)


def test_float32_stays():
    X, y = labels(3)
    ours, theirs = both("MLPClassifier", X.astype(np.float32), y, hidden_layer_sizes=(8,), max_iter=10)
    assert all(part.dtype == np.float32 for part in (*ours.coefs_, *ours.intercepts_))
    assert ours.predict_proba(X.astype(np.float32)).dtype == np.float32
    for one, other in zip(ours.coefs_, theirs.coefs_, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_lbfgs_is_as_good(name):
    """From the same start to a loss that is no higher, or one that the judge finds as near to a minimum."""
    X, y = labels(3) if name == "MLPClassifier" else samples()
    settings = {"hidden_layer_sizes": (8,), "solver": "lbfgs", "activation": "tanh", "alpha": 1.0, "tol": 1e-6}
    ours, theirs = both(name, X, y, max_iter=5000, **settings)
    assert ours.certificate_.ok
    assert tenfold.certify(theirs, X, y).ok
    assert ours.loss_ <= theirs.loss_ + 0.02
