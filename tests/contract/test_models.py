"""Models that are read off statistics: scikit-learn's checks, signatures, attributes, and results."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import tenfold
from design import only_if
from models import MODELS, weights

every_model = pytest.mark.parametrize("row", MODELS, ids=lambda row: row.id)
every_peer = pytest.mark.parametrize("row", [row for row in MODELS if row.peer], ids=lambda row: row.id)
CHECKED = [row for row in MODELS if row.checked]
ONCE = {row.name: row for row in reversed(CHECKED)}
"""The first row of each class."""


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has at least 1 zero")
@parametrize_with_checks([row.make(**row.checks) for row in ONCE.values()])
def test_check(estimator, check):
    check(estimator)


@pytest.mark.product
@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has at least 1 zero")
@parametrize_with_checks([row.make(**row.checks) for row in CHECKED if row is not ONCE[row.name]])
def test_check_with_other_settings(estimator, check):
    check(estimator)


def signature(function):
    return list(inspect.signature(function).parameters.values())


@pytest.mark.parametrize("name", sorted({row.name for row in MODELS if row.peer}))
def test_signatures(name):
    """His parameters first, in his order, of his kinds and defaults; more only as keywords at the end."""
    peer = next(row.peer for row in MODELS if row.name == name)
    cls = getattr(tenfold, name)
    ours, his = signature(cls), signature(peer)
    assert [p.name for p in ours[: len(his)]] == [p.name for p in his]
    for a, b in zip(ours, his, strict=False):
        assert a.kind == b.kind, a.name
        np.testing.assert_equal(a.default, b.default, err_msg=a.name)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in ours[len(his) :])
    for method in (m for m in dir(peer) if not m.startswith("_") and callable(getattr(peer, m))):
        assert hasattr(cls, method), method
        if method.startswith(("set_", "get_")):
            continue
        names = [p.name for p in signature(getattr(peer, method)) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        assert [p.name for p in signature(getattr(cls, method))][: len(names)] == names, method


@every_peer
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@only_if(lambda row, weighted: not weighted or "sample_weight" in inspect.signature(row.peer.fit).parameters)
def test_attributes_and_answers_of_scikit_learn(row, weighted):
    X, y, _ = row.data()
    extra = {"sample_weight": weights(len(X))} if weighted else {}
    ours, his = row.make().fit(X, y, **extra), row.his().fit(X, y, **extra)
    for name in (name for name in vars(his) if name.endswith("_") and not name.startswith("_")):
        a, b = getattr(ours, name), getattr(his, name)
        if isinstance(b, list):
            assert [np.shape(part) for part in a] == [np.shape(part) for part in b], name
            continue
        assert np.shape(a) == np.shape(b), name
        assert np.ndim(a) == 0 or np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, name
    if not row.alike:
        return
    for name, a, b in zip(row.learned, row.numbers(ours), row.numbers(his), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
    for name in row.methods:
        if not hasattr(his, name):
            continue
        a, b = getattr(ours, name)(X), getattr(his, name)(X)
        if name == "transform":
            a = a * np.sign(np.sum(a * b, axis=0))  # the sign of a direction has no meaning
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(a[decided(his, X)], b[decided(his, X)])


def decided(model, X):
    """Rows for which rounding does not decide between classes."""
    if not hasattr(model, "predict_joint_log_proba"):
        return slice(None)
    z = np.sort(model.predict_joint_log_proba(X), axis=1)
    return z[:, -1] - z[:, -2] > 1e-9


@every_model
def test_clone_and_pickle(row):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert set(vars(again)) == set(vars(model))
    fresh = clone(model).fit(X, y)
    for other in (again, fresh):
        for a, b in zip(row.answers(model, X), row.answers(other, X), strict=True):
            np.testing.assert_array_equal(a, b)
    assert set(vars(row.make())) == set(model.get_params())


@every_model
def test_a_failed_fit_changes_nothing(row):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    before = dict(vars(model))
    for column in range(X.shape[1]):
        bad = X.copy()
        bad[3, column] = np.inf if row.missing else np.nan
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(bad, y)
        assert vars(model) == before


@every_model
def test_feature_names(row):
    pd = pytest.importorskip("pandas")
    X, y, _ = row.data()
    names = ["length", "width", "age", "weight"]
    model = row.make().fit(pd.DataFrame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        row.answers(model, pd.DataFrame(X, columns=names[::-1]))


@every_model
def test_routing_of_weights(row):
    model = row.make()
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True
