"""Models that are read off statistics, and those that keep their samples: the numbers of scikit-learn's classes."""

import inspect

import numpy as np
import pytest
from sklearn.utils import get_tags

from design import only_if
from estimators import NEIGHBOURS, STATISTICAL, weights


@pytest.mark.parametrize("row", [row for row in STATISTICAL if row.peer and row.alike], ids=lambda row: row.id)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@only_if(lambda row, weighted: not weighted or "sample_weight" in inspect.signature(row.peer.fit).parameters)
def test_what_is_read_off_statistics(row, weighted):
    X, y, _ = row.data()
    extra = {"sample_weight": weights(len(X))} if weighted else {}
    ours, sklearn_model = row.make().fit(X, y, **extra), row.make_sklearn().fit(X, y, **extra)
    for name in (name for name in vars(sklearn_model) if name.endswith("_") and not name.startswith("_")):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(sklearn_model, name)), name
    for name, a, b in zip(row.learned, row.numbers(ours), row.numbers(sklearn_model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
    for name in (name for name in row.methods if hasattr(sklearn_model, name)):
        a, b = getattr(ours, name)(X), getattr(sklearn_model, name)(X)
        if name == "transform":
            a = a * np.sign(np.sum(a * b, axis=0))  # the sign of a direction has no meaning
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(a[decided(sklearn_model, X)], b[decided(sklearn_model, X)])


def decided(model, X):
    """Rows for which rounding does not decide between classes."""
    if not hasattr(model, "predict_joint_log_proba"):
        return slice(None)
    z = np.sort(model.predict_joint_log_proba(X), axis=1)
    return z[:, -1] - z[:, -2] > 1e-9


def alike(a, b):
    """Equal answers: arrays, lists of them, arrays of arrays, sparse matrices."""
    if hasattr(a, "toarray"):
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-9, atol=1e-12)
    elif isinstance(a, (list, tuple)) or np.asarray(a).dtype == object:
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            alike(one, other)
    elif np.asarray(a).dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("row", [row for row in NEIGHBOURS if row.peer], ids=lambda row: row.id)
def test_neighbours(row):
    X, y, _ = row.data()
    X[7] += 0.1  # the order of rows at one place is not fixed there
    queries, truth, _ = row.data(40, seed=3)
    queries[7] += 0.1
    ours, sklearn_model = row.make().fit(X, y), row.make_sklearn().fit(X, y)
    learned = {name for name in vars(sklearn_model) if name.endswith("_") and not name.startswith("_")} - {"tree_"}
    for name in learned:
        np.testing.assert_equal(getattr(ours, name), getattr(sklearn_model, name), err_msg=name)
    for name in row.methods:
        extra = {"sort_results": True} if name == "radius_neighbors" else {}
        alike(getattr(ours, name)(queries, **extra), getattr(sklearn_model, name)(queries, **extra))
    a, b = get_tags(ours), get_tags(sklearn_model)
    assert a.input_tags == b.input_tags
    assert a.target_tags == b.target_tags
    assert a.classifier_tags == b.classifier_tags
    if row.target:
        assert ours.score(queries, truth) == pytest.approx(sklearn_model.score(queries, truth), rel=1e-12)
