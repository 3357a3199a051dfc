"""Exact cross-validation is refitting: leave-one-out, any splitter, weights, targets, wide data, any scorer."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.metrics import get_scorer, make_scorer, max_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import tenfold
from estimators import classes, regression, zero_weights

ALPHAS = np.array([1e-4, 1e-2, 1.0, 30.0])

SIZES = {"tall": (40, 4), "wide": (18, 30), "square": (25, 25), "one column": (30, 1)}
every_size = pytest.mark.parametrize("size", SIZES)
every_kind = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
with_intercept = pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "origin"])
with_weights = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])


def data(size, targets=1):
    n, p = SIZES[size]
    X, y, _ = regression(n, p)
    if targets > 1:
        y = np.column_stack([regression(n, p, seed).y for seed in range(targets)])
    return X, y


def weights(n, weighted):
    # no zeros: a row without weight is tested apart
    return zero_weights(n) + 0.2 if weighted else None


def part(weight, rows):
    return None if weight is None else weight[rows]


def refits(X, y, weight, intercept, alpha):
    """Leave-one-out residuals by n fits of Ridge."""
    residuals = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = tenfold.Ridge(alpha, fit_intercept=intercept).fit(X[rest], y[rest], sample_weight=part(weight, rest))
        residuals.append(y[i] - model.predict(X[i : i + 1])[0])
    return np.array(residuals)


# -- leave-one-out ---------------------------------------------------------------------------------------------------


@every_size
@every_kind
@with_intercept
@with_weights
@pytest.mark.parametrize("targets", [1, 3])
def test_leave_one_out_is_n_refits(size, kind, intercept, weighted, targets):
    X, y = data(size, targets)
    weight = weights(len(y), weighted)
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    model = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept, store_cv_results=True).fit(
        kind(X), y, sample_weight=weight
    )
    expected = np.stack([refits(X, y, weight, intercept, alpha) for alpha in ALPHAS], axis=-1)
    squares = expected**2 * (1.0 if weight is None else weight.reshape(-1, *[1] * (expected.ndim - 1)))
    np.testing.assert_allclose(model.cv_results_, squares, rtol=1e-8, atol=1e-8 * np.mean(squares))
    scores = -np.mean(squares, axis=tuple(range(squares.ndim - 1)))
    np.testing.assert_allclose(model.cv_errors_, -scores, rtol=1e-8)
    assert model.alpha_ == ALPHAS[np.argmax(scores)]
    np.testing.assert_allclose(model.best_score_, scores.max(), rtol=1e-8)
    assert model.certificate_.ok
    fixed = tenfold.Ridge(model.alpha_, fit_intercept=intercept).fit(kind(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, fixed.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, fixed.intercept_, rtol=1e-9, atol=1e-10)


@every_size
@every_kind
def test_leave_one_out_is_the_splitter_of_that_name(size, kind):
    """Another road: the splitter goes through the folds, and squared errors are its score."""
    X, y = data(size)
    one = tenfold.RidgeCV(ALPHAS).fit(kind(X), y)
    other = tenfold.RidgeCV(ALPHAS, cv=LeaveOneOut(), scoring="neg_mean_squared_error").fit(kind(X), y)
    assert one.alpha_ == other.alpha_
    np.testing.assert_allclose(one.best_score_, other.best_score_, rtol=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9, atol=1e-12)


@every_size
def test_rows_without_weight(size):
    """They are in no fit, so their residual is that of the model; they do not count in the choice."""
    X, y = data(size)
    weight = zero_weights(len(y))
    keep = weight > 0
    model = tenfold.RidgeCV(ALPHAS, store_cv_results=True).fit(X, y, sample_weight=weight)
    fewer = tenfold.RidgeCV(ALPHAS, store_cv_results=True).fit(X[keep], y[keep], sample_weight=weight[keep])
    assert model.alpha_ == fewer.alpha_
    np.testing.assert_allclose(
        model.cv_results_[keep], fewer.cv_results_, rtol=1e-8, atol=1e-8 * fewer.cv_results_.mean()
    )
    np.testing.assert_array_equal(model.cv_results_[~keep], 0.0)


@every_kind
@with_intercept
@pytest.mark.parametrize("size", ["tall", "wide"])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_one_alpha_for_each_target(kind, intercept, size, scoring):
    X, y = data(size, 3)
    model = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept, alpha_per_target=True, scoring=scoring).fit(kind(X), y)
    assert model.alpha_.shape == (3,)
    for k in range(3):
        alone = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept, scoring=scoring).fit(kind(X), y[:, k])
        assert model.alpha_[k] == alone.alpha_
        np.testing.assert_allclose(model.best_score_[k], alone.best_score_, rtol=1e-9)
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("scoring", [None, "r2"])
@pytest.mark.parametrize("size", ["tall", "wide"])
@pytest.mark.parametrize("mode", [None, "svd", "eigen"])
def test_stored_results_are_those_of_scikit_learn(targets, scoring, size, mode):
    X, y = data(size, targets)
    settings = {"alphas": ALPHAS, "store_cv_results": True, "scoring": scoring, "gcv_mode": mode}
    ours, sklearn_model = tenfold.RidgeCV(**settings).fit(X, y), sklearn_module.RidgeCV(**settings).fit(X, y)
    assert ours.cv_results_.shape == sklearn_model.cv_results_.shape
    np.testing.assert_allclose(
        ours.cv_results_, sklearn_model.cv_results_, rtol=1e-5, atol=1e-7 * np.abs(sklearn_model.cv_results_).max()
    )
    assert ours.alpha_ == sklearn_model.alpha_
    np.testing.assert_allclose(ours.best_score_, sklearn_model.best_score_, rtol=1e-6)


def test_results_are_stored_on_request_only():
    X, y = data("tall")
    assert not hasattr(tenfold.RidgeCV(ALPHAS).fit(X, y), "cv_results_")


@pytest.mark.parametrize("count", [2, 3])
@with_weights
def test_leave_one_out_of_a_classifier(count, weighted):
    X, y, _ = classes(50, 4, count=count)
    weight = weights(50, weighted)
    model = tenfold.RidgeClassifierCV(ALPHAS, store_cv_results=True).fit(X, y, sample_weight=weight)
    names = np.unique(y)
    Y = np.where(y[:, None] == names, 1.0, -1.0)
    Y = Y[:, 1:] if count == 2 else Y
    expected = np.stack([refits(X, Y, weight, True, alpha) for alpha in ALPHAS], axis=-1)
    squares = expected**2 * (1.0 if weight is None else weight[:, None, None])
    np.testing.assert_allclose(model.cv_results_, squares, rtol=1e-8, atol=1e-10)
    assert model.alpha_ == ALPHAS[np.argmin(squares.mean(axis=(0, 1)))]


# -- splitters -------------------------------------------------------------------------------------------------------

GROUPS = np.arange(200) % 7

SPLITTERS = {
    "3": lambda: 3,
    "k-fold": lambda: KFold(4),
    "shuffled": lambda: KFold(4, shuffle=True, random_state=0),
    "repeated": lambda: RepeatedKFold(n_splits=3, n_repeats=3, random_state=1),
    "overlapping": lambda: ShuffleSplit(6, test_size=0.3, random_state=0),
    "time series": lambda: TimeSeriesSplit(3),
    "many overlapping": lambda: ShuffleSplit(12, test_size=0.2, random_state=3),
    "not all rows": lambda: ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0),
}


def takes_weights(scorer):
    """Whether scikit-learn's searches hand the weights of the test rows to this scorer."""
    return "sample_weight" in inspect.signature(getattr(scorer, "_score_func", scorer)).parameters


def score_by_refitting(X, y, weight, intercept, splits, scorer, alpha, estimator=None):
    """Mean test score of Ridge over splits, weighted like the fit where the scorer takes weights."""
    estimator = tenfold.Ridge if estimator is None else estimator
    scores = []
    for train, test in splits:
        model = estimator(alpha, fit_intercept=intercept).fit(X[train], y[train], sample_weight=part(weight, train))
        extra = {"sample_weight": weight[test]} if weight is not None and takes_weights(scorer) else {}
        scores.append(scorer(model, X[test], y[test], **extra))
    return np.mean(scores)


def check_folds(model, X, y, weight, intercept, splits, scorer, estimator=None):
    expected = [score_by_refitting(X, y, weight, intercept, splits, scorer, a, estimator) for a in model.alphas_]
    assert model.alpha_ == model.alphas_[np.argmax(expected)]
    np.testing.assert_allclose(model.best_score_, np.max(expected), rtol=1e-8, atol=1e-9)
    estimator = tenfold.Ridge if estimator is None else estimator
    fixed = estimator(model.alpha_, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, fixed.coef_, rtol=1e-8, atol=1e-10)
    assert model.certificate_.ok
    assert "split" in model.cv_method_


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("size", ["tall", "wide", "square"])
@with_intercept
@with_weights
@pytest.mark.parametrize("targets", [1, 2])
def test_folds_are_refits(splitter, size, intercept, weighted, targets):
    X, y = data(size, targets)
    weight = weights(len(y), weighted)
    cv = SPLITTERS[splitter]()
    model = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept, cv=cv).fit(X, y, sample_weight=weight)
    splits = list((KFold(3) if cv == 3 else cv).split(X, y))
    check_folds(model, X, y, weight, intercept, splits, get_scorer("r2"))


@pytest.mark.parametrize("splitter", ["k-fold", "shuffled", "overlapping"])
@pytest.mark.parametrize("size", ["tall", "wide"])
@with_intercept
@with_weights
def test_folds_of_sparse_rows(splitter, size, intercept, weighted):
    X, y = data(size)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    weight = weights(len(y), weighted)
    cv = SPLITTERS[splitter]()
    for kind in (sparse.csr_array, sparse.csc_matrix):
        model = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept, cv=cv).fit(kind(X), y, sample_weight=weight)
        check_folds(model, X, y, weight, intercept, list(cv.split(X, y)), get_scorer("r2"))


def sum_of_errors(model, X, y):
    """A scorer that is a plain function."""
    return -float(np.sum(np.abs(y - model.predict(X))))


SCORERS = {
    "r2": "r2",
    "mean squared error": "neg_mean_squared_error",
    "root of it": "neg_root_mean_squared_error",
    "absolute": "neg_mean_absolute_error",
    "median": "neg_median_absolute_error",
    "explained variance": "explained_variance",
    "largest error": make_scorer(max_error, greater_is_better=False),
    "function": sum_of_errors,
}


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("splitter", ["k-fold", "overlapping"])
@with_weights
def test_any_scorer(name, splitter, weighted):
    X, y = data("tall")
    weight = weights(40, weighted)
    cv = SPLITTERS[splitter]()
    model = tenfold.RidgeCV(ALPHAS, cv=cv, scoring=SCORERS[name]).fit(X, y, sample_weight=weight)
    scorer = SCORERS[name] if callable(SCORERS[name]) else get_scorer(SCORERS[name])
    check_folds(model, X, y, weight, True, list(cv.split(X, y)), scorer)


@pytest.mark.parametrize("name", [name for name in SCORERS if name not in ("function",)])
def test_any_scorer_of_leave_one_out(name):
    """The score of all left-out predictions together, as in scikit-learn."""
    X, y = data("tall")
    ours = tenfold.RidgeCV(ALPHAS, scoring=SCORERS[name]).fit(X, y)
    sklearn_model = sklearn_module.RidgeCV(ALPHAS, scoring=SCORERS[name]).fit(X, y)
    assert ours.alpha_ == sklearn_model.alpha_
    np.testing.assert_allclose(ours.best_score_, sklearn_model.best_score_, rtol=1e-6)


def test_groups_without_routing_come_as_splits():
    X, y = data("tall")
    splits = list(GroupKFold(3).split(X, y, GROUPS[:40]))
    model = tenfold.RidgeCV(ALPHAS, cv=splits).fit(X, y)
    check_folds(model, X, y, None, True, splits, get_scorer("r2"))
    again = tenfold.RidgeCV(ALPHAS, cv=iter(splits)).fit(X, y)
    assert again.alpha_ == model.alpha_
    assert again.best_score_ == model.best_score_


def test_rows_that_are_repeated_in_a_training_set():
    """A bootstrap: rows drawn with replacement count as often as they are drawn."""
    X, y = data("tall")
    rng = np.random.default_rng(0)
    splits = []
    for _ in range(4):
        train = rng.integers(0, 40, 40)
        splits.append((train, np.setdiff1d(np.arange(40), train)))
    model = tenfold.RidgeCV(ALPHAS, cv=splits).fit(X, y)
    check_folds(model, X, y, None, True, splits, get_scorer("r2"))


def test_splits_by_boolean_masks():
    X, y = data("tall")
    test = np.arange(40) % 3 == 0
    splits = [(np.flatnonzero(~test), np.flatnonzero(test))]
    model = tenfold.RidgeCV(ALPHAS, cv=splits).fit(X, y)
    check_folds(model, X, y, None, True, splits, get_scorer("r2"))


@pytest.mark.parametrize(
    "cv", [3, StratifiedKFold(3, shuffle=True, random_state=0), ShuffleSplit(5, test_size=0.3, random_state=0)]
)
@pytest.mark.parametrize("count", [2, 3])
@with_weights
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "f1_macro"])
def test_folds_of_a_classifier(cv, count, weighted, scoring):
    X, y, _ = classes(60, 4, count=count)
    weight = weights(60, weighted)
    model = tenfold.RidgeClassifierCV(ALPHAS, cv=cv, scoring=scoring).fit(X, y, sample_weight=weight)
    splits = list((StratifiedKFold(3) if cv == 3 else cv).split(X, y))
    check_folds(model, X, y, weight, True, splits, get_scorer(scoring or "accuracy"), tenfold.RidgeClassifier)


def test_a_class_that_a_training_set_lacks():
    X, y, _ = classes(30, 3, count=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    splits = list(KFold(3).split(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.RidgeClassifierCV(ALPHAS, cv=splits).fit(X, y)
        check_folds(model, X, y, None, True, splits, get_scorer("accuracy"), tenfold.RidgeClassifier)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_an_offset_does_not_cost_digits(offset):
    """Nothing is subtracted: training sets are merged from what was centred."""
    X, y = data("tall")
    plain = tenfold.RidgeCV(ALPHAS, cv=KFold(4)).fit(X, y)
    moved = tenfold.RidgeCV(ALPHAS, cv=KFold(4)).fit(X + offset, y)
    assert moved.alpha_ == plain.alpha_
    np.testing.assert_allclose(moved.best_score_, plain.best_score_, rtol=1e-8)
    loo, far = tenfold.RidgeCV(ALPHAS).fit(X, y), tenfold.RidgeCV(ALPHAS).fit(X + offset, y)
    np.testing.assert_allclose(far.best_score_, loo.best_score_, rtol=1e-8)


def test_sorted_rows_whose_folds_lie_far_apart():
    """A trend: each fold of sorted rows is narrow beside the distance between folds."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.standard_normal((60, 1)), axis=0) * 1e4 + rng.standard_normal((60, 2))
    y = X @ [1.0, -0.5] + rng.standard_normal(60)
    splits = list(KFold(4).split(X))
    model = tenfold.RidgeCV(ALPHAS, cv=splits).fit(X, y)
    check_folds(model, X, y, None, True, splits, get_scorer("r2"))


def test_alpha_zero_among_the_candidates_of_folds():
    X, y = data("tall")
    model = tenfold.RidgeCV([0.0, 1.0], cv=KFold(3)).fit(X, y)
    check_folds(model, X, y, None, True, list(KFold(3).split(X)), get_scorer("r2"))
    with pytest.raises(ValueError, match="alphas"):
        tenfold.RidgeCV([0.0, 1.0]).fit(X, y)


# -- prediction intervals --------------------------------------------------------------------------------------------


def jackknife_plus(X, y, weight, intercept, alpha, new, coverage):
    """n refits: the interval of the middle n values f_i(x) - |e_i| and f_i(x) + |e_i| (Barber and others 2021)."""
    n = len(y)
    low, high = np.empty((n, len(new))), np.empty((n, len(new)))
    for i in range(n):
        rest = np.arange(n) != i
        model = tenfold.Ridge(alpha, fit_intercept=intercept).fit(X[rest], y[rest], sample_weight=part(weight, rest))
        error = abs(y[i] - model.predict(X[i : i + 1])[0])
        low[i], high[i] = model.predict(new) - error, model.predict(new) + error
    # the floor((1 - coverage) (n + 1))-th smallest, and the ceil(coverage (n + 1))-th smallest
    k = int(np.ceil(coverage * (n + 1)))
    if k > n:
        return np.column_stack([np.full(len(new), -np.inf), np.full(len(new), np.inf)])
    return np.column_stack([-np.sort(-low, axis=0)[k - 1], np.sort(high, axis=0)[k - 1]])


@every_size
@every_kind
@with_intercept
@with_weights
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_are_n_refits(size, kind, intercept, weighted, coverage):
    X, y = data(size)
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    weight = weights(len(y), weighted)
    new = np.random.default_rng(4).standard_normal((15, X.shape[1]))
    model = tenfold.RidgeCV(ALPHAS, fit_intercept=intercept).fit(kind(X), y, sample_weight=weight)
    result = model.predict_interval(kind(new), coverage=coverage)
    assert result.shape == (15, 2)
    expected = jackknife_plus(X, y, weight, intercept, model.alpha_, new, coverage)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * np.std(y))


def test_more_coverage_is_wider_and_the_prediction_is_inside():
    X, y = data("tall")
    model = tenfold.RidgeCV(ALPHAS).fit(X, y)
    narrow, wide = model.predict_interval(X, coverage=0.5), model.predict_interval(X, coverage=0.95)
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])
    assert np.all((wide[:, 0] <= model.predict(X)) & (model.predict(X) <= wide[:, 1]))


def test_more_coverage_than_rows_can_give_is_the_whole_line():
    X, y = data("tall")
    result = tenfold.RidgeCV(ALPHAS).fit(X, y).predict_interval(X[:3], coverage=0.999)
    np.testing.assert_array_equal(result, [[-np.inf, np.inf]] * 3)


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_intervals_cover(coverage):
    """New observations fall inside about as often as promised, and never much less."""
    inside = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        w = rng.standard_normal(5)
        X, new = rng.standard_normal((60, 5)), rng.standard_normal((50, 5))
        y, truth = X @ w + rng.standard_t(4, 60), new @ w + rng.standard_t(4, 50)
        interval = tenfold.RidgeCV(ALPHAS).fit(X, y).predict_interval(new, coverage=coverage)
        inside.append(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))
    # 3000 observations; the spread of a mean of 60 such shares is below 0.015
    assert abs(np.mean(inside) - coverage) <= 0.04


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 2.0, np.nan])
def test_coverage_is_a_share(coverage):
    X, y = data("tall")
    with pytest.raises(ValueError, match="coverage"):
        tenfold.RidgeCV(ALPHAS).fit(X, y).predict_interval(X, coverage=coverage)


def test_intervals_need_leave_one_out():
    X, y = data("tall")
    with pytest.raises(ValueError, match="cv=None"):
        tenfold.RidgeCV(ALPHAS, cv=3).fit(X, y).predict_interval(X)
