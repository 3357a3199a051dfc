"""Runs that end early, on purpose or not: results so far, exit code 4, and nothing half-written."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import tenfold.cli.run_output
from scripts import run_script
from tenfold import LinearSVC, LogisticRegressionCV
from tenfold.cli.commands import tenfold as command
from tenfold.datasets import make_table, write_csv


def run_fit(folder, *args, data="customers.csv", target="churned"):
    """`tenfold fit` in a folder; its exit code and its record, if it wrote one."""
    options = ("--target", target, "--out", str(folder / "run"), "--quiet")
    result = CliRunner().invoke(command, ["fit", str(folder / data), *options, *args], catch_exceptions=False)
    assert "Traceback" not in result.output
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    record = folder / "run" / "run.json"
    return result, json.loads(record.read_text(encoding="utf-8")) if record.exists() else None


@pytest.fixture
def customers(tmp_path):
    write_csv(make_table(200, random_state=1), tmp_path / "customers.csv")
    return tmp_path


def test_interrupt_keeps_results_so_far(customers, monkeypatch):
    monkeypatch.setattr(LinearSVC, "fit", lambda *args, **kwargs: signal.raise_signal(signal.SIGINT))
    result, record = run_fit(customers, "--models", "lda,linear-svm,ridge-classifier")
    assert result.exit_code == 4
    assert record["interrupted"] is True
    assert record["best"] == "lda"
    rows = {row["name"]: row for row in record["board"]}
    assert rows["lda"]["certified"] is True
    assert "Interrupted" in rows["linear-svm"]["note"]
    assert "Interrupted before" in rows["ridge-classifier"]["note"]
    for name in ("model.tenfold", "predictions.csv", "reproduce.py", "report.html"):
        assert (customers / "run" / name).is_file()


def test_interrupt_before_the_first_result(customers, monkeypatch):
    monkeypatch.setattr("tenfold.cli.fitting.prepare", lambda *args: signal.raise_signal(signal.SIGINT))
    result, record = run_fit(customers)
    assert result.exit_code == 4
    assert record is None
    assert "interrupted" in result.output


def test_time_limit_returns_partial_results(customers, monkeypatch):
    def slow(self, *args, **kwargs):
        while True:
            time.sleep(0.01)

    for cls in (LinearSVC, LogisticRegressionCV):  # one model may not take all of the time
        monkeypatch.setattr(cls, "fit", slow)
    result, record = run_fit(customers, "--models", "lda,linear-svm,logistic", "--time", "5s")
    assert result.exit_code == 4
    assert record["best"] == "lda"
    notes = {row["name"]: row["note"] for row in record["board"]}
    assert "time" in notes["linear-svm"]
    assert "time" in notes["logistic"]


def test_time_limit_too_short_for_any_model(customers):
    result, record = run_fit(customers, "--time", "0.001s")
    assert result.exit_code == 4
    assert record["best"] is None
    assert "--time" in record["lead"]
    assert (customers / "run" / "leaderboard.csv").is_file()
    assert not (customers / "run" / "model.tenfold").exists()


def test_failed_models_are_listed_with_their_reason(customers, monkeypatch):
    def broken(self, *args, **kwargs):
        raise ValueError("A reason of its own.")

    monkeypatch.setattr(LinearSVC, "fit", broken)
    result, record = run_fit(customers, "--models", "lda,linear-svm")
    assert result.exit_code == 0
    assert "A reason of its own." in {row["name"]: row["note"] for row in record["board"]}["linear-svm"]


@pytest.mark.parametrize("earlier", [False, True])
def test_full_disk_keeps_the_earlier_run(customers, monkeypatch, earlier):
    if earlier:
        _, before = run_fit(customers, "--models", "lda")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(customers / "run"))

    monkeypatch.setattr(tenfold.cli.run_output, "page", full)
    result, record = run_fit(customers, "--models", "lda")
    assert result.exit_code == 3
    assert "no space left" in result.output
    assert record == (before if earlier else None)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell):
    request = {
        "bash": {"COMP_WORDS": "tenfold fi", "COMP_CWORD": "1"},
        "zsh": {"COMP_WORDS": "tenfold fi", "COMP_CWORD": "1"},
        "fish": {"COMP_WORDS": "tenfold fi", "COMP_CWORD": "fi"},
    }
    call = [sys.executable, "-c", "from tenfold.cli import main; main()"]

    def said(**more):
        return subprocess.run(call, env={**os.environ, **more}, capture_output=True, text=True, check=False).stdout

    assert "_TENFOLD_COMPLETE" in said(_TENFOLD_COMPLETE=f"{shell}_source")
    assert "fit" in said(_TENFOLD_COMPLETE=f"{shell}_complete", **request[shell])


def test_kinds_can_be_declared(tmp_path):
    random = np.random.default_rng(0)
    size = random.integers(3, size=120)
    columns = {
        "size": [("small", "medium", "large")[i] for i in size],
        "code": random.integers(4, size=120).tolist(),
        "y": (size + 0.1 * random.standard_normal(120)).tolist(),
    }
    write_csv(columns, tmp_path / "sizes.csv")
    said = ("--ordinal", "size=small,medium,large", "--type", "code=category", "--models", "ridge")
    result, record = run_fit(tmp_path, *said, data="sizes.csv", target="y")
    assert result.exit_code == 0
    assert {column["name"]: column["kind"] for column in record["columns"]} == {"size": "ordinal", "code": "category"}
    again = CliRunner().invoke(command, ["certify", str(tmp_path / "run"), str(tmp_path / "sizes.csv")])
    assert again.exit_code == 0, again.output
    predictions = (tmp_path / "run" / "predictions.csv").read_text(encoding="utf-8")
    run_script(tmp_path / "run" / "reproduce.py", cwd=tmp_path)
    assert (tmp_path / "predictions.csv").read_text(encoding="utf-8") == predictions


@pytest.mark.parametrize(
    ("args", "code"), [(("--type", "code"), 2), (("--type", "code=colour"), 3), (("--ordinal", "none=a,b"), 3)]
)
def test_invalid_column_kinds(tmp_path, args, code):
    write_csv({"code": list(range(30)), "y": list(range(30))}, tmp_path / "data.csv")
    result, record = run_fit(tmp_path, *args, data="data.csv", target="y")
    assert result.exit_code == code, result.output
    assert record is None
