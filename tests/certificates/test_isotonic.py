"""Monotone regression: bounds, weights of zero, ties, and the gap against an independent solver."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression as SklearnIsotonic
from sklearn.isotonic import isotonic_regression as sklearn_function
from tampering import tamper

import tenfold
from tenfold import IsotonicRegression, certify, isotonic_regression
from tenfold.judge.isotonic import monotone


def draw(seed, n=40, ties=True):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, n // 2, n).astype(float) if ties else rng.permutation(n) / n
    y = x / x.max() + rng.standard_normal(n)
    weight = np.where(rng.random(n) < 0.2, 0.0, rng.random(n) + 0.1)
    return x, y, weight


def best_objective(y, weight, low, high):
    """The least mean squared error over low <= f_1 <= ... <= f_n <= high, by a solver of bounded least squares."""
    steps = np.tril(np.ones((len(y), len(y))))
    root = np.sqrt(weight / weight.sum())
    start = low if np.isfinite(low) else y.min() - 1.0
    solved = lsq_linear(steps * root[:, None], root * (y - start), bounds=(0.0, np.inf), tol=1e-14)
    values = start + np.cumsum(solved.x)
    values = np.clip(values, low, high)
    return 0.5 * float(weight @ (values - y) ** 2 / weight.sum())


@pytest.mark.parametrize("bounds", [(None, None), (0.0, None), (None, 0.6), (0.2, 0.8), (0.5, 0.5)])
@pytest.mark.parametrize("increasing", [True, False, "auto"])
def test_predictions_are_those_of_scikit_learn(bounds, increasing):
    x, y, weight = draw(1)
    y = -y if increasing is False else y
    settings = {"y_min": bounds[0], "y_max": bounds[1], "increasing": increasing, "out_of_bounds": "clip"}
    ours, peer = (cls(**settings).fit(x, y, weight) for cls in (IsotonicRegression, SklearnIsotonic))
    places = np.linspace(x.min() - 1.0, x.max() + 1.0, 101)
    np.testing.assert_allclose(ours.predict(places), peer.predict(places), atol=1e-12)
    np.testing.assert_allclose(ours.f_(x), peer.predict(x), atol=1e-12)
    assert ours.increasing_ == peer.increasing_
    assert (ours.X_min_, ours.X_max_) == (peer.X_min_, peer.X_max_)
    assert ours.certificate_.ok
    assert certify(ours, x, y, weight).ok
    assert certify(peer, x, y, weight).ok


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.1, np.inf), (-np.inf, 0.4), (0.1, 0.4)])
def test_the_gap_bounds_the_excess(bounds):
    """Of fits that are monotone, but not best: the gap is at least the true excess."""
    rng = np.random.default_rng(5)
    for trial in range(12):
        y, weight = rng.standard_normal(15) + np.linspace(0.0, 1.0, 15), 10.0 ** rng.uniform(-3.0, 3.0, 15)
        best = best_objective(y, weight, *bounds)
        exact = isotonic_regression(y, sample_weight=weight, y_min=bounds[0], y_max=bounds[1])
        for worse in (exact, np.clip(exact + 0.01 * trial, *bounds), np.clip(np.sort(y), *bounds)):
            certificate = monotone(y, worse, weight, low=bounds[0], high=bounds[1])
            excess = certificate.objective - best
            assert certificate.value >= excess - 1e-9
            assert certificate.lower_bound <= best + 1e-9
        assert monotone(y, exact, weight, low=bounds[0], high=bounds[1]).value <= 1e-12


def test_the_scale_does_not_know_the_offset_of_the_targets():
    """A constant is no good fit of a rising target, however far that is from zero."""
    y = 1e6 + np.arange(20.0)
    ones = np.ones(20)
    assert not monotone(y, np.full(20, y.mean()), ones).ok
    assert monotone(y, y, ones).ok
    assert not monotone(y, y[::-1], ones).ok


def test_a_weight_of_zero_counts_as_removed():
    x, y, weight = draw(2, ties=False)
    order = np.argsort(x)
    x, y, weight = x[order], y[order], weight[order]
    weight[0] = weight[-1] = 0.0
    kept = weight > 0.0
    ours = isotonic_regression(y, sample_weight=weight)
    np.testing.assert_allclose(ours[kept], sklearn_function(y[kept], sample_weight=weight[kept]), atol=1e-13)
    assert (np.diff(ours) >= 0.0).all()
    certificate = monotone(y, ours, weight)
    assert certificate.ok
    assert certificate.value == pytest.approx(monotone(y[kept], ours[kept], weight[kept]).value)
    model = IsotonicRegression().fit(x, y, weight)
    assert (model.X_min_, model.X_max_) == (x[kept][0], x[kept][-1])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, -1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_and_offsets(scale, offset, dtype):
    x, y, weight = draw(3)
    y = (scale * y + (offset if scale > 1.0 or dtype is np.float64 else 0.0)).astype(dtype)
    model = IsotonicRegression().fit((x * scale).astype(dtype), y, weight)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.predict((x * scale).astype(dtype)).dtype == dtype
    assert model.y_thresholds_.dtype == dtype


@pytest.mark.parametrize("y", [np.ones(5), np.zeros(5), np.arange(5.0), -np.arange(5.0)])
def test_targets_without_a_kink(y):
    model = IsotonicRegression().fit(np.arange(5.0), y)
    assert model.certificate_.ok
    assert certify(model, np.arange(5.0), y).ok


@pytest.mark.parametrize("settings", [{}, {"y_min": 0.3, "y_max": 0.9}, {"increasing": "auto"}, {"increasing": False}])
@pytest.mark.parametrize("cls", [IsotonicRegression, SklearnIsotonic])
def test_tampered_models_are_not_certified(cls, settings):
    """Also where the direction is chosen by the samples."""
    x, y, weight = draw(4)
    y = y + 2.0 * x / x.max()
    y = -y if settings.get("increasing") is False else y
    model = cls(**settings).fit(x, y, weight)
    assert certify(model, x, y, weight).ok
    for name, change, worse in tamper(model):
        assert not certify(worse, x, y, weight).ok, (name, change)


def test_a_method_that_reads_other_arrays_is_not_certified():
    x, y, _ = draw(6)
    model = SklearnIsotonic().fit(x, y)
    model.f_ = lambda x: np.asarray(x) * 0.5
    assert "predict" in certify(model, x, y).explain()


def test_out_of_bounds():
    x, y = np.arange(4.0), np.array([1.0, 3.0, 2.0, 4.0])
    outside = np.array([-1.0, 1.0, 9.0])
    assert np.isnan(IsotonicRegression().fit(x, y).predict(outside)).tolist() == [True, False, True]
    assert IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(outside).tolist() == [1.0, 2.5, 4.0]
    with pytest.raises(ValueError, match="below the interpolation range"):
        IsotonicRegression(out_of_bounds="raise").fit(x, y).predict(outside)
    with pytest.raises(ValueError, match="above the interpolation range"):
        IsotonicRegression(out_of_bounds="raise").fit(x, y).predict([9.0])
    model = IsotonicRegression().fit(x, y)
    assert "beyond the places" in certify(model, outside, y[:3]).explain()


def test_errors():
    x, y = np.arange(4.0), np.arange(4.0)
    with pytest.raises(ValueError, match="1d array or 2d array with 1 feature"):
        IsotonicRegression().fit(np.ones((4, 2)), y)
    with pytest.raises(ValueError, match="at most y_max"):
        IsotonicRegression(y_min=1.0, y_max=0.0).fit(x, y)
    with pytest.raises(ValueError, match="weights"):
        IsotonicRegression().fit(x, y, np.zeros(4))
    with pytest.raises(ValueError, match="NaN"):
        isotonic_regression([1.0, np.nan])
    with pytest.raises(ValueError, match="one dimension"):
        isotonic_regression(np.ones((2, 2)))
    with pytest.raises(ValueError, match="one"):
        certify(IsotonicRegression().fit(x, y), np.ones((4, 2)), y)


def test_a_doubtful_direction_is_said():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="spans zero"):
        IsotonicRegression(increasing="auto").fit(rng.standard_normal(30), rng.standard_normal(30))


def test_a_certificate_that_is_not_ok_warns(monkeypatch):
    monkeypatch.setattr("tenfold.plans.isotonic.pool", lambda y, *_, **__: np.sort(y))
    with pytest.warns(ConvergenceWarning, match="gap"):
        IsotonicRegression().fit(np.arange(4.0), np.array([1.0, 3.0, 2.0, 4.0]))


def test_calibration_uses_the_same_curve():
    X, y = np.arange(40.0)[:, None] % 13, np.arange(40) % 3 > 0
    model = tenfold.decide.Calibrator(tenfold.RidgeClassifier(), method="isotonic", cv=3).fit(X, y)
    curve = IsotonicRegression(out_of_bounds="clip").fit(model.left_out_scores_, y.astype(float))
    np.testing.assert_array_equal(model.calibrators_[0].values, curve.y_thresholds_)
    assert model.certificate_.ok
