"""The page of a run: words, small pictures, and records that hold anything."""

import pytest

from tenfold.report import page
from tenfold.report.board import draw_board, headline, tiles
from tenfold.report.cards import draw_cards
from tenfold.report.formatting import format_seconds, format_share, round_to
from tenfold.report.interval_plot import Range, draw_ranges
from tenfold.report.sections import confusion, differences, growth, importance
from tenfold.report.svg import Chart, Mark

EVIL = '<script>alert("x")</script>&'
ROW = {
    "name": "ridge", "class": "RidgeCV", "status": "done", "score": 2.0, "low": 1.5, "high": 2.5, "interval": "Hall",
    "folds": 5, "gap": 8.0, "certificate": "ok residual 1e-15", "certified": True, "chosen": {"alpha": 1.0},
    "tried": 101, "free": 100, "how": "", "fit_seconds": 0.01, "predict_us": 180.0, "memory_mb": 0.2, "note": "",
}  # fmt: skip
BASELINE = ROW | {"name": "baseline", "status": "baseline", "score": 10.0, "low": 9.0, "high": 11.0, "certified": None}
METRIC = {"name": "rmse", "words": "RMSE", "better": "smaller"}


def make_record(**more):
    """The least that a record holds, as the first version wrote it."""
    return {
        "format": 1, "created": "2026-01-01", "versions": {"tenfold": "0.1.0"}, "seed": 0, "task": "regression",
        "data": {"name": "t.csv", "sha256": "0" * 64, "rows": 100, "columns": 3}, "target": "y", "metric": METRIC,
        "protocol": "Five folds.", "best": "ridge", "board": [ROW, BASELINE], "notes": [], "certificate": None,
        "lead": "The best of ours is ridge: RMSE 2.0 (1.5 to 2.5). It is far ahead.", "classes": None,
        "columns": [{"name": "a", "kind": "number", "reason": "numbers"}], "decisions": [], "warnings": [],
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(180e-6, "180 µs"), (1.8e-6, "1.8 µs"), (4e-8, "0.040 µs"), (0.0123, "12 ms"), (83.4, "83 s"), (None, "")],
)
def test_times_have_no_exponent(seconds, words):
    assert format_seconds(seconds) == words


def test_number_formats():
    assert [round_to(value, 2) for value in (0.01593, 1234.5, -0.5, 0.0)] == ["0.016", "1,200", "-0.50", "0"]
    shares = (0.0, 0.0001, 0.034, 0.5, 0.9999, 1.0)
    assert [format_share(value) for value in shares] == ["0 %", "< 0.1 %", "3.4 %", "50 %", "> 99.9 %", "100 %"]


def test_headline_is_the_first_sentence():
    assert headline(make_record()) == ("The best of ours is ridge: RMSE 2.0 (1.5 to 2.5).", "It is far ahead.")


def test_tiles_name_score_baseline_and_certificate():
    result = {tile["name"]: tile for tile in tiles(make_record())}
    assert result["RMSE"]["value"] == "2.0"
    assert result["baseline"]["words"] == "ours is 80 % better"
    assert result["certificate"]["value"] == "certified"


def test_distant_baseline_is_given_in_the_caption():
    assert "off the scale" in draw_board([ROW, BASELINE], METRIC, "ridge")
    assert "off the scale" not in draw_board([ROW, BASELINE | {"score": 2.6}], METRIC, "ridge")


def test_small_record_makes_a_page():
    text = page(make_record())
    assert "Leaderboard" in text
    assert "180 µs" in text
    assert "e+0" not in text


def test_run_without_a_model_makes_a_page():
    empty = ROW | dict.fromkeys(("score", "low", "high", "gap", "fit_seconds", "predict_us", "memory_mb", "certified"))
    record = make_record(
        best=None, board=[empty | {"status": "failed", "note": "The time was over."}], lead="No model."
    )
    text = page(record)
    assert "The time was over." in text


def test_names_are_escaped_everywhere():
    board = [ROW | {"name": EVIL, "note": EVIL, "certificate": EVIL, "chosen": {EVIL: EVIL}}, BASELINE]
    interval = {"low": 0.1, "high": 0.3}
    profiles = [
        {"name": EVIL, "kind": "number", "missing": 0.1, "strength": 0.5, "edges": [0.0, 1.0, 2.0], "counts": [3, 4],
         "ends": [0.0, 2.0], "mean": [1.0, 2.0], "low": [0.5, None], "high": [1.5, None]},
        {"name": EVIL, "kind": "category", "missing": 0.0, "strength": 0.5, "levels": [EVIL, "b"], "counts": [3, 4],
         "classes": [EVIL, "z"], "stack": [[1, 2], [2, 2]]},
    ]  # fmt: skip
    explained = {
        "notes": [EVIL],
        "profiles": profiles,
        "differences": [{"name": EVIL, "difference": 0.2, **interval, "by": "samples"}],
        "importance": {
            "rows": [{"name": EVIL, "drop": 0.2, **interval}], "samples": 9, "repeats": 1, "columns": 2, "models": 1,
            "trained": 50,
        },
        "wrong": {
            "size": "probability", "columns": [EVIL], "wrong": 1, "samples": 9,
            "rows": [{"row": 1, "true": EVIL, "predicted": EVIL, "size": 0.5, "values": [EVIL]}],
        },
    }  # fmt: skip
    pictures = {
        "roc": {"curves": [{"x": [0, 1], "y": [0, 1], "label": EVIL}, {"x": [0, 1], "y": [0, 1], "label": "b"}]},
        "scores": {"edges": [0, 1, 2], "classes": [EVIL, "b"], "counts": [1, 2], "shares": [[0, 1], [1, 0]],
                   "x_name": EVIL},
    }  # fmt: skip
    record = make_record(
        board=board, best=EVIL, target=EVIL, lead=EVIL, notes=[EVIL], warnings=[EVIL], decisions=[EVIL], protocol=EVIL,
        certificate=EVIL, classes=[EVIL, "b"], explain=explained, pictures=pictures, task="binary",
        confusion={"classes": [EVIL, "b"], "counts": [[1, 2], [3, 4]]},
        weights={"head": [EVIL], "rows": [{"feature": EVIL, "weights": [1.0], "change": EVIL}], "words": EVIL},
        contributions={"rows": [{"name": EVIL, "low": -1.0, "high": 1.0, "size": 0.5}], "samples": 9},
    )  # fmt: skip
    text = page(record)
    assert "alert" in text
    assert text.count("<script") == 1
    assert EVIL not in text


def test_interval_plots_have_alternative_text():
    drawn = draw_ranges([Range("a", 0.5, 0.4, 0.6), Range("b", 0.1)], "Scores", "share", 0.0)
    assert 'aria-label="Scores: a 0.50 (0.40 to 0.60); b 0.1."' in drawn


def test_values_that_round_to_zero_have_no_sign():
    assert ">-0.000<" not in draw_ranges([Range("a", -0.0001, -0.004, 0.004)], "Drops", "share", 0.0)


def test_charts_skip_what_cannot_be_drawn():
    nan = float("nan")
    chart = Chart("t", "x", "y", [Mark("points", [1.0, nan, 0.0], [1.0, 2.0, 3.0], hints=["a", "b", "c"])], log_x=True)
    assert chart.svg().count("<circle") == 1


def test_confusion_is_shaded_by_the_true_class():
    result = confusion({"classes": ["a", "b"], "counts": [[3, 1], [0, 0]]})
    assert result["rows"][0]["cells"][0]["shade"] == "0.87"
    assert result["rows"][0]["recall"] == "75"
    assert result["precision"] == ["100", "0"]
    assert result["rows"][1]["recall"] == ""
    assert confusion({"classes": list("abcd") * 10, "counts": []}) is None


def test_gain_with_interval_from_zero():
    held = {
        "sizes": [10, 20, 40], "scores": [3.0, 2.5, 2.2], "folds": 5, "of_folds": [[3.0, 2.5, 2.2]], "gain": 0.1,
        "low": 0.0, "high": 0.3, "beyond": [40, 80], "gains": [0.0, 0.1],
    }  # fmt: skip
    assert "does not exclude that nothing is gained" in growth(held, METRIC)["words"]
    assert "is 0.050 to 0.30" in growth(held | {"low": 0.05}, METRIC)["words"]
    assert "take it as a hint" in growth(held | {"low": None, "high": None, "folds": 1}, METRIC)["words"]


def test_missing_sections_are_left_out():
    assert importance(None, METRIC) is None
    assert differences(None, "ridge", METRIC) is None
    assert differences([{"name": "baseline", "difference": 1.0, "low": 0.5, "high": 1.5}], "ridge", METRIC) is None
    assert draw_cards([], "y") == []
