"""Densities from the rows nearby: what may be left out, and what is not."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn.neighbors

from tenfold import KernelDensity, certify
from tenfold.plans.neighbours.window_bounds import Tolerance, logs_nearby
from tenfold.plans.neighbours.windows import log_volume, tree_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 2))
Q = np.concatenate([1.5 * RNG.standard_normal((60, 2)), [[30.0, 30.0]]])
KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("atol", "rtol"), [(0.0, 0.0), (1e-3, 0.0), (0.0, 0.05), (1e-6, 1e-3)])
def test_a_density_is_off_by_no_more_than_was_allowed(kernel, atol, rtol):
    weight = RNG.uniform(0.5, 2.0, len(X))
    exact = KernelDensity(bandwidth=0.1, kernel=kernel, metric="minkowski").fit(X, sample_weight=weight)
    exact._index = replace(exact._index, tree=None)  # all rows count
    model = KernelDensity(bandwidth=0.1, kernel=kernel, atol=atol, rtol=rtol).fit(X, sample_weight=weight)
    assert model.certificate_.ok
    right, found = np.exp(exact.score_samples(Q)), np.exp(model.score_samples(Q))
    assert np.all(np.abs(found - right) <= atol + rtol * right + 1e-12)
    assert certify(model, X, sample_weight=weight).ok


def test_rows_are_left_out():
    """The bound is used: most queries are answered from few rows, and the tolerance changes the answer."""
    distance = KernelDensity().fit(X)._index.distance
    index, volume = tree_of(distance, X), float(log_volume("gaussian", np.array([0.1]), 2)[0])
    assert index is not None
    _, enough = logs_nearby(index, Q, "gaussian", 0.1, None, Tolerance(1e-3, 0.0), volume)
    assert enough.all()
    _, none = logs_nearby(index, Q, "gaussian", 0.1, None, Tolerance(0.0, 0.0), volume)
    assert not none.any()
    _, wide = logs_nearby(index, Q, "tophat", 50.0, None, Tolerance(0.0, 0.0), volume)
    assert not wide.any()  # all rows are near: nothing is gained
    loose = KernelDensity(bandwidth=0.1, rtol=0.2).fit(X).score_samples(Q[:-1])
    assert np.any(loose != KernelDensity(bandwidth=0.1).fit(X).score_samples(Q[:-1]))


def test_a_density_that_is_off_by_more_is_refused(monkeypatch):
    model = KernelDensity(bandwidth=0.1, rtol=0.01).fit(X)
    logs = KernelDensity._logs
    monkeypatch.setattr(KernelDensity, "_logs", lambda self, queries: logs(self, queries) + 0.03)
    assert not model.judged({}).ok


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
