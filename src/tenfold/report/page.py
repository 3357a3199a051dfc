"""The page of a run: what the record holds, put into words, tables and pictures."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from tenfold.report import board, depth
from tenfold.report.cards import draw_cards
from tenfold.report.pictures import draw_map, draw_predicted, draw_score_histogram, pictures
from tenfold.report.svg import TONES, legend

MOST_COLUMNS = 200
Record = Mapping[str, Any]


def page(record: Record) -> str:
    """The whole page, one file: no font, no request to anywhere, and a script that only sorts the leaderboard.

    Keys that an older record does not have leave their section out.
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
        "figures": [depth.figure_row(figure) for figure in record.get("figures", ())],
        "tests": [depth.figure_row(figure) for figure in test.get("figures", ())],
        "tests_rows": f"{test.get('rows', 0):,}",
        "confusion": depth.confusion(record.get("confusion")),
        "pictures": pictures(record),
        "columns": record["columns"][:MOST_COLUMNS],
        "columns_more": _more(record["columns"], "columns"),
        "decisions": record["decisions"][:MOST_COLUMNS],
        "decisions_more": _more(record["decisions"], "decisions"),
        "footer": _footer(record),
        **_explained(record, explained),
    }


def _explained(record: Record, explained: Record) -> dict[str, Any]:
    """The sections of a run that was explained; None for those of an older one."""
    metric, best, classes = record["metric"], record["best"] or "", record.get("classes")
    effect = "the prediction" if classes is None else f"the score of {classes[-1]}"
    profiles: Sequence[Record] = explained.get("profiles") or ()
    stacked = next((one["classes"] for one in profiles if one.get("stack")), None)
    return {
        "differences": depth.differences(explained.get("differences"), best, metric),
        "importance": depth.importance(explained.get("importance"), metric),
        "contributions": depth.contributions(record.get("contributions"), effect),
        "weights": depth.weights(record.get("weights")),
        "growth": depth.growth(explained.get("curve"), metric),
        "wrong": depth.wrong_samples(explained.get("wrong"), record["task"]),
        "groups": depth.groups(record.get("groups")),
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
    """The picture that explains the answer; a matrix of classes stands for itself below."""
    held: Record = record.get("pictures", {})
    grouped = (record.get("groups") or {}).get("map")
    if grouped:
        chart, caption = draw_map(grouped), "Every point is a sample, close to those that are like it."
    elif record["task"] == "regression" and held.get("residuals"):
        chart = draw_predicted(held["residuals"], record["target"])
        caption = "Every point is a sample that the model had not seen. On the dashed line it would be right."
    elif held.get("scores"):
        chart = draw_score_histogram(held["scores"])
        caption = "Samples that the model had not seen. The less the classes overlap, the better it tells them apart."
    else:
        return None
    return {"title": chart.title, "svg": chart.svg(), "caption": caption}


def _more(listed: Sequence[Any], what: str) -> str:
    more = len(listed) - MOST_COLUMNS
    return f"... and {more:,} {what} more, in run.json." if more > 0 else ""


def _footer(record: Record) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    data = record["data"]
    return (
        f"{record['created']}. Data: {data['name']}, {data['rows']:,} rows, SHA-256 {data['sha256'][:16]}…. "
        f"Seed {record['seed']}. {versions}. reproduce.py repeats the predictions of this page."
    )
