"""From cells of text to columns: missing values, decimal signs, numbers, and a check for infinite values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenfold.data.errors import Decision, TableError
from tenfold.data.words import COMMA_NUMBER, LEADING_ZERO, LONG_PLUS, NOT_FINITE, WHOLE
from tenfold.features.frames import pl


def replace_missing_words(
    frame: pl.DataFrame, columns: list[str], missing: frozenset[str]
) -> tuple[pl.DataFrame, list[Decision]]:
    """Replace the words for missing values by null; with a decision that counts them."""
    if not columns or not missing:
        return frame, []
    words = sorted(missing)
    known = pl.col(columns).is_in(words)
    where = frame.select(known.fill_null(False).any()).row(0)
    hit = [name for name, yes in zip(columns, where, strict=True) if yes]
    counts = pl.concat(
        [frame[name].filter(frame[name].is_in(words)).alias("w") for name in hit] or [pl.Series("w", [""])[:0]]
    )
    tally = dict(
        sorted(((w, n) for w, n in counts.value_counts().iter_rows() if w), key=lambda item: (-item[1], item[0]))
    )
    if hit:
        frame = frame.with_columns(pl.when(pl.col(hit).is_in(words)).then(None).otherwise(pl.col(hit)).name.keep())
    total = frame.null_count()
    cells = sum(total.row(0))
    if not cells:
        return frame, []
    wide = sum(n > 0 for n in total.row(0))
    parts = [f"{word!r} ({n})" for word, n in list(tally.items())[:6]]
    empty = cells - sum(tally.values())
    if empty:
        parts.insert(0, f"empty ({empty})")
    sentence = (
        f"{cells} cell{'s' * (cells > 1)} of {wide} column{'s' * (wide > 1)} {'are' if cells > 1 else 'is'} missing: "
        + ", ".join(parts)
    )
    return frame, [Decision("missing", sentence)]


def parse_numeric_columns(frame: pl.DataFrame, decimal: str) -> tuple[pl.DataFrame, list[Decision]]:
    """Cast columns of text whose cells are all numbers."""
    names, plain = frame.columns, frame
    if decimal == ",":
        number = f"{COMMA_NUMBER}|{NOT_FINITE}"
        names = _columns_where(frame, names, lambda text: (text.str.contains(number) | text.is_null()).all())
        points = pl.col(names).str.replace_all(".", "", literal=True).str.replace_all(",", ".", literal=True)
        plain = frame.select(points) if names else frame
    nulls = dict(zip(frame.columns, frame.null_count().row(0), strict=True))
    # the first rows rule most columns of text out
    start = plain.select(names).head(200)
    parsed = start.select(pl.all().cast(pl.Float64, strict=False)).null_count().row(0)
    likely = [n for n, p, g in zip(names, parsed, start.null_count().row(0), strict=True) if p == g]
    whole = _lossless(plain.select(pl.col(likely).cast(pl.Int64, strict=False)), nulls, frame.height)
    others = [name for name in likely if name not in whole]
    floats = _lossless(plain.select(pl.col(others).cast(pl.Float64, strict=False)), nulls, frame.height)
    decisions: list[Decision] = []
    for name in _columns_where(frame, list(floats), _are_digits):
        del floats[name]
        decisions.append(Decision("types", "whole numbers beyond 64 bits are kept as text", name))
    digits = list(whole) if decimal == "." else _columns_where(frame, list(whole), _are_digits)
    for name in _columns_where(frame, digits, lambda text: text.str.contains(LEADING_ZERO).any()):
        del whole[name]
        text = frame.get_column(name)
        example = text.filter(text.str.contains(LEADING_ZERO))[0]
        decisions.append(Decision("types", f"kept as text, because of leading zeros such as {example!r}", name))
    for name in _columns_where(
        frame,
        [name for name in digits if name in whole],
        lambda text: text.str.contains(LONG_PLUS).any() & ~text.str.contains("^-").any(),
    ):
        del whole[name]
        text = frame.get_column(name)
        example = text.filter(text.str.contains(LONG_PLUS))[0]
        decisions.append(
            Decision("types", f"kept as text, because of a plus before many digits such as {example!r}", name)
        )
    columns = [*whole.values(), *(series.fill_nan(None) for series in floats.values())]
    return frame.with_columns(columns) if columns else frame, decisions


def _are_digits(text: pl.Expr) -> pl.Expr:
    """Whether a column has only integers and missing values."""
    return (text.str.contains(WHOLE) | text.is_null()).all()


def _columns_where(frame: pl.DataFrame, names: list[str], test: Callable[[pl.Expr], pl.Expr]) -> list[str]:
    """The columns for which a test holds."""
    if not names:
        return []
    return [name for name, yes in zip(names, frame.select(test(pl.col(names))).row(0), strict=True) if yes]


def _lossless(cast: pl.DataFrame, allowed: dict[str, int], height: int) -> dict[str, pl.Series]:
    """The cast columns that lost no value and are not empty."""
    nulls = dict(zip(cast.columns, cast.null_count().row(0), strict=True)) if cast.width else {}
    good = [name for name, n in nulls.items() if n == allowed[name] and n < height]
    return dict(zip(good, cast.select(good).get_columns(), strict=True))


def check_finite(frame: pl.DataFrame, infinite: str, error_at: Any) -> tuple[pl.DataFrame, list[Decision]]:
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    if not floats:
        return frame, []
    bad = frame.select(pl.col(floats).is_infinite().sum()).row(0)
    if not any(bad):
        return frame, []
    if infinite == "missing":
        replaced = pl.when(pl.col(floats).is_infinite()).then(None).otherwise(pl.col(floats)).name.keep()
        decisions = [
            Decision("infinite", f"{n} infinite number{'s' * (n > 1)} taken as missing", name)
            for name, n in zip(floats, bad, strict=True)
            if n
        ]
        return frame.with_columns(replaced), decisions
    name = next(name for name, n in zip(floats, bad, strict=True) if n)
    row = frame[name].is_infinite().arg_max() or 0
    value = frame[name][row]
    where = error_at(row + 1)
    raise TableError(
        f"{value} is not a finite number ({sum(bad)} in the table). Correct it, or take such numbers as missing: "
        "infinite='missing'.",
        source=where.source,
        line=where.line,
        column=name,
        row=where.row,
    )


def set_missing(frame: pl.DataFrame, missing: Mapping[str, Sequence[object]]) -> tuple[pl.DataFrame, list[Decision]]:
    """Set these values of columns to null, numbers compared as numbers; with a decision that counts them."""
    columns, decisions = [], []
    for name, values in missing.items():
        series = frame.get_column(name)
        hit = _is_any_of(series, values)
        count = int(hit.sum())
        words = " and ".join(map(str, values))
        decisions.append(
            Decision("missing", f"{count:,} value{'s' * (count != 1)} {words} taken as missing, as asked", name)
        )
        if count:
            columns.append(series.set(hit, None))
    return frame.with_columns(columns) if columns else frame, decisions


def _is_any_of(series: pl.Series, values: Sequence[object]) -> pl.Series:
    if series.dtype.is_numeric():
        numbers = [number for value in values if (number := _parse_number(str(value))) is not None]
        return series.cast(pl.Float64).is_in(numbers).fill_null(False)
    return series.cast(pl.String).str.strip_chars().is_in([str(value) for value in values]).fill_null(False)


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
