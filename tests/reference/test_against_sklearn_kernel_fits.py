"""Kernel logistic regression and Tikhonov's form beside scikit-learn on the features of the kernel matrix."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.svm import SVC, SVR

from tenfold import KernelLogisticRegression, Tikhonov, TikhonovClassifier, kernels


def data(count=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    score = np.sin(2.0 * X[:, 0]) + 0.4 * rng.standard_normal(90)
    return X, score, np.digitize(score, [-0.4, 0.4] if count == 3 else [0.0])


def features(X):
    """F with F F' = K."""
    return np.linalg.cholesky(kernels.Matern(1.0, nu=0.5).block(X))


KERNEL = kernels.Matern(1.0, nu=0.5)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_logistic_regression(count, intercept):
    X, _, y = data(count)
    F = features(X)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 90)
    linear = LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000, fit_intercept=intercept)
    linear.fit(F, y, sample_weight=weight)
    model = KernelLogisticRegression(2.0, kernel=KERNEL, fit_intercept=intercept, tol=1e-12)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(F), atol=1e-4)


def test_poisson():
    X, score, _ = data()
    y = np.random.default_rng(2).poisson(np.exp(score)).astype(float)
    F = features(X)
    linear = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(F, y)
    model = Tikhonov("poisson", alpha=0.1, kernel=KERNEL, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.predict(X), linear.predict(F), rtol=1e-5)


def test_support_vector_machines():
    X, score, y = data()
    K = KERNEL.block(X)
    machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(K, y)
    model = TikhonovClassifier("hinge", alpha=1.0 / 90, kernel=KERNEL, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), machine.decision_function(K), atol=2e-3)
    machine = SVR(C=1.0, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(K, score)
    model = Tikhonov("epsilon_insensitive", alpha=1.0 / 90, kernel=KERNEL, tol=1e-9).fit(X, score)
    np.testing.assert_allclose(model.predict(X), machine.predict(K), atol=2e-3)
