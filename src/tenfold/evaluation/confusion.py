"""Metrics of a confusion matrix: rates, F, Matthews' correlation, and their averages over classes.

With the weights of true positives TP, false positives FP, true negatives TN and false negatives FN of a class:

    sensitivity  TP / (TP + FN)       precision                  TP / (TP + FP)
    specificity  TN / (TN + FP)       negative predictive value  TN / (TN + FN)
    F            (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)

All of them are functions of three sums over samples: of true classes, of predicted classes, and of both where they
agree. The table printed in the cookbook (5.1) has FP in the place of FN.
"""

from collections.abc import Mapping

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Interval, Sample, clopper_pearson, make_undefined
from tenfold.evaluation.resampling import MAX_UNITS, BootstrapResult, Units, assign_units, bootstrap

SHARES = ("sensitivity", "specificity", "precision", "negative_predictive_value")


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """numerator / denominator, and nan where the denominator is zero."""
    defined = denominator > 0.0
    return np.where(defined, np.clip(numerator, 0.0, None) / np.where(defined, denominator, 1.0), np.nan)


def figures_of(true: Floats, predicted: Floats, both: Floats, beta: float) -> dict[str, Floats]:
    """All figures of tables given by their sums, each (b, K): of classes (b, K), of all rows and averages (b,).

    An undefined precision, sensitivity or F counts as zero in an average, as in scikit-learn.
    """
    n = np.sum(true, axis=1, keepdims=True)
    neither = n - true - predicted + both
    beta_squared = beta * beta
    values = {
        "sensitivity": _divide(both, true),
        "specificity": _divide(neither, n - true),
        "precision": _divide(both, predicted),
        "negative_predictive_value": _divide(neither, n - predicted),
        "f": _divide((1.0 + beta_squared) * both, beta_squared * true + predicted),
    }
    support = true / np.where(n > 0.0, n, 1.0)
    for name in (*SHARES, "f"):
        counted = values[name] if name in ("specificity", "negative_predictive_value") else np.nan_to_num(values[name])
        values[f"{name}_macro"] = np.mean(counted, axis=1)
        values[f"{name}_weighted"] = np.sum(counted * support, axis=1)
    seen = true > 0.0
    values["balanced_accuracy"] = np.sum(np.nan_to_num(values["sensitivity"]), axis=1) / np.maximum(seen.sum(axis=1), 1)
    values["mcc"] = _matthews(true, predicted, both)
    return values


def _matthews(true: Floats, predicted: Floats, both: Floats) -> Floats:
    """Matthews' correlation of all classes; nan where all true or all predicted classes are equal."""
    n = np.sum(true, axis=1)
    covariance = np.sum(both, axis=1) * n - np.sum(true * predicted, axis=1)
    spread = (n**2 - np.sum(true**2, axis=1)) * (n**2 - np.sum(predicted**2, axis=1))
    defined = spread > 1e-12 * n**4
    return np.where(defined, np.clip(covariance / np.sqrt(np.where(defined, spread, 1.0)), -1.0, 1.0), np.nan)


class Confusion:
    """Confusion matrix of true and predicted class indices 0, ..., K - 1."""

    def __init__(self, true: Integers, predicted: Integers, classes: int, sample: Sample, beta: float) -> None:
        self.true, self.predicted, self.classes, self.sample, self.beta = true, predicted, classes, sample, beta
        cells = true * classes + predicted
        self.counts = np.bincount(cells, minlength=classes**2).reshape(classes, classes)
        self.table: Floats = (
            self.counts.astype(np.float64)
            if sample.weights is None
            else np.bincount(cells, sample.weights, minlength=classes**2).astype(np.float64).reshape(classes, classes)
        )
        table = self.table[None]
        self.sums = table.sum(axis=2), table.sum(axis=1), np.diagonal(table, axis1=1, axis2=2)
        self.values = {name: value[0] for name, value in figures_of(*self.sums, beta).items()}

    # proportions

    def accuracy(self) -> Interval:
        return self.sample.share(self.true == self.predicted)

    def micro(self, name: str) -> Interval:
        """Micro average: the accuracy, but for specificity and negative predictive value."""
        accuracy = self.accuracy()
        if name not in ("specificity", "negative_predictive_value"):
            return accuracy
        rest = self.classes - 1.0
        value, low, high = (1.0 - (1.0 - end) / rest for end in accuracy[:3])
        return Interval(value, low, high, accuracy.method)

    def share(self, name: str, k: int) -> Interval:
        """One of SHARES of class k against the rest."""
        true, predicted = self.true == k, self.predicted == k
        among, missing = {
            "sensitivity": (true, "no row is of the class"),
            "specificity": (~true, "all rows are of the class"),
            "precision": (predicted, "the class is never predicted"),
            "negative_predictive_value": (~predicted, "no other class is predicted"),
        }[name]
        correct = predicted if name == "sensitivity" else ~predicted if name == "specificity" else true
        correct = ~true if name == "negative_predictive_value" else correct
        if self.sample.plain:
            trials = int(np.count_nonzero(among))
            values = self.sample.count(int(np.count_nonzero(correct & among)), trials)
        else:
            values = self.sample.share(correct, among)
        return make_undefined(missing) if np.isnan(values.value) else values

    # metrics that are no proportions

    def resample(self, n_resamples: int, rng: np.random.Generator) -> BootstrapResult | None:
        """Bootstrap of all metrics; equal samples are drawn together by their counts, which is exact."""
        return bootstrap(self._units(rng), self._statistic, n_resamples, rng)

    def _statistic(self, sums: Floats) -> Mapping[str, Floats]:
        k = self.classes
        values = figures_of(sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k :], self.beta)
        return {name: figure for name, figure in values.items() if name not in SHARES}

    def _units(self, rng: np.random.Generator) -> Units:
        k = self.classes
        true, predicted = np.nonzero(self.counts)
        if self.sample.plain and len(true) <= MAX_UNITS:
            sums = np.zeros((len(true), 3 * k))
            rows = np.arange(len(true))
            sums[rows, true] = sums[rows, k + predicted] = 1.0
            same = true == predicted
            sums[rows[same], 2 * k + true[same]] = 1.0
            return Units(sums, self.counts[true, predicted], "rows")
        unit, words = assign_units(self.sample, rng)
        w, count = self.sample.weight(), int(unit.max()) + 1
        parts = [
            np.bincount(unit * k + label, weight, minlength=count * k).reshape(count, k)
            for label, weight in (
                (self.true, w),
                (self.predicted, w),
                (self.true, np.where(self.true == self.predicted, w, 0.0)),
            )
        ]
        return Units(np.concatenate(parts, axis=1), None, words)

    def interval(self, name: str, bootstrap_result: BootstrapResult | None, k: int | None = None) -> Interval:
        """Interval of a metric that is no proportion: BCa, or where resamples agree, bounds from the rates of the
        classes.
        """
        value = float(self.values[name] if k is None else self.values[name][k])
        if np.isnan(value):
            return make_undefined(
                "all rows are of one class, or said to be" if name == "mcc" else "no row has the class"
            )
        if bootstrap_result is None:
            return Interval(value, np.nan, np.nan, "none")
        values = bootstrap_result.interval(name, self.sample.confidence, k)
        return values._replace(value=value) if values is not None else self._bonferroni_interval(name, value, k)

    def _bonferroni_interval(self, name: str, value: float, k: int | None) -> Interval:
        """Where all resamples agree: the metric at exact joint bounds of the rates (Bonferroni).

        All but Matthews' correlation increase with each sensitivity and precision; that one is evaluated with the
        errors of a class spread evenly over the others.
        """
        of_class = name == "f"
        bounds = 2 if of_class else 2 * self.classes if name.startswith("f_") else self.classes
        confidence = 1.0 - (1.0 - self.sample.confidence) / bounds
        ends = []
        for side in (0, 1):
            rates = {part: self._bounds(part, confidence)[side] for part in SHARES}
            ends.append(self._figure_at(name, rates, k))
        low, high = (float(np.clip(end, -1.0 if name == "mcc" else 0.0, 1.0)) for end in ends)
        return Interval(value, min(low, value), max(high, value), "exact binomial of the classes together")

    def _bounds(self, name: str, confidence: float) -> tuple[Floats, Floats]:
        true, predicted, both = (part[0] for part in self.sums)
        n = np.sum(true)
        correct, trials = {
            "sensitivity": (both, true),
            "specificity": (n - true - predicted + both, n - true),
            "precision": (both, predicted),
            "negative_predictive_value": (n - true - predicted + both, n - predicted),
        }[name]
        scale = 1.0 if self.sample.plain else min(self.sample.kish(), float(self.sample.units())) / n
        low, high = clopper_pearson(correct * scale, trials * scale, confidence)
        return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)

    def _figure_at(self, name: str, rates: Mapping[str, Floats], k: int | None) -> float:
        """The metric for given rates of the classes."""
        true = self.sums[0][0]
        if name == "mcc":
            correct = rates["sensitivity"] * true
            spread = (true - correct) / max(self.classes - 1, 1)
            return float(_matthews(true[None], (correct + np.sum(spread) - spread)[None], correct[None])[0])
        if name == "balanced_accuracy":
            return float(np.mean(rates["sensitivity"][true > 0.0]))
        beta_squared = self.beta**2
        numerator, denominator = (
            rates["precision"] * rates["sensitivity"],
            beta_squared * rates["precision"] + rates["sensitivity"],
        )
        of = {**rates, "f": np.nan_to_num(_divide((1.0 + beta_squared) * numerator, denominator))}
        if k is not None:
            return float(of[name][k])
        stem, _, average = name.rpartition("_")
        return float(np.mean(of[stem]) if average == "macro" else np.sum(of[stem] * true) / np.sum(true))
