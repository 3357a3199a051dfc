"""The record of a run: everything that its page shows and its later use needs, as plain values."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import tenfold
from tenfold.cli.candidates import CHALLENGER
from tenfold.cli.explain import SECONDS, describe_groups, explain, explain_weights, profile_columns
from tenfold.cli.leaderboard import EMPTY, Standing, board, candidate, certified, same_folds
from tenfold.cli.load_table import Prepared, Roles, opened
from tenfold.cli.optimism import picked_note
from tenfold.cli.plot_data import confusion_of, pictures_of
from tenfold.cli.run_directory import FORMAT
from tenfold.cli.scoring import Metric, evaluated, figures_of
from tenfold.cli.unsupervised import Found
from tenfold.evaluation import evaluate
from tenfold.features import TableEncoder, profile, split_target
from tenfold.report.words import said, scored
from tenfold.selection import Nested

USED = ("numpy", "scipy", "scikit-learn", "polars")
QUANTILES = 200
LATE_STATES = ("timed out", "not started")


@dataclass(frozen=True)
class Task:
    """What was asked for: where the data are, the roles of columns, where the results go."""

    data: Path
    roles: Roles
    test: Path | None
    out: Path
    seed: int
    created: str

    @cached_property
    def new(self) -> Any:
        """The frame of the test table, or None."""
        if self.test is None:
            return None
        reading = opened(self.test)[0]
        absent = {name: values for name, values in self.roles.missing.items() if name in reading.frame.columns}
        return reading.without(absent).frame


def describe(table: Prepared, console: Any) -> None:
    """Say what was decided and what is suspicious."""
    rows, columns = table.frame.shape
    console.print(f"{table.name}: {rows:,} rows, {columns:,} columns to learn from", highlight=False)
    for sentence in table.decisions:
        console.print(f"  {sentence}", markup=False, highlight=False, style="dim")
    for sentence in table.warnings:
        console.print(f"  warning: {sentence}", markup=False, highlight=False, style="yellow")


def _common(job: Task, table: Prepared, encoder: TableEncoder | None) -> dict[str, Any]:
    """What every record holds."""
    # kinds stand with the columns
    made = encoder.decisions_ if encoder is not None else ()
    decisions = [str(decision) for decision in made if decision.about not in ("types", "dropped")]
    return {
        "format": FORMAT,
        "created": job.created,
        "versions": {"tenfold": tenfold.__version__, **{name: version(name) for name in USED}},
        "seed": job.seed,
        "data": {
            "name": table.name,
            "sha256": table.sha256,
            "rows": table.frame.height,
            "columns": table.frame.width,
        },
        "target": job.roles.target,
        "group": job.roles.group,
        "weight": job.roles.weight,
        "time": job.roles.time,
        "drop": list(job.roles.drop),
        "types": dict(job.roles.types),
        "ordinal": dict(job.roles.ordinal),
        "missing": dict(job.roles.missing),
        "task": table.task,
        "columns": [] if encoder is None else _columns(encoder),
        "decisions": [*table.decisions, *decisions],
        "warnings": table.warnings,
        "profile": profile(table.frame, types=table.schema),
    }


def _columns(encoder: TableEncoder) -> list[dict[str, str]]:
    return [{"name": column.name, "kind": column.kind, "reason": column.reason} for column in encoder.schema_.columns]


def record_of_league(
    job: Task,
    table: Prepared,
    metric: Metric,
    why: str,
    found: Nested,
    standing: list[Standing],
    best: Standing | None,
    away: dict[str, str],
    outer: Any,
    remarks: list[str],
    explain_seconds: float = SECONDS,
) -> dict[str, Any]:
    """The record of a leaderboard; `remarks` come first among its notes, and importance and the learning curve may take
    `explain_seconds`.
    """
    encoder = None if best is None else best.result.model.steps[0][1]
    seconds = sum(one.result.seconds for one in standing)
    record = {
        **_common(job, table, encoder),
        "metric": {"name": metric.name, "words": metric.words, "better": "smaller" if metric.smaller else "larger"},
        "protocol": _protocol(found, why),
        "best": None if best is None else best.line.name,
        "board": board(standing, metric, away),
        "lead": _lead(standing, best, metric, table),
        "notes": [*remarks, *_notes(standing, best, metric, table, away)],
        "certificate": None,
        "classes": None if found.classes is None else found.classes.tolist(),
        "seconds": seconds,
        "interrupted": found.interrupted,
        "outer": outer,
    }
    if best is None:
        return record
    evaluation = evaluated(best.result, table.y, table.weight, table.groups, full=True)
    certificate = best.result.certificate
    return record | {
        "certificate": None if certificate is None else certificate.explain(),
        "figures": [
            figure.to_dict() for figure in figures_of(evaluation, best.result, table.y, table.weight, table.groups)
        ],
        "confusion": confusion_of(evaluation),
        "pictures": pictures_of(best.result, evaluation, table),
        **explain_weights(best, table),
        "explain": explain(
            best,
            standing,
            table,
            metric,
            candidate(table, best.line),
            seed=job.seed,
            seconds=0.0 if found.interrupted else explain_seconds,
        ),
        "residuals": _residuals(best, table),
        "test": _tested(job, table, best.result.model),
    }


def _tested(job: Task, table: Prepared, model: Any) -> dict[str, Any] | None:
    """Figures of the test table, where it has the target."""
    if job.new is None or job.roles.target is None or job.roles.target not in job.new.columns:
        return None
    found = split_target(job.new, job.roles.target, task=table.task)
    names = set(table.frame.columns)
    new = found.frame.select([name for name in found.frame.columns if name in names])
    has = hasattr(model, "predict_proba")
    evaluation = evaluate(
        found.y,
        model.predict(new),
        proba=model.predict_proba(new) if has else None,
        classes=model.classes_ if has else None,
        task="regression" if table.task == "regression" else "classification",
    )
    return {
        "name": job.test.name if job.test is not None else "",
        "rows": len(found.y),
        "figures": [figure.to_dict() for figure in evaluation.figures.values()],
    }


def _residuals(best: Standing, table: Prepared) -> list[float] | None:
    """Quantiles of the absolute errors on rows that the model has not seen, for intervals of later predictions."""
    if table.task != "regression":
        return None
    seen = best.result.tested
    errors = np.abs(table.y[seen] - best.result.predictions[seen].astype(np.float64))
    return np.quantile(errors, np.linspace(0.0, 1.0, QUANTILES + 1), method="higher").tolist()


def _protocol(found: Nested, why: str) -> str:
    return (
        f"Scores are of rows that no model had seen: {found.protocol.words}. Inside, each model chose its "
        f"hyper-parameters on the training rows alone. Models are {why}; intervals are of 95 %."
    )


def _lead(standing: list[Standing], best: Standing | None, metric: Metric, table: Prepared) -> str:
    if best is None or best.figure is None:
        return "No model of ours finished in time: give more of it by --time."
    value, interval = scored(best.figure.value, best.figure.low, best.figure.high)
    between = f" ({interval})" if interval else ""
    folds = _of_folds(best)
    ours = f"The best of ours is {best.line.name}: {metric.words} {value}{between} on rows it has not seen{folds}."
    if cut := [one for one in standing if one.line.ours and one.result.state in LATE_STATES and one is not best]:
        ours += f" {len(cut)} more of ours did not finish within the time."
    challenger = _challenger(standing)
    if challenger is None or challenger.lead <= best.lead:
        return ours
    theirs, mine = same_folds(challenger, best, metric, table)
    return (
        f"{CHALLENGER} (scikit-learn's, not tuned) is ahead of all of ours: {metric.words} {said(theirs)} against "
        f"{said(mine)}{_of_folds(challenger)}. {ours}"
    )


def _of_folds(one: Standing) -> str:
    """Of how many folds a score is, where not of all."""
    done, all_of_them = len(one.result.folds), len(one.result.protocol)
    return "" if done == all_of_them else f", on the {done} of {all_of_them} folds that there was time for"


def _challenger(standing: list[Standing]) -> Standing | None:
    return next((one for one in standing if one.line.name == CHALLENGER and one.figure), None)


def _notes(
    standing: list[Standing], best: Standing | None, metric: Metric, table: Prepared, away: dict[str, str]
) -> list[str]:
    notes = [*_cut(standing, best)]
    challenger = _challenger(standing)
    if best is not None and best.figure:
        if challenger is None:
            run = next((one.result.reason for one in standing if one.line.name == CHALLENGER), away.get(CHALLENGER))
            notes += [] if not run else [f"{CHALLENGER} was not run, so nothing is known of trees here: {run}"]
        elif challenger.lead <= best.lead:
            theirs, mine = same_folds(challenger, best, metric, table)
            notes.append(
                f"{CHALLENGER} (scikit-learn's, not tuned) is not ahead of it: {metric.words} {said(theirs)} against "
                f"{said(mine)}{_of_folds(challenger)}."
            )
        picked = picked_note(standing, best, metric, table)
        notes += [picked] if picked else []
    names = [one.line.name for one in standing if one.line.ours and one.result.certificate is not None]
    bad = [name for name in names if not _is_ok(standing, name)]
    if bad:
        notes.append(f"Not certified: {', '.join(bad)}. What each says of itself stands in the report.")
    notes += [f"{one.line.name} warned: {text}" for one in standing if one is best for text in one.result.warned[:3]]
    return notes


def _cut(standing: list[Standing], best: Standing | None) -> list[str]:
    """What time did not allow."""
    ours = [one for one in standing if one.line.ours]
    late = [one for one in ours if one.result.state in LATE_STATES]
    notes = []
    if late:
        names = ", ".join(one.line.name + (f" ({len(one.result.folds)} folds)" if one.figure else "") for one in late)
        notes.append(f"Not finished within the time, and perhaps better: {names}. --time gives more.")
    better = [one.line.name for one in ours if best is not None and one.figure and one.lead > best.lead]
    if better:
        notes.append(f"Ahead, but there was no time to fit it to all rows: {', '.join(better)}. --time gives more.")
    return notes


def _is_ok(standing: list[Standing], name: str) -> bool:
    return any(one.line.name == name and one.result.certificate.ok for one in standing)


def record_of_structure(
    job: Task, table: Prepared, find: Callable[[Any, float], Iterable[Found]], seconds: float
) -> tuple[dict[str, Any], Any]:
    """The record of a table without a target, and the model that is kept: the clusters."""
    begin = time.perf_counter()
    encoder = TableEncoder(types=table.schema.text(), scale=True, sparse_output=False)
    Z = encoder.fit_transform(table.frame)
    found = list(find(Z, begin + seconds))
    rows = [
        {
            **EMPTY,
            "name": one.name,
            "class": type(one.model).__name__,
            "status": "done",
            "score": one.score,
            "certificate": certified(one.model.certificate_),
            "certified": bool(one.model.certificate_.ok),
            "chosen": one.chosen,
            "tried": one.tried if one.tried > 1 else 0,
            "fit_seconds": one.seconds,
            "note": one.note,
        }
        for one in found
    ]
    kept = next((one for one in found if hasattr(one.model, "labels_")), found[0])
    record = {
        **_common(job, table, encoder),
        "metric": {"name": "share", "words": "share of the variance", "better": "larger"},
        "protocol": "No target was given: these describe the rows at hand, and promise nothing about others.",
        "best": kept.name,
        "board": rows,
        "lead": "; ".join(f"{one.name}: {', '.join(f'{n} {v}' for n, v in one.chosen.items())}" for one in found) + ".",
        "notes": [],
        "certificate": kept.model.certificate_.explain(),
        "classes": None,
        "seconds": time.perf_counter() - begin,
        "interrupted": False,
        "pictures": {
            {"principal-components": "spectrum", "k-means": "errors", "mixture": "criterion"}[one.name]: one.picture
            for one in found
        },
        "explain": {"profiles": profile_columns(table, deadline=begin + seconds)},
        "groups": describe_groups(
            [one.model for one in found], Z, encoder.get_feature_names_out().tolist(), table.rows
        ),
    }
    return record, Pipeline([("table", encoder), ("model", kept.model)])
