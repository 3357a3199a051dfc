"""Commands on a run and on other tables: predict, report, certify, info, check."""

import shlex
import sys
import warnings
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tenfold import certify as certify_model
from tenfold.cli import terminal
from tenfold.cli.candidates import BASELINE, CHALLENGER
from tenfold.cli.commands import EXIT_DATA, EXIT_OK
from tenfold.cli.load_table import Roles, open_table, prepare
from tenfold.cli.run_directory import MODEL, PAGE, as_json, record_of, replace_file
from tenfold.cli.run_output import predict_rows, put_rows, select_known, write_rows
from tenfold.features import check_table, find_sentinels, infer_schema, split_target, suspects
from tenfold.persist import load
from tenfold.report import page

# warnings for programmers, which the command line does not show
IGNORED_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print Python warnings to standard error as sentences, each once, without source locations."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        for category in IGNORED_WARNINGS:
            warnings.simplefilter("ignore", category)
        try:
            yield
        finally:
            for words in dict.fromkeys(" ".join(str(one.message).split()) for one in recorded):
                terminal.errors().print(f"note: {words}", style="yellow", markup=False, soft_wrap=True)


def model_of(run: Path, record: dict[str, Any]) -> Any:
    """The saved model of a run; raises with the command that makes one where there is none."""
    if (run / MODEL).is_file():
        return load(run / MODEL)
    again = f"tenfold fit {shlex.quote(record['data']['name'])}"
    if record["target"] is not None:
        again += f" --target {shlex.quote(record['target'])}"
    again += f" --out {shlex.quote(str(run))}"
    if record["best"] is not None:
        raise ValueError(f"{run} has no {MODEL}: it was removed. Fit again: {again}")
    names = [row["name"] for row in record["board"] if row["name"] not in (BASELINE, CHALLENGER)]
    quick = f", or try one model alone: --models {names[0]}" if names else ""
    raise ValueError(
        f"{run} has no finished model: none of ours was done in the time there was. Give more time: {again} --time "
        f"{_more_time(record['seconds'])}{quick}."
    )


def _more_time(seconds: float) -> str:
    return f"{max(5, int(np.ceil(4 * seconds / 60)))}m"


@show_warnings()
def predict(run: Path, data: Path, output: Path | None, *, proba: bool, interval: float | None) -> int:
    """Predict the rows of a new table."""
    record = record_of(run)
    model = model_of(run, record)
    reading, _, _ = open_table(data)
    frame = reading.frame
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{record['best']} has no probabilities: predict without --proba.")
    head, rows = predict_rows(model, frame, proba=proba)
    if interval is not None:
        low, high, how = interval_of(model, record, frame, interval)
        head = [*head, "low", "high"]
        rows = ([*row, float(a), float(b)] for row, a, b in zip(rows, low, high, strict=True))
        terminal.errors().print(f"intervals: {how}", style="dim")
    if output is None:
        put_rows(sys.stdout, head, rows)
    else:
        with replace_file(output) as partial_file:
            write_rows(partial_file, head, rows)
        terminal.errors().print(f"{frame.height:,} predictions: {output}")
    return EXIT_OK


def interval_of(model: Any, record: dict[str, Any], frame: Any, coverage: float) -> tuple[Any, Any, str]:
    """Prediction intervals: jackknife+ where the model has it, else by quantiles of its out-of-fold errors."""
    last = model.steps[-1][1]
    if hasattr(last, "predict_interval"):
        ends = last.predict_interval(model[:-1].transform(select_known(model, frame)), coverage=coverage)
        return ends[:, 0], ends[:, 1], f"jackknife+, coverage {coverage:.0%}"
    if not record.get("residuals"):
        raise ValueError("Intervals are of numbers, and this run predicts classes: ask for --proba.")
    errors = np.asarray(record["residuals"])
    # the quantile of the errors with the finite-sample correction of conformal prediction
    rows = record["data"]["rows"]
    index = min(int(np.ceil(coverage * (1 + 1 / rows) * (len(errors) - 1))), len(errors) - 1)
    predictions = np.asarray(model.predict(select_known(model, frame)), dtype=np.float64)
    how = f"quantile {coverage:.0%} of the absolute errors on {rows:,} rows that the model had not seen"
    return predictions - errors[index], predictions + errors[index], how


@show_warnings()
def report(run: Path, *, show: bool) -> int:
    """Write the report again from the record."""
    record = record_of(run)
    path = (run / PAGE).absolute()
    with replace_file(path) as partial_file:
        partial_file.write_text(page(record), encoding="utf-8")
    sys.stdout.write(f"{path}\n")
    if show:
        webbrowser.open(path.as_uri())
    return EXIT_OK


@show_warnings()
def certify(run: Path, data: Path) -> int:
    """Certify the saved model on its data."""
    record = record_of(run)
    model = model_of(run, record)
    task = {"regression": "regression", "structure": "auto"}.get(record["task"], "classification")
    names = ("target", "group", "weight", "time", "drop", "types", "ordinal", "missing")
    roles = Roles(**{role: record[role] for role in names if role in record})
    table = prepare(data, roles, task)
    if table.sha256 != record["data"]["sha256"]:
        terminal.errors().print(
            "these are not the data of the run: its model need not be the best for them", style="yellow"
        )
    Z = model[:-1].transform(table.frame)
    given = {} if table.weight is None else {"sample_weight": table.weight}
    certificate = certify_model(model.steps[-1][1], Z, table.y, **given)
    sys.stdout.write(f"{record['best']}: {certificate.explain()}\n")
    return EXIT_OK if certificate.ok else EXIT_DATA


@show_warnings()
def info(data: Path, target: str | None, *, as_json: bool) -> int:
    """Describe a table."""
    reading, name, sha256 = open_table(data)
    frame = reading.frame
    schema = infer_schema(frame)
    roles = Roles(target)
    roles.check(frame.columns, name)
    task = None if target is None else split_target(frame, target)
    leaks = () if task is None else suspects(task.frame, task.y, task=task.task)
    contents = {
        "name": name,
        "sha256": sha256,
        "rows": frame.height,
        "columns": [
            {"name": c.name, "kind": c.kind, "missing": c.missing, "distinct": c.distinct, "reason": c.reason}
            for c in schema.columns
        ],
        "decisions": [str(decision) for decision in (*reading.decisions, *(() if task is None else task.decisions))],
        "warnings": [str(finding) for finding in (*leaks, *find_sentinels(frame, types=schema))],
        "task": None if task is None else task.task,
    }
    if as_json:
        sys.stdout.write(_json(contents))
    else:
        terminal.table_info(contents)
    return EXIT_OK


_json = as_json


@show_warnings()
def check(data: Path, against: Path) -> int:
    """Test a new table against the one of a run."""
    record = record_of(against)
    reading, _, _ = open_table(data)
    frame = reading.frame
    not_features = [record[role] for role in ("target", "group", "weight", "time") if record[role]] + record["drop"]
    frame = frame.drop([name for name in not_features if name in frame.columns])
    result = check_table(frame, against=record["profile"])
    sys.stdout.write(f"{result}\n")
    return EXIT_OK if result.ok else EXIT_DATA
