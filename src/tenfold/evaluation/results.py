"""Results of an evaluation: metrics with intervals, ROC curves, calibration, and their display."""

import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.evaluation.intervals import Interval

Better: TypeAlias = Literal["higher", "lower", "zero"]


@dataclass(frozen=True)
class Figure:
    """A metric with its confidence interval.

    Attributes
    ----------
    name : str
        Name of the metric.
    value : float
        Its value on the samples; nan where it is undefined.
    low : float
        Lower end of the interval of the figure on new samples of the same kind; nan where there is none.
    high : float
        Upper end of the interval; nan where there is none.
    confidence : float
        Probability with which the interval covers.
    method : str
        How the interval was computed, or why the figure is undefined.
    better : {"higher", "lower", "zero"}
        Which values are better.

    Examples
    --------
    >>> from tenfold import evaluate
    >>> print(evaluate([0, 1, 1, 1], [0, 1, 1, 0])["sensitivity"])
    sensitivity 0.6667 [0.0943, 0.9916]
    """

    name: str
    value: float
    low: float
    high: float
    confidence: float
    method: str
    better: Better

    @classmethod
    def of(cls, name: str, interval: Interval, confidence: float, better: Better = "higher") -> "Figure":
        """A figure of this `name` from an `interval`, its value and method, with its `confidence` and what is
        `better`.
        """
        return cls(name, interval.value, interval.low, interval.high, confidence, interval.method, better)

    def to_dict(self) -> dict[str, Any]:
        """Strings and numbers only; None where a number is not finite."""
        return {
            "name": self.name,
            "value": finite_or_none(self.value),
            "low": finite_or_none(self.low),
            "high": finite_or_none(self.high),
            "confidence": self.confidence,
            "method": self.method,
            "better": self.better,
        }

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.name} {self.method}"
        if math.isnan(self.low):
            return f"{self.name} {format_value(self.value)}"
        return f"{self.name} {format_value(self.value)} [{format_value(self.low)}, {format_value(self.high)}]"


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities against observed frequencies, in bins.

    Attributes
    ----------
    edges : (bins + 1,)
    count : (bins,) rows; bins without any are left out of all arrays but `edges`.
    share : (bins,) of the weight.
    predicted : (bins,) mean predicted probability.
    observed, low, high : (bins,) observed frequency, and its interval.
    method : of the intervals.
    error : the expected calibration error: the mean of ``|observed - predicted|``, weighted by the bins' shares.
    largest : the largest of these gaps.
    """

    edges: Floats
    count: Integers
    share: Floats
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    method: str

    @property
    def error(self) -> float:
        return float(np.sum(self.share * np.abs(self.observed - self.predicted)))

    @property
    def largest(self) -> float:
        return float(np.max(np.abs(self.observed - self.predicted)))

    def to_dict(self) -> dict[str, Any]:
        names = ("edges", "count", "share", "predicted", "observed", "low", "high")
        return {**{name: getattr(self, name).tolist() for name in names}, "method": self.method}


@dataclass(frozen=True)
class Curve:
    """A ROC curve: rates of false and of true positives at each threshold of the score, from none to all."""

    false_positives: Floats
    true_positives: Floats
    thresholds: Floats

    def thinned(self, points: int = 200) -> "Curve":
        """At most about `points` points of the curve, equally spaced along it, with both ends."""
        if len(self.thresholds) <= points:
            return self
        position = self.false_positives + self.true_positives
        keep = np.unique(np.searchsorted(position, np.linspace(0.0, position[-1], points)).clip(0, len(position) - 1))
        keep = np.union1d(keep, [0, len(position) - 1])
        return Curve(self.false_positives[keep], self.true_positives[keep], self.thresholds[keep])

    def to_dict(self) -> dict[str, Any]:
        curve = self.thinned()
        return {
            "false_positives": curve.false_positives.tolist(),
            "true_positives": curve.true_positives.tolist(),
            "thresholds": [finite_or_none(value) for value in curve.thresholds],
        }


@dataclass(frozen=True)
class Evaluation(Mapping[str, Figure]):
    """Figures of predictions, each with its interval; a mapping from names to `Figure`.

    ``evaluation["accuracy"]`` is a figure of all rows, ``evaluation["f1_macro"]`` an average over classes,
    ``evaluation.per_class["cat"]["precision"]`` that of one class against the rest.

    Attributes
    ----------
    task : {"classification", "regression"}
        What was predicted.
    figures : mapping of str to Figure
        Figures of all samples, by name; with two classes, also those of the second against the first.
    rows : int
        Number of samples.
    effective_rows : float
        The same, allowing for unequal weights.
    groups : int
        Number of groups of samples; 0 where samples are independent.
    confidence : float
        Probability with which intervals cover.
    per_class : mapping of classes to mappings of str to Figure
        Figures of each class against the rest.
    averages : mapping of str to mappings of str to Figure
        Figures averaged over classes: "macro", "weighted" and "micro".
    classes : tuple
        The classes, in the order of `confusion`.
    confusion : ndarray of shape (n_classes, n_classes) or None
        Weight of the samples of each true class (first axis) in each predicted one (second axis).
    roc : mapping of classes to Curve
        ROC curves by class; with two classes, that of the second.
    calibration : Reliability or None
        Calibration of the second of two classes, or of the predicted one of several; None without probabilities.
    notes : tuple of str
        Warnings about the predictions.

    Examples
    --------
    >>> from tenfold import evaluate
    >>> found = evaluate(["cat", "cat", "cow", "dog", "dog", "dog"], ["cat", "cow", "cow", "dog", "dog", "cat"])
    >>> print(found.per_class["dog"]["sensitivity"])
    sensitivity 0.6667 [0.0943, 0.9916]
    >>> round(found["sensitivity_macro"].value, 3)
    0.722
    """

    task: str
    figures: Mapping[str, Figure]
    rows: int
    effective_rows: float
    groups: int = 0
    confidence: float = 0.95
    per_class: Mapping[Any, Mapping[str, Figure]] = field(default_factory=dict)
    averages: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    classes: tuple[Any, ...] = ()
    confusion: Floats | None = None
    roc: Mapping[Any, Curve] = field(default_factory=dict)
    calibration: Reliability | None = None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Figure:
        if name in self.figures:
            return self.figures[name]
        stem, _, average = name.rpartition("_")
        if average in self.averages and stem in self.averages[average]:
            return self.averages[average][stem]
        raise KeyError(f"{name!r} is none of the figures: {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        yield from self.figures
        for average, figures in self.averages.items():
            yield from (f"{name}_{average}" for name in figures)

    def __len__(self) -> int:
        return len(self.figures) + sum(len(figures) for figures in self.averages.values())

    def table(self) -> list[dict[str, Any]]:
        """A row for each figure: name, of (all, an average, or the class), value, low, high, method and better."""
        parts: list[tuple[Any, Mapping[str, Figure]]] = [("all", self.figures), *self.averages.items()]
        parts += [(to_builtin(label), figures) for label, figures in self.per_class.items()]
        return [
            {
                "name": name,
                "of": of,
                "value": figure.value,
                "low": figure.low,
                "high": figure.high,
                "confidence": figure.confidence,
                "method": figure.method,
                "better": figure.better,
            }
            for of, figures in parts
            for name, figure in figures.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it in lists, strings and numbers, for JSON; curves are thinned to 200 points."""

        def to_dicts(figures: Mapping[str, Figure]) -> dict[str, Any]:
            return {name: figure.to_dict() for name, figure in figures.items()}

        return {
            "task": self.task,
            "rows": self.rows,
            "effective_rows": self.effective_rows,
            "groups": self.groups,
            "confidence": self.confidence,
            "figures": to_dicts(self.figures),
            "averages": {average: to_dicts(figures) for average, figures in self.averages.items()},
            "per_class": {str(to_builtin(label)): to_dicts(figures) for label, figures in self.per_class.items()},
            "classes": [to_builtin(label) for label in self.classes],
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "roc": {str(to_builtin(label)): curve.to_dict() for label, curve in self.roc.items()},
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        of = f"{self.rows} rows"
        if self.groups:
            of += f" in {self.groups} groups"
        elif self.effective_rows < self.rows:
            of += f" ({self.effective_rows:.1f} effective)"
        lines = [f"{self.task} of {of}; intervals of {100 * self.confidence:g}%"]
        rows = [("", f, self.figures[f]) for f in self.figures]
        if len(self.classes) > 2:
            rows += [(average, name, part[name]) for average, part in self.averages.items() for name in part]
        width = max(len(self._label_of(average, name)) for average, name, _ in rows)
        for average, name, figure in rows:
            lines.append(f"  {self._label_of(average, name):<{width}}  {_cells(figure)}  {figure.method}")
        if self.confusion is not None and len(self.classes) <= 12:
            lines += ["confusion (rows: true, columns: predicted)", *_matrix(self.classes, self.confusion)]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])

    @staticmethod
    def _label_of(average: str, name: str) -> str:
        return f"{name} ({average})" if average else name

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{format_value(figure.value)}</td><td>{format_interval(figure)}</td>"
            f"<td>{html.escape(figure.method)}</td></tr>"
            for name, figure in self.figures.items()
        )
        head = f"<tr><th>{self.task}</th><th>value</th><th>{100 * self.confidence:g}% interval</th><th>method</th></tr>"
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table>{head}{cells}</table>{notes}"


def finite_or_none(value: float) -> float | None:
    """The value, or None where it is not finite, for JSON."""
    return float(value) if math.isfinite(value) else None


def to_builtin(label: Any) -> Any:
    """A label as a built-in type."""
    return label.item() if isinstance(label, np.generic) else label


def format_value(value: float) -> str:
    """A value with four significant digits."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else f"{value}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 100 or value == 0 else f"{value:.4g}"


def format_interval(figure: Figure) -> str:
    return "" if math.isnan(figure.low) else f"[{format_value(figure.low)}, {format_value(figure.high)}]"


def _cells(figure: Figure) -> str:
    return f"{format_value(figure.value):>9}  {format_interval(figure):<22}"


def _matrix(classes: tuple[Any, ...], confusion: Floats) -> list[str]:
    names = [str(to_builtin(label)) for label in classes]
    cells = [[f"{count:g}" for count in row] for row in confusion]
    width = max(max(map(len, names)), *(len(cell) for row in cells for cell in row))
    lines = ["  " + " " * width + "  " + "  ".join(f"{name:>{width}}" for name in names)]
    for name, row in zip(names, cells, strict=True):
        lines.append(f"  {name:>{width}}  " + "  ".join(f"{cell:>{width}}" for cell in row))
    return lines
