"""Densities, local means and histograms against scikit-learn, SciPy and formulas written out."""

import numpy as np
import pytest
import scipy.stats
import sklearn.neighbors
from scipy.integrate import quad

import tenfold
from tenfold import Histogram, KernelDensity, ParzenRegressor
from tenfold.plans.neighbours import log_volume

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
Q = RNG.standard_normal((40, 3)) * 1.5
Y = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(150)
W = RNG.integers(1, 4, 150).astype(float)
KERNELS = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weight", [None, W], ids=["equal", "weights"])
@pytest.mark.parametrize("bandwidth", [0.4, 2.0, "scott", "silverman"])
def test_densities_of_scikit_learn(kernel, weight, bandwidth):
    settings = {"kernel": kernel, "bandwidth": bandwidth}
    ours = KernelDensity(**settings).fit(X, sample_weight=weight)
    sklearn_model = sklearn.neighbors.KernelDensity(**settings).fit(X, sample_weight=weight)
    assert ours.bandwidth_ == pytest.approx(sklearn_model.bandwidth_, rel=1e-14)
    result, expected = ours.score_samples(Q), sklearn_model.score_samples(Q)
    # scikit-learn subtracts the bounds of a tree and leaves their rounding: a density of zero is not zero there
    np.testing.assert_allclose(np.exp(result), np.exp(expected), rtol=1e-7, atol=1e-13)
    assert ours.certificate_.ok
    assert tenfold.certify(ours, X, None, weight).ok


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "canberra"])
def test_densities_in_other_metrics(metric):
    ours, sklearn_model = (cls(metric=metric).fit(X) for cls in (KernelDensity, sklearn.neighbors.KernelDensity))
    np.testing.assert_allclose(ours.score_samples(Q), sklearn_model.score_samples(Q), rtol=1e-10)
    with pytest.raises(ValueError, match="invalid metric for KDTree"):
        KernelDensity(metric="canberra", algorithm="kd_tree").fit(X)


def test_gaussian_density_of_scipy():
    result = KernelDensity(bandwidth=0.3).fit(X[:, :1]).score_samples(Q[:, :1])
    scipy_density = scipy.stats.gaussian_kde(X[:, 0], bw_method=0.3 / X[:, 0].std(ddof=1))
    np.testing.assert_allclose(result, scipy_density.logpdf(Q[:, 0]), rtol=1e-10)


def test_far_from_the_rows_logarithms_stay():
    result = KernelDensity(bandwidth=0.1).fit([[0.0], [1.0]]).score_samples([[100.0]])
    assert result[0] == pytest.approx(scipy.stats.norm.logpdf(99.0 / 0.1) - np.log(2 * 0.1), rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_integrals_are_one(kernel):
    model = KernelDensity(kernel=kernel, bandwidth=0.7).fit(X[:5, :1])
    ends = sorted([*(X[:5, 0] - 0.7), *(X[:5, 0] + 0.7), *X[:5, 0]])
    area, _ = quad(lambda x: np.exp(model.score_samples([[x]]))[0], -40, 40, points=ends, limit=500)
    assert area == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_volume_of_the_cosine_window(d):
    area, _ = quad(lambda r: r ** (d - 1) * np.cos(0.5 * np.pi * r), 0, 1)
    sphere = d * np.pi ** (d / 2) / scipy.special.gamma(d / 2 + 1)
    assert log_volume("cosine", np.array([1.0]), d)[0] == pytest.approx(np.log(sphere * area), rel=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_bandwidth_by_likelihood(kernel):
    candidates = [0.5, 1.0, 2.0, 4.0]
    model = KernelDensity(bandwidth="likelihood", kernel=kernel, candidates=candidates).fit(X)
    for h, result in zip(model.candidates_, model.likelihoods_, strict=True):
        alone = [
            sklearn.neighbors.KernelDensity(bandwidth=h, kernel=kernel).fit(np.delete(X, i, 0)).score(X[i : i + 1])
            for i in range(len(X))
        ]
        if np.isfinite(result):
            assert result == pytest.approx(np.mean(alone), rel=1e-9)
        else:
            assert np.min(alone) < -1e300
    assert model.bandwidth_ == candidates[int(np.argmax(model.likelihoods_))]
    assert model.certificate_.ok
    with pytest.raises(ValueError, match="No candidate covers every row"):
        KernelDensity(bandwidth="likelihood", kernel="tophat", candidates=[1e-6]).fit(X)
    with pytest.raises(ValueError, match="positive bandwidths"):
        KernelDensity(bandwidth="likelihood", candidates=[-1.0]).fit(X)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
@pytest.mark.parametrize("weight", [None, W], ids=["equal", "weights"])
def test_rows_that_are_drawn(kernel, weight):
    ours, sklearn_model = (
        cls(kernel=kernel, bandwidth=0.5).fit(X, sample_weight=weight)
        for cls in (KernelDensity, sklearn.neighbors.KernelDensity)
    )
    np.testing.assert_allclose(ours.sample(20, random_state=3), sklearn_model.sample(20, random_state=3), rtol=1e-12)
    with pytest.raises(NotImplementedError):
        KernelDensity(kernel="linear").fit(X).sample()


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
@pytest.mark.parametrize(("metric", "power"), [("manhattan", 1.0), ("minkowski", 3.0), ("chebyshev", np.inf)])
def test_rows_that_are_drawn_from_other_windows(kernel, metric, power):
    given = {"p": power} if metric == "minkowski" else None
    model = KernelDensity(kernel=kernel, bandwidth=0.5, metric=metric, metric_params=given).fit(np.full((1, 3), 2.0))
    away = (model.sample(4000, random_state=0) - 2.0) / 0.5
    length = np.linalg.norm(away, ord=power, axis=1)
    law = scipy.stats.chi(3) if kernel == "gaussian" else scipy.stats.powerlaw(3)
    assert scipy.stats.kstest(length, law.cdf).pvalue > 1e-3
    # with lengths of a ball the points fill the ball evenly: a smaller one inside has its share of them
    ball = away * (law.cdf(length) ** (1 / 3) / length)[:, None]
    inside = np.linalg.norm(2 * ball - [0.5, 0, 0], ord=power, axis=1) < 1
    assert inside.mean() == pytest.approx(1 / 8, abs=4 * np.sqrt(7 / 64 / 4000))


def by_definition(window, h, x, exclude=None, weight=None):
    d = np.linalg.norm(X - x, axis=1)
    heights = {
        "box": (d <= h).astype(float),
        "triangular": np.maximum(0, 1 - d) * (d <= h),
        "gaussian": np.exp(-(d**2) / (2 * h**2)),
        "exponential": np.exp(-d / (np.sqrt(2) * h)),
    }[window]
    heights = heights if weight is None else heights * weight
    if exclude is not None:
        heights[exclude] = 0.0
    return heights @ Y / heights.sum() if heights.sum() > 0 else np.nan


@pytest.mark.parametrize("window", ["box", "triangular", "gaussian", "exponential"])
@pytest.mark.parametrize("weight", [None, W], ids=["equal", "weights"])
def test_local_means(window, weight):
    model = ParzenRegressor(0.9, window=window, outside="nan").fit(X, Y, sample_weight=weight)
    expected = [by_definition(window, 0.9, q, weight=weight) for q in Q]
    np.testing.assert_allclose(model.predict(Q), expected, rtol=1e-10)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, Y, weight).ok
    model._targets = model._targets * (1 + 1e-6)
    assert not tenfold.certify(model, X, Y, weight).ok


@pytest.mark.parametrize("window", ["box", "gaussian"])
def test_bandwidth_by_leave_one_out(window):
    candidates = [0.3, 0.6, 1.2]
    model = ParzenRegressor("loo", window=window, candidates=candidates, outside="mean").fit(X, Y)
    for h, error in zip(model.candidates_, model.cv_errors_, strict=True):
        fits = np.array([by_definition(window, h, X[i], exclude=i) for i in range(len(X))])
        fits = np.where(np.isnan(fits), Y.mean(), fits)
        assert error == pytest.approx(np.mean((Y - fits) ** 2), rel=1e-10)
    assert model.bandwidth_ == candidates[int(np.argmin(model.cv_errors_))]
    assert ParzenRegressor("loo").fit(X, Y).certificate_.ok


def test_empty_windows():
    far = [[50.0, 0.0, 0.0]]
    near = int(np.argmin(np.linalg.norm(X - far, axis=1)))
    assert ParzenRegressor(1.0, window="box").fit(X, Y).predict(far)[0] == Y[near]
    assert ParzenRegressor(1.0, window="box", outside="mean").fit(X, Y).predict(far)[0] == pytest.approx(Y.mean())
    assert np.isnan(ParzenRegressor(1.0, window="box", outside="nan").fit(X, Y).predict(far)[0])
    assert ParzenRegressor(0.01).fit(X, Y).predict(far)[0] == pytest.approx(Y[near])  # nothing vanishes
    both = ParzenRegressor(1.0).fit(X, np.column_stack([Y, -Y]))
    assert both.predict(Q).shape == (40, 2)
    with pytest.raises(ValueError, match="needs two rows"):
        ParzenRegressor("loo").fit(X[:1], Y[:1])


def test_histogram_of_numpy():
    expected, edges = np.histogram(X[:, 0], bins=7, density=True)
    model = Histogram(bins=7).fit(X[:, :1])
    np.testing.assert_allclose(model.density_, expected)
    np.testing.assert_allclose(model.bin_edges_[0], edges)
    several, _ = np.histogramdd(X, bins=4, density=True, weights=W)
    model = Histogram(bins=4).fit(X, sample_weight=W)
    np.testing.assert_allclose(model.density_, several)
    assert model.certificate_.ok
    cell = tuple(np.clip(np.searchsorted(e, X[9, j], "right") - 1, 0, 3) for j, e in enumerate(model.bin_edges_))
    assert model.score_samples(X[9:10])[0] == pytest.approx(np.log(several[cell]))
    assert model.score_samples([[99.0, 0.0, 0.0]])[0] == -np.inf
    drawn = model.sample(5000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), np.average(X, axis=0, weights=W), atol=0.15)
    worse = Histogram(bins=4).fit(X, sample_weight=W)
    worse.density_ = worse.density_ * (1 + 1e-6)
    assert not tenfold.certify(worse, X, None, W).ok


def test_number_of_bins_by_leave_one_out():
    x = X[:, :1]
    model = Histogram(candidates=[2, 5, 12]).fit(x)
    for bins, risk in zip(model.candidates_, model.risks_, strict=True):
        density, edges = np.histogram(x[:, 0], bins=bins, density=True)
        width, counts = np.diff(edges), density * np.diff(edges) * len(x)
        left = 0.0
        for i in range(len(x)):
            cell = min(np.searchsorted(edges, x[i, 0], "right") - 1, bins - 1)
            left += (counts[cell] - 1) / ((len(x) - 1) * width[cell])
        assert risk == pytest.approx(np.sum(density**2 * width) - 2 * left / len(x), rel=1e-9)
    assert len(model.density_) == model.candidates_[np.argmin(model.risks_)]


def test_bins_that_are_given():
    assert Histogram(width=0.5).fit([[0.1], [0.6], [1.9]]).bin_edges_[0].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    np.testing.assert_allclose(Histogram([0.0, 1.0, 4.0]).fit([[0.5], [2.0]]).density_, [0.5, 1 / 6])
    with pytest.raises(ValueError, match="outside the edges"):
        Histogram([0.0, 1.0]).fit([[0.5], [2.0]])
    with pytest.raises(ValueError, match="rising edges"):
        Histogram([[0.0, 1.0], [1.0, 0.0]]).fit([[0.5, 0.5]])
    assert Histogram(bins=4).fit([[1.0], [1.0]]).certificate_.ok
    with pytest.raises(MemoryError, match="KernelDensity"):
        Histogram(bins=50).fit(np.random.default_rng(0).standard_normal((9, 12)))
