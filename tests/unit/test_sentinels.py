"""Numbers that stand for missing values: named where they are, replaced where that is asked for."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import Ridge, TableEncoder, check_table, read_table
from tenfold.features import TableError, find_sentinels, infer_schema, profile

rng = np.random.default_rng(0)
ROWS = 200
POSITIVE, ANY_SIGN = rng.gamma(2.0, 10.0, ROWS).round(2), (50 * rng.standard_normal(ROWS)).round(2)
COUNTS = rng.poisson(4.0, ROWS)


def with_value(values, *places) -> pl.DataFrame:
    values = values.astype(float)
    for first, value in enumerate(places):
        values[first :: 8 * len(places)] = value
    return pl.DataFrame({"x": values})


NAMED = {
    "-999 among positive numbers": (POSITIVE, [-999]),
    "-999 among any": (ANY_SIGN, [-999]),
    "-99 and -999": (POSITIVE, [-999, -99]),
    "999 for days": (COUNTS, [999]),
    "97, 98 and 99 of a survey": (COUNTS, [97, 98, 99]),
    "-1 of counts": (COUNTS, [-1]),
    "well logs": (ANY_SIGN, [-999.25]),
    "a fill value": (ANY_SIGN, [1e30]),
    "largest integer": (COUNTS, [2147483647]),
    "both ends": (POSITIVE, [-9999, 99999]),
}


@pytest.mark.parametrize("name", NAMED)
def test_named(name: str) -> None:
    values, sentinels = NAMED[name]
    frame = with_value(values, *sentinels)
    (result,) = find_sentinels(frame)
    assert result.column == "x"
    option = ",".join(f"{value:.10g}" for value in sorted(sentinels))
    assert result.sentence.endswith(f"--missing x={option}")
    assert find_sentinels(read_table(frame, missing={"x": sentinels})) == []


NOT_NAMED = {
    "plain numbers": (ANY_SIGN, []),
    "99 among numbers up to 98": (rng.integers(0, 99, ROWS), [99]),
    "9999 among larger ones": (rng.integers(0, 20_000, ROWS), [9999]),
    "-1, 0 and 1": (rng.integers(-1, 2, ROWS), []),
    "clipped at -1": (np.clip(rng.standard_normal(ROWS), -1, 1), []),
    "an outlier that comes once": (np.append(POSITIVE, 999.0), []),
    "a common value that is no sentinel": (POSITIVE, [-250]),
}


@pytest.mark.parametrize("name", NOT_NAMED)
def test_not_named(name: str) -> None:
    values, sentinels = NOT_NAMED[name]
    assert find_sentinels(with_value(values, *sentinels)) == []


@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([-999.0, -1.0, 99.0, 1e30]), min_size=1, max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_order_gives_the_same_sentence(values: list[float]) -> None:
    frame = pl.DataFrame({"x": values})
    result = find_sentinels(frame, types={"x": "number"})
    assert result == find_sentinels(frame.reverse(), types={"x": "number"})
    assert result == find_sentinels(frame.sort("x"), types={"x": "number"})


def test_the_schema_remembers_missing_values(tmp_path) -> None:
    table = with_value(POSITIVE, -999).with_columns(c=pl.Series(["a", "unknown"] * (ROWS // 2)))
    clean = table.with_columns(x=pl.when(pl.col("x") == -999).then(None).otherwise("x"))
    schema = infer_schema(table, missing={"x": [-999]})
    assert schema["x"].missing == clean["x"].null_count() == 25
    encoder = TableEncoder(types=schema.text())
    np.testing.assert_array_equal(encoder.fit_transform(table), TableEncoder().fit_transform(clean))
    model = make_pipeline(encoder, Ridge()).fit(table, POSITIVE)
    tenfold.save(model, tmp_path / "model.tenfold")
    np.testing.assert_array_equal(tenfold.load(tmp_path / "model.tenfold").predict(clean), model.predict(table))
    for against in (profile(table, types=schema), model):
        assert check_table(table, against).ok
        assert check_table(clean, against).ok
    words = read_table(table, missing={"c": ["unknown"]})
    assert words.frame["c"].null_count() == ROWS // 2
    assert str(words.decisions[-1]) == "c: 100 values unknown taken as missing, as asked"


def test_columns_that_are_not_there() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3]})
    with pytest.raises(TableError, match="missing values are given of a column 'z'"):
        read_table(frame, missing={"z": [1]})
    with pytest.raises(TableError, match="missing names a column 'z'"):
        infer_schema(frame, missing={"z": [1]})
