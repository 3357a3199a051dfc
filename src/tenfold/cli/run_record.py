"""The record of a run (run.json): everything that the report and later commands need, as plain values."""

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
from tenfold.cli.leaderboard import EMPTY_ROW, RankedModel, board, candidate, format_certificate, scores_on_same_folds
from tenfold.cli.load_table import LoadedTable, Roles, open_table
from tenfold.cli.optimism import optimism_note
from tenfold.cli.plot_data import confusion_of, pictures_of
from tenfold.cli.run_directory import FORMAT
from tenfold.cli.scoring import Metric, evaluate_result, figures_of
from tenfold.cli.unsupervised import UnsupervisedResult
from tenfold.evaluation import evaluate
from tenfold.features import TableEncoder, profile, split_target
from tenfold.report.formatting import format_number, format_score
from tenfold.selection import Nested

VERSIONED_PACKAGES = ("numpy", "scipy", "scikit-learn", "polars")
RESIDUAL_QUANTILES = 200  # of the errors that a record stores, for intervals in steps of half a per cent
TIME_OVER_STATES = ("timed out", "not started")


@dataclass(frozen=True)
class Job:
    """Arguments of a run: data, roles of columns, output folder, seed."""

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
        reading = open_table(self.test)[0]
        absent = {name: values for name, values in self.roles.missing.items() if name in reading.frame.columns}
        return reading.without(absent).frame


def describe(table: LoadedTable, console: Any) -> None:
    """Print the decisions and warnings about a table."""
    rows, columns = table.frame.shape
    console.print(f"{table.name}: {rows:,} rows, {columns:,} columns to learn from", highlight=False)
    for sentence in table.decisions:
        console.print(f"  {sentence}", markup=False, highlight=False, style="dim")
    for sentence in table.warnings:
        console.print(f"  warning: {sentence}", markup=False, highlight=False, style="yellow")


def _common(job: Job, table: LoadedTable, encoder: TableEncoder | None) -> dict[str, Any]:
    """Keys that every record has."""
    # kinds are in "columns"
    encoder_decisions = encoder.decisions_ if encoder is not None else ()
    decisions = [str(decision) for decision in encoder_decisions if decision.about not in ("types", "dropped")]
    return {
        "format": FORMAT,
        "created": job.created,
        "versions": {"tenfold": tenfold.__version__, **{name: version(name) for name in VERSIONED_PACKAGES}},
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


def record_of_leaderboard(
    job: Job,
    table: LoadedTable,
    metric: Metric,
    why: str,
    result: Nested,
    ranking: list[RankedModel],
    best: RankedModel | None,
    skipped: dict[str, str],
    outer: Any,
    remarks: list[str],
    explain_seconds: float = SECONDS,
) -> dict[str, Any]:
    """The record of a leaderboard; `remarks` come first among its notes, and importance and the learning curve may take
    `explain_seconds`.
    """
    encoder = None if best is None else best.result.model.steps[0][1]
    seconds = sum(one.result.seconds for one in ranking)
    record = {
        **_common(job, table, encoder),
        "metric": {"name": metric.name, "words": metric.words, "better": "smaller" if metric.smaller else "larger"},
        "protocol": _protocol(result, why),
        "best": None if best is None else best.line.name,
        "board": board(ranking, metric, skipped),
        "lead": _lead(ranking, best, metric, table),
        "notes": [*remarks, *_notes(ranking, best, metric, table, skipped)],
        "certificate": None,
        "classes": None if result.classes is None else result.classes.tolist(),
        "seconds": seconds,
        "interrupted": result.interrupted,
        "outer": outer,
    }
    if best is None:
        return record
    evaluation = evaluate_result(best.result, table.y, table.weight, table.groups, full=True)
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
            ranking,
            table,
            metric,
            candidate(table, best.line),
            seed=job.seed,
            seconds=0.0 if result.interrupted else explain_seconds,
        ),
        "residuals": _residuals(best, table),
        "test": _evaluate_test_table(job, table, best.result.model),
    }


def _evaluate_test_table(job: Job, table: LoadedTable, model: Any) -> dict[str, Any] | None:
    """Metrics on the test table, where it has the target."""
    if job.new is None or job.roles.target is None or job.roles.target not in job.new.columns:
        return None
    result = split_target(job.new, job.roles.target, task=table.task)
    names = set(table.frame.columns)
    new = result.frame.select([name for name in result.frame.columns if name in names])
    has = hasattr(model, "predict_proba")
    evaluation = evaluate(
        result.y,
        model.predict(new),
        proba=model.predict_proba(new) if has else None,
        classes=model.classes_ if has else None,
        task="regression" if table.task == "regression" else "classification",
    )
    return {
        "name": job.test.name if job.test is not None else "",
        "rows": len(result.y),
        "figures": [figure.to_dict() for figure in evaluation.figures.values()],
    }


def _residuals(best: RankedModel, table: LoadedTable) -> list[float] | None:
    """Quantiles of the absolute out-of-fold errors, for prediction intervals."""
    if table.task != "regression":
        return None
    tested = best.result.tested
    errors = np.abs(table.y[tested] - best.result.predictions[tested].astype(np.float64))
    return np.quantile(errors, np.linspace(0.0, 1.0, RESIDUAL_QUANTILES + 1), method="higher").tolist()


def _protocol(result: Nested, why: str) -> str:
    return (
        f"Scores are of rows that no model had seen: {result.protocol.words}. Inside, each model chose its "
        f"hyper-parameters on the training rows alone. Models are {why}; intervals are of 95 %."
    )


def _lead(ranking: list[RankedModel], best: RankedModel | None, metric: Metric, table: LoadedTable) -> str:
    if best is None or best.figure is None:
        return "No model of ours finished in time: give more of it by --time."
    value, interval = format_score(best.figure.value, best.figure.low, best.figure.high)
    between = f" ({interval})" if interval else ""
    folds = _of_folds(best)
    lead = f"The best of ours is {best.line.name}: {metric.words} {value}{between} on rows it has not seen{folds}."
    if cut := [one for one in ranking if one.line.ours and one.result.state in TIME_OVER_STATES and one is not best]:
        lead += f" {len(cut)} more of ours did not finish within the time."
    challenger = _challenger(ranking)
    if challenger is None or challenger.lead <= best.lead:
        return lead
    challenger_score, best_score = scores_on_same_folds(challenger, best, metric, table)
    return (
        f"{CHALLENGER} (scikit-learn's, not tuned) is ahead of all of ours: {metric.words} "
        f"{format_number(challenger_score)} against {format_number(best_score)}{_of_folds(challenger)}. {lead}"
    )


def _of_folds(one: RankedModel) -> str:
    """The number of folds of a score, where they are not all."""
    done, all_of_them = len(one.result.folds), len(one.result.protocol)
    return "" if done == all_of_them else f", on the {done} of {all_of_them} folds that there was time for"


def _challenger(ranking: list[RankedModel]) -> RankedModel | None:
    return next((one for one in ranking if one.line.name == CHALLENGER and one.figure), None)


def _notes(
    ranking: list[RankedModel], best: RankedModel | None, metric: Metric, table: LoadedTable, skipped: dict[str, str]
) -> list[str]:
    notes = [*_time_notes(ranking, best)]
    challenger = _challenger(ranking)
    if best is not None and best.figure:
        if challenger is None:
            run = next((one.result.reason for one in ranking if one.line.name == CHALLENGER), skipped.get(CHALLENGER))
            notes += [] if not run else [f"{CHALLENGER} was not run, so nothing is known of trees here: {run}"]
        elif challenger.lead <= best.lead:
            challenger_score, best_score = scores_on_same_folds(challenger, best, metric, table)
            notes.append(
                f"{CHALLENGER} (scikit-learn's, not tuned) is not ahead of it: {metric.words} "
                f"{format_number(challenger_score)} against {format_number(best_score)}{_of_folds(challenger)}."
            )
        picked = optimism_note(ranking, best, metric, table)
        notes += [picked] if picked else []
    names = [one.line.name for one in ranking if one.line.ours and one.result.certificate is not None]
    not_ok = [name for name in names if not _is_ok(ranking, name)]
    if not_ok:
        notes.append(f"Not certified: {', '.join(not_ok)}. Their certificates are explained in the report.")
    notes += [f"{one.line.name} warned: {text}" for one in ranking if one is best for text in one.result.warned[:3]]
    return notes


def _time_notes(ranking: list[RankedModel], best: RankedModel | None) -> list[str]:
    """Notes on models that did not finish within the time."""
    ours = [one for one in ranking if one.line.ours]
    timed_out = [one for one in ours if one.result.state in TIME_OVER_STATES]
    notes = []
    if timed_out:
        names = ", ".join(
            one.line.name + (f" ({len(one.result.folds)} folds)" if one.figure else "") for one in timed_out
        )
        notes.append(f"Not finished within the time, and perhaps better: {names}. --time gives more.")
    better = [one.line.name for one in ours if best is not None and one.figure and one.lead > best.lead]
    if better:
        notes.append(f"Ahead, but there was no time to fit it to all rows: {', '.join(better)}. --time gives more.")
    return notes


def _is_ok(ranking: list[RankedModel], name: str) -> bool:
    return any(one.line.name == name and one.result.certificate.ok for one in ranking)


PICTURES_OF_GROUPS = {
    "principal-components": "spectrum",
    "parts": "parts",
    "k-means": "errors",
    "mixture": "criterion",
    "spectral-clustering": "eigenvalues",
    "dendrogram": "dendrogram",
    "kernel-components": "kernel_plane",
}
"""The picture of each method for tables without a target."""


def record_of_unsupervised(
    job: Job, table: LoadedTable, find: Callable[[Any, float], Iterable[UnsupervisedResult]], seconds: float
) -> tuple[dict[str, Any], Any]:
    """The record of a table without a target, and the model that is saved: the clusters."""
    begin = time.perf_counter()
    encoder = TableEncoder(types=table.schema.text(), scale=True, sparse_output=False)
    Z = encoder.fit_transform(table.frame)
    result = list(find(Z, begin + seconds))
    rows = [
        {
            **EMPTY_ROW,
            "name": one.name,
            "class": type(one.model).__name__,
            "status": "done",
            "score": one.score,
            "certificate": format_certificate(one.model.certificate_),
            "certified": bool(one.model.certificate_.ok),
            "chosen": one.chosen,
            "tried": one.tried if one.tried > 1 else 0,
            "fit_seconds": one.seconds,
            "note": one.note,
        }
        for one in result
    ]
    saved = next((one for one in result if hasattr(one.model, "labels_") and hasattr(one.model, "predict")), result[0])
    record = {
        **_common(job, table, encoder),
        "metric": {"name": "share", "words": "share of the variance", "better": "larger"},
        "protocol": "No target was given: these describe the rows at hand, and promise nothing about others.",
        "best": saved.name,
        "board": rows,
        "lead": "; ".join(f"{one.name}: {', '.join(f'{n} {v}' for n, v in one.chosen.items())}" for one in result)
        + ".",
        "notes": [],
        "certificate": saved.model.certificate_.explain(),
        "classes": None,
        "seconds": time.perf_counter() - begin,
        "interrupted": False,
        "pictures": {PICTURES_OF_GROUPS[one.name]: one.picture for one in result},
        "explain": {"profiles": profile_columns(table, deadline=begin + seconds)},
        "groups": describe_groups(
            [one.model for one in result], Z, encoder.get_feature_names_out().tolist(), table.rows
        ),
    }
    return record, Pipeline([("table", encoder), ("model", saved.model)])
