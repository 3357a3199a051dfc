"""Certificates of Gaussian processes: what is refused, and the numbers beside independent ones."""

import copy
import warnings

import numpy as np
import pytest
import scipy.optimize
import sklearn.gaussian_process as sklearn_gp
from sklearn import exceptions as sklearn_exceptions
from sklearn.gaussian_process import kernels as sk
from tampering import tamper

import tenfold
from tenfold.kernels import Constant, Gaussian, Product, Sigmoid, Sum, White

NOISY = 1.0 * Gaussian() + White(0.1)


def waves(n=60, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    Y = np.sin(X[:, :1] + np.arange(targets)) + 0.3 * X[:, 1:] + 0.2 * rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


def sides(n=60, seed=0, classes=2):
    X, y = waves(n, seed=seed)
    return X, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def accepted(model, X, y):
    """Whether certify says ok; an error is a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tenfold.certify(model, X, y).ok
        except Exception:
            return False


REGRESSORS = {
    "evidence": lambda: tenfold.GaussianProcessRegressor(NOISY),
    "normalised": lambda: tenfold.GaussianProcessRegressor(NOISY, normalize_y=True),
    "given": lambda: tenfold.GaussianProcessRegressor(alpha=0.1, optimizer=None),
    "scikit-learn": lambda: sklearn_gp.GaussianProcessRegressor(sk.ConstantKernel() * sk.RBF() + sk.WhiteKernel(0.1)),
}


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.parametrize("targets", [1, 2])
def test_tampered_regressor_is_not_certified(make, targets):
    X, y = waves(targets=targets)
    model = fit(make(), X, y)
    assert accepted(model, X, y)
    survivors = [f"{name}: {change}" for name, change, worse in tamper(model) if accepted(worse, X, y)]
    assert survivors == []


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.parametrize("name", ["_y_train_mean", "_y_train_std"])
def test_tampered_normalisation_is_not_certified(make, name):
    X, y = waves()
    model = fit(make(), X, y)
    setattr(model, name, getattr(model, name) + 1e-3)
    assert not accepted(model, X, y)


@pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS)
def test_other_kernel_is_not_certified(make):
    X, y = waves()
    model = fit(make(), X, y)
    for j in range(model.kernel_.n_dims):
        worse = copy.deepcopy(model)
        theta = worse.kernel_.theta.copy()
        theta[j] += 1e-3
        worse.kernel_.theta = theta
        assert not accepted(worse, X, y)


CLASSIFIERS = {
    "two": (lambda: tenfold.GaussianProcessClassifier(1.0 * Gaussian()), 2),
    "fixed": (tenfold.GaussianProcessClassifier, 2),
    "rest": (tenfold.GaussianProcessClassifier, 3),
    "pairs": (lambda: tenfold.GaussianProcessClassifier(multi_class="one_vs_one"), 3),
    "scikit-learn": (sklearn_gp.GaussianProcessClassifier, 2),
    "scikit-learn, rest": (sklearn_gp.GaussianProcessClassifier, 3),
    "scikit-learn, pairs": (lambda: sklearn_gp.GaussianProcessClassifier(multi_class="one_vs_one"), 3),
}


def processes(model):
    """The processes of two classes of a classifier."""
    base = model.base_estimator_
    return base.estimators_ if hasattr(base, "estimators_") else [base]


@pytest.mark.parametrize(("make", "classes"), CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_tampered_classifier_is_not_certified(make, classes):
    X, y = sides(classes=classes)
    model = fit(make(), X, y)
    assert accepted(model, X, y)
    survivors = [f"{name}: {change}" for name, change, worse in tamper(model) if accepted(worse, X, y)]
    for k, part in enumerate(processes(model)):
        for name, change, worse_part in tamper(part):
            worse = copy.deepcopy(model)
            vars(processes(worse)[k]).clear()
            vars(processes(worse)[k]).update(vars(worse_part))
            if accepted(worse, X, y) and name != "classes_":  # 0 and 1, where the classes are those of the model
                survivors.append(f"{k} {name}: {change}")
    assert survivors == []


def test_regressor_of_other_samples_is_not_certified():
    X, y = waves()
    model = fit(tenfold.GaussianProcessRegressor(NOISY), X, y)
    assert not accepted(model, X + 1e-9, y)
    assert not accepted(model, X, y + 1e-6)


def best_evidence(model, X, y, kernel):
    """The largest evidence near the model's, by scikit-learn's evidence and SciPy's minimiser."""
    theirs = sklearn_gp.GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)

    def negative(theta):
        value, gradient = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        return -value, -gradient

    result = scipy.optimize.minimize(
        negative, model.kernel_.theta, jac=True, bounds=kernel.bounds, options={"ftol": 1e-15, "gtol": 1e-9}
    )
    return -float(result.fun)


@pytest.mark.parametrize("away", [0.0, 1e-3, 1e-2, 0.1])
def test_gain_is_the_evidence_that_is_missing(away):
    X, y = waves()
    kernel = sk.ConstantKernel() * sk.RBF() + sk.WhiteKernel(0.1)
    best = fit(tenfold.GaussianProcessRegressor(kernel), X, y)
    moved = kernel.clone_with_theta(best.kernel_.theta + away * np.array([1.0, -1.0, 1.0]))
    near = tenfold.GaussianProcessRegressor(
        moved, optimizer=lambda objective, start, bounds: (start, objective(start)[0])
    )
    near = fit(near, X, y)
    missing = (best_evidence(near, X, y, kernel) - near.log_marginal_likelihood_value_) / len(y)
    certificate = tenfold.certify(near, X, y)
    assert missing >= -1e-12
    assert certificate.ok == (missing < 1e-6)
    if missing > 1e-8:
        assert 0.5 < certificate.value / missing < 2.0


def test_saddle_is_not_certified():
    """Two equal kernels on data of two widths, searched among equal widths only."""
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(0.0, 12.0, 60))[:, None]
    y = np.sin(3.0 * X[:, 0]) + 3.0 * np.sin(0.4 * X[:, 0]) + 0.05 * rng.standard_normal(60)
    twin = Sum(Gaussian(), Gaussian()) + White(0.01)

    def along_the_diagonal(objective, start, bounds):
        def both(x):
            value, gradient = objective(np.array([x[0], x[0], x[1]]))
            return value, np.array([gradient[0] + gradient[1], gradient[2]])

        result = scipy.optimize.minimize(both, start[[0, 2]], jac=True, bounds=bounds[[0, 2]], options={"gtol": 1e-9})
        return result.x[[0, 0, 1]], result.fun

    model = fit(tenfold.GaussianProcessRegressor(twin, optimizer=along_the_diagonal), X, y)
    apart = model.kernel_.theta + 0.05 * np.array([1.0, -1.0, 0.0])
    assert model.log_marginal_likelihood(apart) > model.log_marginal_likelihood_value_
    assert not model.certificate_.ok
    assert "no maximum" in model.certificate_.note


def test_search_that_stopped_early_is_not_certified():
    """An optimizer that returns where it began, and the search of the class."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 2))
    y = 5.0 * np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=200)
    kernel = sk.ConstantKernel() * sk.RationalQuadratic() + sk.WhiteKernel()
    lazy = sklearn_gp.GaussianProcessRegressor(kernel, optimizer=lambda f, start, bounds: (start, f(start)[0])).fit(
        X, y
    )
    ours = fit(tenfold.GaussianProcessRegressor(kernel), X, y)
    assert not accepted(lazy, X, y)
    assert accepted(ours, X, y)
    assert ours.log_marginal_likelihood_value_ > lazy.log_marginal_likelihood_value_ + 100.0


def test_parameter_at_a_bound_is_not_free():
    X, y = waves()
    kernel = Product(Constant(1.0, "fixed"), Gaussian(0.3, (0.1, 0.5))) + White(0.1)
    with pytest.warns(sklearn_exceptions.ConvergenceWarning, match="upper bound"):
        model = tenfold.GaussianProcessRegressor(kernel).fit(X, y)
    assert model.certificate_.ok
    assert model.kernel_.k1.k2.length_scale == pytest.approx(0.5)


def test_constant_and_noise_is_reported():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    model = fit(tenfold.GaussianProcessRegressor(NOISY), X, y)
    assert "no better than that of a constant and noise" in model.certificate_.explain()
    X, y = waves()
    assert "constant and noise" not in fit(tenfold.GaussianProcessRegressor(NOISY), X, y).certificate_.explain()


def test_gradient_that_is_no_slope_is_not_certified():
    class Wrong(sk.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            if not eval_gradient:
                return super().__call__(X, Y)
            K, gradient = super().__call__(X, eval_gradient=True)
            return K, 0.0 * gradient

    X, y = waves()
    model = fit(tenfold.GaussianProcessRegressor(Wrong(0.3), alpha=0.1), X, y)
    assert not model.certificate_.ok
    assert "slope" in model.certificate_.note


@pytest.mark.parametrize("amplitude", [1.0, 1e3, 1e6])
def test_gap_bounds_what_is_missing_from_the_mode(amplitude):
    """The objective of the mode by SciPy's minimiser in other coordinates, and moved probabilities."""
    X, y = sides(40)
    kernel = Product(Constant(amplitude, "fixed"), Gaussian(1.0, "fixed"))
    model = fit(tenfold.GaussianProcessClassifier(kernel), X, y)
    K, signs = kernel(X), 2.0 * y - 1.0
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))

    def objective(v):
        f = root @ v
        slope = -signs / (1.0 + np.exp(signs * f))
        return 0.5 * v @ v + np.logaddexp(0.0, -signs * f).sum(), v + root.T @ slope

    best = scipy.optimize.minimize(
        objective, np.zeros(40), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    ).fun
    certificate = model.certificate_
    assert certificate.ok
    assert certificate.lower_bound <= best + 1e-7 * (1.0 + best)
    for step in (1e-6, 1e-3, 1e-2):
        pi = np.clip(model.base_estimator_.pi_ + step * np.cos(np.arange(40.0)), 0.0, 1.0)
        f = K @ (y - pi)
        missing = 0.5 * (y - pi) @ f + np.logaddexp(0.0, -signs * f).sum() - best
        worse = copy.deepcopy(model)
        base = worse.base_estimator_
        base.pi_, base.W_sr_ = pi, np.sqrt(pi * (1.0 - pi))
        B = np.eye(40) + base.W_sr_[:, None] * K * base.W_sr_
        base.L_ = np.linalg.cholesky(B)
        base.log_marginal_likelihood_value_ = -missing - best - np.log(np.diag(base.L_)).sum()
        worse.log_marginal_likelihood_value_ = base.log_marginal_likelihood_value_
        again = tenfold.certify(worse, X, y)
        assert again.value >= missing - 1e-9 * best
        if missing > again.allowed:
            assert not again.ok


def test_newton_that_diverges_is_not_certified():
    """Without a line search Newton's method leaves the mode at large amplitudes."""
    X, y = sides(80, seed=3)
    kernel = sk.ConstantKernel(1e7, "fixed") * sk.RBF(1.0, "fixed")
    theirs = fit(sklearn_gp.GaussianProcessClassifier(kernel), X, y)
    ours = fit(tenfold.GaussianProcessClassifier(kernel), X, y)
    assert ours.certificate_.ok
    assert accepted(ours, X, y)
    gap = tenfold.certify(theirs, X, y)
    assert gap.ok == (abs(theirs.base_estimator_.pi_ - ours.base_estimator_.pi_).max() < 1e-3)


def test_indefinite_kernel_has_no_mode():
    X, y = sides()
    with pytest.raises(ValueError, match="an eigenvalue is -"):
        tenfold.GaussianProcessClassifier(10.0 * Sigmoid(1.0, -1.0), optimizer=None).fit(X, y)


def test_unfitted_regressor_is_not_judged():
    X, y = waves()
    with pytest.raises(sklearn_exceptions.NotFittedError):
        tenfold.certify(tenfold.GaussianProcessRegressor(), X, y)
    with pytest.raises(ValueError, match="no sample weights"):
        tenfold.certify(fit(tenfold.GaussianProcessRegressor(NOISY), X, y), X, y, np.ones(60))
