"""`tenfold fit`: read, try, rank, write."""

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tenfold.cli import terminal
from tenfold.cli.candidates import BASELINE, lines
from tenfold.cli.commands import GOOD, LATE
from tenfold.cli.explain import SECONDS
from tenfold.cli.leaderboard import best_of_ours, dense_width, is_curved, played, standings
from tenfold.cli.load_table import Prepared, Roles, prepared
from tenfold.cli.run_directory import PAGE, as_json, refuse_other
from tenfold.cli.run_output import write
from tenfold.cli.run_record import Task, describe, record_of_league, record_of_structure
from tenfold.cli.scoring import metric_for
from tenfold.cli.unsupervised import found as found_structure
from tenfold.datasets import load_demo, write_csv
from tenfold.features import share_counts
from tenfold.selection import Event

EXPLAIN_SHARE = 0.05
"""The part of the time that is kept for what the report says of the best model."""

SCORING_SECONDS, SCORING_SECONDS_A_ROW = 0.8, 3e-6
"""Kept for scores, notes and files, on a machine that does nothing else."""

SLOWEST = 6.0


def _kept(begin: float, rows: int) -> float:
    """Seconds to keep for scores, notes and files; more where others use the machine, too, which is seen from how long
    what was done took beside its processor time.
    """
    slow = (time.perf_counter() - begin) / max(time.process_time(), 1e-3)
    return min(max(slow, 1.0), SLOWEST) * (SCORING_SECONDS + SCORING_SECONDS_A_ROW * rows)


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
    """Read a table, try the models, and write the folder of the run; the exit code. The time counts from `begin`."""
    refuse_other(out)
    levels = {column: [level.strip() for level in words.split(",")] for column, words in ordinal}
    absent: dict[str, list[str]] = {}
    for column, words in missing:
        absent.setdefault(column, []).extend(value.strip() for value in words.split(","))
    roles = Roles(target, group, weight, time_column, drop, dict(types), levels, absent)
    table = prepared(data, roles, task)
    job = Task(data, roles, test, out, seed, datetime.now(UTC).isoformat(timespec="seconds"))
    if not quiet:
        describe(table, terminal.errors())
    if table.y is None:
        return _structure(table, job, time_limit - (time.perf_counter() - begin), quiet, as_json)
    kept = _kept(begin, table.frame.height)
    end = begin + time_limit - kept
    return _league(table, job, metric, models, _outer(cv), end, EXPLAIN_SHARE * time_limit, quiet, as_json)


def _outer(cv: str) -> Any:
    if cv in ("auto", "loo", "hold-out"):
        return cv
    if not cv.isdigit() or int(cv) < 2:
        raise ValueError(f"--cv is auto, loo, hold-out or a number of folds from 2 on, got {cv!r}.")
    return int(cv)


def _league(
    table: Prepared,
    job: Task,
    metric_name: str,
    models: str,
    cv: Any,
    end: float,
    explaining: float,
    quiet: bool,
    json: bool,
) -> int:
    """The leaderboard: models and explanations of the best run until `end`, the latter for `explaining` seconds, or
    more where the models are done before.

    """
    metric, why = metric_for(table.task, metric_name, table.y)
    curved, remark = is_curved(table, metric, job.seed) if models in ("fast", "all") else (False, "")
    shape = (table.frame.height, table.width)
    chosen, away = lines(table.family, models, table.y, shape, job.seed, dense=dense_width(table), curved=curved)
    with terminal.Bar(len(chosen), quiet) as bar:

        def tell(event: Event) -> None:
            best = event.best
            words = "" if best is None or best.name == BASELINE else f"best so far: {best.name} {abs(best.score):.4g}"
            done = event.kind == "fold"
            bar.now(f"{event.name} {event.fold}/{event.folds}", words, done, event.count * event.folds)

        bar.now("estimating times")
        seconds = end - explaining - time.perf_counter()
        found = played(chosen, table, metric, cv=cv, seconds=seconds, seed=job.seed, tell=tell)
        late = found.interrupted or any(one.state in ("timed out", "not started") for one in found.results)
        bar.now("scoring")
        standing = standings(chosen, found, metric, table)
        best = best_of_ours(standing)
        remarks = [remark] if remark else []
        left = min(SECONDS, max(0.0, end - time.perf_counter()))
        record = record_of_league(job, table, metric, why, found, standing, best, away, cv, remarks, left)
        bar.now("writing")
        write(job, table, record, best, metric)
    return _shown(record, job, json, late)


def _structure(table: Prepared, job: Task, seconds: float, quiet: bool, json: bool) -> int:
    with terminal.Bar(3, quiet) as bar:
        record, best = record_of_structure(
            job, table, lambda Z, deadline: found_structure(Z, deadline, lambda name: bar.now(name, advance=1)), seconds
        )
        write(job, table, record, best)
    return _shown(record, job, json, late=False)


def _shown(record: dict[str, Any], job: Task, json: bool, late: bool) -> int:
    """Print the result; the exit code."""
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
    return LATE if late else GOOD


def demo(out: Path, *, quiet: bool) -> int:
    """Fit a table of mixed columns that is made here."""
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
