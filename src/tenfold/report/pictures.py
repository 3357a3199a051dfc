"""The pictures of a run: what its record holds, as charts with a caption each."""

from collections.abc import Callable, Mapping
from typing import Any

from tenfold.report.svg import Chart, Mark

Record = Mapping[str, Any]


def pictures(record: Record) -> list[dict[str, str]]:
    """The pictures whose numbers the record holds, in the order of `DRAWN`."""
    held: Record = record.get("pictures", {})
    drawn = []
    for name, (draw, caption) in DRAWN.items():
        if held.get(name):
            drawn.append({"svg": draw(held[name]).svg(), "caption": held[name].get("caption") or caption})
    return drawn


def _roc(held: Record) -> Chart:
    marks = [
        Mark("dashes", (0, 1), (0, 1)),
        *(
            Mark("line", curve["x"], curve["y"], label=curve["label"], tone=k % 3)
            for k, curve in enumerate(held["curves"])
        ),
    ]
    return Chart("ROC curve", "share of false alarms", "share found", marks, square=True)


def _reliability(held: Record) -> Chart:
    marks = [
        Mark("dashes", (0, 1), (0, 1)),
        Mark("intervals", held["said"], held["low"], held["high"], tone=0),
        Mark("points", held["said"], held["seen"], tone=0),
    ]
    return Chart("Calibration", "probability said", "share seen", marks, square=True)


def _residuals(held: Record) -> Chart:
    ends = (min(held["predicted"]), max(held["predicted"]))
    marks = [Mark("points", held["predicted"], held["residual"]), Mark("dashes", ends, (0, 0))]
    return Chart("Residuals", "predicted", "target minus predicted", marks)


def _errors(held: Record) -> Chart:
    marks = [Mark("line", held["x"], held["y"])]
    if held.get("chosen") is not None:
        marks.append(Mark("dashes", (held["chosen"],) * 2, (min(held["y"]), max(held["y"]))))
    return Chart(held["title"], held["x_name"], held["y_name"], marks, log_x=held["log"])


def _path(held: Record) -> Chart:
    marks = [Mark("line", held["x"], curve, tone=k % 3) for k, curve in enumerate(held["curves"])]
    return Chart("Path of the weights", held["x_name"], "weight of a standardised column", marks, log_x=True)


def _spectrum(held: Record) -> Chart:
    marks = [Mark("line", held["x"], held["y"]), Mark("points", held["x"], held["y"])]
    return Chart(held["title"], held["x_name"], held["y_name"], marks)


DRAWN: dict[str, tuple[Callable[[Record], Chart], str]] = {
    "roc": (_roc, "How many are found for how many false alarms, on rows the model has not seen."),
    "reliability": (_reliability, "Probabilities that were said, and how often they came true, with exact intervals."),
    "residuals": (_residuals, "Errors on rows the model has not seen."),
    "errors": (_errors, "Error of every value tried; the dashed line is the one chosen."),
    "criterion": (_errors, "The criterion of every value tried; the dashed line is the one chosen."),
    "path": (_path, "How the weights shrink as the penalty grows."),
    "spectrum": (_spectrum, "Variance by direction."),
}
