"""Where scikit-learn has a class, ours has its name, parameters, order, defaults, attributes and methods."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn import cluster
from sklearn.base import BaseEstimator, clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import tenfold
from design import only_if
from estimators import APART, EVERY, SHAPES, TABLE, parameters, peer_of
from models import DRAWN, MODELS
from neighbours import NEIGHBOURS

NAMES = sorted({row.name for row in EVERY})
every_class = pytest.mark.parametrize("name", sorted({row.name for row in EVERY if row.peer}))
every_peer = pytest.mark.parametrize("row", [row for row in EVERY if row.peer], ids=lambda row: row.id)
every_row = pytest.mark.parametrize("row", EVERY, ids=lambda row: row.id)

FUNCTIONS = ["ridge_regression"]


def test_the_table_holds_every_public_estimator():
    """A class that is not in the table is not tested."""
    public = [getattr(tenfold, name) for name in tenfold.__all__ if name[0].isupper()]
    classes = {cls.__name__ for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator)}
    assert classes == {*NAMES, *APART, *DRAWN, *(row.name for row in [*MODELS, *NEIGHBOURS])}


def signature(function):
    return list(inspect.signature(function).parameters.values())


def check_signature(ours, his):
    """His parameters first, in his order, of his kinds and defaults; more only as keywords at the end."""
    ours, his = signature(ours), signature(his)
    assert [p.name for p in ours[: len(his)]] == [p.name for p in his]
    for a, b in zip(ours, his, strict=False):
        assert a.kind == b.kind, a.name
        if isinstance(b.default, str) and b.default in ("deprecated", "warn"):
            continue  # a parameter on its way out
        assert type(a.default) is type(b.default) or a.default == b.default, a.name
        np.testing.assert_equal(a.default, b.default, err_msg=a.name)
    for extra in ours[len(his) :]:
        assert extra.kind is inspect.Parameter.KEYWORD_ONLY, extra.name
        assert extra.default is not inspect.Parameter.empty, extra.name


@every_class
def test_constructor(name):
    check_signature(getattr(tenfold, name), peer_of(name))


@pytest.mark.parametrize("name", [name for name in DRAWN if hasattr(cluster, name)])
def test_constructors_of_clusters(name):
    check_signature(getattr(tenfold, name), getattr(cluster, name))


@every_class
@pytest.mark.parametrize(
    "method",
    ["fit", "predict", "score", "decision_function", "predict_proba", "predict_log_proba", "sparsify", "densify"],
)
@only_if(lambda name, method: hasattr(peer_of(name), method))
def test_methods(name, method):
    his = getattr(peer_of(name), method)
    ours = getattr(getattr(tenfold, name), method, None)
    assert ours is not None, f"{name} has no {method}"
    his_names = [p.name for p in signature(his) if p.kind is not inspect.Parameter.VAR_KEYWORD]
    assert [p.name for p in signature(ours)][: len(his_names)] == his_names


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check_signature(getattr(tenfold, name), peer_of(name))


@every_peer
def test_fitted_attributes(row):
    """Every public attribute that his fit sets, ours sets too, with the same shape and kind."""
    data = SHAPES["tall"](row)
    ours = row.make().fit(data.X, data.y)
    his = row.his().fit(data.X, data.y)
    for name in (name for name in vars(his) if name.endswith("_") and not name.startswith("_")):
        assert hasattr(ours, name), name
        a, b = getattr(ours, name), getattr(his, name)
        if name == "n_iter_" and b is None:
            continue  # his own checks ask for a number here
        assert np.shape(a) == np.shape(b), name
        assert (a is None) == (b is None), name
        assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, name
    assert ours.certificate_.ok or not row.judged


@pytest.mark.parametrize("row", [row for row in TABLE if row.multi_output and row.peer], ids=lambda row: row.id)
@pytest.mark.parametrize("columns", [1, 3])
def test_shapes_for_several_targets(row, columns):
    X, y, _ = SHAPES["tall"](row)
    Y = np.column_stack([y * (k + 1) for k in range(columns)])
    ours = row.make().fit(X, Y)
    his = row.peer(**row.settings).fit(X, Y)
    for name in ("coef_", "intercept_", "alpha_", "best_score_"):
        if hasattr(his, name):
            assert np.shape(getattr(ours, name)) == np.shape(getattr(his, name)), name
    assert ours.predict(X).shape == his.predict(X).shape


@pytest.mark.parametrize("row", [row for row in EVERY if row.classes > 2], ids=lambda row: row.id)
def test_shapes_for_several_classes(row):
    X, _, _ = SHAPES["tall"](row)
    y = np.array(["ant", "bee", "cat"] * 20)
    ours = row.make().fit(X, y)
    assert ours.decision_function(X).shape == (60, 3)
    if row.peer is None:
        return
    his = row.his().fit(X, y)
    for name in ("coef_", "intercept_", "classes_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(his, name)), name
    assert his.decision_function(X).shape == (60, 3)


@every_row
def test_iterative_fits_have_a_status_and_a_trace(row):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    if row.kind == "gap" and row.iterative and row.judged:
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
    assert set(vars(model)) <= set(model.get_params())


@every_row
def test_clone_and_parameters(row):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    fresh = clone(model)
    assert type(fresh) is type(model)
    with pytest.raises(NotFittedError):
        fresh.predict(data.X)
    for name, value in model.get_params().items():
        np.testing.assert_equal(fresh.get_params()[name], value)
    assert fresh.set_params(fit_intercept=False) is fresh
    assert fresh.fit_intercept is False
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        fresh.set_params(nonsense=1)
    np.testing.assert_array_equal(parameters(clone(model).fit(data.X, data.y)), parameters(model))


@every_row
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickling(row, protocol):
    data = SHAPES["tall"](row)
    for model in (row.make(), row.make().fit(data.X, data.y)):
        again = pickle.loads(pickle.dumps(model, protocol))
        assert set(vars(again)) == set(vars(model))
        np.testing.assert_equal(again.get_params(), model.get_params())
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


@every_row
def test_a_second_fit_forgets_the_first(row):
    """Also where the second has another shape, so that no attribute of the first is left behind."""
    first, second = SHAPES["tall"](row), SHAPES["one column"](row)
    used = row.make().fit(first.X, first.y).fit(second.X, second.y)
    fresh = row.make().fit(second.X, second.y)
    np.testing.assert_array_equal(parameters(used), parameters(fresh))
    assert set(vars(used)) == set(vars(fresh))
    assert used.n_features_in_ == 1


@every_row
def test_feature_names(row):
    pd = pytest.importorskip("pandas")
    data = SHAPES["tall"](row)
    names = ["length", "width", "age", "weight"]
    frame = pd.DataFrame(data.X, columns=names)
    model = row.make().fit(frame, data.y)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 4
    plain = row.make().fit(data.X, data.y)
    if row.classifier:
        np.testing.assert_array_equal(model.predict(frame), plain.predict(data.X))
    else:
        np.testing.assert_allclose(model.predict(frame), plain.predict(data.X), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"(?s)feature names should match.*same order"):
        model.predict(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(data.X)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.warns(UserWarning, match="has feature names"):
        plain.predict(frame)


@every_row
def test_one_row_predictions_are_the_rows_of_many(row):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    many = model.predict(data.X)
    for i in (0, 17, 59):
        one = model.predict(data.X[i : i + 1])
        if row.classifier:
            assert one == many[i : i + 1]
        else:
            np.testing.assert_allclose(one, many[i : i + 1], rtol=1e-12)


@every_row
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
    b = get_tags(row.his())
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


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(peer_of(name), "sparsify")])
def test_sparsify_and_back(name):
    row = next(row for row in EVERY if row.name == name)
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    expected = model.predict(data.X)
    np.testing.assert_array_equal(model.sparsify().predict(data.X), expected)
    np.testing.assert_array_equal(model.densify().predict(data.X), expected)
