"""Columns that give the target away: whatever the order of the rows, and only where they do."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold.features import suspects


def mostly_zeros(rng: np.random.Generator, rows: int = 2000, columns: int = 30) -> pl.DataFrame:
    """Frequencies of words, most of them zero and somewhat different by class, with the rows sorted by class."""
    y = np.repeat([1, 0], [2 * rows // 5, rows - 2 * rows // 5])
    names = {}
    for j in range(columns):
        chance = rng.uniform(0.05, 0.4) * np.where(y == 1, rng.uniform(0.3, 1.3), 1.0)
        names[f"word_{j}"] = np.where(rng.random(rows) < chance, rng.exponential(0.5, rows).round(2), 0.0)
    return pl.DataFrame(names | {"class": y})


def test_no_alarm_on_a_table_sorted_by_class() -> None:
    frame = mostly_zeros(np.random.default_rng(0))
    assert suspects(frame, "class") == ()
    assert suspects(frame.sample(fraction=1.0, shuffle=True, seed=1), "class") == ()


@pytest.mark.parametrize("classes", [2, 5])
def test_leaks_are_detected_in_any_order(classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = 600
    y = np.sort(rng.integers(0, classes, rows))
    frame = mostly_zeros(rng, rows, 3).drop("class")
    frame = frame.with_columns(
        y=y,
        copy=y * 10,
        noisy=np.exp(y + 0.01 * rng.standard_normal(rows)),
        key=np.arange(1000, 1000 + rows),
        mostly=np.where(rng.random(rows) < 0.02, rng.integers(0, classes, rows), y),
        gaps=np.where(y == 0, np.nan, rng.standard_normal(rows)) if classes == 2 else y,
    )
    for table in (frame, frame.sample(fraction=1.0, shuffle=True, seed=1)):
        result = {suspect.column: suspect.severity for suspect in suspects(table, "y")}
        assert result.pop("mostly") == "strong"
        # the key is wrong by a half at each border of two classes
        assert result.pop("key") in ("leak", "strong")
        assert result == {"copy": "leak", "noisy": "leak", "gaps": "leak"}


def test_requested_task_decides_what_is_measured() -> None:
    y = np.repeat([10, 20, 40, 80], 30)
    frame = pl.DataFrame({"copy": y + 0.5})
    assert "of the variance" in suspects(frame, y)[0].sentence
    assert "of the errors" in suspects(frame, y, task="multiclass")[0].sentence
    assert "of the errors" in suspects(frame.with_columns(y=y), "y", task="classification")[0].sentence


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(5, 120),
    levels=st.integers(1, 12),
    number=st.booleans(),
    copied=st.floats(0.0, 1.0),
)
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_rows_changes_nothing(seed: int, rows: int, levels: int, number: bool, copied: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(rows) if number else rng.integers(0, 3, rows)
    y[:3] = (0, 1, 2)
    drawn = rng.integers(0, levels, rows).astype(float)
    frame = pl.DataFrame(
        {
            "drawn": drawn,
            "partly": np.where(rng.random(rows) < copied, y, drawn),
            "gaps": np.where(rng.random(rows) < 0.2, np.nan, y + drawn),
            "words": [f"level {int(value)}" for value in np.where(rng.random(rows) < copied, y, drawn)],
        }
    )
    order = rng.permutation(rows)
    assert suspects(frame, y) == suspects(frame[order], y[order])
    by_target = np.argsort(y, kind="stable")
    assert suspects(frame, y) == suspects(frame[by_target], y[by_target])
