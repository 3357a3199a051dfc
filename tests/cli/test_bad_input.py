"""Bad tables and commands: a sentence, an exit code, nothing half-written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tenfold.cli.commands import tenfold

ROWS = "\n".join(f"{i % 7},{(i * 37) % 11},{i % 2}" for i in range(60))
GOOD = f"a,b,y\n{ROWS}\n"


def message_of(folder, text, *args, code=3, name="data.csv"):
    """What is said of a table that cannot be used; the folder of the run is not there."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    more = args or ("--target", "y")
    command = ["fit", str(path), "--out", str(folder / "run"), "--quiet", "--models", "ridge-classifier", *more]
    result = CliRunner().invoke(tenfold, command)
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    assert not (folder / "run").exists()
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []
    return result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "empty"),
        ("a,b,y\n", "row"),
        (GOOD + "1,2\n", "line"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x80\x04\x95" + bytes(range(256)), "data.csv"),
        ("a,b,y\n" + "1,2,0\n" * 30, "same value"),
        ("a,b,y\n" + "1,2,\n" * 30, "no values"),
        ("a,b,y\n" + "\n".join(f"1,2,name{i}" for i in range(30)) + "\n", "different"),
        ("y\n" + "0\n1\n" * 30, "column"),
        ('a,b,y\n"1,2,0\n' + ROWS, "quote"),
    ],
)
def test_invalid_tables_exit_with_code_3(tmp_path, text, words):
    assert words in message_of(tmp_path, text)


def test_unknown_columns_are_named(tmp_path):
    assert "'y'" in message_of(tmp_path, GOOD, "--target", "Y")
    assert "drop" in message_of(tmp_path, GOOD, "--target", "y", "--drop", "c")
    assert "ridge" in message_of(tmp_path, GOOD, "--target", "y", "--models", "rigde-classifier")
    assert "accuracy" in message_of(tmp_path, GOOD, "--target", "y", "--metric", "acuracy")
    assert "given as" in message_of(tmp_path, GOOD, "--target", "y", "--group", "y")


@pytest.mark.parametrize("args", [("--time", "soon"), ("--seed", "x"), ("--task", "guess"), ("--nothing",)])
def test_invalid_usage_exits_with_code_2(tmp_path, args):
    message_of(tmp_path, GOOD, "--target", "y", *args, code=2)


def test_missing_file(tmp_path):
    result = CliRunner().invoke(tenfold, ["fit", str(tmp_path / "none.csv"), "--target", "y"])
    assert result.exit_code == 3
    assert "none.csv" in result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "data.csv").write_text(GOOD)
    args = ["fit", str(folder / "data.csv"), "--target", "y", "--models", "logistic", "--quiet"]
    result = CliRunner().invoke(tenfold, [*args, "--out", str(folder / "run")])
    assert result.exit_code == 0, result.output
    return folder


def test_predict_on_a_table_with_other_columns(run):
    def run_predict(text):
        (run / "new.csv").write_text(text)
        return CliRunner().invoke(tenfold, ["predict", str(run / "run"), str(run / "new.csv")])

    missing = run_predict("a,c\n1,2\n2,3\n")
    assert missing.exit_code == 3
    assert "'b'" in missing.output
    wrong = run_predict("a,b\n1,2\n2,many\n3,4\n")
    assert wrong.exit_code == 3
    assert "'b'" in wrong.output


def test_invalid_run_folders(tmp_path, run):
    (tmp_path / "data.csv").write_text(GOOD)
    empty = tmp_path / "empty"
    empty.mkdir()
    for command in (["predict", str(empty), str(tmp_path / "data.csv")], ["report", str(empty)]):
        result = CliRunner().invoke(tenfold, command)
        assert result.exit_code == 3
        assert "not a run" in result.output
    (empty / "run.json").write_text("{")
    assert "damaged" in CliRunner().invoke(tenfold, ["report", str(empty)]).output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk(run):
    result = CliRunner().invoke(tenfold, ["predict", str(run / "run"), str(run / "data.csv"), "-o", "/dev/full/x.csv"])
    assert result.exit_code == 3
    assert "Traceback" not in result.output


def test_standard_input_and_closed_pipe(run):
    command = [sys.executable, "-m", "tenfold.cli", "predict", str(run / "run"), "-"]
    result = subprocess.run(command, input=GOOD.encode(), capture_output=True, check=True, env=os.environ)
    assert len(result.stdout.splitlines()) == 61


def test_leakage_warning_names_the_column(tmp_path):
    random = np.random.default_rng(0)
    y = random.normal(size=200)
    lines = ["a,twin,y", *(f"{a},{2 * t},{t}" for a, t in zip(random.normal(size=200), y, strict=True))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    args = ["fit", str(tmp_path / "data.csv"), "--target", "y", "--models", "ridge", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(tenfold, args)
    assert result.exit_code == 0, result.output
    assert "twin" in result.stderr
