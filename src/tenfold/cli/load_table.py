"""Load a table: columns to learn from, target, groups, weights and times, with a sentence on every decision."""

import hashlib
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tenfold.features import (
    Reading,
    Schema,
    TableEncoder,
    TableError,
    count_vocabulary,
    find_sentinels,
    infer_schema,
    read_table,
    split_target,
    suspects,
)

EXTRA_ROLES = ("group", "weight", "time")
ROLES = ("target", *EXTRA_ROLES)


@dataclass(frozen=True)
class LoadedTable:
    """A table that is ready to learn from.

    Attributes
    ----------
    frame : polars.DataFrame, the columns to learn from
    y, groups, weight, time : (n,) arrays, or None
    schema : the kinds of the columns
    task : "regression", "binary", "multiclass" or "structure"
    rows : the numbers of the rows in the file, from 1, header not counted
    name, sha256 : of the file
    decisions, warnings : sentences
    """

    frame: Any
    y: Any
    groups: Any
    weight: Any
    time: Any
    schema: Schema
    task: str
    rows: Any
    name: str
    sha256: str
    decisions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of features of the encoded table."""
        return self.width_at(TableEncoder().max_words)

    def width_at(self, max_words: int) -> int:
        """Number of features of the encoded table with at most `max_words` words of each text column."""
        return self._features_without_words + sum(min(words, max_words) for words in self.vocabularies)

    def words_within(self, features: int) -> int:
        """The largest `max_words` of an encoder with which the table has at most `features` features.

        At least 1, even where the table is too wide without any word, and at most the default of `TableEncoder`.
        """
        default = TableEncoder().max_words
        most = min(max(self.vocabularies, default=0), default)
        fits = bisect_right(range(1, most + 1), features, key=self.width_at)
        return default if fits == most else max(1, fits)

    @cached_property
    def vocabularies(self) -> list[int]:
        """Size of the unlimited vocabulary of each text column."""
        return [count_vocabulary(self.frame[name]) for name in self.schema.of("text")]

    @cached_property
    def _features_without_words(self) -> int:
        others = [column for column in self.schema.columns if column.kind != "text"]
        encoder = TableEncoder(types=Schema(tuple(others)), task=self.family)
        return encoder.count_features(self.frame.select([column.name for column in others]), self.y) if others else 0

    @property
    def family(self) -> str:
        """The task as models know it: regression, classification or structure."""
        return "classification" if self.task in ("binary", "multiclass") else self.task


@dataclass(frozen=True)
class Roles:
    """Roles and declared kinds of columns, by name."""

    target: str | None = None
    group: str | None = None
    weight: str | None = None
    time: str | None = None
    drop: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    ordinal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def check(self, columns: Sequence[str], source: str, *, needed: Sequence[str] = ROLES) -> None:
        """Raise for names that the table does not have, and for a column with two roles."""
        assigned = [(role, name) for role in ROLES if (name := getattr(self, role)) is not None]
        declared = [*(("type", name) for name in self.types), *(("ordinal", name) for name in self.ordinal)]
        dropped = [("drop", name) for name in self.drop]
        missing_values = [("missing", name) for name in self.missing]
        for role, name in [*((r, n) for r, n in assigned if r in needed), *dropped, *declared, *missing_values]:
            if name not in columns:
                raise TableError(
                    f"--{role} names a column {name!r}, which the table does not have. {_hint(name, columns)}",
                    source=source,
                )
        taken: dict[str, str] = {}
        for role, name in [*assigned, *dropped, *declared]:
            if name in taken and taken[name] != role:
                raise TableError(f"{name!r} is given as --{taken[name]} and as --{role}: take one.", source=source)
            taken[name] = role

    @property
    def names(self) -> list[str]:
        """All columns that are not learned from."""
        return [name for name in (self.target, self.group, self.weight, self.time, *self.drop) if name is not None]


def _hint(name: str, columns: Sequence[str]) -> str:
    close_matches = [column for column in columns if column.lower() == name.lower()] or get_close_matches(
        name, columns, 1
    )
    return f"Did you mean {close_matches[0]!r}?" if close_matches else f"It has {', '.join(map(repr, columns[:10]))}."


def open_table(path: Path) -> tuple[Reading, str, str]:
    """A table, the name of its file and the SHA-256 of its bytes; "-" is the standard input."""
    if str(path) == "-":
        data = sys.stdin.buffer.read()
        return read_table(BytesIO(data)), "standard input", hashlib.sha256(data).hexdigest()
    reading = read_table(path)
    with path.open("rb") as file:
        return reading, path.name, hashlib.file_digest(file, "sha256").hexdigest()


def prepare(path: Path, roles: Roles, task: str = "auto") -> LoadedTable:
    """Read a table and separate target, groups, weights and times from the features."""
    reading, name, sha256 = open_table(path)
    roles.check(reading.frame.columns, name)
    reading = reading.without(roles.missing)
    frame = reading.frame
    decisions = [str(decision) for decision in reading.decisions]
    rows = np.arange(1, frame.height + 1)
    frame = frame.drop(roles.drop)
    for role in EXTRA_ROLES:
        column = getattr(roles, role)
        if column is None:
            continue
        present = frame[column].is_not_null().to_numpy()
        if not present.any():
            raise TableError(f"the {role} is missing in every row.", source=name, column=column)
        if not present.all():
            decisions.append(f"{column}: {np.count_nonzero(~present):,} rows without {role} were left out")
            frame, rows = frame.filter(present), rows[present]
    y, kind, warnings, target_sentinels = None, "structure", [], []
    extra = {role: frame[name] for role, name in vars(roles).items() if role in EXTRA_ROLES and name is not None}
    frame = frame.drop([column.name for column in extra.values()])
    if roles.target is not None:
        split = split_target(frame, roles.target, task=task)
        y, kind = split.y, split.task
        if kind == "regression":
            target_sentinels = find_sentinels(frame.select(roles.target), types={roles.target: "number"})
        decisions += [str(decision) for decision in split.decisions]
        frame, rows = split.frame, rows[split.rows]
        extra = {role: column[split.rows] for role, column in extra.items()}
    if frame.width == 0:
        raise TableError("no column is left to learn from.", source=name)
    missing_values = {column: values for column, values in roles.missing.items() if column in frame.columns}
    schema = infer_schema(frame, types=dict(roles.types), ordinal=roles.ordinal, missing=missing_values)
    if y is not None:
        warnings = [str(suspect) for suspect in suspects(frame, y, types=schema, task=kind)]
    warnings += map(str, [*target_sentinels, *find_sentinels(frame, types=schema)])
    weight = _weight(extra["weight"], name) if "weight" in extra else None
    groups, time = (extra[role].to_numpy() if role in extra else None for role in ("group", "time"))
    return LoadedTable(frame, y, groups, weight, time, schema, kind, rows, name, sha256, decisions, warnings)


def _weight(column: Any, source: str) -> Any:
    if not column.dtype.is_numeric():
        raise TableError("weights must be numbers.", source=source, column=column.name)
    weight = column.to_numpy().astype(np.float64)
    if not (np.all(weight >= 0.0) and np.any(weight > 0.0)):
        raise TableError("weights must be zero or more, and some more.", source=source, column=column.name)
    return weight
