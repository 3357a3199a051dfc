"""Comparisons of two models, learning curves, stability of splits, and the optimism of the best of many."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import cross_val_predict
from sklearn.model_selection import learning_curve as their_curve

from tenfold import GaussianNB, KNeighborsCV, Ridge, RidgeClassifierCV, RidgeCV
from tenfold.selection import (
    Candidate,
    best_of,
    compare,
    k_fold,
    learning_curve,
    nested,
    repeated,
    split_stability,
    wrong_cross_validation,
)
from tenfold.selection.comparing import compute_resampled_t, mcnemar


@pytest.fixture(scope="module")
def numbers():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


# -- two models


def test_the_corrected_t_by_hand():
    """t = mean / sqrt((1/k + n2/n1) s^2), k - 1 degrees of freedom (Nadeau and Bengio 2003)."""
    differences = np.array([0.02, 0.05, -0.01, 0.03, 0.04])
    t = differences.mean() / np.sqrt((1 / 5 + 0.25) * differences.var(ddof=1))
    result = compute_resampled_t(differences, 0.25)
    assert result.p_value == pytest.approx(2 * stats.t.sf(t, 4))
    assert result.interval.low < 0 < result.difference
    assert result.p_value > stats.ttest_1samp(differences, 0).pvalue
    assert compute_resampled_t([0.0, 0.0], 0.25).p_value == 1.0
    assert np.isnan(compute_resampled_t([0.1], 0.25).p_value)


def test_mcnemar_by_hand():
    """Only the rows count on which one errs and the other does not."""
    first, second = np.zeros((2, 100), dtype=bool)
    first[:12], second[10:15] = True, True
    result = mcnemar(first, second)
    assert result.p_value == pytest.approx(2 * stats.binom.cdf(3, 13, 0.5))
    assert result.difference == pytest.approx(-0.07)
    assert result.interval.low < -0.07 < result.interval.high
    assert mcnemar(first, first).p_value == 1.0


def test_clear_difference_is_significant_and_none_is_not(classes):
    X, y = classes
    result = compare(DummyClassifier(), RidgeClassifierCV(), X, y)
    assert result.scores.p_value < 0.01
    assert result.rows.p_value < 1e-6
    assert result.scores.difference == pytest.approx(result.second.score - result.first.score)
    assert result.rows.difference < 0
    assert result.words.startswith("The second model has the larger mean accuracy")
    assert "more than chance" in result.words
    same = compare(GaussianNB(), GaussianNB(), X, y)
    assert same.scores.p_value == same.rows.p_value == 1.0
    assert "chance alone" in same.words


def test_size_of_the_test():
    """Two columns of noise are equally good: of 25 comparisons about one in twenty may say otherwise."""
    rng = np.random.default_rng(0)
    result = []
    for seed in range(25):
        X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
        folds = k_fold(X, 5, random_state=seed)
        one, other = (nested({"a": Ridge()}, X[:, [k]], y, outer=folds, refit=False)["a"].scores for k in (0, 1))
        result.append(compute_resampled_t(other - one, 0.25).p_value)
    assert np.mean(np.array(result) < 0.05) <= 0.16


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_losses_of_rows_are_compared_by_the_bootstrap(numbers, scoring):
    X, y = numbers
    result = compare(DummyRegressor(), RidgeCV(), X, y, scoring=scoring)
    assert result.rows.interval.high < 0
    assert result.rows.p_value < 0.01
    assert "bootstrap of rows" in result.rows.method
    loss = {"neg_mean_squared_error": np.square, "neg_mean_absolute_error": np.abs}[scoring]
    by_hand = np.mean(loss(y - result.second.predictions) - loss(y - result.first.predictions))
    assert result.rows.difference == pytest.approx(by_hand)
    groups = np.arange(len(y)) // 5
    tied = compare(DummyRegressor(), RidgeCV(), X, y, scoring=scoring, groups=groups)
    assert "bootstrap of groups" in tied.rows.method
    weighted = compare(DummyRegressor(), RidgeCV(), X, y, scoring=scoring, sample_weight=np.ones(len(y)))
    assert weighted.rows.difference == pytest.approx(by_hand)


def test_repeated_folds_and_scores_without_rows(classes):
    X, y = classes
    folds = repeated(k_fold(X, 4, classes=y), 2)
    result = compare(GaussianNB(), Candidate("ridge", RidgeClassifierCV()), X, y, cv=folds, scoring="roc_auc")
    assert result.rows is None
    assert len(result.first.folds) == 8


def test_a_model_that_fails_cannot_be_compared(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="The second model cannot be compared"):
        compare(Ridge(), Ridge(alpha=-1.0), X, y)


# -- curves


def test_a_learning_curve_ends_at_cross_validation(numbers):
    X, y = (part[:440] for part in numbers)  # folds of one size, as scikit-learn takes the smallest
    folds = k_fold(X, 4)
    curve = learning_curve(Ridge(0.01), X, y, sizes=[0.2, 1.0], cv=folds)
    plain = nested({"ridge": Ridge(0.01)}, X, y, outer=folds)["ridge"].scores
    np.testing.assert_array_equal(curve.test_scores[-1], plain)
    _, trained, tested = their_curve(Ridge(0.01), X, y, cv=folds, train_sizes=[1.0])
    np.testing.assert_allclose(curve.test_scores[-1], tested[0])
    np.testing.assert_allclose(curve.train_scores[-1], trained[0])
    assert curve.sizes[0] == pytest.approx(0.2 * curve.sizes[1], abs=1)
    assert "4 random folds" in curve.words


def test_parts_of_a_learning_curve_keep_classes_groups_and_time(classes):
    X, y = classes
    curve = learning_curve(GaussianNB(), X, y, sizes=[0.05, 0.5])
    assert np.isfinite(curve.test_scores).all()
    assert curve.test_scores[1].mean() > 0.85
    rows = np.arange(len(y))
    for ties in ({"groups": rows // 4}, {"time": rows}):
        assert np.isfinite(learning_curve(RidgeClassifierCV(), X, y, sizes=[0.3], **ties).test_scores).all()
    with pytest.raises(ValueError, match="sizes are shares"):
        learning_curve(GaussianNB(), X, y, sizes=[0.0, 1.0])


def test_stability_of_splits(numbers):
    X, y = numbers
    result = split_stability(Ridge(0.01), X, y, times=8)
    assert len(result.scores) == 8
    assert result.mean == pytest.approx(result.scores.mean())
    assert result.spread == pytest.approx(result.scores.std(ddof=1))
    assert result.spread > 0.01
    assert result.interval.low < result.mean < result.interval.high
    assert split_stability(Ridge(0.01), X, y, times=8, test=0.5).spread < result.spread
    with pytest.raises(ValueError, match="two splits at least"):
        split_stability(Ridge(), X, y, times=1)
    with pytest.raises(ValueError, match="cannot be evaluated"):
        split_stability(Ridge(alpha=-1.0), X, y)


# -- the best of many


def test_best_of_many_random_classifiers():
    rng = np.random.default_rng(0)
    result = [best_of(rng.integers(0, 2, (200, 30)), n_resamples=100, random_state=seed) for seed in range(20)]
    assert np.mean([one.loss for one in result]) < 0.45
    assert np.mean([one.corrected for one in result]) == pytest.approx(0.5, abs=0.015)
    assert all(one.optimism > 0 for one in result)
    assert "Tsamardinos" in result[0].method


@pytest.mark.parametrize("count", [1, 2, 8])
def test_optimism_is_never_negative(count):
    rng = np.random.default_rng(count)
    result = [best_of(rng.integers(0, 2, (100, count)), n_resamples=50, random_state=seed) for seed in range(20)]
    assert all(one.optimism >= 0.0 for one in result)
    assert all(one.corrected >= one.loss for one in result)
    assert count > 1 or all(one.optimism == 0.0 for one in result)


def test_best_of_takes_functions_of_weights():
    losses = np.random.default_rng(0).random((60, 4))
    squares = best_of(lambda weight: np.sqrt(weight @ losses / weight.sum()), n_samples=60, n_resamples=100)
    assert squares.loss == pytest.approx(np.sqrt(losses.mean(axis=0).min()))
    assert squares.corrected > squares.loss
    with pytest.raises(ValueError, match="needs n_samples"):
        best_of(lambda weight: weight[:2])


def test_a_clear_best_needs_no_correction():
    losses = np.random.default_rng(0).random((300, 3)) + np.array([0.0, 5.0, 9.0])
    result = best_of(losses)
    assert result.best == 0
    assert abs(result.optimism) < 0.01
    assert result.interval.low < result.loss < result.interval.high
    heavy = best_of(losses, sample_weight=np.r_[np.zeros(150), np.ones(150)])
    assert heavy.loss == pytest.approx(losses[150:, 0].mean())


def test_the_best_of_a_leaderboard():
    X, y = make_classification(150, 5, random_state=0)
    models = {"guess": DummyClassifier(), "ridge": RidgeClassifierCV(), "bayes": GaussianNB()}
    run = nested(models, X, y, abandon=False, refit=False)
    result = best_of(run)
    assert result.loss == pytest.approx(min(np.mean(one.predictions != y) for one in run.results))
    with pytest.raises(ValueError, match="roc_auc is not a mean over rows"):
        best_of(nested({"a": GaussianNB()}, X, y, scoring="roc_auc", refit=False))


@pytest.mark.parametrize("losses", [np.zeros(5), np.zeros((1, 2)), np.full((5, 2), np.nan)])
def test_invalid_losses(losses):
    with pytest.raises(ValueError, match="got shape"):
        best_of(losses)


def test_wrong_cross_validation_with_another_model():
    result = wrong_cross_validation(columns=500, chosen=20, times=2, model=RidgeClassifierCV())
    assert result.wrong.mean() < 0.25 < 0.3 < result.right.mean()


def test_losses_out_of_fold_are_those_of_cross_val_predict(numbers):
    X, y = numbers
    folds = k_fold(X, 5)
    result = nested({"neighbours": KNeighborsCV([9])}, X, y, outer=folds, refit=False)["neighbours"]
    np.testing.assert_array_equal(result.predictions, cross_val_predict(KNeighborsCV([9]), X, y, cv=folds))
