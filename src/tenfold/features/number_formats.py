"""Numbers in text: "1,234.5", "12 %", "$3", "1.234,50 €"."""

from dataclasses import dataclass

from tenfold.features.frames import pl

SIGNS = "$€£¥%"
PLAIN = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
STYLES = {
    # thousands, decimal: what the numbers look like then
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
class Numerals:
    """How numbers are written: the sign between thousands, the decimal sign, a unit before or behind."""

    thousands: str = ""
    decimal: str = "."
    unit: str = ""


def numerals_of(values: pl.Series) -> Numerals | None:
    """How all of these (distinct, not missing) values are written as numbers; None where some are not."""
    unit = _unit(values[0])
    bare = _bare(values, unit)
    if bare.null_count() or (bare.str.starts_with("0") & bare.str.contains(r"^0\d+$")).any():
        return None  # leading zeros are codes
    for (thousands, decimal), look in STYLES.items():
        if bare.str.contains(look).all():
            return Numerals(thousands, decimal, unit)
    return None


def numbers_of(values: pl.Series, how: Numerals) -> pl.Series:
    """Numbers; null where a value is not written like that."""
    bare = _bare(values, how.unit)
    look = STYLES[how.thousands, how.decimal]
    alike = bare.str.contains(look)
    if how.decimal == ".":  # a plain number is read however the others are written
        alike |= bare.str.contains(PLAIN)
    bare = bare.set(~alike.fill_null(False), None) if not alike.all() else bare
    if how.thousands:
        bare = bare.str.replace_all(BLANKS[how.thousands], "")
    if how.decimal == ",":
        bare = bare.str.replace(",", ".", literal=True)
    return bare.cast(pl.Float64, strict=False)


def _unit(value: str) -> str:
    return next((sign for sign in SIGNS if sign in value), "")


def _bare(values: pl.Series, unit: str) -> pl.Series:
    """Without the unit; null where a value has another one, or none at all."""
    text = values.str.strip_chars()
    if not unit:
        return text
    has = text.str.contains(unit, literal=True)
    text = text.str.replace(unit, "", literal=True).str.replace(r"^([+-])\s+", "${1}").str.strip_chars()
    return text.set(~has.fill_null(False), None) if not has.all() else text
