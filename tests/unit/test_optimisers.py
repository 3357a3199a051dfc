"""Optimisers on their own: every method, what the judge refuses, and input that is wrong."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import rosen, rosen_der, rosen_hess
from scipy.sparse.linalg import aslinearoperator, lsqr

from tenfold import classify_stationary, leading_eigenvectors, minimize, solve_linear
from tenfold.data import MemoryRows
from tenfold.judge.linear_systems import definite_system, eigenpairs, least_squares_system
from tenfold.judge.local_minimum import local_minimum
from tenfold.objectives.function import Function
from tenfold.objectives.least_squares import Squares
from tenfold.plans.optimisers import METHODS
from tenfold.solvers.scipy_minimisers import METHODS as SCIPY_METHODS

SLOW = ("gradient-descent", "bold-driver")  # on Rosenbrock's function


def residuals(x):
    return np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def jacobian(x):
    return np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])


def quadratic(condition, q=8, seed=0):
    """A symmetric matrix of this condition, and a right side."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((q, q)))[0]
    A = (Q * np.geomspace(1.0, condition, q)) @ Q.T
    return 0.5 * (A + A.T), rng.standard_normal(q)


@pytest.mark.parametrize("method", [*METHODS, *SCIPY_METHODS])
def test_every_method_minimises_a_quadratic_function(method):
    A, b = quadratic(5.0)
    if method == "levenberg-marquardt":
        root = np.linalg.cholesky(A).T
        c = np.linalg.solve(root.T, b)
        result = minimize(lambda x: root @ x - c, np.ones(8), grad=lambda x: root, method=method)
    else:
        result = minimize(lambda x: 0.5 * x @ A @ x - b @ x, np.ones(8), grad=lambda x: A @ x - b, method=method)
    assert result.success, result
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-6)
    assert result.nit == len(result.trace) - 1
    assert result.path.shape == (result.nit + 1, 8)
    assert np.array_equal(result.path[0], np.ones(8))
    assert np.all(np.diff([record.seconds for record in result.trace]) >= 0.0)


@pytest.mark.parametrize("method", [m for m in (*METHODS, *SCIPY_METHODS) if m not in (*SLOW, "levenberg-marquardt")])
def test_every_method_leaves_the_valley_of_rosenbrock(method):
    result = minimize(rosen, [-1.2, 1.0], grad=rosen_der, method=method, max_iter=10_000)
    assert result.success, result
    np.testing.assert_allclose(result.x, 1.0, atol=1e-4)


@pytest.mark.parametrize("grad", [None, jacobian])
def test_levenberg_marquardt_takes_few_steps(grad):
    result = minimize(residuals, [-1.2, 1.0], grad=grad, method="levenberg-marquardt")
    assert result.success
    assert result.nit < 40
    np.testing.assert_allclose(result.x, 1.0, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", ["newton", "truncated-newton", "l-bfgs", "nonlinear-cg", "scaled-cg"])
def test_units_of_the_function_do_not_matter(method, scale):
    A, b = quadratic(1e4)
    wanted = np.linalg.solve(A, b)
    result = minimize(
        lambda x: scale * (0.5 * x @ A @ x - b @ x), np.zeros(8), grad=lambda x: scale * (A @ x - b), method=method
    )
    assert result.certificate_.ok, result
    assert np.linalg.norm(result.x - wanted) < 1e-3 * np.linalg.norm(wanted)


def test_without_derivatives():
    for method in ("l-bfgs", "newton"):
        result = minimize(rosen, [0.5, 0.5], method=method)
        assert result.certificate_.ok, result
        np.testing.assert_allclose(result.x, 1.0, atol=1e-4)


def test_products_with_the_hessian_and_the_hessian_itself():
    plain = minimize(rosen, np.zeros(5), grad=rosen_der, hess=rosen_hess, method="truncated-newton")
    by_products = minimize(
        rosen, np.zeros(5), grad=rosen_der, hessp=lambda x, d: rosen_hess(x) @ d, method="truncated-newton"
    )
    np.testing.assert_allclose(plain.x, by_products.x, atol=1e-8)
    assert by_products.nhev > 0
    assert minimize(rosen, np.zeros(5), grad=rosen_der, hess=rosen_hess, method="newton").success


def test_objectives_of_the_library_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    result = minimize(Squares(MemoryRows(X, y[:, None]), np.zeros(3), np.zeros(1)), np.zeros(3))
    assert result.certificate_.ok
    np.testing.assert_allclose(result.x, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-7)


def test_stops_by_callback_limits_and_time():
    seen = []
    stopped = minimize(
        rosen, [-1.2, 1.0], grad=rosen_der, callback=lambda record, x: seen.append(x.copy()) or len(seen) == 3
    )
    assert (stopped.status, stopped.nit) == ("stopped by a callback", 3)
    assert np.array_equal(stopped.x, seen[-1])
    assert minimize(rosen, [-1.2, 1.0], grad=rosen_der, max_iter=2).status == "iteration limit"
    assert minimize(rosen, [-1.2, 1.0], grad=rosen_der, max_iter=2, method="bfgs").nit == 2

    def slow(x):
        time.sleep(0.002)
        return rosen(x)

    limited = minimize(slow, [-1.2, 1.0], grad=rosen_der, time_limit=0.01, method="gradient-descent")
    assert limited.status == "time limit"
    assert not limited.success
    assert minimize(rosen, [1.2, 1.0], grad=rosen_der, keep_path=False).path is None


def test_start_at_the_minimum_is_certified():
    for start in ([1.0, 1.0], [1.0 + 1e-10, 1.0]):
        assert minimize(rosen, start, grad=rosen_der).success


def test_a_saddle_is_not_certified_although_the_gradient_vanishes():
    result = minimize(
        lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4,
        [1.0, 0.0],
        grad=lambda x: np.array([2 * x[0], -2 * x[1] + 4 * x[1] ** 3]),
    )
    assert result.status == "converged"
    assert not result.certificate_.ok
    assert "saddle" in result.certificate_.note
    # its own least squares, whose Hessian of Gauss and Newton has no negative eigenvalues
    hidden = minimize(lambda x: np.array([x[0] ** 2 - 1.0]), [0.0], method="levenberg-marquardt")
    assert not hidden.success


@pytest.mark.parametrize("wrong", [lambda x: 1.1 * x * [2.0, 2.2], lambda x: 2.0 * x - 1.0, np.zeros_like])
def test_a_wrong_gradient_is_not_certified(wrong):
    result = minimize(lambda x: x @ x, [1.0, 0.5], grad=wrong, max_iter=50)
    assert not result.certificate_.ok
    assert "check_gradient" in result.certificate_.note


def test_a_point_that_has_not_arrived_is_not_certified():
    """From a start that is far away the gradient at the start is a useless unit."""
    far = minimize(lambda x: x[0] ** 4, [1e4], grad=lambda x: 4.0 * x**3)
    assert not far.success
    assert not minimize(lambda x: np.exp(-x[0]), [1.0], grad=lambda x: -np.exp(-x)).success


def test_many_coordinates():
    """The flank of a bump is flat, in units of slopes nearby, but bends downwards."""
    bend = np.geomspace(1.0, 10.0, 150)
    bowl = minimize(lambda x: 0.5 * bend @ x**2, np.ones(150), grad=lambda x: bend * x)
    assert bowl.success
    assert "directions" in bowl.certificate_.note
    far = np.full(150, 0.8)
    objective = Function(lambda x: -np.exp(-x @ x), lambda x: 2.0 * x * np.exp(-x @ x))
    assert not local_minimum(objective, far, far).ok
    assert not local_minimum(Function(lambda x: -x @ x, lambda x: -2.0 * x), np.zeros(150), np.zeros(150)).ok


def test_worse_points_are_not_certified():
    objective = Function(rosen, rosen_der)
    start = np.array([-1.2, 1.0])
    assert local_minimum(objective, np.ones(2), start).ok
    for shift in (1e-3, 1e-5, np.nan, np.inf):
        assert not local_minimum(objective, np.ones(2) + shift, start).ok


def test_a_rate_that_is_too_large_diverges_and_the_best_point_is_returned():
    for rate in (1.1, 3.0):
        result = minimize(
            lambda x: x @ x, [1.0, 0.5], grad=lambda x: 2.0 * x, method="gradient-descent", rate=rate, max_iter=3000
        )
        assert result.status == "diverged"
        assert "learning rate" in result.message
        assert np.array_equal(result.x, [1.0, 0.5])
    tamed = minimize(lambda x: x @ x, [1.0, 0.5], grad=lambda x: 2.0 * x, method="bold-driver", rate=1e6)
    assert tamed.success


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "simplex"}, "method must be one of"),
        ({"rate": -1.0}, "rate must be"),
        ({"rate": "line", "method": "bold-driver"}, "bold driver"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"line_accuracy": 2.0}, "line_accuracy"),
        ({"beta": "daniel"}, "beta must be"),
        ({"tol": -1.0}, "tol and max_iter"),
        ({"x0": [np.nan, 1.0]}, "finite numbers"),
        ({"x0": np.zeros((2, 2))}, "shape"),
        ({"grad": lambda x: np.zeros(3)}, r"shape \(2,\)"),
        ({"fun": lambda x: x}, "a number"),
        ({"fun": lambda x: np.nan}, "not finite at the start"),
        ({"method": "newton", "hess": lambda x: np.zeros(3)}, r"shape \(2, 2\)"),
        ({"method": "newton", "hess": lambda x: np.full((2, 2), np.nan)}, "Hessian has entries"),
        ({"method": "levenberg-marquardt", "fun": rosen}, "the residuals"),
        ({"method": "levenberg-marquardt", "fun": Function(rosen)}, "needs residuals"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_wrong_input_is_explained(settings, message):
    given = {"fun": rosen, "x0": [0.0, 1.0], "grad": rosen_der, **settings}
    with pytest.raises(ValueError, match=message):
        minimize(given.pop("fun"), given.pop("x0"), **given)


@pytest.mark.parametrize(
    ("fun", "kind"),
    [
        (lambda x: x @ x, "minimum"),
        (lambda x: -x @ x, "maximum"),
        (lambda x: x[0] * x[1], "saddle"),
        (lambda x: x[0] ** 2 + x[1] ** 4, "degenerate"),
        (lambda x: x[0] ** 2 + x[1] ** 3, "degenerate"),
        (lambda x: x[0] + x[1] ** 2, "not stationary"),
    ],
)
def test_kinds_of_stationary_points(fun, kind):
    point = classify_stationary(fun, [0.0, 0.0])
    assert point.kind == kind
    assert kind in point.explain().lower()
    assert (point.lower is None) == (kind in ("minimum", "degenerate") and fun(np.array([0.0, -0.5])) > 0.0)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, aslinearoperator])
def test_systems_by_conjugate_gradients_and_lsqr(make):
    A, b = quadratic(100.0, 20)
    for method in ("cg", "lsqr"):
        result = solve_linear(make(A), b, method=method, keep_path=True)
        assert result.success, result
        np.testing.assert_allclose(result.x, np.linalg.solve(A, b), atol=1e-7)
        assert result.path.shape == (result.nit + 1, 20)
    damped = solve_linear(make(A), b, method="cg", damping=2.0)
    np.testing.assert_allclose(damped.x, np.linalg.solve(A + 4.0 * np.eye(20), b), atol=1e-7)


@pytest.mark.parametrize("damping", [0.0, 3.0])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_lsqr_is_that_of_scipy(shape, damping):
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal(shape), rng.standard_normal(shape[0])
    result = solve_linear(A, b, damping=damping)
    assert result.success
    np.testing.assert_allclose(result.x, lsqr(A, b, damp=damping, atol=1e-13, btol=1e-13)[0], atol=1e-7)


def test_certificates_of_systems_refuse_worse_ones():
    A, b = quadratic(10.0)
    x = np.linalg.solve(A, b)
    assert definite_system(lambda v: A @ v, b, x, tol=None, status="converged").ok
    assert not definite_system(lambda v: A @ v, b, x + 1e-3, tol=None, status="converged").ok
    assert not definite_system(lambda v: -A @ v, -b, x, tol=None, status="converged").ok
    products = (lambda v: A @ v, lambda v: A.T @ v)
    assert least_squares_system(*products, b, x, 0.0, tol=None, status="converged").ok
    assert not least_squares_system(*products, b, x + 1e-3, 0.0, tol=None, status="converged").ok
    assert not least_squares_system(*products, b, x, 1.0, tol=None, status="converged").ok
    assert not solve_linear(A - 5.0 * np.eye(8), b, method="cg").success
    assert solve_linear(A, np.zeros(8), method="cg").success


@pytest.mark.parametrize("method", ["lanczos", "power"])
def test_leading_eigenvectors(method):
    A, _ = quadratic(50.0, 12)
    result = leading_eigenvectors(A, 3, method=method)
    assert result.success, result
    np.testing.assert_allclose(result.values, np.linalg.eigvalsh(A)[:-4:-1], rtol=1e-8)
    assert "probability" in result.certificate_.note
    unknown = leading_eigenvectors(aslinearoperator(A), 1, method=method)
    assert "not proved" in unknown.certificate_.note


def test_certificates_of_eigenvectors_refuse_worse_ones():
    A, _ = quadratic(50.0, 12)
    values, vectors = np.linalg.eigh(A)
    bound = float(np.max(np.abs(A).sum(axis=1)))

    def judge(k, change=0.0):
        rows = np.ascontiguousarray(vectors[:, k].T) + change
        return eigenpairs(lambda v: A @ v, values[k], rows, bound, by_size=False, tol=None, status="converged")

    assert judge([11, 10]).ok
    assert "missing" in judge([10]).note
    assert not judge([10]).ok
    assert not judge([10, 11]).ok
    assert not judge([11], change=1e-5).ok


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve_linear(np.ones((2, 3)), [1.0, 2.0, 3.0]), "b must be"),
        (lambda: solve_linear(np.eye(2), [1.0, np.inf]), "b must be"),
        (lambda: solve_linear(np.eye(2), [1.0, 2.0], method="qr"), "method must be"),
        (lambda: solve_linear(np.eye(2), [1.0, 2.0], tol=0.0), "tol"),
        (lambda: solve_linear(np.ones((2, 3)), [1.0, 2.0], method="cg"), "square"),
        (lambda: solve_linear([[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0], method="cg"), "not symmetric"),
        (lambda: solve_linear([[1.0, np.nan]], [1.0]), "finite"),
        (lambda: leading_eigenvectors(np.eye(3), 4), "k between"),
        (lambda: leading_eigenvectors(np.ones((2, 3))), "square"),
    ],
)
def test_wrong_matrices_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
