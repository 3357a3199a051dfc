"""Models that keep their rows are certified; wrong rows, wrong targets and wrong neighbours are refused."""

import copy

import numpy as np
import pytest
import sklearn.neighbors

import tenfold
from design import only_if
from estimators import NEIGHBOURS
from tenfold.data import MemoryRows
from tenfold.judge import neighbours as judge

every_row = pytest.mark.parametrize("row", NEIGHBOURS, ids=lambda row: row.id)


@every_row
@pytest.mark.parametrize("shape", [(120, 4), (20, 30), (1, 3), (700, 2)], ids=["tall", "wide", "one row", "sampled"])
@only_if(lambda row, shape: shape[0] >= row.fewest and not (row.coarse and shape[1] > 4))
def test_certified(row, shape):
    X, y, _ = row.data(max(8, shape[0]), shape[1])
    X, y = X[: shape[0]], None if y is None else y[: shape[0]]
    model = row.make().fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.kind == "exact"
    again = tenfold.certify(model, X, y)
    assert again.ok, again.explain()


@every_row
def test_other_rows_and_targets_are_not_certified(row):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    other = X.copy()
    other[50, 1] += 9.0 if row.coarse else 1e-6
    assert not tenfold.certify(model, other, y).ok
    if row.target:
        moved = y.copy()
        moved[9] = y[np.flatnonzero(y != y[9])[0]]
        assert not tenfold.certify(model, X, moved).ok
    if row.weighted:
        w = np.random.default_rng(0).integers(0, 4, len(X)) * 0.3
        weighted = row.make().fit(X, y, sample_weight=w)
        assert weighted.certificate_.ok
        assert tenfold.certify(weighted, X, y, w).ok
        assert not tenfold.certify(weighted, X, y).ok


@pytest.mark.parametrize(
    ("algorithm", "part"), [("kd_tree", "order"), ("kd_tree", "points"), ("kd_tree", "boxes"), ("brute", "rows")]
)
def test_a_worsened_index_is_not_certified(algorithm, part):
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = tenfold.NearestNeighbors(algorithm=algorithm).fit(X)
    worse = copy.deepcopy(model)
    search = worse._index.stored.search
    if part == "rows":
        search.samples[17] += 0.1
    elif part == "order":
        search.tree.order[[0, 1]] = search.tree.order[[1, 0]]
    elif part == "points":
        search.tree.points[5] += 0.1
    else:
        search.tree.boxes[1] += 3.0
    assert tenfold.certify(model, X).ok
    assert not tenfold.certify(worse, X).ok


def test_perturbed_answers_are_not_certified():
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = tenfold.NearestNeighbors(n_neighbors=3).fit(X)

    def verdict(change):
        def search(queries, own):
            distances, rows = model._index.stored.nearest(queries, 3, own)
            change(distances, rows)
            return np.arange(0, 181, 3), distances.ravel(), rows.ravel()

        numbers = np.arange(60)
        problem = {"metric": "euclidean", "params": {}, "k": 3, "radius": None, "numbers": numbers, "queries": X}
        return judge.neighbours({}, MemoryRows(X, numbers[:, None].astype(float)), **problem, search=search).ok

    def farther(distances, rows):
        rest = np.setdiff1d(np.arange(60), [*rows[4], 4])
        away = np.linalg.norm(X[rest] - X[4], axis=1)
        rows[4, 2], distances[4, 2] = rest[np.argmin(away)], away.min()

    def twice(distances, rows):
        rows[4, 1], distances[4, 1] = rows[4, 0], distances[4, 0]

    def longer(distances, rows):
        distances[30, 0] *= 1.0 + 1e-6

    assert verdict(lambda distances, rows: None)
    for change in (farther, twice, longer):
        assert not verdict(change)


@pytest.mark.parametrize("row", [row for row in NEIGHBOURS if row.peer], ids=lambda row: row.id)
def test_the_class_of_scikit_learn_is_judged(row):
    X, y, _ = row.data()
    X[7] += 0.1  # of rows at one place scikit-learn's distance is the root of a rounding
    sklearn_model = row.make_sklearn().fit(X, y)
    assert tenfold.certify(sklearn_model, X, y).ok
    if row.name == "KernelDensity":
        sklearn_model.bandwidth_ *= 1.0 + 1e-6
    else:
        sklearn_model._fit_X = sklearn_model._fit_X.copy()
        sklearn_model._fit_X[0] += 1e-5
    assert not tenfold.certify(sklearn_model, X, y).ok


def test_distances_that_lost_their_digits_are_not_certified():
    """Products about zero of rows far from it: scikit-learn's distances between near rows are rounding."""
    rng = np.random.default_rng(0)
    X = 1e6 + 1e-3 * rng.standard_normal((300, 20))
    sklearn_model = sklearn.neighbors.NearestNeighbors(algorithm="brute").fit(X)
    assert not tenfold.certify(sklearn_model, X).ok
    assert tenfold.NearestNeighbors(algorithm="brute").fit(X).certificate_.ok


def test_plain_distances_of_the_judge():
    """Against formulas written out."""
    rng = np.random.default_rng(1)
    X, Q = rng.uniform(-1.5, 1.5, (9, 2)), rng.uniform(-1.5, 1.5, (4, 2))
    result = judge.plain_distances("haversine", {}, X, Q)
    a, b = np.sin((Q[:, None, 0] - X[:, 0]) / 2) ** 2, np.sin((Q[:, None, 1] - X[:, 1]) / 2) ** 2
    expected = 2 * np.arcsin(np.sqrt(a + np.cos(Q[:, None, 0]) * np.cos(X[:, 0]) * b))
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    np.testing.assert_allclose(
        judge.plain_distances("mahalanobis", {"V": np.diag([4.0, 1.0])}, X, Q),
        np.hypot((Q[:, None, 0] - X[:, 0]) / 2, Q[:, None, 1] - X[:, 1]),
    )
    ranks = judge.plain_distances("ordinal", {}, np.array([[1.0], [5.0], [100.0]]), np.array([[5.0], [50.0]]))
    np.testing.assert_allclose(ranks, [[1 / 3, 0, 1 / 3], [0.5, 1 / 6, 1 / 6]])
