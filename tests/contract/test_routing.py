"""Metadata routing: weights reach the fit through pipelines, searches and cross-validation, or are refused."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from estimators import LINEAR, SHAPES, one_a_class, parameters, row_of, zero_weights

FIRST = one_a_class([row for row in LINEAR if not row.outliers])
every_class = pytest.mark.parametrize("row", FIRST, ids=lambda row: row.name)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def new_model(row):
    """A new estimator that asks for weights in its fit, and where it has a scorer there, too."""
    model = row.make()
    if "scoring" in row.settings:
        model.set_params(scoring=get_scorer(row.settings["scoring"]).set_score_request(sample_weight=True))
    return model.set_fit_request(sample_weight=True)


def scoring(model, weights):
    """The model, with `score` asking for weights or not, unless that is its scorer's to say."""
    delegates = any(name.endswith("__metadata_request__score") for name in vars(type(model)))
    return model if delegates else model.set_score_request(sample_weight=weights)


@every_class
def test_weights_through_a_pipeline(routing, row):
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60)
    model = scoring(new_model(row), weights=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(
        parameters(pipeline[-1]), parameters(new_model(row).fit(scaled, y, sample_weight=weight)), rtol=1e-12
    )


@every_class
def test_weights_through_cross_validation(routing, row):
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60)
    model = scoring(new_model(row), weights=False)
    result = cross_validate(
        model, X, y, params={"sample_weight": weight}, cv=3, return_estimator=True, return_indices=True
    )
    for fitted, train in zip(result["estimator"], result["indices"]["train"], strict=True):
        again = new_model(row).fit(X[train], y[train], sample_weight=weight[train])
        np.testing.assert_array_equal(parameters(fitted), parameters(again))


@every_class
def test_unrequested_weights_raise(routing, row):
    X, y, _ = SHAPES["tall"](row)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), row.make())
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pipeline.fit(X, y, sample_weight=zero_weights(60))


@every_class
def test_weights_without_routing_through_a_pipeline(row):
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60)
    step = row.name.lower()
    pipeline = make_pipeline(StandardScaler(), row.make()).fit(X, y, **{f"{step}__sample_weight": weight})
    again = row.make().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    np.testing.assert_allclose(parameters(pipeline[-1]), parameters(again), rtol=1e-12)


def test_groups_reach_the_splitter_of_a_cross_validated_class(routing):
    row = row_of("RidgeCV")
    X, y, _ = SHAPES["tall"](row)
    groups = np.arange(60) // 7
    model = tenfold.RidgeCV([0.1, 1.0, 10.0], cv=GroupKFold(3).set_split_request(groups=True))
    model.fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    again = tenfold.RidgeCV([0.1, 1.0, 10.0], cv=splits).fit(X, y)
    assert model.alpha_ == again.alpha_
    np.testing.assert_array_equal(parameters(model), parameters(again))


def test_weights_reach_the_scorer_of_a_cross_validated_class(routing):
    from sklearn.metrics import make_scorer, mean_squared_error

    row = row_of("RidgeCV")
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60) + 0.1
    seen = []

    def score(truth, predictions, sample_weight=None):
        seen.append(None if sample_weight is None else len(sample_weight))
        return -mean_squared_error(truth, predictions, sample_weight=sample_weight)

    scorer = make_scorer(score).set_score_request(sample_weight=True)
    tenfold.RidgeCV([0.1, 1.0], cv=3, scoring=scorer).fit(X, y, sample_weight=weight)
    assert seen
    assert all(length == 20 for length in seen)


def test_weights_that_the_scorer_does_not_request_raise_in_score(routing):
    row = row_of("LogisticRegressionCV")
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60) + 0.1
    silent, asking = (get_scorer("accuracy").set_score_request(sample_weight=request) for request in (False, True))
    model = row.make().set_params(scoring=silent).fit(X, y)
    with pytest.raises(TypeError, match=r"score got unexpected argument\(s\) {'sample_weight'}"):
        model.score(X, y, sample_weight=weight)
    weighted = model.set_params(scoring=asking).score(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted, np.average(model.predict(X) == y, weights=weight))


@every_class
def test_grid_search(row):
    X, y, _ = SHAPES["tall"](row)
    grid = {"fit_intercept": [True, False]}
    search = GridSearchCV(row.make(), grid, cv=3).fit(X, y)
    assert search.best_estimator_.certificate_.ok or not row.judged


def test_ridge_inside_a_pipeline_can_be_certified():
    row = row_of("Ridge")
    X, y, _ = SHAPES["tall"](row)
    pipeline = make_pipeline(StandardScaler(), tenfold.Ridge()).fit(X, y)
    assert tenfold.certify(pipeline, X, y).ok


OFFSETS = {
    "PoissonRegressor": {"alpha": 0.1},
    "GammaRegressor": {"alpha": 0.1},
    "HuberRegressor": {},
    "QuantileRegressor": {"alpha": 0.01},
    "GeneralizedLinear": {"loss": "poisson", "alpha": 0.1},
}


@pytest.mark.parametrize("name", OFFSETS)
def test_an_offset_reaches_fit_predict_and_score(routing, name):
    rng = np.random.default_rng(0)
    X, offset = rng.standard_normal((60, 3)), rng.uniform(-1.0, 1.0, 60)
    y = rng.gamma(5.0, np.exp(0.3 * X[:, 0] + offset) / 5.0)
    weight = rng.integers(1, 3, 60).astype(float)

    def new_model(**more):
        return getattr(tenfold, name)(**{**OFFSETS[name], **more})

    model = new_model().set_fit_request(offset=True, sample_weight=True).set_predict_request(offset=True)
    model.set_score_request(offset=True, sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, y, offset=offset, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    alone = new_model().fit(scaled, y, weight, offset=offset)
    np.testing.assert_allclose(pipeline.predict(X, offset=offset), alone.predict(scaled, offset=offset), rtol=1e-9)
    there = pipeline.score(X, y, offset=offset, sample_weight=weight)
    assert there == pytest.approx(alone.score(scaled, y, weight, offset=offset), rel=1e-9)
    assert there != pytest.approx(alone.score(scaled, y, weight), rel=1e-3)
    search = GridSearchCV(pipeline, {f"{name.lower()}__alpha": [0.01, 1.0]}, cv=3)
    search.fit(X, y, offset=offset, sample_weight=weight)
    train, test = np.arange(20, 60), np.arange(20)
    by_hand = StandardScaler().fit(X[train])
    fold = new_model(alpha=0.01).fit(by_hand.transform(X[train]), y[train], weight[train], offset=offset[train])
    score = fold.score(by_hand.transform(X[test]), y[test], weight[test], offset=offset[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(score, rel=1e-6)
