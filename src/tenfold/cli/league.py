"""The leaderboard: every model tuned inside honest outer folds, and one line for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tenfold.cli.preparing import Prepared
from tenfold.cli.scoring import Metric, score_of
from tenfold.cli.zoo import BASELINE, CHALLENGER, Line
from tenfold.evaluation import Figure
from tenfold.features import TableEncoder
from tenfold.selection import Candidate, Event, Nested, Result, nested

SHARE = 0.7
"""The share of the time that one model may take."""

MOST_ROWS_BY_MEANS = 20_000
"""Larger tables take the rare levels of a category together, instead of the mean target of each level."""


def encoder_of(data: Prepared, line: Line) -> TableEncoder:
    """The encoder of a table for a model.

    Categories of many levels are encoded by mean targets, which makes every inner fold refit everything, as long as the
    table is small enough for that; else their rare levels are one.
    """
    dense = line.entry is None or line.entry.dense
    return TableEncoder(
        types=data.schema.text(),
        task=data.family,
        scale=True,
        many_levels="target" if data.frame.height <= MOST_ROWS_BY_MEANS else "group",
        sparse_output=False if dense else "auto",
    )


def candidate(data: Prepared, line: Line) -> Candidate:
    """A line as selection takes it: the encoder, then the model. The baseline looks at no column and is never given up;
    of the challenger the scores are enough.
    """
    if line.name == BASELINE:
        return Candidate(line.name, line.model, keep=True)
    grid = {f"model__{name}": list(values) for name, values in (line.entry.grid if line.entry else {}).items()}
    model = Pipeline([("table", encoder_of(data, line)), ("model", line.model)])
    return Candidate(line.name, model, grid or None, refit=line.name != CHALLENGER)


def played(
    lines: list[Line],
    data: Prepared,
    metric: Metric,
    *,
    cv: Any,
    seconds: float,
    seed: int,
    tell: Callable[[Event], Any],
) -> Nested:
    """All models in nested cross-validation."""
    return nested(
        [candidate(data, line) for line in lines],
        data.frame,
        data.y,
        outer=cv,
        scoring=metric.scorer,
        groups=data.groups,
        time=data.time,
        sample_weight=data.weight,
        time_limit=seconds,
        per_model_limit=SHARE * seconds,
        callback=tell,
        random_state=seed,
    )


@dataclass(frozen=True)
class Standing:
    """A model with its score on rows that it has not seen."""

    line: Line
    result: Result
    figure: Figure | None

    @property
    def whole(self) -> bool:
        """Whether all folds were done and the model fitted to all rows."""
        return self.result.state == "ok" and self.figure is not None

    @property
    def status(self) -> str:
        if self.line.name in (BASELINE, CHALLENGER):
            return {BASELINE: "baseline", CHALLENGER: "challenger"}[self.line.name]
        return "done" if self.whole else "failed" if self.figure is None else "partial"


def standings(lines: list[Line], found: Nested, metric: Metric, data: Prepared) -> list[Standing]:
    """The models, the best first; those with some folds after those with all, then those with none."""
    standing = []
    for line in lines:
        result = found[line.name]
        figure = score_of(metric, result, data.y, data.weight, data.groups) if result.folds else None
        if figure is not None and not np.isfinite(figure.value):
            figure = None
        standing.append(Standing(line, result, figure))
    sign = 1.0 if metric.smaller else -1.0

    def place(one: Standing) -> tuple[int, float]:
        return (0 if one.whole else 1 if one.figure else 2, sign * one.figure.value if one.figure else 0.0)

    return sorted(standing, key=place)


def best_of_ours(standing: list[Standing]) -> Standing | None:
    """The first of our own models, all folds done."""
    return next((one for one in standing if one.whole and one.line.ours), None)


def board(standing: list[Standing], metric: Metric, away: Mapping[str, str]) -> list[dict[str, Any]]:
    """The lines of the leaderboard, for the record."""
    baseline = next((one.figure.value for one in standing if one.line.name == BASELINE and one.figure), None)
    rows = [_row(one, metric, baseline) for one in standing]
    rows += [{**EMPTY, "name": name, "status": "skipped", "note": reason} for name, reason in away.items()]
    return rows


EMPTY: dict[str, Any] = {
    "name": "",
    "class": "",
    "status": "",
    "score": None,
    "low": None,
    "high": None,
    "interval": "",
    "folds": 0,
    "gap": None,
    "certificate": "",
    "certified": None,
    "chosen": {},
    "tried": 0,
    "free": 0,
    "how": "",
    "fit_seconds": None,
    "predict_us": None,
    "memory_mb": None,
    "note": "",
}


def _row(one: Standing, metric: Metric, baseline: float | None) -> dict[str, Any]:
    result, figure = one.result, one.figure
    certificate = result.certificate if one.line.ours else None
    row = {
        **EMPTY,
        "name": one.line.name,
        "class": type(one.line.model).__name__,
        "status": one.status,
        "folds": len(result.folds),
        "certificate": "" if certificate is None else certified(certificate),
        "certified": None if certificate is None else bool(certificate.ok),
        "chosen": {name.removeprefix("model__"): value for name, value in result.params.items()},
        "tried": result.tried if result.tried > 1 else 0,
        "free": result.free,
        "how": result.words,
        "fit_seconds": _seconds(result),
        "predict_us": _finite(result.predict_microseconds),
        "memory_mb": None if result.peak_bytes is None else result.peak_bytes / 2**20,
        "note": _note(one),
    }
    if figure is not None:
        row |= {"score": figure.value, "low": _finite(figure.low), "high": _finite(figure.high)}
        row |= {"interval": figure.method, "gap": None if baseline is None else metric.gap(figure.value, baseline)}
    return row


def _seconds(result: Result) -> float | None:
    """Of the fit to all rows, or else of a fold."""
    if np.isfinite(result.fit_seconds):
        return float(result.fit_seconds)
    return float(np.mean([fold.fit_seconds for fold in result.folds])) if result.folds else None


def certified(certificate: Any) -> str:
    """A certificate in few words."""
    if certificate.status == "not judged":
        return "not judged"
    return f"{'ok' if certificate.ok else 'NOT OK'} {certificate.kind} {certificate.value:.1g}"


def _note(one: Standing) -> str:
    words = []
    if one.line.name == CHALLENGER:
        words.append("scikit-learn's, to compare with")
    if one.result.state != "ok":
        words.append(one.result.reason)
    certificate = one.result.certificate
    if one.line.ours and certificate is not None and not certificate.ok:
        words.append(certificate.explain())
    return "; ".join(words)


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
