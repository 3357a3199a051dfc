"""Solvers of least squares on small problems with known answers, each through its own file."""

from itertools import islice

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import lstsq
from scipy.optimize import nnls as scipy_nnls

from tenfold.data import MemoryRows, NotFinite
from tenfold.losses import Logistic
from tenfold.objectives.least_squares import NormalEquations
from tenfold.objectives.linear import LinearObjective, unpack
from tenfold.penalties import L2
from tenfold.problems import Glm, evaluate
from tenfold.solvers import conjugate_gradient, dual_ridge, lbfgs, newton, nnls, normal_equations, rank_revealing_qr
from tenfold.solvers.loop import Status, run
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments


def data(n=30, p=4, t=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.5
    return X, X @ rng.standard_normal((p, t)) + 1.0 + 0.3 * rng.standard_normal((n, t)), rng.uniform(0.2, 2.0, n)


def exact(X, Y, weight, alpha, intercept):
    """Ridge by least squares on the stacked system, one target at a time."""
    root = np.sqrt(weight)
    mean, means = (weight @ X / weight.sum(), weight @ Y / weight.sum()) if intercept else (0.0, np.zeros(Y.shape[1]))
    coef = []
    for t in range(Y.shape[1]):
        A = np.vstack([root[:, None] * (X - mean), np.sqrt(alpha[t]) * np.eye(X.shape[1])])
        coef.append(lstsq(A, np.concatenate([root * (Y[:, t] - means[t]), np.zeros(X.shape[1])]))[0])
    coef = np.array(coef)
    return coef, means - coef @ (mean * np.ones(X.shape[1])) if intercept else np.zeros(Y.shape[1])


intercepts = pytest.mark.parametrize("intercept", [True, False])
ALPHA = np.array([0.0, 2.0])


@intercepts
def test_normal_equations(intercept):
    X, Y, weight = data()
    moments = Moments.of(X, Y, weight)
    factor = normal_equations.factor(moments, ALPHA, intercept)
    params = normal_equations.solve(moments, factor, intercept)
    coef, b = exact(X, Y, weight, ALPHA, intercept)
    np.testing.assert_allclose(params.coef, coef, rtol=1e-11)
    np.testing.assert_allclose(params.intercept, b, rtol=1e-11, atol=1e-14)
    assert 1e-6 < factor.rcond <= 1.0


@intercepts
def test_a_correction_repairs_a_wrong_start(intercept):
    """One Newton step on a quadratic is the solution."""
    X, Y, weight = data()
    moments = Moments.of(X, Y, weight)
    factor = normal_equations.factor(moments, ALPHA, intercept)
    wrong = normal_equations.with_intercept(np.ones((2, 4)), moments, intercept)
    centred = X - (moments.mean if intercept else 0.0)
    residual = Y - X @ wrong.coef.T - wrong.intercept
    gradient = -(weight[:, None] * residual).T @ centred + ALPHA[:, None] * wrong.coef
    result = normal_equations.correct(wrong, factor, gradient, moments, intercept)
    np.testing.assert_allclose(result.coef, exact(X, Y, weight, ALPHA, intercept)[0], rtol=1e-9)


def test_normal_equations_do_not_know_units():
    X, Y, weight = data()
    units = np.array([1e-150, 1.0, 1e150, 1e8])
    plain = Moments.of(X, Y, weight)
    moved = Moments.of(X * units, Y, weight)
    free = np.zeros(2)
    a = normal_equations.solve(plain, normal_equations.factor(plain, free, True), True)
    factor = normal_equations.factor(moved, free, True)
    b = normal_equations.solve(moved, factor, True)
    np.testing.assert_allclose(b.coef * units, a.coef, rtol=1e-10)
    assert factor.rcond > 1e-6


def test_a_singular_matrix_is_noticed():
    X, Y, _ = data()
    X = np.column_stack([X, X[:, 0]])
    moments = Moments.of(X, Y)
    factor = normal_equations.factor(moments, np.zeros(2), True)
    assert factor is None or factor.rcond < 1e-13


@intercepts
@pytest.mark.parametrize("alpha", [np.zeros(2), ALPHA, np.full(2, 3.0)], ids=["free", "mixed", "ridge"])
@pytest.mark.parametrize("deficient", [False, True])
def test_triangular(intercept, alpha, deficient):
    """The shortest solution where there are many."""
    X, Y, weight = data()
    if deficient:
        X = np.column_stack([X, X[:, 0] - X[:, 1]])
    rows = MemoryRows(X, Y, weight)
    moments = rows.fold(Moments.lift)
    scales = normal_equations.column_scales(moments, alpha, origin=not intercept)
    factor = rank_revealing_qr.factor(rows, moments, scales, alpha, intercept)
    coef = rank_revealing_qr.solve(factor, moments)
    np.testing.assert_allclose(coef, exact(X, Y, weight, alpha, intercept)[0], rtol=1e-9, atol=1e-12)
    assert factor.rank == (4 if (alpha == 0).any() else 4 + deficient)
    if deficient and not alpha.any():
        assert factor.condition > 1e14


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@intercepts
def test_dual(kind, intercept):
    """Wide rows: with a penalty the ridge solution, without one the shortest that interpolates."""
    X, Y, weight = data(n=8, p=20)
    centred, target_mean = dual_ridge.about_means(MemoryRows(kind(X), Y, weight), intercept)
    result = dual_ridge.solve(centred, ALPHA)
    coef = next(part for part in result if np.shape(part) == (2, 20))
    np.testing.assert_allclose(coef, exact(X, Y, weight, ALPHA, intercept)[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(target_mean, weight @ Y / weight.sum() if intercept else np.zeros(2), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@intercepts
def test_conjugate_gradients(kind, intercept):
    X, Y, weight = data()
    rows = MemoryRows(kind(X), Y, weight)
    columns = rows.fold(Columns.lift)
    centre = columns.mean[:4] if intercept else np.zeros(4)
    means = columns.mean[4:] if intercept else np.zeros(2)
    squares = columns.lengths(origin=not intercept)[0] ** 2
    system = NormalEquations(rows, ALPHA, centre, means)
    right, energy = system.right()
    solution = run(
        conjugate_gradient.steps(system.product, right, squares + ALPHA[:, None], energy, 1e-12), max_iter=100
    )
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert solution.iterations <= 12
    np.testing.assert_allclose(solution.params, exact(X, Y, weight, ALPHA, intercept)[0], rtol=1e-8, atol=1e-10)
    objectives = [record.objective for record in solution.trace]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize("seed", range(10))
@intercepts
def test_non_negative_weights(seed, intercept):
    X, Y, weight = data(t=1, seed=seed)
    moments = Moments.of(X, Y, weight)
    root = np.sqrt(weight)
    mean, target_mean = (weight @ X / weight.sum(), weight @ Y[:, 0] / weight.sum()) if intercept else (0.0, 0.0)
    for alpha in (0.0, 1.5):
        scales = normal_equations.column_scales(moments, np.array([alpha]), origin=not intercept)
        solution = run(nnls.steps(moments, scales, alpha, 0, intercept), max_iter=50)
        A = np.vstack([root[:, None] * (X - mean), np.sqrt(alpha) * np.eye(4)])
        expected = scipy_nnls(A, np.concatenate([root * (Y[:, 0] - target_mean), np.zeros(4)]))[0]
        assert solution.status is Status.CONVERGED
        np.testing.assert_allclose(solution.params.coef[0], expected, rtol=1e-9, atol=1e-11)
        assert np.all(solution.params.coef >= 0)


def test_non_negative_weights_end_on_singular_data():
    """Columns that are equal, constant or zero: an end, and no negative weight."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(30)
    X = np.column_stack([x, x, np.zeros(30), np.ones(30), -x])
    moments = Moments.of(X, (2.0 * x)[:, None])
    scales = normal_equations.column_scales(moments, np.zeros(1), origin=False)
    solution = run(nnls.steps(moments, scales, 0.0, 0, True), max_iter=60)
    w = solution.params.coef[0]
    assert np.all(w >= 0)
    np.testing.assert_allclose(X @ w - (X @ w).mean(), 2.0 * (x - x.mean()), atol=1e-9)


@pytest.mark.parametrize("strength", [1e-3, 1.0])
@intercepts
def test_newton(strength, intercept):
    X, Y, weight = data(n=80)
    y = np.where(Y[:, :1] > np.median(Y[:, 0]), 1.0, -1.0)
    rows, problem = MemoryRows(X, y, weight), Glm(Logistic(), L2(strength), intercept)

    def measure(gradient, decrease):
        return float(np.max(np.abs(gradient))) / 1e-10

    solution = run(newton.steps(LinearObjective(problem, rows, np.zeros(4)), np.zeros(5), measure), max_iter=30)
    assert solution.status in (Status.CONVERGED, Status.STALLED)
    assert solution.iterations <= 12
    gradient = evaluate(problem, rows, unpack(solution.params)).gradient
    assert np.max(np.abs(gradient)) <= 1e-9
    assert intercept or solution.params[-1] == 0.0


@pytest.mark.parametrize("signal", [0.05, 1.0, 5.0])
def test_leap_decreases_more_than_a_step(signal):
    """From zero weights, in two passes: where there is much to learn, to where Newton's method is after four steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = np.where(signal * X[:, :1] + rng.logistic(size=(3000, 1)) > 0, 1.0, -1.0)
    rows, problem, shift = MemoryRows(X, y), Glm(Logistic(), L2(1e-4), True), np.zeros(5)
    objective, start = LinearObjective(problem, rows, shift), np.zeros(6)
    steps = list(islice(newton.steps(objective, start, lambda g, decrease: np.inf), 5))
    result = objective.read(newton.leap(objective, start)).value
    assert result <= steps[1].objective * (1.0 + 1e-12)
    if signal == 5.0:
        assert result <= steps[4].objective * 1.01 < 0.9 * steps[1].objective


def test_leap_rejects_values_that_are_not_finite():
    X, y = np.full((50, 2), np.inf), np.where(np.arange(50) % 2, 1.0, -1.0)[:, None]
    objective = LinearObjective(Glm(Logistic(), L2(1e-4), True), MemoryRows(X, y), np.zeros(2))
    with pytest.raises(NotFinite):
        newton.leap(objective, np.zeros(3))


# -- rows on several machines: a pass is a journey


class Far(MemoryRows):
    """Rows in memory that count their passes, and say that they are on several machines."""

    __slots__ = ("passes",)
    distributed = True

    def __init__(self, X, y):
        super().__init__(X, y)
        object.__setattr__(self, "passes", [])

    def fold(self, lift):
        self.passes.append(lift)
        return MemoryRows.fold(self, lift)


class Near(Far):
    """The same, and on one machine."""

    __slots__ = ()
    distributed = False


def classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    return X, np.where(X[:, :1] + rng.logistic(size=(400, 1)) > 0, 1.0, -1.0)


def test_newton_tries_several_lengths_in_one_pass():
    """From a point so far away that full steps go much too far: the same steps, in fewer passes."""
    problem, start = Glm(Logistic(), L2(1e-4), True), np.array([6.0, -5.0, 4.0, 3.0])
    result, passes = [], []
    for kind in (Near, Far):
        rows = kind(*classes())
        steps = newton.steps(LinearObjective(problem, rows, np.zeros(3)), start, lambda g, decrease: np.inf)
        result.append([next(steps).params for _ in range(6)])
        passes.append(len(rows.passes))
    for near, far in zip(*result, strict=True):
        np.testing.assert_array_equal(near, far)
    assert passes[1] < passes[0]


def test_lbfgs_tries_several_lengths_in_one_pass():
    """Along a direction that is much too long, what is found is what trying one length after the other finds."""
    problem = Glm(Logistic(), L2(1e-2), True)
    rows = Far(*classes())
    walk = lbfgs.Points(LinearObjective(problem, rows, np.zeros(3)))
    here = walk.start(np.zeros(4))
    d = -3e4 * here.g
    decrease = -float(here.g @ d)
    first = walk.start(here.x + d)
    length = float(np.clip(decrease / (decrease + first.g @ d), 0.05, 0.7))
    tried = 0
    while walk.start(here.x + length * d).f > here.f - 1e-4 * length * decrease:
        length *= 0.5
        tried += 1
    assert tried > 4
    rows.passes.clear()
    there = walk.along(here, d, decrease)
    np.testing.assert_array_equal(there.x, here.x + length * d)
    assert len(rows.passes) <= 2 + -(-tried // 5)
