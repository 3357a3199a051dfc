"""Figures of predicted classes, scores and probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri
from sklearn.metrics import roc_curve

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.confusion import SHARES, Confusion
from tenfold.evaluation.figures import Better, Curve, Evaluation, Figure, Reliability
from tenfold.evaluation.intervals import Booleans, Interval, Sample, clopper_pearson, undefined
from tenfold.evaluation.ranking import Ranked, ranked


@dataclass(frozen=True)
class Predictions:
    """What is said of each row: its true class, the predicted one, and scores and probabilities of all classes."""

    classes: tuple[Any, ...]
    true: Integers
    predicted: Integers
    score: Floats | None
    proba: Floats | None

    @property
    def two(self) -> bool:
        return len(self.classes) == 2


def labels(
    said: Predictions, sample: Sample, *, beta: float, n_bins: int, n_resamples: int, rng: np.random.Generator
) -> Evaluation:
    """The evaluation of predicted classes."""
    names = _Names(sample.confidence, f"f{beta:g}")
    confusion = Confusion(said.true, said.predicted, len(said.classes), sample, beta)
    drawn = confusion.resampled(n_resamples, rng) if n_resamples else None
    per_class: dict[Any, dict[str, Figure]] = {}
    for k, label in enumerate(said.classes):
        found = {name: names.figure(name, confusion.share(name, k)) for name in SHARES}
        found[names.f] = names.figure(names.f, confusion.interval("f", drawn, k))
        per_class[label] = found
    figures = {
        "accuracy": names.figure("accuracy", confusion.accuracy()),
        "balanced_accuracy": names.figure("balanced_accuracy", confusion.interval("balanced_accuracy", drawn)),
    }
    if said.two:
        figures |= per_class[said.classes[1]]
    figures["mcc"] = names.figure("mcc", confusion.interval("mcc", drawn))
    averages: dict[str, dict[str, Figure]] = {average: {} for average in ("macro", "weighted", "micro")}
    for name in (*SHARES, "f"):
        called = names.f if name == "f" else name
        for average in ("macro", "weighted"):
            averages[average][called] = names.figure(called, confusion.interval(f"{name}_{average}", drawn))
        averages["micro"][called] = names.figure(called, confusion.micro(name))
    # the average of sensitivities by the classes' own shares is the accuracy
    averages["weighted"]["sensitivity"] = names.figure("sensitivity", confusion.accuracy())
    curves, notes = _ranks(said, sample, names, figures, per_class, averages)
    calibration = _probabilities(said, sample, names, figures, per_class, n_bins)
    never = [label for k, label in enumerate(said.classes) if not np.any(confusion.counts[:, k])]
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
        classes=said.classes,
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


def _ranks(
    said: Predictions,
    sample: Sample,
    names: _Names,
    figures: dict[str, Figure],
    per_class: dict[Any, dict[str, Figure]],
    averages: dict[str, dict[str, Figure]],
) -> tuple[dict[Any, Curve], list[str]]:
    """Areas, average precisions and curves of the scores, put into the figures; and what is strange about them."""
    score = said.score if said.score is not None else said.proba
    curves: dict[Any, Curve] = {}
    if score is None:
        return curves, []
    all_ranked: list[Ranked] = []
    weights: list[float] = []
    kinds: dict[str, Callable[[Ranked, Sample], Interval]] = {
        "roc_auc": Ranked.auc,
        "average_precision": Ranked.average_precision,
    }
    for k, label in enumerate(said.classes):
        if said.two and k == 0:
            continue
        positive = said.true == k
        found = ranked(score[:, k], positive, sample)
        if found is None:
            continue
        all_ranked.append(found)
        weights.append(float(np.sum(sample.weight()[positive])))
        of = figures if said.two else per_class[label]
        for name, interval in kinds.items():
            of[name] = per_class[label][name] = names.figure(name, interval(found, sample))
        rates = roc_curve(positive, score[:, k], sample_weight=sample.weights)
        curves[label] = Curve(*(np.asarray(part, dtype=np.float64) for part in rates))
    if not said.two and len(all_ranked) == len(said.classes):
        for average, share in (("macro", np.ones(len(weights))), ("weighted", np.asarray(weights))):
            share = share / np.sum(share)
            area = float(sum(s * r.area for s, r in zip(share, all_ranked, strict=True)))
            precision = float(sum(s * r.precision for s, r in zip(share, all_ranked, strict=True)))
            moved = sum(s * r.area_influence for s, r in zip(share, all_ranked, strict=True))
            averages[average]["roc_auc"] = names.figure("roc_auc", sample.smooth(area, np.asarray(moved), "DeLong"))
            moved = sum(s * r.precision_influence for s, r in zip(share, all_ranked, strict=True))
            averages[average]["average_precision"] = names.figure(
                "average_precision", sample.smooth(precision, np.asarray(moved), "infinitesimal jackknife")
            )
        figures["roc_auc"] = averages["macro"]["roc_auc"]
    notes = [
        f"the score of {label} puts rows in the wrong order; turned round, its area is {1 - part['roc_auc'].value:.3f}"
        for label, part in per_class.items()
        if "roc_auc" in part and part["roc_auc"].high < 0.5
    ]
    return curves, notes


def _probabilities(
    said: Predictions,
    sample: Sample,
    names: _Names,
    figures: dict[str, Figure],
    per_class: dict[Any, dict[str, Figure]],
    n_bins: int,
) -> Reliability | None:
    """Log loss, Brier score and calibration, put into the figures."""
    if said.proba is None:
        return None
    proba, rows = said.proba, np.arange(len(said.true))
    tiny = np.finfo(proba.dtype).eps
    exact = proba.astype(np.float64, copy=False)
    lost = -np.log(np.clip(exact[rows, said.true], tiny, 1.0 - tiny))
    figures["log_loss"] = names.figure("log_loss", sample.mean(lost, True), "lower")
    squares = np.sum(exact**2, axis=1) - 2.0 * exact[rows, said.true] + 1.0
    squares = 0.5 * squares if said.two else squares
    figures["brier"] = names.figure("brier", sample.mean(np.maximum(squares, 0.0), True), "lower")
    top = np.argmax(exact, axis=1)
    found = None if said.two else reliability(said.true == top, exact[rows, top], sample, n_bins)
    for k, label in enumerate(said.classes):
        of_class = reliability(said.true == k, exact[:, k], sample, n_bins)
        per_class[label]["ece"] = names.figure("ece", _calibration_error(of_class, sample), "lower")
        found = of_class if said.two else found
    assert found is not None
    figures["ece"] = names.figure("ece", _calibration_error(found, sample), "lower")
    return found


def reliability(came: Booleans, predicted: Floats, sample: Sample, n_bins: int) -> Reliability:
    """How often what was `predicted` with some probability `came` true, in bins of equal width."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    bins = np.searchsorted(edges[1:-1], predicted)
    w = sample.weight()
    mass, count = np.bincount(bins, w, minlength=n_bins), np.bincount(bins, minlength=n_bins)
    some = np.flatnonzero(count)
    mean = np.bincount(bins, w * predicted, minlength=n_bins)[some] / mass[some]
    if sample.plain:
        hits = np.bincount(bins, came, minlength=n_bins)[some]
        observed = hits / count[some]
        low, high = clopper_pearson(hits, count[some], sample.confidence)
        method = "exact binomial"
    else:
        shares = [sample.share(came, bins == b) for b in some]
        observed, low, high = (np.array([share[i] for share in shares]) for i in range(3))
        method = shares[0].method
    return Reliability(edges, count[some], mass[some] / np.sum(w), mean, observed, low, high, method)


def _calibration_error(found: Reliability, sample: Sample) -> Interval:
    """The expected calibration error with the interval of Scheffé.

    All observed shares are inside an ellipsoid about their true values, together, with the probability `confidence`; by
    Cauchy and Schwarz the error is within sqrt(chi2 sum_b share_b^2 v_b / n_b). Conservative, and necessary: the value
    itself is above zero by noise alone, so that quantiles of resamples would say that nothing is ever calibrated.
    """
    if sample.size < 2:
        return undefined("one row", found.error)
    size = found.count.astype(np.float64)
    if not sample.plain:
        size *= min(sample.kish(), float(sample.units())) / sample.size
    smoothed = (found.observed * size + 1.0) / (size + 2.0)
    spread = np.sum(found.share**2 * smoothed * (1.0 - smoothed) / size)
    half = float(np.sqrt(chdtri(len(size), 1.0 - sample.confidence) * spread))
    return Interval(found.error, max(found.error - half, 0.0), min(found.error + half, 1.0), f"Scheffé{sample.words}")
