"""Detection of sentinel values, numbers such as -999 that stand for missing values.

A sentinel is at an end of the range of its column, is repeated, is one in common use (nines, -1, the largest integer of
a type, 1e30), and is separated from the other values. None of this is proof: 9999 may be the upper limit of an
instrument, and -1 a level. So sentinels are only reported, with the option that makes them missing.
"""

import re
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data.errors import Decision
from tenfold.features.dtypes import cast_columns
from tenfold.features.frames import frame_of
from tenfold.features.schema import Declared, infer_schema

STRONG = re.compile(r"-?(9{3,}|9{3,}\.(9+|25)|8{4,}|7{4,}|32767|65535|2147483647|4294967295|32768|2147483648)")
WEAK = re.compile(r"-(1|9|99|88|77)|99|98|97|88|77|99[87]|88[89]")
HUGE = 1e20  # no measurement is so large: a mark of a missing value
MIN_ROWS = 20  # values of a column that is examined
MIN_COUNT = 3  # times that a sentinel occurs at least
MIN_OTHERS = 5  # distinct values beside it
MAX_VALUES = 4  # sentinels at one end of a column
MIN_DISTANCE = 0.1  # smallest distance of a strong sentinel from the other values, in units of their range


def find_sentinels(table: Any, *, types: Declared = None) -> list[Decision]:
    """Report numbers that may stand for missing values, column by column.

    Parameters
    ----------
    table : frame or `Reading`
    types : see `infer_schema`.

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold.features import find_sentinels
    >>> table = pl.DataFrame({"age": [*range(18, 68), -999, -999, -999]})
    >>> print(*find_sentinels(table))  # doctest: +NORMALIZE_WHITESPACE
    age: -999 (3) stands apart from the other values, 18 to 67, in 5.7% of the rows; kept as a number. If it means
    missing, say --missing age=-999
    """
    frame = frame_of(getattr(table, "frame", table))
    columns = [column for column in infer_schema(frame, types=types).columns if column.kind == "number"]
    decisions = []
    for series in cast_columns(frame, columns).get_columns() if columns else ():
        values = series.drop_nulls().to_numpy()
        # the extremes rule most columns out
        if len(values) >= MIN_ROWS and any(_sentinel_likeness(end) for end in (values.min(), values.max())):
            sentence = _sentence(series.name, values, len(series))
            decisions += [Decision("sentinel", sentence, series.name)] if sentence else []
    return decisions


def _sentinel_likeness(value: float) -> int:
    """Whether a number is in use as a sentinel: 0 no, 1 weak evidence, 2 strong evidence."""
    text = f"{value:.17g}"
    return 2 if abs(value) >= HUGE or STRONG.fullmatch(text) else int(WEAK.fullmatch(text) is not None)


def _sentence(name: str, values: Floats, rows: int) -> str:
    levels, counts = np.unique(values, return_counts=True)
    lows, highs = _count_at_end(levels), _count_at_end(levels[::-1])
    others = levels[lows : len(levels) - highs]
    if len(others) < MIN_OTHERS:
        return ""
    inner = values[(values >= others[0]) & (values <= others[-1])]
    parts: list[tuple[float, int]] = []
    if lows and _is_apart(levels[:lows], others[0] - levels[lows - 1], others, inner):
        parts += zip(levels[:lows].tolist(), counts[:lows].tolist(), strict=True)
    if highs and _is_apart(levels[-highs:], levels[-highs] - others[-1], others, inner):
        parts += zip(levels[-highs:].tolist(), counts[-highs:].tolist(), strict=True)
    if sum(count for _, count in parts) < MIN_COUNT:
        return ""
    shown = [f"{value:.10g}" for value, _ in parts]
    times = " and ".join(f"{text} ({count:,})" for text, (_, count) in zip(shown, parts, strict=True))
    share = sum(count for _, count in parts) / rows
    verb, noun, meaning = ("stands", "a number", "it means") if len(parts) == 1 else ("stand", "numbers", "they mean")
    return (
        f"{times} {verb} apart from the other values, {others[0]:g} to {others[-1]:g}, in {share:.1%} of the rows; "
        f"kept as {noun}. If {meaning} missing, say --missing {name}={','.join(shown)}"
    )


def _count_at_end(levels: Floats) -> int:
    """The number of consecutive sentinel candidates from this end on."""
    count = 0
    while count < min(MAX_VALUES, len(levels) - 1) and _sentinel_likeness(float(levels[count])):
        count += 1
    return count


def _is_apart(group: Floats, gap: float, others: Floats, inner: Floats) -> bool:
    """Whether values are separated from the others."""
    if group[-1] < 0.0 <= others[0]:  # the only negative values
        return True
    if max(map(_sentinel_likeness, group.tolist())) == 2:
        low, high = np.quantile(inner, (0.01, 0.99))
        return bool(gap > MIN_DISTANCE * (high - low))
    return bool(gap > others[-1] - others[0])
