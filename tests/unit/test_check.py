"""Unit tests for data: what is pointed out, what is not, and how often by mistake."""

import json
import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
from sklearn.pipeline import make_pipeline

from tenfold import Ridge, TableEncoder, check_table
from tenfold.features import Finding, TableError, infer_task, profile, split_target, suspects


def table(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": rng.standard_normal(rows),
            "n": rng.integers(0, 6, rows),
            "c": rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]),
            "m": [None if u < 0.1 else float(u) for u in rng.random(rows)],
            "d": [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in rng.integers(0, 300, rows)],
        }
    )


def about(check):
    return {(f.severity, f.column, f.about) for f in check.findings}


def test_a_table_is_like_itself_and_like_another_sample():
    old = table()
    assert check_table(old, old).ok
    assert check_table(old, old).findings == ()
    assert check_table(table(300, seed=1), old).ok
    assert "false alarm" in str(check_table(old, old))


def test_false_alarms_are_as_rare_as_promised():
    """Pairs of samples of one source: at level 0.1 at most 0.1 of them may be pointed out, and a few more by chance."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(100):
        a, b = (pl.DataFrame({"x": rng.standard_normal(80), "c": rng.choice(["u", "v"], 80)}) for _ in range(2))
        check = check_table(b, a, level=0.1)
        alarms += any(f.p_value is not None for f in check.findings)
    assert scipy.stats.binom.sf(alarms - 1, 100, 0.1) > 0.01


@pytest.mark.parametrize("how", ["frame", "profile", "json"])
def test_what_is_pointed_out(how):
    old = table()
    against = {"frame": old, "profile": profile(old), "json": json.dumps(profile(old))}[how]
    shifted = check_table(table(seed=1).with_columns(pl.col("x") + 1), against)
    assert ("warning", "x", "drift") in about(shifted)
    assert not shifted.ok
    assert ("warning", "x", "range") in about(check_table(old.with_columns(x=pl.Series([99.0] + [0.1] * 399)), against))
    levels = check_table(old.with_columns(c=pl.Series(["z", *old["c"].to_list()[1:]])), against)
    assert about(levels) == {("warning", "c", "levels")}
    assert "1 row has a level that is new: 'z' (1)" in str(levels)
    assert ("warning", "c", "drift") in about(check_table(old.with_columns(c=pl.lit("a")), against))
    assert ("warning", "m", "missing") in about(check_table(old.with_columns(m=None), against))
    late = old.with_columns(d=pl.lit("2031-05-05"))
    assert "up to 2031-05-05" in str(check_table(late, against))
    twice = check_table(pl.concat([old.head(200), old.head(200)]), against)
    assert ("warning", None, "duplicates") in about(twice)
    assert "50.0% of the rows come twice, 0.0% before" in str(twice)


def test_columns_and_types():
    old = table()
    assert about(check_table(old.rename({"c": "C"}), old)) == {("error", "c", "columns"), ("note", None, "columns")}
    assert check_table(old.select("c", "x", "n", "m", "d"), old).ok  # another order is a note
    assert about(check_table(old.select("c", "x", "n", "m", "d"), old)) == {("note", None, "columns")}
    wrong = check_table(old.with_columns(x=pl.Series(["1"] * 10 + ["old"] + ["2"] * 389)), old)
    assert ("error", "x", "types") in about(wrong)
    assert "row 11: 'old' is not a number" in str(wrong)
    assert wrong.findings[0].severity == "error"
    with pytest.raises(ValueError, match="level is a chance"):
        check_table(old, old, level=2)


def test_small_differences_that_are_sure_are_notes():
    rng = np.random.default_rng(0)
    old, new = (pl.DataFrame({"x": rng.standard_normal(60_000) + shift}) for shift in (0.0, 0.05))
    check = check_table(new, old)
    assert {f.severity for f in check.findings if f.about == "drift"} == {"note"}
    assert all(f.p_value < 0.01 for f in check.findings if f.about == "drift")


def test_drift_is_that_of_scipy():
    """Up to 200 different values, the profile has all of them, and the statistic is the two-sample one."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 50, 500), rng.integers(5, 55, 400)
    result = check_table(pl.DataFrame({"x": b}), pl.DataFrame({"x": a}))
    shift = scipy.stats.ks_2samp(a, b).statistic
    sentence = next(f.sentence for f in result.findings if f.about == "drift")
    assert f"differ by {shift:.2f}" in sentence


def test_an_encoder_remembers_kinds_levels_and_missing_values():
    old, rng = table(), np.random.default_rng(0)
    encoder = TableEncoder().fit(old)
    assert check_table(table(seed=2), encoder).ok
    new = old.with_columns(c=pl.Series(["z"] * 400), m=None)
    assert about(check_table(new, encoder)) == {("warning", "c", "levels"), ("warning", "m", "missing")}
    model = make_pipeline(TableEncoder(), Ridge()).fit(old, rng.standard_normal(400))
    assert ("error", "x", "columns") in about(check_table(old.drop("x"), model))


def test_profiles_are_plain():
    result = profile(table())
    assert json.loads(json.dumps(result)) == result
    assert result["rows"] == 400
    assert result["columns"]["m"]["missing"] == table()["m"].null_count()
    assert str(Finding("note", None, "columns", "x")) == "note: x"


def test_columns_that_give_the_target_away():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(500)
    frame = pl.DataFrame(
        {
            "y": y,
            "copy": -3 * y + 7,
            "curve": np.exp(y),
            "near": y + 0.4 * rng.standard_normal(500),
            "noise": rng.standard_normal(500),
            "code": rng.choice(["u", "v"], 500),
        }
    )
    result = {s.column: s for s in suspects(frame, "y")}
    assert set(result) == {"copy", "curve", "near"}
    assert result["copy"].severity == "leak"
    assert result["curve"].severity == "leak"
    assert "rank correlation 1.000" in str(result["curve"])
    assert result["near"].severity == "strong"
    assert "is it known at prediction time?" in str(result["near"])
    assert result["near"].explained == pytest.approx(1 / 1.16, abs=0.03)


def test_columns_that_give_a_class_away():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400, p=[0.7, 0.3])
    flips = rng.random(400) < 0.008
    frame = pl.DataFrame(
        {
            "y": y,
            "code": ["Q1" if v == "yes" else "Q7" for v in y],
            "reason": ["late" if v == "yes" else None for v in y],
            "score": (y == "yes") + 0.2 * rng.random(400),
            "nearly": np.where((y == "yes") ^ flips, "v", "w"),
            "name": [f"p{i}" for i in range(400)],
            "noise": rng.standard_normal(400),
        }
    )
    result = {s.column: s.severity for s in suspects(frame, "y")}
    assert result == {"code": "leak", "reason": "leak", "score": "leak", "nearly": "strong"}
    assert {s.column for s in suspects(frame.drop("y"), y)} == set(result)
    with pytest.raises(TableError, match="The target has 3 values, but the table has 400 rows"):
        suspects(frame, [1, 2, 3])


TASKS = {
    "two words": (["a", "b", "a"], "binary"),
    "truths": ([True, False, True], "binary"),
    "two numbers": ([3, 7, 3], "binary"),
    "three words": (["a", "b", "c", "a"], "multiclass"),
    "digits": (list(range(10)) * 5, "multiclass"),
    "digits, floats": ([0.0, 1.0, 2.0] * 5, "multiclass"),
    "few rows": (list(range(10)), "regression"),
    "gaps": ([1, 5, 9] * 10, "regression"),
    "codes with a gap": ([1, 2, 3, 4, 5, 7] * 30, "multiclass"),
    "codes with a gap, few rows": ([1, 2, 3, 4, 5, 7] * 5, "regression"),
    "amounts": ([0, 10, 20, 50, 100] * 100, "regression"),
    "decimals": ([0.5, 1.5, 2.5] * 10, "regression"),
    "many": (list(range(30)) * 9, "regression"),
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks(name):
    y, expected = TASKS[name]
    assert infer_task(y)[0] == expected
    assert infer_task(np.asarray(y, dtype=object))[0] == expected


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (
            [1, 2, 3, 4, 5, 7] * 30,
            "whole numbers 1, 2, 3, 4, 5 and 7, taken for codes of 6 classes; .*--task regression",
        ),
        ([1, 2, 3, 4, 5] * 30, "whole numbers 1 to 5, .* ratings, .* say --task regression"),
        ([1, 5, 9] * 10, "3 different ones from 1 to 9, all whole; .*classes, say --task classification"),
    ],
)
def test_few_whole_numbers_say_how_to_overrule_the_task(y, sentence):
    assert re.search(sentence, infer_task(y)[1])


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([2.0] * 5, "the same value, 2, in all 5 rows"),
        (["x"] * 5, "the same value, x, in all 5 rows"),
        ([f"name {i}" for i in range(9)], "text that is different in each of the 9 rows"),
        ([None, None], "has no values"),
        ([1.0, np.inf, 2.0], "infinite numbers"),
    ],
)
def test_targets_that_cannot_be_learned(y, sentence):
    with pytest.raises(TableError, match=sentence):
        infer_task(np.asarray(y, dtype=object))
    with pytest.raises(TableError, match=f"column 't': .*{sentence}"):
        split_target(pl.DataFrame({"t": y, "x": range(len(y))}, strict=False), "t")


def test_a_target_is_taken_out():
    frame = pl.DataFrame({"Price": ["$1.5", "$2.5", None, "$4", "$9"], "x": [1, 2, 3, 4, 5]})
    result = split_target(frame, "Price")
    assert result.task == "regression"
    np.testing.assert_array_equal(result.y, [1.5, 2.5, 4.0, 9.0])
    np.testing.assert_array_equal(result.rows, [0, 1, 3, 4])
    assert result.frame.columns == ["x"]
    assert "1 of 5 rows (20.0%) left out, because the target is missing" in str(result.decisions[0])
    with pytest.raises(TableError, match=r"no column 'price' for a target. Did you mean 'Price'"):
        split_target(frame, "price")
    with pytest.raises(TableError, match=r"no column 'zzz' for a target. The table has 'Price', 'x'"):
        split_target(frame, "zzz")
    codes = pl.DataFrame({"y": [1, 2, 3, 4, 5] * 3, "x": range(15)})
    assert split_target(codes, "y").task == "multiclass"
    assert split_target(codes, "y", task="regression").y.dtype == np.float64
    assert split_target(pl.DataFrame({"y": [1, 5, 9] * 3}), "y", task="classification").task == "multiclass"
    with pytest.raises(TableError, match="regression needs numbers"):
        split_target(pl.DataFrame({"y": ["a", "b", "a"]}), "y", task="regression")
    with pytest.raises(TableError, match="two values, but this one has 5"):
        split_target(codes, "y", task="binary")
