"""Kernel ridge regression beside scikit-learn's, and its exact cross-validation beside refits."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_ridge as theirs
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit

import tenfold
from tenfold.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
N = 60
X = rng.standard_normal((N, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2 - 0.5])
WEIGHT = np.where(np.arange(N) % 7 == 0, 0.0, rng.uniform(0.2, 2.0, N))

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"degree": 2, "coef0": 0.5},
    "polynomial": {},
    "laplacian": {},
    "cosine": {},
}


@pytest.mark.parametrize("weight", [None, 2.0, WEIGHT], ids=["plain", "number", "weights"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alpha", [1.0, [1e-3, 10.0]], ids=["one", "each"])
def test_coefficients_and_predictions(kernel, alpha, weight):
    settings = {"kernel": kernel, "alpha": alpha, **KERNELS[kernel]}
    ours, other = (library.KernelRidge(**settings) for library in (tenfold, theirs))
    ours.fit(X, Y, sample_weight=weight)
    other.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.dual_coef_, other.dual_coef_, rtol=1e-8, atol=1e-9 * np.abs(ours.dual_coef_).max())
    np.testing.assert_allclose(ours.predict(X), other.predict(X), rtol=1e-9, atol=1e-10)
    assert ours.certificate_.ok
    assert tenfold.certify(other, X, Y, weight).ok


def test_positive_features_of_chi2():
    Z = np.abs(X)
    ours = tenfold.KernelRidge(kernel="chi2").fit(Z, Y)
    other = theirs.KernelRidge(kernel="chi2", gamma=1.0).fit(Z, Y)
    np.testing.assert_allclose(ours.predict(Z), other.predict(Z), rtol=1e-9, atol=1e-10)
    with pytest.raises(ValueError, match="an eigenvalue is -"):  # minus a sum of squares: no inner product
        tenfold.KernelRidge(kernel="additive_chi2").fit(Z, Y)


def product_plus_one(x, z, power=1):
    return float(x @ z + 1.0) ** power


def test_functions_with_parameters_and_given_matrices():
    settings = {"kernel": product_plus_one, "kernel_params": {"power": 2}}
    ours, other = (library.KernelRidge(**settings).fit(X, Y, WEIGHT) for library in (tenfold, theirs))
    np.testing.assert_allclose(ours.predict(X[:5]), other.predict(X[:5]), rtol=1e-9)
    K = (X @ X.T + 1.0) ** 2
    given = tenfold.KernelRidge(kernel="precomputed").fit(K, Y, WEIGHT)
    other = theirs.KernelRidge(kernel="precomputed").fit(K, Y, WEIGHT)
    np.testing.assert_allclose(given.dual_coef_, other.dual_coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(given.predict(K[:5]), ours.predict(X[:5]), rtol=1e-9)
    assert tenfold.certify(other, K, Y, WEIGHT).ok


@pytest.mark.parametrize(
    "kernel",
    [2.0 * gp.RBF(0.7) + gp.DotProduct(0.3), gp.Matern(1.3, nu=1.5), Gaussian(0.7) * Linear()],
    ids=["sum", "matern", "ours"],
)
def test_kernel_objects(kernel):
    K = kernel(X)
    ours = tenfold.KernelRidge(kernel=kernel, alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(ours.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(N), Y), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X[:4] + 0.1), kernel(X[:4] + 0.1, X) @ ours.dual_coef_, rtol=1e-9)


def test_sparse_samples():
    Z = np.where(np.abs(X) > 0.7, X, 0.0)
    for kernel in ("linear", "rbf"):
        ours = tenfold.KernelRidge(kernel=kernel).fit(sparse.csc_array(Z), Y)
        other = theirs.KernelRidge(kernel=kernel).fit(sparse.csr_array(Z), Y)
        np.testing.assert_allclose(ours.predict(sparse.csr_array(Z)), other.predict(Z), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.predict(Z), other.predict(Z), rtol=1e-9, atol=1e-12)
        assert tenfold.certify(other, sparse.csr_array(Z), Y).ok


def test_as_the_kernel_of_scikit_learn():
    ours = theirs.KernelRidge(kernel=Gaussian(1.2)).fit(X, Y)
    again = tenfold.KernelRidge(kernel=Gaussian(1.2)).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), again.predict(X), rtol=1e-9)


ALPHAS = np.array([1e-6, 1e-3, 0.1, 10.0])
SPLITTERS = {
    "leave-one-out": LeaveOneOut(),
    "folds": KFold(5, shuffle=True, random_state=0),
    "two folds": KFold(2),
    "parts of the samples": ShuffleSplit(4, test_size=0.2, train_size=0.6, random_state=0),
    "in order": TimeSeriesSplit(4),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_every_cell_of_the_grid_is_that_of_refits(kernel, splitter, weight):
    gammas = [0.1, 1.0] if kernel == "rbf" else None
    given = np.exp(-0.3 * np.sum((X[:, None] - X) ** 2, axis=2)) if kernel == "precomputed" else X
    cv, settings = SPLITTERS[splitter], {"kernel": kernel, "scoring": "neg_mean_squared_error"}
    if splitter == "leave-one-out" and weight is not None:  # no score is that of a sample without weight
        weight = np.maximum(weight, 0.1)
    model = tenfold.KernelRidgeCV(ALPHAS, gammas=gammas, cv=cv, **settings).fit(given, Y, weight)
    result = iter(model.cv_results_["mean_test_score"])
    for gamma in gammas or [None]:
        for alpha in ALPHAS:
            scores = []
            for train, test in cv.split(X):
                pair = kernel == "precomputed"
                one = theirs.KernelRidge(alpha=alpha, kernel=kernel, gamma=gamma)
                inside = None if weight is None else weight[train]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    one.fit(given[np.ix_(train, train)] if pair else given[train], Y[train], inside)
                predicted = one.predict(given[np.ix_(test, train)] if pair else given[test])
                mass = None if weight is None else weight[test]
                scores.append(-np.average(np.mean((predicted - Y[test]) ** 2, axis=1), weights=mass))
            np.testing.assert_allclose(next(result), np.mean(scores), rtol=1e-8)


def test_leave_one_out_is_n_refits():
    model = tenfold.KernelRidgeCV(ALPHAS, gammas=[0.3]).fit(X, Y[:, 0], WEIGHT)
    for alpha, score in zip(ALPHAS, model.cv_results_["mean_test_score"], strict=True):
        errors = []
        for i in np.flatnonzero(WEIGHT):
            rest = np.delete(np.arange(N), i)
            one = theirs.KernelRidge(alpha, kernel="rbf", gamma=0.3).fit(X[rest], Y[rest, 0], WEIGHT[rest])
            errors.append(WEIGHT[i] * (one.predict(X[[i]])[0] - Y[i, 0]) ** 2)
        np.testing.assert_allclose(-score, np.sum(errors) / N, rtol=1e-8)


def test_the_search_of_scikit_learn_chooses_the_same():
    gammas = [0.01, 0.1, 1.0]
    model = tenfold.KernelRidgeCV(ALPHAS, gammas=gammas, cv=5).fit(X, Y)
    search = GridSearchCV(theirs.KernelRidge(kernel="rbf"), {"gamma": gammas, "alpha": ALPHAS}, cv=5).fit(X, Y)
    assert search.best_params_ == {"alpha": model.alpha_, "gamma": model.gamma_}
    np.testing.assert_allclose(model.best_score_, search.best_score_, rtol=1e-10)
    np.testing.assert_allclose(model.predict(X), search.predict(X), rtol=1e-8, atol=1e-10)


def test_repeated_training_samples_weigh_more():
    train = rng.integers(0, N, N)
    test = np.setdiff1d(np.arange(N), train)
    cv = [(train, test), (np.arange(N // 2), np.arange(N // 2, N))]
    model = tenfold.KernelRidgeCV([0.1], gammas=[0.3], cv=cv).fit(X, Y[:, 0])
    one = theirs.KernelRidge(0.1, kernel="rbf", gamma=0.3).fit(X[train], Y[train, 0])
    np.testing.assert_allclose(model.cv_results_["split0_test_score"], one.score(X[test], Y[test, 0]), rtol=1e-8)


def test_classification_is_regression_on_signs():
    labels = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = tenfold.KernelRidgeClassifier(alpha=0.1, gamma=0.3).fit(X, labels, WEIGHT)
    signs = np.where(labels[:, None] == model.classes_, 1.0, -1.0)
    other = theirs.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(X, signs, WEIGHT)
    np.testing.assert_allclose(model.decision_function(X), other.predict(X), rtol=1e-9, atol=1e-11)
    assert np.array_equal(model.predict(X), model.classes_[other.predict(X).argmax(axis=1)])
    two = tenfold.KernelRidgeClassifier(alpha=0.1, gamma=0.3).fit(X, labels == "ant")
    assert two.decision_function(X).shape == (N,)


def test_classifiers_choose_as_refits_do():
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])
    grid = {"gamma": [0.1, 1.0], "alpha": ALPHAS}
    model = tenfold.KernelRidgeClassifierCV(ALPHAS, gammas=grid["gamma"], cv=4).fit(X, labels)
    search = GridSearchCV(tenfold.KernelRidgeClassifier(), grid, cv=4).fit(X, labels)
    order = {(row["gamma"], row["alpha"]): k for k, row in enumerate(search.cv_results_["params"])}
    for k, score in enumerate(model.cv_results_["mean_test_score"]):
        place = order[model.cv_results_["param_gamma"][k], model.cv_results_["param_alpha"][k]]
        np.testing.assert_allclose(score, search.cv_results_["mean_test_score"][place], rtol=1e-12)
