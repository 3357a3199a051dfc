"""Numbers in text: "1,234.5", "12 %", "$3", "1.234,50 €"."""

from dataclasses import dataclass

from tenfold.features.frames import pl

SIGNS = "$€£¥%"
PLAIN = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
STYLES = {
    # (thousands separator, decimal sign): pattern
    ("", "."): PLAIN,
    (",", "."): r"^[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?$",
    (" ", "."): r"^[+-]?(\d{1,3}([ \u{a0}\u{202f}]\d{3})+|\d+)(\.\d*)?$",
    ("'", "."): r"^[+-]?(\d{1,3}(['’]\d{3})+|\d+)(\.\d*)?$",
    ("", ","): r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$",
    (".", ","): r"^[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?$",
    (" ", ","): r"^[+-]?(\d{1,3}([ \u{a0}\u{202f}]\d{3})+|\d+)(,\d*)?$",
}
BLANKS = {" ": r"[ \u{a0}\u{202f}]", "'": "['’]", ",": ",", ".": r"\."}


@dataclass(frozen=True)
class NumberFormat:
    """A notation of numbers: thousands separator, decimal sign, and a unit before or after."""

    thousands: str = ""
    decimal: str = "."
    unit: str = ""


def find_number_format(values: pl.Series) -> NumberFormat | None:
    """The notation of all of these distinct values; None where some are not numbers."""
    unit = _find_unit(values[0])
    bare = _strip_unit(values, unit)
    if bare.null_count() or (bare.str.starts_with("0") & bare.str.contains(r"^0\d+$")).any():
        return None  # leading zeros are codes
    for (thousands, decimal), pattern in STYLES.items():
        if bare.str.contains(pattern).all():
            return NumberFormat(thousands, decimal, unit)
    return None


def parse_numbers(values: pl.Series, how: NumberFormat) -> pl.Series:
    """Parse numbers; null where a value has another notation."""
    bare = _strip_unit(values, how.unit)
    pattern = STYLES[how.thousands, how.decimal]
    matches = bare.str.contains(pattern)
    if how.decimal == ".":  # plain numbers are valid in every notation with a decimal point
        matches |= bare.str.contains(PLAIN)
    bare = bare.set(~matches.fill_null(False), None) if not matches.all() else bare
    if how.thousands:
        bare = bare.str.replace_all(BLANKS[how.thousands], "")
    if how.decimal == ",":
        bare = bare.str.replace(",", ".", literal=True)
    return bare.cast(pl.Float64, strict=False)


def _find_unit(value: str) -> str:
    return next((sign for sign in SIGNS if sign in value), "")


def _strip_unit(values: pl.Series, unit: str) -> pl.Series:
    """The values without the unit; null where a value lacks it."""
    text = values.str.strip_chars()
    if not unit:
        return text
    has = text.str.contains(unit, literal=True)
    text = text.str.replace(unit, "", literal=True).str.replace(r"^([+-])\s+", "${1}").str.strip_chars()
    return text.set(~has.fill_null(False), None) if not has.all() else text
