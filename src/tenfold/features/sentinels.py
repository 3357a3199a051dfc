"""Numbers that stand for missing values, such as -999: named where they are seen, replaced where that is asked for.

A value that stands for nothing is at an end of its column, comes again, is one that people write for it (nines, -1, the
largest integer of a type, 1e30), and lies apart from the others. None of that is proof: 9999 may be the last mark of an
instrument, and -1 a level of its own. So such values are named, with the option that makes them missing, and no number
is changed without being asked.
"""

import re
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data.errors import Decision
from tenfold.features.dtypes import typed
from tenfold.features.frames import frame_of
from tenfold.features.schema import Declared, infer_schema

STRONG = re.compile(r"-?(9{3,}|9{3,}\.(9+|25)|8{4,}|7{4,}|32767|65535|2147483647|4294967295|32768|2147483648)")
WEAK = re.compile(r"-(1|9|99|88|77)|99|98|97|88|77|99[87]|88[89]")
HUGE = 1e20
FEWEST_ROWS, FEWEST_TIMES, FEWEST_OTHERS, MOST_VALUES = 20, 3, 5, 4
NEAR = 0.1  # part of the range of the others that a strong one is away from them at least


def find_sentinels(table: Any, *, types: Declared = None) -> list[Decision]:
    """Sentences about numbers that may stand for missing values, column by column.

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
    found = []
    for series in typed(frame, columns).get_columns() if columns else ():
        values = series.drop_nulls().to_numpy()
        # most columns are seen from their ends to have none
        if len(values) >= FEWEST_ROWS and any(_likeness(end) for end in (values.min(), values.max())):
            sentence = _sentence(series.name, values, len(series))
            found += [Decision("sentinel", sentence, series.name)] if sentence else []
    return found


def _likeness(value: float) -> int:
    """How much a number looks like one that stands for nothing: 0 not at all, 1 perhaps, 2 much."""
    text = f"{value:.17g}"
    return 2 if abs(value) >= HUGE or STRONG.fullmatch(text) else int(WEAK.fullmatch(text) is not None)


def _sentence(name: str, values: Floats, rows: int) -> str:
    levels, counts = np.unique(values, return_counts=True)
    lows, highs = _at_the_end(levels), _at_the_end(levels[::-1])
    others = levels[lows : len(levels) - highs]
    if len(others) < FEWEST_OTHERS:
        return ""
    inner = values[(values >= others[0]) & (values <= others[-1])]
    parts: list[tuple[float, int]] = []
    if lows and _apart(levels[:lows], others[0] - levels[lows - 1], others, inner):
        parts += zip(levels[:lows].tolist(), counts[:lows].tolist(), strict=True)
    if highs and _apart(levels[-highs:], levels[-highs] - others[-1], others, inner):
        parts += zip(levels[-highs:].tolist(), counts[-highs:].tolist(), strict=True)
    if sum(count for _, count in parts) < FEWEST_TIMES:
        return ""
    shown = [f"{value:.10g}" for value, _ in parts]
    times = " and ".join(f"{text} ({count:,})" for text, (_, count) in zip(shown, parts, strict=True))
    share = sum(count for _, count in parts) / rows
    stand, kept, mean = ("stands", "a number", "it means") if len(parts) == 1 else ("stand", "numbers", "they mean")
    return (
        f"{times} {stand} apart from the other values, {others[0]:g} to {others[-1]:g}, in {share:.1%} of the rows; "
        f"kept as {kept}. If {mean} missing, say --missing {name}={','.join(shown)}"
    )


def _at_the_end(levels: Floats) -> int:
    """How many values from this end on look like sentinels."""
    found = 0
    while found < min(MOST_VALUES, len(levels) - 1) and _likeness(float(levels[found])):
        found += 1
    return found


def _apart(group: Floats, gap: float, others: Floats, inner: Floats) -> bool:
    """Whether values lie so far from the others that they are not of their kind."""
    if group[-1] < 0.0 <= others[0]:  # the only ones below zero
        return True
    if max(map(_likeness, group.tolist())) == 2:
        low, high = np.quantile(inner, (0.01, 0.99))
        return bool(gap > NEAR * (high - low))
    return bool(gap > others[-1] - others[0])
