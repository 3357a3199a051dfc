"""The delta rule judged on demand, ours and scikit-learn's: sound, ok at the optimum, refused away from it."""

import copy
import warnings

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

import tenfold
from estimators import classes, regression, zero_weights

CLASS_LOSSES = ["hinge", "log_loss", "squared_hinge", "modified_huber", "squared_error", "huber"]
VALUES = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
PENALTIES = {"l2": {"penalty": "l2"}, "l1": {"penalty": "l1"}, "elasticnet": {"penalty": "elasticnet", "l1_ratio": 0.4}}
EPSILON = 0.1


def loss_value(loss, y, z):
    m, r = y * z, np.abs(z - y)
    return {
        "hinge": np.maximum(0, 1 - m),
        "squared_hinge": np.maximum(0, 1 - m) ** 2,
        "modified_huber": np.where(m >= -1, np.maximum(0, 1 - m) ** 2, -4 * m),
        "log_loss": np.logaddexp(0, -m),
        "squared_error": 0.5 * r**2,
        "huber": np.where(r <= EPSILON, 0.5 * r**2, EPSILON * (r - 0.5 * EPSILON)),
        "epsilon_insensitive": np.maximum(0, r - EPSILON),
        "squared_epsilon_insensitive": np.maximum(0, r - EPSILON) ** 2,
    }[loss]


def objective(model, X, y, weight, w, b, count):
    """What the steps go down on: the mean over the rows of weighted losses, and the penalty."""
    l1 = {"l1": 1.0, "elasticnet": model.l1_ratio}.get(model.penalty, 0.0)
    penalty = (1 - l1) / 2 * w @ w + l1 * np.abs(w).sum() if model.penalty else 0.0
    return float(np.sum(weight * loss_value(model.loss, y, X @ w + b)) / count + model.alpha * penalty)


def fit_quietly(module, name, X, y, weight=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(module, name)(random_state=0, **settings).fit(X, y, sample_weight=weight)


def best_of(model, X, y, weight, count, intercept=True):
    """The least objective that general minimisers find from the model's weights."""
    start = np.append(np.ravel(model.coef_), model.intercept_)

    def value(p):
        return objective(model, X, y, weight, p[:-1], p[-1] if intercept else 0.0, count)

    result = [minimize(value, start, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12, "xatol": 1e-10}),
             minimize(value, start, method="Powell", options={"maxiter": 4000, "ftol": 1e-14})]  # fmt: skip
    return min(result, key=lambda one: one.fun)


@pytest.mark.parametrize("module", [tenfold, sklearn_module], ids=["ours", "scikit-learn's"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_two_classes(loss, penalty, module):
    X, labels, _ = classes(60, 3)
    y = np.where(labels == "bee", 1.0, -1.0)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 60)
    settings = {"loss": loss, "alpha": 0.05, "max_iter": 20, "tol": None, **PENALTIES[penalty]}
    model = fit_quietly(module, "SGDClassifier", X, labels, weight, **settings)
    check(model, X, labels, y, weight)


@pytest.mark.parametrize("module", [tenfold, sklearn_module], ids=["ours", "scikit-learn's"])
@pytest.mark.parametrize("loss", VALUES)
def test_values(loss, module):
    X, y, _ = regression(60, 3)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 60)
    for penalty in PENALTIES.values():
        settings = {"loss": loss, "alpha": 0.05, "max_iter": 20, "tol": None, **penalty}
        check(fit_quietly(module, "SGDRegressor", X, y, weight, **settings), X, y, y, weight)


def check(model, X, labels, y, weight):
    certificate = tenfold.certify(model, X, labels, sample_weight=weight)
    assert certificate.kind == "gap"
    w, b = np.ravel(model.coef_), float(model.intercept_[0])
    # the judge divides by the weights, the steps by the number of rows
    unit = len(y) / weight.sum()
    here = objective(model, X, y, weight, w, b, len(y))
    np.testing.assert_allclose(certificate.objective, here * unit, rtol=1e-9)
    best = best_of(model, X, y, weight, len(y))
    assert certificate.value + certificate.floor >= (here - best.fun) * unit - 1e-12
    assert certificate.lower_bound <= best.fun * unit + 1e-9
    # the same weights, moved away: more is possible, and the number says so
    worse = copy.deepcopy(model)
    worse.coef_ = 1.5 * model.coef_ + 0.3
    again = tenfold.certify(worse, X, labels, sample_weight=weight)
    assert not again.ok
    assert again.objective > certificate.objective
    assert "do not rely" in again.explain()


def test_at_the_optimum_it_is_ok():
    X, labels, _ = classes(200, 3)
    model = tenfold.SGDClassifier(loss="log_loss", alpha=0.01, random_state=0).fit(X, labels)
    assert not tenfold.certify(model, X, labels).ok
    best = tenfold.LogisticRegression(C=1.0 / (200 * 0.01)).fit(X, labels)
    model.coef_, model.intercept_ = best.coef_, best.intercept_
    certificate = tenfold.certify(model, X, labels)
    assert certificate.ok
    np.testing.assert_allclose(certificate.objective, best.certificate_.objective, rtol=1e-9)
    # a long and averaged walk gets there, too
    X, y, _ = regression(500, 3)
    settings = {"alpha": 0.1, "learning_rate": "invscaling", "power_t": 0.6, "eta0": 0.1, "average": 100_000}
    walk = tenfold.SGDRegressor(tol=None, max_iter=1000, random_state=0, **settings).fit(X, y)
    start = tenfold.SGDRegressor(tol=None, max_iter=1, random_state=0, **{**settings, "average": False}).fit(X, y)
    assert tenfold.certify(walk, X, y).value < 1e-3 * tenfold.certify(start, X, y).value


@pytest.mark.parametrize("module", [tenfold, sklearn_module], ids=["ours", "scikit-learn's"])
def test_several_classes_and_their_weights(module):
    X, labels, _ = classes(90, 3, count=3)
    settings = {"loss": "log_loss", "alpha": 0.05, "class_weight": {"ant": 2.0, "bee": 0.5, "cat": 1.0}}
    model = fit_quietly(module, "SGDClassifier", X, labels, **settings)
    certificate = tenfold.certify(model, X, labels)
    assert len(certificate.parts) == 3
    assert certificate.value == max(certificate.parts)
    for k, name in enumerate(("ant", "bee", "cat")):
        y = np.where(labels == name, 1.0, -1.0)
        weight = np.where(y > 0, settings["class_weight"][name], 1.0)
        two = copy.deepcopy(model)
        two.class_weight, two.classes_ = None, np.array([-1.0, 1.0])
        two.coef_, two.intercept_ = model.coef_[k : k + 1], model.intercept_[k : k + 1]
        np.testing.assert_allclose(tenfold.certify(two, X, y, sample_weight=weight).value, certificate.parts[k])


def test_rows_of_weight_zero_are_removed_from_ours_and_not_from_scikit_learns():
    X, y, _ = regression(60, 3)
    weight = zero_weights(60)
    keep = weight > 0
    for module, same in ((tenfold, True), (sklearn_module, False)):
        model = fit_quietly(module, "SGDRegressor", X, y, weight, alpha=0.1)
        whole = tenfold.certify(model, X, y, sample_weight=weight)
        fewer = tenfold.certify(model, X[keep], y[keep], sample_weight=weight[keep])
        assert bool(np.isclose(whole.objective, fewer.objective, rtol=1e-9)) is same


def test_where_the_rows_are_does_not_matter():
    X, labels, _ = classes(200, 4)
    X[np.abs(X) < 0.5] = 0.0
    model = tenfold.SGDClassifier(loss="log_loss", alpha=0.01, random_state=0).fit(X, labels)
    dense = tenfold.certify(model, X, labels)
    for given, y in (
        (sparse.csr_array(X), labels),
        (tenfold.rows([(X[:70], labels[:70]), (X[70:], labels[70:])]), None),
    ):
        np.testing.assert_allclose(tenfold.certify(model, given, y).value, dense.value, rtol=1e-6)


# -- the one-class SVM -----------------------------------------------------------------------------------------------


def cloud(n=300):
    return 1.0 + 0.5 * np.random.default_rng(0).standard_normal((n, 2))


@pytest.mark.parametrize("module", [tenfold, sklearn_module], ids=["ours", "scikit-learn's"])
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.7])
def test_one_class(nu, module):
    X = cloud()
    model = fit_quietly(module, "SGDOneClassSVM", X, None, nu=nu, average=True)
    certificate = tenfold.certify(model, X)

    def value(w, offset):
        return np.mean(np.maximum(0.0, offset - X @ w)) + nu / 2 * w @ w + nu * (1.0 - offset)

    best = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(X)
    # libsvm's weights are those of nu n times the problem
    w, offset = best.coef_[0] / (nu * len(X)), best.offset_ / (nu * len(X))
    least = value(w, offset[0])
    here = value(np.ravel(model.coef_), float(model.offset_[0]))
    np.testing.assert_allclose(certificate.objective, here, rtol=1e-12)
    assert certificate.lower_bound <= least + 1e-9
    assert certificate.value >= here - least - 1e-9
    # the optimum of libsvm, judged by the same call: far nearer
    model.coef_, model.offset_ = w, offset
    at_best = tenfold.certify(model, X)
    assert at_best.value <= 0.01 * max(certificate.value, 1e-2 * nu)
    worse = copy.deepcopy(model)
    worse.coef_ = 1.2 * worse.coef_
    assert tenfold.certify(worse, X).value > 10 * at_best.value


def test_one_class_without_an_intercept_with_weights_and_in_blocks():
    X = cloud()
    weight = zero_weights(300)
    for intercept in (True, False):
        model = tenfold.SGDOneClassSVM(nu=0.2, fit_intercept=intercept, random_state=0).fit(X, sample_weight=weight)
        one = tenfold.certify(model, X, sample_weight=weight)
        keep = weight > 0
        two = tenfold.certify(model, X[keep], sample_weight=weight[keep])
        three = tenfold.certify(model, tenfold.rows([X[:100], X[100:]]), sample_weight=weight)
        four = tenfold.certify(model, sparse.csr_array(X), sample_weight=weight)
        for other in (two, three, four):
            np.testing.assert_allclose(other.value, one.value, rtol=1e-9)
        assert 0.0 < one.value < 1.0
    # weights so small that there is no optimum
    light = tenfold.certify(model.set_params(fit_intercept=True, nu=0.9), X, sample_weight=np.full(300, 0.1))
    assert light.status == "no maximum"
    assert not light.ok


# -- what cannot be judged -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "why"), [("perceptron", "zero at zero weights"), ("tanh", "not convex")])
def test_losses_without_a_gap(loss, why):
    X, y, _ = classes()
    model = tenfold.SGDClassifier(loss=loss, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=why):
        tenfold.certify(model, X, y)


@pytest.mark.parametrize("module", [tenfold, sklearn_module], ids=["ours", "scikit-learn's"])
def test_steps_without_a_problem(module):
    X, y, _ = classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = module.PassiveAggressiveClassifier(random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="solve no problem"):
        tenfold.certify(model, X, y)
    model = fit_quietly(module, "SGDClassifier", X, y, learning_rate="pa1", penalty=None)
    with pytest.raises(TypeError, match="no problem that they solve"):
        tenfold.certify(model, X, y)
    fixed = tenfold.SGDClassifier(fit_intercept=False, random_state=0).fit(X, y, intercept_init=[1.0])
    with pytest.raises(TypeError, match="intercept was given"):
        tenfold.certify(fixed, X, y)
    with pytest.raises(ValueError, match="classes that the model does not know"):
        tenfold.certify(fixed, X, np.where(y == "ant", "emu", y))
