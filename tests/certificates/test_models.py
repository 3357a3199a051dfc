"""Models that are read off statistics: each is certified, a worsened one is refused, scikit-learn's is judged."""

import copy

import numpy as np
import pytest

import tenfold
from design import only_if
from estimators import STATISTICAL, weights

every_model = pytest.mark.parametrize("row", STATISTICAL, ids=lambda row: row.id)


@every_model
@pytest.mark.parametrize("shape", [(90, 4), (12, 30), (40, 1)], ids=["tall", "wide", "one column"])
@only_if(lambda row, shape: shape[1] == 4 or row.widths)
def test_certified(row, shape):
    X, y, _ = row.data(*shape)
    model = row.make().fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.kind == row.kind
    again = tenfold.certify(model, X, y)
    assert again.ok
    assert again.kind == row.kind


@every_model
def test_certified_with_weights(row):
    X, y, _ = row.data()
    w = weights(len(X)) * 0.3
    model = row.make().fit(X, y, sample_weight=w)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, y, w).ok
    assert not tenfold.certify(model, X, y).ok


@every_model
def test_other_data_are_not_certified(row):
    X, y, _ = row.data()
    other, y_other, _ = row.data(seed=5)
    assert not tenfold.certify(row.make().fit(X, y), other, y_other).ok


JUDGED = [(row, name) for row in STATISTICAL for name in row.seen]


@pytest.mark.parametrize(("row", "name"), JUDGED, ids=[f"{row.id}-{name}" for row, name in JUDGED])
def test_a_worsened_model_is_not_certified(row, name):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    worse = copy.deepcopy(model)
    values = getattr(worse, name)
    if isinstance(values, list):
        values[1] = values[1].copy()
        values[1].flat[0] += 1e-6
        assert not tenfold.certify(worse, X, y).ok
        return
    moved = values + np.zeros_like(values)
    moved.flat[moved.size // 2] += row.step * (1.0 + abs(moved.flat[moved.size // 2]))
    setattr(worse, name, moved)
    assert not tenfold.certify(worse, X, y).ok


@pytest.mark.parametrize("row", [row for row in STATISTICAL if row.peer], ids=lambda row: row.id)
def test_the_class_of_scikit_learn_is_judged(row):
    X, y, _ = row.data()
    sklearn_model = row.make_sklearn().fit(X, y)
    assert tenfold.certify(sklearn_model, X, y).ok == row.alike  # else it is near to it, and that shows
    name = row.seen[-1]
    result = getattr(sklearn_model, name)
    more = 1.0 + max(row.step, 1e-5)
    setattr(sklearn_model, name, [part * more for part in result] if isinstance(result, list) else result * more)
    assert not tenfold.certify(sklearn_model, X, y).ok
