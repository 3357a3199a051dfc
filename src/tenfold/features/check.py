"""Unit tests for data: compare a new table with a reference, by types, ranges, levels, missing values and drift."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats
from sklearn.pipeline import Pipeline

from tenfold.data.errors import TableError, some
from tenfold.features.dtypes import without_missing
from tenfold.features.encoder import TableEncoder
from tenfold.features.frames import frame_of, pl
from tenfold.features.profiles import count_levels, duplicates, numeric_values, profile, schema_of
from tenfold.features.schema import DROPPED, ColumnType, Schema

SMALL_SHIFT = 0.05  # largest difference of two distribution functions that is a note, and no warning
SMALL_RATE = 0.01  # change of the fraction of missing values up to which it is a note
FEW_EXPECTED = 5.0  # expected count below which a chi-squared test does not hold (Cochran)
ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Finding:
    """A difference in a column of a new table, or in the whole table (None).

    Attributes
    ----------
    severity : "error" (the encoder would raise), "warning" or "note".
    column, about : name, and subject: columns, types, range, levels, missing, drift, duplicates.
    sentence : in words.
    p_value : of the test behind it, or None.
    """

    severity: str
    column: str | None
    about: str
    sentence: str
    p_value: float | None = None

    def __str__(self) -> str:
        return f"{self.severity}: {'' if self.column is None else f'{self.column}: '}{self.sentence}"


@dataclass(frozen=True)
class TableCheck:
    """The result of `check_table`.

    Attributes
    ----------
    findings : tuple of Finding, the worst first.
    level : family-wise error rate: the probability of any false alarm where both tables have one distribution.
    tests : the number of tests.
    """

    findings: tuple[Finding, ...]
    level: float
    tests: int

    @property
    def ok(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return all(finding.severity == "note" for finding in self.findings)

    def __str__(self) -> str:
        head = "The table is like the old one" if self.ok else "The table is not like the old one"
        tail = f"{self.tests} tests, with a chance of {self.level:g} that any of them is a false alarm (Holm)."
        return "\n".join([f"{head}: {tail}", *map(str, self.findings)])


def check_table(new: Any, against: Any, *, level: float = 0.01) -> TableCheck:
    """Compare a new table with an old one: columns, types, ranges, levels, missing values, drift, duplicates.

    Parameters
    ----------
    new : frame or `Reading`
        The table to check.
    against : frame, `Reading`, fitted `TableEncoder` or a pipeline that begins with one, or a `profile`
        The reference; a profile also as JSON. An encoder has kinds, levels and counts of missing values, but no
        distributions: with it, ranges and drift are not checked.
    level : float, default=0.01
        The probability of any false alarm over all tests.

    Returns
    -------
    TableCheck
        The findings, and whether none of them is an error or a warning.

    Notes
    -----
    Rates of missing values and of duplicates: Fisher's exact test of two binomials. Values beyond the old range: the
    exact probability of as many where rows are exchangeable; values beyond by more than the width of the range are
    always reported. Drift of numbers and dates: the two-sample Kolmogorov-Smirnov test at the points of the profile,
    which is conservative; of levels: the chi-square test. All p-values are adjusted by Holm's method. A drift of less
    than 0.05 (largest difference of distributions) and rates that differ by less than 0.01 are notes at any p-value.
    New levels are warnings, missing columns and values of a wrong kind errors, more columns and another order notes.

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold import check_table
    >>> old = pl.DataFrame({"x": [i / 10 for i in range(100)], "c": ["a", "b"] * 50})
    >>> new = pl.DataFrame({"x": [i / 10 for i in range(50, 150)], "c": ["a", "b"] * 49 + ["a", "z"]})
    >>> check = check_table(new, old)
    >>> check.ok
    False
    >>> print(*check.findings, sep="\\n")
    warning: x: 50 values above the largest so far, 9.9, up to 14.9
    warning: x: drift: the distributions differ by 0.50 at 4.9
    warning: c: 1 row has a level that is new: 'z' (1)
    """
    if not 0 < level < 1:
        raise ValueError(f"level is a chance between 0 and 1, not {level!r}.")
    frame = frame_of(getattr(new, "frame", new))
    old = _profile_of(against)
    schema = schema_of(old)
    frame = without_missing(frame, schema.columns)
    findings = _check_columns(frame, schema)
    given = set(frame.columns)
    for name in schema:
        if name in given and schema[name].kind not in DROPPED:
            findings += _check_column(frame.get_column(name), schema[name], old["columns"].get(name), old["rows"])
    if "duplicates" in old:
        findings += _check_rate(
            "duplicates", None, "rows come twice", duplicates(frame), frame.height, old["duplicates"], old["rows"]
        )
    return _adjust(findings, level)


def _profile_of(against: Any) -> dict[str, Any]:
    if isinstance(against, Pipeline):
        against = against[0]
    if isinstance(against, TableEncoder):
        return _profile_of_encoder(against)
    if isinstance(against, str):
        against = json.loads(against)
    if isinstance(against, Mapping) and "schema" in against and "columns" in against:
        return dict(against)
    return profile(against)


def _profile_of_encoder(encoder: TableEncoder) -> dict[str, Any]:
    """The part of a profile that an encoder has."""
    columns: dict[str, Any] = {c.name: {"kind": c.kind, "missing": c.missing} for c in encoder.schema_.columns}
    for name, levels in encoder.levels().items():
        columns[name]["levels"] = levels
    return {"rows": encoder.n_rows_, "schema": encoder.kinds_, "columns": columns}


def _check_columns(frame: pl.DataFrame, schema: Schema) -> list[Finding]:
    given, present = frame.columns, set(frame.columns)
    extra = [name for name in given if name not in schema]
    findings = []
    for name in schema:
        if name not in present and schema[name].kind not in DROPPED:
            near = difflib.get_close_matches(name, extra, n=1)
            hint = f"; is {near[0]!r} meant?" if near else ""
            findings.append(Finding("error", name, "columns", f"the column is missing{hint}"))
    if extra:
        findings.append(Finding("note", None, "columns", f"columns that were not there before: {some(extra)}"))
    common = [name for name in given if name in schema]
    if common != [name for name in schema if name in present]:
        findings.append(Finding("note", None, "columns", "the columns come in another order"))
    return findings


def _check_column(series: pl.Series, column: ColumnType, old: Mapping[str, Any] | None, rows: int) -> list[Finding]:
    old = old or {}
    findings: list[Finding] = []
    name = column.name
    try:
        if column.kind in ("number", "count", "date"):
            findings += _check_distribution(numeric_values(series, column), column, old)
        elif column.kind in ("category", "boolean", "ordinal"):
            findings += _check_levels(count_levels(series, column), column, old)
    except TableError as error:
        where = "" if error.row is None else f"row {error.row}: "
        return [Finding("error", name, "types", f"{where}{error.what}")]
    missing, before = series.null_count(), old.get("missing")
    if before is not None:
        findings += _check_rate("missing", name, "values are missing", missing, len(series), before, rows)
    return findings


def _check_rate(about: str, column: str | None, what: str, now: int, rows: int, before: int, old: int) -> list[Finding]:
    """Compare two binomial rates by Fisher's exact test."""
    if not rows or not old:
        return []
    p = float(stats.fisher_exact(np.array([[now, rows - now], [before, old - before]]))[1])
    share, share_before = now / rows, before / old
    sentence = f"{share:.1%} of the {what}, {share_before:.1%} before"
    severity = "note" if abs(share - share_before) < SMALL_RATE else "warning"
    return [Finding(severity, column, about, sentence, p)]


def _check_distribution(values: Any, column: ColumnType, old: Mapping[str, Any]) -> list[Finding]:
    points, shares = np.asarray(old.get("points", ())), np.asarray(old.get("shares", ()))
    if not len(points) or not len(values):
        return []
    before = max(1, int(old["count"]))
    findings = _check_range(values, column, points, before)
    now = np.searchsorted(np.sort(values), points, side="right") / len(values)
    gap = np.abs(now - shares)
    place, shift = int(gap.argmax()), float(gap.max())
    effective = len(values) * before / (len(values) + before)
    p = float(special.kolmogorov(np.sqrt(effective) * shift))
    severity = "note" if shift < SMALL_SHIFT else "warning"
    sentence = f"drift: the distributions differ by {shift:.2f} at {_format(points[place], column)}"
    return [*findings, Finding(severity, column.name, "drift", sentence, p)]


def _check_range(values: Any, column: ColumnType, points: Any, before: int) -> list[Finding]:
    """Values below the smallest and above the largest of the reference."""
    low, high = float(points[0]), float(points[-1])
    findings = []
    for side, word, edge, limit in (
        (values[values > high], "above the largest", high, high + (high - low)),
        (values[values < low], "below the smallest", low, low - (high - low)),
    ):
        if not len(side):
            continue
        worst = float(side.max() if edge == high else side.min())
        reach = "up to" if edge == high else "down to"
        values_text = f"{len(side)} value{'s' * (len(side) > 1)}"
        sentence = f"{values_text} {word} so far, {_format(edge, column)}, {reach} {_format(worst, column)}"
        # the probability that the k largest values of both tables are all new
        k = np.arange(len(side))
        p = float(np.exp(np.sum(np.log(len(values) - k) - np.log(len(values) + before - k))))
        is_far = worst > limit if edge == high else worst < limit
        findings.append(Finding("warning", column.name, "range", sentence, None if is_far and high > low else p))
    return findings


def _check_levels(now: dict[str, int], column: ColumnType, old: Mapping[str, Any]) -> list[Finding]:
    before = old.get("levels")
    if before is None or not now:
        return []
    findings = []
    complete = old.get("distinct", len(before)) == len(before)
    new = {level: n for level, n in now.items() if level not in before} if complete else {}
    if new:
        listed = ", ".join(f"{level!r} ({n})" for level, n in list(new.items())[:5])
        more = f" and {len(new) - 5} more" if len(new) > 5 else ""
        rows = sum(new.values())
        sentence = f"{rows} row{'s' * (rows > 1)} {'have' if rows > 1 else 'has'} a level that is new: {listed}{more}"
        severity = "error" if column.kind == "ordinal" else "warning"
        findings.append(Finding(severity, column.name, "levels", sentence))
    if isinstance(before, Mapping):
        findings += _check_shares({level: n for level, n in now.items() if level in before}, dict(before), column)
    return findings


def _check_shares(now: dict[str, int], before: dict[str, int], column: ColumnType) -> list[Finding]:
    """Chi-square test of the known levels, with rare ones pooled."""
    names = sorted(before, key=lambda level: -before[level])
    table = np.array([[now.get(level, 0) for level in names], [before[level] for level in names]], dtype=np.float64)
    if len(names) < 2 or not table[0].sum():
        return []
    expected = table.sum(axis=0) * table[0].sum() / table.sum()
    rare = np.minimum(expected, table.sum(axis=0) - expected) < FEW_EXPECTED
    if rare.any():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return []
    p = float(stats.chi2_contingency(table, correction=False)[1])
    shares = table / table.sum(axis=1, keepdims=True)
    shift = 0.5 * float(np.abs(shares[0] - shares[1]).sum())
    severity = "note" if shift < SMALL_SHIFT else "warning"
    return [
        Finding(severity, column.name, "drift", f"drift: {shift:.0%} of the rows would have to change their level", p)
    ]


def _adjust(findings: list[Finding], level: float) -> TableCheck:
    """Findings without a test, and those that are significant by Holm's step-down method."""
    tests = sorted((f for f in findings if f.p_value is not None), key=lambda f: f.p_value or 0.0)
    kept: list[Finding] = []
    adjusted = 0.0
    for rank, finding in enumerate(tests):
        adjusted = max(adjusted, min(1.0, (len(tests) - rank) * (finding.p_value or 0.0)))
        if adjusted > level:
            break
        kept.append(replace(finding, p_value=adjusted))
    positions = {id(f): i for i, f in enumerate(findings)}
    places = [positions[id(f)] for f in tests[: len(kept)]]
    certain = [(i, f) for i, f in enumerate(findings) if f.p_value is None]
    listed = sorted([*certain, *zip(places, kept, strict=True)], key=lambda item: (ORDER[item[1].severity], item[0]))
    return TableCheck(tuple(f for _, f in listed), level, len(tests))


def _format(value: float, column: ColumnType) -> str:
    if column.kind == "date":
        moment = np.datetime64(0, "us") + np.timedelta64(round(value * 86_400e6), "us")
        return str(moment)[:10]
    return f"{value:g}"
