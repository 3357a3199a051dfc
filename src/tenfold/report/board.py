"""The top of the report: headline, tiles, and the leaderboard."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tenfold.report.formatting import format_number, format_score, format_seconds, format_value
from tenfold.report.interval_plot import Range, draw_ranges

Record = Mapping[str, Any]

# the columns of the board and how each is sorted
HEAD = (
    ("model", "text"),
    ("score", "number"),
    ("95 % interval", "text"),
    ("over baseline", "number"),
    ("certificate", "text"),
    ("fit", "number"),
    ("a sample", "number"),
    ("memory", "number"),
    ("chosen", "text"),
)


def headline(record: Record) -> tuple[str, str]:
    """The first sentence of the summary, and the rest."""
    if record["target"] is None:
        return _headline_of_groups(record["board"])
    first, *rest = re.split(r"(?<=[.!?])\s+(?=[A-Z])", record["lead"], maxsplit=1)
    return first, " ".join(rest)


def _headline_of_groups(board: Sequence[Record]) -> tuple[str, str]:
    """How many clusters and components there are."""
    rows = {row["name"]: row for row in board}
    words = []
    if "k-means" in rows:
        words.append(f"{rows['k-means']['chosen']['clusters']} clusters")
    if "principal-components" in rows:
        words.append(rows["principal-components"]["note"].replace("%", " %"))
    return ("; ".join(words) + "." if words else "No method finished in time."), ""


def tiles(record: Record) -> list[dict[str, str]]:
    """The tiles beside the headline."""
    metric, board = record["metric"], record["board"]
    rows = {row["status"]: row for row in board if row["status"] in ("baseline", "challenger")}
    best = next((row for row in board if row["name"] == record["best"]), None)
    shown = []
    if best is not None and best["score"] is not None and record["target"]:
        value, interval = format_score(best["score"], best["low"], best["high"])
        shown.append(_tile(metric["words"], value, f"{best['name']}, {interval}" if interval else best["name"], "main"))
        for status, name in (("baseline", "baseline"), ("challenger", "gradient boosting")):
            row = rows.get(status)
            if row is not None and row["score"] is not None:
                value, _ = format_score(row["score"], row["low"], row["high"])
                shown.append(_tile(name, value, _compare_scores(best, row, metric), ""))
    if best is not None and best.get("certified") is not None:
        word = "certified" if best["certified"] else "not certified"
        shown.append(_tile("certificate", word, best["certificate"], "good" if best["certified"] else "bad"))
    data = record["data"]
    shown.append(_tile("data", f"{data['rows']:,}", f"samples, {data['columns']:,} columns", ""))
    return shown


def _tile(name: str, value: str, words: str, look: str) -> dict[str, str]:
    return {"name": name, "value": value, "words": words, "look": look}


def _compare_scores(best: Record, other: Record, metric: Record) -> str:
    """How much better or worse the best of ours is; on the folds that both have, where some are missing."""
    score, theirs = best["score"], other["score"]
    gap = theirs - score if metric["better"] == "smaller" else score - theirs
    same = ""
    if other["folds"] != best["folds"] and other.get("lead") is not None and best.get("lead") is not None:
        gap, same = best["lead"] - other["lead"], " on the same folds"
    word = "better" if gap > 0 else "worse"
    if metric["better"] == "smaller" and theirs > 0:
        return f"ours is {abs(gap) / theirs:.0%} {word}{same}".replace("%", " %")
    return f"ours is {abs(gap):.3g} {word}{same}"


def draw_board(board: Sequence[Record], metric: Record, best: str | None) -> str:
    """Scores with their intervals; a baseline far from the others is given in the caption instead of drawn."""
    ranked = [row for row in board if row["score"] is not None]
    baseline = next((row["score"] for row in ranked if row["status"] == "baseline"), None)
    shown = [row for row in ranked if row["status"] != "baseline"]
    if not shown:
        return ""
    ends = [v for row in shown for v in (row["score"], row["low"], row["high"]) if v is not None]
    far = baseline is not None and (
        max(min(ends) - baseline, baseline - max(ends)) > 1.5 * max(max(ends) - min(ends), 1e-12)
    )
    unit = f"{metric['words']}, {metric['better']} is better"
    if baseline is not None:
        unit += (
            f"; baseline {format_number(baseline)}, off the scale"
            if far
            else f"; line: baseline {format_number(baseline)}"
        )
    rows = [
        Range(row["name"], row["score"], _number(row["low"]), _number(row["high"]), look(row, best)) for row in shown
    ]
    return draw_ranges(rows, f"{metric['words']} of each model with its interval", unit, None if far else baseline)


def look(row: Record, best: str | None) -> str:
    return "best" if row["name"] == best else str(row["status"])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def board_table(board: Sequence[Record], best: str | None) -> dict[str, Any]:
    """Rows of the models with a score or a fit, each cell with its sort key; empty columns are dropped."""
    shown = [row for row in board if row["score"] is not None or row["fit_seconds"] is not None]
    cells = [_cells(row) for row in shown]
    used = [j for j in range(len(HEAD)) if any(row[j]["text"] for row in cells)]
    rows = [{"look": look(row, best), "cells": [own[j] for j in used]} for row, own in zip(shown, cells, strict=True)]
    return {"head": [HEAD[j] for j in used], "rows": rows}


def _cells(row: Record) -> list[dict[str, Any]]:
    score, interval = ("", "") if row["score"] is None else format_score(row["score"], row["low"], row["high"])
    chosen = ", ".join(f"{name} {format_value(value)}" for name, value in row["chosen"].items())
    if row["tried"]:
        chosen += f" (of {row['tried']}" + (f", {row['free']} free)" if row["free"] else ")")
    microseconds = row["predict_us"]
    cells = (
        (row["name"], None),
        (score, row["score"]),
        (interval, None),
        ("" if row["gap"] is None else f"{row['gap']:+.3g}", row["gap"]),
        (row["certificate"] or "", None),
        (format_seconds(row["fit_seconds"]), row["fit_seconds"]),
        ("" if microseconds is None else format_seconds(microseconds * 1e-6), microseconds),
        (_megabytes(row["memory_mb"]), row["memory_mb"]),
        (chosen, None),
    )
    return [{"text": text, "sort": value} for text, value in cells]


def _megabytes(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} MB" if value >= 1.0 else "< 1 MB"


def board_notes(board: Sequence[Record]) -> list[dict[str, str]]:
    """Notes on single models."""
    return [{"name": row["name"], "text": row["note"]} for row in board if row["note"]]
