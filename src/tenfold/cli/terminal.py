"""Terminal output: tables on standard output, progress on standard error."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tenfold.report.formatting import format_score, format_value, round_to

Row = Mapping[str, Any]


def output() -> Console:
    """Standard output; wider than a terminal where it is a file or a pipe."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)


def errors() -> Console:
    """Standard error."""
    return Console(file=sys.stderr, highlight=False)


def board(record: Mapping[str, Any]) -> Table:
    """The leaderboard."""
    metric = record["metric"]
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    table.add_column("model", no_wrap=True)
    table.add_column(metric["words"], justify="right", no_wrap=True)
    table.add_column("interval", no_wrap=True)
    table.add_column("over baseline", justify="right", no_wrap=True)
    table.add_column("certificate", no_wrap=True)
    table.add_column("chosen")
    table.add_column("tried", justify="right", no_wrap=True)
    table.add_column("fit s", justify="right", no_wrap=True)
    table.add_column("µs/row", justify="right", no_wrap=True)
    table.add_column("MB", justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for row in record["board"]:
        table.add_row(*_cells(row), style=_style(row, record["best"]))
    return table


def test_line(record: Mapping[str, Any]) -> str:
    """The score of the test table, in the metric of the board."""
    test, metric = record["test"], record["metric"]
    figure = next((one for one in test["figures"] if one["name"] == metric["name"]), None)
    if figure is None or figure["value"] is None:
        return f"Test table {test['name']}: {metric['words']} is not defined on its {test['rows']:,} rows."
    value, interval = format_score(figure["value"], figure["low"], figure["high"])
    between = f" ({interval})" if interval else ""
    return f"Test table {test['name']}, {test['rows']:,} rows: {metric['words']} {value}{between} by {record['best']}."


def _style(row: Row, best: str | None) -> str:
    if row["name"] == best:
        return "bold green"
    return "dim" if row["status"] in ("baseline", "failed", "skipped") else ""


def _cells(row: Row) -> Sequence[Text]:
    score, interval = ("", "") if row["score"] is None else format_score(row["score"], row["low"], row["high"])
    gap = row["gap"]
    tried = f"{row['tried']} ({row['free']} free)" if row["free"] else str(row["tried"] or "")
    cells = (
        row["name"],
        score,
        interval,
        "" if gap is None else f"{gap:+.3g}",
        row["certificate"] or "",
        ", ".join(f"{name}={format_value(value)}" for name, value in row["chosen"].items()),
        tried,
        "" if row["fit_seconds"] is None else f"{row['fit_seconds']:.3g}",
        "" if row["predict_us"] is None else round_to(row["predict_us"], 2),
        "" if row["memory_mb"] is None else f"{row['memory_mb']:.0f}",
        shorten(row["note"]),
    )
    return [Text(cell) for cell in cells]


def shorten(note: str, most: int = 70) -> str:
    """Truncate a long note; the report has it in full."""
    return note if len(note) <= most else f"{note[: most - 1].rsplit(' ', 1)[0]} …"


class Bar:
    """A progress bar on standard error: the current model and the best so far; hidden when `quiet`."""

    def __init__(self, steps: int, quiet: bool) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[best]}"),
            console=errors(),
            disable=quiet,
            transient=True,
        )
        self.task: TaskID = self.progress.add_task("starting", total=steps, best="")

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.progress.stop()

    def now(self, what: str, best: str = "", advance: int = 0, steps: int | None = None) -> None:
        """Show what runs; `steps` updates the total number of steps."""
        self.progress.update(self.task, description=what[:32].ljust(32), best=best, advance=advance, total=steps)


def table_info(info: Mapping[str, Any]) -> None:
    """Print the description of a table to standard output."""
    console = output()
    console.print(f"{info['name']}: {info['rows']:,} rows, {len(info['columns']):,} columns", markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("column", "taken as", "missing", "distinct", "why"):
        table.add_column(name, justify="right" if name in ("missing", "distinct") else "left")
    for column in info["columns"]:
        cells = (column["name"], column["kind"], f"{column['missing']:,}", f"{column['distinct']:,}", column["reason"])
        table.add_row(*map(Text, cells))
    console.print(table)
    for sentence in (*info["decisions"], *(f"warning: {text}" for text in info["warnings"])):
        console.print(sentence, markup=False)
    if info["task"]:
        console.print(f"task: {info['task']}", markup=False)
