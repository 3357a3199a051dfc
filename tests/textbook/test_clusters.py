"""Clusters in the texts: Seeger section 12.1, Welling chapter 11, Cookbook chapter 12."""

import itertools

import numpy as np
import pytest

import tenfold
from tenfold import KMeans, OnlineKMeans
from tenfold.datasets import make_rings
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


LINE = np.array([[0.0], [1.0], [2.5], [6.0], [6.8]])


@pytest.mark.parametrize(
    ("linkage", "heights"),
    [
        ("single", [0.8, 1.0, 1.5, 3.5]),
        ("complete", [0.8, 1.0, 2.5, 6.8]),
        ("centroid", [0.8, 1.0, 2.0, 6.4 - 3.5 / 3]),
    ],
)
def test_seeger_12_1_five_points_on_a_line_are_merged_by_hand(linkage, heights):
    """Singletons at first, and the nearest pair is merged until one is left."""
    tree = tenfold.linkage_tree(LINE, linkage=linkage, return_distance=True)
    np.testing.assert_allclose(tree[-1], heights)
    assert [sorted(pair) for pair in tree[0].tolist()] == [[3, 4], [0, 1], [2, 6], [5, 7]]


def test_seeger_12_1_the_tree_is_nested():
    """Cut at any number of clusters: each of them is whole in one of every smaller number."""
    for linkage in ("single", "complete", "centroid"):
        labels = [tenfold.AgglomerativeClustering(k, linkage=linkage).fit(X).labels_ for k in (8, 5, 3, 2)]
        for fine, coarse in itertools.pairwise(labels):
            assert all(len(np.unique(coarse[fine == c])) == 1 for c in np.unique(fine))


def test_seeger_12_1_divisive_clusters_split_at_the_farthest_pair():
    """One group at first; its farthest samples 0 and 6.8 are in different halves, the others with the nearer."""
    model = tenfold.DivisiveClustering(2, rule="farthest").fit(LINE)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.distances_, [6.8])
    np.testing.assert_array_equal(tenfold.DivisiveClustering(3, rule="farthest").fit(LINE).labels_, [0, 0, 1, 2, 2])
    far = tenfold.DivisiveClustering(3, rule="farthest").fit(X)
    near = tenfold.AgglomerativeClustering(3, linkage="complete").fit(X)
    pairs = [model.labels_[:, None] == model.labels_ for model in (far, near)]
    assert np.mean(pairs[0] == pairs[1]) > 0.95


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


def test_cookbook_12_figure_12_2_k_means_on_kernel_components():
    """Rings, which k-means cuts in halves, are two clusters along the first components of a Gaussian kernel."""
    rows, ring = make_rings(200, radii=(1.0, 4.0), random_state=0)

    def agreement(labels):
        return max(np.mean(labels == ring), np.mean(labels != ring))

    def two_means(samples):
        return KMeans(2, random_state=0, n_init=3).fit(samples).labels_

    assert agreement(two_means(rows)) < 0.7
    components = tenfold.KernelPCA(2, kernel="rbf", gamma=0.5).fit_transform(rows)
    assert agreement(two_means(components)) > 0.99
