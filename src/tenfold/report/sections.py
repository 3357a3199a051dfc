"""Sections of the report: importance, contributions, differences, learning curve, wrong samples, clusters."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from tenfold.report.charts import draw_curve
from tenfold.report.formatting import cut, format_cell, format_number, format_score, format_share, round_to
from tenfold.report.interval_plot import Range, draw_ranges

MAX_ROWS, MAX_CLASSES, MAX_WEIGHTS = 15, 30, 40  # that a section shows; the record has all
LARGE_CELLS_MAX_CLASSES, SMALL_CELLS_MAX_CLASSES = (
    6,
    14,
)  # classes of a confusion matrix with cells of full and of small size
Record = Mapping[str, Any]


def importance(values: Record | None, metric: Record) -> dict[str, str] | None:
    """Permutation importance."""
    if not values or not values["rows"]:
        return None
    rows = [
        Range(row["name"], row["drop"], _number(row["low"]), _number(row["high"])) for row in values["rows"][:MAX_ROWS]
    ]
    worse = "increase" if metric["better"] == "smaller" else "decrease"
    unit = f"{worse} of the {metric['words']} when the column is shuffled"
    count = (
        "" if len(values["rows"]) == values["columns"] else f"; {len(values['rows'])} of {values['columns']} columns"
    )
    more = len(values["rows"]) - MAX_ROWS
    words = (
        f"Permutation importance on {values['samples']:,} held-out samples, {values['repeats']} "
        f"shuffle{'s' * (values['repeats'] > 1)} of each column, by {values['models']} "
        f"model{'s' * (values['models'] > 1)} fitted to {values['trained']:,} other samples{count}. Intervals are "
        "of 95 %. Columns that carry the same information share their importance."
    )
    if more > 0:
        words += f" {more} columns more are in run.json."
    return {"picture": draw_ranges(rows, "Permutation importance", unit, 0.0, bars=True), "words": words}


def contributions(values: Record | None, effect: str) -> dict[str, str] | None:
    """Contributions of the columns of a linear model to its predictions."""
    if not values:
        return None
    rows = [Range(row["name"], row["size"], row["low"], row["high"]) for row in values["rows"][:MAX_ROWS]]
    words = (
        f"Contributions w (x - mean) of each column to {effect}, on {values['samples']:,} samples: the bar holds the "
        "middle 90 % of them, the number is their mean size. For a category the features of all its levels are summed."
    )
    picture = draw_ranges(rows, "Contributions", f"contribution to {effect}", 0.0, dots=False)
    return {"picture": picture, "words": words}


def differences(rows: Sequence[Record] | None, best: str, metric: Record) -> dict[str, str] | None:
    """Differences of the best model to each other model."""
    if not rows:
        return None
    shown = [row for row in rows if row["name"] != "baseline"]
    if not shown:
        return None
    ranges = [
        Range(f"against {row['name']}", row["difference"], _number(row["low"]), _number(row["high"]), _style_of(row))
        for row in shown
    ]
    how = {row.get("by") for row in shown}
    method = "the same held-out samples, paired" if how == {"samples"} else "the scores of the same folds, paired"
    words = (
        f"How much better {best} is, from {method}, with intervals of 95 %. An interval that contains "
        "zero means that these data cannot tell the two apart. The intervals are about new samples, not about other "
        "training samples, and are not corrected for multiple comparisons."
    )
    unit = f"difference of {metric['words']}; right of zero {best} is better"
    return {"picture": draw_ranges(ranges, f"{best} against others", unit, 0.0), "words": words}


def _style_of(row: Record) -> str:
    """The style of a difference: by the sign where the interval excludes zero."""
    low, high = row["low"], row["high"]
    if low is None or high is None or low <= 0.0 <= high:
        return "open"
    return "best" if low > 0.0 else "bad"


def growth(values: Record | None, metric: Record) -> dict[str, str] | None:
    """The learning curve, extrapolated to twice the data."""
    if not values:
        return None
    n = values["sizes"][-1]
    gain = round_to(values["gain"], 2)
    if values["low"] is None:
        range_ = "One fold or two leave no interval: take it as a hint."
    elif values["low"] <= 0.0:
        range_ = (
            f"The interval over folds, 0 to {round_to(values['high'], 2)}, does not exclude that nothing is gained."
        )
    else:
        range_ = f"The interval over folds is {round_to(values['low'], 2)} to {round_to(values['high'], 2)}."
    folds = f"{values['folds']} fold{'s' * (values['folds'] > 1)}"
    words = (
        f"Twice the training samples ({2 * n:,.0f} instead of {n:,.0f}) would improve the {metric['words']} by about "
        f"{gain}. {range_} Extrapolated by a power law through {len(values['sizes'])} sizes on {folds}, the "
        "differences paired within folds (thin lines); that the law holds beyond the data is an assumption, and so is "
        "that new samples are like these."
    )
    return {"picture": draw_curve(values, metric).svg(), "words": words}


def wrong_samples(values: Record | None, task: str) -> dict[str, Any] | None:
    """The table of wrong samples."""
    if not values or not values["rows"]:
        return None
    if task == "regression":
        words = f"The largest residuals among {values['samples']:,} held-out samples"
    else:
        words = f"{values['wrong']:,} of {values['samples']:,} held-out samples are wrong. The most confident mistakes"
    words += ": a wrong label, a special case, or information that no column has?"
    size = values["size"]
    alike = any(row.get("alike") for row in values["rows"])
    rows = [
        [
            f"{row['row']:,}",
            format_cell(row["true"]),
            format_cell(row["predicted"]),
            format_share(row["size"]) if size == "probability" else format_number(row["size"]),
            *([f"{row.get('alike', 0) or ''}"] if alike else []),
            *(cut(format_cell(value), 40) for value in row["values"]),
        ]
        for row in values["rows"]
    ]
    return {
        "words": words,
        "head": ["row in the file", "true", "predicted", size, *(["equal samples"] * alike), *values["columns"]],
        "rows": rows,
    }


def confusion(values: Record | None) -> dict[str, Any] | None:
    """Counts as a heat map, shaded by the square root of the fraction of the true class, so that rare mistakes show."""
    if not values or len(values["classes"]) > MAX_CLASSES:
        return None
    counts = values["counts"]
    rows = []
    for i, name in enumerate(values["classes"]):
        total = sum(counts[i])
        cells = [
            {
                "count": format_number(count) if count else "",
                "look": "right" if i == j else "wrong",
                "shade": f"{(count / total) ** 0.5:.2f}" if total else "0",
                "words": f"{name} predicted as {values['classes'][j]}: {format_number(count)}",
            }
            for j, count in enumerate(counts[i])
        ]
        rows.append({"name": name, "cells": cells, "recall": _percent(counts[i][i], total)})
    columns = [sum(row[j] for row in counts) for j in range(len(counts))]
    precision = [_percent(counts[j][j], total) for j, total in enumerate(columns)]
    look = "tiny" if len(counts) > SMALL_CELLS_MAX_CLASSES else "small" if len(counts) > LARGE_CELLS_MAX_CLASSES else ""
    return {"classes": values["classes"], "rows": rows, "precision": precision, "look": look}


def _percent(part: float, total: float) -> str:
    return f"{100.0 * part / total:.0f}" if total else ""


def weights(values: Record | None) -> dict[str, Any] | None:
    """The table of effects of a linear model."""
    if not values or not values.get("rows"):
        return None
    rows = [
        {
            "name": row["feature"],
            "change": row.get("change", ""),
            "look": "" if row.get("determined", True) else "open",
            "cells": ["–" if value is None else format_number(float(f"{value:.3g}")) for value in row["weights"]],
        }
        for row in values["rows"][:MAX_WEIGHTS]
    ]
    changes = any(row["change"] for row in rows)
    more = len(values["rows"]) - MAX_WEIGHTS
    return {
        "head": values["head"],
        "rows": rows,
        "changes": changes,
        "words": values["words"],
        "warning": values.get("warning"),
        "more": f"{more} features more are in run.json." if more > 0 else "",
    }


def _bars(features: Sequence[Record], title: str, unit: str) -> str:
    return draw_ranges([Range(row["name"], row["weight"]) for row in features], title, unit, 0.0, bars=True, dots=False)


def groups(values: Record | None) -> dict[str, Any] | None:
    """Clusters as a heat map of means, the loadings of components, and parts."""
    if not values:
        return None
    loadings = [
        {
            "title": f"Component {k}: {format_share(one['share'])} of the variance",
            "picture": _bars(one["features"], f"Loadings of component {k}", "weight of the standardised feature"),
        }
        for k, one in enumerate(values.get("loadings", ()), 1)
    ]
    loadings += [
        {
            "title": f"Part {k}: rows are sums of parts",
            "picture": _bars(one["features"], f"Part {k}", "amount above the smallest value of the feature"),
        }
        for k, one in enumerate(values.get("parts", ()), 1)
    ]
    clusters_ = values.get("clusters")
    clusters = None
    if clusters_:
        total = sum(clusters_["sizes"])
        head = [
            f"{name}: {size:,} ({format_share(size / total)})"
            for name, size in zip(clusters_["names"], clusters_["sizes"], strict=True)
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
            for name, means in zip(clusters_["features"], clusters_["means"], strict=True)
        ]
        clusters = {"head": head, "rows": rows}
    return {"loadings": loadings, "clusters": clusters}


# display names of metrics that are not their identifiers
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


def figure_row(figure: Record) -> dict[str, str]:
    """A metric with its interval and method."""
    known = figure["value"] is not None
    value, interval = format_score(figure["value"], figure["low"], figure["high"]) if known else ("", "")
    return {
        "name": FIGURES.get(figure["name"], figure["name"].replace("_", " ")),
        "value": value,
        "interval": interval,
        "method": figure["method"] if interval else "",
    }


def _number(value: float | None) -> float:
    return nan if value is None else value
