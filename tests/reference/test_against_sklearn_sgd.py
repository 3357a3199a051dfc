"""The delta rule against scikit-learn's: equal weights, epoch for epoch, for the same order of the rows.

Both follow the same recursion, so that nothing but rounding may differ, the shuffle of a seed included. Where
scikit-learn's arithmetic is not that of its own formulas, the recursion written out in tests/unit/test_sgd.py decides.
"""

import warnings
from itertools import product

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from design import only_if
from estimators import parameters

LOSSES = [
    "hinge",
    "log_loss",
    "modified_huber",
    "squared_hinge",
    "perceptron",
    "squared_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
]
REGRESSION = LOSSES[5:]
PENALTIES = [None, "l2", "l1", "elasticnet"]
SCHEDULES = ["constant", "optimal", "invscaling", "adaptive"]


def data(classes=2, n=240, p=7, seed=0):
    rng = np.random.default_rng(seed)
    # rows so short that no step overshoots: rounding would grow from step to step
    X = 0.3 * rng.standard_normal((n, p))
    z = 3.0 * X @ rng.standard_normal(p) + rng.standard_normal(n)
    y = np.searchsorted(np.quantile(z, np.arange(1, classes) / classes), z)
    return X, np.array(["ant", "bee", "cat", "dog"])[y], z, rng.uniform(0.3, 2.0, n)


def both(name, X, y, weight=None, **settings):
    fits = []
    for module in (tenfold, sklearn_module):
        model = quietly(module, name, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits.append(model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight))
    return fits


def quietly(module, name, **settings):
    """scikit-learn has deprecated its passive-aggressive classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return getattr(module, name)(**settings)


def numbers(model):
    """Weights and offsets as one vector."""
    b = model.offset_ if hasattr(model, "offset_") else model.intercept_
    return np.concatenate([np.ravel(model.coef_), np.ravel(b)])


def assert_same(ours, sklearn_model, epochs=True):
    a, b = numbers(ours), numbers(sklearn_model)
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * max(1.0, float(np.max(np.abs(b)))))
    if epochs:
        assert ours.n_iter_ == sklearn_model.n_iter_
        assert ours.t_ == sklearn_model.t_


def settings_of(loss, penalty, schedule):
    # at "optimal" the first steps are as long as alpha is small
    alpha = 1.0 if schedule == "optimal" and ("squared" in loss or loss == "modified_huber") else 0.01
    # scikit-learn's L1 norm is that before a truncation, so that its fits end elsewhere
    tol = None if penalty in ("l1", "elasticnet") else 1e-3
    rest = {"alpha": alpha, "eta0": 0.02, "max_iter": 8, "tol": tol}
    return {"loss": loss, "penalty": penalty, "learning_rate": schedule, **rest}


CASES = list(product(LOSSES, PENALTIES, SCHEDULES))


def slow_but(cases, every, settings):
    """Every `every`-th case runs by default, the rest with the slow tests."""
    marks = [() if k % every == 0 else pytest.mark.slow for k in range(len(cases))]
    return pytest.mark.parametrize(settings, [pytest.param(*c, marks=m) for c, m in zip(cases, marks, strict=True)])


@slow_but(CASES, 5, "loss, penalty, schedule")
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_two_classes(loss, penalty, schedule, shuffle):
    X, y, _, weight = data()
    chosen = settings_of(loss, penalty, schedule)
    assert_same(*both("SGDClassifier", X, y, weight, shuffle=shuffle, random_state=3, **chosen))
    # scikit-learn's norm on sparse rows is that of the last row's columns, so that its fits end elsewhere
    chosen = {**chosen, "tol": None}
    S = sparse.csr_array(np.where(np.abs(X) > 0.15, X, 0.0))
    assert_same(*both("SGDClassifier", S, y, weight, shuffle=shuffle, random_state=3, **chosen))


@slow_but(list(product(REGRESSION, PENALTIES, SCHEDULES)), 5, "loss, penalty, schedule")
def test_regression(loss, penalty, schedule):
    X, _, z, weight = data()
    chosen = settings_of(loss, penalty, schedule)
    assert_same(*both("SGDRegressor", X, z, weight, random_state=3, **chosen))
    S = sparse.csr_array(np.where(np.abs(X) > 0.15, X, 0.0))
    assert_same(*both("SGDRegressor", S, z, weight, random_state=3, **{**chosen, "tol": None}))


@slow_but(list(product(LOSSES, [None, "l2"], SCHEDULES, [True, 100])), 9, "loss, penalty, schedule, average")
def test_averages(loss, penalty, schedule, average):
    X, y, z, weight = data()
    chosen = settings_of(loss, penalty, schedule)
    assert_same(*both("SGDClassifier", X, y, weight, shuffle=False, average=average, **chosen))
    if loss in REGRESSION:
        assert_same(*both("SGDRegressor", X, z, weight, shuffle=False, average=average, **chosen))


@pytest.mark.parametrize("classes", [3, 4])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ant": 3.0, "bee": 0.5}])
def test_several_classes(classes, class_weight):
    X, y, _, weight = data(classes)
    chosen = {"class_weight": class_weight, "random_state": 1, "alpha": 0.01, "loss": "log_loss"}
    ours, sklearn_model = both("SGDClassifier", X, y, weight, **chosen)
    assert_same(ours, sklearn_model)
    np.testing.assert_allclose(ours.predict_proba(X), sklearn_model.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), sklearn_model.predict(X))


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities(loss, classes):
    X, y, _, _ = data(classes)
    ours, sklearn_model = both("SGDClassifier", X, y, loss=loss, random_state=1, alpha=0.1)
    far = np.vstack([X, 30.0 * X])
    np.testing.assert_allclose(ours.predict_proba(far), sklearn_model.predict_proba(far), rtol=1e-8, atol=1e-12)
    with np.errstate(divide="ignore"):
        log = np.log(ours.predict_proba(X))
    np.testing.assert_allclose(ours.predict_log_proba(X), log, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.decision_function(far), sklearn_model.decision_function(far), rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_passive_aggressive_classes(loss, classes, C):
    X, y, _, _ = data(classes)
    X = 4.0 * X  # a step overshoots by the length that the intercept adds to a row
    X[7] = 0.0  # no direction to step in
    for shuffle, average in ((False, False), (True, 50)):
        fits = both("PassiveAggressiveClassifier", X, y, loss=loss, C=C, shuffle=shuffle, average=average, max_iter=6,
                    random_state=2)  # fmt: skip
        assert_same(*fits, epochs=False)
    schedule = "pa1" if loss == "hinge" else "pa2"
    by_sgd = both("SGDClassifier", X, y, penalty=None, learning_rate=schedule, eta0=C, max_iter=6, random_state=2)
    assert_same(*by_sgd, epochs=False)
    ours = quietly(tenfold, "PassiveAggressiveClassifier", loss=loss, C=C, max_iter=by_sgd[0].n_iter_, tol=None,
                   random_state=2).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(ours.coef_, by_sgd[0].coef_)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_passive_aggressive_values(loss, C):
    X, _, z, _ = data()
    for epsilon in (0.0, 0.5):
        assert_same(*both("PassiveAggressiveRegressor", 4.0 * X, z, loss=loss, C=C, epsilon=epsilon, max_iter=6,
                          random_state=2))  # fmt: skip


@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_class(nu, schedule):
    X, _, _, weight = data()
    for average in (False, 30):
        ours, sklearn_model = both("SGDOneClassSVM", X + 2.0, None, weight, nu=nu, learning_rate=schedule, eta0=0.002,
                         shuffle=False, average=average, max_iter=9, tol=None)  # fmt: skip
        assert_same(ours, sklearn_model)
        np.testing.assert_allclose(ours.decision_function(X), sklearn_model.decision_function(X), atol=1e-9)
        np.testing.assert_allclose(ours.score_samples(X), sklearn_model.score_samples(X), atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), sklearn_model.predict(X))
        np.testing.assert_array_equal(ours.fit_predict(X), sklearn_model.fit_predict(X))


@pytest.mark.parametrize("average", [False, True, 70])
@pytest.mark.parametrize("name", ["SGDClassifier", "SGDRegressor", "SGDOneClassSVM"])
# with averages scikit-learn's next part starts from the intercepts of the first
@only_if(lambda name, average: not (average and name == "SGDClassifier"))
def test_parts(name, average):
    X, y, z, weight = data(3)
    target = {"SGDClassifier": y, "SGDRegressor": z}.get(name)
    first = {"classes": np.unique(y)} if name == "SGDClassifier" else {}
    fits = []
    for module in (tenfold, sklearn_module):
        model = getattr(module, name)(average=average, random_state=5, shuffle=False)
        for part in (slice(0, 30), slice(30, 31), slice(31, 240), slice(0, 240)):
            model.partial_fit(X[part], None if target is None else target[part], sample_weight=weight[part],
                              **first)  # fmt: skip
        fits.append(model)
    assert_same(*fits)
    # and after a fit
    for model in fits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(max_iter=3).fit(X, target).partial_fit(X[:50], None if target is None else target[:50])
    assert_same(*fits)


def test_warm_starts_and_given_starts():
    X, y, z, _ = data(3)
    for name, target in (("SGDClassifier", y), ("SGDRegressor", z)):
        fits = []
        for module in (tenfold, sklearn_module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = getattr(module, name)(warm_start=True, shuffle=False, max_iter=2)
                model.fit(X, target)
                fits.append(model.fit(X[::2], target[::2]))
        assert_same(*fits)
        rng = np.random.default_rng(0)
        coef, b = rng.standard_normal(np.shape(fits[0].coef_)), rng.standard_normal(np.shape(fits[0].intercept_))
        fits = []
        for module in (tenfold, sklearn_module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = getattr(module, name)(shuffle=False, max_iter=2)
                fits.append(model.fit(X, target, coef_init=coef.copy(), intercept_init=b.copy()))
        assert_same(*fits)


def test_single_precision_is_kept_and_computed_in_double():
    X, y, z, _ = data()
    single = X.astype(np.float32)
    for name, target in (("SGDClassifier", y), ("SGDRegressor", z), ("SGDOneClassSVM", None)):
        ours, sklearn_model = both(name, single, target, shuffle=False, max_iter=4)
        assert ours.coef_.dtype == sklearn_model.coef_.dtype == np.float32
        np.testing.assert_allclose(numbers(ours), numbers(sklearn_model), rtol=1e-3, atol=1e-4)
        double, _ = both(name, single.astype(np.float64), target, shuffle=False, max_iter=4)
        np.testing.assert_allclose(numbers(ours), numbers(double), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_the_objective_after_five_epochs_is_not_worse(loss):
    """The same recursion, so the same objective: a small version of the benchmark."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 20))
    y = X @ rng.standard_normal(20) + 2.0 * rng.standard_normal(4000) > 0
    ours, sklearn_model = both("SGDClassifier", X, y, loss=loss, alpha=0.01, max_iter=5, tol=None, random_state=0)
    objectives = []
    for model in (ours, sklearn_model):
        m = np.where(y, 1.0, -1.0) * model.decision_function(X)
        value = np.maximum(0.0, 1.0 - m) if loss == "hinge" else np.logaddexp(0.0, -m)
        objectives.append(value.mean() + 0.005 * np.sum(model.coef_**2))
    assert objectives[0] <= objectives[1] * (1 + 1e-9)


def test_early_stopping_stops_on_the_rows_that_scikit_learn_keeps_apart():
    """The rows are the same; our score is that of the weights, scikit-learn's that of weights without their scale."""
    from sklearn.model_selection import StratifiedShuffleSplit

    X, y, _, _ = data(2)
    model = tenfold.SGDClassifier(early_stopping=True, random_state=4, alpha=1e-3).fit(X, y)
    train, held = next(StratifiedShuffleSplit(test_size=0.1, random_state=4).split(X, y))
    given = tenfold.SGDClassifier(random_state=4, alpha=1e-3, shuffle=False)
    given.fit(X[train], y[train], X_val=X[held], y_val=y[held])
    assert model.status_ == given.status_ == "converged"
    fresh = tenfold.SGDClassifier(random_state=4, alpha=1e-3, max_iter=model.n_iter_, tol=None)
    skipped = tenfold.SGDClassifier(early_stopping=True, random_state=4, alpha=1e-3, max_iter=model.n_iter_, tol=None)
    np.testing.assert_array_equal(parameters(skipped.fit(X, y)), parameters(model))
    assert not np.array_equal(parameters(fresh.fit(X, y)), parameters(model))
