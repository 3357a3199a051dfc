"""Dates in text: which formats a column has, and reading it by them."""

import re
from dataclasses import dataclass

from tenfold.features.frames import pl

# Day and month first of what could be either; the default of each sign comes first.
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
SAMPLE, MOST_FORMATS = 200, 4


@dataclass(frozen=True)
class DateFormats:
    """Formats that read all values, tried in this order; `note` says what was not clear."""

    formats: tuple[str, ...]
    note: str = ""


def normalised(values: pl.Series) -> pl.Series:
    """One way to write times: a blank before them, no parts of seconds, zones as +0000."""
    return (
        values.str.strip_chars()
        .str.replace(r"(\d)[Tt](\d)", "${1} ${2}")
        .str.replace(r"(:\d\d)[.,]\d+", "${1}")
        .str.replace(r"(?i)(\d)\s?(z|utc|gmt)$", "${1}+0000")
        .str.replace(r"(\d) ([+-]\d\d:?\d\d)$", "${1}${2}")
        .str.replace(r"([+-]\d\d):(\d\d)$", "${1}${2}")
    )


def parsed(values: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    """Moments, in Greenwich time where zones are given; null where no format reads a value."""
    different = values.unique()
    if len(different) == len(values):
        return _parsed(values, formats)
    return values.replace_strict(different, _parsed(different, formats), return_dtype=pl.Datetime("us"))


def _parsed(values: pl.Series, formats: tuple[str, ...]) -> pl.Series:
    text = normalised(values)
    moments = _by(text, formats[0])
    for form in formats[1:]:
        left = moments.is_null()
        moments = moments.zip_with(~left, _by(text, form))
    return moments


def _by(text: pl.Series, form: str) -> pl.Series:
    found = text.str.to_datetime(form, strict=False, time_unit="us")
    if form.endswith("%z"):
        found = found.dt.replace_time_zone(None)
    if "%Y" in form:  # the year 13 is 2013, by another format
        found = found.set(found.dt.year() < 1000, None)
    elif "%y" in form:  # 1.2.3 is no date
        found = found.set(~text.str.contains(r"[-./]\d\d( |$)"), None)
    return found


def date_formats(values: pl.Series, dayfirst: bool | None = None) -> DateFormats | None:
    """The formats that read every one of these (distinct, not missing) values; None where there are none.

    Where day and month could be either, all values decide: one above 12 in either place, else the order of the rows,
    else the custom of the sign between them.
    """
    text = normalised(values)
    sample = text.head(SAMPLE)
    clocks = [bool(CLOCK.search(v)) for v in sample]
    times = (TIMES[1:] if any(clocks) else ()) + (() if all(clocks) else TIMES[:1])
    zones = ("%z", "") if any(ZONE.search(v) for v in sample) else ("",)
    counts = {}
    for form in (day + time + zone for day in DATES for time in times for zone in zones if time or not zone):
        hits = len(sample) - _by(sample, form).null_count()
        if hits:
            counts[form] = hits
    chosen: list[str] = []
    rest = text
    notes: list[str] = []
    while len(rest) and len(chosen) < MOST_FORMATS:
        ranked = sorted(counts, key=lambda f: -(len(rest) - _by(rest, f).null_count()))
        if not ranked:
            return None
        form, note = _settled(ranked[0], text, rest, dayfirst)
        left = rest.filter(_by(rest, form).is_null())
        if len(left) == len(rest):
            return None
        chosen.append(form)
        notes += [note] if note else []
        rest = left
    if len(rest):
        return None
    return DateFormats(tuple(chosen), "; ".join(notes))


def _settled(form: str, text: pl.Series, rest: pl.Series, dayfirst: bool | None) -> tuple[str, str]:
    """The format, or its twin with day and month exchanged, and a note where the values alone do not tell."""
    swapped = form.replace("%d", "%0").replace("%m", "%d").replace("%0", "%m")
    pair = {tuple(sorted(two)) for two in EITHER.values()} | {("%d/%m/%y", "%m/%d/%y")}
    day = next((d for d in DATES if form.startswith(d) and form[len(d) : len(d) + 1] in ("", " ")), "")
    twin = day.replace("%d", "%0").replace("%m", "%d").replace("%0", "%m")
    if tuple(sorted((day, twin))) not in pair:
        return form, ""
    here, there = _by(rest, form), _by(rest, swapped)
    if here.null_count() < there.null_count():
        return form, ""
    if here.null_count() > there.null_count():
        return swapped, ""
    names = {form: _spelt(form), swapped: _spelt(swapped)}
    if dayfirst is not None:
        return (form if form.startswith("%d") == dayfirst else swapped), ""
    if len(here) > 2 and here.is_sorted() != there.is_sorted():
        best = form if here.is_sorted() else swapped
        return best, f"day and month could be either; {names[best]}, since the rows are then in order of time"
    sign = day[2]
    first = EITHER[sign][0][:2]
    best = form if form.startswith(first) else swapped
    return best, f"day and month could be either; taken as {names[best]}, say dayfirst=... where that is wrong"


def _spelt(form: str) -> str:
    return form.replace("%d", "day").replace("%m", "month").replace("%Y", "year").replace("%y", "year").split(" %")[0]
