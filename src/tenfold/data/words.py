"""Cells of text: which are missing values, numbers, codes or words. `tenfold.rows` and `read_table` share these rules.

Regular expressions are strings that polars understands as well.
"""

import re
from collections.abc import Iterable

# words that stand for a missing value, without surrounding blanks
MISSING = frozenset({"", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "null", "NULL", "None", "none"}) | {
    *("nan", "NaN", "NAN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "-"),
}

# a number with a decimal comma, optionally with points between thousands
COMMA_NUMBER = r"^[+-]?(([1-9][0-9]{0,2}(\.[0-9]{3})+|[0-9]+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?$"

NOT_FINITE = r"^[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])$"
WHOLE = r"^[+-]?[0-9]+$"
LEADING_ZERO = r"^0[0-9]"
LONG_PLUS = r"^\+[0-9]{7,}$"  # a plus before many digits, as in telephone numbers

_comma_number, _not_finite, _whole, _leading_zero, _long_plus = map(
    re.compile, (COMMA_NUMBER, NOT_FINITE, WHOLE, LEADING_ZERO, LONG_PLUS)
)


def number_of(word: str, decimal: str = ".") -> float | None:
    """The value of a word; None where it is not a number."""
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
    """Whether a word is an integer of 64 bits."""
    return _whole.match(word) is not None and -(1 << 63) <= int(word) < 1 << 63


def are_codes(words: Iterable[str]) -> bool:
    """Whether a column of these words holds identifiers and not quantities.

    All are integers, and some begin with a zero, exceed 64 bits, or have a plus before many digits where none has a
    minus.
    """
    words = list(words)
    if not all(map(_whole.match, words)):
        return False
    if any(map(_leading_zero.match, words)) or not all(map(in_64_bits, words)):
        return True
    return any(map(_long_plus.match, words)) and not any(word.startswith("-") for word in words)
