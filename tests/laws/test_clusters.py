"""Laws of k-means, by hypothesis: the energy never rises, weights are repetitions, order and place do not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenfold import KMeans
from tenfold.estimators.validation import as_rows_without_target
from tenfold.plans import kmeans as plan

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHAPES = st.tuples(st.integers(0, 10_000), st.integers(6, 60), st.integers(1, 5), st.integers(1, 5))


def make(seed, n, p, k, grid=True):
    """Rows, on a coarse grid where some are to be equal and distances to tie, and distinct seeds."""
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.standard_normal((n, p)) * rng.choice([0.5, 3.0], p)
    X = np.round(X) if grid else X
    return X, X[rng.permutation(n)[:k]] + 0.25 * np.arange(k)[:, None]


@given(SHAPES)
def test_the_energy_never_rises_and_the_end_is_a_fixed_point(shape):
    X, start = make(*shape)
    model = KMeans(len(start), init=start, tol=0.0).fit(X)
    assert np.all(np.diff(model.trace_) <= 1e-12 * (1.0 + np.sum(X**2)))
    assert model.certificate_.ok
    assert model.certificate_.lower_bound is not None
    assert model.certificate_.lower_bound <= model.inertia_ * (1.0 + 1e-9) + 1e-9
    again = KMeans(len(start), init=model.cluster_centers_, tol=0.0).fit(X)
    assert again.inertia_ <= model.inertia_ * (1.0 + 1e-12) + 1e-12


@given(SHAPES)
def test_weights_are_repetitions(shape):
    X, start = make(*shape, grid=False)  # a tie is decided by the last digit of a mean
    weight = np.random.default_rng(shape[0]).integers(0, 4, len(X)).astype(np.float64)
    weight[: len(start)] = 1.0
    one = KMeans(len(start), init=start).fit(X, sample_weight=weight)
    other = KMeans(len(start), init=start).fit(np.repeat(X, weight.astype(int), axis=0))
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9, atol=1e-9)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-9, abs=1e-9)


@given(SHAPES)
def test_the_order_of_rows_does_not_matter(shape):
    X, start = make(*shape, grid=False)
    order = np.random.default_rng(shape[0]).permutation(len(X))
    one, other = KMeans(len(start), init=start).fit(X), KMeans(len(start), init=start).fit(X[order])
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


@given(SHAPES, st.sampled_from([0.0, -64.0, 2.0**20]))
def test_the_place_of_the_rows_does_not_matter(shape, place):
    X, start = make(*shape, grid=False)
    X, start = np.round(X * 1024.0) / 1024.0, np.round(start * 1024.0) / 1024.0
    here, there = KMeans(len(start), init=start).fit(X), KMeans(len(start), init=start + place).fit(X + place)
    np.testing.assert_allclose(here.cluster_centers_ + place, there.cluster_centers_, rtol=1e-12, atol=1e-9)
    assert here.inertia_ == pytest.approx(there.inertia_, rel=1e-7, abs=1e-7)


@given(SHAPES)
def test_the_last_energy_of_the_trace_is_that_of_the_assignment(shape):
    X, start = make(*shape)
    rows = as_rows_without_target(X, None)
    result = plan.one_run(rows, start, plan.scale_of(rows), max_iter=300, tol=0.0)
    square = np.sum((X[:, None] - result.centres[None]) ** 2, axis=-1).min(axis=1)
    assert result.energy == pytest.approx(float(np.sum(square)), rel=1e-9, abs=1e-9 * (1.0 + np.sum(X**2)))
