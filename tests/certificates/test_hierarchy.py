"""Trees of clusters: heights beside SciPy's linkage, certificates of trees that were changed, and hard data."""

import copy
import warnings

import numpy as np
import pytest
import sklearn.cluster
from scipy import sparse
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import kneighbors_graph

import tenfold
from tenfold.plots import DendrogramDisplay

LINKAGES = ("ward", "complete", "average", "single", "centroid")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4)) * [1.0, 2.0, 0.5, 1.0] + 4.0 * RNG.integers(0, 3, (120, 1))
GRAPH = kneighbors_graph(X, 8, include_self=False)
CHAINED = GRAPH + sparse.eye_array(120, k=1)


def fit(data=X, linkage="ward", **settings):
    return tenfold.AgglomerativeClustering(linkage=linkage, compute_distances=True, **settings).fit(data)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("features", [1, 4, 90])
def test_heights_and_merges_are_those_of_scipy(linkage, features):
    data = np.random.default_rng(features).standard_normal((150, features))
    model, wanted = fit(data, linkage), scipy_linkage(data, linkage)
    np.testing.assert_allclose(model.distances_, wanted[:, 2], rtol=1e-9)
    np.testing.assert_array_equal(model.children_, wanted[:, :2])
    assert model.certificate_.ok
    assert tenfold.certify(model, data).ok


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", "correlation", "sqeuclidean"])
@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
def test_metrics_are_those_of_scipy(linkage, metric):
    name = "cityblock" if metric == "manhattan" else metric
    wanted = scipy_linkage(pdist(X, name), linkage)
    np.testing.assert_allclose(fit(X, linkage, metric=metric).distances_, wanted[:, 2], rtol=1e-9, atol=1e-12)
    given = fit(cdist(X, X, name), linkage, metric="precomputed")
    np.testing.assert_allclose(given.distances_, wanted[:, 2], rtol=1e-12)
    made = fit(X, linkage, metric=lambda samples: cdist(samples, samples, name))
    np.testing.assert_allclose(made.distances_, wanted[:, 2], rtol=1e-12)


@pytest.mark.parametrize("linkage", LINKAGES[:4])
@pytest.mark.parametrize("settings", [{"n_clusters": 4}, {"n_clusters": None, "distance_threshold": 3.0}])
@pytest.mark.parametrize("connectivity", [None, GRAPH], ids=["all", "graph"])
def test_equal_to_scikit_learn(linkage, settings, connectivity):
    known = {"linkage": linkage, "connectivity": connectivity, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ours = fit(X, **known)
        theirs = sklearn.cluster.AgglomerativeClustering(compute_distances=True, **known).fit(X)
        np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9)
        np.testing.assert_array_equal(np.sort(ours.children_, axis=1), np.sort(theirs.children_, axis=1))
        assert ours.n_clusters_ == theirs.n_clusters_
        assert ours.n_connected_components_ == theirs.n_connected_components_
        assert same_partition(ours.labels_, theirs.labels_)
        assert tenfold.certify(theirs, X).ok
        assert tenfold.certify(ours, X).ok


def same_partition(one, other):
    return len(np.unique(np.stack([one, other]), axis=1).T) == len(np.unique(one)) == len(np.unique(other))


def test_labels_are_numbered_as_scikit_learn_does():
    for clusters in (1, 2, 5, 120):
        ours, theirs = (
            cls(clusters).fit(X) for cls in (tenfold.AgglomerativeClustering, sklearn.cluster.AgglomerativeClustering)
        )
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)


@pytest.mark.parametrize("linkage", LINKAGES[:4])
def test_early_end_along_a_graph(linkage):
    known = {"n_clusters": 30, "compute_full_tree": False, "linkage": linkage}
    ours = tenfold.AgglomerativeClustering(connectivity=CHAINED, **known).fit(X)
    theirs = sklearn.cluster.AgglomerativeClustering(connectivity=CHAINED, **known).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.certificate_.ok
    assert tenfold.certify(theirs, X).ok


def test_trees_as_functions():
    for connectivity in (None, CHAINED):
        for name, more in (("ward_tree", {}), ("linkage_tree", {"linkage": "average"})):
            ours, theirs = (
                getattr(library, name)(X, connectivity=connectivity, return_distance=True, **more)
                for library in (tenfold, sklearn.cluster)
            )
            np.testing.assert_array_equal(np.sort(ours[0], axis=1), np.sort(theirs[0], axis=1))
            assert ours[1:3] == theirs[1:3]
            np.testing.assert_allclose(ours[4], theirs[4], rtol=1e-9)
            if connectivity is not None:
                np.testing.assert_array_equal(ours[3], theirs[3])


TAMPERED = {
    "labels_": lambda value: np.where(np.arange(len(value)) == 3, (value + 1) % 2, value),
    "children_": lambda value: np.vstack([value[:-2], value[-2:][::-1]]),
    "distances_": lambda value: value * (1.0 + 1e-6),
    "n_clusters_": lambda value: value + 1,
    "n_leaves_": lambda value: value + 1,
    "n_connected_components_": lambda value: value + 1,
}


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("connectivity", [None, CHAINED], ids=["all", "graph"])
@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_attributes_are_refused(linkage, connectivity, name):
    model = copy.deepcopy(fit(X, linkage, connectivity=connectivity))
    assert tenfold.certify(model, X).ok
    setattr(model, name, TAMPERED[name](getattr(model, name)))
    assert not tenfold.certify(model, X).ok


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_tree_with_right_heights_of_other_merges_is_refused(linkage):
    """Samples 0 and 1 are merged first although others are nearer; all heights are those of this tree."""
    points = np.array([[0.0], [1.0], [5.0], [5.5], [9.0]])
    model = fit(points, linkage)
    children = np.array([[0, 1], [2, 3], [4, 6], [5, 7]])
    model.children_ = children
    clusters = [[i] for i in range(5)]
    heights = []
    for a, b in children:
        A, B = points[clusters[a]], points[clusters[b]]
        D = cdist(A, B)
        of = {"single": D.min(), "complete": D.max(), "average": D.mean(), "centroid": abs(A.mean() - B.mean())}
        of["ward"] = np.sqrt(2 * len(A) * len(B) / (len(A) + len(B))) * of["centroid"]
        heights.append(of[linkage])
        clusters.append(clusters[a] + clusters[b])
    model.distances_ = np.array(heights)
    model.labels_ = np.array([0, 0, 1, 1, 1])
    certificate = tenfold.certify(model, points)
    assert certificate.parts[0] < 1e-12
    assert not certificate.ok
    assert "nearer" in certificate.note


@pytest.mark.parametrize("linkage", LINKAGES)
def test_ties_pass_in_any_order(linkage):
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    model = fit(grid, linkage)
    assert model.certificate_.ok
    if linkage != "centroid":
        theirs = sklearn.cluster.AgglomerativeClustering(linkage=linkage, compute_distances=True).fit(grid)
        assert tenfold.certify(theirs, grid).ok


HARD = {
    "tiny": 1e-200 * X,
    "huge": 1e150 * X,
    "offset": X + 1e6,
    "equal": np.ones((20, 3)),
    "twice": np.vstack([X[:30], X[:30]]),
    "constant column": np.column_stack([X, np.full(120, 7.0)]),
    "far apart": np.vstack([X[:30] * 1e-7, 1e3 + X[:30]]),
    "float32": X.astype(np.float32),
    "two": X[:2],
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("linkage", LINKAGES)
def test_hard_data(linkage, name):
    data = HARD[name]
    model = fit(data, linkage)
    assert model.certificate_.ok, model.certificate_.explain()
    exact = np.asarray(data, dtype=np.float64)
    unit = {"tiny": 1e-200, "huge": 1e150}.get(name, 1.0)
    wanted = np.sort(scipy_linkage(exact / unit, linkage)[:, 2])
    if name != "twice":  # equal samples may be merged in several ways
        np.testing.assert_allclose(np.sort(model.distances_) / unit, wanted, rtol=1e-6, atol=1e-9 * wanted[-1])


def test_a_graph_in_parts_is_completed_with_a_warning():
    parts = np.zeros((6, 6))
    parts[0, 1] = parts[1, 2] = parts[3, 4] = 1.0
    points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [30.0]])
    with pytest.warns(UserWarning, match="number of connected components of the connectivity matrix is 3"):
        model = fit(points, "single", connectivity=parts)
    np.testing.assert_allclose(model.distances_, [1.0, 1.0, 1.0, 8.0, 19.0])
    assert model.n_connected_components_ == 3


@pytest.mark.parametrize(
    ("settings", "data", "message"),
    [
        ({"n_clusters": None}, X, "Exactly one of n_clusters"),
        ({"distance_threshold": 1.0}, X, "Exactly one of n_clusters"),
        ({"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False}, X, "compute_full_tree must be"),
        ({"metric": "manhattan"}, X, "Ward can only"),
        ({"metric": "cosine", "linkage": "average"}, np.vstack([X[:3], np.zeros(4)]), "zero vectors"),
        ({"n_clusters": 7}, X[:5], "more clusters than samples"),
        ({"metric": "precomputed", "linkage": "single"}, X, "square"),
        ({"connectivity": np.eye(3)}, X, "Wrong shape for connectivity"),
        ({"linkage": "average", "metric": "sqeuclidean"}, 1e200 * X, "not finite"),
        ({"linkage": "median"}, X, "linkage"),
    ],
)
def test_bad_input(settings, data, message):
    with pytest.raises(ValueError, match=message):
        tenfold.AgglomerativeClustering(**settings).fit(data)


def test_features_are_pooled_as_by_scikit_learn():
    for pooling in (np.mean, np.median):
        ours, theirs = (
            cls(n_clusters=2, pooling_func=pooling).fit(X)
            for cls in (tenfold.FeatureAgglomeration, sklearn.cluster.FeatureAgglomeration)
        )
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12)
        np.testing.assert_allclose(
            ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X))
        )
        assert tenfold.certify(theirs, X).ok
    assert list(ours.get_feature_names_out()) == ["featureagglomeration0", "featureagglomeration1"]


def by_hand(D, k):
    """DIANA by its definition."""
    clusters = [list(range(len(D)))]
    while len(clusters) < k:
        widest = max(range(len(clusters)), key=lambda c: D[np.ix_(clusters[c], clusters[c])].max())
        stay, left = clusters.pop(widest), []
        while len(stay) > 1:
            gains = [D[i, [j for j in stay if j != i]].mean() - (D[i, left].mean() if left else 0.0) for i in stay]
            best = int(np.argmax(gains))
            if gains[best] <= 0.0:
                break
            left.append(stay.pop(best))
        clusters += [stay, left]
    return clusters


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_divisive_splits_are_those_of_the_definition(metric):
    model = tenfold.DivisiveClustering(5, metric=metric).fit(X)
    wanted = by_hand(cdist(X, X, "cityblock" if metric == "manhattan" else metric), 5)
    labels = np.zeros(len(X), dtype=int)
    for number, members in enumerate(wanted):
        labels[members] = number
    assert same_partition(model.labels_, labels)
    assert tenfold.certify(model, X).ok


@pytest.mark.parametrize("rule", ["splinter", "farthest"])
def test_divisive_by_threshold(rule):
    D = cdist(X, X)
    model = tenfold.DivisiveClustering(None, rule=rule, distance_threshold=4.0).fit(X)
    widths = [D[np.ix_(model.labels_ == c, model.labels_ == c)].max() for c in range(model.n_clusters_)]
    assert max(widths) < 4.0 <= model.distances_.min()
    assert model.certificate_.ok


@pytest.mark.parametrize("rule", ["splinter", "farthest"])
@pytest.mark.parametrize("name", ["labels_", "children_", "distances_", "n_clusters_", "n_leaves_"])
def test_tampered_splits_are_refused(rule, name):
    model = tenfold.DivisiveClustering(4, rule=rule).fit(X)
    change = {"children_": lambda value: value[[1, 0, 2]], "labels_": lambda value: np.roll(value, 1)}
    setattr(model, name, {**TAMPERED, **change}[name](getattr(model, name)))
    assert not tenfold.certify(model, X).ok


@pytest.mark.parametrize("data", [np.ones((7, 2)), X[:2], np.vstack([X[:10], X[:10]])])
def test_divisive_on_equal_samples(data):
    for rule in ("splinter", "farthest"):
        model = tenfold.DivisiveClustering(2, rule=rule).fit(data)
        assert model.certificate_.ok
        assert len(np.unique(model.labels_)) == 2


def test_dendrogram():
    points = np.array([[0.0], [1.0], [5.0], [5.5]])
    shown = DendrogramDisplay.of(fit(points, "single"))
    np.testing.assert_allclose(shown.y[:, 1], [0.5, 1.0, 4.0])
    assert sorted(shown.samples.tolist()) == [0, 1, 2, 3]
    assert 1.0 < shown.cut < 4.0
    few = DendrogramDisplay.of(fit(X), max_leaves=10)
    assert few.leaves.sum() == 120
    assert len(few.x) == 9
    splits = DendrogramDisplay.of(tenfold.DivisiveClustering(6).fit(X))
    assert splits.leaves.sum() == 120
    with pytest.raises(ValueError, match="no heights"):
        DendrogramDisplay.of(tenfold.AgglomerativeClustering().fit(X))
