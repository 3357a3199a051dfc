"""The perceptron beside scikit-learn's: the same numbers, pass after pass."""

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.base import clone

import tenfold

SETTINGS = [
    {},
    {"max_iter": 3, "tol": None},
    {"eta0": 0.3},
    {"fit_intercept": False},
    {"class_weight": {0: 2.0, 1: 0.5}},
    {"class_weight": "balanced"},
    {"early_stopping": True, "random_state": 3},
    {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 2},
    {"penalty": "l2"},
    {"penalty": "l1", "alpha": 1e-3},
    {"penalty": "elasticnet", "l1_ratio": 0.4},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)


def data(count=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)) + 0.2
    z = X @ rng.standard_normal(5) + 0.4 * rng.standard_normal(300)
    return X, np.digitize(z, np.quantile(z, np.arange(1, count) / count))


def both(settings, shuffle=False):
    return (module.Perceptron(shuffle=shuffle, **settings) for module in (tenfold, sklearn_module))


either_order = pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])


@every_setting
@either_order
def test_two_classes(settings, shuffle):
    X, y = data()
    ours, sklearn_model = (model.fit(X, y) for model in both(settings, shuffle))
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, sklearn_model.intercept_, rtol=1e-12, atol=1e-12)
    assert (ours.n_iter_, ours.t_) == (sklearn_model.n_iter_, sklearn_model.t_)
    np.testing.assert_allclose(ours.decision_function(X), sklearn_model.decision_function(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "settings", [s for s in SETTINGS if "class_weight" not in s and "early_stopping" not in s], ids=str
)
@either_order
def test_three_classes_each_against_the_rest(settings, shuffle):
    X, y = data(3)
    ours, sklearn_model = (model.fit(X, y) for model in both(settings, shuffle))
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, sklearn_model.intercept_, rtol=1e-12, atol=1e-12)
    assert ours.n_iter_ == sklearn_model.n_iter_


def test_weights_of_rows_are_lengths_of_steps():
    X, y = data()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 300)
    # scikit-learn's patience is with the loss without weights
    ours, sklearn_model = (m.fit(X, y, sample_weight=weight) for m in both({"max_iter": 4, "tol": None}))
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12)


def test_first_weights_and_parts():
    X, y = data()
    start = {"coef_init": np.ones((1, 5)), "intercept_init": np.array([2.0])}
    ours, sklearn_model = (m.fit(X, y, **start) for m in both({"max_iter": 2, "tol": None}))
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12)
    ours, sklearn_model = both({})
    for part in (slice(0, 100), slice(100, 120), slice(120, 300)):
        for model in (ours, sklearn_model):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12)
        assert ours.t_ == sklearn_model.t_
    assert ours.certificate_.status == "not judged"
    assert not ours.certificate_.ok
    assert "certify" in ours.certificate_.explain()


def test_a_warm_start_goes_on():
    X, y = data()
    ours, sklearn_model = both({"max_iter": 1, "tol": None, "warm_start": True})
    for _ in range(3):
        ours.fit(X, y)
        sklearn_model.fit(X, y)
        np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-12)
    cold = clone(ours).fit(X, y)
    assert not np.array_equal(cold.coef_, ours.coef_)


def test_single_precision():
    X, y = data()
    ours, sklearn_model = (m.fit(X.astype(np.float32), y) for m in both({}))
    assert ours.coef_.dtype == sklearn_model.coef_.dtype == np.float32
    np.testing.assert_allclose(ours.coef_, sklearn_model.coef_, rtol=1e-4)


def test_random_orders_are_as_good():
    X, y = data()
    scores = {
        module: np.mean([module.Perceptron(random_state=k).fit(X, y).score(X, y) for k in range(20)])
        for module in (tenfold, sklearn_module)
    }
    assert abs(scores[tenfold] - scores[sklearn_module]) < 0.02


def test_certify_counts_the_mistakes_of_sklearn_model():
    X, y = data()
    sklearn_model = sklearn_module.Perceptron().fit(X, y)
    certificate = tenfold.certify(sklearn_model, X, y)
    assert certificate.value == np.sum(sklearn_model.predict(X) != y) > 0
    assert not certificate.ok
    apart = y == 1
    X[apart] += 5.0
    sklearn_model.fit(X, y)
    assert tenfold.certify(sklearn_model, sparse.csr_array(X), y).ok


@pytest.mark.parametrize("name", ["mode", "tie", "normalize", "multi_class", "record"])
def test_what_does_not_go_with_a_penalty(name):
    other = {"mode": "batch", "tie": "positive", "normalize": True, "multi_class": "joint", "record": True}
    with pytest.raises(ValueError, match=f"A penalty goes with {name}="):
        tenfold.Perceptron(penalty="l2", **{name: other[name]}).fit(*data())
