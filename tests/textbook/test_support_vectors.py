"""Worked numbers and theorems of the texts on support vector machines, quadratic problems and kernels' feature maps.

Seeger 9.1-9.3 and appendix A, Rosasco 9.2-9.6, Welling 8, 9 and appendix A, Cookbook 20 and 21. A machine is
min 1/2 ||w||^2 + C sum xi, y (w.x + b) >= 1 - xi; of regressions |y - w.x - b| <= epsilon + xi.
"""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from svm_problems import data, optimum
from tenfold import SVC, SVR, LinearSVC, certify, kkt, lagrange_dual, linear_support, minimize_qp
from tenfold.datasets import make_rings, make_xor
from tenfold.geometry import margins
from tenfold.kernels import AllSubsets, Polynomial, Sigmoid, is_psd
from tenfold.losses.classification import Hinge

FOUR = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
SIDES = np.array([-1.0, -1.0, 1.0, 1.0])


def overlapping(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0.0, 1.0, -1.0)


def primal(X, y, C):
    """The primal problem with slacks, in (w, b, xi), slack variables of the inequalities last: its solution."""
    n, p = X.shape
    A = np.hstack([y[:, None] * X, y[:, None], np.eye(n), -np.eye(n)])  # y (w.x + b) + xi - s = 1
    P = np.diag(np.concatenate([np.ones(p), np.zeros(1 + 2 * n)]))
    q = np.concatenate([np.zeros(p + 1), np.full(n, C), np.zeros(n)])
    low = np.concatenate([np.full(p + 1, -np.inf), np.zeros(2 * n)])
    result = minimize_qp(P, q, A=A, b=np.ones(n), low=low)
    return result.x[:p], result.x[p], result.x[p + 1 : p + 1 + n], result


def dual(K, y, C):
    """The dual problem: coefficients, and the intercept as its multiplier."""
    n = len(y)
    result = minimize_qp(K * np.outer(y, y), -np.ones(n), A=y[None], b=[0.0], low=0.0, high=C)
    return result.x, result.equality_multipliers[0], result


# Seeger, chapter 9 ----------------------------------------------------------------------------------------------------


def test_seeger_9_1_margin_is_the_length_of_the_shortest_weights():
    """(9.3): the margin of the machine without slack is 1 / ||w||, and no other plane has a larger one."""
    w, b, xi, result = primal(FOUR, SIDES, 1e3)
    assert result.certificate_.ok
    np.testing.assert_allclose(w, [2.0 / 3.0, 1.0 / 3.0], atol=1e-6)
    np.testing.assert_allclose(xi, 0.0, atol=1e-6)
    best = margins(FOUR, SIDES, w, b).of_set
    assert best == pytest.approx(1.0 / np.linalg.norm(w), rel=1e-6)
    rng = np.random.default_rng(0)
    for direction in rng.standard_normal((300, 2)):
        assert margins(FOUR, SIDES, direction, rng.standard_normal()).of_set <= best + 1e-9


def test_seeger_9_1_margin_does_not_change_with_a_translation():
    model = SVC(kernel="linear", C=1e4, tol=1e-9).fit(FOUR, SIDES)
    moved = SVC(kernel="linear", C=1e4, tol=1e-9).fit(np.add(FOUR, [5.0, -3.0]), SIDES)
    np.testing.assert_allclose(model.coef_, moved.coef_, atol=1e-5)


def test_seeger_9_2_slacks_count_the_errors():
    """xi > 1 where a sample is wrong: the sum of the slacks is at least the number of training errors."""
    X, y = overlapping()
    for C in (0.01, 1.0, 100.0):
        w, b, xi, _ = primal(X, y, C)
        values = y * (X @ w + b)
        np.testing.assert_allclose(xi, np.maximum(0.0, 1.0 - values), atol=1e-5)
        assert np.sum(xi) >= np.sum(values < 0.0)
        assert np.all((xi > 1.0 + 1e-6) <= (values < 0.0))


def test_seeger_9_2_soft_margin_is_larger_and_ends_at_the_hard_one():
    """1 / ||w|| falls as C grows, and from some C on is the margin of the machine without slack."""
    lengths = [np.linalg.norm(primal(FOUR, SIDES, C)[0]) for C in (0.01, 0.1, 10.0, 1000.0)]
    assert np.all(np.diff(lengths) >= -1e-7)
    assert lengths[2] == pytest.approx(lengths[3], rel=1e-6)


def test_seeger_9_2_another_constant_than_one_scales_the_solution():
    """y f >= eps - xi with C is (w, b, xi) / eps of y f >= 1 - xi with C / eps."""
    X, y = overlapping(30)
    eps, C, n = 0.3, 2.0, 30
    w, b, _, _ = primal(X, y, C / eps)
    A = np.hstack([y[:, None] * X, y[:, None], np.eye(n), -np.eye(n)])
    P = np.diag(np.concatenate([np.ones(2), np.zeros(1 + 2 * n)]))
    low = np.concatenate([np.full(3, -np.inf), np.zeros(2 * n)])
    q = np.concatenate([np.zeros(3), np.full(n, C), np.zeros(n)])
    other = minimize_qp(P, q, A=A, b=np.full(n, eps), low=low).x
    np.testing.assert_allclose(other[:2] / eps, w, atol=1e-5)
    assert other[2] / eps == pytest.approx(b, abs=1e-5)


def test_seeger_9_3_hinge_is_the_largest_of_its_linear_bounds():
    """Figure 9.6: C max(0, v) = max over 0 <= alpha <= C of alpha v, with C = 2 and alpha = 0.1, 1, 1.9."""
    v = np.linspace(-2.0, 2.0, 41)
    hinge = 2.0 * np.ravel(Hinge().value(np.ones((41, 1)), (1.0 - v)[:, None]))
    for alpha in (0.1, 1.0, 1.9):
        assert np.all(alpha * v <= hinge + 1e-12)
    np.testing.assert_allclose(np.max(np.linspace(0.0, 2.0, 201)[:, None] * v, axis=0), hinge, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_seeger_9_3_weak_and_strong_duality(C):
    """Any feasible coefficients are below any weights, and the best are equal; the judge finds the same numbers."""
    X, y = overlapping(40)
    K = X @ X.T
    w, b, _, result = primal(X, y, C)
    alpha, multiplier, other = dual(K, y, C)
    assert -other.objective == pytest.approx(result.objective, rel=1e-7)
    assert multiplier == pytest.approx(-b, abs=1e-5) or np.all((alpha < 1e-7 * C) | (alpha > (1.0 - 1e-7) * C))
    np.testing.assert_allclose((alpha * y) @ X, w, atol=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights, intercept = rng.standard_normal(2), rng.standard_normal()
        loss = np.sum(np.maximum(0.0, 1.0 - y * (X @ weights + intercept)))
        assert -other.objective <= 0.5 * weights @ weights + C * loss
    model = SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
    certificate = certify(model, X, y)
    assert certificate.ok
    assert certificate.objective == pytest.approx(result.objective, rel=1e-6)
    assert certificate.lower_bound <= result.objective * (1.0 + 1e-9)


def test_seeger_9_3_types_by_coefficient():
    """alpha = 0: y f >= 1; 0 < alpha < C: y f = 1; alpha = C: y f <= 1 (the classes of figure 9.7)."""
    y, C, K, _ = data("hinge", 1, weighted=False)
    best = optimum("hinge", K, y, C)
    alpha, values = best.beta * y, y * (K @ best.beta + best.b)
    none, bound = alpha < 1e-9, alpha > 1.0 - 1e-9
    free = ~none & ~bound
    assert free.any()
    assert bound.any()
    assert none.any()
    assert np.all(values[none] >= 1.0 - 1e-8)
    np.testing.assert_allclose(values[free], 1.0, atol=1e-8)
    assert np.all(values[bound] <= 1.0 + 1e-8)
    # the intercept by any free support vector, and by their mean
    each = y[free] - (K @ best.beta)[free]
    np.testing.assert_allclose(each, best.b, atol=1e-8)


def test_seeger_9_3_other_samples_do_not_matter():
    """Without the samples that are no support vectors the machine is the same."""
    X, y = overlapping()
    model = SVC(gamma=0.5, tol=1e-10).fit(X, y)
    kept = SVC(gamma=0.5, tol=1e-10).fit(X[model.support_], y[model.support_])
    grid = np.random.default_rng(1).uniform(-3.0, 3.0, (50, 2))
    np.testing.assert_allclose(model.decision_function(grid), kept.decision_function(grid), atol=1e-5)


def test_seeger_9_2_3_quadratic_features_in_three_dimensions():
    """(x.z)^2 in R^3 is the inner product of x_j^2 and sqrt(2) x_j x_k: six features."""
    X = np.random.default_rng(0).standard_normal((7, 3))
    root = math.sqrt(2.0)
    Phi = np.column_stack([*(X.T**2), root * X[:, 0] * X[:, 1], root * X[:, 0] * X[:, 2], root * X[:, 1] * X[:, 2]])
    np.testing.assert_allclose(Polynomial(2, 1.0, 0.0)(X), Phi @ Phi.T, rtol=1e-12)


def test_seeger_9_2_4_sigmoid_is_no_kernel():
    """tanh(x.z - 1) has a negative eigenvalue; the judge then speaks of the conditions alone."""
    X, y = overlapping(30)
    assert not is_psd(Sigmoid(1.0, -1.0), X)
    certificate = certify(SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, tol=1e-9).fit(X, y), X, y)
    assert certificate.kind == "stationarity"


# Seeger, appendix A ---------------------------------------------------------------------------------------------------


def test_seeger_a_toy_problem():
    """Figure A.2: min x^2 / 2, x <= -1. The dual is alpha - alpha^2 / 2, alpha* = 1, x* = -1, p = d = 1/2."""
    result = minimize_qp([[1.0]], [0.0], high=-1.0)
    assert result.certificate_.ok
    assert result.x[0] == pytest.approx(-1.0)
    assert result.upper_multipliers[0] == pytest.approx(1.0)
    assert result.objective == pytest.approx(0.5)
    alpha = np.linspace(0.0, 3.0, 31)
    values = [lagrange_dual([[1.0]], [0.0], G=[[1.0]], h=[-1.0], multipliers=[a]) for a in alpha]
    np.testing.assert_allclose(values, alpha - alpha**2 / 2.0)
    assert max(values) == pytest.approx(0.5)
    assert alpha[int(np.argmax(values))] == pytest.approx(1.0)


def test_seeger_a_toy_equality():
    """min x_1, x_1 = 1 in R^2: lambda = -1 in f + lambda (x_1 - 1), and the solutions are [1, any]."""
    result = minimize_qp(np.zeros((2, 2)), [1.0, 0.0], A=[[1.0, 0.0]], b=[1.0])
    assert result.x[0] == pytest.approx(1.0)
    assert result.equality_multipliers[0] == pytest.approx(1.0)  # of P x + q = A'y
    for second in (-3.0, 0.0, 7.0):
        assert kkt([1.0, 0.0], [1.0, second], A=[[1.0, 0.0]], b=[1.0], equality_multipliers=[-1.0]).holds


def test_seeger_a_1_conditions_of_the_soft_margin():
    """With slacks and their multipliers nu = C - alpha: (1 - y f - xi) alpha = 0 and (C - alpha) xi = 0."""
    C, (X, y) = 0.7, overlapping(40)
    w, b, xi, _ = primal(X, y, C)
    alpha, _, _ = dual(X @ X.T, y, C)
    values = y * (X @ w + b)
    np.testing.assert_allclose((1.0 - values - xi) * alpha, 0.0, atol=1e-5)
    np.testing.assert_allclose((C - alpha) * xi, 0.0, atol=1e-5)
    n = len(y)
    # the report of all nine conditions in (w, b, xi)
    G = np.vstack([np.hstack([-y[:, None] * X, -y[:, None], -np.eye(n)]), np.hstack([np.zeros((n, 3)), -np.eye(n)])])
    report = kkt(
        np.concatenate([w, [0.0], np.full(n, C)]),
        np.concatenate([w, [b], xi]),
        G=G,
        h=np.concatenate([-np.ones(n), np.zeros(n)]),
        multipliers=np.concatenate([alpha, C - alpha]),
        tol=1e-5,
    )
    assert report.holds, report.explain()


# Rosasco, chapter 9 ---------------------------------------------------------------------------------------------------


def test_rosasco_9_2_margin_does_not_change_with_the_length_of_w():
    w = np.array([2.0, 1.0])
    for factor in (0.1, 1.0, 30.0):
        assert margins(FOUR, SIDES, factor * w).of_set == pytest.approx(margins(FOUR, SIDES, w).of_set)
    # the projection x - margin y w / ||w|| is on the plane
    on_plane = FOUR - (FOUR @ w / (w @ w))[:, None] * w
    np.testing.assert_allclose(on_plane @ w, 0.0, atol=1e-12)


def test_rosasco_9_4_lambda_is_one_over_two_C_n():
    """(1/n) sum max(0, 1 - y w.x) + lambda ||w||^2 with lambda = 1 / (2 C n), without offset: C n times it is the
    objective in C, at the primal and at the dual solution.
    """
    X, y = overlapping(50)
    C, n = 1.7, len(X)
    lam = 1.0 / (2.0 * C * n)
    alpha = minimize_qp((X @ X.T) * np.outer(y, y), -np.ones(n), low=0.0, high=C)
    w = (alpha.x * y) @ X
    tikhonov = np.mean(np.maximum(0.0, 1.0 - y * (X @ w))) + lam * w @ w
    in_C = 0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - y * (X @ w)))
    assert C * n * tikhonov == pytest.approx(in_C, rel=1e-12)
    assert -alpha.objective == pytest.approx(in_C, rel=1e-9)


def test_rosasco_9_5_the_dual_is_a_maximum():
    """Printed as a minimum of a concave function, which zero coefficients would be below: it is a maximum."""
    X, y = overlapping(20)
    alpha, _, result = dual(X @ X.T, y, 1.0)
    assert -result.objective > 0.0
    values = y * (X @ ((alpha * y) @ X) - result.equality_multipliers[0])
    assert np.all(values[alpha < 1e-8] >= 1.0 - 1e-6)


def test_rosasco_9_6_offset_makes_the_signed_coefficients_sum_to_zero():
    """Printed with x in the sum: sum y alpha = 0."""
    X, y = overlapping()
    assert np.sum(SVC(tol=1e-9).fit(X, y).dual_coef_) == pytest.approx(0.0, abs=1e-9)


# Welling, chapters 8 and 9 and appendix A -----------------------------------------------------------------------------


def test_welling_8_margin_is_two_over_the_length():
    """The planes w.x = b + 1 and b - 1 are 2 / ||w|| apart; that of the machine is |b| / ||w|| from the origin."""
    model = SVC(kernel="linear", C=1e4, tol=1e-9).fit(FOUR, SIDES)
    f, length = model.decision_function(FOUR), np.linalg.norm(model.coef_)
    assert np.min(f[SIDES > 0]) - np.max(f[SIDES < 0]) == pytest.approx(2.0, abs=1e-5)
    assert 2.0 / length == pytest.approx(2.0 * 3.0 / math.sqrt(5.0), rel=1e-5)
    assert certify(model, FOUR, SIDES).ok


def test_welling_8_1_squared_slack():
    """1/2 ||w||^2 + (C/2) sum xi^2: the dual has K + I / C, no upper bound, xi = alpha / C, no gap."""
    y, _, K, _ = data("hinge", 1, weighted=False)
    C, n = 3.0, len(y)
    result = minimize_qp((K + np.eye(n) / C) * np.outer(y, y), -np.ones(n), A=y[None], b=[0.0], low=0.0)
    alpha, b = result.x, -result.equality_multipliers[0]
    f = K @ (alpha * y) + b
    xi = np.maximum(0.0, 1.0 - y * f)
    np.testing.assert_allclose(xi, alpha / C, atol=1e-6)
    assert 0.5 * (alpha * y) @ K @ (alpha * y) + 0.5 * C * xi @ xi == pytest.approx(-result.objective, rel=1e-7)
    some = alpha > 1e-6
    np.testing.assert_allclose((y - y * alpha / C - K @ (alpha * y))[some], b, atol=1e-6)
    # the judge's problem has C xi^2: half of this C
    judged = optimum("squared hinge", K, y, np.full(n, 0.5 * C))
    np.testing.assert_allclose(judged.beta, alpha * y, atol=1e-6)


def test_welling_9_regression_with_squared_slack():
    """Dual with K + I / C: b = y - K beta - eps sign(beta) - beta / C for every beta that is not zero; xi = |beta| / C,
    and of the two slacks of a sample one is zero.
    """
    y, _, K, _ = data("tube", 1, weighted=False)
    C, eps, n = 2.0, 0.1, len(y)
    best = optimum("squared tube", K, y, np.full(n, 0.5 * C), epsilon=eps)
    beta = best.beta
    some = np.abs(beta) > 1e-9
    assert 0 < np.sum(some) < n
    each = (y - K @ beta - eps * np.sign(beta) - beta / C)[some]
    np.testing.assert_allclose(each, best.b, atol=1e-8)
    residual = y - K @ beta - best.b
    np.testing.assert_allclose(np.maximum(0.0, np.abs(residual) - eps), np.abs(beta) / C, atol=1e-8)
    # farther outside of the tube the coefficient is larger, and inside it is zero
    assert np.all(np.abs(residual[~some]) <= eps + 1e-8)


def test_welling_9_regression_with_linear_slack():
    """|beta| <= C, sum beta = 0; b by the samples on the tube."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3.0, 3.0, 40))[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(40)
    model = SVR(C=2.0, gamma=0.5, epsilon=0.1, tol=1e-10).fit(X, y)
    assert certify(model, X, y).ok
    beta = model.dual_coef_[0]
    assert np.sum(beta) == pytest.approx(0.0, abs=1e-9)
    assert np.max(np.abs(beta)) <= 2.0
    residual = (y - model.predict(X))[model.support_]
    free = np.abs(beta) < 2.0 * (1.0 - 1e-6)
    np.testing.assert_allclose(residual[free], 0.1 * np.sign(beta[free]), atol=1e-5)
    assert np.all(np.abs(residual[~free]) >= 0.1 - 1e-5)


def test_welling_a_order_of_minimum_and_maximum():
    """max min <= min max: of (x - y)^2 on [0, 1] they are 0 and 1/4; of a Lagrangian that is convex they are equal."""
    x = np.linspace(0.0, 1.0, 101)
    table = (x[:, None] - x[None, :]) ** 2  # x is to be small, y to be large
    assert table.min(axis=0).max() == pytest.approx(0.0)
    assert table.max(axis=1).min() == pytest.approx(0.25)
    alpha = np.linspace(0.0, 3.0, 301)
    lagrangian = 0.5 * np.linspace(-3.0, 3.0, 601)[:, None] ** 2 + alpha * (np.linspace(-3.0, 3.0, 601)[:, None] + 1.0)
    inside = lagrangian[np.linspace(-3.0, 3.0, 601) <= -1.0 + 1e-12]
    assert lagrangian.min(axis=0).max() == pytest.approx(0.5, abs=1e-4)
    assert inside.max(axis=1).min() == pytest.approx(0.5, abs=1e-4)
    # the saddle: no x is lower at alpha = 1, no alpha higher at x = -1
    at = lagrangian[np.argmin(np.abs(np.linspace(-3.0, 3.0, 601) + 1.0))]
    np.testing.assert_allclose(at, 0.5, atol=1e-12)


# Cookbook 20 and 21, feature maps -------------------------------------------------------------------------------------


def test_cookbook_20_support_vectors_are_those_with_a_gradient():
    """y f <= 1 at every support vector: only there the hinge has a slope."""
    X, y = overlapping()
    model = SVC(kernel="linear", tol=1e-9).fit(X, y)
    values = y * model.decision_function(X)
    assert np.all(values[model.support_] <= 1.0 + 1e-5)
    assert np.all(np.delete(values, model.support_) >= 1.0 - 1e-5)


def test_cookbook_20_linear_machines_keep_no_support_vectors_but_have_them():
    """Figure 20.1: those of the linear machine are those of the kernel machine with the linear kernel."""
    X, y = overlapping()
    kernel = SVC(kernel="linear", tol=1e-9).fit(X, y)
    linear = LinearSVC(loss="hinge", penalize_intercept=False).fit(X, y)
    found = linear_support(linear, X, y)
    np.testing.assert_array_equal(found.support, np.sort(kernel.support_))
    counts = [np.sum(found.types == kind) for kind in ("free", "bound", "outlier")]
    np.testing.assert_array_equal(counts, kernel.support_counts_)
    # the others have no influence
    again = LinearSVC(loss="hinge", penalize_intercept=False).fit(X[found.support], y[found.support])
    np.testing.assert_allclose(again.coef_, linear.coef_, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "linear"), [(make_xor, 0.8), (lambda n, **s: make_rings(n, radii=(1.0, 3.0), **s), 0.8)]
)
def test_cookbook_21_xor_and_rings_need_a_kernel(make, linear):
    (X, y), (Z, z) = make(200, random_state=0), make(1000, random_state=1)
    machine = SVC(kernel="rbf", gamma=0.5, tol=1e-9).fit(X, y)
    assert certify(machine, X, y).ok
    assert machine.score(Z, z) > 0.98
    assert SVC(kernel="linear").fit(X, y).score(Z, z) < 0.8
    assert machine.n_support_.sum() < 0.5 * len(X)


def test_quadratic_features_in_four_dimensions():
    """(x.z)^2 of x in R^2 with all ordered products x_i x_j is a map to R^4, and to R^3 with sqrt(2) x_1 x_2."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    ordered = np.column_stack([X[:, i] * X[:, j] for i in range(2) for j in range(2)])
    shorter = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, math.sqrt(2.0) * X[:, 0] * X[:, 1]])
    K = Polynomial(2, 1.0, 0.0)(X)
    np.testing.assert_allclose(ordered @ ordered.T, K, rtol=1e-12)
    np.testing.assert_allclose(shorter @ shorter.T, K, rtol=1e-12)


def test_number_of_features_of_degree_six_in_a_hundred_variables():
    """1,609,344,100 multisets of six of 100 variables; a kernel value costs a hundred multiplications."""
    assert math.comb(100 + 6 - 1, 6) == 1_609_344_100
    assert sum(1 for _ in combinations_with_replacement(range(5), 3)) == math.comb(5 + 3 - 1, 3)
    x = np.random.default_rng(0).standard_normal((2, 100))
    assert Polynomial(6, 1.0, 0.0)(x)[0, 1] == pytest.approx(float(x[0] @ x[1]) ** 6)


def test_all_subsets_have_two_to_the_n_features():
    X = np.random.default_rng(0).standard_normal((4, 3))
    subsets = [[j for j in range(3) if code >> j & 1] for code in range(8)]
    Phi = np.column_stack([np.prod(X[:, chosen], axis=1) for chosen in subsets])
    np.testing.assert_allclose(AllSubsets()(X), Phi @ Phi.T, rtol=1e-12)
