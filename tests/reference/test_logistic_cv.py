"""LogisticRegressionCV beside scikit-learn's: scores, paths, choices, shapes, warnings, bad input."""

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import scale

import tenfold as tf

NEW = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
WINE, KINDS = load_wine(return_X_y=True)
WINE = scale(WINE)[:, :5]
BINARY = (KINDS > 0).astype(int)
CS = [0.01, 1.0, 30.0]


@pytest.mark.parametrize("y", [BINARY, KINDS], ids=["two classes", "three classes"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scoring": "accuracy", "class_weight": "balanced", "use_legacy_attributes": True},
        {"refit": False, "fit_intercept": False},
    ],
    ids=["plain", "balanced", "no refit"],
)
def test_scores_paths_and_choice(y, settings):
    both = {"Cs": CS, "cv": 3, **NEW, "solver": "newton-cholesky", **settings}
    legacy = both["use_legacy_attributes"]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    ours = tf.LogisticRegressionCV(tol=1e-8, **both).fit(WINE, y, sample_weight=weight)
    reference = sk.LogisticRegressionCV(tol=1e-10, max_iter=10_000, **both).fit(WINE, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.Cs_, reference.Cs_)
    np.testing.assert_allclose(ours.C_, reference.C_)
    np.testing.assert_allclose(ours.l1_ratio_, reference.l1_ratio_)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-4)
    assert ours.intercept_.shape == reference.intercept_.shape
    assert np.shape(ours.n_iter_) == np.shape(reference.n_iter_)
    assert ours.passes_ > 0
    pairs = [(ours.scores_, reference.scores_, 1e-5), (ours.coefs_paths_, reference.coefs_paths_, 2e-3)]
    for mine, sklearn_model, close in pairs:
        if legacy:
            assert list(mine) == list(sklearn_model)
            mine, sklearn_model = (np.array(list(part.values())) for part in (mine, sklearn_model))
        assert mine.shape == sklearn_model.shape
        if close == 2e-3 and ours.fit_intercept:
            # intercepts of several classes are free up to a common constant
            mine, sklearn_model = mine[..., :-1], sklearn_model[..., :-1]
        np.testing.assert_allclose(mine, sklearn_model, atol=close)
    if ours.refit:
        assert ours.certificate_.ok
        assert tf.certify(ours, WINE, y, sample_weight=weight).ok
        assert tf.certify(reference, WINE, y, sample_weight=weight).ok
    else:
        assert not ours.certificate_.ok
        assert "mean over the folds" in ours.certificate_.explain()
    given = {"sample_weight": weight}
    assert ours.score(WINE, y, **given) == pytest.approx(reference.score(WINE, y, **given), abs=1e-4)


def test_the_share_of_l1_is_chosen_too():
    both = {"Cs": [0.1, 1.0], "cv": 3, **NEW, "l1_ratios": (0.2, 0.9), "solver": "saga"}
    ours = tf.LogisticRegressionCV(tol=1e-7, **both).fit(WINE, BINARY)
    reference = sk.LogisticRegressionCV(tol=1e-8, max_iter=10_000, **both).fit(WINE, BINARY)
    np.testing.assert_allclose(ours.scores_, reference.scores_, atol=1e-5)
    assert (ours.C_, ours.l1_ratio_) == (reference.C_, reference.l1_ratio_)
    assert ours.certificate_.ok


def test_sparse_rows_and_other_splitters():
    settings = {"Cs": CS, **NEW, "cv": KFold(3, shuffle=True, random_state=0), "tol": 1e-8}
    dense = tf.LogisticRegressionCV(**settings).fit(WINE, KINDS)
    sparse_model = tf.LogisticRegressionCV(**settings).fit(sparse.csr_array(WINE), KINDS)
    np.testing.assert_allclose(sparse_model.scores_, dense.scores_, atol=1e-6)
    np.testing.assert_allclose(sparse_model.coef_, dense.coef_, atol=1e-5)


@pytest.mark.parametrize("columns", [50, 10])
def test_a_path_shares_its_work(columns):
    """Five hundred models take few passes, and the work of few fits; the last fit is that of the class without CV."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, columns))
    y = (X[:, :3].sum(axis=1) + rng.logistic(size=2_000) > 0).astype(int)
    model = tf.LogisticRegressionCV(Cs=100, cv=5, **NEW).fit(X, y)
    assert model.passes_ <= 30
    assert 1.0 < model.cost_ < 15.0
    alone = tf.LogisticRegression(C=model.C_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert np.isnan(tf.LogisticRegressionCV(Cs=2, cv=2, refit=False, **NEW).fit(X, y).cost_)


@pytest.mark.parametrize("few", [True, False], ids=["200 x 5", "breast cancer"])
def test_small_data_share_their_work_too(few):
    """Folds of few rows differ, and each model still meets the rule by itself."""
    if few:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 5))
        y = (2.0 * X @ rng.standard_normal(5) / np.sqrt(5) + rng.logistic(size=200) > 0).astype(int)
    else:
        X, y = load_breast_cancer(return_X_y=True)
        X = scale(X)
    model = tf.LogisticRegressionCV(Cs=100, cv=5, **NEW).fit(X, y)
    assert 1.0 < model.cost_ < 15.0
    for fold, (train, _) in enumerate(StratifiedKFold(5).split(X, y)):
        for C, path in zip(model.Cs_, model.coefs_paths_[fold, 0, :, 0], strict=True):
            z = X[train] @ path[:-1] + path[-1]
            u = expit(z) - y[train]
            gradient = np.append(X[train].T @ u + path[:-1] / C, u.sum()) / len(train)
            assert np.abs(gradient).max() <= model.tol


@pytest.mark.parametrize("features", [5, 50])
def test_scores_are_as_exact_as_documented(features):
    """Log losses beside those of exact fits: 1e-6 at tol=1e-8, and 5e-5 at the default."""
    rng = np.random.default_rng(0)
    n = 40 * features
    X = rng.standard_normal((n, features))
    y = (2.0 * X @ rng.standard_normal(features) / np.sqrt(features) + rng.logistic(size=n) > 0).astype(int)
    loose, tight = (
        tf.LogisticRegressionCV(Cs=100, cv=5, **NEW, **settings).fit(X, y) for settings in ({}, {"tol": 1e-8})
    )
    train, test = next(iter(StratifiedKFold(5).split(X, y)))
    for k in range(3, 100, 12):
        exact = tf.LogisticRegression(C=tight.Cs_[k], tol=1e-10, max_iter=1000).fit(X[train], y[train])
        score = get_scorer("neg_log_loss")(exact, X[test], y[test])
        assert tight.scores_[0, 0, k] == pytest.approx(score, abs=1e-6, rel=0)
        assert loose.scores_[0, 0, k] == pytest.approx(score, abs=5e-5, rel=0)


def test_many_coefficients_of_several_classes_share_their_work():
    """Five hundred models of 650 coefficients: each meets the rule by itself, and scores are those of single fits."""
    X, y = load_digits(return_X_y=True)
    X = scale(X)
    model = tf.LogisticRegressionCV(Cs=100, cv=5, **NEW).fit(X, y)
    assert 1.0 < model.cost_ < 18.0
    assert model.certificate_.ok
    for fold, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        for C, path in zip(model.Cs_, model.coefs_paths_[fold, 0], strict=True):
            u = softmax(X[train] @ path[:, :-1].T + path[:, -1], axis=1) - np.eye(10)[y[train]]
            gradient = np.column_stack([u.T @ X[train] + path[:, :-1] / C, u.sum(axis=0)]) / len(train)
            assert np.abs(gradient).max() <= model.tol
        for k in (10, 30, 45):
            alone = tf.LogisticRegression(C=model.Cs_[k], tol=1e-6).fit(X[train], y[train])
            score = get_scorer("neg_log_loss")(alone, X[test], y[test])
            assert model.scores_[fold, 0, k] == pytest.approx(score, abs=2e-3)


def test_cost_of_shuffled_folds():
    """The work of folds that go alone is counted in all threads."""
    twice = [(np.append(train, train[0]), test) for train, test in StratifiedKFold(3).split(WINE, BINARY)]
    settings = {"Cs": CS, "cv": twice, **NEW, "l1_ratios": (1,), "solver": "saga"}
    assert tf.LogisticRegressionCV(**settings).fit(WINE, BINARY).cost_ > len(CS)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_a_grid_with_an_l1_penalty_costs_few_fits(ratio):
    """Five hundred models, of which scikit-learn's scores are those of its own to their accuracy."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 10))
    y = (X[:, :3].sum(axis=1) + rng.logistic(size=2_000) > 0).astype(int)
    settings = {**NEW, "l1_ratios": (ratio,), "solver": "saga", "cv": 5}
    model = tf.LogisticRegressionCV(Cs=100, **settings).fit(X, y)
    assert model.passes_ <= 40
    assert 1.0 < model.cost_ < 15.0
    assert model.certificate_.ok
    some = model.Cs_[[30, 40, 55]]
    reference = sk.LogisticRegressionCV(Cs=some, tol=1e-6, max_iter=1000, **settings).fit(X, y)
    np.testing.assert_allclose(model.scores_[:, 0][:, [30, 40, 55]], reference.scores_[:, 0], atol=1e-5)


def test_scikit_learns_warnings():
    named = {"l1_ratios": "l1_ratios", "scoring": "scoring", "use_legacy_attributes": "simplified"}
    for left_out, words in named.items():
        settings = {name: value for name, value in NEW.items() if name != left_out}
        with pytest.warns(FutureWarning, match=words):
            tf.LogisticRegressionCV(Cs=[1.0], cv=2, **settings).fit(WINE, BINARY)
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"), pytest.warns(UserWarning, match="only used"):
        tf.LogisticRegressionCV(Cs=[1.0], cv=2, penalty="l2", **NEW).fit(WINE, BINARY)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_class_that_a_fold_does_not_know_is_never_its_answer(intercept):
    X = WINE[:, :4]
    splits = [(np.flatnonzero(kind != KINDS), np.flatnonzero(kind == KINDS)) for kind in range(3)]
    settings = NEW | {"scoring": "neg_log_loss", "fit_intercept": intercept}
    model = tf.LogisticRegressionCV(Cs=[1e-3, 1.0], cv=splits, tol=1e-8, **settings).fit(X, KINDS)
    assert model.certificate_.ok
    for fold, (train, test) in enumerate(splits):
        one = tf.LogisticRegression(C=1.0).fit(X, KINDS)
        path = model.coefs_paths_[fold, 0, 1]
        one.coef_, one.intercept_ = (path[:, :-1], path[:, -1]) if intercept else (path, np.zeros(3))
        if intercept:  # otherwise nothing tells how rare a class is
            assert set(one.predict(X[train])) <= set(KINDS[train])
        result = log_loss(KINDS[test], one.predict_proba(X[test]), labels=model.classes_)
        np.testing.assert_allclose(-model.scores_[fold, 0, 1], result, rtol=1e-9)


def test_a_class_with_one_example_may_be_left_out():
    y = np.array(["ant"] * 30 + ["bee"] * 30 + ["cat"])
    X = np.random.default_rng(0).standard_normal((61, 3))
    with pytest.warns(UserWarning, match="least populated class"):
        model = tf.LogisticRegressionCV(Cs=[1.0], cv=3, **NEW).fit(X, y)
    assert model.certificate_.ok
    assert model.predict_proba(X).shape == (61, 3)


def test_out_of_core_rows_and_bad_settings_raise():
    with pytest.raises(TypeError, match="does not read"):
        tf.LogisticRegressionCV(**NEW).fit(tf.rows([(WINE, BINARY)]))
    with pytest.raises(ValueError, match="liblinear"):
        tf.LogisticRegressionCV(solver="liblinear", **NEW).fit(WINE, KINDS)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tf.LogisticRegressionCV(solver="saga", **{**NEW, "l1_ratios": (0.5, 2.0)}).fit(WINE, KINDS)
