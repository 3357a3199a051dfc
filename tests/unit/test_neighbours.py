"""Neighbours: bad input, ties, weights, storage, and the parameters of searches."""

import warnings

import numpy as np
import pytest
import sklearn.neighbors
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, EfficiencyWarning, NotFittedError

import tenfold
from namespaces import host
from tenfold import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RadiusNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
)
from tenfold.data import blocks

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = RNG.integers(0, 3, 80)
Q = RNG.standard_normal((25, 3))


def test_more_neighbours_than_rows():
    model = NearestNeighbors(n_neighbors=5).fit(X[:4])
    with pytest.raises(ValueError, match=r"n_neighbors <= n_samples_fit, but n_neighbors = 5, n_samples_fit = 4"):
        model.kneighbors(Q)
    with pytest.raises(ValueError, match=r"Expected n_neighbors < n_samples_fit, but n_neighbors = 4"):
        model.kneighbors(n_neighbors=4)
    assert model.kneighbors(n_neighbors=3)[1].shape == (4, 3)
    assert model.kneighbors(Q, 4)[1].shape == (25, 4)
    w = np.array([1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="of which 3 have positive weight"):
        KNeighborsClassifier(n_neighbors=4).fit(X[:4], Y[:4], w).predict(Q)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError)])
def test_numbers_of_neighbours_that_are_none(k, error):
    with pytest.raises(error, match="n_neighbors"):
        NearestNeighbors().fit(X).kneighbors(Q, k)
    with pytest.raises((ValueError, TypeError), match="n_neighbors"):
        NearestNeighbors(n_neighbors=k).fit(X)


def test_missing_values_raise_and_name_what_takes_them():
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"nan_euclidean.*MixedNB"):
        KNeighborsClassifier().fit(bad, Y)
    with pytest.raises(ValueError, match="nan_euclidean"):
        KNeighborsClassifier().fit(X, Y).predict(bad)
    model = KNeighborsClassifier(metric="nan_euclidean").fit(bad, Y)
    assert model.certificate_.ok
    assert model.predict(bad).shape == (80,)
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        KNeighborsClassifier(metric="nan_euclidean").fit(bad, Y)


def test_rows_at_one_place():
    """More than there are neighbours: the first, and none is its own."""
    same = np.zeros((7, 2))
    for algorithm in ("kd_tree", "brute"):
        model = NearestNeighbors(n_neighbors=3, algorithm=algorithm).fit(np.repeat(same, 20, axis=0))
        distances, rows = model.kneighbors([[0.0, 0.0]])
        np.testing.assert_array_equal(rows, [[0, 1, 2]])
        np.testing.assert_array_equal(distances, 0.0)
        _, rows = model.kneighbors()
        np.testing.assert_array_equal(rows[0], [1, 2, 3])
        np.testing.assert_array_equal(rows[1], [0, 2, 3])
        np.testing.assert_array_equal(rows[5], [1, 2, 3])  # as in scikit-learn, the first in place of itself


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "sqeuclidean"])
def test_sparse_rows_and_queries(metric):
    S, P = X * (X > 0), Q * (Q > 0)
    S[5], P[3] = 0.0, 0.0
    dense = NearestNeighbors(metric=metric).fit(S)
    for rows, queries in (
        (sparse.csr_array(S), sparse.csr_matrix(P)),
        (sparse.csc_matrix(S), P),
        (S, sparse.coo_array(P)),
    ):
        model = NearestNeighbors(metric=metric).fit(rows)
        np.testing.assert_allclose(model.kneighbors(queries)[0], dense.kneighbors(P)[0], rtol=1e-12, atol=1e-15)
        assert model.certificate_.ok
    with pytest.raises(ValueError, match="not valid for sparse input"):
        NearestNeighbors(metric="canberra").fit(sparse.csr_array(S))
    with pytest.warns(UserWarning, match="cannot use tree with sparse input"):
        NearestNeighbors(metric="euclidean", algorithm="kd_tree").fit(sparse.csr_array(S))


def test_precomputed_distances():
    rng = np.random.default_rng(1)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    T = np.linalg.norm(Q[:, None] - X, axis=2)
    model, plain = (NearestNeighbors(metric=name).fit(rows) for name, rows in (("precomputed", D), ("euclidean", X)))
    for a, b in zip(model.kneighbors(T), plain.kneighbors(Q), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(model.kneighbors(), plain.kneighbors(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(ValueError, match=r"must be square. Input is a 25x80"):
        NearestNeighbors(metric="precomputed").fit(T)
    with pytest.raises(ValueError, match="X has 25 features, but NearestNeighbors is expecting 80"):
        model.kneighbors(D[:, :25])
    with pytest.raises(ValueError, match="Negative values"):
        NearestNeighbors(metric="precomputed").fit(-D)
    classes = KNeighborsClassifier(metric="precomputed").fit(D, Y)
    np.testing.assert_array_equal(classes.predict(T), KNeighborsClassifier().fit(X, Y).predict(Q))
    w = rng.integers(0, 2, 80).astype(float)
    weighted = KNeighborsClassifier(metric="precomputed").fit(D, Y, w)
    np.testing.assert_array_equal(weighted.predict(T), KNeighborsClassifier().fit(X[w > 0], Y[w > 0]).predict(Q))


def test_precomputed_graphs():
    plain = NearestNeighbors(n_neighbors=12).fit(X)
    graph = sparse.csr_matrix(plain.kneighbors_graph(X, mode="distance"))
    model = NearestNeighbors(n_neighbors=4, radius=0.7, metric="precomputed").fit(graph)
    np.testing.assert_allclose(model.kneighbors()[0], plain.kneighbors(n_neighbors=4)[0])
    np.testing.assert_array_equal(model.kneighbors()[1], plain.kneighbors(n_neighbors=4)[1])
    full = NearestNeighbors(n_neighbors=11, metric="precomputed").fit(graph)  # all that the graph has beside the sample
    np.testing.assert_array_equal(full.kneighbors()[1], plain.kneighbors(n_neighbors=11)[1])
    sklearn_model = sklearn.neighbors.NearestNeighbors(n_neighbors=4, radius=0.7, metric="precomputed").fit(graph)
    for a, b in zip(model.radius_neighbors(graph), sklearn_model.radius_neighbors(graph), strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one, other)
    with pytest.raises(ValueError, match="13 neighbors per samples are required, but some samples have only"):
        model.kneighbors(graph, 13)
    graph.sort_indices()
    with pytest.warns(EfficiencyWarning, match="not sorted by row values"):
        again = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)
    np.testing.assert_array_equal(again.kneighbors()[1], model.kneighbors()[1])
    with pytest.raises(TypeError, match="explicit zeros"):
        model.kneighbors(sparse.dok_matrix(graph))


def test_functions_of_sparse_rows():
    def apart(x, y):
        assert sparse.issparse(x)
        assert sparse.issparse(y)
        return float(abs(x - y).sum())

    model = NearestNeighbors(n_neighbors=3, metric=apart).fit(sparse.csr_array(X))
    assert model.certificate_.ok
    distances, _ = NearestNeighbors(n_neighbors=3, metric="manhattan").fit(X).kneighbors(Q)
    np.testing.assert_allclose(model.kneighbors(sparse.csr_array(Q))[0], distances, rtol=1e-12)


def test_functions_as_metrics():
    def away(a, b, power=1.0):
        return float(np.sum(np.abs(a - b)) ** power)

    model = NearestNeighbors(metric=away, metric_params={"power": 2.0}).fit(X)
    expected = NearestNeighbors(metric="manhattan").fit(X)
    np.testing.assert_array_equal(model.kneighbors(Q)[1], expected.kneighbors(Q)[1])
    assert model.certificate_.ok
    with pytest.raises(ValueError, match="kd_tree does not support callable metric"):
        NearestNeighbors(metric=away, algorithm="kd_tree").fit(X)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "cosine", "algorithm": "kd_tree"}, "Metric 'cosine' not valid"),
        ({"metric": "mahalanobis", "algorithm": "kd_tree"}, "not valid"),
        ({"p": 0.5, "algorithm": "ball_tree"}, "does not support 0 < p < 1"),
        ({"metric_params": {"w": np.ones(3)}, "algorithm": "kd_tree"}, "try algorithm='ball_tree'"),
        ({"metric_params": {"w": np.ones(2)}}, "size of w must match"),
        ({"metric_params": {"w": -np.ones(3)}}, "non-negative"),
        ({"metric": "seuclidean", "metric_params": {"V": np.ones(2)}}, "one variance for each of 3"),
        ({"metric": "mahalanobis", "metric_params": {"VI": np.eye(2)}}, "square matrix for 3"),
        ({"metric": "mahalanobis", "metric_params": {"V": -np.eye(3)}}, "positive definite"),
        ({"metric": "haversine"}, "two columns"),
        ({"metric": "nonsense"}, "'metric' parameter"),
        ({"algorithm": "nonsense"}, "'algorithm' parameter"),
        ({"p": 0}, "'p' parameter"),
        ({"leaf_size": 0}, "'leaf_size' parameter"),
    ],
)
def test_invalid_settings_raise(settings, words):
    with pytest.raises(ValueError, match=words):
        NearestNeighbors(**settings).fit(X)


def test_parameters_that_a_metric_has_not():
    with pytest.raises(TypeError, match=r"'euclidean' has no parameters \['w'\]"):
        NearestNeighbors(metric="euclidean", metric_params={"w": 1.0}).fit(X)


def test_warnings_of_scikit_learn():
    with pytest.warns(UserWarning, match="not distance metrics"):
        NearestNeighbors(p=0.5).fit(X)
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        model = NearestNeighbors(metric_params={"p": 1}).fit(X)
    assert model.effective_metric_ == "manhattan"
    with pytest.warns(DataConversionWarning, match="converted to boolean for metric jaccard"):
        NearestNeighbors(metric="jaccard").fit(X)
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        KNeighborsClassifier().fit(X, Y[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NearestNeighbors(metric="jaccard").fit(X > 0).kneighbors(Q > 0)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, np.inf])
@pytest.mark.parametrize("algorithm", ["auto", "brute"])
@pytest.mark.filterwarnings("ignore:Mind that for 0 < p < 1")
def test_powers_of_minkowski(p, algorithm):
    ours, his = (cls(p=p, algorithm=algorithm).fit(X) for cls in (NearestNeighbors, sklearn.neighbors.NearestNeighbors))
    assert ours.effective_metric_ == his.effective_metric_
    assert ours.effective_metric_params_ == his.effective_metric_params_
    np.testing.assert_allclose(ours.kneighbors(Q)[0], his.kneighbors(Q)[0], rtol=1e-10)
    assert ours.certificate_.ok


def test_weights_of_columns():
    w = np.array([0.0, 2.0, 0.3])
    settings = {"p": 3, "metric_params": {"w": w}}
    ours, his = (cls(**settings).fit(X) for cls in (NearestNeighbors, sklearn.neighbors.NearestNeighbors))
    np.testing.assert_allclose(ours.kneighbors(Q)[0], his.kneighbors(Q)[0], rtol=1e-10)
    assert ours.certificate_.ok


def test_a_weight_multiplies_the_vote():
    points, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 1, 1, 0])
    model = KNeighborsClassifier(n_neighbors=3).fit(points, y, sample_weight=[3.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(model.predict_proba([[0.4]]), [[0.6, 0.4]])
    numbers = KNeighborsRegressor(n_neighbors=2, weights="distance").fit(points, y, sample_weight=[2.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(numbers.predict([[0.25]]), [(1.0 / 0.75) / (2.0 / 0.25 + 1.0 / 0.75)])


def test_a_row_of_weight_zero_is_no_neighbour():
    rng = np.random.default_rng(1)
    w = rng.integers(0, 3, 80).astype(float)
    model = KNeighborsClassifier().fit(X, Y, sample_weight=w)
    left = np.flatnonzero(w)
    fewer = KNeighborsClassifier().fit(X[left], Y[left], sample_weight=w[left])
    np.testing.assert_array_equal(model.predict_proba(Q), fewer.predict_proba(Q))
    np.testing.assert_array_equal(model.kneighbors(Q)[1], left[fewer.kneighbors(Q)[1]])
    rows = model.kneighbors()[1]
    assert not np.any(rows == np.arange(80)[:, None])
    assert not np.any(w[rows] == 0)
    np.testing.assert_array_equal(rows[left], left[fewer.kneighbors()[1]])


def test_several_outputs():
    rng = np.random.default_rng(1)
    Z = np.column_stack([Y, Y[::-1] == 1])
    ours, his = (cls().fit(X, Z) for cls in (KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier))
    np.testing.assert_array_equal(ours.predict(Q), his.predict(Q))
    for a, b in zip(ours.predict_proba(Q), his.predict_proba(Q), strict=True):
        np.testing.assert_allclose(a, b)
    assert ours.outputs_2d_
    assert [c.tolist() for c in ours.classes_] == [c.tolist() for c in his.classes_]
    V = rng.standard_normal((80, 2)).astype(np.float32)
    ours, his = (cls().fit(X, V) for cls in (KNeighborsRegressor, sklearn.neighbors.KNeighborsRegressor))
    np.testing.assert_allclose(ours.predict(Q), his.predict(Q), rtol=1e-5)
    assert ours.predict(Q).dtype == his.predict(Q).dtype == np.float32


def test_weights_by_a_function():
    def weight(distances):
        assert distances.shape == (25, 5)
        return np.exp(-distances)

    ours, his = (
        cls(weights=weight).fit(X, Y) for cls in (KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier)
    )
    np.testing.assert_allclose(ours.predict_proba(Q), his.predict_proba(Q), rtol=1e-12)
    with pytest.raises(ValueError, match="zero weights"):
        KNeighborsClassifier(weights=np.zeros_like).fit(X, Y).predict(Q)


def test_leave_one_out_without_queries():
    for cls in (KNeighborsClassifier, KNeighborsRegressor):
        model = cls(n_neighbors=3).fit(X, Y)
        alone = [
            cls(n_neighbors=3).fit(np.delete(X, i, 0), np.delete(Y, i)).predict(X[i : i + 1])[0] for i in range(len(X))
        ]
        np.testing.assert_allclose(model.predict(None), alone)
        assert model.score(None, Y) == pytest.approx(model.score(None, Y))


def test_another_index_as_rows():
    first = NearestNeighbors().fit(X)
    tree = sklearn.neighbors.KDTree(X)
    for rows in (first, tree):
        model = KNeighborsClassifier().fit(rows, Y)
        np.testing.assert_array_equal(model.predict(Q), KNeighborsClassifier().fit(X, Y).predict(Q))


def test_not_fitted():
    for method in ("kneighbors", "radius_neighbors", "kneighbors_graph"):
        with pytest.raises(NotFittedError):
            getattr(NearestNeighbors(), method)(Q)


def test_graphs():
    model, his = NearestNeighbors(radius=0.9).fit(X), sklearn.neighbors.NearestNeighbors(radius=0.9).fit(X)
    for mode in ("connectivity", "distance"):
        for queries in (None, Q):
            np.testing.assert_allclose(
                model.kneighbors_graph(queries, mode=mode).toarray(), his.kneighbors_graph(queries, mode=mode).toarray()
            )
            np.testing.assert_allclose(
                model.radius_neighbors_graph(queries, mode=mode).toarray(),
                his.radius_neighbors_graph(queries, mode=mode).toarray(),
            )
    with pytest.raises(ValueError, match="Unsupported mode"):
        model.kneighbors_graph(Q, mode="nonsense")
    with pytest.raises(ValueError, match="return_distance must be True"):
        model.radius_neighbors(Q, return_distance=False, sort_results=True)


def test_a_radius_for_each_query():
    rng = np.random.default_rng(1)
    radii = rng.uniform(0.2, 1.5, len(Q))
    for algorithm in ("brute", "kd_tree"):
        result = NearestNeighbors(algorithm=algorithm).fit(X).radius_neighbors(Q, radii, return_distance=False)
        for q, radius, rows in zip(Q, radii, result, strict=True):
            np.testing.assert_array_equal(rows, np.flatnonzero(np.linalg.norm(X - q, axis=1) <= radius))


def radius_models(**settings):
    return (cls(**settings) for cls in (RadiusNeighborsClassifier, sklearn.neighbors.RadiusNeighborsClassifier))


def test_queries_without_neighbours_raise():
    far = np.vstack([Q, [[99.0, 0.0, 0.0]]])
    with pytest.raises(ValueError, match=r"No neighbors found for test samples array\(\[25\]\)"):
        RadiusNeighborsClassifier(radius=50.0).fit(X, Y).predict(far)
    with pytest.warns(UserWarning, match="predicting NaN"):
        result = RadiusNeighborsRegressor(radius=50.0).fit(X, Y).predict(far)
    assert np.isnan(result[-1])
    assert not np.isnan(result[:-1]).any()


@pytest.mark.parametrize("label", ["most_frequent", 2])
def test_labels_of_outliers(label):
    far = np.vstack([Q, [[99.0, 0.0, 0.0]]])
    ours, his = (model.fit(X, Y) for model in radius_models(radius=0.5, outlier_label=label))
    assert ours.outlier_label_ == his.outlier_label_
    np.testing.assert_array_equal(ours.predict(far), his.predict(far))
    np.testing.assert_allclose(ours.predict_proba(far), his.predict_proba(far))


def test_labels_of_outliers_that_are_no_classes():
    ours, his = (model.fit(X, Y) for model in radius_models(radius=0.5, outlier_label=7))
    result = []
    for model in (ours, his):
        with pytest.warns(UserWarning, match="Outlier label 7 is not in training classes"):
            result.append(model.predict([[99.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert result[0].tolist() == result[1].tolist()
    assert result[0][0] == 7
    for model in radius_models(outlier_label="word"):
        with pytest.raises(TypeError, match="dtype of outlier_label"):
            model.fit(X, Y)
    for model in radius_models(outlier_label=[0, 1]):
        with pytest.raises(ValueError, match="inconsistent with the output length"):
            model.fit(X, Y)


def test_outliers_of_several_outputs():
    Z = np.column_stack([Y, Y[::-1] == 1]).astype(np.int64)
    far = np.vstack([Q, [[99.0, 0.0, 0.0]]])
    ours, his = (model.fit(X, Z) for model in radius_models(radius=1.0, outlier_label=[2, 1]))
    np.testing.assert_array_equal(ours.predict(far), his.predict(far))
    for a, b in zip(ours.predict_proba(far), his.predict_proba(far), strict=True):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("include_self", [True, False, "auto"])
@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_functions_of_graphs(include_self, mode):
    for ours, his, size in (
        (kneighbors_graph, sklearn.neighbors.kneighbors_graph, 4),
        (radius_neighbors_graph, sklearn.neighbors.radius_neighbors_graph, 0.8),
    ):
        settings = {"mode": mode, "include_self": include_self, "metric": "manhattan"}
        np.testing.assert_allclose(ours(X, size, **settings).toarray(), his(X, size, **settings).toarray())
        with pytest.raises(ValueError, match="Got minkowski for metric, while the estimator has cosine"):
            ours(NearestNeighbors(metric="cosine").fit(X), size)
    with pytest.raises(ValueError, match="'mode' parameter"):
        kneighbors_graph(X, 3, mode="nonsense")


def test_transformers_feed_precomputed_models():
    for transformer, model in (
        (KNeighborsTransformer(n_neighbors=10), KNeighborsClassifier(n_neighbors=4, metric="precomputed")),
        (RadiusNeighborsTransformer(radius=3.0), RadiusNeighborsClassifier(radius=1.5, metric="precomputed")),
    ):
        graph = transformer.fit_transform(X)
        assert graph.shape == (80, 80)
        assert len(transformer.get_feature_names_out()) == 80
        plain = type(model)(**{**model.get_params(), "metric": "minkowski"}).fit(X, Y)
        near = Q[np.abs(Q).max(axis=1) < 1.5]
        np.testing.assert_array_equal(model.fit(graph, Y).predict(transformer.transform(near)), plain.predict(near))


def test_rows_and_queries_that_cannot_meet():
    da, strict = pytest.importorskip("dask.array"), pytest.importorskip("array_api_strict")
    table, there = tenfold.rows([X]), strict.asarray(X)
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        NearestNeighbors().fit(table).kneighbors(da.from_array(Q))
    for rows, queries in ((there, Q), (X, there), (table, there)):
        with pytest.raises(TypeError, match="nothing is copied between devices silently"):
            NearestNeighbors().fit(rows).kneighbors(queries)
    with pytest.raises(ValueError, match="is not for arrays of other libraries"):
        NearestNeighbors(metric="canberra").fit(there)
    for metric in ("precomputed", "ordinal"):
        with pytest.raises(ValueError, match="needs all rows in memory"):
            NearestNeighbors(metric=metric, algorithm="brute").fit(table)
    with pytest.raises(ValueError, match="for queries in memory"):
        NearestNeighbors().fit(X).radius_neighbors(table, radius=np.ones(80))
    with pytest.raises(ValueError, match="Several outputs"):
        KNeighborsClassifier().fit(da.from_array(X), da.from_array(np.column_stack([Y, Y])))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "canberra", "jaccard", "haversine", "minkowski"])
def test_metrics_of_rows_in_files(metric, monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    rows = (rng.random((600, 4)) > 0.5) * 1.0 if metric == "jaccard" else rng.standard_normal((600, 4))
    rows = rows[:, :2] if metric == "haversine" else rows
    settings = {"metric": metric, "p": 3.0, "algorithm": "brute"}
    here, there = NearestNeighbors(**settings).fit(rows), NearestNeighbors(**settings).fit(tenfold.rows([rows]))
    for a, b in zip(there.kneighbors(rows[:9]), here.kneighbors(rows[:9]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert there.certificate_ == here.certificate_
    assert there.certificate_.ok


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "cosine", "correlation", "manhattan", "minkowski"])
def test_metrics_of_rows_of_other_libraries(metric):
    put = pytest.importorskip("array_api_strict").asarray
    settings = {"metric": metric, "p": 3.0, "algorithm": "brute"}
    here, there = NearestNeighbors(**settings).fit(X), NearestNeighbors(**settings).fit(put(X))
    for a, b in zip(there.kneighbors(put(Q)), here.kneighbors(Q), strict=True):
        np.testing.assert_allclose(host(a), b, rtol=1e-9)
    assert there.certificate_.ok


def test_rows_at_one_distance_on_a_device():
    """More of them than candidates: all are measured."""
    rng = np.random.default_rng(1)
    put = pytest.importorskip("array_api_strict").asarray
    rows = np.round(rng.standard_normal((400, 8)))
    rows[50:] = rows[:350]
    here, there = NearestNeighbors(algorithm="brute").fit(rows), NearestNeighbors().fit(put(rows))
    np.testing.assert_array_equal(host(there.kneighbors(put(rows))[1]), here.kneighbors(rows)[1])


def test_duplicated_points_agree_with_scikit_learn():
    """Distances, sets within a radius, and the votes of all that are at distance zero."""
    rng = np.random.default_rng(3)
    rows, y = (rng.integers(0, 3, shape).astype(float) for shape in ((40, 2), 40))
    ours, his = NearestNeighbors(n_neighbors=4).fit(rows), sklearn.neighbors.NearestNeighbors(n_neighbors=4).fit(rows)
    np.testing.assert_allclose(ours.kneighbors()[0], his.kneighbors()[0])
    for radius in (0.0, 1.0):
        pairs = zip(ours.radius_neighbors(None, radius)[1], his.radius_neighbors(None, radius)[1], strict=True)
        assert all(set(one) == set(other) for one, other in pairs)
    for name in ("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"):
        for weights in ("uniform", "distance"):
            models = [getattr(package, name)(1.01, weights=weights) for package in (tenfold, sklearn.neighbors)]
            one, other = (model.fit(rows, y).predict(rows) for model in models)
            np.testing.assert_allclose(one, other)
            assert all(tenfold.certify(model, rows, y).ok for model in models)


@pytest.mark.parametrize("name", ["effective_metric_params_", "n_samples_fit_"])
def test_state_of_a_search_is_judged(name):
    for package in (tenfold, sklearn.neighbors):
        model = package.KNeighborsClassifier(p=3).fit(X, Y)
        assert tenfold.certify(model, X, Y).ok
        setattr(model, name, {"p": 4, "w": None} if name == "effective_metric_params_" else 81)
        assert not tenfold.certify(model, X, Y).ok


@pytest.fixture(scope="module")
def tied():
    """Samples and queries of two features in four classes, and which classes lead among four neighbours."""
    rng = np.random.default_rng(3)
    X, queries = rng.standard_normal((400, 2)), rng.standard_normal((2000, 2))
    y = rng.integers(0, 4, 400)
    model = KNeighborsClassifier(4, tie_break="random", random_state=0).fit(X, y)
    votes = model.predict_proba(queries)
    return X, y, queries, model, votes == votes.max(axis=1, keepdims=True)


def test_random_ties_choose_a_leading_class_and_each_as_often(tied):
    X, y, queries, model, leads = tied
    answers, first = model.predict(queries), KNeighborsClassifier(4).fit(X, y).predict(queries)
    assert leads[np.arange(2000), answers].all()
    alone = leads.sum(axis=1) == 1
    np.testing.assert_array_equal(answers[alone], first[alone])
    pairs = leads.sum(axis=1) == 2
    assert pairs.sum() > 150
    assert np.mean(answers[pairs] == first[pairs]) == pytest.approx(0.5, abs=0.1)
    np.testing.assert_array_equal(
        model.predict_proba(queries), KNeighborsClassifier(4).fit(X, y).predict_proba(queries)
    )


def test_random_ties_do_not_depend_on_the_other_queries(tied):
    X, y, queries, model, _ = tied
    answers = model.predict(queries)
    np.testing.assert_array_equal(np.concatenate([model.predict(part) for part in np.split(queries, 50)]), answers)
    np.testing.assert_array_equal(model.predict(queries[::-1]), answers[::-1])
    again = KNeighborsClassifier(4, tie_break="random", random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict(queries), answers)
    other = KNeighborsClassifier(4, tie_break="random", random_state=1).fit(X, y)
    assert np.any(other.predict(queries) != answers)
    state = np.random.RandomState(0)
    drawn = KNeighborsClassifier(4, tie_break="random", random_state=state)
    assert np.any(drawn.fit(X, y).predict(queries) != drawn.fit(X, y).predict(queries))
    again.set_params(tie_break="first").fit(X, y)
    np.testing.assert_array_equal(again.predict(queries), KNeighborsClassifier(4).fit(X, y).predict(queries))


def test_random_ties_of_several_outputs_are_drawn_apart(tied):
    X, y, queries, model, leads = tied
    answers = (
        KNeighborsClassifier(4, tie_break="random", random_state=0).fit(X, np.column_stack([y, y])).predict(queries)
    )
    np.testing.assert_array_equal(answers[:, 0], model.predict(queries))
    pairs = leads.sum(axis=1) == 2
    assert np.mean(answers[pairs, 0] == answers[pairs, 1]) == pytest.approx(0.5, abs=0.1)


def test_certify_accepts_any_of_the_leading_classes_alone(tied, monkeypatch):
    """A class with fewer votes is refused."""
    X, y, _, model, _ = tied
    assert tenfold.certify(model, X, y).ok
    assert tenfold.certify(KNeighborsClassifier(4).fit(X, y), X, y).ok

    def last(self, X):
        votes = self.predict_proba(X)
        return self.classes_[votes.shape[1] - 1 - np.argmax(votes[:, ::-1], axis=1)]

    def second(self, X):
        return self.classes_[np.argsort(self.predict_proba(X), axis=1)[:, -2]]

    for data in (X, X.astype(np.float32)):
        fitted = KNeighborsClassifier(4, tie_break="random", random_state=0).fit(data, y)
        monkeypatch.setattr(KNeighborsClassifier, "predict", last)
        assert tenfold.certify(fitted, data, y).ok
        monkeypatch.setattr(KNeighborsClassifier, "predict", second)
        assert not tenfold.certify(fitted, data, y).ok
        monkeypatch.undo()


def test_bad_tie_breaks():
    with pytest.raises(ValueError, match="tie_break"):
        KNeighborsClassifier(tie_break="last").fit(X, Y)
    with pytest.raises((ValueError, TypeError), match="random_state"):
        KNeighborsClassifier(tie_break="random", random_state="seed").fit(X, Y)
