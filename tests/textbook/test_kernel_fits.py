"""Kernel perceptrons, kernel logistic regression and Tikhonov's form, as the texts have them."""

import numpy as np
import pytest

from tenfold import (
    GaussianProcessClassifier,
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidge,
    Tikhonov,
    TikhonovClassifier,
    kernels,
)

X6 = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]], dtype=float)
Y6 = np.array([-1, 1, 1, -1, -1, 1])


def overlapping(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.where(np.sin(2.0 * X[:, 0]) + 0.5 * rng.standard_normal(n) > 0.0, 1, -1)


class TestCmu34:
    """The whiteboard: f(x) = sum_j alpha_j y_j K(x_j, x), and alpha_i grows by one with a mistake on i."""

    def test_a_linear_kernel_has_the_trace_of_the_lecture(self):
        model = KernelPerceptron("linear", shuffle=False).fit(X6, Y6)
        assert (model.mistakes_ + 1).tolist() == [1, 3, 5]
        alpha = np.zeros(6)
        alpha[model.mistakes_] = model.dual_coef_ * Y6[model.mistakes_]
        assert alpha.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
        assert (model.dual_coef_ @ model.support_vectors_).tolist() == [3.0, 1.0]

    def test_xor_needs_a_kernel_of_degree_two(self):
        X, y = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]]), np.array([1, 1, -1, -1])
        assert not KernelPerceptron("linear", max_iter=50).fit(X, y).certificate_.ok
        assert KernelPerceptron("poly", degree=2, max_iter=50).fit(X, y).certificate_.ok


class TestSeeger92:
    def test_kernel_perceptron_makes_the_updates_of_the_primal(self):
        """9.2.2: the same with features written out, in the same order."""
        X, y = overlapping()
        features = np.column_stack([X**2, np.sqrt(2.0) * X, np.sqrt(2.0) * X[:, :1] * X[:, 1:], np.ones(len(X))])
        w, mistakes = np.zeros(features.shape[1]), []
        for _ in range(3):
            for i in range(len(y)):
                if y[i] * (features[i] @ w) <= 0.0:
                    w = w + y[i] * features[i]
                    mistakes.append(i)
        model = KernelPerceptron("poly", degree=2, gamma=1.0, coef0=1.0, shuffle=False, max_iter=3).fit(X, y)
        assert model.mistakes_.tolist() == mistakes
        np.testing.assert_allclose(model.decision_function(X), features @ w, atol=1e-9)

    @pytest.mark.parametrize("loss", ["square", "huber", "squared_epsilon_insensitive"])
    def test_the_minimiser_is_an_expansion_in_the_samples(self, loss):
        """9.2.3, the representer theorem: functions of other points do not lower the objective."""
        X, _ = overlapping()
        y = np.sin(2.0 * X[:, 0])
        more = np.vstack([X, np.random.default_rng(1).standard_normal((20, 2))])
        settings = {"alpha": 0.1, "kernel": "laplacian", "tol": 1e-10}
        own = Tikhonov(loss, **settings).fit(X, y)
        wider = Tikhonov(loss, centres=more, **settings).fit(X, y)
        assert wider.certificate_.objective == pytest.approx(own.certificate_.objective, abs=1e-9)
        others = ~np.isin(wider.X_fit_[:, 0], X[:, 0])
        assert np.count_nonzero(others) == 20
        assert np.max(np.abs(wider.dual_coef_[others])) < 1e-3 * np.max(np.abs(wider.dual_coef_))

    def test_the_square_is_kernel_ridge(self):
        X, _ = overlapping()
        y = np.sin(2.0 * X[:, 0])
        ridge = KernelRidge(alpha=0.1 * len(y), kernel="rbf", gamma=0.5).fit(X, y)
        model = Tikhonov("square", alpha=0.1, gamma=0.5, fit_intercept=False, tol=1e-14).fit(X, y)
        np.testing.assert_allclose(model.dual_coef_, ridge.dual_coef_, atol=1e-6)


class TestSeeger94:
    def test_the_step_of_reweighted_least_squares(self):
        """9.9: (K + nu W^-1) alpha + b 1 = z, 1'alpha = 0, z = y - W^-1 (pi - t): at the optimum a fixed point, with nu
        alpha = t - pi.
        """
        X, y = overlapping()
        nu, K, t = 0.5, kernels.Gaussian(1.0).block(X), (y + 1) / 2.0
        model = KernelLogisticRegression(1.0 / nu, gamma=0.5, tol=1e-16).fit(X, y)
        f = model.decision_function(X)
        pi = 1.0 / (1.0 + np.exp(-f))
        W = pi * (1.0 - pi)
        system = np.block([[K + np.diag(nu / W), np.ones((80, 1))], [np.ones((1, 80)), np.zeros((1, 1))]])
        step = np.linalg.solve(system, np.append(f - (pi - t) / W, 0.0))
        np.testing.assert_allclose(step[:80], model.dual_coef_, atol=1e-6)
        np.testing.assert_allclose(step[80], model.intercept_[0], atol=1e-6)
        np.testing.assert_allclose(nu * model.dual_coef_, t - pi, atol=1e-7)

    def test_a_support_vector_machine_is_sparse_and_logistic_regression_is_not(self):
        X, y = overlapping()
        hinge = TikhonovClassifier("hinge", alpha=0.002, gamma=0.5).fit(X, y)
        logistic = TikhonovClassifier("logistic", alpha=0.002, gamma=0.5).fit(X, y)
        assert np.mean(np.abs(hinge.dual_coef_) > 1e-9) < 0.8
        assert np.all(logistic.dual_coef_ != 0.0)

    def test_probabilities_are_those_of_the_mode_of_a_process(self):
        """Without an intercept: the mode of the Laplace approximation minimises the same objective."""
        X, y = overlapping()
        process = GaussianProcessClassifier(1.0 * kernels.Gaussian(1.0), optimizer=None).fit(X, y)
        model = KernelLogisticRegression(gamma=0.5, fit_intercept=False, tol=1e-14).fit(X, y)
        mode = process.base_estimator_.f_cached if hasattr(process, "base_estimator_") else None
        assert mode is not None
        np.testing.assert_allclose(model.decision_function(X), mode, atol=1e-5)


class TestRosasco8:
    def test_gradient_descent_on_coefficients_is_that_on_weights(self):
        """8.3: with a linear kernel w_t = X'c_t step by step, and both end at the minimum."""
        X, y = overlapping(40)
        lam, n = 0.05, len(y)
        K = X @ X.T
        step = 1.0 / (np.linalg.eigvalsh(K / n)[-1] + 2.0 * lam)
        c, w = np.zeros(n), np.zeros(2)
        for _ in range(2000):
            c = c - step * (-y / n / (1.0 + np.exp(y * (K @ c))) + 2.0 * lam * c)
            w = w - step * (-(X.T @ (y / (1.0 + np.exp(y * (X @ w))))) / n + 2.0 * lam * w)
            np.testing.assert_allclose(X.T @ c, w, atol=1e-10)
        model = TikhonovClassifier("logistic", alpha=2.0 * lam, kernel="linear", fit_intercept=False, tol=1e-14)
        np.testing.assert_allclose(model.fit(X, y).decision_function(X), X @ w, atol=1e-6)
