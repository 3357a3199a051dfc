"""Dask arrays and data frames: the same fits as on NumPy arrays, lazy predictions, and nothing that is not finite."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import tenfold
from design import only_if
from estimators import (
    SHAPES,
    SOLVED,
    chosen,
    classes,
    columns_of,
    is_comparable,
    kind_of,
    parameters,
    regression,
    zero_weights,
)
from tenfold.plans import least_squares

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

every_row = pytest.mark.parametrize("row", [row for row in SOLVED if "Dask" in row.where], ids=lambda row: row.id)
DENSE = [name for name in SHAPES if not name.startswith("sparse")]


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def put(array, chunks=17):
    return da.from_array(array, chunks=(chunks, *array.shape[1:]))


def wide_and_chosen(row, shape):
    """Leave-one-out and folds of wide data need the rows in one memory, but for those that live on products."""
    return row.chooses and shape == "wide" and row.name not in ("LassoCV", "ElasticNetCV")


@every_row
@pytest.mark.parametrize("shape", DENSE)
@only_if(is_comparable)
def test_equal_to_numpy(row, shape):
    X, y, weight = SHAPES[shape](row)
    there = row.make()
    lazy = put(X), put(y), None if weight is None else put(weight)
    if wide_and_chosen(row, shape):
        with pytest.raises(ValueError, match=r"never brought together. Pass X\.compute"):
            there.fit(lazy[0], lazy[1], sample_weight=lazy[2])
        return
    here = row.make().fit(X, y, sample_weight=weight)
    there.fit(lazy[0], lazy[1], sample_weight=lazy[2])
    assert there.certificate_.ok == here.certificate_.ok
    for name in ("coef_", "intercept_"):
        result = getattr(there, name)
        assert not isinstance(result, da.Array)
        assert np.shape(result) == np.shape(getattr(here, name))
        assert np.asarray(result).dtype == X.dtype or not row.intercept
    if row.chooses:
        np.testing.assert_allclose(chosen(there), chosen(here))
    if hasattr(here, "best_score_"):
        np.testing.assert_allclose(there.best_score_, here.best_score_, rtol=1e-5, atol=1e-7)
    z = there.predict(lazy[0])
    assert isinstance(z, da.Array)
    close = {"rtol": 1e-4, "atol": 1e-5} if X.dtype == np.float32 else {"rtol": 1e-7, "atol": 1e-7}
    if row.kind == "gap":
        close = {"rtol": 2e-3, "atol": 2e-3}  # both are certified, by different routes
    if row.unique:
        np.testing.assert_allclose(parameters(there), parameters(here), **close)
    if row.classifier:
        np.testing.assert_array_equal(there.classes_, here.classes_)
        # rounding decides where weights of one sign leave nothing but the offset of balanced classes
        decided = np.abs(here.decision_function(X)) > 1e-9
        assert np.mean((z.compute() == here.predict(X)) | ~decided) >= 0.98
    else:
        np.testing.assert_allclose(z.compute(), here.predict(X), **close)
    # as on NumPy, up to predictions that rounding may turn
    np.testing.assert_allclose(there.score(*lazy), there.score(X, y, weight), rtol=1e-5, atol=1e-12)
    again = tenfold.certify(there, *lazy)
    assert again.ok == there.certificate_.ok
    assert again.kind == kind_of(row, there)
    pickle.loads(pickle.dumps(there)).predict(X)


@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output], ids=lambda row: row.id)
def test_several_targets(row):
    X, _, _ = regression()
    Y = columns_of(row, 3)
    here, there = row.make().fit(X, Y), row.make().fit(put(X), put(Y))
    np.testing.assert_allclose(parameters(there), parameters(here), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(there.predict(put(X)).compute(), here.predict(X), rtol=1e-7)
    np.testing.assert_allclose(there.score(put(X), put(Y)), here.score(X, Y), rtol=1e-7)


@pytest.mark.parametrize("name", ["RidgeClassifier", "RidgeClassifierCV"])
def test_several_classes(name):
    X, y, _ = classes(count=4)
    here, there = getattr(tenfold, name)().fit(X, y), getattr(tenfold, name)().fit(put(X), put(y))
    np.testing.assert_array_equal(there.classes_, here.classes_)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-7)
    assert there.decision_function(put(X)).shape == (60, 4)
    np.testing.assert_array_equal(there.predict(put(X)).compute(), here.predict(X))


def test_several_labels_a_row():
    X, y, _ = classes(count=4)
    labels = np.column_stack([y == name for name in ("ant", "bee", "cat")]).astype(int)
    here, there = tenfold.RidgeClassifier().fit(X, labels), tenfold.RidgeClassifier().fit(put(X), put(labels))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    np.testing.assert_array_equal(there.predict(put(X)).compute(), here.predict(X))
    assert there.score(put(X), put(labels)) == pytest.approx(here.score(X, labels))


# -- predictions


def test_predictions_wait():
    """Nothing is computed before it is asked for, and chunks stay as they are."""
    X, y, _ = classes()
    model = tenfold.LogisticRegression().fit(X, y)
    calls = []

    def reading(chunk):
        calls.append(1)
        return chunk

    lazy = put(X).map_blocks(reading, meta=np.zeros((0, 0)))
    result = {
        name: getattr(model, name)(lazy)
        for name in ("predict", "decision_function", "predict_proba", "predict_log_proba")
    }
    assert not calls
    for name, array in result.items():
        assert array.chunks[0] == lazy.chunks[0]
        assert array.numblocks[1:] in ((), (1,))
        expected = getattr(model, name)(X)
        assert array.dtype == expected.dtype
        assert array.shape == expected.shape
        if name == "predict":
            np.testing.assert_array_equal(array.compute(), expected)
        else:
            np.testing.assert_allclose(array.compute(), expected, rtol=1e-12, atol=1e-15)


def test_predictions_of_unknown_lengths():
    X, y, _ = regression()
    model = tenfold.Ridge().fit(X, y)
    lazy = put(X)
    lazy = lazy[lazy[:, 0] > 0]
    np.testing.assert_allclose(model.predict(lazy).compute(), model.predict(X[X[:, 0] > 0]), rtol=1e-12)


def test_predictions_of_what_is_not_finite():
    X, y, _ = regression()
    model = tenfold.Ridge().fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.predict(put(X)).compute()
    with pytest.raises(ValueError, match="5 features, but Ridge is expecting 4"):
        model.predict(put(np.zeros((3, 5))))


# -- data frames


@pytest.fixture
def frames():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y, _ = regression()
    names = [f"column {j}" for j in range(4)]
    frame = pd.DataFrame(X, columns=names).assign(
        y=y, kind=np.where(y > y.mean(), "bee", "ant"), weight=zero_weights(60)
    )
    return frame, dd.from_pandas(frame, npartitions=5), names


def test_frames(frames):
    frame, lazy, names = frames
    here = tenfold.Ridge().fit(frame[names], frame["y"], frame["weight"])
    there = tenfold.Ridge().fit(lazy[names], lazy["y"], lazy["weight"])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)
    np.testing.assert_array_equal(there.feature_names_in_, names)
    np.testing.assert_allclose(there.predict(lazy[names]).compute(), here.predict(frame[names]), rtol=1e-10)
    score = there.score(lazy[names], lazy["y"], lazy["weight"])
    assert score == pytest.approx(here.score(frame[names], frame["y"], frame["weight"]))
    assert tenfold.certify(there, lazy[names], lazy["y"], lazy["weight"]).ok
    with pytest.raises(ValueError, match=r"names should match.*X\[\['column 0'"):
        there.predict(lazy[names[::-1]])


def test_words_of_a_frame_as_classes(frames):
    frame, lazy, names = frames
    here = tenfold.LogisticRegression().fit(frame[names], frame["kind"])
    there = tenfold.LogisticRegression().fit(lazy[names], lazy["kind"])
    assert there.classes_.tolist() == ["ant", "bee"]
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-3)
    np.testing.assert_array_equal(there.predict(lazy[names]).compute(), here.predict(frame[names]))
    assert there.score(lazy[names], lazy["kind"]) == here.score(frame[names], frame["kind"])


def test_numbers_of_the_client_beside_a_frame(frames):
    frame, lazy, names = frames
    here, there = tenfold.Ridge().fit(frame[names], frame["y"]), tenfold.Ridge().fit(lazy[names], frame["y"])
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)


# -- cross-validation


@pytest.mark.parametrize(
    "cv", [3, KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)], ids=["3", "shuffled", "random"]
)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_folds(cv, scoring):
    X, y, _ = regression()
    weight = zero_weights(60)
    alphas = [1e-2, 1.0, 100.0]
    here = tenfold.RidgeCV(alphas, cv=cv, scoring=scoring).fit(X, y, weight)
    there = tenfold.RidgeCV(alphas, cv=cv, scoring=scoring).fit(put(X), put(y), put(weight))
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=1e-9)
    assert there.alpha_ == here.alpha_


@pytest.mark.parametrize("cv", [3, StratifiedKFold(4)], ids=["3", "stratified"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("weighted", [True, False])
def test_folds_of_classes(cv, count, weighted):
    X, y, _ = classes(count=count)
    weight = zero_weights(60) if weighted else None
    alphas = [1e-2, 1.0, 100.0]
    here = tenfold.RidgeClassifierCV(alphas, cv=cv).fit(X, y, weight)
    there = tenfold.RidgeClassifierCV(alphas, cv=cv).fit(put(X), put(y), None if weight is None else put(weight))
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=1e-12)
    assert there.alpha_ == here.alpha_


def test_targets_stay_where_folds_need_none(monkeypatch):
    X, y, _ = regression()
    fetched = []
    compute = da.Array.compute
    monkeypatch.setattr(da.Array, "compute", lambda array, **kwargs: (fetched.append(1), compute(array, **kwargs))[1])
    tenfold.RidgeCV([1.0, 10.0], cv=KFold(3)).fit(put(X), put(y))
    assert not fetched


def test_what_needs_numbers_of_each_row_raises():
    X, y, _ = regression()
    with pytest.raises(ValueError, match=r"60 x 1 x 3 leave-one-out residuals, 1,440 bytes.*default scoring"):
        tenfold.RidgeCV(store_cv_results=True).fit(put(X), put(y))
    with pytest.raises(ValueError, match="default scoring"):
        tenfold.RidgeCV(scoring="neg_mean_absolute_error").fit(put(X), put(y))
    with pytest.raises(ValueError, match=r"folds are scored by r2.*predictions of all 60 rows"):
        tenfold.RidgeCV(scoring="neg_mean_absolute_error", cv=3).fit(put(X), put(y))
    model = tenfold.RidgeCV().fit(put(X), put(y))
    with pytest.raises(ValueError, match="Prediction intervals"):
        model.predict_interval(X)


# -- other ways in


def test_parts():
    """Parts of the rows, each a Dask array, merge into the fit of all."""
    X, y, _ = regression()
    model = tenfold.Ridge().partial_fit(put(X[:20]), put(y[:20])).partial_fit(put(X[20:]), put(y[20:]))
    np.testing.assert_allclose(model.coef_, tenfold.Ridge().fit(X, y).coef_, rtol=1e-9)
    X, y, _ = classes(count=3)
    model = tenfold.RidgeClassifier().partial_fit(put(X[:20]), put(y[:20]), ["ant", "bee", "cat"])
    model.partial_fit(put(X[20:]), put(y[20:]))
    np.testing.assert_allclose(model.coef_, tenfold.RidgeClassifier().fit(X, y).coef_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"not named: \['dog'\]"):
        model.partial_fit(put(X), put(np.full(60, "dog")))


def test_functions():
    X, y, _ = regression()
    np.testing.assert_allclose(
        tenfold.ridge_regression(put(X), put(y), 2.0), tenfold.ridge_regression(X, y, 2.0), rtol=1e-10
    )
    here, there = (tenfold.ridge_path(*data, [0.1, 1.0]) for data in ((X, y), (put(X), put(y))))
    np.testing.assert_allclose(there.coefs, here.coefs, rtol=1e-10)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
def test_models_of_others_are_judged(solver):
    X, y, _ = classes(n=300)
    model = TheirLogisticRegression(solver=solver, tol=1e-8, max_iter=1000).fit(X, y)
    here, there = tenfold.certify(model, X, y), tenfold.certify(model, put(X), put(y))
    assert there.ok == here.ok
    assert there.objective == pytest.approx(here.objective, rel=1e-12)


def test_a_standing_start():
    X, y, _ = classes(n=300)
    model = tenfold.LogisticRegression(warm_start=True).fit(put(X), put(y))
    assert model.fit(put(X), put(y)).n_iter_[0] <= 2


# -- more columns than a square matrix is formed for


def test_conjugate_gradients(monkeypatch):
    X, y, _ = regression(n=200, p=12)
    expected = tenfold.Ridge().fit(X, y).coef_
    monkeypatch.setattr(least_squares, "DENSE_COLUMNS", 10)
    model = tenfold.Ridge(tol=1e-8).fit(put(X), put(y))
    assert model.method_ == "conjugate"
    assert model.certificate_.ok
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-5)


def test_many_columns_and_classes():
    X, y, _ = classes(n=150, p=1100)
    here, there = tenfold.LogisticRegression().fit(X, y), tenfold.LogisticRegression().fit(put(X, 50), put(y, 50))
    assert there.certificate_.ok
    assert there.certificate_.objective == pytest.approx(here.certificate_.objective, rel=1e-5)


# -- bad input


ROW = {"LinearRegression": {}, "RidgeClassifier": {}, "RidgeCV": {"cv": 3}, "LogisticRegression": {}}


@pytest.mark.parametrize("name", ROW)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_place_of_what_is_not_finite_is_named(name, bad):
    X, y, _ = (regression if name in ("LinearRegression", "RidgeCV") else classes)(n=120)
    X[40, 2] = bad
    model = getattr(tenfold, name)(**ROW[name])
    with pytest.raises(ValueError, match=r"X contains NaN or infinity: chunk 2 \(rows 34 to 50\), row 40, column 2"):
        model.fit(put(X), put(y))
    assert not hasattr(model, "coef_")


def test_bad_targets_and_weights():
    X, y, _ = regression()
    y[40] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN or infinity: chunk 2 \(rows 34 to 50\), row 40"):
        tenfold.Ridge().fit(put(X), put(y))
    y[40] = 0.0
    for weight, error in ((-1.0, "Negative"), (np.nan, "NaN"), (0.0, "non-zero")):
        with pytest.raises(ValueError, match=error):
            tenfold.Ridge().fit(put(X), put(y), put(np.full(60, weight)))
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"):
        tenfold.Ridge().fit(put(X), put(y[1:]))
    with pytest.raises(ValueError, match="0 sample"):
        tenfold.Ridge().fit(put(X[:0]), put(y[:0]))
    with pytest.raises(ValueError, match="only one class"):
        tenfold.LogisticRegression().fit(put(X), put(np.ones(60, dtype=int)))
    with pytest.raises(ValueError, match="Unknown label type"):
        tenfold.RidgeClassifier().fit(put(X), put(y))


def test_three_classes():
    X, _, _ = regression()
    y = np.arange(60) % 3
    there, here = tenfold.LogisticRegression().fit(put(X), put(y)), tenfold.LogisticRegression().fit(X, y)
    assert there.certificate_.ok
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9, atol=1e-12)
