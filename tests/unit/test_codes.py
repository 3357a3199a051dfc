"""Digits that are codes, and digits that are amounts."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenfold import TableEncoder, read_table
from tenfold.features import infer_schema
from tenfold.features.codes import code_likeness

rng = np.random.default_rng(0)
ROWS = 300
PHONES = rng.integers(2_000_000_000, 9_999_999_999, ROWS)
FIVE = rng.integers(10_000, 99_999, ROWS)


def kind_of(name: str, values: object) -> str:
    return infer_schema(pl.DataFrame({name: values}))[name].kind


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("phone", PHONES, "identifier"),
        ("Home Phone Number", rng.choice(PHONES[:50], ROWS), "category"),
        ("x", PHONES, "identifier"),
        ("x", [f"+49 170 {n % 1000:03d} {n % 9000 + 1000}" for n in PHONES], "identifier"),
        ("x", [f"{n % 900 + 100}-{n % 9000 + 1000}" for n in PHONES], "identifier"),
        ("zip", rng.choice(FIVE[:40], ROWS), "category"),
        ("ZipCode", rng.choice([501, 1234, 90210, 94103], ROWS), "category"),
        ("postal_code", [f"{n:05d}" for n in rng.integers(1, 99, ROWS)], "category"),
        ("plz", rng.choice(["10 115", "10 117", "80 331"], ROWS), "category"),
        ("product_code", rng.choice(FIVE[:40], ROWS), "category"),
        (
            "iban",
            [f"DE{n % 90 + 10} {n % 9000 + 1000} {n % 8999 + 1000} {n % 7999 + 1000}" for n in PHONES],
            "identifier",
        ),
        (
            "account",
            [f"DE{n % 90 + 10} {n % 9000 + 1000} {n % 8999 + 1000} {n % 7999 + 1000}" for n in PHONES],
            "identifier",
        ),
        ("month", [201300 + 100 * (i // 12) + i % 12 + 1 for i in range(60)], "date"),
        ("day", [20_130_100 + i % 31 + 1 for i in range(60)], "date"),
        # amounts
        ("salary", FIVE, "number"),
        ("population", FIVE, "number"),
        ("code_lines", FIVE, "number"),
        ("zip_count", FIVE, "number"),
        ("number_of_phones", FIVE, "number"),
        ("product_code", rng.integers(1, 99_999, ROWS), "number"),
        ("grade_code", rng.integers(1, 9, ROWS), "number"),
        ("seconds", rng.integers(1_300_000_000, 1_700_000_000, ROWS), "number"),
        ("bytes", (10 ** rng.uniform(6, 11, ROWS)).astype(int), "number"),
        ("balance", rng.integers(-999_999_999, 999_999_999, ROWS), "number"),
        ("price", rng.integers(200_000, 209_999, ROWS), "number"),
    ],
)
def test_kinds(name: str, values: object, expected: str) -> None:
    assert kind_of(name, values) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("phone", 2), ("PhoneNumber", 2), ("tel_no", 1), ("zipCode", 2), ("ZIP", 2), ("zip_5", 0), ("postal code", 2),
        ("customer_id", 1), ("ean", 2), ("ocean", 0), ("mean", 0), ("number of rooms", 0), ("", 0), ("42", 0),
    ],
)  # fmt: skip
def test_names(name: str, expected: int) -> None:
    assert code_likeness(name) == expected


def test_a_plus_before_many_digits_is_read_as_text() -> None:
    text = "tel,gain\n" + "\n".join(f"+49170{i:07d},+{i}" for i in range(30))
    reading = read_table(io.BytesIO(text.encode()))
    assert reading.frame.schema == {"tel": pl.String, "gain": pl.Int64}
    assert "tel: kept as text, because of a plus before many digits such as '+491700000000'" in map(
        str, reading.decisions
    )
    assert infer_schema(reading.frame)["tel"].kind == "identifier"


def test_declared_numbers_stay_numbers() -> None:
    schema = infer_schema(pl.DataFrame({"zip": FIVE}), types={"zip": "number"})
    assert schema["zip"].kind == "number"
    assert "where they are amounts, say --type zip=number" in infer_schema(pl.DataFrame({"zip": FIVE}))["zip"].reason


def test_months_as_whole_numbers_are_encoded_as_dates() -> None:
    months = [201300 + 100 * (i // 12) + i % 12 + 1 for i in range(24)]
    encoder = TableEncoder().fit(pl.DataFrame({"m": months}))
    names = encoder.get_feature_names_out().tolist()
    assert names[:2] == ["m.year", "m.month"]
    # as floats, because a value is missing
    encoded = encoder.transform(pl.DataFrame({"m": [201302.0, None]}))
    assert encoded[0, :2].tolist() == [2013, 2]


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=60), st.sampled_from(["x", "code", "amount"]))
@settings(max_examples=100, deadline=None)
def test_whole_numbers_of_different_lengths_are_amounts(values: list[int], name: str) -> None:
    assume(len({len(str(value)) for value in values}) > 1)
    assert kind_of(name, values) == "number"
