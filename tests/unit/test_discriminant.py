"""Discriminants: what is kept of the rows, and what the judge of directions refuses."""

import copy

import numpy as np
import pytest
import scipy.linalg as la
import sklearn.discriminant_analysis
from sklearn.base import clone
from sklearn.datasets import load_iris

import tenfold
from tenfold import LinearDiscriminantAnalysis, NearestCentroid
from tenfold.estimators.class_statistics import as_class_rows
from tenfold.judge import discriminant as judge
from tenfold.judge import lda_directions
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within_class_scatter import WithinFactor, WithinMoments

X, Y = load_iris(return_X_y=True)
Y = np.asarray(Y)


def test_only_the_covariance_within_classes_is_kept():
    assert isinstance(LinearDiscriminantAnalysis().fit(X, Y)._sums, WithinMoments)
    for settings in ({"store_covariance": True}, {"solver": "lsqr"}, {"solver": "eigen", "shrinkage": 0.1}):
        assert isinstance(LinearDiscriminantAnalysis(**settings).fit(X, Y)._sums, GroupedMoments)


def test_wide_rows_are_folded_class_by_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    wide = rng.standard_normal((900, 600)) + y[:, None]
    model = LinearDiscriminantAnalysis().fit(wide, y)
    assert model.certificate_.ok
    S = sum(np.cov(wide[y == k].T, bias=True) * np.mean(y == k) for k in range(3))
    np.testing.assert_allclose(model._sums.covariance(), S, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fewer_samples_than_features(dtype, tmp_path):
    """A factor of the scatter is kept; with weights, a constant feature, a model from a file, and further samples."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    wide = (rng.standard_normal((90, 130)) + rng.standard_normal((90, 1)) + y[:, None]).astype(dtype)
    wide[:, 7], weight = 1e6 / 3.0, rng.integers(0, 3, 90).astype(float)
    model = LinearDiscriminantAnalysis().fit(wide, y, weight)
    assert isinstance(model._sums, WithinFactor)
    assert model.certificate_.ok
    assert "not judged" not in model.certificate_.note
    repeated = np.repeat(np.arange(90), weight.astype(int))
    varying = np.delete(wide, 7, axis=1)  # scikit-learn divides the rounding of its mean by a spread that is rounding
    sklearn_model = sklearn.discriminant_analysis.LinearDiscriminantAnalysis().fit(varying[repeated], y[repeated])
    rtol = 1e-8 if dtype is np.float64 else 1e-3
    expected = sklearn_model.decision_function(varying)
    assert not model.coef_[:, 7].any()
    np.testing.assert_allclose(model.decision_function(wide), expected, rtol=rtol, atol=rtol * np.max(abs(expected)))
    moments = WithinMoments.of(as_class_rows(wide, y.astype(np.int32), weight).fold(GroupedMoments.lifter(3)))
    np.testing.assert_allclose(model._sums.scatter, moments.scatter, rtol=1e-9, atol=1e-9 * np.max(moments.scatter))
    assert model._sums.count == moments.count
    tenfold.save(model, tmp_path / "model")
    loaded = tenfold.load(tmp_path / "model")
    labels = rng.integers(0, 3, 900)
    more = (rng.standard_normal((900, 130)) + labels[:, None]).astype(dtype)
    more[:, 7] = wide[0, 7]
    loaded.partial_fit(more, labels)
    assert isinstance(loaded._sums, WithinMoments)
    at_once = LinearDiscriminantAnalysis().fit(
        np.vstack([wide, more]), np.append(y, labels), np.append(weight, np.ones(900))
    )
    np.testing.assert_allclose(loaded.means_, at_once.means_, rtol=1e-6)
    assert loaded.certificate_.ok
    assert at_once.certificate_.ok


@pytest.mark.parametrize("common", [0.0, 30.0])
def test_wide_weights_that_are_not_a_discriminant(common):
    """The judge of fewer samples than features accepts no other weights, and does so without a tolerance as well."""
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    wide = rng.standard_normal((60, 200)) + common * rng.standard_normal((60, 1)) + y[:, None]
    for tol in (1e-4, 0.0):
        model = LinearDiscriminantAnalysis(tol=tol).fit(wide, y)
        assert model.certificate_.ok
    sklearn_model = sklearn.discriminant_analysis.LinearDiscriminantAnalysis().fit(wide, y)
    assert tenfold.certify(sklearn_model, wide, y).ok
    V = sklearn_model.scalings_ = sklearn_model.scalings_[:, :1]  # a direction is left out, consistently
    inside = (sklearn_model.means_ - sklearn_model.xbar_) @ V
    sklearn_model.coef_ = inside @ V.T
    logs = np.log(sklearn_model.priors_)
    sklearn_model.intercept_ = -0.5 * np.sum(inside**2, axis=1) + logs - sklearn_model.coef_ @ sklearn_model.xbar_
    assert not tenfold.certify(sklearn_model, wide, y).ok


def test_parts_after_other_settings():
    """Covariances of classes that were kept may be left out later, those that were not cannot come back."""
    kept = LinearDiscriminantAnalysis(store_covariance=True).fit(X[::2], Y[::2])
    kept.set_params(store_covariance=False).partial_fit(X[1::2], Y[1::2])
    np.testing.assert_allclose(kept.coef_, LinearDiscriminantAnalysis().fit(X, Y).coef_, rtol=1e-9)
    assert kept.certificate_.ok
    model = LinearDiscriminantAnalysis().fit(X[::2], Y[::2])
    with pytest.raises(ValueError, match="fit again on all rows"):
        model.set_params(store_covariance=True).partial_fit(X[1::2], Y[1::2])


@pytest.mark.parametrize("spoilt", ["mean", "coef", "intercept", "directions", "outside"])
def test_judge_does_not_certify_what_is_off(spoilt):
    """Each alone, and weights that leave the directions."""
    model = LinearDiscriminantAnalysis().fit(X, Y)
    parts = {
        "mean": model.means_.copy(),
        "coef": model.coef_.copy(),
        "intercept": model.intercept_.copy(),
        "directions": model.scalings_.copy(),
    }
    rows = as_class_rows(X, Y, None)

    def certificate():
        stored = judge.Stored(parts["mean"], model.priors_, parts["coef"], parts["intercept"])
        seen = lda_directions.DirectionStatistics.of_rows(rows, parts["mean"], parts["directions"])
        also = {"centre": model.xbar_, "shares": model.explained_variance_ratio_, "more": {}}
        return lda_directions.judge_directions(seen, stored, parts["directions"], model.tol, **also)

    whole = certificate()
    if spoilt == "outside":
        parts["coef"][1] += 1e-5 * la.null_space(model.scalings_.T)[:, 0]
    else:
        parts[spoilt].ravel()[-1] += 1e-5
    assert not certificate().ok
    assert whole.ok


def along(model, V):
    """The model with weights along other directions, of unit variance within classes, and what follows from these."""
    centred = model.means_ - model.xbar_
    other = copy.deepcopy(model)
    other.scalings_, other.coef_ = V, (centred @ V) @ V.T
    other.intercept_ = -0.5 * np.sum((centred @ V) ** 2, axis=1) + np.log(model.priors_) - other.coef_ @ model.xbar_
    return other


@pytest.mark.parametrize("columns", [4, 6], ids=["independent", "dependent"])
def test_judge_does_not_certify_directions_that_do_not_tell_classes_apart(columns):
    """Weights that follow from their directions, where these are too few, or any others of unit variance."""
    rows = np.column_stack([X, X[:, 0] - X[:, 1], np.full(len(X), 2.0)])[:, :columns]
    model = LinearDiscriminantAnalysis().fit(rows, Y)
    assert model.certificate_.ok
    assert tenfold.certify(along(model, model.scalings_), rows, Y).ok
    assert not tenfold.certify(along(model, model.scalings_[:, :1]), rows, Y).ok
    centred = rows - model.means_[Y]
    V = np.random.default_rng(0).standard_normal((columns, 2))
    V[4:] = 0.0
    V = V @ np.linalg.inv(np.linalg.cholesky((centred @ V).T @ (centred @ V) / len(Y))).T
    assert not tenfold.certify(along(model, V), rows, Y).ok


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_judge_does_not_certify_directions_in_another_order(solver):
    """Weights are the same, and what `transform` shows is not."""
    model = LinearDiscriminantAnalysis(solver=solver).fit(X, Y)
    assert model.certificate_.ok
    turned, c = copy.deepcopy(model), np.sqrt(0.5)
    turned.scalings_ = model.scalings_.copy()
    turned.scalings_[:, :2] = model.scalings_[:, :2] @ np.array([[c, -c], [c, c]])
    assert not tenfold.certify(turned, X, Y).ok
    turned.scalings_[:, :2] = model.scalings_[:, 1::-1]
    assert not tenfold.certify(turned, X, Y).ok
    if solver == "eigen":
        turned.scalings_ = model.scalings_[:, ::-1].copy()
        assert not tenfold.certify(turned, X, Y).ok


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has at least 1 zero")
@pytest.mark.parametrize("value", [0.1, -658.04167556, 1e9 / 3.0])
def test_centroids_of_a_column_that_is_constant(value):
    """The sums of equal numbers may round; that is no spread, and no other formula has to find it again."""
    rows = np.column_stack([X, np.full(len(X), value)])
    for threshold in (None, 0.2):
        model = NearestCentroid(shrink_threshold=threshold).fit(rows, Y)
        assert model.certificate_.ok
        assert model.within_class_std_dev_[-1] <= 1e-12 * abs(value)
        model.within_class_std_dev_[-1] = 1e-3 * abs(value)
        assert not tenfold.certify(model, rows, Y).ok


def test_eigenvectors_of_a_constant_column_say_what_to_do():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 2] = 3.0
    with pytest.raises(np.linalg.LinAlgError, match=r"column 2 does not vary.*solver='svd', or set shrinkage"):
        LinearDiscriminantAnalysis(solver="eigen").fit(X, np.arange(60) % 3)


@pytest.mark.parametrize(
    "settings",
    [
        {"store_covariance": True},
        {"solver": "lsqr"},
        {"solver": "eigen", "shrinkage": "auto"},
        {"priors": [0.2, 0.3, 0.5]},
    ],
    ids=str,
)
def test_judge_does_not_certify_priors_with_the_intercepts_that_follow(settings):
    """And covariances, the centre and shares of the directions; scikit-learn's fits are certified."""
    for cls in (LinearDiscriminantAnalysis, sklearn.discriminant_analysis.LinearDiscriminantAnalysis):
        model = cls(**settings).fit(X, Y)
        assert tenfold.certify(model, X, Y).ok
        other = copy.deepcopy(model)
        other.priors_ = np.array([0.5, 0.3, 0.2])
        other.intercept_ = model.intercept_ + np.log(other.priors_) - np.log(model.priors_)
        assert not tenfold.certify(other, X, Y).ok
        for name in {"covariance_", "xbar_", "explained_variance_ratio_"} & set(vars(model)):
            other = copy.deepcopy(model)
            setattr(other, name, getattr(model, name) * (1.0 + 1e-6))
            assert not tenfold.certify(other, X, Y).ok, name


def test_single_precision_in_and_out():
    few = X.astype(np.float32)
    model = LinearDiscriminantAnalysis().fit(few, Y)
    for method in ("transform", "predict_proba", "decision_function"):
        assert getattr(model, method)(few).dtype == np.float32
    assert tenfold.PCA(2).fit(few).score_samples(few).dtype == np.float32
    assert tenfold.GaussianNB().fit(few, Y).predict_proba(few).dtype == np.float32


@pytest.mark.parametrize(
    "model",
    [
        tenfold.LinearDiscriminantAnalysis(solver="lsqr"),
        tenfold.LinearDiscriminantAnalysis(solver="eigen"),
        tenfold.QuadraticDiscriminantAnalysis(solver="eigen"),
    ],
    ids=str,
)
def test_parts_may_lack_classes(model):
    """No part holds all classes: two of them first, then the third."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.standard_normal((90, 3)) + 2.0 * y[:, None]
    parts = clone(model).partial_fit(X[:60], y[:60], classes=[0, 1, 2]).partial_fit(X[60:], y[60:])
    np.testing.assert_allclose(parts.means_, clone(model).fit(X, y).means_, rtol=1e-12)
    np.testing.assert_array_equal(parts.predict(X), clone(model).fit(X, y).predict(X))
