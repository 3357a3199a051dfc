"""Rows that come in parts, and moments that were folded elsewhere: the same models as from all rows at once."""

import io
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import tenfold
from design import only_if
from estimators import SOLVED, classes, columns_of, parameters, regression, row_of, zero_weights
from tenfold import Moments

# parts that are learned from one after the other are not the whole
ROWS = [row for row in SOLVED if hasattr(getattr(tenfold, row.name), "partial_fit") and not row.sequential]
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
CUTS = [0, 3, 20, 47, 60]


def parts(*arrays):
    return [tuple(None if a is None else a[i:j] for a in arrays) for i, j in pairwise(CUTS)]


def in_parts(row, X, y, weight=None):
    model = row.make()
    names = {"classes": np.unique(y)} if row.classifier else {}
    for X_part, y_part, w_part in parts(X, y, weight):
        model.partial_fit(X_part, y_part, sample_weight=w_part, **names)
    return model


def test_the_methods_that_take_parts():
    assert {row.name for row in ROWS} == {"LinearRegression", "Ridge", "RidgeClassifier"}
    assert len(SOLVED) > len(ROWS)


@every_row
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_parts_are_the_whole(row, weighted, kind):
    X, y, _ = classes(count=3) if row.classifier else regression()
    weight = zero_weights(60) if weighted else None
    if row.settings.get("class_weight"):
        with pytest.raises(ValueError, match="class_weight needs all rows"):
            in_parts(row, X, y)
        return
    whole, grown = row.make().fit(kind(X), y, sample_weight=weight), in_parts(row, kind(X), y, weight)
    np.testing.assert_allclose(parameters(grown), parameters(whole), rtol=1e-12, atol=1e-13)
    assert grown.certificate_.ok
    assert "moments" in grown.certificate_.explain()
    assert grown.moments_.count == whole.moments_.count
    assert grown.predict(X).shape == (60,)


@every_row
@only_if(lambda row: not row.classifier)
def test_parts_after_a_fit(row):
    X, y, _ = regression()
    model = row.make().fit(X[:30], y[:30])
    model.partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(parameters(model), parameters(row.make().fit(X, y)), rtol=1e-12, atol=1e-13)


@every_row
@only_if(lambda row: not row.classifier)
def test_moments_in_place_of_rows(row):
    X, y, _ = regression()
    weight = zero_weights(60)
    merged = None
    for X_part, y_part, w_part in parts(X, y, weight):
        file = io.BytesIO()
        Moments.of(X_part, y_part, w_part).save(file)
        file.seek(0)
        result = Moments.load(file)
        merged = result if merged is None else merged.merge(result)
    model = row.make().fit(merged)
    whole = row.make().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(parameters(model), parameters(whole), rtol=1e-12, atol=1e-13)
    assert model.n_features_in_ == 4
    if row.name == "LinearRegression" and not row.positive:
        np.testing.assert_allclose(model.inference_.standard_errors, whole.inference_.standard_errors, rtol=1e-9)


def test_several_targets():
    row = row_of("Ridge")
    X, Y = regression().X, columns_of(row, 3)
    model = tenfold.Ridge(alpha=[0.1, 1.0, 10.0])
    for X_part, Y_part in parts(X, Y):
        model.partial_fit(X_part, Y_part)
    whole = tenfold.Ridge(alpha=[0.1, 1.0, 10.0]).fit(X, Y)
    np.testing.assert_allclose(parameters(model), parameters(whole), rtol=1e-12, atol=1e-13)


def test_singular_moments_give_the_shortest_weights():
    X, y, _ = regression()
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    model = tenfold.LinearRegression().fit(Moments.of(X, y))
    np.testing.assert_allclose(model.coef_, tenfold.LinearRegression().fit(X, y).coef_, rtol=1e-7, atol=1e-8)
    assert model.certificate_.ok


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # moments so far off cannot be judged
def test_an_offset_and_units_do_not_matter():
    X, y, _ = regression()
    X = (X + 1e6) * np.array([1e-150, 1.0, 1e100, 1e3])
    model = tenfold.LinearRegression()
    for X_part, y_part in parts(X, y):
        model.partial_fit(X_part, y_part)
    whole = tenfold.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-6, atol=1e-6)


def test_perturbed_model_is_not_certified_by_its_moments():
    from tenfold.judge.least_squares import residual_from_moments
    from tenfold.plans.least_squares import ridge_problem
    from tenfold.stats.derivatives import Params

    X, y, _ = regression()
    moments = Moments.of(X, y)
    model = tenfold.Ridge().fit(moments)
    problem = ridge_problem(np.array([1.0]), moments.weight, intercept=True)
    good = Params(model.coef_[None, :], np.atleast_1d(model.intercept_))
    assert residual_from_moments(problem, moments, good).certificate.ok
    for worse in (Params(good.coef * 1.0001, good.intercept), Params(good.coef, good.intercept + 1e-3)):
        assert not residual_from_moments(problem, moments, worse).certificate.ok


def test_bad_parts():
    X, y, _ = regression()
    model = tenfold.Ridge().partial_fit(X[:20], y[:20])
    before = parameters(model)
    with pytest.raises(ValueError, match="X has 3 features, but Ridge is expecting 4"):
        model.partial_fit(X[20:, :3], y[20:])
    bad = X[20:].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[20:])
    np.testing.assert_array_equal(parameters(model), before)
    model.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parameters(model), parameters(tenfold.Ridge().fit(X, y)), rtol=1e-12)
    with pytest.raises(ValueError, match="neither y nor sample_weight"):
        tenfold.Ridge().fit(Moments.of(X, y), y)
    with pytest.raises(ValueError, match="no targets"):
        tenfold.Ridge().fit(Moments.of(X))
    labels = y > 0
    with pytest.raises(ValueError, match="classes must be passed"):
        tenfold.RidgeClassifier().partial_fit(X, labels)
    grown = tenfold.RidgeClassifier().partial_fit(X, labels, classes=[False, True])
    with pytest.raises(ValueError, match="not the same as on last call"):
        grown.partial_fit(X, labels, classes=[False, True, 2])
    with pytest.raises(ValueError, match="not named"):
        grown.partial_fit(X, np.full(60, 7))


def test_copies_keep_what_they_know():
    X, y, _ = regression()
    model = pickle.loads(pickle.dumps(tenfold.Ridge().partial_fit(X[:20], y[:20])))
    model.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parameters(model), parameters(tenfold.Ridge().fit(X, y)), rtol=1e-12)
