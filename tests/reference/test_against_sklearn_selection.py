"""Nested cross-validation against scikit-learn's cross_validate around GridSearchCV, to the last digits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.neighbors import KNeighborsClassifier as TheirNeighbours
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tenfold import KNeighborsClassifierCV, LogisticRegression, LogisticRegressionCV, RidgeCV
from tenfold.selection import nested, splits_for


@pytest.fixture(scope="module")
def numbers():
    return tuple(part[:150] for part in load_diabetes(return_X_y=True))


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:200]
    return X[rows], y[rows]


def by_hand(model, grid, X, y, protocol, scoring):
    """GridSearchCV in each outer fold, by the inner folds of the protocol."""
    scores, chosen = [], []
    predictions = np.empty_like(y)
    for split, (train, test) in enumerate(protocol):
        search = GridSearchCV(clone(model), grid, cv=protocol.inner(split), scoring=scoring).fit(X[train], y[train])
        scores.append(search.score(X[test], y[test]))
        chosen.append(search.best_params_)
        predictions[test] = search.predict(X[test])
    return scores, chosen, predictions


def test_a_model_without_a_choice_is_cross_validate(numbers):
    X, y = numbers
    cv = KFold(5, shuffle=True, random_state=3)
    ours = nested({"ridge": TheirRidge(0.1)}, X, y, outer=cv)["ridge"]
    assert ours.scores.tolist() == cross_validate(TheirRidge(0.1), X, y, cv=cv)["test_score"].tolist()
    np.testing.assert_array_equal(ours.predictions, cross_val_predict(TheirRidge(0.1), X, y, cv=cv))


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
def test_a_model_of_classes_is_cross_validate(classes, scoring):
    X, y = classes
    cv = StratifiedKFold(5, shuffle=True, random_state=3)
    model = make_pipeline(StandardScaler(), TheirNeighbours(15))
    ours = nested({"neighbours": model}, X, y, outer=cv, scoring=scoring)["neighbours"]
    assert ours.scores.tolist() == cross_validate(model, X, y, cv=cv, scoring=scoring)["test_score"].tolist()
    proba = cross_val_predict(model, X, y, cv=cv, method="predict_proba")
    np.testing.assert_array_equal(ours.probabilities, proba)
    np.testing.assert_array_equal(ours.predictions, cross_val_predict(model, X, y, cv=cv))


def test_scores_of_decisions(classes):
    X, y = classes
    model = make_pipeline(StandardScaler(), SVC())
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    ours = nested({"machine": model}, X, y, outer=cv, scoring="roc_auc")["machine"]
    assert ours.scores.tolist() == cross_validate(model, X, y, cv=cv, scoring="roc_auc")["test_score"].tolist()
    np.testing.assert_array_equal(ours.decisions, cross_val_predict(model, X, y, cv=cv, method="decision_function"))
    assert ours.probabilities is None


GRIDS = {
    "last step": (make_pipeline(StandardScaler(), TheirRidge()), {"ridge__alpha": [0.1, 1.0, 10.0, 100.0]}),
    "first step": (
        make_pipeline(StandardScaler(), PCA(random_state=0), TheirRidge()),
        {"pca__n_components": [2, 5], "standardscaler__with_std": [True, False], "ridge__alpha": [1.0, 10.0]},
    ),
    "whole steps": (
        make_pipeline(StandardScaler(), TheirRidge()),
        [{"standardscaler": ["passthrough", StandardScaler(with_mean=False)], "ridge__alpha": [0.01, 1.0]}, {}],
    ),
    "by the target": (
        make_pipeline(SelectKBest(), TheirRidge()),
        {"selectkbest__k": [1, 3, 7], "ridge__alpha": [1, 9]},
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_grid_search_in_every_fold(numbers, name):
    X, y = numbers
    model, grid = GRIDS[name]
    protocol = splits_for(X, y, cv=4, random_state=1)
    ours = nested([("model", model, grid)], X, y, outer=protocol, scoring="neg_mean_squared_error")["model"]
    scores, chosen, predictions = by_hand(model, grid, X, y, protocol, "neg_mean_squared_error")
    assert ours.scores.tolist() == scores
    assert str(list(ours.chosen)) == str(chosen)
    np.testing.assert_array_equal(ours.predictions, predictions)
    last = GridSearchCV(model, grid, cv=protocol, scoring="neg_mean_squared_error").fit(X, y)
    assert str(ours.params) == str(last.best_params_)
    np.testing.assert_array_equal(ours.model.predict(X), last.predict(X))


def test_weights_reach_every_step_and_every_score(numbers):
    """Integer weights are repeated rows, in fits, choices and scores."""
    X, y = numbers
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    splits = list(KFold(4).split(X))
    doubled = [tuple(np.flatnonzero(np.isin(rows, part)) for part in pair) for pair in splits]
    model = [("ridge", make_pipeline(StandardScaler(), TheirRidge()), {"ridge__alpha": [0.1, 10.0, 100.0]})]
    ours = nested(model, X, y, outer=splits, sample_weight=weight)["ridge"]
    reference = nested(model, X[rows], y[rows], outer=doubled)["ridge"]
    np.testing.assert_allclose(ours.scores, reference.scores, rtol=1e-10)
    assert ours.chosen == reference.chosen


def test_ridge_by_leave_one_out_is_ridge_in_cross_validate(numbers):
    X, y = numbers
    cv = KFold(5, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 30)))
    ours = nested({"ridge": model}, X, y, outer=cv)["ridge"]
    reference = cross_validate(model, X, y, cv=cv, return_estimator=True)
    assert ours.scores.tolist() == reference["test_score"].tolist()
    assert [one["alpha"] for one in ours.chosen] == [one[-1].alpha_ for one in reference["estimator"]]
    assert (ours.tried, ours.free) == (30, 29)


def test_logistic_regression_by_the_inner_folds(classes):
    """The class that chooses for itself takes what a grid search over the same folds takes."""
    X, y = classes
    X = StandardScaler().fit_transform(X)
    Cs = [1e-3, 1e-2, 0.1, 1.0]
    settings = {"l1_ratios": (0,), "use_legacy_attributes": False}
    protocol = splits_for(X, y, cv=4)
    itself = LogisticRegressionCV(Cs=Cs, scoring="neg_log_loss", tol=1e-10, **settings)
    ours = nested({"logistic": itself}, X, y, outer=protocol, scoring="neg_log_loss")["logistic"]
    plain = LogisticRegression(tol=1e-10)
    scores, chosen, predictions = by_hand(plain, {"C": Cs}, X, y, protocol, "neg_log_loss")
    np.testing.assert_allclose(ours.scores, scores, rtol=1e-6)
    assert [one["C"] for one in ours.chosen] == [one["C"] for one in chosen]
    np.testing.assert_array_equal(ours.predictions, predictions)


def test_neighbours_after_a_supervised_step_are_a_grid_search(classes):
    X, y = classes
    protocol = splits_for(X, y, cv=4)
    itself = make_pipeline(SelectKBest(k=3), KNeighborsClassifierCV([1, 5, 9, 21]))
    ours = nested({"neighbours": itself}, X, y, outer=protocol)["neighbours"]
    plain = make_pipeline(SelectKBest(k=3), TheirNeighbours())
    scores, chosen, _ = by_hand(plain, {"kneighborsclassifier__n_neighbors": [1, 5, 9, 21]}, X, y, protocol, None)
    assert ours.scores.tolist() == scores
    assert [list(one.values()) for one in ours.chosen] == [list(one.values()) for one in chosen]
    assert (ours.tried, ours.free) == (4, 0)
    assert "SelectKBest looks at the target" in ours.words
