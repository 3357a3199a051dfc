"""Small quadratic problems, their certificates, and the conditions of Karush, Kuhn and Tucker."""

import numpy as np
import pytest

from qp_reference import solve
from tenfold import kkt, lagrange_dual, minimize_qp
from tenfold.judge.quadratic_program import QuadraticProgram, minimum


def random_problem(seed):
    """A convex problem with bounds, in every third case with an equality that repeats another."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    m, rank = int(rng.integers(0, n // 2 + 1)), int(rng.integers(0, n + 1))
    B = rng.standard_normal((rank, n))
    P, q = B.T @ B * 10.0 ** rng.integers(-4, 5), rng.standard_normal(n)
    A = rng.standard_normal((m, n))
    b = A @ rng.uniform(0.0, 1.0, n)
    doubled = (np.vstack([A, 2.0 * A[:1]]), np.append(b, 2.0 * b[0])) if m and seed % 3 == 0 else (A, b)
    return P, q, A, b, np.zeros(n), np.where(rng.random(n) < 0.7, 1.0, 2.0), doubled


@pytest.mark.parametrize("seed", range(40))
def test_minimum_is_that_of_a_slow_solver(seed):
    P, q, A, b, low, high, doubled = random_problem(seed)
    result = minimize_qp(P, q, A=doubled[0], b=doubled[1], low=low, high=high)
    objective = solve(P, q, A, b, low, high)[2]
    certificate = result.certificate_
    assert certificate.ok, certificate.explain()
    assert certificate.kind == "gap"
    assert result.objective == pytest.approx(objective, abs=1e-7 * certificate.scale)
    assert certificate.lower_bound <= objective + 1e-12 * certificate.scale
    assert certificate.value >= result.objective - objective - 1e-12 * certificate.scale
    G, h = np.vstack([np.eye(len(q)), -np.eye(len(q))]), np.concatenate([high, -low])
    report = kkt(
        P @ result.x + q,
        result.x,
        A=doubled[0],
        b=doubled[1],
        equality_multipliers=-result.equality_multipliers,
        G=G,
        h=h,
        multipliers=np.concatenate([result.upper_multipliers, result.lower_multipliers]),
        tol=1e-6 * (1.0 + np.abs(P).max()),
    )
    assert report.holds, report.explain()


@pytest.mark.parametrize("seed", range(10))
def test_bound_of_any_point_is_below_the_minimum(seed):
    P, q, A, b, low, high, _ = random_problem(seed)
    objective = solve(P, q, A, b, low, high)[2]
    rng = np.random.default_rng(seed)
    problem = QuadraticProgram(P, q, A, b, low, high)
    for size in (1e-6, 1e-2, 1.0):
        x = np.clip(minimize_qp(P, q, A=A, b=b, low=low, high=high).x + size * rng.standard_normal(len(q)), low, high)
        certificate = minimum(problem, x, size * rng.standard_normal(len(b)))
        assert certificate.lower_bound <= objective + 1e-12 * (abs(objective) + certificate.scale)
        if size == 1.0:
            assert not certificate.ok


@pytest.mark.parametrize("seed", range(20))
def test_units_of_the_entries_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    unit, B, q = 10.0 ** rng.uniform(-4.0, 4.0, n), rng.standard_normal((n, n)), rng.standard_normal(n)
    A = rng.standard_normal((1, n))
    b = A @ rng.uniform(0.0, 1.0, n)
    P = B.T @ B
    plain = minimize_qp(P, q, A=A, b=b, low=0.0, high=2.0)
    scaled = minimize_qp(P / unit[:, None] / unit, q / unit, A=A / unit, b=b, low=0.0, high=2.0 * unit)
    assert plain.certificate_.ok
    assert scaled.certificate_.ok, scaled.certificate_.explain()
    np.testing.assert_allclose(scaled.x / unit, plain.x, atol=1e-5)


def test_free_entries():
    """Without bounds it is a linear system; a direction without curvature must not be pushed."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 6))
    P, q = B.T @ B, rng.standard_normal(6)
    result = minimize_qp(P, q)
    np.testing.assert_allclose(result.x, np.linalg.solve(P, -q), rtol=1e-7)
    assert result.certificate_.ok
    flat = minimize_qp(np.diag([1.0, 0.0]), [1.0, 0.0])
    assert flat.certificate_.ok
    assert flat.x[0] == pytest.approx(-1.0)


def test_fixed_entries_and_active_bounds():
    result = minimize_qp(np.eye(3), [1.0, -5.0, 2.0], low=[3.0, 0.0, -1.0], high=[3.0, 1.0, 4.0])
    np.testing.assert_allclose(result.x, [3.0, 1.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(result.lower_multipliers, [4.0, 0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(result.upper_multipliers, [0.0, 4.0, 0.0], atol=1e-9)
    zero = minimize_qp(np.eye(2), [1.0, 2.0], low=0.0)
    assert np.all(zero.x == 0.0)
    assert zero.certificate_.ok


def test_objective_that_is_not_convex_is_stationary():
    result = minimize_qp(np.diag([1.0, -1.0]), [0.0, 0.1], low=-1.0, high=1.0)
    assert result.certificate_.ok
    assert result.certificate_.kind == "stationarity"
    assert "not positive semidefinite" in result.certificate_.explain()
    np.testing.assert_allclose(result.x, [0.0, -1.0], atol=1e-9)


def test_point_that_is_not_feasible_is_not_certified():
    problem = QuadraticProgram(np.eye(2), np.zeros(2), np.ones((1, 2)), np.ones(1), np.full(2, -9.0), np.full(2, 9.0))
    assert minimum(problem, np.full(2, 0.5), np.full(1, 0.5)).ok
    assert not minimum(problem, np.full(2, 0.499), np.full(1, 0.5)).ok
    assert not minimum(problem, np.array([0.6, 0.4]), np.full(1, 0.5)).ok
    assert not minimum(problem, np.full(2, 0.5), np.full(1, 0.6)).ok
    assert not minimum(problem, np.array([np.nan, 0.5]), np.full(1, 0.5)).ok


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"P": np.zeros((2, 2)), "q": [1.0, 0.0]}, "unbounded"),
        ({"P": np.diag([1.0, -1.0]), "q": [0.0, 0.1]}, "unbounded"),
        (
            {"P": np.eye(2), "q": [1.0, 0.0], "A": [[1.0, 1.0]], "b": [5.0], "low": 0.0, "high": 1.0},
            "within the bounds",
        ),
        ({"P": np.eye(2), "q": [1.0, 0.0], "A": [[1.0, 1.0], [1.0, 1.0]], "b": [5.0, 4.0]}, "contradict"),
        ({"P": np.eye(2), "q": [1.0, 0.0], "low": 1.0, "high": 0.0}, "is above"),
        ({"P": [[1.0, 1.0], [0.0, 1.0]], "q": [1.0, 0.0]}, "symmetric"),
        ({"P": np.eye(3), "q": [1.0, 0.0]}, "shapes"),
        ({"P": np.eye(2), "q": [np.nan, 0.0]}, "finite"),
        ({"P": np.eye(2), "q": [1.0, 0.0], "A": [[1.0]], "b": [1.0]}, "shapes"),
    ],
)
def test_bad_problem_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        minimize_qp(**settings)


def test_weak_and_strong_duality():
    """No value of the dual function is above the objective of a feasible point; its maximum is the minimum."""
    rng = np.random.default_rng(1)
    P, q, G, h = np.diag([1.0, 2.0]), np.array([1.0, -1.0]), -np.eye(2), np.array([-0.5, -0.5])
    result = minimize_qp(P, q, low=0.5)
    for _ in range(50):
        x, alpha = 0.5 + rng.exponential(size=2), rng.exponential(size=2)
        assert lagrange_dual(P, q, G=G, h=h, multipliers=alpha) <= 0.5 * x @ P @ x + q @ x
    best = lagrange_dual(P, q, G=G, h=h, multipliers=result.lower_multipliers)
    assert best == pytest.approx(result.objective, rel=1e-9)
    assert lagrange_dual(np.zeros((1, 1)), [1.0]) == -np.inf


def test_kkt_names_what_is_violated():
    report = kkt([1.0, 0.0], [0.0, 0.0], A=[[1.0, 0.0]], b=[1.0], equality_multipliers=[-1.0])
    assert report.stationarity == 0.0
    assert report.equality == 1.0
    assert not report.holds
    wrong = kkt([-1.0], [-1.0], G=[[1.0]], h=[-1.0], multipliers=[-1.0])
    assert wrong.sign == 1.0
    slack = kkt([-1.0], [-2.0], G=[[1.0]], h=[-1.0], multipliers=[1.0])
    assert slack.complementarity == 1.0
    with pytest.raises(ValueError, match="columns"):
        kkt([1.0], [1.0], A=[[1.0, 2.0]], b=[1.0])
