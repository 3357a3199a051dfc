"""The delta rule as the texts have it: one update with several outputs, its costs, its step sizes."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Lasso

from tenfold import SGDClassifier, SGDRegressor
from tenfold.data import MemoryRows
from tenfold.plans.sgd import Rule, Target, fit, start_at

X = np.random.default_rng(0).standard_normal((40, 3))
W = np.array([0.7, -1.2, 0.4])


def one_step(rule, x, y, w=W):
    """The weights after one row."""
    rows = MemoryRows(x[None, :], np.array([[y]]))
    return fit(rows, rule, [Target()], start_at(w[None, :], np.zeros(1)), max_iter=1).params


def plain(loss, rate):
    return Rule(loss, eta0=rate, intercept=False)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_cmu_s29_one_update_with_three_outputs(rate):
    """theta_k -= lambda (h - y) x_k, h a probability, a linear function or a sign; the slides have lost the minus."""
    for x in X:
        for y in (-1.0, 1.0):
            h, label = expit(W @ x), (y + 1) / 2
            np.testing.assert_allclose(
                one_step(plain("log_loss", rate), x, y).coef[0], W - rate * (h - label) * x, rtol=1e-12
            )
            np.testing.assert_allclose(
                one_step(plain("squared_error", rate), x, y).coef[0], W - rate * (W @ x - y) * x, rtol=1e-12
            )
            # a mistake of labels -1 and +1 is 2, so that a rate of one half is the perceptron's
            h = np.sign(W @ x)
            np.testing.assert_allclose(
                one_step(plain("perceptron", 2 * rate), x, y).coef[0], W - rate * (h - y) * x, rtol=1e-12
            )


def test_seeger_2_4_2_the_perceptron_does_not_depend_on_its_rate():
    y = np.where(X @ W + 0.3 > 0, 1, -1)
    settings = {"loss": "perceptron", "penalty": None, "learning_rate": "constant", "shuffle": False, "tol": None}
    one, two = (SGDClassifier(eta0=rate, max_iter=20, **settings).fit(X, y) for rate in (1.0, 0.25))
    np.testing.assert_allclose(one.coef_, 4.0 * two.coef_, rtol=1e-12)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "hinge", "tanh"])
def test_seeger_2_4_2_the_slope_of_a_random_row_is_that_of_all_on_average(loss):
    """The mean of the steps from all rows, each taken alone, is the step of the mean error."""
    y = np.where(X @ W + np.random.default_rng(1).standard_normal(40) > 0, 1.0, -1.0)
    steps = [one_step(plain(loss, 0.1), x, t).coef[0] - W for x, t in zip(X, y, strict=True)]
    whole = Rule(loss, eta0=0.1, intercept=False, batch=40)
    start = start_at(W[None, :], np.zeros(1))
    together = fit(MemoryRows(X, y[:, None]), whole, [Target()], start, max_iter=1).params.coef[0] - W
    np.testing.assert_allclose(together, np.mean(steps, axis=0), rtol=1e-12)


def test_welling_7_8_and_7_9_least_mean_squares_with_an_offset():
    """With y = w.x - alpha the step of alpha is minus eta times the residual: (7.9) prints it without the minus."""
    alpha, eta = 0.5, 0.1
    for x, y in zip(X, np.sign(X[:, 0]), strict=True):
        rows = MemoryRows(x[None, :], np.array([[y]]))
        rule = Rule("squared_error", eta0=eta)
        w, b = fit(rows, rule, [Target()], start_at(W[None, :], [-alpha]), max_iter=1).params
        residual = y - W @ x + alpha
        np.testing.assert_allclose(w[0], W + eta * residual * x, rtol=1e-12)
        np.testing.assert_allclose(-b, alpha - eta * residual, rtol=1e-12)


def test_welling_7_10_the_tanh_cost():
    """C = -mean Y tanh(w.X + alpha), by differences; it lies between -1 and 1, not up to 2."""
    y = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)

    def cost(w, b):
        return -np.mean(y * np.tanh(X @ w + b))

    start, h = start_at(W[None, :], [0.2]), 1e-6
    fitted = fit(MemoryRows(X, y[:, None]), Rule("tanh", eta0=1.0, batch=40), [Target()], start, max_iter=1)
    slopes = [(cost(W + h * e, 0.2) - cost(W - h * e, 0.2)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(W - fitted.params.coef[0], slopes, rtol=1e-7, atol=1e-9)
    slope = (cost(W, 0.2 + h) - cost(W, 0.2 - h)) / (2 * h)
    np.testing.assert_allclose(0.2 - fitted.params.intercept[0], slope, rtol=1e-7, atol=1e-9)
    assert fitted.trace[0].objective == pytest.approx(cost(W, 0.2), rel=1e-12)
    assert abs(cost(100 * W, 0.0)) <= 1.0


def test_welling_7_2_an_outlier_moves_the_squared_cost_and_not_the_tanh_cost():
    rng = np.random.default_rng(2)
    y = np.repeat([-1.0, 1.0], 100)
    points = rng.standard_normal((200, 2)) + 1.5 * y[:, None]
    turned = {}
    for loss in ("squared_error", "tanh"):
        variants = []
        for rows, labels in ((points, y), (np.vstack([points, [60.0, -40.0]]), np.append(y, -1.0))):
            model = SGDClassifier(loss=loss, penalty=None, learning_rate="constant", eta0=1e-4, shuffle=False,
                                  max_iter=400, tol=None).fit(rows, labels)  # fmt: skip
            variants.append(model.coef_[0] / np.linalg.norm(model.coef_))
        turned[loss] = np.degrees(np.arccos(variants[0] @ variants[1]))
    assert turned["tanh"] < 1.0
    assert turned["squared_error"] > 10.0


def test_rosasco_8_1_steps_of_one_over_t_end_at_the_optimum():
    """gamma_t -> 0 slowly, as 1/t: w_t is then the mean of the rows seen, if every row asks for its own value."""
    y = np.random.default_rng(3).standard_normal(500)
    model = SGDRegressor(penalty=None, learning_rate="invscaling", power_t=1.0, eta0=1.0, max_iter=1, tol=None,
                         shuffle=False, fit_intercept=False).fit(np.ones((500, 1)), y)  # fmt: skip
    np.testing.assert_allclose(model.coef_[0], y.mean(), rtol=1e-12)


def test_cookbook_18_online_lasso():
    """lambda = 0.2, eta0 = 0.1, steps eta0 t^-1/2, 100 epochs: near the optimum, with exact zeros."""
    rng = np.random.default_rng(18)
    rows = rng.standard_normal((500, 10))
    y = rows[:, :3] @ [3.0, -2.0, 1.5] + 0.5 * rng.standard_normal(500)
    online = SGDRegressor(penalty="l1", alpha=0.2, eta0=0.1, power_t=0.5, fit_intercept=False, max_iter=100, tol=None,
                          random_state=0).fit(rows, y)  # fmt: skip
    best = Lasso(alpha=0.2, fit_intercept=False).fit(rows, y)
    np.testing.assert_allclose(online.coef_, best.coef_, atol=0.02)
    assert np.sum(online.coef_[3:] == 0.0) >= 5


def test_cookbook_18_threshold_projection():
    """Weights below theta are zero: the support of the Lasso in place of almost all of it, by as good weights."""
    rng = np.random.default_rng(18)
    rows = rng.standard_normal((500, 10))
    y = rows[:, :3] @ [3.0, -2.0, 1.5] + 0.5 * rng.standard_normal(500)
    settings = {"penalty": "l1", "alpha": 0.02, "eta0": 0.1, "power_t": 0.5, "fit_intercept": False, "tol": None}
    plain = SGDRegressor(max_iter=100, random_state=0, **settings).fit(rows, y)
    model = SGDRegressor(max_iter=100, random_state=0, threshold=0.05, **settings).fit(rows, y)
    assert np.count_nonzero(plain.coef_) > 3
    np.testing.assert_array_equal(model.coef_, np.where(np.abs(plain.coef_) < 0.05, 0.0, plain.coef_))
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), [0, 1, 2])
    assert model.score(rows, y) == pytest.approx(plain.score(rows, y), abs=1e-3)


def test_cookbook_20_the_steps_minimise_the_mean_of_the_hinge_and_not_its_sum():
    """Algorithm 19: steps 1/i; the sum in (20.1) has N times the weight of the loss."""
    rng = np.random.default_rng(20)
    y = np.repeat([-1.0, 1.0], 100)
    rows = rng.standard_normal((200, 2)) + 0.8 * y[:, None]
    model = SGDClassifier(alpha=1.0, learning_rate="invscaling", power_t=1.0, eta0=1.0, fit_intercept=False,
                          max_iter=1000, tol=None, random_state=0).fit(rows, y)  # fmt: skip

    def objective(w, share):
        return share * np.sum(np.maximum(0.0, 1.0 - y * (rows @ w))) + 0.5 * w @ w

    grid = [np.array([a, b]) for a in np.linspace(0, 3, 121) for b in np.linspace(0, 3, 121)]
    w = model.coef_[0]
    assert objective(w, 1 / 200) <= min(objective(v, 1 / 200) for v in grid) + 1e-4
    assert objective(w, 1.0) > 1.02 * min(objective(v, 1.0) for v in grid)
