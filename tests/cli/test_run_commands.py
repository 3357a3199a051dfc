"""What is done with a run: predict, certify, check and info, in sentences and nothing else."""

import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from scripts import run_script
from tenfold.cli import run_commands
from tenfold.cli.commands import tenfold
from tenfold.cli.load_table import Roles, prepare
from tenfold.datasets import write_csv
from tenfold.features import TableEncoder


def call(*args, code=0):
    """What a command prints, on both outputs; no warning of Python gets through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = CliRunner().invoke(tenfold, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == code, result.output[-2000:]
    return result.output


def columns_of(rows=150, seed=0):
    random = np.random.default_rng(seed)
    x = random.gamma(2.0, 10.0, rows).round(3)
    colour = random.choice(["red", "green", "blue"], rows)
    y = (x / 10 + (colour == "red") + random.standard_normal(rows)).round(4)
    x[::10] = -999
    return {"x": x.tolist(), "colour": colour.tolist(), "y": y.tolist()}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a table where -999 means missing."""
    folder = tmp_path_factory.mktemp("sentinels")
    write_csv(columns_of(), folder / "old.csv")
    missing = ("--missing", "x=-999", "--missing", "x=-99", "--missing", "colour=unknown,none")
    options = ("--target", "y", "--models", "ridge", *missing, "--out", folder / "run", "--quiet")
    call("fit", folder / "old.csv", *options)
    return folder


def test_declared_missing_values_hold_for_new_tables(run):
    write_csv(columns_of(seed=1), run / "new.csv")
    clean = columns_of(seed=1)
    clean["x"] = ["" if value == -999 else value for value in clean["x"]]
    write_csv(clean, run / "clean.csv")
    assert call("predict", run / "run", run / "new.csv") == call("predict", run / "run", run / "clean.csv")
    assert "is like the old one" in call("check", run / "new.csv", "--against", run / "run")
    assert "ridge: " in call("certify", run / "run", run / "old.csv")
    record = json.loads((run / "run" / "run.json").read_text(encoding="utf-8"))
    assert "x: 15 values -999 and -99 taken as missing, as asked" in record["decisions"]
    assert record["missing"] == {"x": ["-999", "-99"], "colour": ["unknown", "none"]}
    predictions = (run / "run" / "predictions.csv").read_text(encoding="utf-8")
    run_script("run/reproduce.py", "old.csv", cwd=run)
    assert (run / "predictions.csv").read_text(encoding="utf-8") == predictions


def test_sentinel_values_are_reported(run):
    said = call("info", run / "old.csv", "--target", "y")
    assert "-999 (15) stands apart from the other values" in said
    assert "--missing x=-999" in said
    table = prepare(run / "old.csv", Roles("y"))
    assert any("--missing x=-999" in sentence for sentence in table.warnings)
    assert prepare(run / "old.csv", Roles("y", missing={"x": ["-999"]})).warnings == []
    assert "--missing names a column 'z'" in call(
        "fit", run / "old.csv", "--target", "y", "--missing", "z=1", "--out", run / "other", code=3
    )


def test_extra_columns_are_reported_as_a_note(run):
    more = columns_of()
    more["extra"] = list(range(150))
    write_csv(more, run / "more.csv")
    said = call("certify", run / "run", run / "more.csv")
    assert "note: 1 column that the encoder does not know is ignored: 'extra'." in said
    assert "Warning" not in said


def test_python_warnings_are_printed_as_sentences(run, monkeypatch):
    def check_with_warnings(*args, **kwargs):
        for _ in range(2):
            warnings.warn("divide by zero\n  encountered", RuntimeWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        return check_table(*args, **kwargs)

    check_table = run_commands.check_table
    monkeypatch.setattr(run_commands, "check_table", check_with_warnings)
    said = call("check", run / "old.csv", "--against", run / "run")
    assert said.count("note: divide by zero encountered\n") == 1
    assert "RuntimeWarning" not in said
    assert "programmers" not in said


def test_predict_without_a_finished_model_suggests_a_command(run, tmp_path):
    options = ("--target", "y", "--models", "ridge", "--time", "0.001s", "--out", tmp_path / "late run", "--quiet")
    call("fit", run / "old.csv", *options, code=4)
    folder = tmp_path / "late run"
    if (folder / "model.tenfold").exists():  # something may be saved however little time there was
        (folder / "model.tenfold").unlink()
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        (folder / "run.json").write_text(json.dumps(record | {"best": None}), encoding="utf-8")
    for args in (("predict", folder, run / "old.csv"), ("certify", folder, run / "old.csv")):
        said = call(*args, code=3)
        assert "no finished model" in said
        assert f"tenfold fit old.csv --target y --out '{folder}' --time 5m" in said
        assert "--models ridge" in said


def test_predict_after_the_model_was_removed(run, tmp_path):
    call("fit", run / "old.csv", "--target", "y", "--models", "ridge", "--out", tmp_path / "run", "--quiet")
    (tmp_path / "run" / "model.tenfold").unlink()
    assert "it was removed. Fit again: tenfold fit old.csv" in call(
        "predict", tmp_path / "run", run / "old.csv", code=3
    )


def test_features_are_counted(tmp_path):
    random = np.random.default_rng(0)
    words = ["good", "bad", "fair", "ill", "well", "so", "not"]
    columns = columns_of() | {"note": [" ".join(random.choice(words, 6)) for _ in range(150)]}
    write_csv(columns, tmp_path / "notes.csv")
    table = prepare(tmp_path / "notes.csv", Roles("y"))
    encoder = TableEncoder(types=table.schema.text(), task=table.family).fit(table.frame, table.y)
    assert table.vocabularies == [7]
    assert table.width == len(encoder.get_feature_names_out()) == 11
    assert table.width_at(3) == 7
    assert [table.words_within(features) for features in (2, 5, 8, 10, 11, 10_000)] == [1, 1, 4, 6, 20_000, 20_000]


def test_integer_target_with_few_values(tmp_path):
    random = np.random.default_rng(0)
    columns = {"x": random.standard_normal(300).tolist(), "class": random.choice([1, 2, 3, 4, 5, 7], 300).tolist()}
    write_csv(columns, tmp_path / "codes.csv")
    said = call("info", tmp_path / "codes.csv", "--target", "class")
    assert "1, 2, 3, 4, 5 and 7, taken for codes of 6 classes" in " ".join(said.split())
    assert "--task regression" in said
