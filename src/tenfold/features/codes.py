"""Digits that are no amounts: phone numbers, postcodes, account numbers, months written as 201312.

Codes have no order and no distance: as numbers they mislead every linear model. But five digits in every row may be
salaries as well as postcodes, so that digits alone are not enough below nine of them:

- names of things that are never amounts (phone, zip, postcode, iban, isbn ...) suffice for whole numbers;
- names that say "code" in general (code, number, nr, id ...) need as many digits, five or more, in every row;
- without such a name there must be nine or more digits, always as many, nearly all different, and the highest more than
  three times the lowest: times in seconds or milliseconds since 1970 are not spread like that.

Signs that amounts do not have, leading zeros and a plus before many digits, are seen when a file is read.
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
FEWEST_DIGITS, MANY_DIGITS, SPREAD = 5, 9, 3.0
NEARLY_ALL = 0.95
FEWEST_DATES = 6  # so many different amounts are all days or months with a chance below 1e-5


def resemblance(name: str) -> int:
    """How much a name is that of a code: 2 certainly, 1 likely, 0 not."""
    words = [word.lower() for word in WORDS.findall(name)]
    likely = False
    while words and words[-1] in LIKELY:
        words.pop()
        likely = True
    if words and (words[-1] in CERTAIN or "".join(words[-2:]) in CERTAIN or (words[-1] == "postal" and likely)):
        return 2
    return int(likely)


def whole_number_code(name: str, low: int, high: int, distinct: int, given: int) -> str:
    """Why whole numbers from `low` to `high` are codes; empty where they are not."""
    digits = len(str(high))
    constant = low > 0 and len(str(low)) == digits
    named = resemblance(name)
    if named == 2 and low >= 0 and digits >= FEWEST_DIGITS - 1:
        return "digits, not amounts, by the name of the column"
    if named == 1 and constant and digits >= FEWEST_DIGITS:
        return f"{digits} digits in every row, and named like a code"
    if constant and digits >= MANY_DIGITS and distinct > NEARLY_ALL * given and high > SPREAD * low:
        return f"{digits} digits in every row, nearly all different"
    return ""


def date_format(series: pl.Series, low: int, high: int) -> str:
    """The format of whole numbers that are days or months, such as 20131231 or 201312; empty where they are not."""
    months, days = 1900_01 <= low <= high <= 2100_12, 1900_01_01 <= low <= high <= 2100_12_31
    if not months and not days:
        return ""
    values = series.drop_nulls().unique()
    if len(values) < FEWEST_DATES:
        return ""
    if months:
        return "%Y%m" if (values % 100).is_between(1, 12).all() else ""
    return "" if values.cast(pl.String).str.to_date("%Y%m%d", strict=False).null_count() else "%Y%m%d"


def text_code(name: str, values: pl.Series) -> str:
    """Why different texts are codes, however they look like numbers or words; empty where they are not."""
    if values.str.contains(PHONE).all():
        return "digits behind a plus, as of phone numbers"
    if resemblance(name) == 2 and values.str.contains(r"^[+(]?\d[\d\s()./-]*$").all():
        return "digits, not amounts, by the name of the column"
    capitals = values.str.contains(CODE).all() and values.str.contains("[A-Z]").all()
    if capitals and values.str.contains(r"\s").any() and (values.str.count_matches(r"\d") >= FEWEST_DIGITS).all():
        return "capital letters and digits"
    return ""
