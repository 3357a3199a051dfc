"""The judge of support vector machines against the optimum of a slow solver in extended precision."""

import numpy as np
import pytest

from svm_problems import KINDS, data, machine, optimum
from tenfold.judge.gap_svm import Fit, gap, hard_margin_gap


def judge(kind, K, y, C, beta, b, rho):
    return gap(machine(kind, y, C, rho=rho), Fit(beta, K @ beta, np.diag(K).copy(), b))


def moved(best, C, size, rng):
    """Coefficients, intercept and margin near the optimum, feasible or not."""
    beta = best.beta + size * rng.standard_normal(len(C)) * C * (rng.random(len(C)) < 0.5)
    return beta, best.b + size * rng.standard_normal(), best.rho * (1.0 + size * rng.standard_normal())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_gap_bounds_the_true_excess(kind, seed):
    """The lower bound is below the optimum, the objective above it, and the number the sum of both distances; the
    optimum is within the radius, and its intercept within the drift.
    """
    y, C, K, _ = data(kind, seed, scale=10.0 ** (seed - 1))
    best = optimum(kind, K, y, C)
    rng = np.random.default_rng(seed)
    unit = abs(best.objective) + np.sum(C)
    for size in (0.0, 1e-12, 1e-8, 1e-4, 1e-2, 0.3):
        beta, b, rho = moved(best, C, size, rng)
        certificate, radius, drift = judge(kind, K, y, C, beta, b, rho)
        assert certificate.lower_bound <= best.objective + 1e-13 * unit
        assert certificate.objective >= best.objective - 1e-13 * unit
        assert certificate.value >= certificate.objective - best.objective - certificate.floor
        away = beta - best.beta
        assert radius >= np.sqrt(max(0.0, away @ K @ away)) - 1e-7
        if kind != "one class":
            assert drift >= abs(b - best.b) - 1e-7
        if size == 0.0:
            assert certificate.ok
            assert certificate.value <= 1e-11 * unit
        if size >= 1e-2:
            assert not certificate.ok


@pytest.mark.parametrize("kind", ["hinge", "squared hinge", "tube", "squared tube", "nu tube"])
@pytest.mark.parametrize("seed", range(3))
def test_scale_is_the_objective_at_zero_weights(kind, seed):
    y, C, K, _ = data(kind, seed)
    best = optimum(kind, 0.0 * K, y, C)
    assert machine(kind, y, C).scale(0.0) == pytest.approx(best.objective, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_interval_of_intercepts_holds_those_of_an_optimum_with_many(kind):
    """Where all coefficients are at a bound the intercept is any number of an interval: the drift covers it. With nu,
    half of the mass is on the samples with a short phi(x).
    """
    n = 12
    y = np.repeat([-1.0, 1.0], n // 2)
    if "hinge" not in kind:
        y = 5.0 * y
    C, K = np.full(n, 1e-3), np.diag(np.tile([0.01, 4.0], n // 2))
    best = optimum(kind, K, y, C, nu=0.5)
    made = machine(kind, y, C, nu=0.5, rho=best.rho)
    low, high = made.intercepts(K @ best.beta)
    assert low - 1e-6 <= best.b <= high + 1e-6
    inside = np.linspace(max(low, -1e3), min(high, 1e3), 7)
    losses = [made.loss(K @ best.beta + b, b) for b in inside]
    assert np.ptp(losses) <= 1e-9 * (np.sum(C) + np.max(np.abs(losses)))


def separable(seed=0, n=24):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.where(X @ [1.0, 0.5] > 0.0, 1.0, -1.0)
    return X + 0.5 * y[:, None], y


def hard_optimum(K, y):
    from qp_reference import solve

    a, dual, value = solve(K * np.outer(y, y), -np.ones(len(y)), y[None], [0.0], np.zeros(len(y)), np.full(len(y), 1e4))
    return np.asarray(a * y, dtype=float), -float(dual[0]), -value


def test_hard_margin():
    X, y = separable()
    K = X @ X.T
    beta, b, objective = hard_optimum(K, y)
    counts = np.ones(len(y), dtype=bool)
    judged = hard_margin_gap(y, counts, Fit(beta, K @ beta, np.diag(K).copy(), b))
    assert judged.certificate.ok
    assert judged.certificate.objective == pytest.approx(objective, rel=1e-9)
    worse = hard_margin_gap(y, counts, Fit(1.01 * beta, 1.01 * K @ beta, np.diag(K).copy(), b))
    assert not worse.certificate.ok
    assert worse.certificate.lower_bound <= objective * (1.0 + 1e-9)
    assert worse.certificate.objective >= objective * (1.0 - 1e-9)
    assert worse.drift >= 0.0


def test_hard_margin_of_classes_that_overlap_is_proved_not_to_exist():
    """The middles of two crossing segments coincide: a combination of the samples of both classes is zero."""
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    K, beta = X @ X.T, 0.5 * y
    certificate = hard_margin_gap(y, np.ones(4, dtype=bool), Fit(beta, K @ beta, np.diag(K).copy(), 0.0)).certificate
    assert not certificate.ok
    assert certificate.status == "no maximum"
    assert "does not separate" in certificate.explain()


def random_problem(seed):
    """A problem of random size, scales, kernel, weights and nu."""
    rng = np.random.default_rng(seed)
    kind, n = KINDS[seed % len(KINDS)], int(rng.integers(4, 26))
    X = rng.standard_normal((n, int(rng.integers(1, 4)))) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.3:
        X[: n // 2] = X[n // 2 : 2 * (n // 2)]
    unit = np.var(X)
    K = (
        np.exp(-(10.0 ** rng.uniform(-3.0, 2.0)) / unit * ((X[:, None] - X) ** 2).sum(axis=2)),
        X @ X.T + (rng.random() < 0.5),
        (X @ X.T / unit + 1.0) ** 3,
    )[rng.integers(3)]
    f = X[:, 0] / np.sqrt(unit) + rng.uniform(0.0, 1.5) * rng.standard_normal(n)
    y = np.where(f > 0.0, 1.0, -1.0) if "hinge" in kind else f * 10.0 ** rng.integers(-3, 4)
    if "hinge" in kind and abs(y.sum()) == n:
        y[0] = -y[0]
    C = 10.0 ** rng.uniform(-6.0, 6.0) * (rng.uniform(0.1, 3.0, n) if rng.random() < 0.5 else np.ones(n))
    nu = rng.uniform(0.05, 0.95)
    if kind == "nu hinge":
        nu = min(nu, 0.95 * 2.0 * min(C[y > 0.0].sum(), C[y < 0.0].sum()) / C.sum())
    return kind, K, y, C, {"nu": nu, "epsilon": 10.0 ** rng.uniform(-3.0, 0.0) * np.std(y)}, rng


@pytest.mark.parametrize("seed", range(140))
def test_no_number_is_too_good_at_random(seed):
    """Random machines at random distances from the optimum: the bounds hold up to the error of the reference, which is
    the distance between its own primal and dual objective.
    """
    kind, K, y, C, settings, rng = random_problem(seed)
    best = optimum(kind, K, y, C, **settings)
    made = machine(kind, y, C, rho=best.rho, **settings)
    f = K @ best.beta
    above = 0.5 * best.beta @ f + made.loss(f + best.b, best.b)
    off, longest = np.sqrt(max(0.0, 2.0 * (above - best.objective))), np.sqrt(np.max(np.diag(K)))
    length = np.sqrt(max(0.0, best.beta @ f))
    for size in (0.0, 1e-10, 1e-7, 1e-5, 1e-3, 1e-1, 1.0):
        beta, b = best.beta.copy(), best.b
        which = rng.integers(4)
        if which != 1:
            beta += size * rng.standard_normal(len(C)) * np.minimum(C, np.max(np.abs(beta)) or 1.0)
        if which != 2:
            b += size * rng.standard_normal() * max(abs(b), np.ptp(y))
        if which == 3:
            beta = best.beta * (1.0 + size)
        certificate, radius, drift = gap(made, Fit(beta, K @ beta, np.diag(K).copy(), b))
        slack = 1e-12 * (abs(above) + certificate.scale) + certificate.floor
        assert certificate.lower_bound <= above + slack
        assert certificate.objective >= best.objective - slack
        assert certificate.value >= certificate.objective - above - slack
        if certificate.ok:
            assert certificate.objective - above <= certificate.allowed + slack
        away = np.sqrt(max(0.0, (beta - best.beta) @ K @ (beta - best.beta)))
        assert radius >= away * (1.0 - 1e-9) - off - 1e-7 * length
        assert drift >= abs(b - best.b) * (1.0 - 1e-6) - off * longest - 1e-6 * (abs(best.b) + np.ptp(y))
