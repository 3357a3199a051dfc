"""Where scikit-learn has a class, ours has its name, parameters, order, defaults, attributes and methods."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.discovery import all_functions

import tenfold
from estimators import LINEAR, SOLVED, TABLE, Linear, Neighbours, fitted, fitted_sklearn, one_a_class
from saved import same

CLASSES = one_a_class([row for row in TABLE if row.peer])
MATRICES = [row for row in TABLE if row.matrices]

every_class = pytest.mark.parametrize("row", CLASSES, ids=lambda row: row.name)
every_peer = pytest.mark.parametrize("row", [row for row in TABLE if row.peer], ids=lambda row: row.id)
every_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
every_matrix = pytest.mark.parametrize("row", MATRICES, ids=lambda row: row.id)
every_linear = pytest.mark.parametrize("row", LINEAR, ids=lambda row: row.id)

FUNCTIONS = {name: function for name, function in all_functions() if name in tenfold.OTHERS}
"""Those of scikit-learn that are here."""


TEXTS = {"CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"}
"""Read documents, and are compared with scikit-learn's bit for bit (tests/reference/test_against_sklearn_text.py)."""


def test_the_table_holds_every_public_estimator():
    """A class that is not in the table is not tested."""
    public = [getattr(tenfold, name) for name in tenfold.__all__ if name[0].isupper()]
    classes = {cls.__name__ for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator)}
    assert classes - TEXTS == {row.name for row in TABLE}


def test_rows_have_names_of_their_own():
    assert len({row.id for row in TABLE}) == len(TABLE)


def signature(function):
    return list(inspect.signature(function).parameters.values())


def check_signature(ours, sklearn_model):
    """The parameters of scikit-learn first, in its order, with its kinds and defaults; more as keywords at the end."""
    ours, sklearn_model = signature(ours), signature(sklearn_model)
    assert [p.name for p in ours[: len(sklearn_model)]] == [p.name for p in sklearn_model]
    for a, b in zip(ours, sklearn_model, strict=False):
        assert a.kind == b.kind, a.name
        if isinstance(b.default, str) and b.default in ("deprecated", "warn"):
            continue  # a parameter on its way out
        assert type(a.default) is type(b.default) or a.default == b.default, a.name
        np.testing.assert_equal(a.default, b.default, err_msg=a.name)
    for extra in ours[len(sklearn_model) :]:
        assert extra.kind is inspect.Parameter.KEYWORD_ONLY, extra.name
        assert extra.default is not inspect.Parameter.empty, extra.name


@every_class
def test_constructor(row):
    check_signature(row.cls, row.peer)


@every_class
def test_methods(row):
    """All of scikit-learn's methods, with scikit-learn's arguments first."""
    methods = [name for name in dir(row.peer) if not name.startswith("_") and callable(getattr(row.peer, name))]
    for method in methods:
        assert hasattr(row.cls, method), method
        if not method.startswith(("set_", "get_")):
            sklearn_model = [
                p.name for p in signature(getattr(row.peer, method)) if p.kind is not inspect.Parameter.VAR_KEYWORD
            ]
            assert [p.name for p in signature(getattr(row.cls, method))][: len(sklearn_model)] == sklearn_model, method


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check_signature(getattr(tenfold, name), FUNCTIONS[name])


@every_peer
def test_fitted_attributes(row):
    """Every public attribute that scikit-learn's fit sets, ours sets too, with the same shape and kind."""
    ours, sklearn_model = fitted(row), fitted_sklearn(row)
    for name in (name for name in vars(sklearn_model) if name.endswith("_") and not name.startswith("_")):
        if name == "tree_":
            continue  # of scikit-learn's own search
        if name == "error_":
            continue  # as many as there are iterations
        assert hasattr(ours, name), name
        a, b = getattr(ours, name), getattr(sklearn_model, name)
        if name == "n_iter_" and b is None:
            continue  # scikit-learn's own checks ask for a number here
        if name in ("costs_", "loglike_"):  # of another solver, with other steps
            assert {np.shape(part) for part in a} == {np.shape(part) for part in b}
            continue
        if isinstance(b, list):
            assert [np.shape(part) for part in a] == [np.shape(part) for part in b], name
            continue
        assert np.shape(a) == np.shape(b), name
        assert (a is None) == (b is None), name
        if name != "n_samples_seen_":  # which is a count, and scikit-learn's a float in IncrementalPCA
            assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, name
    assert ours.certificate_.ok or not row.judged


@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output and row.peer], ids=lambda row: row.id)
@pytest.mark.parametrize("columns", [1, 3])
def test_shapes_for_several_targets(row, columns):
    X, y, _ = row.data()
    Y = np.column_stack([y * (k + 1) for k in range(columns)])
    ours = row.make().fit(X, Y)
    sklearn_model = row.peer(**row.settings).fit(X, Y)
    for name in ("coef_", "intercept_", "alpha_", "best_score_"):
        if hasattr(sklearn_model, name):
            assert np.shape(getattr(ours, name)) == np.shape(getattr(sklearn_model, name)), name
    assert ours.predict(X).shape == sklearn_model.predict(X).shape


@pytest.mark.parametrize("row", [row for row in LINEAR if row.classes > 2], ids=lambda row: row.id)
def test_shapes_for_several_classes(row):
    X = row.data().X
    y = np.array(["ant", "bee", "cat"] * 20)
    ours = row.make().fit(X, y)
    assert ours.decision_function(X).shape == (60, 3)
    if row.peer is None:
        return
    sklearn_model = row.make_sklearn().fit(X, y)
    for name in ("coef_", "intercept_", "classes_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(sklearn_model, name)), name
    assert sklearn_model.decision_function(X).shape == (60, 3)


@pytest.mark.parametrize("row", [row for row in SOLVED if row.kind == "gap" and row.iterative], ids=lambda row: row.id)
def test_iterative_fits_have_a_status_and_a_trace(row):
    model = fitted(row)
    assert model.status_ == "converged" or "converged" in str(model.status_).lower()
    assert len(model.trace_) >= 1
    objectives = [record.objective for record in model.trace_]
    assert objectives == sorted(objectives, reverse=True)
    np.testing.assert_allclose(objectives[-1], model.certificate_.objective, rtol=1e-6)


@every_row
def test_defaults_after_construction_are_the_arguments(row):
    """__init__ only assigns."""
    model = row.make()
    for name, value in row.settings.items():
        assert model.get_params()[name] is value
    assert set(vars(model)) == set(model.get_params(deep=False))


def arrays_of(model):
    """The public arrays that a fit has learned."""
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray)
    }


def same_settings(one, other):
    """Equal parameters, but for objects that only know themselves."""
    one, other = one.get_params(), other.get_params()
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one if name != "densities")


@every_row
def test_clone_and_parameters(row):
    X, y, _ = row.data()
    model = fitted(row)
    fresh = clone(model)
    assert type(fresh) is type(model)
    for method in row.methods if get_tags(fresh).requires_fit else ():
        with pytest.raises(NotFittedError):
            getattr(fresh, method)(X)
    assert same_settings(fresh, model)
    name, anything = next(iter(model.get_params())), object()
    assert fresh.set_params(**{name: anything}) is fresh
    assert getattr(fresh, name) is anything
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        fresh.set_params(nonsense=1)
    again = clone(model).fit(X, y)
    assert same(arrays_of(again), arrays_of(model))
    assert same(row.answers(again, X), row.answers(model, X))


@every_row
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickling(row, protocol):
    for model in (row.make(), fitted(row)):
        again = pickle.loads(pickle.dumps(model, protocol))
        assert set(vars(again)) == set(vars(model))
        assert same_settings(again, model)
    X = row.data().X
    assert same(arrays_of(again), arrays_of(model))
    assert same(row.answers(again, X), row.answers(model, X))


@every_row
def test_a_second_fit_forgets_the_first(row):
    """Also where the second has another shape, so that no attribute of the first is left behind."""
    narrow = isinstance(row, (Linear, Neighbours)) or getattr(row, "widths", False)
    X, y, _ = row.data(40, 1, seed=1) if narrow else row.data(40, seed=1)
    used, fresh = row.make().fit(*row.data()[:2]).fit(X, y), row.make().fit(X, y)
    assert same(arrays_of(used), arrays_of(fresh))
    assert same(row.answers(used, X), row.answers(fresh, X))
    assert set(vars(used)) == set(vars(fresh))
    assert used.n_features_in_ == fresh.n_features_in_


@every_matrix
def test_a_failed_fit_changes_nothing(row):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    before = dict(vars(model))
    for column in range(X.shape[1]):
        bad = X.copy()
        bad[3, column] = np.inf if row.missing else np.nan
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(bad, y)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())


def alike(a, b):
    """Equal answers: arrays, lists of them, arrays of arrays, sparse matrices; numbers but for their rounding."""
    if hasattr(a, "toarray"):
        np.testing.assert_allclose(a.toarray(), b.toarray(), rtol=1e-12, atol=1e-12)
    elif isinstance(a, (list, tuple)) or np.asarray(a).dtype == object:
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            alike(one, other)
    elif np.asarray(a).dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("row", MATRICES, ids=lambda row: row.id)
def test_feature_names(row):
    pd = pytest.importorskip("pandas")
    X, y, _ = row.data()
    names = ["length", "width", "age", "weight"]
    frame = pd.DataFrame(X, columns=names)
    model, plain = row.make().fit(frame, y), fitted(row)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 4
    alike(row.answers(model, frame), row.answers(plain, X))
    assert not hasattr(plain, "feature_names_in_")
    for method in row.methods:
        with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
            getattr(model, method)(frame[names[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            getattr(model, method)(X)
        with pytest.warns(UserWarning, match="has feature names"):
            getattr(plain, method)(frame)


@pytest.mark.parametrize("row", [row for row in TABLE if row.weighted], ids=lambda row: row.id)
def test_routing_of_weights(row):
    model = row.make()
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        routing = model.get_metadata_routing()
        # a class that splits or scores has a router, and asks for itself in it
        request = getattr(routing, "_self_request", routing)
        assert request.fit.requests["sample_weight"] is True


@every_linear
def test_one_row_predictions_are_the_rows_of_many(row):
    X, model = row.data().X, fitted(row)
    many = model.predict(X)
    for i in (0, 17, 59):
        one = model.predict(X[i : i + 1])
        if row.classifier:
            assert one == many[i : i + 1]
        else:
            np.testing.assert_allclose(one, many[i : i + 1], rtol=1e-12)


@every_linear
def test_kind_and_tags(row):
    ours = row.make()
    assert is_classifier(ours) is row.classifier
    assert is_regressor(ours) is not (row.classifier or row.outliers)
    assert is_outlier_detector(ours) is row.outliers
    a = get_tags(ours)
    assert a.input_tags.sparse
    assert a.target_tags.required is not row.outliers
    if row.peer is None:
        return
    b = get_tags(row.make_sklearn())
    if row.name != "LogisticRegression":
        assert a.target_tags.multi_output == b.target_tags.multi_output
    if row.classifier and row.name != "LogisticRegression":
        assert a.classifier_tags.multi_class == b.classifier_tags.multi_class
        assert a.classifier_tags.multi_label == b.classifier_tags.multi_label


@every_row
def test_html_and_text_for_notebooks(row):
    model = row.make()
    assert repr(model).startswith(f"{row.name}(")
    assert row.name in model._repr_html_()


@pytest.mark.parametrize(
    "row", one_a_class([row for row in LINEAR if hasattr(row.peer, "sparsify")]), ids=lambda row: row.name
)
def test_sparsify_and_back(row):
    X, y, _ = row.data()
    model = row.make().fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.sparsify().predict(X), expected)
    np.testing.assert_array_equal(model.densify().predict(X), expected)
