"""What a cell of text says: nothing, a number, a code or a word. `tenfold.rows` and `read_table` go by these rules.

Regular expressions are strings that polars understands as well.
"""

import re
from collections.abc import Iterable

MISSING = frozenset({"", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "null", "NULL", "None", "none"}) | {
    *("nan", "NaN", "NAN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "-"),
}
"""Words that stand for nothing, with blanks around them removed."""

COMMA_NUMBER = r"^[+-]?(([1-9][0-9]{0,2}(\.[0-9]{3})+|[0-9]+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number with a decimal comma, and perhaps with points between thousands."""

NOT_FINITE = r"^[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])$"
WHOLE = r"^[+-]?[0-9]+$"
LEADING_ZERO = r"^0[0-9]"
LONG_PLUS = r"^\+[0-9]{7,}$"
"""A plus before many digits, as in numbers of telephones."""

_comma_number, _not_finite, _whole, _leading_zero, _long_plus = map(
    re.compile, (COMMA_NUMBER, NOT_FINITE, WHOLE, LEADING_ZERO, LONG_PLUS)
)


def number_of(word: str, decimal: str = ".") -> float | None:
    """What a word stands for as a number; None where it is none."""
    if not word.isascii() or "_" in word:
        return None
    if decimal == ",":
        if _comma_number.match(word):
            word = word.replace(".", "").replace(",", ".")
        elif not _not_finite.match(word):
            return None
    try:
        return float(word)
    except ValueError:
        return None


def in_64_bits(word: str) -> bool:
    """Whether a word is a whole number of 64 bits."""
    return _whole.match(word) is not None and -(1 << 63) <= int(word) < 1 << 63


def are_codes(words: Iterable[str]) -> bool:
    """Whether a column of these words is codes and not amounts.

    They are digits throughout, and some begin with a zero, are beyond 64 bits, or have a plus before many digits where
    none has a minus.
    """
    words = list(words)
    if not all(map(_whole.match, words)):
        return False
    if any(map(_leading_zero.match, words)) or not all(map(in_64_bits, words)):
        return True
    return any(map(_long_plus.match, words)) and not any(word.startswith("-") for word in words)
