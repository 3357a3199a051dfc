"""Render the report of a run: the record as text, tables and charts."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from tenfold.report import board, sections
from tenfold.report.cards import draw_cards
from tenfold.report.charts import draw_map, draw_predicted, draw_score_histogram, pictures
from tenfold.report.svg import TONES, legend

MAX_ROWS = 200  # of a table; the record has all
Record = Mapping[str, Any]


def page(record: Record) -> str:
    """The report as one HTML file: no external resources, and one script that sorts the leaderboard.

    Sections whose keys an older record lacks are left out.
    """
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_text("page.html"))
    return template.render(style=_text("page.css"), script=_text("page.js"), **_context(record)) + "\n"


def _text(name: str) -> str:
    return files("tenfold.report").joinpath(name).read_text(encoding="utf-8")


def _context(record: Record) -> dict[str, Any]:
    metric, best, rows = record["metric"], record["best"], record["board"]
    explained = record.get("explain") or {}
    first, rest = board.headline(record)
    test = record.get("test") or {}
    return {
        "title": f"{record['target'] or 'Structure'} in {record['data']['name']}",
        "headline": first,
        "lead": rest,
        "tiles": board.tiles(record),
        "warnings": record["warnings"],
        "hero": _hero(record),
        "protocol": record["protocol"],
        "board_picture": board.draw_board(rows, metric, best) if record["target"] else "",
        "board": board.board_table(rows, best),
        "board_notes": [*record["notes"]],
        "model_notes": board.board_notes(rows),
        "best": best,
        "target": record["target"],
        "certificate": record.get("certificate"),
        "figures": [sections.figure_row(figure) for figure in record.get("figures", ())],
        "tests": [sections.figure_row(figure) for figure in test.get("figures", ())],
        "tests_rows": f"{test.get('rows', 0):,}",
        "confusion": sections.confusion(record.get("confusion")),
        "pictures": pictures(record),
        "columns": record["columns"][:MAX_ROWS],
        "columns_more": _more(record["columns"], "columns"),
        "decisions": record["decisions"][:MAX_ROWS],
        "decisions_more": _more(record["decisions"], "decisions"),
        "footer": _footer(record),
        **_explanation_context(record, explained),
    }


def _explanation_context(record: Record, explained: Record) -> dict[str, Any]:
    """Sections from the explanations of a run; None where an older record lacks them."""
    metric, best, classes = record["metric"], record["best"] or "", record.get("classes")
    effect = "the prediction" if classes is None else f"the score of {classes[-1]}"
    profiles: Sequence[Record] = explained.get("profiles") or ()
    stacked = next((one["classes"] for one in profiles if one.get("stack")), None)
    return {
        "differences": sections.differences(explained.get("differences"), best, metric),
        "importance": sections.importance(explained.get("importance"), metric),
        "contributions": sections.contributions(record.get("contributions"), effect),
        "weights": sections.weights(record.get("weights")),
        "growth": sections.growth(explained.get("curve"), metric),
        "wrong": sections.wrong_samples(explained.get("wrong"), record["task"]),
        "groups": sections.groups(record.get("groups")),
        "cards": draw_cards(profiles, record["target"]),
        "cards_words": _cards_words(record, profiles),
        "cards_legend": legend([(name, f"t{k % TONES}") for k, name in enumerate(stacked)]) if stacked else "",
        "explain_notes": explained.get("notes", ()),
    }


def _cards_words(record: Record, profiles: Sequence[Record]) -> str:
    if record["target"] is None:
        return "The distribution of each column."
    if record["task"] == "multiclass":
        line = "coloured by class"
    elif record["task"] == "binary":
        of = next((one["of"] for one in profiles if one.get("of")), "the second class")
        line = f"and, as the line or the number, the share of {of} along it, on one scale for all columns"
    else:
        line = f"and, as the line or the number, the mean of {record['target']} along it, on one scale for all columns"
    return (
        f"The distribution of each column, {line}. “Explains” is the share of the "
        f"variance of {record['target']} that the column explains alone, by bins or by a line; the strongest come "
        "first."
    )


def _hero(record: Record) -> dict[str, str] | None:
    """The chart at the top of the report; None where the confusion matrix takes its place."""
    pictures_: Record = record.get("pictures", {})
    grouped = (record.get("groups") or {}).get("map")
    if grouped:
        chart, caption = draw_map(grouped), "Every point is a sample, close to those that are like it."
    elif record["task"] == "regression" and pictures_.get("residuals"):
        chart = draw_predicted(pictures_["residuals"], record["target"])
        caption = "Every point is a sample that the model had not seen. On the dashed line it would be right."
    elif pictures_.get("scores"):
        chart = draw_score_histogram(pictures_["scores"])
        caption = "Samples that the model had not seen. The less the classes overlap, the better it tells them apart."
    else:
        return None
    return {"title": chart.title, "svg": chart.svg(), "caption": caption}


def _more(listed: Sequence[Any], what: str) -> str:
    more = len(listed) - MAX_ROWS
    return f"... and {more:,} {what} more, in run.json." if more > 0 else ""


def _footer(record: Record) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    data = record["data"]
    return (
        f"{record['created']}. Data: {data['name']}, {data['rows']:,} rows, SHA-256 {data['sha256'][:16]}…. "
        f"Seed {record['seed']}. {versions}. reproduce.py repeats the predictions of this page."
    )
