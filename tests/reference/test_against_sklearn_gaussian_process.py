"""Gaussian processes beside scikit-learn's, at equal hyper-parameters and where both search."""

import warnings

import numpy as np
import pytest
import sklearn.gaussian_process as sklearn_gp
from scipy.linalg import LinAlgError
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge

import tenfold
from tenfold import machine

KERNELS = {
    "gaussian": ConstantKernel(2.0) * RBF(1.3) + WhiteKernel(0.1),
    "anisotropic": ConstantKernel(2.0) * RBF([1.0, 2.0]) + WhiteKernel(0.1),
    "matern": ConstantKernel(3.0) * Matern([2.0, 1.0], nu=2.5) + WhiteKernel(0.5),
    "matern of any nu": Matern(2.0, nu=0.8) + WhiteKernel(0.5),
    "rational": ConstantKernel() * RationalQuadratic() + WhiteKernel(),
    "sum": ConstantKernel() * RBF(0.5) + DotProduct() + WhiteKernel(),
    "periodic": ExpSineSquared(1.0, 5.0) * RBF(3.0) + WhiteKernel(0.2),
    "pairwise": ConstantKernel() * PairwiseKernel(gamma=0.5, metric="rbf") + WhiteKernel(0.2),
    "power": RBF(1.0) ** 2 + WhiteKernel(0.2),
}


def waves(n=70, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    Y = 2.0 * np.sin(X[:, :1] + np.arange(targets)) + 0.3 * X[:, 1:] + 0.2 * rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


def both(name, X, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [getattr(module, name)(**settings).fit(X, y) for module in (tenfold, sklearn_gp)]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("targets", [1, 2])
def test_regression_at_equal_hyperparameters(kernel, targets):
    X, y = waves(targets=targets)
    Q = waves(25, seed=1)[0]
    for extra in ({"normalize_y": True}, {"alpha": np.linspace(0.01, 0.3, len(X))}):
        ours, theirs = both("GaussianProcessRegressor", X, y, kernel=kernel, optimizer=None, **extra)
        np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-12)
        for name in ("L_", "alpha_", "y_train_", "X_train_"):
            one, other = getattr(ours, name), getattr(theirs, name)
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10 * np.abs(other).max())
        for asked in ({"return_std": True}, {"return_cov": True}):
            for one, other in zip(ours.predict(Q, **asked), theirs.predict(Q, **asked), strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
        assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-10)
        value, slope = ours.log_marginal_likelihood(kernel.theta + 0.1, eval_gradient=True)
        expected, their_slope = theirs.log_marginal_likelihood(kernel.theta + 0.1, eval_gradient=True)
        assert value == pytest.approx(expected, rel=1e-10)
        # those of Bessel functions and of pairwise kernels are differences there
        np.testing.assert_allclose(slope, their_slope, rtol=1e-5, atol=1e-5 * np.abs(their_slope).max())


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_evidence_is_not_below_that_of_scikit_learn(kernel):
    X, y = waves()
    ours, theirs = both("GaussianProcessRegressor", X, y, kernel=kernel)
    assert ours.certificate_.ok
    assert ours.log_marginal_likelihood_value_ > theirs.log_marginal_likelihood_value_ - 1e-5 * len(X)


def test_prior_before_a_fit():
    Q = waves(20)[0]
    for settings in ({}, {"n_targets": 3}, {"kernel": KERNELS["sum"], "n_targets": 2}):
        ours, theirs = (module.GaussianProcessRegressor(**settings) for module in (tenfold, sklearn_gp))
        np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
        for asked in ({"return_std": True}, {"return_cov": True}):
            for one, other in zip(ours.predict(Q, **asked), theirs.predict(Q, **asked), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
        assert ours.sample_y(Q, 4).shape == theirs.sample_y(Q, 4).shape


@pytest.mark.parametrize("targets", [1, 2])
def test_samples_have_the_mean_and_covariance_of_the_posterior(targets):
    X, y = waves(targets=targets)
    Q = np.vstack([waves(5, seed=1)[0], X[:2], X[:1]])  # one of them twice: a singular covariance
    model = tenfold.GaussianProcessRegressor(1.0 * RBF(), alpha=0.1, optimizer=None).fit(X, y)
    mean, covariance = model.predict(Q, return_cov=True)
    draws = model.sample_y(Q, 20_000, random_state=0)
    mean, covariance, draws = (
        (mean[:, 0], covariance[..., 0], draws[:, 0]) if targets > 1 else (mean, covariance, draws)
    )
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.02)
    np.testing.assert_allclose(draws[5], draws[7], atol=1e-6)


def test_mean_is_kernel_ridge():
    X, y = waves(targets=2)
    Q = waves(20, seed=1)[0]
    process = tenfold.GaussianProcessRegressor(RBF(1.5), alpha=0.3, optimizer=None).fit(X, y)
    ridge = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5 / 1.5**2).fit(X, y)
    np.testing.assert_allclose(process.predict(Q), ridge.predict(Q), rtol=1e-10)
    np.testing.assert_allclose(process.alpha_, ridge.dual_coef_, rtol=1e-9)


def test_intervals_cover_new_observations():
    X, y = waves(300)
    model = tenfold.GaussianProcessRegressor(KERNELS["gaussian"]).fit(X[:150], y[:150])
    ends = model.predict_interval(X[150:], coverage=0.8)
    inside = (ends[:, 0] <= y[150:]) & (y[150:] <= ends[:, 1])
    assert 0.7 < inside.mean() < 0.9
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, coverage=1.0)


def test_restarts_do_not_depend_on_threads(monkeypatch):
    X, y = waves()
    kernel, models = KERNELS["anisotropic"], []
    for count in (1, 3):
        monkeypatch.setattr(machine, "threads", lambda entries=0, count=count: count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(
                [
                    tenfold.GaussianProcessRegressor(kernel, n_restarts_optimizer=4, random_state=0).fit(X, y),
                    tenfold.GaussianProcessClassifier(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y > 0),
                ]
            )
    for one, other in zip(*models, strict=True):
        np.testing.assert_array_equal(one.kernel_.theta, other.kernel_.theta)
        assert one.certificate_.value == other.certificate_.value
    once = tenfold.GaussianProcessRegressor(kernel).fit(X, y)
    assert models[0][0].log_marginal_likelihood_value_ >= once.log_marginal_likelihood_value_


def test_many_samples_reach_the_evidence_of_scikit_learn():
    """Beyond the number from which a search among few samples comes first."""
    X, y = waves(900)
    kernel = KERNELS["gaussian"]
    ours, theirs = both("GaussianProcessRegressor", X, y, kernel=kernel)
    assert ours.certificate_.ok
    assert ours.log_marginal_likelihood_value_ > theirs.log_marginal_likelihood_value_ - 1e-6 * len(X)


def test_amplitude_and_noise_alone_by_the_spectrum():
    X, y = waves()
    fixed = ConstantKernel(1.0) * RBF(1.0, "fixed") + WhiteKernel(1.0)
    ours, theirs = both("GaussianProcessRegressor", X, y, kernel=fixed)
    assert ours.certificate_.ok
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-3)
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 1e-7


def test_own_optimizer_and_evidence():
    X, y = waves()
    calls = []

    def optimizer(objective, start, bounds):
        calls.append(bounds.shape)
        assert objective(start, eval_gradient=False) == pytest.approx(objective(start)[0])
        return start - 0.1, 0.0

    model = tenfold.GaussianProcessRegressor(KERNELS["gaussian"], optimizer=optimizer)
    with pytest.warns(UserWarning, match="norm of the gradient"):
        model.fit(X, y)
    assert calls == [(3, 2)]
    np.testing.assert_allclose(model.kernel_.theta, KERNELS["gaussian"].theta - 0.1)
    theta = KERNELS["gaussian"].theta
    assert model.log_marginal_likelihood(theta, clone_kernel=False) < 0.0
    np.testing.assert_allclose(model.kernel_.theta, theta)
    with pytest.raises(ValueError, match="theta"):
        model.log_marginal_likelihood(eval_gradient=True)


def test_not_positive_definite():
    X, y = waves()
    for module in (tenfold, sklearn_gp):
        with pytest.raises(LinAlgError, match="not returning a positive definite matrix"):
            module.GaussianProcessRegressor(RBF(1.0, "fixed"), alpha=0.0).fit(np.vstack([X, X]), np.append(y, y))


def classes(n=70, count=2, seed=0):
    X, y = waves(n, seed=seed)
    names = np.array(["ant", "bee", "cat"])
    return X, names[np.digitize(y, np.quantile(y, np.arange(1, count) / count))]


@pytest.mark.parametrize("kernel", [None, 10.0 * RBF(1.5), Matern(1.0) + WhiteKernel(0.1)], ids=str)
@pytest.mark.parametrize(("count", "multi_class"), [(2, "one_vs_rest"), (3, "one_vs_rest"), (3, "one_vs_one")])
def test_classification_at_equal_hyperparameters(kernel, count, multi_class):
    X, y = classes(count=count)
    Q = waves(40, seed=1)[0]
    settings = {"kernel": kernel, "optimizer": None, "multi_class": multi_class}
    ours, theirs = both("GaussianProcessClassifier", X, y, **settings)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-7)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-12)
    theta = ours.kernel_.theta
    if len(theta):
        expected = theirs.log_marginal_likelihood(theta + 0.1)
        assert ours.log_marginal_likelihood(theta + 0.1) == pytest.approx(expected, rel=1e-7)
    if multi_class == "one_vs_rest":
        np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-6)
    else:
        with pytest.raises(ValueError, match="probability"):
            ours.predict_proba(Q)
    if count == 2:
        for name in ("pi_", "W_sr_", "L_", "y_train_"):
            one, other = getattr(ours.base_estimator_, name), getattr(theirs.base_estimator_, name)
            np.testing.assert_allclose(one, other, atol=1e-5)
        for one, other in zip(ours.latent_mean_and_variance(Q), theirs.latent_mean_and_variance(Q), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
        if len(theta):
            slope, expected = (m.log_marginal_likelihood(theta, eval_gradient=True)[1] for m in (ours, theirs))
            np.testing.assert_allclose(slope, expected, atol=1e-4)
    else:
        with pytest.raises(ValueError, match="binary"):
            ours.latent_mean_and_variance(Q)


@pytest.mark.parametrize("kernel", [1.0 * RBF(1.0), 1.0 * RBF([1.0, 1.0]) + WhiteKernel(0.1)], ids=str)
def test_evidence_of_classes_is_not_below_that_of_scikit_learn(kernel):
    X, y = classes()
    ours, theirs = both("GaussianProcessClassifier", X, y, kernel=kernel)
    assert ours.certificate_.ok
    assert ours.log_marginal_likelihood_value_ > theirs.log_marginal_likelihood_value_ - 1e-5 * len(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = tenfold.GaussianProcessClassifier(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y)
    assert again.log_marginal_likelihood_value_ >= ours.log_marginal_likelihood_value_
