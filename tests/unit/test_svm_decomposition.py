"""Decomposition of support vector machines: the cache, the precision, the threads, and interior points."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tenfold
from tenfold.kernels import Gaussian, Linear
from tenfold.solvers import svm_interior_point, svm_variables
from tenfold.solvers.loop import Status, run
from tenfold.solvers.svm_decomposition import Caches, Decomposition, Rule, SvmSamples

RNG = np.random.default_rng(3)
MANY = RNG.standard_normal((1500, 6))
SIDES = np.where(np.sin(2.0 * MANY[:, 0]) + 0.5 * RNG.standard_normal(1500) > 0.0, 1, 0)


def solve(kernel, X, problem, cache=1e8, gap=1e-9):
    order = np.arange(len(X))
    samples = SvmSamples(kernel, X, order, np.array([0, len(X)], dtype=np.int64), cache)
    decomposition = Decomposition(Caches(samples), [0], problem, Rule(1e-6, gap), None)
    solution = run(decomposition.path(), 1 << 40)
    assert solution.status is Status.CONVERGED
    return decomposition.of_samples(solution.params.beta)


def objective(K, problem, beta):
    return 0.5 * beta @ K @ beta - problem.variables.z @ beta


@pytest.mark.parametrize("name", ["classes", "one_class", "nu_classes"])
@pytest.mark.parametrize("linear", [True, False])
def test_interior_points_end_where_decomposition_does(name, linear):
    X = MANY[:120] + (3.0 if name == "one_class" else 0.0)
    X = X[np.argsort(-X[:, 0] - 0.1 * X[:, 1])]  # classes that a plane separates: with nu there is a margin
    y = np.repeat([1.0, -1.0], 60)
    C = RNG.uniform(0.5, 2.0, 120)
    options = {"classes": (y, C), "one_class": (C, 0.3), "nu_classes": (y, C, 0.3)}[name]
    problem = getattr(svm_variables, name)(*options)
    kernel = Linear() if linear else Gaussian(1.0)
    K = kernel(X)
    beta = solve(kernel, X, problem)
    matrix = svm_interior_point.LowRank(X) if linear else svm_interior_point.Matrix(K)
    v = problem.variables
    sums = np.array([np.sum(problem.start[: v.first]), np.sum(problem.start[v.first :])])
    there = svm_interior_point.solve(matrix, v, sums, 1e-9)
    assert np.all((there >= v.lo) & (there <= v.hi))
    size = abs(objective(K, problem, beta))
    assert objective(K, problem, there) == pytest.approx(objective(K, problem, beta), abs=1e-6 * size)


def test_a_small_cache_gives_the_same_machine():
    large = tenfold.SVC(cache_size=200).fit(MANY, SIDES)
    small = tenfold.SVC(cache_size=0.2).fit(MANY, SIDES)  # 34 rows
    assert small.certificate_.ok
    np.testing.assert_allclose(small.decision_function(MANY), large.decision_function(MANY), atol=1e-3)


def test_bits_do_not_depend_on_threads():
    models = []
    for count in (1, 2):
        with threadpool_limits(count):
            models.append(tenfold.SVC(C=10.0).fit(MANY, SIDES))
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    np.testing.assert_array_equal(models[0].support_, models[1].support_)


def test_all_pairs_share_the_rows():
    """Three classes: as three machines on the samples of two classes each."""
    y = np.digitize(MANY[:, 0], [-0.5, 0.5])
    model = tenfold.SVC(gamma=0.2, decision_function_shape="ovo").fit(MANY, y)
    assert len(model.certificate_.parts) == 3
    for t, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        inside = (y == i) | (y == j)
        pair = tenfold.SVC(gamma=0.2).fit(MANY[inside], y[inside])
        np.testing.assert_allclose(-pair.decision_function(MANY), model.decision_function(MANY)[:, t], atol=2e-3)


def test_few_columns_of_any_scale_with_a_linear_kernel():
    wild = MANY * np.logspace(-2.0, 2.0, 6)
    long, scaled = np.tile(wild, (2, 1)), np.tile(SIDES, 2)
    model = tenfold.SVC(kernel="linear").fit(long, scaled)
    assert model.certificate_.ok
    assert model.coef_.shape == (1, 6)


def test_large_columns_do_not_stall_a_linear_kernel():
    assert tenfold.SVC(kernel="linear").fit(1e4 * MANY[:400], SIDES[:400]).certificate_.ok
    with pytest.warns(Warning, match="scale them"):  # of these even rounding of the coefficients is too much
        tenfold.SVC(kernel="linear").fit(1e8 * MANY[:400], SIDES[:400])


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_columns_of_different_sizes_are_told_to_be_scaled(kernel):
    wild = MANY[:300] * np.logspace(-3.0, 3.0, 6)
    model = tenfold.SVC(kernel=kernel).fit(wild, SIDES[:300])
    assert model.certificate_.ok
    assert "scale the columns" in model.certificate_.explain()
    assert "scale" not in tenfold.SVC(kernel=kernel).fit(MANY[:300], SIDES[:300]).certificate_.explain()


def test_rows_that_made_room_for_others_are_fetched_again():
    """Two problems of one working set each, in a cache that holds the rows of one: they take turns to the same ends."""
    y = np.repeat([1.0, -1.0], 60)
    samples = SvmSamples(
        Gaussian(1.0), MANY[:240], np.arange(240), np.array([0, 120, 240], dtype=np.int64), 120 * 960.0
    )
    caches = Caches(samples, whole=True)
    problem = svm_variables.classes(y, np.full(120, 10.0))
    rule = Rule(1e-2, 1e-2)
    paths = [Decomposition(caches, [s], problem, rule, None).path() for s in (0, 1)]
    for violation in (1e-2, 1e-5, 1e-9):
        rule.violation = rule.gap = violation
        ends = [run(path, 1 << 40) for path in paths]
    for s, end in enumerate(ends):
        part = MANY[120 * s : 120 * (s + 1)]
        K = Gaussian(1.0)(part)
        alone = solve(Gaussian(1.0), part, problem)
        assert objective(K, problem, end.params.beta) == pytest.approx(objective(K, problem, alone), rel=1e-8)
        np.testing.assert_allclose(end.params.f, K @ end.params.beta, atol=1e-9)
