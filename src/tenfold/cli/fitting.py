"""`tenfold fit`: read a table, fit and rank models, write the results."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tenfold.cli import terminal
from tenfold.cli.candidates import BASELINE, select_models
from tenfold.cli.commands import EXIT_OK, EXIT_TIME_OVER
from tenfold.cli.explain import SECONDS
from tenfold.cli.leaderboard import best_of_ours, dense_width, is_nonlinear, rank_models, run_models
from tenfold.cli.load_table import LoadedTable, Roles, prepare
from tenfold.cli.run_directory import PAGE, as_json, check_is_run_folder
from tenfold.cli.run_output import write
from tenfold.cli.run_record import Job, describe, record_of_leaderboard, record_of_unsupervised
from tenfold.cli.scoring import metric_for
from tenfold.cli.unsupervised import fit_unsupervised
from tenfold.datasets import load_demo, write_csv
from tenfold.features import share_counts
from tenfold.selection import Event

EXPLAIN_FRACTION = 0.05  # fraction of the time limit that is reserved for explanations of the best model

SCORING_SECONDS, SCORING_SECONDS_A_ROW = 0.8, 3e-6  # reserved for scores, notes and files, on an idle machine

MAX_SLOWDOWN = 6.0  # limit of wall time over processor time that is taken into account


def _seconds_for_output(begin: float, rows: int) -> float:
    """Seconds to reserve for scores, notes and files; more on a busy machine, by the ratio of wall time to processor
    time so far.
    """
    slowdown = (time.perf_counter() - begin) / max(time.process_time(), 1e-3)
    return min(max(slowdown, 1.0), MAX_SLOWDOWN) * (SCORING_SECONDS + SCORING_SECONDS_A_ROW * rows)


@share_counts()
def run(
    *,
    begin: float,
    data: Path,
    target: str | None,
    task: str,
    metric: str,
    time_limit: float,
    models: str,
    cv: str,
    group: str | None,
    weight: str | None,
    time_column: str | None,
    drop: tuple[str, ...],
    types: tuple[tuple[str, str], ...],
    ordinal: tuple[tuple[str, str], ...],
    missing: tuple[tuple[str, str], ...],
    test: Path | None,
    out: Path,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Read a table, fit the models and write the folder of the run; returns the exit code. Time counts from `begin`."""
    check_is_run_folder(out)
    levels = {column: [level.strip() for level in words.split(",")] for column, words in ordinal}
    absent: dict[str, list[str]] = {}
    for column, words in missing:
        absent.setdefault(column, []).extend(value.strip() for value in words.split(","))
    roles = Roles(target, group, weight, time_column, drop, dict(types), levels, absent)
    table = prepare(data, roles, task)
    job = Job(data, roles, test, out, seed, datetime.now(UTC).isoformat(timespec="seconds"))
    if not quiet:
        describe(table, terminal.errors())
    if table.y is None:
        return _fit_unsupervised(table, job, time_limit - (time.perf_counter() - begin), quiet, as_json)
    reserved = _seconds_for_output(begin, table.frame.height)
    end = begin + time_limit - reserved
    return _fit_leaderboard(table, job, metric, models, _outer(cv), end, EXPLAIN_FRACTION * time_limit, quiet, as_json)


def _outer(cv: str) -> Any:
    if cv in ("auto", "loo", "hold-out"):
        return cv
    if not cv.isdigit() or int(cv) < 2:
        raise ValueError(f"--cv is auto, loo, hold-out or a number of folds from 2 on, got {cv!r}.")
    return int(cv)


def _fit_leaderboard(
    table: LoadedTable,
    job: Job,
    metric_name: str,
    models: str,
    cv: Any,
    end: float,
    explain_seconds: float,
    quiet: bool,
    json: bool,
) -> int:
    """The leaderboard: models and explanations of the best run until `end`, the latter for `explain_seconds`, or more
    where the models are done before.
    """
    metric, why = metric_for(table.task, metric_name, table.y)
    nonlinear, nonlinear_note = is_nonlinear(table, metric, job.seed) if models in ("fast", "all") else (False, "")
    shape = (table.frame.height, table.width)
    chosen, skipped = select_models(
        table.family, models, table.y, shape, job.seed, dense=dense_width(table), nonlinear=nonlinear
    )
    with terminal.Bar(len(chosen), quiet) as bar:

        def show_progress(event: Event) -> None:
            best = event.best
            words = "" if best is None or best.name == BASELINE else f"best so far: {best.name} {abs(best.score):.4g}"
            done = event.kind == "fold"
            bar.now(f"{event.name} {event.fold}/{event.folds}", words, done, event.count * event.folds)

        bar.now("estimating times")
        seconds = end - explain_seconds - time.perf_counter()
        nested_result = run_models(chosen, table, metric, cv=cv, seconds=seconds, seed=job.seed, callback=show_progress)
        time_over = nested_result.interrupted or any(
            one.state in ("timed out", "not started") for one in nested_result.results
        )
        bar.now("scoring")
        ranking = rank_models(chosen, nested_result, metric, table)
        best = best_of_ours(ranking)
        remarks = [nonlinear_note] if nonlinear_note else []
        explain_seconds_left = min(SECONDS, max(0.0, end - time.perf_counter()))
        record = record_of_leaderboard(
            job, table, metric, why, nested_result, ranking, best, skipped, cv, remarks, explain_seconds_left
        )
        bar.now("writing")
        write(job, table, record, best, metric)
    return _show(record, job, json, time_over)


def _fit_unsupervised(table: LoadedTable, job: Job, seconds: float, quiet: bool, json: bool) -> int:
    with terminal.Bar(7, quiet) as bar:
        record, best = record_of_unsupervised(
            job,
            table,
            lambda Z, deadline: fit_unsupervised(Z, deadline, lambda name: bar.now(name, advance=1)),
            seconds,
        )
        write(job, table, record, best)
    return _show(record, job, json, time_over=False)


def _show(record: dict[str, Any], job: Job, json: bool, time_over: bool) -> int:
    """Print the result; returns the exit code."""
    if json:
        sys.stdout.write(as_json(record))
    else:
        out, err = terminal.output(), terminal.errors()
        out.print(terminal.board(record))
        err.print(f"\n{record['lead']}", markup=False)
        if record.get("test"):
            err.print(f"\n{terminal.test_line(record)}", markup=False)
        for note in record["notes"]:
            err.print(note, style="dim", markup=False)
        err.print(f"Report: {(job.out / PAGE).absolute()}", markup=False, soft_wrap=True)
    return EXIT_TIME_OVER if time_over else EXIT_OK


def demo(out: Path, *, quiet: bool) -> int:
    """Fit an artificial table with columns of mixed types."""
    out.parent.mkdir(parents=True, exist_ok=True)
    data = out.parent / f"{out.name}.csv"
    columns, target = load_demo()
    write_csv(columns, data)
    return run(
        begin=time.perf_counter(),
        data=data,
        target=target,
        task="auto",
        metric="auto",
        time_limit=60.0,
        models="fast",
        cv="auto",
        group=None,
        weight=None,
        time_column=None,
        drop=(),
        types=(),
        ordinal=(),
        missing=(),
        test=None,
        out=out,
        seed=0,
        as_json=False,
        quiet=quiet,
    )
