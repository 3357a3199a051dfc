"""Solvers know functions of a vector, not data: a kernel machine and a small network are minimised by all of them, and
judged as any linear model: the duality gap on a design, stationarity on any objective.
"""

import sys

import numpy as np
import pytest
import scipy.optimize

from tenfold.judge.gap_fenchel import fenchel_gap
from tenfold.judge.gap_smooth import smooth_gap
from tenfold.judge.objective_points import DesignProblem
from tenfold.judge.stationarity import stationary_objective
from tenfold.losses.classification import Hinge, Logistic
from tenfold.losses.regression import Huber, Square
from tenfold.objectives.design import DenseDesign, DesignObjective, KernelDesign, KernelNorm
from tenfold.objectives.objective import Objective, Reading
from tenfold.problems import Glm
from tenfold.solvers import conjugate_gradient, fista, lbfgs, newton
from tenfold.solvers.loop import Status, run

N = 40
LOSSES = {"square": Square(), "logistic": Logistic(), "huber": Huber(0.3)}


STRENGTH = 1e-2


def kernel_data(loss):
    """A kernel matrix and targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    K = np.exp(-np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))  # no eigenvalue is tiny
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(N)
    return K, np.where(y > 0, 1.0, -1.0) if loss.signs else y


def kernel_machine(loss):
    """Coefficients a of f = K a + b with the penalty strength / 2 a'K a, K a kernel matrix."""
    K, y = kernel_data(loss)
    penalty = np.zeros((N + 1, N + 1))
    penalty[:N, :N] = STRENGTH * K
    return DesignObjective(DenseDesign(np.column_stack([K, np.ones(N)])), loss, y, np.full(N, 1.0 / N), penalty)


class Network(Objective):
    """A layer of three tanh units and a linear one, least squares and weight decay; the Hessian by central differences
    of the gradient.
    """

    def __init__(self):
        rng = np.random.default_rng(1)
        self.X = rng.standard_normal((60, 2))
        self.y = np.tanh(self.X @ [1.0, -1.0]) + 0.3 * self.X[:, 0]
        self.start = 0.5 * rng.standard_normal(3 * 3 + 4)

    def _gradient(self, x):
        V, b, c, d = x[:6].reshape(2, 3), x[6:9], x[9:12], x[12]
        H = np.tanh(self.X @ V + b)
        r = (H @ c + d - self.y) / len(self.y)
        back = r[:, None] * c * (1.0 - H**2)
        value = 0.5 * len(self.y) * float(r @ r) + 0.5e-2 * float(x @ x)
        return value, np.concatenate([(self.X.T @ back).ravel(), back.sum(0), H.T @ r, [r.sum()]]) + 1e-2 * x

    def read(self, x, order=1):
        hessian = None
        if order == 2:
            each = [self._gradient(x + 1e-5 * e)[1] - self._gradient(x - 1e-5 * e)[1] for e in np.eye(len(x))]
            hessian = np.array(each) / 2e-5
            hessian = 0.5 * (hessian + hessian.T)
        return Reading(*self._gradient(x), hessian)


class L1:
    """A penalty on all coordinates."""

    def __init__(self, strength):
        self.strength = strength

    def value(self, x):
        return self.strength * float(np.sum(np.abs(x)))

    def prox(self, x, step):
        return np.sign(x) * np.maximum(np.abs(x) - step * self.strength, 0.0)


def small_gradient(gradient, decrease):
    return float(np.max(np.abs(gradient))) / 1e-8


def small_reading(x, here):
    return float(np.max(np.abs(here.gradient))) / 1e-8


def objectives():
    return {**{name: (kernel_machine(loss), np.zeros(N + 1)) for name, loss in LOSSES.items()}, "network": network()}


def network():
    result = Network()
    return result, result.start


PATHS = {
    "newton": lambda f, x: newton.steps(f, x, small_gradient),
    "lbfgs": lambda f, x: lbfgs.steps(lbfgs.Points(f), x, lambda g: g, small_gradient),
    "fista": lambda f, x: fista.steps(f, L1(0.0), x, small_reading),
}


@pytest.mark.parametrize("solver", PATHS)
@pytest.mark.parametrize("name", [*LOSSES, "network"])
def test_every_solver_minimises_every_objective(name, solver):
    """To where SciPy's minimiser ends, or, of a network, to a place of rest below its own start."""
    objective, start = objectives()[name]
    solution = run(PATHS[solver](objective, start), max_iter=20_000)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    there = objective.read(solution.params)
    assert np.max(np.abs(there.gradient)) <= 1e-7  # a last step may be yielded before it is read
    assert there.value < objective.read(start).value
    if name != "network":
        best = scipy.optimize.minimize(lambda x: objective.read(x)[:2], start, jac=True, method="BFGS", tol=1e-10)
        assert there.value <= best.fun + 1e-8


@pytest.mark.parametrize("name", [*LOSSES, "network"])
def test_derivatives_belong_together(name):
    objective, start = objectives()[name]
    rng = np.random.default_rng(2)
    x, d = start + 0.1 * rng.standard_normal(len(start)), rng.standard_normal(len(start))
    here, step = objective.read(x, 2), 1e-5
    ahead, behind = objective.read(x + step * d), objective.read(x - step * d)
    assert here.gradient @ d == pytest.approx((ahead.value - behind.value) / (2 * step), rel=1e-6, abs=1e-8)
    if name != "huber":  # its curvature jumps
        product = (ahead.gradient - behind.gradient) / (2 * step)
        np.testing.assert_allclose(here.hessian @ d, product, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(objective.hessian_product(x, d), here.hessian @ d, rtol=1e-9, atol=1e-12)
    first, second = objective.line(x, d)(0.3)
    there = x + 0.3 * d
    assert first == pytest.approx(objective.read(there).gradient @ d, rel=1e-9)
    assert second == pytest.approx(d @ objective.read(there, 2).hessian @ d, rel=1e-9)
    assert objective.values([x, there]) == [objective.read(x).value, objective.read(there).value]


def test_fista_finds_a_sparse_expansion():
    """With an L1 penalty on the coefficients of a kernel expansion: the conditions of a minimum hold."""
    objective, start = kernel_machine(Square()), np.zeros(N + 1)
    result = [
        run(fista.steps(objective, L1(0.01), start, lambda x, here: np.inf, momentum=fast), max_iter=4000)
        for fast in (True, False)
    ]
    x = result[0].params
    g = objective.read(x).gradient
    used = x != 0.0
    assert 0 < np.count_nonzero(used) < N
    np.testing.assert_allclose(g[used], -0.01 * np.sign(x[used]), atol=1e-5)
    assert np.all(np.abs(g[~used]) <= 0.01 + 1e-5)
    assert result[1].trace[-1].objective >= result[0].trace[-1].objective - 1e-9


def test_conjugate_gradients_solve_with_a_kernel_matrix():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) + 0.1 * np.eye(30)
    y = rng.standard_normal((2, 30))
    energy = 0.5 * np.einsum("tn,tn->t", y, np.linalg.solve(K, y.T).T)
    path = conjugate_gradient.steps(lambda d: d @ K, y, np.tile(np.diag(K), (2, 1)), energy, 1e-9)
    np.testing.assert_allclose(run(path, max_iter=100).params, np.linalg.solve(K, y.T).T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("module", [newton, lbfgs, fista, conjugate_gradient, sys.modules["tenfold.solvers.damping"]])
def test_smooth_solvers_know_neither_samples_nor_weights(module):
    for name in ("Rows", "Params", "Glm", "Block"):
        assert not hasattr(module, name)


def judge_kernel_machine(loss):
    """The same for the judge: gradients are by functions, whose squared norm is the penalty."""
    K, y = kernel_data(loss)
    return DesignProblem(
        Glm(loss, KernelNorm(STRENGTH, K), True), KernelDesign(K, y), np.full((1, 1), STRENGTH), float(np.log(2.0))
    )


def slow_objective(data, x):
    """The objective of a kernel machine, written out."""
    K, y = data.design.block.matrix, data.design.targets
    z = K @ x[0, :N] + x[0, N]
    return float(np.mean(data.problem.loss.value(y[:, 0], z))) + 0.5 * STRENGTH * float(x[0, :N] @ K @ x[0, :N])


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-4, 1e-2, 1.0])
def test_the_gap_of_kernel_logistic_regression_is_a_tight_bound(size):
    """Beside SciPy's optimum: never below the truth, nearly equal to it, and a perturbed solution is not certified."""
    objective, start = kernel_machine(Logistic()), np.zeros(N + 1)
    best = run(newton.steps(objective, start, small_gradient), max_iter=100).params
    reference = scipy.optimize.minimize(lambda x: objective.read(x)[:2], start, jac=True, method="BFGS", tol=1e-10).fun
    rng, data = np.random.default_rng(4), judge_kernel_machine(Logistic())
    for _ in range(5):
        x = (best + size * rng.standard_normal(N + 1))[None]
        certificate = smooth_gap(data, x, x[:, -1])[0]
        excess = slow_objective(data, x) - reference
        assert certificate.objective == pytest.approx(slow_objective(data, x), rel=1e-14)
        assert certificate.value + certificate.floor + 1e-12 >= excess
        assert certificate.ok == (size <= 1e-4)
        tight = smooth_gap(data, x, x[:, -1], tol=0.0)[0]
        assert tight.value + tight.floor + 1e-12 >= excess
        assert tight.value <= 1.02 * max(excess, 0.0) + 4.0 * tight.floor + 1e-12
        assert certificate.floor < 1e-13


def test_a_function_whose_norm_is_too_small_is_not_certified():
    """The weights of a kernel machine are judged by the norm of their function, not by their own length."""
    best = run(newton.steps(kernel_machine(Logistic()), np.zeros(N + 1), small_gradient), max_iter=100).params
    data = judge_kernel_machine(Logistic())
    assert smooth_gap(data, best[None], best[-1:])[0].ok
    shrunk = best.copy()
    shrunk[:N] *= 0.99
    assert not smooth_gap(data, shrunk[None], best[-1:], search=0)[0].ok


def test_the_gap_of_a_kernel_machine_with_a_nonsmooth_loss():
    """A support vector machine by its dual, from an independent minimiser: certified with slopes, refused without."""
    data = judge_kernel_machine(Hinge())
    K, y = data.design.block.matrix, data.design.targets[:, 0]
    # max over 0 <= a <= 1/N with a'y = 0 of  sum a - (a y)'K (a y) / (2 strength)
    Q = K * np.outer(y, y) / STRENGTH
    solution = scipy.optimize.minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(), np.zeros(N), jac=lambda a: Q @ a - 1.0, bounds=[(0.0, 1.0 / N)] * N,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y}, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    a = np.clip(solution.x, 0.0, 1.0 / N)
    w = a * y / STRENGTH
    inside = (a > 1e-6 / N) & (a < (1.0 - 1e-6) / N)
    x = np.append(w, np.mean((y - K @ w)[inside]))[None]
    slopes = -N * a * y
    certificate = fenchel_gap(data, x, x[:, -1], dual=slopes)
    excess = slow_objective(data, x) + solution.fun
    assert certificate.ok
    assert certificate.value + certificate.floor >= excess - 1e-9
    worse = x.copy()
    worse[0, :N] += 0.05 * np.random.default_rng(5).standard_normal(N)
    other = fenchel_gap(data, worse, worse[:, -1], dual=slopes)
    assert not other.ok
    assert other.value >= slow_objective(data, worse) + solution.fun - 1e-9


def test_a_network_is_judged_by_its_gradient():
    objective = Network()
    x = run(lbfgs.steps(lbfgs.Points(objective), objective.start, lambda g: g, small_gradient), max_iter=20_000).params
    certificate = stationary_objective(objective, x, objective.start)
    assert certificate.kind == "stationarity"
    assert certificate.ok
    assert certificate.objective == objective.read(x).value
    assert not stationary_objective(objective, x + 1e-3, objective.start).ok
    assert not stationary_objective(objective, x + np.inf, objective.start).ok
