"""The number of neighbours by leave-one-out, and jackknife+ intervals, against refitting."""

import copy
import math

import numpy as np
import pytest
import sklearn.neighbors
from sklearn.metrics import balanced_accuracy_score, log_loss, median_absolute_error
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

import tenfold
from tenfold import KNeighborsClassifierCV, KNeighborsCV

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
CLASSES = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0] + 0.5 * RNG.standard_normal(60), [-0.4, 0.4])]
NUMBERS = X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.standard_normal(60)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_errors_are_those_of_a_grid_search(weights):
    rng = np.random.default_rng(1)
    for ours, sklearn_model, y, score in (
        (KNeighborsClassifierCV, sklearn.neighbors.KNeighborsClassifier, CLASSES, "accuracy"),
        (KNeighborsCV, sklearn.neighbors.KNeighborsRegressor, NUMBERS, "neg_mean_squared_error"),
    ):
        grid = {"n_neighbors": [1, 2, 5, 11]}
        search = GridSearchCV(sklearn_model(weights=weights), grid, cv=LeaveOneOut(), scoring=score).fit(X, y)
        model = ours([11, 1, 2, 5], weights=weights).fit(X, y)
        expected = search.cv_results_["mean_test_score"]
        np.testing.assert_allclose(model.cv_errors_, 1.0 - expected if score == "accuracy" else -expected)
        assert model.n_neighbors_ == search.best_params_["n_neighbors"]
        queries = rng.standard_normal((20, 3))
        assert model.candidates_.tolist() == [1, 2, 5, 11]
        if score == "accuracy":
            np.testing.assert_array_equal(model.predict(queries), search.predict(queries))
        else:
            np.testing.assert_allclose(model.predict(queries), search.predict(queries))


def test_errors_with_weights():
    rng = np.random.default_rng(1)
    w = rng.integers(0, 3, 60).astype(float)
    inside = np.flatnonzero(w)
    model = KNeighborsCV(4).fit(X, NUMBERS, w)
    for k, error in zip(model.candidates_, model.cv_errors_, strict=True):
        total = 0.0
        for i in inside:
            others = inside[inside != i]
            near = others[np.argsort(np.linalg.norm(X[others] - X[i], axis=1))[:k]]
            total += w[i] * (NUMBERS[i] - np.average(NUMBERS[near], weights=w[near])) ** 2
        assert error == pytest.approx(total / w.sum())
    classes = KNeighborsClassifierCV(4).fit(X, CLASSES, w)
    for k, error in zip(classes.candidates_, classes.cv_errors_, strict=True):
        total = 0.0
        for i in inside:
            others = inside[inside != i]
            near = others[np.argsort(np.linalg.norm(X[others] - X[i], axis=1))[:k]]
            votes = [w[near[CLASSES[near] == name]].sum() for name in classes.classes_]
            total += w[i] * (classes.classes_[np.argmax(votes)] != CLASSES[i])
        assert error == pytest.approx(total / w.sum())


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_equal_refitting(weights, coverage):
    rng = np.random.default_rng(1)
    new = rng.standard_normal((15, 3))
    model = KNeighborsCV([4], weights=weights).fit(X, NUMBERS)
    n = len(X)
    centres, residuals = np.empty((n, 15)), np.empty(n)
    for i in range(n):
        kept = np.arange(n) != i
        alone = sklearn.neighbors.KNeighborsRegressor(4, weights=weights).fit(X[kept], NUMBERS[kept])
        centres[i], residuals[i] = alone.predict(new), abs(NUMBERS[i] - alone.predict(X[i : i + 1])[0])
    rank = math.ceil(coverage * (n + 1))
    low = np.sort(centres - residuals[:, None], axis=0)[n - rank]
    high = np.sort(centres + residuals[:, None], axis=0)[rank - 1]
    np.testing.assert_allclose(model.predict_interval(new, coverage), np.column_stack([low, high]))


def test_intervals_cover():
    rng = np.random.default_rng(1)

    def draw(n):
        x = rng.uniform(-2, 2, (n, 1))
        return x, np.sin(2 * x[:, 0]) + 0.3 * rng.standard_normal(n)

    model = KNeighborsCV(30).fit(*draw(400))
    x, y = draw(4000)
    low, high = model.predict_interval(x, 0.9).T
    assert 0.87 < np.mean((low <= y) & (y <= high)) < 0.95


def test_shapes_and_bad_input():
    Y = np.column_stack([NUMBERS, -NUMBERS])
    model = KNeighborsCV(5).fit(X, Y)
    assert model.predict_interval(X[:7]).shape == (7, 2, 2)
    np.testing.assert_allclose(model.cv_errors_, KNeighborsCV(5).fit(X, NUMBERS).cv_errors_)
    assert np.isinf(KNeighborsCV(2).fit(X[:5], NUMBERS[:5]).predict_interval(X[:1], 0.95)).all()
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        model.predict_interval(X, 1.0)
    with pytest.raises(ValueError, match="needs two rows"):
        KNeighborsCV().fit(X[:1], NUMBERS[:1])
    with pytest.raises(ValueError, match="at most 59"):
        KNeighborsCV([60, 70]).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="at least 1"):
        KNeighborsCV([0, 3]).fit(X, NUMBERS)
    assert KNeighborsClassifierCV(500).fit(X, CLASSES).candidates_[-1] == 59


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_predictions_left_out(weighted):
    """`scoring` is that of all predictions, each of a row that was left out."""
    rng = np.random.default_rng(1)
    w = rng.integers(1, 3, 60).astype(float) if weighted else None
    fit = {"sample_weight": w} if weighted else {}
    grid, alone = [3, 7], {"sample_weight": w} if weighted else {}
    for k, (name, method, score) in enumerate(
        (("balanced_accuracy", "predict", balanced_accuracy_score), ("neg_log_loss", "predict_proba", log_loss))
    ):
        model = KNeighborsClassifierCV(grid, scoring=name, weights=_never_zero).fit(X, CLASSES, **fit)
        peer = KNeighborsClassifierCV([grid[k]], weights=_never_zero)
        left = cross_val_predict(peer, X, CLASSES, cv=LeaveOneOut(), method=method, params=fit)
        expected = score(CLASSES, left, **alone)
        np.testing.assert_allclose(np.abs(model.cv_errors_[k]), expected)
        assert model.n_neighbors_ == grid[int(np.argmin(model.cv_errors_))]
        assert model.best_score_ == -model.cv_errors_.min()
    model = KNeighborsCV(grid, scoring=lambda own, rows, y: -median_absolute_error(y, own.predict(rows))).fit(
        X, NUMBERS
    )
    left = cross_val_predict(sklearn.neighbors.KNeighborsRegressor(3), X, NUMBERS, cv=LeaveOneOut())
    np.testing.assert_allclose(model.cv_errors_[0], median_absolute_error(NUMBERS, left))


def _never_zero(distances):
    return np.exp(-distances)


def test_errors_name_the_class_of_the_user():
    for cls in (KNeighborsClassifierCV, KNeighborsCV):
        with pytest.raises(TypeError, match=f"^{cls.__name__}.__init__"):
            cls(neighbours=3)


def test_a_number_that_is_not_the_best_is_not_certified():
    model = KNeighborsClassifierCV(9).fit(X, CLASSES)
    assert tenfold.certify(model, X, CLASSES).ok
    for name, value in (
        ("n_neighbors_", model.n_neighbors_ % 9 + 1),
        ("candidates_", model.candidates_ + 1),
        ("best_score_", 0.5 * model.best_score_),
    ):
        other = copy.deepcopy(model)
        setattr(other, name, value)
        assert not tenfold.certify(other, X, CLASSES).ok
