"""Dates in text: detection of formats, and parsing by them."""

import re
from dataclasses import dataclass

from tenfold.features.frames import pl

# Formats whose day and month may be swapped; the default of each separator comes first.
EITHER = {
    "/": ("%m/%d/%Y", "%d/%m/%Y"),
    "-": ("%d-%m-%Y", "%m-%d-%Y"),
    ".": ("%d.%m.%Y", "%m.%d.%Y"),
}
DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%m.%d.%Y",
    "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y",
    "%d-%b-%Y", "%d-%b-%y", "%d. %B %Y", "%Y-%m", "%b %Y", "%B %Y", "%Y%m%d",
)  # fmt: skip
TIMES = ("", " %H:%M:%S", " %H:%M", " %I:%M %p", " %I:%M:%S %p")
CLOCK, ZONE = re.compile(r"\d:\d\d"), re.compile(r"(?i)\d(z|\s?[+-]\d\d:?\d\d)$")
SAMPLE, MAX_FORMATS = 200, 4  # values on which formats are tried, and formats of one column


@dataclass(frozen=True)
class DateFormats:
    """Formats that parse all values, tried in this order; `note` names ambiguities."""

    formats: tuple[str, ...]
    note: str = ""


def normalize_times(values: pl.Series) -> pl.Series:
    """Times in one notation: a blank before them, no fractions of seconds, zones as +0000."""
    return (
        values.str.strip_chars()
        .str.replace(r"(\d)[Tt](\d)", "${1} ${2}")
        .str.replace(r"(:\d\d)[.,]\d+", "${1}")
        .str.replace(r"(?i)(\d)\s?(z|utc|gmt)$", "${1}+0000")
        .str.replace(r"(\d) ([+-]\d\d:?\d\d)$", "${1}${2}")
        .str.replace(r"([+-]\d\d):(\d\d)$", "${1}${2}")
    )


def parse_dates(values: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    """Moments, in UTC where zones are given; null where no format parses a value."""
    different = values.unique()
    if len(different) == len(values):
        return _parse_distinct(values, formats)
    return values.replace_strict(different, _parse_distinct(different, formats), return_dtype=pl.Datetime("us"))


def _parse_distinct(values: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    text = normalize_times(values)
    moments = _parse_format(text, formats[0])
    for form in formats[1:]:
        left = moments.is_null()
        moments = moments.zip_with(~left, _parse_format(text, form))
    return moments


def _parse_format(text: pl.Series, form: str) -> pl.Series:
    moments = text.str.to_datetime(form, strict=False, time_unit="us")
    if form.endswith("%z"):
        moments = moments.dt.replace_time_zone(None)
    if "%Y" in form:  # the year 13 is 2013, by another format
        moments = moments.set(moments.dt.year() < 1000, None)
    elif "%y" in form:  # 1.2.3 is no date
        moments = moments.set(~text.str.contains(r"[-./]\d\d( |$)"), None)
    return moments


def date_formats(values: pl.Series, dayfirst: bool | None = None) -> DateFormats | None:
    """The formats that parse all of these distinct values; None where there are none.

    Ambiguous day and month are resolved by all values: one above 12 in either place, else the order of the rows, else
    the convention of the separator.
    """
    text = normalize_times(values)
    sample = text.head(SAMPLE)
    clocks = [bool(CLOCK.search(v)) for v in sample]
    times = (TIMES[1:] if any(clocks) else ()) + (() if all(clocks) else TIMES[:1])
    zones = ("%z", "") if any(ZONE.search(v) for v in sample) else ("",)
    counts = {}
    for form in (day + time + zone for day in DATES for time in times for zone in zones if time or not zone):
        hits = len(sample) - _parse_format(sample, form).null_count()
        if hits:
            counts[form] = hits
    chosen: list[str] = []
    rest = text
    notes: list[str] = []
    while len(rest) and len(chosen) < MAX_FORMATS:
        ranked = sorted(counts, key=lambda f: -(len(rest) - _parse_format(rest, f).null_count()))
        if not ranked:
            return None
        form, note = _resolve_day_order(ranked[0], text, rest, dayfirst)
        left = rest.filter(_parse_format(rest, form).is_null())
        if len(left) == len(rest):
            return None
        chosen.append(form)
        notes += [note] if note else []
        rest = left
    if len(rest):
        return None
    return DateFormats(tuple(chosen), "; ".join(notes))


def _resolve_day_order(form: str, text: pl.Series, rest: pl.Series, dayfirst: bool | None) -> tuple[str, str]:
    """The format, or the one with day and month swapped, and a note where the values are ambiguous."""
    swapped = form.replace("%d", "%0").replace("%m", "%d").replace("%0", "%m")
    pair = {tuple(sorted(two)) for two in EITHER.values()} | {("%d/%m/%y", "%m/%d/%y")}
    day = next((d for d in DATES if form.startswith(d) and form[len(d) : len(d) + 1] in ("", " ")), "")
    twin = day.replace("%d", "%0").replace("%m", "%d").replace("%0", "%m")
    if tuple(sorted((day, twin))) not in pair:
        return form, ""
    dates, swapped_dates = _parse_format(rest, form), _parse_format(rest, swapped)
    if dates.null_count() < swapped_dates.null_count():
        return form, ""
    if dates.null_count() > swapped_dates.null_count():
        return swapped, ""
    names = {form: _spell_out(form), swapped: _spell_out(swapped)}
    if dayfirst is not None:
        return (form if form.startswith("%d") == dayfirst else swapped), ""
    if len(dates) > 2 and dates.is_sorted() != swapped_dates.is_sorted():
        best = form if dates.is_sorted() else swapped
        return best, f"day and month could be either; {names[best]}, since the rows are then in order of time"
    sign = day[2]
    first = EITHER[sign][0][:2]
    best = form if form.startswith(first) else swapped
    return best, f"day and month could be either; taken as {names[best]}, say dayfirst=... where that is wrong"


def _spell_out(form: str) -> str:
    return form.replace("%d", "day").replace("%m", "month").replace("%Y", "year").replace("%y", "year").split(" %")[0]
