"""Write the files of a run."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tenfold.cli.leaderboard import RankedModel
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.reproduce_script import script
from tenfold.cli.run_directory import MODEL, PAGE, RECORD, as_json, write_folder
from tenfold.cli.run_record import Job
from tenfold.cli.scoring import Metric
from tenfold.persist import save
from tenfold.report import page
from tenfold.selection import Result

BOARD = (
    "name", "class", "status", "score", "low", "high", "interval", "gap", "certificate", "chosen", "tried", "free",
    "how", "folds", "fit_seconds", "predict_us", "memory_mb", "note",
)  # fmt: skip


def write(
    job: Job,
    table: LoadedTable,
    record: dict[str, Any],
    best: Any,
    metric: Metric | None = None,
) -> None:
    """All files of a run, or none."""
    model = best.result.model if isinstance(best, RankedModel) else best
    with write_folder(job.out) as folder:
        if model is not None:
            save(model, folder / MODEL)
            predictions(job, table, best, model, folder / "predictions.csv")
            (folder / "reproduce.py").write_text(script(job, table, record, best, metric), encoding="utf-8")
        leaderboard(record, folder / "leaderboard.csv")
        (folder / RECORD).write_text(as_json(record), encoding="utf-8")
        (folder / PAGE).write_text(page(record), encoding="utf-8")


def leaderboard(record: dict[str, Any], path: Path) -> None:
    """The leaderboard as a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(BOARD)
        for row in record["board"]:
            writer.writerow(_cell(row[name]) for name in BOARD)


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return "; ".join(f"{name}={_plain(item)}" for name, item in value.items())
    return "" if value is None else _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def predictions(job: Job, table: LoadedTable, best: Any, model: Any, path: Path) -> None:
    """Predictions of the test table, or else out-of-fold predictions."""
    if job.new is not None:
        write_rows(path, *predict_rows(model, job.new, proba=True))
    elif isinstance(best, RankedModel):
        write_rows(path, *out_of_fold(best.result, table))
    else:
        write_rows(path, *predict_rows(model, table.frame, proba=True))


def select_known(model: Any, frame: Any) -> Any:
    """The columns of a table that the model was fitted to; its encoder reports missing ones."""
    names = set(model.steps[0][1].feature_names_in_)
    return frame.select([name for name in frame.columns if name in names])


def predict_rows(model: Any, frame: Any, *, proba: bool) -> tuple[list[str], Iterator[list[Any]]]:
    """Header and rows of a file of predictions."""
    frame = select_known(model, frame)
    head, columns = ["row", "prediction"], [np.arange(1, frame.height + 1), model.predict(frame)]
    if proba and hasattr(model, "predict_proba"):
        head += [f"p({name})" for name in model.classes_]
        columns += list(np.asarray(model.predict_proba(frame)).T)
    return head, _rows(columns)


def out_of_fold(result: Result, table: LoadedTable) -> tuple[list[str], Iterator[list[Any]]]:
    """Header and rows of a file of out-of-fold predictions."""
    seen = np.flatnonzero(result.tested)
    fold = np.zeros(len(table.rows), dtype=np.int64)
    for number, one in enumerate(result.folds, 1):
        fold[one.rows] = number
    head = ["row", "fold", "target", "prediction"]
    columns = [table.rows[seen], fold[seen], table.y[seen], result.predictions[seen]]
    if result.probabilities is not None:
        head += [f"p({name})" for name in result.classes]
        columns += list(result.probabilities[seen].T)
    elif result.decisions is not None and result.decisions.ndim == 1:
        head.append("score")
        columns.append(result.decisions[seen])
    return head, _rows(columns)


def _rows(columns: list[Any]) -> Iterator[list[Any]]:
    plain = [np.asarray(column).tolist() for column in columns]
    return (list(row) for row in zip(*plain, strict=True))


def write_rows(path: Path, head: list[str], rows: Iterator[list[Any]]) -> None:
    """Write a CSV file; numbers with all digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        put_rows(file, head, rows)


def put_rows(file: TextIO, head: list[str], rows: Iterator[list[Any]]) -> None:
    """Write header and rows as CSV."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
