"""The depth of the page: importance, contributions, differences, the learning curve, wrong samples and groups."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from tenfold.report.pictures import draw_curve
from tenfold.report.ranges import Range, draw_ranges
from tenfold.report.words import cut, format_cell, format_share, round_to, said, scored

MOST_ROWS, MOST_CLASSES, MOST_WEIGHTS = 15, 30, 40
MOST_LARGE, MOST_SMALL = 6, 14  # classes of a confusion matrix with cells of full and of small size
Record = Mapping[str, Any]


def importance(found: Record | None, metric: Record) -> dict[str, str] | None:
    """How much worse predictions are without a column."""
    if not found or not found["rows"]:
        return None
    rows = [
        Range(row["name"], row["drop"], _number(row["low"]), _number(row["high"])) for row in found["rows"][:MOST_ROWS]
    ]
    worse = "rises" if metric["better"] == "smaller" else "falls"
    unit = f"by how much the {metric['words']} {worse} when the column is shuffled"
    count = "" if len(found["rows"]) == found["columns"] else f"; {len(found['rows'])} of {found['columns']} columns"
    more = len(found["rows"]) - MOST_ROWS
    words = (
        f"Permutation importance on {found['samples']:,} held-out samples, {found['repeats']} "
        f"shuffle{'s' * (found['repeats'] > 1)} of each column, by {found['models']} "
        f"model{'s' * (found['models'] > 1)} fitted to {found['trained']:,} other samples{count}. Intervals are "
        "of 95 %. Columns that carry the same information share their importance."
    )
    if more > 0:
        words += f" {more} columns more are in run.json."
    return {"picture": draw_ranges(rows, "Permutation importance", unit, 0.0, bars=True), "words": words}


def contributions(found: Record | None, effect: str) -> dict[str, str] | None:
    """How far the columns of a linear model move its predictions."""
    if not found:
        return None
    rows = [Range(row["name"], row["size"], row["low"], row["high"]) for row in found["rows"][:MOST_ROWS]]
    words = (
        f"Contributions w (x - mean) of each column to {effect}, on {found['samples']:,} samples: the bar holds the "
        "middle 90 % of them, the number is their mean size. For a category the features of all its levels are summed."
    )
    picture = draw_ranges(rows, "Contributions", f"contribution to {effect}", 0.0, dots=False)
    return {"picture": picture, "words": words}


def differences(rows: Sequence[Record] | None, best: str, metric: Record) -> dict[str, str] | None:
    """The best model against each other."""
    if not rows:
        return None
    shown = [row for row in rows if row["name"] != "baseline"]
    if not shown:
        return None
    ranges = [
        Range(f"against {row['name']}", row["difference"], _number(row["low"]), _number(row["high"]), _sure(row))
        for row in shown
    ]
    how = {row.get("by") for row in shown}
    method = "the same held-out samples, paired" if how == {"samples"} else "the scores of the same folds, paired"
    words = (
        f"By how much {best} is better, from {method}, with intervals of 95 %. An interval that holds zero "
        "means that these data cannot tell the two apart. The intervals are about new samples, not about other "
        "training samples, and each stands for itself."
    )
    unit = f"difference of {metric['words']}; right of zero {best} is better"
    return {"picture": draw_ranges(ranges, f"{best} against others", unit, 0.0), "words": words}


def _sure(row: Record) -> str:
    """Whether the interval leaves out zero."""
    low, high = row["low"], row["high"]
    if low is None or high is None or low <= 0.0 <= high:
        return "open"
    return "best" if low > 0.0 else "bad"


def growth(found: Record | None, metric: Record) -> dict[str, str] | None:
    """The learning curve, and what twice the data would bring."""
    if not found:
        return None
    n = found["sizes"][-1]
    gain = round_to(found["gain"], 2)
    if found["low"] is None:
        range_ = "One fold or two leave no interval: take it as a hint."
    elif found["low"] <= 0.0:
        range_ = f"The interval over folds, 0 to {round_to(found['high'], 2)}, does not exclude that nothing is gained."
    else:
        range_ = f"The interval over folds is {round_to(found['low'], 2)} to {round_to(found['high'], 2)}."
    folds = f"{found['folds']} fold{'s' * (found['folds'] > 1)}"
    words = (
        f"Twice the training samples ({2 * n:,.0f} instead of {n:,.0f}) would improve the {metric['words']} by about "
        f"{gain}. {range_} Extrapolated by a power law through {len(found['sizes'])} sizes on {folds}, the differences "
        "paired within folds (thin lines); that the law holds beyond the data is an assumption, and so is that new "
        "samples are like these."
    )
    return {"picture": draw_curve(found, metric).svg(), "words": words}


def wrong_samples(found: Record | None, task: str) -> dict[str, Any] | None:
    """The table of the samples worth looking at."""
    if not found or not found["rows"]:
        return None
    if task == "regression":
        words = f"The largest residuals among {found['samples']:,} held-out samples"
    else:
        words = f"{found['wrong']:,} of {found['samples']:,} held-out samples are wrong. The most confident mistakes"
    words += ": a wrong label, a special case, or something that no column tells?"
    size = found["size"]
    alike = any(row.get("alike") for row in found["rows"])
    rows = [
        [
            f"{row['row']:,}",
            format_cell(row["true"]),
            format_cell(row["predicted"]),
            format_share(row["size"]) if size == "probability" else said(row["size"]),
            *([f"{row.get('alike', 0) or ''}"] if alike else []),
            *(cut(format_cell(value), 40) for value in row["values"]),
        ]
        for row in found["rows"]
    ]
    return {
        "words": words,
        "head": ["row in the file", "true", "predicted", size, *(["equal samples"] * alike), *found["columns"]],
        "rows": rows,
    }


def confusion(found: Record | None) -> dict[str, Any] | None:
    """Counts as a heat map: the shade is the share of the true class, by its root so that few mistakes are seen."""
    if not found or len(found["classes"]) > MOST_CLASSES:
        return None
    counts = found["counts"]
    rows = []
    for i, name in enumerate(found["classes"]):
        total = sum(counts[i])
        cells = [
            {
                "count": said(count) if count else "",
                "look": "right" if i == j else "wrong",
                "shade": f"{(count / total) ** 0.5:.2f}" if total else "0",
                "words": f"{name} predicted as {found['classes'][j]}: {said(count)}",
            }
            for j, count in enumerate(counts[i])
        ]
        rows.append({"name": name, "cells": cells, "recall": _percent(counts[i][i], total)})
    columns = [sum(row[j] for row in counts) for j in range(len(counts))]
    precision = [_percent(counts[j][j], total) for j, total in enumerate(columns)]
    look = "tiny" if len(counts) > MOST_SMALL else "small" if len(counts) > MOST_LARGE else ""
    return {"classes": found["classes"], "rows": rows, "precision": precision, "look": look}


def _percent(part: float, total: float) -> str:
    return f"{100.0 * part / total:.0f}" if total else ""


def weights(found: Record | None) -> dict[str, Any] | None:
    """The table of effects of a linear model."""
    if not found or not found.get("rows"):
        return None
    rows = [
        {
            "name": row["feature"],
            "change": row.get("change", ""),
            "look": "" if row.get("determined", True) else "open",
            "cells": ["–" if value is None else said(float(f"{value:.3g}")) for value in row["weights"]],
        }
        for row in found["rows"][:MOST_WEIGHTS]
    ]
    changes = any(row["change"] for row in rows)
    more = len(found["rows"]) - MOST_WEIGHTS
    return {
        "head": found["head"],
        "rows": rows,
        "changes": changes,
        "words": found["words"],
        "warning": found.get("warning"),
        "more": f"{more} features more are in run.json." if more > 0 else "",
    }


def groups(found: Record | None) -> dict[str, Any] | None:
    """Clusters as a heat map of means, and the loadings of components."""
    if not found:
        return None
    loadings = [
        {
            "title": f"Component {k}: {format_share(one['share'])} of the variance",
            "picture": draw_ranges(
                [Range(row["name"], row["weight"]) for row in one["features"]],
                f"Loadings of component {k}",
                "weight of the standardised feature",
                0.0,
                bars=True,
                dots=False,
            ),
        }
        for k, one in enumerate(found.get("loadings", ()), 1)
    ]
    held = found.get("clusters")
    clusters = None
    if held:
        total = sum(held["sizes"])
        head = [
            f"{name}: {size:,} ({format_share(size / total)})"
            for name, size in zip(held["names"], held["sizes"], strict=True)
        ]
        rows = [
            {
                "name": name,
                "cells": [
                    {
                        "text": f"{mean:+.2f}",
                        "look": "right" if mean > 0 else "wrong",
                        "shade": f"{min(abs(mean) / 2.0, 1.0):.2f}",
                    }
                    for mean in means
                ],
            }
            for name, means in zip(held["features"], held["means"], strict=True)
        ]
        clusters = {"head": head, "rows": rows}
    return {"loadings": loadings, "clusters": clusters}


FIGURES = {
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "r2": "R²",
    "f1": "F1",
    "mcc": "Matthews correlation",
    "roc_auc": "ROC AUC",
    "brier": "Brier score",
    "ece": "expected calibration error",
}
"""Figures whose names are abbreviations."""


def figure_row(figure: Record) -> dict[str, str]:
    """A figure of merit with its interval and method."""
    known = figure["value"] is not None
    value, interval = scored(figure["value"], figure["low"], figure["high"]) if known else ("", "")
    return {
        "name": FIGURES.get(figure["name"], figure["name"].replace("_", " ")),
        "value": value,
        "interval": interval,
        "method": figure["method"] if interval else "",
    }


def _number(value: float | None) -> float:
    return nan if value is None else value
