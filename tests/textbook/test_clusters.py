"""Clusters in the texts: Seeger section 12.1, Welling chapter 11, Cookbook chapter 12."""

import numpy as np
import pytest

import tenfold
from tenfold import KMeans, OnlineKMeans
from tenfold.estimators.validation import as_rows_without_target
from tenfold.pairwise.centres import assign
from tenfold.plans import kmeans as plan

RNG = np.random.default_rng(12)
X = np.concatenate([RNG.standard_normal((60, 2)) + centre for centre in ([0, 0], [5, 1], [2, 6])])


def energy(X, label, centres):
    return float(np.sum((X - centres[label]) ** 2))


def test_seeger_12_1_both_halves_of_a_step_lower_the_energy_by_the_printed_amounts():
    """The assignment by sum_i(||x - mu_t||^2 - min_k ||x - mu_k||^2), the means by sum_k n_k ||mu' - mu||^2."""
    rng = np.random.default_rng(13)
    centres = X[[0, 1, 2]]
    old = rng.integers(0, 3, len(X))
    D = np.sum((X[:, None] - centres[None]) ** 2, axis=-1)
    result = as_rows_without_target(X, None).fold(assign(centres, np.zeros(2)))
    new = D.argmin(axis=1)
    assert energy(X, old, centres) - result.energy == pytest.approx(np.sum(D[np.arange(len(X)), old] - D.min(axis=1)))
    means = result.sums / result.weight[:, None]
    decrease = np.sum(result.weight * np.sum((means - centres) ** 2, axis=1))
    assert result.energy - energy(X, new, means) == pytest.approx(decrease, rel=1e-12)


def test_seeger_12_1_at_the_end_centres_are_means_and_rows_are_nearest():
    model = KMeans(3, init="random", n_init=1, tol=0.0, random_state=4).fit(X)
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)
    assert np.all(np.diff(model.trace_) <= 0.0)
    assert model.trace_[-1] == pytest.approx(model.inertia_, rel=1e-12)


def test_seeger_12_1_restarts_keep_the_lowest_energy():
    several = KMeans(3, init="random", n_init=10, random_state=0).fit(X)
    random = np.random.RandomState(0)
    rows = as_rows_without_target(X, None)
    runs = [
        plan.of_rows(rows, plan.at_random(3), 3, starts=1, max_iter=300, tol=1e-4, random=random) for _ in range(10)
    ]
    assert several.inertia_ == pytest.approx(min(run.energy for run in runs), rel=1e-9)


def test_welling_11_the_cost_is_a_trace():
    """C = tr K - tr(L^1/2 Z'K Z L^1/2), with one 1 in every ROW of Z (the text says columns)."""
    model = KMeans(3, random_state=0).fit(X)
    Z = np.eye(3)[model.labels_]
    L = np.diag(1.0 / Z.sum(axis=0))
    K = X @ X.T
    np.testing.assert_allclose(Z.T @ Z, np.linalg.inv(L), atol=1e-12)
    assert np.trace(K) - np.trace(np.sqrt(L) @ Z.T @ K @ Z @ np.sqrt(L)) == pytest.approx(model.inertia_, rel=1e-9)


def test_welling_11_the_spectral_bound_and_that_of_centred_rows():
    """tr K - the K largest values is below any cost; about the mean K - 1 are enough, and the bound is tighter."""
    rng = np.random.default_rng(13)
    rows = rng.standard_normal((80, 6)) + 3.0
    model = KMeans(3, random_state=0).fit(rows)
    values = np.linalg.eigvalsh(rows @ rows.T)[::-1]
    plain = float(np.sum(values) - np.sum(values[:3]))
    assert plain <= model.certificate_.lower_bound <= model.inertia_


def test_cookbook_12_the_objective_is_squared():
    """(12.1) prints the norm without its square; means minimise the squared one, medians in space the other."""
    rows = np.array([[0.0], [0.0], [9.0]])
    centre = KMeans(1).fit(rows).cluster_centers_[0, 0]
    places = np.linspace(0.0, 9.0, 91)
    assert centre == pytest.approx(places[np.argmin([np.sum((rows - c) ** 2) for c in places])])
    assert places[np.argmin([np.sum(np.abs(rows - c)) for c in places])] == 0.0


def test_cookbook_12_online_the_first_row_overwrites_the_seed():
    """Algorithm 9 counts from zero, so that n = 1 at the first hit, and the centre is the mean of its rows alone."""
    model = OnlineKMeans(2, init=[[0.0], [100.0]]).fit(np.array([[30.0], [90.0], [10.0]]))
    np.testing.assert_allclose(model.cluster_centers_.ravel(), [20.0, 90.0])
    np.testing.assert_array_equal(model.counts_, [2.0, 1.0])


def test_cookbook_12_figure_12_1_three_clouds_by_single_rows():
    rng = np.random.default_rng(13)
    order = rng.permutation(len(X))
    model = OnlineKMeans(3, init=X[[0, 60, 120]], max_iter=30).fit(X[order])
    truth = np.repeat([0, 1, 2], 60)[order]
    assert np.mean(model.labels_ == truth) > 0.95
    assert tenfold.certify(model, X[order]).value < 0.05 * model.inertia_
