"""Figures of a table of confusion: shares, F, Matthews' correlation, and their averages over classes.

With the weights of true positives TP, false positives FP, true negatives TN and false negatives FN of a class:

    sensitivity  TP / (TP + FN)       precision                  TP / (TP + FP)
    specificity  TN / (TN + FP)       negative predictive value  TN / (TN + FN)
    F            (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)

All of them are functions of three sums over rows: of true classes, of predicted classes, and of both where they agree.
The table printed in the cookbook (5.1) has FP in the place of FN.
"""

from collections.abc import Mapping

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Interval, Sample, clopper_pearson, undefined
from tenfold.evaluation.resampling import MOST_UNITS, Resampled, Units, bootstrap, dealt

SHARES = ("sensitivity", "specificity", "precision", "negative_predictive_value")


def _over(top: Floats, bottom: Floats) -> Floats:
    """top / bottom, and nan where there is nothing to divide by."""
    some = bottom > 0.0
    return np.where(some, np.clip(top, 0.0, None) / np.where(some, bottom, 1.0), np.nan)


def figures_of(true: Floats, predicted: Floats, both: Floats, beta: float) -> dict[str, Floats]:
    """All figures of tables given by their sums, each (b, K): of classes (b, K), of all rows and averages (b,).

    An undefined precision, sensitivity or F counts as zero in an average, as in scikit-learn.
    """
    n = np.sum(true, axis=1, keepdims=True)
    neither = n - true - predicted + both
    square = beta * beta
    found = {
        "sensitivity": _over(both, true),
        "specificity": _over(neither, n - true),
        "precision": _over(both, predicted),
        "negative_predictive_value": _over(neither, n - predicted),
        "f": _over((1.0 + square) * both, square * true + predicted),
    }
    support = true / np.where(n > 0.0, n, 1.0)
    for name in (*SHARES, "f"):
        counted = found[name] if name in ("specificity", "negative_predictive_value") else np.nan_to_num(found[name])
        found[f"{name}_macro"] = np.mean(counted, axis=1)
        found[f"{name}_weighted"] = np.sum(counted * support, axis=1)
    seen = true > 0.0
    found["balanced_accuracy"] = np.sum(np.nan_to_num(found["sensitivity"]), axis=1) / np.maximum(seen.sum(axis=1), 1)
    found["mcc"] = _matthews(true, predicted, both)
    return found


def _matthews(true: Floats, predicted: Floats, both: Floats) -> Floats:
    """Matthews' correlation of all classes; nan where all rows are, or are said to be, of one class."""
    n = np.sum(true, axis=1)
    covariance = np.sum(both, axis=1) * n - np.sum(true * predicted, axis=1)
    spread = (n**2 - np.sum(true**2, axis=1)) * (n**2 - np.sum(predicted**2, axis=1))
    some = spread > 1e-12 * n**4
    return np.where(some, np.clip(covariance / np.sqrt(np.where(some, spread, 1.0)), -1.0, 1.0), np.nan)


class Confusion:
    """True and predicted classes of the rows of a sample, by their numbers 0, ..., K - 1."""

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

    # shares -----------------------------------------------------------------------------------------------------------

    def accuracy(self) -> Interval:
        return self.sample.share(self.true == self.predicted)

    def micro(self, name: str) -> Interval:
        """Of the sums of all classes: the accuracy, but for what counts the rest of each class."""
        accuracy = self.accuracy()
        if name not in ("specificity", "negative_predictive_value"):
            return accuracy
        rest = self.classes - 1.0
        value, low, high = (1.0 - (1.0 - end) / rest for end in accuracy[:3])
        return Interval(value, low, high, accuracy.method)

    def share(self, name: str, k: int) -> Interval:
        """One of SHARES of class k against the rest."""
        true, said = self.true == k, self.predicted == k
        among, missing = {
            "sensitivity": (true, "no row is of the class"),
            "specificity": (~true, "all rows are of the class"),
            "precision": (said, "the class is never predicted"),
            "negative_predictive_value": (~said, "no other class is predicted"),
        }[name]
        right = said if name == "sensitivity" else ~said if name == "specificity" else true
        right = ~true if name == "negative_predictive_value" else right
        if self.sample.plain:
            trials = int(np.count_nonzero(among))
            found = self.sample.count(int(np.count_nonzero(right & among)), trials)
        else:
            found = self.sample.share(right, among)
        return undefined(missing) if np.isnan(found.value) else found

    # what is no share -------------------------------------------------------------------------------------------------

    def resampled(self, n_resamples: int, rng: np.random.Generator) -> Resampled | None:
        """Bootstrap of all figures; rows that are alike are drawn together, which is exact."""
        return bootstrap(self._units(rng), self._statistic, n_resamples, rng)

    def _statistic(self, sums: Floats) -> Mapping[str, Floats]:
        k = self.classes
        found = figures_of(sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k :], self.beta)
        return {name: figure for name, figure in found.items() if name not in SHARES}

    def _units(self, rng: np.random.Generator) -> Units:
        k = self.classes
        true, said = np.nonzero(self.counts)
        if self.sample.plain and len(true) <= MOST_UNITS:
            sums = np.zeros((len(true), 3 * k))
            at = np.arange(len(true))
            sums[at, true] = sums[at, k + said] = 1.0
            same = true == said
            sums[at[same], 2 * k + true[same]] = 1.0
            return Units(sums, self.counts[true, said], "rows")
        unit, words = dealt(self.sample, rng)
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

    def interval(self, name: str, drawn: Resampled | None, k: int | None = None) -> Interval:
        """Of a figure that is no share: BCa, or where resamples agree, bounds from the shares of classes."""
        value = float(self.values[name] if k is None else self.values[name][k])
        if np.isnan(value):
            return undefined("all rows are of one class, or said to be" if name == "mcc" else "no row has the class")
        if drawn is None:
            return Interval(value, np.nan, np.nan, "none")
        found = drawn.interval(name, self.sample.confidence, k)
        return found._replace(value=value) if found is not None else self._together(name, value, k)

    def _together(self, name: str, value: float, k: int | None) -> Interval:
        """Where no resample differs: the figure at exact bounds of shares that hold all together (Bonferroni).

        All but Matthews' correlation grow with each sensitivity and precision; that one is taken where the errors of a
        class fall evenly on the others.
        """
        of_class = name == "f"
        bounds = 2 if of_class else 2 * self.classes if name.startswith("f_") else self.classes
        confidence = 1.0 - (1.0 - self.sample.confidence) / bounds
        ends = []
        for side in (0, 1):
            shares = {part: self._bounds(part, confidence)[side] for part in SHARES}
            ends.append(self._at(name, shares, k))
        low, high = (float(np.clip(end, -1.0 if name == "mcc" else 0.0, 1.0)) for end in ends)
        return Interval(value, min(low, value), max(high, value), "exact binomial of the classes together")

    def _bounds(self, name: str, confidence: float) -> tuple[Floats, Floats]:
        true, said, both = (part[0] for part in self.sums)
        n = np.sum(true)
        right, trials = {
            "sensitivity": (both, true),
            "specificity": (n - true - said + both, n - true),
            "precision": (both, said),
            "negative_predictive_value": (n - true - said + both, n - said),
        }[name]
        scale = 1.0 if self.sample.plain else min(self.sample.kish(), float(self.sample.units())) / n
        low, high = clopper_pearson(right * scale, trials * scale, confidence)
        return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)

    def _at(self, name: str, shares: Mapping[str, Floats], k: int | None) -> float:
        """A figure where the shares of the classes are these."""
        true = self.sums[0][0]
        if name == "mcc":
            right = shares["sensitivity"] * true
            spread = (true - right) / max(self.classes - 1, 1)
            return float(_matthews(true[None], (right + np.sum(spread) - spread)[None], right[None])[0])
        if name == "balanced_accuracy":
            return float(np.mean(shares["sensitivity"][true > 0.0]))
        square = self.beta**2
        top, bottom = shares["precision"] * shares["sensitivity"], square * shares["precision"] + shares["sensitivity"]
        of = {**shares, "f": np.nan_to_num(_over((1.0 + square) * top, bottom))}
        if k is not None:
            return float(of[name][k])
        stem, _, average = name.rpartition("_")
        return float(np.mean(of[stem]) if average == "macro" else np.sum(of[stem] * true) / np.sum(true))
