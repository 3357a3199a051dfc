"""What the columns of a table are."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from tenfold.features import Schema, TableError, infer_schema
from tenfold.features.dtypes import cast_columns

ROWS = 40
RNG = np.random.default_rng(0)


def kind(values, **how):
    return infer_schema(pl.DataFrame({"c": values}), **how)["c"]


def values_of(values, **how):
    frame = pl.DataFrame({"c": values})
    return cast_columns(frame, infer_schema(frame, **how).columns)["c"].to_list()


KINDS = {
    "numbers": (RNG.standard_normal(ROWS), "number"),
    "codes": ([1, 2, 3, 1] * 10, "number"),
    "years": (list(range(1990, 1990 + ROWS)), "number"),
    "row numbers": (list(range(1, ROWS + 1)), "identifier"),
    "uuids": ([f"{i:08x}-0000-4000-8000-{i * 7:012x}" for i in range(ROWS)], "identifier"),
    "people": ([f"Mr. Number {i}" for i in range(ROWS)], "text"),
    "colours": (["red", "green", "blue", "red"] * 10, "category"),
    "truths": (["yes", "No", None, "yes"] * 10, "boolean"),
    "booleans": ([True, False, None, True] * 10, "boolean"),
    "constant": ([3.0] * ROWS, "constant"),
    "constant or missing": ([None, "x"] * 20, "category"),
    "empty": (pl.Series([None] * ROWS, dtype=pl.Float64), "empty"),
    "null": ([None] * ROWS, "empty"),
    "texts": ([f"This is the story number {i} of a very long series" for i in range(ROWS)], "text"),
    "dates": ([dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(ROWS)], "date"),
    "lists": ([[1, 2]] * ROWS, "nested"),
    "codes with zeros": (["007", "008", "009", "010"] * 10, "category"),
    "spans": ([dt.timedelta(hours=i) for i in range(ROWS)], "number"),
    "hours": ([dt.time(i % 24) for i in range(ROWS)], "number"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(name):
    values, expected = KINDS[name]
    result = kind(values)
    assert result.kind == expected, result
    assert result.reason


def test_a_key_by_its_name():
    rng = np.random.default_rng(1)
    numbers = rng.permutation(10 * np.arange(ROWS) + 5)
    frame = pl.DataFrame({"customer_id": numbers, "amount": numbers})
    assert [c.kind for c in infer_schema(frame).columns] == ["identifier", "number"]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,234.5", "12"], [1234.5, 12.0]),
        (["12 %", "7.5%"], [12.0, 7.5]),
        (["$3", "$1,200.50"], [3.0, 1200.5]),
        (["1.234,50 €", "3 €"], [1234.5, 3.0]),
        (["1 234", "-5"], [1234.0, -5.0]),
        (["1e3", "2.5"], [1000.0, 2.5]),
        (["1'000", "20"], [1000.0, 20.0]),
        (["- $5", "$6"], [-5.0, 6.0]),
    ],
)
def test_numbers_written_as_text(texts, numbers):
    assert kind(texts).kind == "number"
    assert values_of(texts) == numbers


@pytest.mark.parametrize(
    "texts", [["12 %", "7"], ["555-1234", "555-1235"], ["1.2.3", "1.2.4"], ["3 kg", "4 kg"], ["007", "8"]]
)
def test_what_is_no_number(texts):
    assert kind(texts).kind == "category"


DATES = {
    "iso": (["2013-01-05", "2014-12-31"], [(2013, 1, 5), (2014, 12, 31)]),
    "iso with time": (["2013-01-05T10:30:00", "2014-12-31 00:00:01"], [(2013, 1, 5, 10, 30), (2014, 12, 31, 0, 0, 1)]),
    "zulu": (["2013-01-01T10:00:00Z", "2013-01-01T10:00:00.5+02:00"], [(2013, 1, 1, 10), (2013, 1, 1, 8)]),
    "german": (["31.12.2012", "1.2.2013"], [(2012, 12, 31), (2013, 2, 1)]),
    "german, short": (["31.12.12", "1.2.13"], [(2012, 12, 31), (2013, 2, 1)]),
    "american": (["12/31/2012", "2/1/2013"], [(2012, 12, 31), (2013, 2, 1)]),
    "british": (["31/12/2012", "1/2/2013"], [(2012, 12, 31), (2013, 2, 1)]),
    "names": (["Jan 5, 2013", "Dec 31, 2014"], [(2013, 1, 5), (2014, 12, 31)]),
    "long names": (["5 January 2013", "31 December 2014"], [(2013, 1, 5), (2014, 12, 31)]),
    "noon": (["1/15/2013 12:05 PM", "1/16/2013 12:05 AM"], [(2013, 1, 15, 12, 5), (2013, 1, 16, 0, 5)]),
    "several": (["2013-01-05", "16.1.2013", "Jan 7, 2013"], [(2013, 1, 5), (2013, 1, 16), (2013, 1, 7)]),
    "months": (["2013-01", "2013-12"], [(2013, 1, 1), (2013, 12, 1)]),
}


@pytest.mark.parametrize("name", DATES)
def test_dates(name):
    texts, moments = DATES[name]
    result = kind(texts)
    assert result.kind == "date", result
    assert "either" not in result.reason
    assert values_of(texts) == [dt.datetime(*m) for m in moments]


def test_day_and_month_that_could_be_either():
    texts = ["3/4/2013", "5/1/2013"]
    result = kind(texts)
    assert "day and month could be either" in result.reason
    assert "dayfirst=" in result.reason
    assert values_of(texts)[0] == dt.datetime(2013, 3, 4)
    assert values_of(texts, dayfirst=True)[0] == dt.datetime(2013, 4, 3)
    assert "either" not in kind(texts, dayfirst=True).reason
    # all rows decide: one of them has a 13th, or only one reading is in order
    assert values_of([*texts, "13/1/2013"])[0] == dt.datetime(2013, 4, 3)
    ordered = ["1/2/2013", "2/2/2013", "1/3/2013"]
    assert values_of(ordered)[0] == dt.datetime(2013, 2, 1)
    assert "in order of time" in kind(ordered).reason


def test_nearly_numbers_are_pointed_out():
    texts = [str(i % 9) for i in range(ROWS)]
    texts[6] = "n.d."
    result = kind(texts)
    assert result.kind == "category"
    assert "nearly all are numbers, but 'n.d.' in row 7 is not" in result.reason


def test_declared_kinds():
    assert kind([1, 2, 3], types={"c": "category"}).kind == "category"
    assert kind(["S", "L"], ordinal={"c": ["S", "M", "L"]}).levels == ("S", "M", "L")
    assert values_of(["20130105"], types={"c": "date"}) == [dt.datetime(2013, 1, 5)]
    with pytest.raises(TableError, match="'d' that the table does not have"):
        kind([1], types={"d": "number"})
    with pytest.raises(ValueError, match="cannot be 'real'"):
        kind([1], types={"c": "real"})
    with pytest.raises(ValueError, match="two or more different levels"):
        kind(["a"], ordinal={"c": "ab"})
    with pytest.raises(ValueError, match="in types and in ordinal"):
        kind(["a"], types={"c": "text"}, ordinal={"c": ["a", "b"]})
    with pytest.raises(TableError, match="column 'c': declared as dates, but no format reads all"):
        kind(["soon"], types={"c": "date"})


def test_a_schema_is_plain_and_can_be_declared():
    frame = pl.DataFrame({"d": ["1/2/2013", "13/2/2013"], "n": ["$1", "$2"], "s": ["S", "L"]})
    schema = infer_schema(frame, ordinal={"s": ["S", "L"]})
    assert Schema.from_plain(schema.plain()) == Schema.from_text(schema.text()) == schema
    assert list(schema) == ["d", "n", "s"]
    assert schema.of("date", "ordinal") == ["d", "s"]
    first = frame.head(1)  # alone it could be either
    assert infer_schema(first, types=schema)["d"].formats == schema["d"].formats
    assert infer_schema(first, types=schema.text())["n"].numerals == ("", ".", "$")
    assert "day/month/year" in str(schema)
