"""Metrics of predicted classes, scores and probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri
from sklearn.metrics import roc_curve

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.confusion import SHARES, Confusion
from tenfold.evaluation.intervals import Booleans, Interval, Sample, clopper_pearson, make_undefined
from tenfold.evaluation.ranking import RankingFigures, rank_scores
from tenfold.evaluation.results import Better, Curve, Evaluation, Figure, Reliability


@dataclass(frozen=True)
class Predictions:
    """True and predicted classes of the samples, with scores and probabilities of all classes."""

    classes: tuple[Any, ...]
    true: Integers
    predicted: Integers
    score: Floats | None
    proba: Floats | None

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2


def evaluate_classification(
    predictions: Predictions, sample: Sample, *, beta: float, n_bins: int, n_resamples: int, rng: np.random.Generator
) -> Evaluation:
    """The evaluation of predicted classes."""
    names = _Names(sample.confidence, f"f{beta:g}")
    confusion = Confusion(predictions.true, predictions.predicted, len(predictions.classes), sample, beta)
    bootstrap_result = confusion.resample(n_resamples, rng) if n_resamples else None
    per_class: dict[Any, dict[str, Figure]] = {}
    for k, label in enumerate(predictions.classes):
        class_figures = {name: names.figure(name, confusion.share(name, k)) for name in SHARES}
        class_figures[names.f] = names.figure(names.f, confusion.interval("f", bootstrap_result, k))
        per_class[label] = class_figures
    figures = {
        "accuracy": names.figure("accuracy", confusion.accuracy()),
        "balanced_accuracy": names.figure(
            "balanced_accuracy", confusion.interval("balanced_accuracy", bootstrap_result)
        ),
    }
    if predictions.is_binary:
        figures |= per_class[predictions.classes[1]]
    figures["mcc"] = names.figure("mcc", confusion.interval("mcc", bootstrap_result))
    averages: dict[str, dict[str, Figure]] = {average: {} for average in ("macro", "weighted", "micro")}
    for name in (*SHARES, "f"):
        figure_name = names.f if name == "f" else name
        for average in ("macro", "weighted"):
            averages[average][figure_name] = names.figure(
                figure_name, confusion.interval(f"{name}_{average}", bootstrap_result)
            )
        averages["micro"][figure_name] = names.figure(figure_name, confusion.micro(name))
    # the average of sensitivities weighted by class frequency is the accuracy
    averages["weighted"]["sensitivity"] = names.figure("sensitivity", confusion.accuracy())
    curves, notes = _add_ranking_figures(predictions, sample, names, figures, per_class, averages)
    calibration = _add_probability_figures(predictions, sample, names, figures, per_class, n_bins)
    never = [label for k, label in enumerate(predictions.classes) if not np.any(confusion.counts[:, k])]
    if never:
        notes.append(f"never predicted: {', '.join(map(str, never))}")
    return Evaluation(
        "classification",
        figures,
        rows=sample.size,
        effective_rows=sample.kish(),
        groups=0 if sample.groups is None else sample.units(),
        confidence=sample.confidence,
        per_class=per_class,
        averages=averages,
        classes=predictions.classes,
        confusion=confusion.table,
        roc=curves,
        calibration=calibration,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Names:
    confidence: float
    f: str

    def figure(self, name: str, interval: Interval, better: Better = "higher") -> Figure:
        return Figure.of(name, interval, self.confidence, better)


def _add_ranking_figures(
    predictions: Predictions,
    sample: Sample,
    names: _Names,
    figures: dict[str, Figure],
    per_class: dict[Any, dict[str, Figure]],
    averages: dict[str, dict[str, Figure]],
) -> tuple[dict[Any, Curve], list[str]]:
    """Add ROC areas and average precisions to the figures; returns the ROC curves, and notes on reversed scores."""
    score = predictions.score if predictions.score is not None else predictions.proba
    curves: dict[Any, Curve] = {}
    if score is None:
        return curves, []
    rankings: list[RankingFigures] = []
    weights: list[float] = []
    kinds: dict[str, Callable[[RankingFigures, Sample], Interval]] = {
        "roc_auc": RankingFigures.auc,
        "average_precision": RankingFigures.average_precision,
    }
    for k, label in enumerate(predictions.classes):
        if predictions.is_binary and k == 0:
            continue
        positive = predictions.true == k
        ranking = rank_scores(score[:, k], positive, sample)
        if ranking is None:
            continue
        rankings.append(ranking)
        weights.append(float(np.sum(sample.weight()[positive])))
        target = figures if predictions.is_binary else per_class[label]
        for name, interval in kinds.items():
            target[name] = per_class[label][name] = names.figure(name, interval(ranking, sample))
        rates = roc_curve(positive, score[:, k], sample_weight=sample.weights)
        curves[label] = Curve(*(np.asarray(part, dtype=np.float64) for part in rates))
    if not predictions.is_binary and len(rankings) == len(predictions.classes):
        for average, share in (("macro", np.ones(len(weights))), ("weighted", np.asarray(weights))):
            share = share / np.sum(share)
            area = float(sum(s * r.area for s, r in zip(share, rankings, strict=True)))
            precision = float(sum(s * r.precision for s, r in zip(share, rankings, strict=True)))
            influence = sum(s * r.area_influence for s, r in zip(share, rankings, strict=True))
            averages[average]["roc_auc"] = names.figure("roc_auc", sample.smooth(area, np.asarray(influence), "DeLong"))
            influence = sum(s * r.precision_influence for s, r in zip(share, rankings, strict=True))
            averages[average]["average_precision"] = names.figure(
                "average_precision", sample.smooth(precision, np.asarray(influence), "infinitesimal jackknife")
            )
        figures["roc_auc"] = averages["macro"]["roc_auc"]
    notes = [
        f"the score of {label} ranks samples in reverse; negated, its area is {1 - part['roc_auc'].value:.3f}"
        for label, part in per_class.items()
        if "roc_auc" in part and part["roc_auc"].high < 0.5
    ]
    return curves, notes


def _add_probability_figures(
    predictions: Predictions,
    sample: Sample,
    names: _Names,
    figures: dict[str, Figure],
    per_class: dict[Any, dict[str, Figure]],
    n_bins: int,
) -> Reliability | None:
    """Add log loss, Brier score and calibration error to the figures; returns the calibration."""
    if predictions.proba is None:
        return None
    proba, rows = predictions.proba, np.arange(len(predictions.true))
    tiny = np.finfo(proba.dtype).eps
    exact = proba.astype(np.float64, copy=False)
    losses = -np.log(np.clip(exact[rows, predictions.true], tiny, 1.0 - tiny))
    figures["log_loss"] = names.figure("log_loss", sample.mean(losses, True), "lower")
    squares = np.sum(exact**2, axis=1) - 2.0 * exact[rows, predictions.true] + 1.0
    squares = 0.5 * squares if predictions.is_binary else squares
    figures["brier"] = names.figure("brier", sample.mean(np.maximum(squares, 0.0), True), "lower")
    predicted_class = np.argmax(exact, axis=1)
    calibration = (
        None
        if predictions.is_binary
        else reliability(predictions.true == predicted_class, exact[rows, predicted_class], sample, n_bins)
    )
    for k, label in enumerate(predictions.classes):
        of_class = reliability(predictions.true == k, exact[:, k], sample, n_bins)
        per_class[label]["ece"] = names.figure("ece", _calibration_error(of_class, sample), "lower")
        calibration = of_class if predictions.is_binary else calibration
    assert calibration is not None
    figures["ece"] = names.figure("ece", _calibration_error(calibration, sample), "lower")
    return calibration


def reliability(outcomes: Booleans, predicted: Floats, sample: Sample, n_bins: int) -> Reliability:
    """Observed frequencies of `outcomes` by predicted probability, in bins of equal width."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    bins = np.searchsorted(edges[1:-1], predicted)
    w = sample.weight()
    weights_, count = np.bincount(bins, w, minlength=n_bins), np.bincount(bins, minlength=n_bins)
    nonempty = np.flatnonzero(count)
    mean = np.bincount(bins, w * predicted, minlength=n_bins)[nonempty] / weights_[nonempty]
    if sample.plain:
        hits = np.bincount(bins, outcomes, minlength=n_bins)[nonempty]
        observed = hits / count[nonempty]
        low, high = clopper_pearson(hits, count[nonempty], sample.confidence)
        method = "exact binomial"
    else:
        shares = [sample.share(outcomes, bins == b) for b in nonempty]
        observed, low, high = (np.array([share[i] for share in shares]) for i in range(3))
        method = shares[0].method
    return Reliability(edges, count[nonempty], weights_[nonempty] / np.sum(w), mean, observed, low, high, method)


def _calibration_error(calibration: Reliability, sample: Sample) -> Interval:
    """The expected calibration error with the interval of Scheffé.

    All observed frequencies are jointly inside an ellipsoid about their true values with probability `confidence`; by
    Cauchy and Schwarz the error is within sqrt(chi2 sum_b share_b^2 v_b / n_b). Conservative, because the value itself
    is above zero by noise alone, so that a bootstrap interval would exclude zero even for calibrated models.
    """
    if sample.size < 2:
        return make_undefined("one row", calibration.error)
    size = calibration.count.astype(np.float64)
    if not sample.plain:
        size *= min(sample.kish(), float(sample.units())) / sample.size
    smoothed = (calibration.observed * size + 1.0) / (size + 2.0)
    spread = np.sum(calibration.share**2 * smoothed * (1.0 - smoothed) / size)
    half = float(np.sqrt(chdtri(len(size), 1.0 - sample.confidence) * spread))
    return Interval(
        calibration.error,
        max(calibration.error - half, 0.0),
        min(calibration.error + half, 1.0),
        f"Scheffé{sample.words}",
    )
