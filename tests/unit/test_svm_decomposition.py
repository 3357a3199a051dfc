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
