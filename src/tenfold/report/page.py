"""The page of a run: what the record holds, put into words, tables and pictures."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from tenfold.report.pictures import pictures
from tenfold.report.svg import Range, ranges
from tenfold.report.words import said, scored, seconds_said, value_said

MOST_COLUMNS, MOST_WEIGHTS, MOST_CLASSES = 200, 40, 30
Record = Mapping[str, Any]

BOARD_HEAD = (
    "model",
    "score",
    "interval",
    "over the baseline",
    "certificate",
    "chosen",
    "tried",
    "fit",
    "a row",
    "memory",
    "note",
)


def page(record: Record) -> str:
    """The whole page, one file: no script, no font, no request to anywhere."""
    template = Environment(autoescape=True, trim_blocks=True).from_string(_text("page.html"))
    return template.render(style=_text("page.css"), **_context(record)) + "\n"


def _text(name: str) -> str:
    return files("tenfold.report").joinpath(name).read_text(encoding="utf-8")


def _context(record: Record) -> dict[str, Any]:
    board: Sequence[Record] = record["board"]
    metric = record["metric"]
    weights = record.get("weights") or {}
    columns = record["columns"]
    return {
        "title": f"{record['target'] or 'Structure'} in {record['data']['name']}",
        "lead": record["lead"],
        "warnings": record["warnings"],
        "protocol": record["protocol"],
        "picture_board": _board_picture(board, metric),
        "board_head": BOARD_HEAD,
        "board": [_board_row(row, record["best"]) for row in board],
        "board_notes": record["notes"],
        "best": record["best"],
        "certificate": record.get("certificate"),
        "figures": [_figure_row(figure) for figure in record.get("figures", ())],
        "tests": [_figure_row(figure) for figure in (record.get("test") or {}).get("figures", ())],
        "tests_rows": f"{(record.get('test') or {}).get('rows', 0):,}",
        "confusion": _confusion(record.get("confusion")),
        "pictures": pictures(record),
        "weights": [
            {"name": row["feature"], "cells": [said(value) for value in row["weights"]]}
            for row in weights.get("rows", ())[:MOST_WEIGHTS]
        ],
        "weights_head": weights.get("head", ()),
        "weights_words": weights.get("words", ""),
        "columns": columns[:MOST_COLUMNS],
        "columns_more": _more(columns, "columns"),
        "decisions_more": _more(record["decisions"], "decisions"),
        "decisions": record["decisions"][:MOST_COLUMNS],
        "footer": _footer(record),
    }


def _more(listed: Sequence[Any], what: str) -> str:
    more = len(listed) - MOST_COLUMNS
    return f"... and {more:,} {what} more, in run.json." if more > 0 else ""


def _board_picture(board: Sequence[Record], metric: Record) -> str:
    scored = [row for row in board if row["score"] is not None]
    if not scored:
        return ""
    baseline = next((row["score"] for row in scored if row["status"] == "baseline"), None)
    rows = [
        Range(row["name"], row["score"], _number(row["low"]), _number(row["high"]), best=k == 0)
        for k, row in enumerate(scored)
    ]
    return ranges(rows, f"{metric['words']} of each model with its interval", metric["words"], baseline)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _board_row(row: Record, best: str | None) -> dict[str, Any]:
    score, interval = ("", "") if row["score"] is None else scored(row["score"], row["low"], row["high"])
    cells = (
        row["name"],
        score,
        interval,
        "" if row["gap"] is None else f"{row['gap']:+.3g}",
        row["certificate"] or "",
        ", ".join(f"{name} {value_said(value)}" for name, value in row["chosen"].items()),
        _tried(row),
        seconds_said(row["fit_seconds"]),
        "" if row["predict_us"] is None else f"{row['predict_us']:.2g} µs",
        "" if row["memory_mb"] is None else f"{row['memory_mb']:.0f} MB",
        row["note"],
    )
    look = "best" if row["name"] == best else row["status"]
    return {"look": look, "cells": cells}


def _tried(row: Record) -> str:
    if not row["tried"]:
        return ""
    return f"{row['tried']}, {row['free']} free" if row["free"] else str(row["tried"])


def _figure_row(figure: Record) -> dict[str, str]:
    known = figure["value"] is not None
    value, interval = scored(figure["value"], figure["low"], figure["high"]) if known else ("", "")
    return {
        "name": figure["name"].replace("_", " "),
        "value": value,
        "interval": interval,
        "method": figure["method"] if interval else "",
    }


def _confusion(found: Record | None) -> dict[str, Any] | None:
    if not found or len(found["classes"]) > MOST_CLASSES:
        return None
    rows = [
        {
            "name": name,
            "cells": [
                {"count": f"{count:g}", "look": "right" if i == j else ""} for j, count in enumerate(found["counts"][i])
            ],
        }
        for i, name in enumerate(found["classes"])
    ]
    return {"classes": found["classes"], "rows": rows}


def _footer(record: Record) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    data = record["data"]
    return (
        f"{record['created']}. Data: {data['name']}, {data['rows']:,} rows, SHA-256 {data['sha256'][:16]}…. "
        f"Seed {record['seed']}. {versions}. reproduce.py repeats the predictions of this page."
    )
