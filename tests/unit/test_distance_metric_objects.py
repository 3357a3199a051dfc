"""Distances that are given as objects of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree

from design import only_if
from tenfold import KNeighborsRegressor, NearestNeighbors

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 1.0, (80, 3))
V = np.cov(X.T) + np.diag([0.1, 0.2, 0.3])
OBJECTS = {
    "euclidean": {},
    "manhattan": {},
    "chebyshev": {},
    "minkowski": {"p": 3.5},
    "weighted": {"p": 3, "w": [1.0, 0.5, 2.0]},
    "seuclidean": {"V": [0.3, 1.0, 2.0]},
    "mahalanobis": {"V": V},
    "hamming": {},
    "canberra": {},
    "braycurtis": {},
    "jaccard": {},
    "pyfunc": {"func": lambda a, b: float(np.abs(a - b).sum())},
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
# of which one, in single precision, hands its function something else than the rows
@only_if(lambda name, dtype: not (name == "pyfunc" and dtype is np.float32))
def test_objects_are_the_distances_of_their_class(name, dtype):
    rows = (X > 0.5).astype(np.float64) if name in ("hamming", "jaccard") else X
    metric = DistanceMetric.get_metric("minkowski" if name == "weighted" else name, dtype=dtype, **OBJECTS[name])
    distances, _ = NearestNeighbors(n_neighbors=4, metric=metric).fit(rows).kneighbors(rows[:20])
    plain = np.sort(metric.pairwise(rows[:20].astype(dtype), rows.astype(dtype)), axis=1)[:, :4]
    single = dtype is np.float32
    np.testing.assert_allclose(distances, plain, rtol=1e-4 if single else 1e-9, atol=1e-4 if single else 0.0)
    if name != "pyfunc":
        assert NearestNeighbors(metric=metric).fit(rows).certificate_.ok


def test_an_object_in_a_model_and_for_other_columns():
    metric = DistanceMetric.get_metric("mahalanobis", V=V)
    model = KNeighborsRegressor(3, metric=metric).fit(X, X[:, 0])
    _, index = BallTree(X, metric=metric).query(X[:10], 3)
    np.testing.assert_allclose(model.predict(X[:10]), X[index, 0].mean(axis=1))
    with pytest.raises(ValueError, match="is not for rows of 2 columns"):
        NearestNeighbors(metric=metric).fit(X[:, :2])
    with pytest.raises(ValueError, match="give the function as metric"):
        NearestNeighbors(metric=DistanceMetric.get_metric("pyfunc", dtype=np.float32, **OBJECTS["pyfunc"])).fit(X)
    with pytest.raises(ValueError, match="'metric' parameter"):
        NearestNeighbors(metric=3).fit(X)
