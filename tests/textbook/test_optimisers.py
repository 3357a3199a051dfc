"""Seeger, sections 3.4, 4.2.3 and 11.1.4, Rosasco, section 8.1, and Welling, chapter 7: optimisers on their own."""

import numpy as np
import pytest

from tenfold import (
    LogisticRegression,
    check_convexity,
    check_gradient,
    classify_stationary,
    leading_eigenvectors,
    minimize,
    solve_linear,
)


def bowl(condition):
    """1/2 (x^2 + condition y^2) and its gradient."""
    bend = np.array([1.0, condition])
    return lambda x: 0.5 * float(bend @ x**2), lambda x: bend * x


def classes(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sign(X @ [1.0, -0.5] + 0.3 + 0.7 * rng.standard_normal(n))


# Seeger, chapter 3 ----------------------------------------------------------------------------------------------------


def test_seeger_3_4_maximum_minimum_and_saddle():
    """Figure 3.4: stationary points of a landscape are told apart by the Hessian."""

    def landscape(x):
        return np.sin(x[0]) * np.sin(x[1])

    half = 0.5 * np.pi
    assert classify_stationary(landscape, [half, half]).kind == "maximum"
    assert classify_stationary(landscape, [half, -half]).kind == "minimum"
    assert classify_stationary(landscape, [np.pi, np.pi]).kind == "saddle"


def test_seeger_3_4_1_steepest_descent_zig_zags():
    """Figure 3.5: from the worst start successive gradients are orthogonal, and the error falls by the rate of
    Kantorovich, ((k - 1) / (k + 1))^2, a step.
    """
    k = 25.0
    fun, grad = bowl(k)
    path = minimize(fun, [k, 1.0], grad=grad, method="gradient-descent", line_accuracy=1e-10).path[:30]
    gradients = np.array([grad(x) for x in path])
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    assert np.abs(np.sum(gradients[1:] * gradients[:-1], axis=1)).max() < 1e-6
    values = np.array([fun(x) for x in path])
    np.testing.assert_allclose(values[1:] / values[:-1], ((k - 1.0) / (k + 1.0)) ** 2, rtol=1e-6)
    assert np.all(path[1:, 1] * path[:-1, 1] < 0.0)  # on the other side of the valley after each step


def test_seeger_3_4_1_momentum_damps_the_zig_zag():
    """Momentum takes fewer steps on an ill-conditioned bowl, with a fixed rate and with line minimisation."""
    fun, grad = bowl(100.0)
    steps = {mu: minimize(fun, [100.0, 1.0], grad=grad, method="momentum", momentum=mu).nit for mu in (0.0, 0.5, 0.9)}
    assert steps[0.9] < 0.5 * steps[0.5] < 0.5 * steps[0.0]
    lines = [
        minimize(fun, [100.0, 1.0], grad=grad, method="momentum", momentum=mu, rate="line").nit for mu in (0.0, 0.5)
    ]
    assert lines[1] < 0.5 * lines[0]


@pytest.mark.parametrize("mu", [0.0, 0.5, 0.9])
def test_seeger_3_4_1_steps_of_momentum_in_the_steady_state(mu):
    """A constant gradient gives steps of -eta g, an alternating one steps of eta |g| (1 - mu) / (1 + mu)."""
    straight = minimize(
        lambda x: 3.0 * x[0], [0.0], grad=lambda x: np.array([3.0]), method="momentum", momentum=mu, rate=0.1,
        normalised=True, max_iter=400,
    )  # fmt: skip
    assert np.diff(straight.path[:, 0])[-1] == pytest.approx(-0.3, rel=1e-9)
    sign = [1.0]

    def alternating(_):
        sign[0] = -sign[0]
        return np.array([3.0 * sign[0]])

    # values that agree at all points: the gradient alone drives the steps
    zig = minimize(
        lambda x: 0.0, [0.0], grad=alternating, method="momentum", momentum=mu, rate=0.1, normalised=True, max_iter=400
    )
    assert abs(np.diff(zig.path[:, 0])[-1]) == pytest.approx(0.3 * (1.0 - mu) / (1.0 + mu), rel=1e-9)
    assert round((1.0 - 0.9) / (1.0 + 0.9), 4) == 0.0526


def test_seeger_3_4_1_gradient_testing():
    """30 random directions and single coordinates; forward differences err by O(e), symmetric ones by O(e^2)."""
    X, y = classes()

    def error(w):
        return np.sum(np.logaddexp(0.0, -y * (X @ w)))

    def gradient(w):
        return -X.T @ (y / (1.0 + np.exp(y * (X @ w))))

    for seed in range(3):
        w = np.random.default_rng(seed).standard_normal(2)
        result = check_gradient(error, gradient, w, directions=30)
        assert result.ok
        assert result.error < 1e-9
        assert result.symmetric[4] < 0.1 * result.forward[4]
        assert not check_gradient(error, lambda w: gradient(w) * [1.0, 1.001], w).ok


def test_seeger_3_4_2_conjugate_gradients_end_after_p_steps():
    """On a quadratic function of p coordinates, with exact line searches; Newton's method ends after one."""
    p = 7
    rng = np.random.default_rng(2)
    B = rng.standard_normal((p, p))
    A, b = B @ B.T + np.eye(p), rng.standard_normal(p)
    target = np.linalg.solve(A, b)

    def fun(x):
        return 0.5 * x @ A @ x - b @ x

    for beta in ("polak-ribiere", "fletcher-reeves", "hestenes-stiefel"):
        path = minimize(
            fun, np.zeros(p), grad=lambda x: A @ x - b, method="nonlinear-cg", beta=beta, line_accuracy=1e-9, tol=1e-6
        ).path
        assert len(path) - 1 <= p
        np.testing.assert_allclose(path[-1], target, atol=1e-5)
    linear = solve_linear(A, b, method="cg")
    assert linear.nit <= p
    newton = minimize(fun, np.zeros(p), grad=lambda x: A @ x - b, method="newton")
    assert newton.nit == 1


def test_seeger_3_4_2_better_methods_need_fewer_gradients():
    """An ill-conditioned bowl: gradient descent, conjugate gradients, quasi-Newton, Newton."""
    bend = np.geomspace(1.0, 1000.0, 20)
    counts = {
        method: minimize(
            lambda x: 0.5 * bend @ x**2, np.ones(20), grad=lambda x: bend * x, method=method, max_iter=20_000
        ).njev
        for method in ("gradient-descent", "nonlinear-cg", "scaled-cg", "l-bfgs")
    }
    assert max(counts["nonlinear-cg"], counts["scaled-cg"], counts["l-bfgs"]) < 0.1 * counts["gradient-descent"]


# Seeger, section 4.2.3 ------------------------------------------------------------------------------------------------


def test_seeger_4_2_3_iterative_least_squares():
    """LSQR and conjugate gradients on the normal equations have the same iterates; on features of a large condition
    number, whose square is that of the normal equations, LSQR ends with the smaller residual.
    """
    rng = np.random.default_rng(0)
    Phi, t = rng.standard_normal((50, 6)), rng.standard_normal(50)
    lsqr = solve_linear(Phi, t, keep_path=True)
    normal = solve_linear(Phi.T @ Phi, Phi.T @ t, method="cg", keep_path=True)
    np.testing.assert_allclose(lsqr.path[:5], normal.path[:5], atol=1e-9)
    np.testing.assert_allclose(lsqr.x, np.linalg.lstsq(Phi, t, rcond=None)[0], atol=1e-8)
    powers = np.vander(np.linspace(0.0, 1.0, 30), 11, increasing=True)
    values = powers @ np.ones(11)
    by_lsqr = solve_linear(powers, values, tol=1e-15, max_iter=400)
    by_normal = solve_linear(powers.T @ powers, powers.T @ values, method="cg", tol=1e-15, max_iter=400)
    sizes = [np.linalg.norm(powers @ result.x - values) for result in (by_lsqr, by_normal)]
    assert sizes[0] < sizes[1]


def test_seeger_11_1_4_power_method_and_lanczos():
    """The error of the power method falls by l_2 / l_1 a step; Lanczos needs far fewer products."""
    A = np.diag([1.0, 0.8, 0.3, 0.2, 0.1])
    power = leading_eigenvectors(A, method="power", tol=1e-10)
    measures = np.array([record.measure for record in power.trace])
    np.testing.assert_allclose(measures[21:40] / measures[20:39], 0.8, rtol=1e-3)
    lanczos = leading_eigenvectors(A, tol=1e-10)
    assert lanczos.njev <= 5
    assert power.njev > 50
    np.testing.assert_allclose(np.abs(power.x[0]), [1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-8)


# Rosasco, section 8.1 -------------------------------------------------------------------------------------------------


def test_rosasco_8_1_a_step_of_one_over_l_never_increases_the_objective():
    """G(w_t) >= G(w_(t+1)) for the regularised logistic risk, L at most the largest eigenvalue of X'X / (4 n) + 2
    lambda; the limit is that of LogisticRegression.
    """
    X, y = classes()
    n, penalty = len(y), 0.05

    def risk(w):
        return np.mean(np.logaddexp(0.0, -y * (X @ w))) + penalty * w @ w

    def gradient(w):
        return X.T @ (-y / (1.0 + np.exp(y * (X @ w)))) / n + 2.0 * penalty * w

    L = np.linalg.eigvalsh(X.T @ X)[-1] / (4.0 * n) + 2.0 * penalty
    assert check_gradient(risk, gradient, np.array([0.4, -1.0])).ok
    result = minimize(risk, [0.0, 0.0], grad=gradient, method="gradient-descent", rate=1.0 / L)
    values = [record.objective for record in result.trace]
    assert np.all(np.diff(values) <= 1e-15)
    assert result.success
    model = LogisticRegression(C=1.0 / (2.0 * penalty * n), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(result.x, model.coef_[0], atol=1e-5)


# Welling, chapter 7 ---------------------------------------------------------------------------------------------------


def test_welling_7_1_squared_cost():
    """Gradients (7.4) and (7.5); eta too big explodes, too small crawls; one step of Newton is exact."""
    X, y = classes()

    def cost(v):
        return 0.5 * np.mean((y - X @ v[:2] + v[2]) ** 2)

    def gradient(v):
        r = y - X @ v[:2] + v[2]
        return np.append(-(r @ X) / len(y), r.mean())

    assert check_gradient(cost, gradient, np.array([0.3, -0.2, 0.1])).ok
    exact = np.linalg.lstsq(np.column_stack([X, -np.ones(len(y))]), y, rcond=None)[0]
    newton = minimize(cost, np.zeros(3), grad=gradient, method="newton")
    assert newton.nit == 1
    np.testing.assert_allclose(newton.x, exact, atol=1e-6)
    runs = {
        eta: minimize(cost, np.zeros(3), grad=gradient, method="gradient-descent", rate=eta, max_iter=300)
        for eta in (1e-4, 0.5, 5.0)
    }
    assert [run.status for run in runs.values()] == ["iteration limit", "converged", "diverged"]
    np.testing.assert_allclose(runs[0.5].x, exact, atol=1e-6)


def test_welling_7_2_tanh_cost_is_not_convex():
    """(7.10), -mean y tanh(w'x + alpha), with the gradients that are left to the reader; logistic cost is convex."""
    X, y = classes()

    def cost(v):
        return -np.mean(y * np.tanh(X @ v[:2] + v[2]))

    def gradient(v):
        slopes = -y * (1.0 - np.tanh(X @ v[:2] + v[2]) ** 2) / len(y)
        return np.append(slopes @ X, slopes.sum())

    assert check_gradient(cost, gradient, np.array([0.3, -0.2, 0.1])).ok
    box = (-3.0 * np.ones(3), 3.0 * np.ones(3))
    assert not check_convexity(cost, *box, grad=gradient).convex
    assert check_convexity(lambda v: np.mean(np.logaddexp(0.0, -y * (X @ v[:2] + v[2]))), *box).convex
