"""SVCCV and SVRCV: scores are those of refits, leave-one-out values and bounds those of machines without a sample."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.svm import SVC, SVR

from tenfold import SVCCV, SVRCV, certify
from tenfold.cross_validation.kernel_svm import ClassSearch, Penalties, TargetSearch
from tenfold.kernels import as_kernel
from tenfold.plans.kernel_svm import ClassOptions, Samples, Settings

RNG = np.random.default_rng(5)
X = RNG.standard_normal((90, 3))
SIDES = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.standard_normal(90) > 0.0, 2, 1)
THREE = np.digitize(X[:, 0] + 0.4 * RNG.standard_normal(90), [-0.5, 0.5])
Y = np.sin(2.0 * X[:, 0]) + 0.2 * RNG.standard_normal(90)
CS, GAMMAS = [0.1, 1.0, 10.0], [0.1, 0.7]
FEW = slice(0, 40)
EVERY = np.arange(40)


def by_gamma(search):
    """The scores of a search, whose candidates are sorted by C first."""
    return search.cv_results_["mean_test_score"].reshape(len(CS), len(GAMMAS)).T.ravel()


def without(search, i):
    """The value of sample i by the machine of the others."""
    return np.ravel(search.values(np.delete(EVERY, i), np.array([i])))[0]


@pytest.mark.parametrize("y", [SIDES, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("cv", [StratifiedKFold(4), ShuffleSplit(3, random_state=0)], ids=["folds", "parts"])
def test_scores_are_those_of_refits(y, cv):
    model = SVCCV(CS, gammas=GAMMAS, cv=cv, tol=1e-6).fit(X, y)
    search = GridSearchCV(SVC(tol=1e-6), {"gamma": GAMMAS, "C": CS}, cv=cv).fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], by_gamma(search), atol=1e-12)
    assert search.best_score_ == pytest.approx(model.best_score_, abs=1e-12)
    again = SVC(C=model.C_, gamma=model.gamma_, tol=1e-6, decision_function_shape="ovr").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-3)
    assert certify(model, X, y).ok


def test_scores_of_regression_are_those_of_refits():
    model = SVRCV(CS, gammas=GAMMAS, cv=KFold(4), tol=1e-7).fit(X, Y)
    search = GridSearchCV(SVR(tol=1e-7), {"gamma": GAMMAS, "C": CS}, cv=KFold(4)).fit(X, Y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], by_gamma(search), atol=1e-4)
    assert (model.C_, model.gamma_) == (search.best_params_["C"], search.best_params_["gamma"])
    assert certify(model, X, Y).ok


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_values_without_a_sample_are_exact_where_no_other_changes_its_kind(target, squared):
    samples = Samples(as_kernel("rbf", gamma=0.3), X[FEW], EVERY)
    penalties, settings = Penalties(np.array([3.0]), np.ones(40)), Settings(1e-9)
    if target == "classes":
        search = ClassSearch(samples, SIDES[FEW] - 1, 2, penalties, settings, ClassOptions(squared=squared))
        values = search.leave_one_out()[0][:, 0, 0]
    else:
        search = TargetSearch(samples, Y[FEW], 0.1, penalties, settings, squared)
        values = search.leave_one_out()[:, 0]
    whole = np.ravel(search.values(EVERY, EVERY))
    refits = np.array([without(search, i) for i in range(40)])
    moved = np.abs(refits - whole) > 1e-3
    exact = np.isclose(values, refits, atol=1e-6)
    assert exact[~moved].mean() > 0.8
    assert np.any(exact & moved)
    assert np.corrcoef(values, refits)[0, 1] > 0.8


@pytest.mark.parametrize("make", [SVCCV, SVRCV])
def test_spans_choose_nearly_as_folds_of_one_sample(make):
    y = SIDES if make is SVCCV else Y
    scoring = "accuracy" if make is SVCCV else "neg_mean_squared_error"
    more = {"calibrate": False} if make is SVCCV else {}
    model = make(CS, gammas=GAMMAS, cv="span", scoring=scoring, **more).fit(X, y)
    folds = make(CS, gammas=GAMMAS, cv=KFold(90), scoring=scoring, **more).fit(X, y)
    scores = folds.cv_results_["mean_test_score"]
    chosen = scores.reshape(2, 3)[GAMMAS.index(model.gamma_), CS.index(model.C_)]
    assert chosen >= folds.best_score_ - 0.2 * np.ptp(scores)
    assert model.cost_ < 0.3 * folds.cost_


@pytest.mark.parametrize("y", [SIDES, THREE], ids=["two classes", "three"])
def test_bound_is_below_the_accuracy_without_each_sample(y):
    x, y = X[FEW], y[FEW]
    model = SVCCV(CS, gammas=GAMMAS, cv="xi-alpha", calibrate=False).fit(x, y)
    folds = SVCCV(CS, gammas=GAMMAS, cv=LeaveOneOut(), calibrate=False).fit(x, y)
    assert np.all(model.cv_results_["mean_test_score"] <= folds.cv_results_["mean_test_score"] + 1e-12)
    assert np.any(model.cv_results_["mean_test_score"] > 0.1)


def test_probabilities_are_of_left_out_samples():
    """The same with folds of the choice and without; better than the frequencies of the classes on new samples."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 3))
    z = np.digitize(Z[:, 0] + 0.4 * rng.standard_normal(300), [-0.5, 0.5])
    for cv in (5, "span", ShuffleSplit(2, random_state=0)):
        model = SVCCV([1.0], cv=cv).fit(X, THREE)
        p = model.predict_proba(Z)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert log_loss(z, p) < 0.8 * log_loss(z, np.tile(np.bincount(THREE) / 90, (300, 1)))
        assert certify(model, X, THREE).ok
    np.testing.assert_allclose(model.predict_log_proba(Z), np.log(p))
    assert not hasattr(SVCCV([1.0], calibrate=False).fit(X, THREE), "predict_proba")


def test_given_matrix_and_sparse_samples():
    from scipy import sparse

    model = SVCCV(CS, gammas=0.3, cv=3).fit(X, THREE)
    given = SVCCV(CS, kernel="precomputed", cv=3).fit(rbf_kernel(X, gamma=0.3), THREE)
    rows = SVCCV(CS, gammas=0.3, cv=3).fit(sparse.csr_matrix(X), THREE)
    for other, samples in ((given, rbf_kernel(X, gamma=0.3)), (rows, sparse.csr_matrix(X))):
        np.testing.assert_array_equal(other.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
        assert other.C_ == model.C_
        np.testing.assert_allclose(other.decision_function(samples), model.decision_function(X), atol=1e-3)
        assert certify(other, samples, THREE).ok


def test_samples_of_weight_zero_are_scored_without_weight():
    weight = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    model = SVCCV(CS, gammas=0.3, cv=3).fit(X, THREE, sample_weight=weight)
    assert certify(model, X, THREE, sample_weight=weight).ok
    scores = []
    for train, test in StratifiedKFold(3).split(X, THREE):
        train, test = train[weight[train] > 0.0], test[weight[test] > 0.0]
        scores.append([SVC(C=C, gamma=0.3).fit(X[train], THREE[train]).score(X[test], THREE[test]) for C in CS])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], np.mean(scores, axis=0), atol=0.02)


def test_cost_is_far_below_a_fit_for_each_candidate():
    model = SVCCV(10, cv=5, calibrate=False).fit(np.tile(X, (4, 1)), np.tile(SIDES, 4))
    assert 1.0 < model.cost_ < 40.0  # of fifty and one


def test_a_class_that_a_split_has_not_is_not_predicted():
    order = np.argsort(THREE, kind="stable")
    model = SVCCV([1.0], gammas=0.3, cv=KFold(3), calibrate=False).fit(X[order], THREE[order])
    assert model.best_score_ < 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Cs": []}, "at least one"),
        ({"Cs": [0.0, 1.0]}, "positive"),
        ({"gammas": []}, "at least one"),
        ({"gammas": [0.1, -1.0]}, "at least 0"),
        ({"gammas": [0.1, 1.0], "kernel": "linear"}, "no gamma"),
        ({"cv": "loo"}, "cv"),
        ({"scoring": "neg_log_loss", "cv": 3}, "needs probabilities"),
        ({"cv": "xi-alpha", "class_weight": {1: 2.0}}, "equal weight"),
    ],
)
def test_arguments_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        SVCCV(**settings).fit(X, SIDES)


def test_a_class_without_weight_is_refused():
    with pytest.raises(ValueError, match="leave these samples out"):
        SVCCV([1.0]).fit(X, THREE, sample_weight=np.where(THREE == 1, 0.0, 1.0))


def test_time_limit_ends_the_search():
    with pytest.warns(Warning, match="time"):
        model = SVCCV([1.0], time_limit=1e-9, calibrate=False).fit(X, SIDES)
    assert model.status_ == "time limit"
