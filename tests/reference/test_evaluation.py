"""`evaluate` beside sklearn.metrics, SciPy, statsmodels, and slow formulas written out here."""

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from sklearn import metrics
from sklearn.calibration import calibration_curve
from statsmodels.stats.proportion import proportion_confint

from tenfold import evaluate
from tenfold.evaluation import clopper_pearson
from tenfold.evaluation.intervals import Sample
from tenfold.evaluation.ranking import rank_scores
from tenfold.evaluation.resampling import bootstrap, units_of


def several(k: int, n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes, probabilities with ties among them, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    proba = rng.dirichlet(np.ones(k), n)
    proba[np.arange(n), y] += rng.random(n)
    proba = np.round(proba / proba.sum(axis=1, keepdims=True), 2)
    proba[:, -1] += 1.0 - proba.sum(axis=1)
    return y, np.clip(proba, 0.0, 1.0), rng.integers(1, 4, n).astype(float) * 0.7


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_values_are_those_of_scikit_learn(k, weighted):
    y, proba, w = several(k)
    w = w if weighted else None
    said = np.argmax(proba, axis=1)
    result = evaluate(y, proba=proba, sample_weight=w, beta=2.0)
    near = {"rel": 1e-12, "abs": 1e-13}
    assert result["accuracy"].value == pytest.approx(metrics.accuracy_score(y, said, sample_weight=w), **near)
    assert result["balanced_accuracy"].value == pytest.approx(
        metrics.balanced_accuracy_score(y, said, sample_weight=w), **near
    )
    assert result["mcc"].value == pytest.approx(metrics.matthews_corrcoef(y, said, sample_weight=w), **near)
    assert result["log_loss"].value == pytest.approx(metrics.log_loss(y, proba, sample_weight=w), **near)
    chances = proba[:, 1] if k == 2 else proba
    assert result["brier"].value == pytest.approx(metrics.brier_score_loss(y, chances, sample_weight=w), **near)
    np.testing.assert_allclose(result.confusion, metrics.confusion_matrix(y, said, sample_weight=w), rtol=1e-12)
    for average in ("macro", "weighted", "micro"):
        reference = metrics.precision_recall_fscore_support(y, said, beta=2.0, average=average, sample_weight=w)
        for name, value in zip(("precision", "sensitivity", "f2"), reference, strict=False):
            assert result[f"{name}_{average}"].value == pytest.approx(value, **near)
    reference = metrics.precision_recall_fscore_support(y, said, beta=2.0, sample_weight=w)
    table = metrics.multilabel_confusion_matrix(y, said, sample_weight=w)
    for label in range(k):
        ours = result.per_class[label]
        for name, value in zip(("precision", "sensitivity", "f2"), reference, strict=False):
            assert ours[name].value == pytest.approx(value[label], **near)
        (tn, fp), (fn, _) = table[label]
        assert ours["specificity"].value == pytest.approx(tn / (tn + fp), **near)
        assert ours["negative_predictive_value"].value == pytest.approx(tn / (tn + fn), **near)
        if k == 2 and label == 0:
            continue
        assert ours["roc_auc"].value == pytest.approx(
            metrics.roc_auc_score(y == label, proba[:, label], sample_weight=w), **near
        )
        assert ours["average_precision"].value == pytest.approx(
            metrics.average_precision_score(y == label, proba[:, label], sample_weight=w), **near
        )
    if k > 2:
        for average in ("macro", "weighted"):
            reference = metrics.roc_auc_score(y, proba, multi_class="ovr", average=average, sample_weight=w)
            assert result[f"roc_auc_{average}"].value == pytest.approx(reference, **near)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(3)
    y = 1e3 + rng.standard_normal(151)
    f = y + 0.3 * rng.standard_normal(151) + 0.1
    w = rng.integers(1, 5, 151).astype(float) if weighted else None
    result = evaluate(y, f, sample_weight=w, quantile=0.8)
    near = {"rel": 1e-9}
    assert result["r2"].value == pytest.approx(metrics.r2_score(y, f, sample_weight=w), **near)
    assert result["mae"].value == pytest.approx(metrics.mean_absolute_error(y, f, sample_weight=w), **near)
    assert result["rmse"].value == pytest.approx(metrics.root_mean_squared_error(y, f, sample_weight=w), **near)
    assert result["median_absolute_error"].value == pytest.approx(
        metrics.median_absolute_error(y, f, sample_weight=w), **near
    )
    assert result["pinball_loss"].value == pytest.approx(
        metrics.mean_pinball_loss(y, f, alpha=0.8, sample_weight=w), **near
    )
    assert result["bias"].value == pytest.approx(np.average(f - y, weights=w), **near)
    assert result["share_below"].value == pytest.approx(np.average(y <= f, weights=w), **near)


def test_reliability_is_that_of_scikit_learn():
    y, proba, _ = several(2)
    result = evaluate(y, proba=proba, n_bins=7).calibration
    observed, predicted = calibration_curve(y, proba[:, 1], n_bins=7)
    np.testing.assert_allclose(result.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(result.predicted, predicted, rtol=1e-12)
    for hits, count, low, high in zip(
        result.observed * result.count, result.count, result.low, result.high, strict=True
    ):
        exact = scipy.stats.binomtest(round(hits), int(count)).proportion_ci()
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-10)
    assert result.error == pytest.approx(np.sum(result.count * np.abs(observed - predicted)) / 240, rel=1e-12)


# intervals ------------------------------------------------------------------------------------------------------------


def test_exact_binomial_intervals_of_r_and_statsmodels():
    low, high = clopper_pearson(682, 925)  # binom.test(682, 925) of R, Mendel's peas
    assert (float(low), float(high)) == pytest.approx((0.7076683, 0.7654066), abs=5e-8)
    x, n = np.array([0, 1, 7, 20]), 20
    for confidence in (0.9, 0.99):
        reference = proportion_confint(x, n, alpha=1.0 - confidence, method="beta")
        np.testing.assert_allclose(clopper_pearson(x, n, confidence), reference, rtol=1e-10, atol=1e-14)


def placements(score: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every pair looked at, as DeLong and others write it."""
    pairs = np.sign(score[positive][:, None] - score[~positive][None]) / 2.0 + 0.5
    return pairs.mean(axis=1), pairs.mean(axis=0)


@pytest.mark.parametrize("ties", [False, True])
def test_delong_is_the_formula_over_all_pairs(ties):
    rng = np.random.default_rng(5)
    positive = rng.random(90) < 0.3
    score = rng.standard_normal(90) + positive
    score = np.round(score * 2.0) if ties else score
    up, down = placements(score, positive)
    variance = np.var(up, ddof=1) / len(up) + np.var(down, ddof=1) / len(down)
    result = rank_scores(score, positive, Sample(90))
    assert result.area == pytest.approx(up.mean(), rel=1e-12)
    assert Sample(90).variance(result.area_influence) == pytest.approx(variance, rel=1e-10)
    figure = evaluate(positive, score=score)["roc_auc"]
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(variance) / (up.mean() * (1.0 - up.mean()))
    middle = np.log(up.mean() / (1.0 - up.mean()))
    assert (figure.low, figure.high) == pytest.approx(1.0 / (1.0 + np.exp([half - middle, -half - middle])), rel=1e-10)
    assert figure.method == "DeLong"


@pytest.mark.parametrize("name", ["area", "precision"])
def test_influences_are_slopes_in_the_weights(name):
    rng = np.random.default_rng(6)
    positive = rng.random(40) < 0.4
    score = np.round(rng.standard_normal(40) + positive, 1)
    w = rng.uniform(0.5, 2.0, 40)
    result = getattr(rank_scores(score, positive, Sample(40, w)), f"{name}_influence")
    step = 1e-6
    slopes = np.empty(40)
    for j in range(40):
        up, down = w.copy(), w.copy()
        up[j] += step
        down[j] -= step
        more, less = (getattr(rank_scores(score, positive, Sample(40, v)), name) for v in (up, down))
        slopes[j] = w[j] * (more - less) / (2.0 * step)
    if name == "area":  # with the divisors of unbiased variances
        m = np.count_nonzero(positive)
        slopes *= np.where(positive, np.sqrt(m / (m - 1)), np.sqrt((40 - m) / (39 - m))) * np.sqrt(39 / 40)
    np.testing.assert_allclose(result, slopes, atol=1e-8)
    assert abs(result.sum()) < 1e-12 or name == "area"


def test_a_symmetric_mean_has_the_interval_of_student():
    values = np.concatenate([np.linspace(1.0, 4.0, 9), -np.linspace(1.0, 4.0, 9)])
    result = evaluate(np.full(18, 0.5), 0.5 + values, task="regression")["bias"]
    reference = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((reference.low, reference.high), rel=1e-12)


def test_groups_have_the_robust_variance_of_statsmodels():
    rng = np.random.default_rng(8)
    groups = rng.integers(0, 25, 300)
    values = rng.standard_normal(300) + rng.standard_normal(25)[groups]
    weights = rng.uniform(0.5, 2.0, 300)
    for w in (None, weights):
        sample = Sample(300, w, groups)
        total = sample.weight().sum()
        mean = np.sum(sample.weight() * values) / total
        ours = sample.variance(sample.weight() * (values - mean) / total)
        fit = sm.WLS(values, np.ones(300), weights=sample.weight()).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
        )
        # their factor is G / (G - 1) (n - 1) / (n - k) with k = 1
        assert ours == pytest.approx(fit.bse[0] ** 2, rel=1e-10)


def test_the_median_has_the_order_statistics_of_the_binomial():
    values = np.random.default_rng(9).exponential(size=77)
    result = Sample(77).median(values)
    rank = int(scipy.stats.binom.ppf(0.025, 77, 0.5))
    ranked_values = np.sort(values)
    assert (result.low, result.high) == (ranked_values[rank - 1], ranked_values[77 - rank])
    reference = scipy.stats.quantile_test(values, q=np.median(values), p=0.5).confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((reference.low, reference.high))


def test_the_bootstrap_is_that_of_scipy():
    rng = np.random.default_rng(10)
    y = rng.standard_normal(120)
    f = y + 0.7 * rng.standard_normal(120)
    ours = evaluate(y, f, n_resamples=20000)["r2"]
    reference = scipy.stats.bootstrap(
        (y, f),
        lambda a, b, axis=-1: 1.0 - np.sum((a - b) ** 2, axis) / np.sum((a - a.mean(axis, keepdims=True)) ** 2, axis),
        paired=True,
        vectorized=True,
        n_resamples=20000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((reference.low, reference.high), abs=0.012)


def test_rows_that_are_alike_are_resampled_together_as_one_by_one():
    """The multinomial draw over cells of the table, and the draw of rows: the same distribution."""
    rng = np.random.default_rng(11)
    y, said = rng.integers(0, 2, 150), rng.integers(0, 2, 150)
    said[:90] = y[:90]
    cells = evaluate(y, said, n_resamples=20000)["f1"]
    columns = np.column_stack([y, said, y & said]).astype(float)
    rows = bootstrap(
        units_of(columns, Sample(150), rng), lambda s: {"f": 2.0 * s[:, 2] / (s[:, 0] + s[:, 1])}, 20000, rng
    ).interval("f", 0.95)
    assert cells.value == pytest.approx(rows.value, rel=1e-12)
    assert (cells.low, cells.high) == pytest.approx((rows.low, rows.high), abs=0.008)
