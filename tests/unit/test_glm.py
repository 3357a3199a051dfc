"""Deviances: targets out of range, counts that are all zero, offsets, starts."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import GammaRegressor, PoissonRegressor, TweedieRegressor


def counts(n=200, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, rng.poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)


@pytest.mark.parametrize(
    ("model", "value", "name"),
    [
        (PoissonRegressor(), -1.0, "HalfPoissonLoss"),
        (GammaRegressor(), 0.0, "HalfGammaLoss"),
        (TweedieRegressor(power=1.5), -0.5, "HalfTweedieLoss"),
        (TweedieRegressor(power=2.5), 0.0, "HalfTweedieLoss"),
        (TweedieRegressor(power=1, link="identity"), -0.5, "HalfTweedieLossIdentity"),
    ],
    ids=str,
)
def test_targets_out_of_range(model, value, name):
    X, y = counts()
    y = y + 1.0
    model.fit(X, y)
    y[3] = value
    for call in (model.fit, model.score):
        with pytest.raises(ValueError, match=f"Some value.s. of y are out of the valid range of the loss '{name}'"):
            call(X, y)


def test_counts_that_are_all_zero_have_no_best_mean():
    X, _ = counts()
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = PoissonRegressor(alpha=0.0).fit(X, np.zeros(200))
    assert model.status_ == "no maximum"
    assert not model.certificate_.ok


def test_a_column_that_is_seen_with_zero_counts_only():
    """Its weight falls for ever: said so, and cured by a penalty."""
    X, y = counts()
    X[:, 2] = (np.arange(200) % 50 == 0) * 1.0
    y[X[:, 2] > 0] = 0.0
    with pytest.warns(ConvergenceWarning, match=r"no maximum.*counts that are zero"):
        model = PoissonRegressor(alpha=0.0).fit(X, y)
    assert not model.certificate_.ok
    assert model.coef_[2] < -5.0
    assert PoissonRegressor(alpha=1e-3).fit(X, y).certificate_.ok


def test_an_offset_is_a_known_part_of_the_raw_prediction():
    """Counts over known times: the offset's own weight would be one."""
    X, _ = counts(4000)
    times = np.random.default_rng(2).uniform(0.2, 5.0, 4000)
    y = np.random.default_rng(3).poisson(times * np.exp(0.3 * X[:, 0] - 0.2)).astype(float)
    model = PoissonRegressor(alpha=0.0).fit(X, y, offset=np.log(times))
    rates = PoissonRegressor(alpha=0.0).fit(X, y / times, sample_weight=times)
    np.testing.assert_allclose(model.coef_, rates.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict(X, offset=np.log(times)), times * rates.predict(X), rtol=1e-7)
    free = PoissonRegressor(alpha=0.0).fit(np.column_stack([X, np.log(times)]), y)
    assert abs(free.coef_[-1] - 1.0) < 0.1
    square = TweedieRegressor(alpha=0.1).fit(X, y, offset=3.0 * X[:, 1])
    plain = TweedieRegressor(alpha=0.1).fit(X, y - 3.0 * X[:, 1])
    np.testing.assert_allclose(square.coef_, plain.coef_, rtol=1e-12)


def test_offsets_that_do_not_fit():
    X, y = counts()
    with pytest.raises(ValueError, match=r"one number a row, shape \(200,\)"):
        PoissonRegressor().fit(X, y, offset=np.zeros(199))
    with pytest.raises(ValueError, match="Input offset contains NaN"):
        PoissonRegressor().fit(X, y, offset=np.full(200, np.nan))
    with pytest.raises(ValueError, match="no offset with the identity link"):
        TweedieRegressor(power=1, link="identity").fit(X, y + 1.0, offset=np.zeros(200))


def test_an_offset_is_routed():
    X, y = counts()
    offset = np.linspace(0.0, 1.0, 200)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PoissonRegressor().set_fit_request(offset=True).set_predict_request(offset=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, offset=offset)
        result = pipeline.predict(X, offset=offset)
    Z = StandardScaler().fit_transform(X)
    expected = PoissonRegressor().fit(Z, y, offset=offset).predict(Z, offset=offset)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("make", ["dask", "strict", "files"])
def test_offsets_of_rows_on_device_or_dask(make):
    X, y = counts()
    offset = np.linspace(0.0, 1.0, 200)
    expected = PoissonRegressor().fit(X, y, offset=offset)
    if make == "dask":
        array = pytest.importorskip("dask.array")
        given = [array.from_array(part, chunks=(60, 3)[: part.ndim]) for part in (X, y, offset)]
    elif make == "strict":
        strict = pytest.importorskip("array_api_strict")
        given = [strict.asarray(part) for part in (X, y, offset)]
    else:
        given = [tenfold.rows([(X[:70], y[:70]), (X[70:], y[70:])]), None, offset]
    model = PoissonRegressor().fit(given[0], given[1], offset=given[2])
    np.testing.assert_allclose(np.asarray(model.coef_), expected.coef_, rtol=1e-9)
    result = model.predict(given[0], offset=given[2])
    np.testing.assert_allclose(np.asarray(result), expected.predict(X, offset=offset), rtol=1e-9)
    assert model.score(given[0], given[1], offset=given[2]) == pytest.approx(
        expected.score(X, y, offset=offset), abs=1e-9
    )


def test_warm_start_continues():
    X, y = counts()
    model = PoissonRegressor(alpha=0.01, warm_start=True).fit(X, y)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="warm_start needs weights of shape"):
        model.fit(X[:, :2], y)


def test_large_counts_and_rare_ones():
    """The scale of the certificate is the deviance of the mean: what there is to explain."""
    X, _ = counts(2000)
    rng = np.random.default_rng(0)
    for level in (1e-3, 1e6):
        y = rng.poisson(level * np.exp(0.2 * X[:, 0])).astype(float)
        model = PoissonRegressor(alpha=0.0).fit(X, y)
        assert model.certificate_.ok
        null = tenfold.certify(PoissonRegressor(alpha=1e15).fit(X, y), X, y).objective
        np.testing.assert_allclose(model.certificate_.scale, null, rtol=1e-6)


def test_identity_link_without_a_start():
    X, y = counts()
    with pytest.raises(ValueError, match="no constant to start from"):
        TweedieRegressor(power=1, link="identity", fit_intercept=False).fit(X, y + 1.0)


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_shortest_of_all_minimisers(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    counts = rng.poisson(np.exp(X @ [0.5, -0.3, 0.2] + 0.1))
    twice = np.c_[X, factor * X]
    for model, y in (
        (tenfold.PoissonRegressor(alpha=0.0, tol=1e-10), counts),
        (tenfold.LogisticRegression(C=np.inf, tol=1e-10), counts > 0),
    ):
        once, both = clone(model).fit(X, y), clone(model).fit(twice, y)
        shortest = np.ravel(once.coef_) / (1.0 + factor**2)
        assert both.certificate_.ok
        assert_allclose(np.ravel(both.coef_), np.r_[shortest, factor * shortest], rtol=1e-7)
        assert_allclose(both.intercept_, once.intercept_, rtol=1e-7)
