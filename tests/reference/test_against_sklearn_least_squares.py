"""LinearRegression, Ridge, RidgeClassifier and their cross-validated forms against scikit-learn.

On one grid of settings. Both solve a strongly convex or minimum-norm problem exactly, so the coefficients are compared.
scikit-learn is given the strictest tolerance where its solver iterates; the objective of ours must never be worse.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as sk
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, StratifiedKFold

import tenfold as tf
from tenfold.estimators.validation import as_rows
from tenfold.plans import least_squares


def regression(n=60, p=5, targets: int | None = None, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + offset
    W = rng.standard_normal((p, targets or 1))
    Y = X @ W + 1.5 + 0.5 * rng.standard_normal((n, targets or 1))
    return X, Y if targets else Y[:, 0]


def weights(n, seed=1):
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    weight[::11] = 0.0
    return weight


def ridge_objective(model, X, y, alpha, weight=None):
    """Weighted sum of squares and penalty, per target: what scikit-learn minimises."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    weight = np.ones(len(y)) if weight is None else weight
    residual = np.asarray(y, dtype=float) - X @ np.asarray(model.coef_, float).T - np.asarray(model.intercept_, float)
    return weight @ residual**2 + alpha * np.sum(np.atleast_2d(np.asarray(model.coef_, float)) ** 2, axis=1).squeeze()


def same(ours, reference, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(ours.coef_, reference.coef_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, rtol=rtol, atol=10 * atol)
    assert np.shape(ours.coef_) == np.shape(reference.coef_)
    assert np.shape(ours.intercept_) == np.shape(reference.intercept_)


fit_intercept = pytest.mark.parametrize("fit_intercept", [True, False])
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
layout = pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array])


# LinearRegression -----------------------------------------------------------------------------------------------------


@fit_intercept
@weighted
@pytest.mark.parametrize("targets", [None, 1, 3])
def test_linear_regression(fit_intercept, weighted, targets):
    X, y = regression(targets=targets)
    weight = weights(60) if weighted else None
    ours = tf.LinearRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    reference = sk.LinearRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    same(ours, reference)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), rtol=1e-10)


@fit_intercept
def test_linear_regression_with_more_features_than_rows(fit_intercept):
    """Both return the solution of smallest norm."""
    X, y = regression(n=12, p=30)
    ours = tf.LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    same(ours, sk.LinearRegression(fit_intercept=fit_intercept).fit(X, y), atol=1e-10)


def test_linear_regression_with_collinear_columns():
    X, y = regression()
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    ours, reference = tf.LinearRegression().fit(X, y), sk.LinearRegression().fit(X, y)
    same(ours, reference, atol=1e-9)
    assert ours.rank_ == reference.rank_ == 5
    np.testing.assert_allclose(ours.singular_[:5], reference.singular_[:5], rtol=1e-8)


@fit_intercept
def test_linear_regression_sparse(fit_intercept):
    X = sparse.random_array((80, 10), density=0.3, rng=np.random.default_rng(2), format="csr")
    y = np.random.default_rng(3).standard_normal(80) + X @ np.arange(10.0)
    ours = tf.LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    same(ours, sk.LinearRegression(fit_intercept=fit_intercept).fit(X.toarray(), y), atol=1e-10)
    same(ours, sk.LinearRegression(fit_intercept=fit_intercept, tol=1e-12).fit(X, y), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("targets", [None, 2])
def test_linear_regression_positive(targets):
    X, y = regression(targets=targets, seed=4)
    ours = tf.LinearRegression(positive=True).fit(X, y)
    reference = sk.LinearRegression(positive=True).fit(X, y)
    assert np.min(ours.coef_) >= 0
    assert np.any(ours.coef_ == 0)
    same(ours, reference, atol=1e-9)


# Ridge ----------------------------------------------------------------------------------------------------------------


@fit_intercept
@weighted
@layout
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_ridge(fit_intercept, weighted, kind, alpha):
    X, y = regression()
    X[X < 1.0] = 0.0
    weight = weights(60) if weighted else None
    ours = tf.Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(kind(X), y, weight)
    reference = sk.Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="cholesky").fit(X, y, weight)
    same(ours, reference)


@pytest.mark.parametrize("solver", ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
def test_ridge_solver_names_are_accepted_and_are_never_worse(solver):
    X, y = regression()
    ours = tf.Ridge(alpha=2.0, solver=solver).fit(X, y)
    reference = sk.Ridge(alpha=2.0, solver=solver, tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
    same(ours, reference, rtol=1e-5, atol=1e-6)
    best = ridge_objective(sk.Ridge(alpha=2.0, solver="svd").fit(X, y), X, y, 2.0)
    assert ridge_objective(ours, X, y, 2.0) <= best * (1 + 1e-13)


@weighted
@pytest.mark.parametrize("shape", [(50, 6), (10, 25)])
def test_ridge_multi_output_with_an_alpha_for_each_target(weighted, shape):
    X, y = regression(*shape, targets=3)
    weight = weights(shape[0]) if weighted else None
    alphas = np.array([0.01, 1.0, 50.0])
    ours = tf.Ridge(alpha=alphas).fit(X, y, weight)
    same(ours, sk.Ridge(alpha=alphas, solver="svd").fit(X, y, weight), atol=1e-10)


def stride(X):
    return np.repeat(X, 2, axis=1)[:, ::2]


@fit_intercept
@weighted
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, stride, sparse.csr_matrix, sparse.csc_array])
def test_ridge_with_more_features_than_rows(fit_intercept, weighted, kind):
    X, y = regression(n=15, p=40)
    X[X < 1.0] = 0.0
    weight = weights(15) if weighted else None
    ours = tf.Ridge(alpha=0.3, fit_intercept=fit_intercept).fit(kind(X), y, weight)
    same(ours, sk.Ridge(alpha=0.3, fit_intercept=fit_intercept, solver="svd").fit(X, y, weight), atol=1e-10)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
@fit_intercept
def test_ridge_positive(alpha, fit_intercept):
    X, y = regression(seed=4)
    ours = tf.Ridge(alpha=alpha, positive=True, fit_intercept=fit_intercept).fit(X, y)
    reference = sk.Ridge(alpha=alpha, positive=True, fit_intercept=fit_intercept, tol=1e-12).fit(X, y)
    assert np.min(ours.coef_) >= 0
    assert ridge_objective(ours, X, y, alpha) <= ridge_objective(reference, X, y, alpha) * (1 + 1e-12)
    same(ours, reference, rtol=1e-4, atol=1e-4)


def test_ridge_float32_stays_float32():
    """In float32 scikit-learn is off by about 1e-4; ours must be as near to the float64 answer as float32 allows."""
    X, y = regression()
    X, y = X.astype(np.float32), y.astype(np.float32)
    exact = sk.Ridge(alpha=1.0, solver="svd").fit(X.astype(float), y.astype(float))
    ours = tf.Ridge(alpha=1.0).fit(X, y)
    reference = sk.Ridge(alpha=1.0).fit(X, y)
    assert ours.coef_.dtype == reference.coef_.dtype == np.float32
    assert ours.predict(X).dtype == np.float32
    assert np.max(np.abs(ours.coef_ - exact.coef_)) <= 2e-7 * np.max(np.abs(exact.coef_))
    assert np.max(np.abs(ours.coef_ - exact.coef_)) <= np.max(np.abs(reference.coef_ - exact.coef_)) + 1e-7


def test_ridge_without_penalty_is_least_squares():
    X, y = regression()
    same(tf.Ridge(alpha=0.0).fit(X, y), sk.LinearRegression().fit(X, y))


@weighted
@pytest.mark.parametrize("targets", [None, 2])
def test_ridge_regression_function(weighted, targets):
    X, y = regression(targets=targets)
    weight = weights(60) if weighted else None
    np.testing.assert_allclose(
        tf.ridge_regression(X, y, 0.7, sample_weight=weight),
        sk.ridge_regression(X, y, 0.7, sample_weight=weight, solver="cholesky"),
        rtol=1e-9,
    )


def test_ridge_regression_returns_the_intercept():
    X, y = regression()
    coef, intercept = tf.ridge_regression(sparse.csr_matrix(X), y, 0.7, return_intercept=True)
    reference = sk.Ridge(alpha=0.7, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(coef, reference.coef_, rtol=1e-9)
    assert intercept == pytest.approx(reference.intercept_, rel=1e-9)


# ridge_path -----------------------------------------------------------------------------------------------------------


@fit_intercept
@weighted
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("shape", [(60, 5), (15, 25)])
def test_ridge_path_is_one_ridge_for_each_alpha(fit_intercept, weighted, targets, shape):
    X, y = regression(*shape, targets=targets)
    weight = weights(shape[0]) if weighted else None
    alphas = [1e-3, 1.0, 1e3]
    path = tf.ridge_path(X, y, alphas, sample_weight=weight, fit_intercept=fit_intercept)
    for k, alpha in enumerate(alphas):
        reference = sk.Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, y, weight)
        np.testing.assert_allclose(path.coefs[k], reference.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(path.intercepts[k], reference.intercept_, rtol=1e-8, atol=1e-9)
        rest = np.sum((np.ones(shape[0]) if weight is None else weight) @ (y - reference.predict(X)) ** 2)
        assert np.sum(path.training_error[k]) == pytest.approx(rest, rel=1e-7)


# RidgeClassifier ------------------------------------------------------------------------------------------------------


def classification(classes=3, n=90, p=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, n, p=np.linspace(1, 2, classes) / np.linspace(1, 2, classes).sum())
    X = rng.standard_normal((n, p)) + 1.2 * rng.standard_normal((classes, p))[labels]
    return X, np.array(["ant", "bee", "cat", "dog"])[labels]


@fit_intercept
@weighted
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ant": 3.0, "bee": 0.5}])
def test_ridge_classifier(fit_intercept, weighted, classes, class_weight):
    X, y = classification(classes)
    weight = weights(90) if weighted else None
    settings = {"alpha": 1.5, "fit_intercept": fit_intercept, "class_weight": class_weight}
    ours = tf.RidgeClassifier(**settings).fit(X, y, weight)
    reference = sk.RidgeClassifier(**settings, solver="cholesky").fit(X, y, weight)
    same(ours, reference)
    np.testing.assert_array_equal(ours.classes_, reference.classes_)
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), reference.decision_function(X), rtol=1e-8, atol=1e-10)


def test_ridge_classifier_sparse():
    X, y = classification()
    same(tf.RidgeClassifier().fit(sparse.csr_matrix(X), y), sk.RidgeClassifier(solver="cholesky").fit(X, y))


# RidgeCV --------------------------------------------------------------------------------------------------------------

ALPHAS = np.logspace(-2, 3, 6)


@fit_intercept
@pytest.mark.parametrize("targets", [None, 3])
@pytest.mark.parametrize("shape", [(60, 5), (20, 35)])
def test_ridge_cv_leave_one_out(fit_intercept, targets, shape):
    X, y = regression(*shape, targets=targets)
    settings = {"alphas": ALPHAS, "fit_intercept": fit_intercept, "store_cv_results": True}
    ours, reference = tf.RidgeCV(**settings).fit(X, y), sk.RidgeCV(**settings).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)
    np.testing.assert_allclose(ours.cv_results_, reference.cv_results_, rtol=1e-6, atol=1e-10)
    same(ours, reference, rtol=1e-8, atol=1e-10)


@fit_intercept
@pytest.mark.parametrize("targets", [None, 2])
def test_ridge_cv_leave_one_out_with_weights(fit_intercept, targets):
    """The weights enter both the fits and the mean of the errors."""
    X, y = regression(targets=targets)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 60)
    settings = {"alphas": ALPHAS, "fit_intercept": fit_intercept}
    ours, reference = tf.RidgeCV(**settings).fit(X, y, weight), sk.RidgeCV(**settings).fit(X, y, weight)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)
    same(ours, reference, rtol=1e-8)


def test_ridge_cv_an_alpha_for_each_target():
    X, y = regression(targets=4, n=30, p=12)
    y[:, 1] = np.random.default_rng(9).standard_normal(30)
    settings = {"alphas": ALPHAS, "alpha_per_target": True}
    ours, reference = tf.RidgeCV(**settings).fit(X, y), sk.RidgeCV(**settings).fit(X, y)
    np.testing.assert_array_equal(ours.alpha_, reference.alpha_)
    assert len(set(ours.alpha_)) > 1
    np.testing.assert_allclose(ours.best_score_, reference.best_score_, rtol=1e-8)
    same(ours, reference, rtol=1e-8)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", "neg_median_absolute_error"])
def test_ridge_cv_leave_one_out_with_a_scorer(scoring):
    """A scorer sees all leave-one-out predictions at once."""
    X, y = regression()
    ours = tf.RidgeCV(alphas=ALPHAS, scoring=scoring).fit(X, y)
    reference = sk.RidgeCV(alphas=ALPHAS, scoring=scoring).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)


SPLITTERS = {
    "5": 5,
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "uneven": KFold(7),
    "overlapping": ShuffleSplit(6, test_size=0.3, random_state=0),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "predefined": [(np.arange(30, 60), np.arange(30)), (np.arange(40), np.arange(40, 60))],
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "neg_mean_absolute_error"])
@pytest.mark.parametrize("targets", [None, 2])
def test_ridge_cv_folds(cv, scoring, targets):
    X, y = regression(targets=targets)
    ours = tf.RidgeCV(alphas=ALPHAS, cv=cv, scoring=scoring).fit(X, y)
    reference = sk.RidgeCV(alphas=ALPHAS, cv=cv, scoring=scoring).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)
    same(ours, reference, rtol=1e-7)


def test_ridge_cv_folds_of_single_rows():
    X, y = regression(n=25)
    settings = {"alphas": ALPHAS, "cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    ours, reference = tf.RidgeCV(**settings).fit(X, y), sk.RidgeCV(**settings).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)


def test_ridge_cv_groups():
    X, y = regression()
    groups = np.repeat(np.arange(12), 5)
    folds = list(GroupKFold(4).split(X, y, groups))
    ours = tf.RidgeCV(alphas=ALPHAS, cv=folds).fit(X, y)
    reference = sk.RidgeCV(alphas=ALPHAS, cv=folds).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)


@pytest.mark.parametrize("cv", [None, 4], ids=["loo", "folds"])
@pytest.mark.parametrize("kind", [np.asfortranarray, stride, sparse.csr_matrix])
def test_ridge_cv_with_more_features_than_rows(cv, kind):
    X, y = regression(n=24, p=40)
    ours = tf.RidgeCV(alphas=ALPHAS, cv=cv).fit(kind(X), y)
    reference = sk.RidgeCV(alphas=ALPHAS, cv=cv).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-7)
    same(ours, reference, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("cv", [None, 4], ids=["loo", "folds"])
def test_ridge_cv_sparse(cv):
    X = sparse.random_array((70, 9), density=0.3, rng=np.random.default_rng(2), format="csr")
    y = np.random.default_rng(3).standard_normal(70) + X @ np.arange(9.0) + 5.0
    ours = tf.RidgeCV(alphas=ALPHAS, cv=cv).fit(X, y)
    reference = sk.RidgeCV(alphas=ALPHAS, cv=cv).fit(X.toarray(), y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)
    same(ours, reference, rtol=1e-7)


# RidgeClassifierCV ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_ridge_classifier_cv_leave_one_out(classes, class_weight):
    X, y = classification(classes)
    settings = {"alphas": ALPHAS, "class_weight": class_weight, "store_cv_results": True}
    ours, reference = tf.RidgeClassifierCV(**settings).fit(X, y), sk.RidgeClassifierCV(**settings).fit(X, y)
    assert ours.alpha_ == reference.alpha_
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-8)
    np.testing.assert_allclose(ours.cv_results_, reference.cv_results_, rtol=1e-6, atol=1e-10)
    same(ours, reference, rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("cv", [5, StratifiedKFold(3, shuffle=True, random_state=1)], ids=["5", "stratified"])
def test_ridge_classifier_cv_folds(classes, cv):
    X, y = classification(classes, n=120)
    ours = tf.RidgeClassifierCV(alphas=ALPHAS, cv=cv, scoring="accuracy").fit(X, y)
    reference = sk.RidgeClassifierCV(alphas=ALPHAS, cv=cv, scoring="accuracy").fit(X, y)
    assert ours.best_score_ == pytest.approx(reference.best_score_, rel=1e-10)
    assert ours.alpha_ == reference.alpha_
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))


def test_ill_conditioned_sparse_samples_are_factored():
    """Where conjugate gradients take longer than a factor of the Gram matrix, that is formed."""
    rng = np.random.default_rng(3)
    X = sparse.random(400, 400, 0.05, "csr", rng=rng, data_rvs=rng.standard_normal)
    samples = as_rows(X, rng.standard_normal(400), None)
    assert least_squares.select_solver(samples, iterate=True) == "conjugate"
    fitted = least_squares.fit(samples, np.zeros(1), True)
    assert fitted.method != "conjugate"
    assert fitted.certificate.ok
    assert not least_squares.fit(samples, np.zeros(1), True, solver="conjugate", max_iter=160).certificate.ok
