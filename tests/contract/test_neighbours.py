"""Models that keep their rows: scikit-learn's checks, signatures, attributes and answers."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import tenfold
from design import only_if
from neighbours import NEIGHBOURS

every_row = pytest.mark.parametrize("row", NEIGHBOURS, ids=lambda row: row.id)
every_peer = pytest.mark.parametrize("row", [row for row in NEIGHBOURS if row.peer], ids=lambda row: row.id)
FIRST = {row.name: row for row in reversed(NEIGHBOURS)}


@parametrize_with_checks([row.make() for row in FIRST.values()])
@only_if(lambda estimator, check: check.func.__name__ not in FIRST[type(estimator).__name__].exempt)
def test_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("row", [row for row in FIRST.values() if row.exempt], ids=lambda row: row.id)
def test_an_exempt_check_is_not_asked_of_scikit_learn(row):
    """Its class has no weights."""
    asked = {check.func.__name__ for _, check in estimator_checks_generator(row.his())} if row.peer else set()
    assert not asked & set(row.exempt)


def signature(function):
    return list(inspect.signature(function).parameters.values())


@pytest.mark.parametrize("row", [row for row in FIRST.values() if row.peer], ids=lambda row: row.name)
def test_signatures(row):
    """His parameters first, in his order, of his kinds and defaults; more only as keywords at the end."""
    cls = getattr(tenfold, row.name)
    ours, his = signature(cls), signature(row.peer)
    assert [p.name for p in ours[: len(his)]] == [p.name for p in his]
    for a, b in zip(ours, his, strict=False):
        assert a.kind == b.kind, a.name
        np.testing.assert_equal(a.default, b.default, err_msg=a.name)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in ours[len(his) :])
    for method in (m for m in dir(row.peer) if not m.startswith("_") and callable(getattr(row.peer, m))):
        assert hasattr(cls, method), method
        if method.startswith(("set_", "get_")):
            continue
        names = [p.name for p in signature(getattr(row.peer, method)) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        assert [p.name for p in signature(getattr(cls, method))][: len(names)] == names, method


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


@every_peer
def test_attributes_and_answers_of_scikit_learn(row):
    X, y = row.data()
    X[7] += 0.1  # the order of rows at one place is not fixed there
    queries = row.data(40, seed=3)[0]
    queries[7] += 0.1
    ours, his = row.fit(row.make(), X, y), row.fit(row.his(), X, y)
    learned = {name for name in vars(his) if name.endswith("_") and not name.startswith("_")} - {"tree_"}
    for name in learned:
        np.testing.assert_equal(getattr(ours, name), getattr(his, name), err_msg=name)
    for name in row.methods:
        extra = {"sort_results": True} if name == "radius_neighbors" else {}
        alike(getattr(ours, name)(queries, **extra), getattr(his, name)(queries, **extra))
    a, b = get_tags(ours), get_tags(his)
    assert a.input_tags == b.input_tags
    assert a.target_tags == b.target_tags
    assert a.classifier_tags == b.classifier_tags
    if row.target:
        assert ours.score(queries, row.data(40, seed=3)[1]) == pytest.approx(
            his.score(queries, row.data(40, seed=3)[1]), rel=1e-12
        )


@every_row
def test_clone_and_pickle(row):
    X, y = row.data()
    model = row.fit(row.make(), X, y)
    again = pickle.loads(pickle.dumps(model))
    assert set(vars(again)) == set(vars(model))
    fresh = row.fit(clone(model), X, y)
    for other in (again, fresh):
        for name in row.methods:
            alike(getattr(model, name)(X), getattr(other, name)(X))
    assert set(vars(row.make())) == set(model.get_params())


@every_row
def test_a_failed_fit_changes_nothing(row):
    X, y = row.data()
    model = row.fit(row.make(), X, y)
    before = dict(vars(model))
    bad = X.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        row.fit(model, bad, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@every_row
def test_feature_names(row):
    pd = pytest.importorskip("pandas")
    X, y = row.data()
    names = ["length", "width", "age", "weight"]
    model = row.fit(row.make(), pd.DataFrame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        getattr(model, row.methods[0])(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("row", [row for row in NEIGHBOURS if row.weighted], ids=lambda row: row.id)
def test_routing_of_weights(row):
    model = row.make()
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True
