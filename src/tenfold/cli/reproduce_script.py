"""`reproduce.py`: a script that repeats the predictions of a run from the data alone."""

from collections.abc import Mapping
from pprint import pformat
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.cli.leaderboard import RankedModel, candidate
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.run_record import Job
from tenfold.cli.scoring import Metric
from tenfold.kernels import Kernel

HEAD = '''\
"""Repeats the predictions of a run of tenfold {tenfold}, seed {seed}.

Put {name} beside this file, or give its path, and run

    python reproduce.py [{name}]

It writes predictions.csv into the current folder. SHA-256 of the data: {sha256}
"""

import csv
import hashlib
import sys

import numpy as np
from sklearn.pipeline import Pipeline
{expansion}
from tenfold import {imports}
{more}
DATA = sys.argv[1] if len(sys.argv) > 1 else {name!r}
with open(DATA, "rb") as file:
    if hashlib.file_digest(file, "sha256").hexdigest() != {sha256!r}:
        print("the data are not those of the run: predictions will differ", file=sys.stderr)

frame = read_table(DATA{missing}).frame{drop}
'''

SPLIT = """\
frame = frame.with_row_index({row!r}, 1){there}
table = split_target(frame, {target!r}, task={task!r})
frame, y = table.frame, table.y
X = frame.drop({labels!r})
"""

MODEL = """\
model = Pipeline(
    [
{steps}
    ]
)
"""

FOLDS = """\
result = nested(
    [Candidate({name!r}, model, {grid})],
    X,
    y,
    outer={outer!r},
    scoring={scoring!r},
    groups={groups},
    time={time},
    sample_weight={weight},
    random_state={seed},
    refit={refit},
    abandon=False,
)[{name!r}]
"""

OUT_OF_FOLD = """\
tested = np.flatnonzero(result.tested)
fold = np.zeros(len(y), dtype=int)
for number, outer_fold in enumerate(result.folds, 1):
    fold[outer_fold.rows] = number
head = ["row", "fold", "target", "prediction"]
rows = {numbers}
columns = [rows[tested], fold[tested], y[tested], result.predictions[tested]]
if result.probabilities is not None:
    head += [f"p({{name}})" for name in result.classes]
    columns += list(result.probabilities[tested].T)
elif result.decisions is not None and result.decisions.ndim == 1:
    head.append("score")
    columns.append(result.decisions[tested])
"""

NEW = """\
new = {new}
new = new.select([name for name in new.columns if name in X.columns])
head = ["row", "prediction"]
columns = [np.arange(1, new.height + 1), model.predict(new)]
if hasattr(model, "predict_proba"):
    head += [f"p({{name}})" for name in model.classes_]
    columns += list(np.asarray(model.predict_proba(new)).T)
"""

TAIL = """\
with open("predictions.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file, lineterminator="\\n")
    writer.writerow(head)
    writer.writerows(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
"""


def import_kernels(model: Any) -> list[str]:
    """The line that imports the kernels among the parameters of a model, where there are any."""
    kernels = [value for value in model.get_params().values() if isinstance(value, Kernel)]
    names = sorted({type(kernel).__name__ for kernel in kernels})
    return [f"from tenfold.kernels import {', '.join(names)}\n"] if names else []


def script(job: Job, table: LoadedTable, record: Mapping[str, Any], best: Any, metric: Metric | None) -> str:
    """The script of a run."""
    is_leaderboard = isinstance(best, RankedModel)
    given = candidate(table, best.line) if is_leaderboard else None
    pipeline = given.model if given is not None else best
    encoder, last = pipeline.steps[0][1], pipeline.steps[-1][1]
    between = sorted({type(step).__name__ for _, step in pipeline.steps[1:-1]})
    imports = sorted({"TableEncoder", "read_table", type(last).__name__}, key=str.lower)
    extra = [record[role] for role in ("weight", "group", "time") if record[role] is not None]
    parts = [
        HEAD.format(
            tenfold=record["versions"]["tenfold"],
            seed=record["seed"],
            name=record["data"]["name"],
            sha256=record["data"]["sha256"],
            imports=", ".join(imports),
            expansion=f"from sklearn.preprocessing import {', '.join(between)}\n" if between else "",
            more="".join(sorted([*(LEADERBOARD_IMPORTS if is_leaderboard else IMPORTS), *import_kernels(last)])),
            missing=f", missing={record['missing']!r}" if record["missing"] else "",
            drop=f".drop({record['drop']!r})" if record["drop"] else "",
        )
    ]
    if is_leaderboard:
        there = f".drop_nulls({extra!r})" if extra else ""
        names = {"row": ROW, "there": there, "target": record["target"], "task": record["task"]}
        parts.append(SPLIT.format(**names, labels=[ROW, *extra]))
    else:
        parts.append("X = frame\n")
    absent = {name: values for name, values in record["missing"].items() if name in table.frame.columns}
    declared = {**record, "missing": absent}
    kinds = "".join(f", {name}={declared[name]!r}" for name in ("types", "ordinal", "missing") if declared[name])
    encoder = f"{constructor_call(encoder)[:-1]}, types=infer_schema(X{kinds}).text())"
    calls = [encoder, *(constructor_call(step) for _, step in pipeline.steps[1:])]
    steps = [f"        ({name!r}, {call})," for (name, _), call in zip(pipeline.steps, calls, strict=True)]
    parts.append(MODEL.format(steps="\n".join(steps)))
    if given is not None and metric is not None:
        parts.append(
            FOLDS.format(
                name=given.name,
                grid="None" if given.grid is None else literal(given.grid),
                outer=record["outer"],
                scoring=metric.scorer,
                groups=_column(record["group"]),
                time=_column(record["time"]),
                weight=_column(record["weight"], ".astype(float)"),
                seed=job.seed,
                refit=job.test is not None,
            )
        )
    if is_leaderboard and job.test is None:
        parts.append(OUT_OF_FOLD.format(numbers=f"frame[{ROW!r}].to_numpy()"))
    else:
        fitted = "model = result.model\n" if is_leaderboard else "model.fit(X)\n"
        parts.append(fitted + NEW.format(new="X" if job.test is None else f"read_table({job.test.name!r}).frame"))
    return "\n".join([*parts, TAIL])


IMPORTS = ("from tenfold.features import infer_schema\n",)
LEADERBOARD_IMPORTS = (
    "from tenfold.features import infer_schema, split_target\n",
    "from tenfold.selection import Candidate, nested\n",
)
ROW = "tenfold row"  # name of the column of row numbers, which no table should have


def _column(name: str | None, cast: str = "") -> str:
    return "None" if name is None else f"frame[{name!r}].to_numpy(){cast}"


def constructor_call(model: BaseEstimator) -> str:
    """The constructor call of an estimator, with the parameters that differ from its defaults."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    changed = {name: value for name, value in given.items() if name != "types" and not _same(value, defaults[name])}
    return f"{type(model).__name__}({', '.join(f'{name}={literal(value)}' for name, value in changed.items())})"


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return bool(np.array_equal(value, default))
    return type(value) is type(default) and bool(value == default)


def literal(value: Any) -> str:
    """A value as a Python literal, with all digits."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 2 and np.min(value) > 0:
        low, high = (round(float(np.log10(end))) for end in (value[0], value[-1]))
        if np.array_equal(value, np.logspace(low, high, len(value))):
            return f"np.logspace({low}, {high}, {len(value)})"
    if isinstance(value, np.ndarray | np.generic):
        return literal(value.tolist())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {literal(item)}" for name, item in value.items()) + "}"
    return pformat(value, width=100, compact=True)
