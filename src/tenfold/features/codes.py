"""Identifiers made of digits: phone numbers, postcodes, account numbers; and dates written as 201312.

Codes have no order and no distance, and as numbers mislead linear models. Five digits in every row may be salaries or
postcodes, so below nine digits the column name decides:

- names that never denote quantities (phone, zip, postcode, iban, isbn ...) suffice for integers;
- general names of codes (code, number, nr, id ...) need a constant number of digits, five or more;
- without such a name there must be nine or more digits, always as many, nearly all distinct, and the largest more than
  three times the smallest, which excludes timestamps in seconds or milliseconds since 1970.

Leading zeros and a plus before many digits, which quantities do not have, are recognised when a file is read.
"""

import re

from tenfold.features.frames import pl

CERTAIN = {
    "phone", "telephone", "phonenumber", "fax", "zip", "zipcode", "postcode", "postalcode", "plz", "iban", "ssn",
    "isbn", "ean", "upc", "gtin", "barcode", "imei", "fips",
}  # fmt: skip
LIKELY = {"code", "number", "num", "no", "nr", "id", "key", "ref", "reference"}
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
PHONE = r"^\+\d[\d\s()./-]{6,}$"
CODE = r"^[A-Z0-9][A-Z0-9\s()./-]*[A-Z0-9]$"
MIN_DIGITS, MANY_DIGITS = 5, 9  # of a code by its name, and of one by its values alone
SPREAD = 3.0  # ratio of the largest value to the smallest from which equally long numbers are not a measurement
NEARLY_ALL = 0.95  # fraction of distinct values of a key
MIN_DATES = 6  # distinct values: as many random integers are all valid dates with probability below 1e-5


def code_likeness(name: str) -> int:
    """Whether a column name denotes a code: 2 certainly, 1 likely, 0 not."""
    words = [word.lower() for word in WORDS.findall(name)]
    likely = False
    while words and words[-1] in LIKELY:
        words.pop()
        likely = True
    if words and (words[-1] in CERTAIN or "".join(words[-2:]) in CERTAIN or (words[-1] == "postal" and likely)):
        return 2
    return int(likely)


def whole_number_code(name: str, low: int, high: int, distinct: int, given: int) -> str:
    """The reason why integers from `low` to `high` are codes; empty where they are not."""
    digits = len(str(high))
    constant = low > 0 and len(str(low)) == digits
    likeness = code_likeness(name)
    if likeness == 2 and low >= 0 and digits >= MIN_DIGITS - 1:
        return "digits, not amounts, by the name of the column"
    if likeness == 1 and constant and digits >= MIN_DIGITS:
        return f"{digits} digits in every row, and named like a code"
    if constant and digits >= MANY_DIGITS and distinct > NEARLY_ALL * given and high > SPREAD * low:
        return f"{digits} digits in every row, nearly all different"
    return ""


def date_format(series: pl.Series, low: int, high: int) -> str:
    """The format of integers that are dates, such as 20131231 or 201312; empty where they are not."""
    months, days = 1900_01 <= low <= high <= 2100_12, 1900_01_01 <= low <= high <= 2100_12_31
    if not months and not days:
        return ""
    values = series.drop_nulls().unique()
    if len(values) < MIN_DATES:
        return ""
    if months:
        return "%Y%m" if (values % 100).is_between(1, 12).all() else ""
    return "" if values.cast(pl.String).str.to_date("%Y%m%d", strict=False).null_count() else "%Y%m%d"


def text_code(name: str, values: pl.Series) -> str:
    """The reason why distinct texts are codes; empty where they are not."""
    if values.str.contains(PHONE).all():
        return "digits behind a plus, as of phone numbers"
    if code_likeness(name) == 2 and values.str.contains(r"^[+(]?\d[\d\s()./-]*$").all():
        return "digits, not amounts, by the name of the column"
    capitals = values.str.contains(CODE).all() and values.str.contains("[A-Z]").all()
    if capitals and values.str.contains(r"\s").any() and (values.str.count_matches(r"\d") >= MIN_DIGITS).all():
        return "capital letters and digits"
    return ""
