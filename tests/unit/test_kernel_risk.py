"""Regularised risks in the space of a kernel: any loss, on samples and centres; the judge beside a slow minimiser."""

import copy
import warnings

import numpy as np
import pytest
import scipy.optimize
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import KernelLogisticRegression, LogisticRegression, Tikhonov, TikhonovClassifier, certify, kernels, losses
from tenfold.judge.gap_kernel import SampleExpansion
from tenfold.judge.gap_kernel import certify as judge
from tenfold.objectives.kernel_risk import KernelRisk
from tenfold.plans import kernel_risk
from tenfold.plans.kernel_risk import KernelTask, Limits, fit_samples

N = 40
KERNEL = kernels.Matern(1.0, nu=0.5)  # exp(-distance), of which no eigenvalue is tiny
RNG_SEED = 0

SMOOTH = {
    "logistic": losses.Logistic(),
    "squared hinge": losses.SquaredHinge(),
    "modified huber": losses.ModifiedHuber(),
    "softmax": losses.Softmax(),
    "square": losses.Square(),
    "huber": losses.Huber(0.3),
    "squared epsilon": losses.SquaredEpsilonInsensitive(0.1),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "tweedie": losses.Tweedie(1.5),
}
KINKS = {
    "hinge": losses.Hinge(),
    "laplace": losses.Laplace(),
    "epsilon": losses.EpsilonInsensitive(0.1),
    "quantile": losses.Quantile(0.9),
}


def task(loss, intercept=True, strength=1e-2, weighted=True):
    rng = np.random.default_rng(RNG_SEED)
    X = rng.standard_normal((N, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(N)
    if loss.multi_output:
        y = np.digitize(y, [-0.4, 0.4]).astype(float)
    elif loss.signs:
        y = np.where(y > 0.0, 1.0, -1.0)
    elif loss.link == "log":
        y = rng.poisson(np.exp(y)) + 0.5
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    if weighted:
        weight[[3, 17]] = 0.0
    return KernelTask(KERNEL, X, y[:, None], weight, loss, strength, intercept, 3 if loss.multi_output else 1)


class Slow:
    """The same problem written out, in coordinates of unit norm."""

    def __init__(self, given):
        self.given, self.weight = given, np.ones(N) if given.weight is None else given.weight
        K = np.exp(-np.sqrt(((given.X[:, None] - given.X) ** 2).sum(axis=2)))
        self.K, self.s = K, (self.weight / self.weight.sum())[:, None]
        self.L = np.linalg.cholesky(K)

    def objective(self, coef, b):
        f = self.K @ coef
        value = np.sum(self.s * self.given.loss.value(self.given.y, f + b))
        return float(value + 0.5 * self.given.strength * np.sum(coef * f))

    def minimum(self):
        k, n, given = self.given.outputs, len(self.K), self.given

        def read(v):
            u, b = v[: n * k].reshape(n, k), v[n * k :]
            z = self.L @ u + b
            slopes = self.s * given.loss.slope(given.y, z)
            value = np.sum(self.s * given.loss.value(given.y, z)) + 0.5 * given.strength * np.sum(u * u)
            slope_b = slopes.sum(axis=0) if given.intercept else np.zeros(k)
            return float(value), np.append(self.L.T @ slopes + given.strength * u, slope_b)

        start = np.zeros(n * k + k)
        return scipy.optimize.minimize(read, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_losses_reach_the_minimum(name, intercept):
    given = task(SMOOTH[name], intercept)
    fitted = fit_samples(given, Limits(1e-6, 100))
    slow = Slow(given)
    assert fitted.certificate.ok
    assert fitted.certificate.objective == pytest.approx(slow.objective(fitted.coef, fitted.intercept), rel=1e-12)
    excess = slow.objective(fitted.coef, fitted.intercept) - slow.minimum()
    assert excess <= fitted.certificate.value + 1e-9
    assert np.all(fitted.coef[[3, 17]] == 0.0)
    assert intercept or not np.any(fitted.intercept)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_gap_bounds_the_excess(name):
    """Of perturbed coefficients: never below the truth, and refused."""
    given = task(SMOOTH[name], weighted=False)
    fitted, slow = fit_samples(given, Limits(1e-9, 100)), Slow(given)
    best, rng = slow.objective(fitted.coef, fitted.intercept), np.random.default_rng(1)
    for size in (1e-4, 1e-2, 1.0, 100.0):
        for move_b in (0.0, size):
            coef = fitted.coef + size * rng.standard_normal(fitted.coef.shape)
            b = fitted.intercept + move_b * rng.standard_normal(fitted.intercept.shape)
            certificate = judge(given.risk, SampleExpansion(given.samples, coef), b)
            excess = slow.objective(coef, b) - best
            assert not np.isfinite(excess) or certificate.value + certificate.floor >= excess - 1e-9 * abs(best)
            assert not certificate.ok or excess <= certificate.allowed


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", KINKS)
def test_losses_with_kinks(name, intercept):
    given = task(KINKS[name], intercept)
    fitted, slow = fit_samples(given, Limits(1e-6, 100)), Slow(given)
    assert fitted.certificate.ok
    value, rng = slow.objective(fitted.coef, fitted.intercept), np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1):
        coef = fitted.coef + size * rng.standard_normal(fitted.coef.shape) * (slow.weight[:, None] > 0.0)
        assert slow.objective(coef, fitted.intercept) >= value - fitted.certificate.value
        expansion = SampleExpansion(given.samples, coef[given.index])
        certificate = judge(given.risk, expansion, fitted.intercept)
        assert certificate.value >= slow.objective(coef, fitted.intercept) - value - 1e-6
        assert not certificate.ok
    moved = judge(given.risk, SampleExpansion(given.samples, fitted.coef[given.index]), fitted.intercept + 0.5)
    assert not moved.ok


@pytest.mark.parametrize("loss", [losses.Student(3.0), losses.Tanh()], ids=lambda loss: loss.name)
def test_losses_that_are_not_convex_are_judged_by_their_gradient(loss):
    given = task(loss, strength=0.1)
    fitted, slow = fit_samples(given, Limits(1e-6, 1000)), Slow(given)
    assert fitted.certificate.ok
    assert fitted.certificate.kind == "stationarity"
    slopes = slow.s * loss.slope(given.y, slow.K @ fitted.coef + fitted.intercept)
    g = given.strength * fitted.coef + slopes
    assert np.sqrt(np.sum(g * (slow.K @ g)) + slopes.sum() ** 2) <= fitted.certificate.value + fitted.certificate.floor
    expansion = SampleExpansion(given.samples, 1.01 * fitted.coef[given.index])
    assert not judge(given.risk, expansion, fitted.intercept).ok


def test_intervals_hold_the_optimum_and_decided_signs_are_its():
    """Of a fit that ended early, beside one that did not."""
    for name in ("logistic", "softmax", "huber"):
        given = task(SMOOTH[name], strength=1e-3)
        rough, exact = fit_samples(given, Limits(1e-2, 100)), fit_samples(given, Limits(1e-12, 100))
        X = np.random.default_rng(3).standard_normal((200, 3))
        z = KERNEL.multiply(X, given.X, exact.coef) + exact.intercept
        low, high = rough.certificate.intervals(X)
        low, high = low.reshape(z.shape), high.reshape(z.shape)
        assert np.all((low <= z + 1e-9) & (z - 1e-9 <= high))
        assert np.max(exact.certificate.intervals(X)[1] - exact.certificate.intervals(X)[0]) < 0.1 * np.max(high - low)
        if name != "huber":
            own = KERNEL.multiply(X, given.X, rough.coef) + rough.intercept
            same = np.argmax(own, axis=1) == np.argmax(z, axis=1) if name == "softmax" else ((own > 0) == (z > 0))[:, 0]
            assert np.all(same[rough.certificate.decided(X)])
            assert np.mean(exact.certificate.decided(X)) > 0.9


def test_many_samples_are_fitted_in_float32_and_judged_in_float64(monkeypatch):
    monkeypatch.setattr(kernel_risk, "MIN_SINGLE", 10)
    monkeypatch.setattr(kernel_risk, "WHOLE", 10)
    monkeypatch.setattr(kernel_risk, "LANDMARKS", 12)
    for name in ("logistic", "softmax", "poisson"):
        for strength in (1e-2, 1e-6):
            fitted = fit_samples(task(SMOOTH[name], strength=strength), Limits(1e-6, 100))
            assert fitted.certificate.ok
            assert "float32" in fitted.method or strength < 1e-2


def data(n=60, count=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    score = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    return X, np.digitize(score, [-0.4, 0.4] if count == 3 else [0.0])


@pytest.mark.parametrize("count", [2, 3])
def test_coefficients_are_residuals(count):
    """c = C weight (t - p), and they sum to zero."""
    X, y = data(count=count)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = KernelLogisticRegression(3.0, tol=1e-14).fit(X, y, sample_weight=weight)
    p = model.predict_proba(X)
    residual = 3.0 * weight[:, None] * ((y[:, None] == np.arange(count)) - p)
    coef = model.dual_coef_[:, None] if count == 2 else model.dual_coef_
    np.testing.assert_allclose(coef, residual[:, -coef.shape[1] :], atol=1e-6)
    np.testing.assert_allclose(coef.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_linear_kernel_is_logistic_regression(count, intercept):
    X, y = data(count=count)
    linear = LogisticRegression(C=2.0, tol=1e-10, fit_intercept=intercept).fit(X, y)
    model = KernelLogisticRegression(2.0, kernel="linear", fit_intercept=intercept, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(X), atol=1e-4)


def test_all_samples_as_centres_are_the_samples():
    X, y = data(count=3)
    whole = KernelLogisticRegression(kernel="laplacian", tol=1e-12).fit(X, y)
    centred = KernelLogisticRegression(kernel="laplacian", centres=X, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(centred.decision_function(X), whole.decision_function(X), atol=1e-5)
    few = KernelLogisticRegression(kernel="laplacian", centres=10, random_state=0).fit(X, y)
    assert few.certificate_.ok
    assert few.X_fit_.shape == (10, 3)
    assert few.certificate_.objective > whole.certificate_.objective


def test_dependent_centres_are_left_out():
    X, y = data()
    model = KernelLogisticRegression(kernel="linear", centres=X).fit(X, y)
    assert model.certificate_.ok
    assert model.X_fit_.shape[0] == 3
    doubled = Tikhonov("huber", centres=np.vstack([X[:5], X[:5]])).fit(X, X[:, 0])
    assert doubled.X_fit_.shape[0] == 5


@pytest.mark.parametrize("name", ["KernelLogisticRegression", "TikhonovClassifier", "Tikhonov"])
def test_sparse_and_given_kernels_and_float32(name):
    X, y = data()
    settings = {} if "Kernel" in name else {"loss": "huber" if name == "Tikhonov" else "squared_hinge"}
    make = getattr(tenfold, name)
    model = make(gamma=0.5, **settings).fit(X, y)
    in_csr = make(gamma=0.5, **settings).fit(sparse.csr_matrix(X), y)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    given = make(kernel="precomputed", **settings).fit(K, y)
    np.testing.assert_allclose(in_csr.predict(X), model.predict(X), atol=1e-4)
    np.testing.assert_allclose(given.predict(K), model.predict(X), atol=1e-4)
    assert certify(in_csr, sparse.csr_matrix(X), y).ok
    assert certify(given, K, y).ok
    single = make(gamma=0.5, **settings).fit(X.astype(np.float32), y)
    assert single.dual_coef_.dtype == np.float32
    if name != "Tikhonov":
        assert single.decision_function(X.astype(np.float32)).dtype == np.float32


def test_warm_start_goes_on():
    X, y = data()
    model = KernelLogisticRegression(100.0, warm_start=True, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model.fit(X, y)
    assert not model.certificate_.ok
    model.set_params(max_iter=100).fit(X, y)
    again = KernelLogisticRegression(100.0).fit(X, y)
    assert model.certificate_.ok
    assert model.n_iter_ < again.n_iter_


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e5])
def test_hard_data_is_certified_or_says_so(scale, C):
    X, y = data()
    X = np.column_stack([scale * X, np.full(len(X), 1e3), scale * X[:, 0]])
    X[5] = X[6]
    for settings in ({}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = KernelLogisticRegression(C, **settings).fit(X, y)
        assert model.certificate_.ok or any(issubclass(one.category, ConvergenceWarning) for one in caught)
        if scale == 1.0 and not settings:
            assert model.certificate_.ok


def test_a_changed_model_is_refused():
    """Kernel, samples, coefficients of samples without weight, parameters."""
    X, y = data(count=3)
    weight = np.ones(len(y))
    weight[4] = 0.0
    model = KernelLogisticRegression().fit(X, y, sample_weight=weight)
    assert certify(model, X, y, sample_weight=weight).ok
    changes = {
        "kernel_": kernels.Gaussian(0.3),
        "X_fit_": X + 1e-3,
        "dual_coef_": model.dual_coef_ + 1e-2,
        "intercept_": model.intercept_ + np.array([0.1, 0.0, 0.0]),
    }
    for name, value in changes.items():
        other = copy.copy(model)
        setattr(other, name, value)
        assert not certify(other, X, y, sample_weight=weight).ok, name
    other = copy.copy(model)
    other.dual_coef_ = model.dual_coef_.copy()
    other.dual_coef_[4] = 0.01
    assert "weight zero" in certify(other, X, y, sample_weight=weight).note
    assert not certify(copy.copy(model).set_params(C=2.0), X, y, sample_weight=weight).ok


def test_errors_say_what_to_do():
    X, y = data(count=3)
    with pytest.raises(ValueError, match="loss='softmax'"):
        TikhonovClassifier("squared_hinge").fit(X, y)
    with pytest.raises(ValueError, match="Fit without centres"):
        TikhonovClassifier("hinge", centres=5).fit(X, y > 0)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        TikhonovClassifier(losses.JointHinge()).fit(X, y)
    with pytest.raises(ValueError, match="use TikhonovClassifier"):
        Tikhonov("hinge").fit(X, y)
    with pytest.raises(ValueError, match="use Tikhonov"):
        TikhonovClassifier("huber").fit(X, y)
    with pytest.raises(ValueError, match="out of the valid range"):
        Tikhonov("gamma").fit(X, y)
    with pytest.raises(ValueError, match="eigenvalue"):
        KernelLogisticRegression(kernel="sigmoid", gamma=5.0, coef0=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="precomputed kernel has no samples"):
        KernelLogisticRegression(kernel="precomputed", centres=5).fit(np.eye(60), y)
    assert not hasattr(TikhonovClassifier("squared_hinge").fit(X, y > 0), "predict_proba")
    with pytest.raises(ValueError, match="alpha"):
        Tikhonov(alpha=0.0).fit(X, y)


def test_a_scale_of_nothing():
    """Targets that are all equal, and one sample of each class."""
    X, _ = data()
    model = Tikhonov("huber").fit(X, np.full(60, 7.0))
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(X), 7.0)
    two = KernelLogisticRegression(fit_intercept=False).fit(X[:2], [0, 1])
    assert two.certificate_.ok


def test_risks_know_the_best_intercepts():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((50, 1))
    for loss in (losses.Logistic(), losses.Laplace(), losses.Poisson(), losses.SquaredHinge()):
        y = np.where(rng.random((50, 1)) < 0.2, 1.0, -1.0) if loss.signs else rng.poisson(3.0, (50, 1)).astype(float)
        risk = KernelRisk(loss, y, np.full((50, 1), 0.02), 1.0, True)
        b = risk.best_intercept(f, np.array([30.0]))
        values = [risk.mean_loss(f + b + move) for move in (-1e-4, 0.0, 1e-4)]
        assert values[1] <= min(values) + 1e-12
