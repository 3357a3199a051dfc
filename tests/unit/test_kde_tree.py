"""Densities to a tolerance: boxes of rows that may be counted as one, and those that may not."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn.neighbors

from tenfold import KernelDensity, _core, certify
from tenfold.pairwise import Tolerance, density_tree, log_kernel_sums

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 2))
Q = np.concatenate([1.5 * RNG.standard_normal((60, 2)), [[30.0, 30.0]]])
KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


TOLERANCES = [(0.0, 0.0), (1e-3, 0.0), (0.0, 0.05), (1e-6, 1e-3), (0.0, 1e-8), (10.0, 0.0)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("atol", "rtol"), TOLERANCES)
@pytest.mark.parametrize("h", [0.02, 0.1, 3.0])
def test_a_density_is_off_by_no_more_than_was_allowed(kernel, h, atol, rtol):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    exact = KernelDensity(bandwidth=h, kernel=kernel).fit(X, sample_weight=weight)
    exact._index = replace(exact._index, tree=None)  # all rows count
    model = KernelDensity(bandwidth=h, kernel=kernel, atol=atol, rtol=rtol).fit(X, sample_weight=weight)
    assert model.certificate_.ok
    right, result = np.exp(exact.score_samples(Q)), np.exp(model.score_samples(Q))
    assert np.all(np.abs(result - right) <= atol + rtol * right + 1e-11 * (1.0 + right))
    assert certify(model, X, sample_weight=weight).ok


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_other_distances_and_columns(metric, columns):
    rng = np.random.default_rng(columns)
    rows, queries = rng.standard_normal((900, columns)), 2.0 * rng.standard_normal((40, columns))
    settings = {"metric": metric, "bandwidth": 0.4, "metric_params": {"p": 3} if metric == "minkowski" else None}
    for kernel in ("gaussian", "epanechnikov"):
        exact = KernelDensity(kernel=kernel, **settings).fit(rows)
        exact._index = replace(exact._index, tree=None)
        near = KernelDensity(kernel=kernel, rtol=1e-3, **settings).fit(rows).score_samples(queries)
        right = exact.score_samples(queries)
        np.testing.assert_array_equal(np.isneginf(near), np.isneginf(right))
        some = np.isfinite(right)
        assert np.all(np.abs(np.expm1(near[some] - right[some])) <= 1e-3)


def test_far_from_all_rows_the_logarithm_is_kept():
    """Every window has vanished there, and only their logarithms have not."""
    for query in ([[30.0, 30.0]], [[-500.0, 2.0]]):
        right = KernelDensity(bandwidth=0.1).fit(X).score_samples(query)
        result = KernelDensity(bandwidth=0.1, rtol=1e-6).fit(X).score_samples(query)
        assert right[0] < -1e4
        np.testing.assert_allclose(result, right, atol=1e-6, rtol=1e-12)


def test_boxes_are_counted_as_one():
    """The bound is used: the tolerance changes the answer, and much of the tree is not looked at."""
    tree = density_tree(KernelDensity().fit(X)._index.distance, X)
    assert tree is not None

    def logs(tolerance):
        return log_kernel_sums(tree.distance, X, Q, "gaussian", 0.1, None, tolerance, tree) - np.log(
            3000 * 0.02 * np.pi
        )

    exact, loose, anything = (logs(Tolerance(*pair)) for pair in ((0.0, 0.0), (0.0, 0.2), (1e6, 0.0)))
    assert np.mean(loose != exact) > 0.9
    assert 1e-4 < np.max(np.abs(np.expm1(loose - exact))) <= 0.2
    assert np.all(np.abs(np.expm1(anything[:-1] - exact[:-1])) > 0.1)
    assert np.all(np.exp(anything) < 1e6)
    assert np.isfinite(anything).all()


def test_bits_do_not_depend_on_threads():
    order, points, boxes, leaf = density_tree(KernelDensity().fit(X)._index.distance, X).tree
    weight = np.random.default_rng(2).uniform(size=len(X))[order]
    below = np.append(0.0, np.cumsum(weight))
    arguments = (points, boxes, leaf, np.repeat(Q, 8, axis=0), 0, 2.0, 1, 0.5, 0, 0.2, -20.0, 1e-3, weight, below)
    one = _core.kde_tree(*arguments, 1)
    for threads in (2, 5):
        np.testing.assert_array_equal(_core.kde_tree(*arguments, threads), one)


def test_a_density_that_is_off_by_more_is_not_certified(monkeypatch):
    model = KernelDensity(bandwidth=0.1, rtol=0.01).fit(X)
    assert certify(model, X).ok
    logs = KernelDensity.score_samples
    monkeypatch.setattr(KernelDensity, "score_samples", lambda self, queries: logs(self, queries) + 0.03)
    assert not certify(model, X).ok


@pytest.mark.parametrize("metric", ["jaccard", "dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath"])
def test_densities_of_sets(metric):
    sets = (np.random.default_rng(0).uniform(size=(200, 9)) < 0.4).astype(np.float64)
    sets = sets[sets.any(axis=1)]  # two empty sets have no distance in scikit-learn
    settings = {"bandwidth": 0.3, "metric": metric, "kernel": "exponential", "algorithm": "ball_tree"}
    ours, theirs = KernelDensity(**settings).fit(sets), sklearn.neighbors.KernelDensity(**settings).fit(sets)
    np.testing.assert_allclose(ours.score_samples(sets[:30]), theirs.score_samples(sets[:30]), rtol=1e-9)
    assert ours.certificate_.ok


@pytest.mark.parametrize("kernel", KERNELS)
def test_densities_of_a_function_of_two_rows(kernel):
    func = {"func": lambda a, b: float(np.sqrt(np.sum((a - b) ** 2)))}
    settings = {"bandwidth": 0.8, "kernel": kernel}
    ours = KernelDensity(**settings, metric="pyfunc", metric_params=func).fit(X[:60])
    plain = KernelDensity(**settings).fit(X[:60])
    np.testing.assert_allclose(ours.score_samples(Q[:20]), plain.score_samples(Q[:20]), rtol=1e-9, atol=1e-9)
