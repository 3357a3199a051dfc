"""`tenfold fit` on real tables, as a user runs it, beside gradient boosting on the same folds without a limit of time.

    python -m benchmarks.leaderboard [--time 60] [--only titanic,phoneme]

For each table: the seconds of the whole command, the best of ours with its certificate, and the score of scikit-learn's
HistGradientBoosting at its defaults, run apart to the end. The tables are read from ``../shared/data`` beside the
repository or from the folder named by ``TENFOLD_DATA``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import real_data_folder


@dataclass(frozen=True)
class Table:
    """A file, its target, and more options of the command."""

    name: str
    file: str
    target: str
    options: tuple[str, ...] = ()


TABLES = (
    Table("titanic", "titanic.csv", "column_4"),
    Table("phoneme", "phoneme.csv", "column_6"),
    Table("magic", "magic.csv", "class"),
    Table("optdigits", "optdigits.csv", "column_65", ("--task", "classification")),
    Table("letter", "letter.csv", "class"),
    Table("puma32h", "puma32h.dat", "thetadd6"),
    Table("flights", "flights.csv.gz", "arr_delay"),
    Table("spamassassin", "spamassassin.jsonl.gz", "label", ("--drop", "group")),
)


def fit(table: Table, data: Path, out: Path, seconds: str, *more: str) -> tuple[dict[str, Any], float]:
    """The record of a run of the command, and its seconds."""
    command = [sys.executable, "-m", "tenfold.cli", "fit", str(data), "--target", table.target, "--time", seconds]
    begin = time.perf_counter()
    done = subprocess.run(
        [*command, *table.options, *more, "--out", str(out), "--quiet"],
        check=False, capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
    )  # fmt: skip
    took = time.perf_counter() - begin
    if done.returncode not in (0, 4):
        raise RuntimeError(done.stderr[-2000:])
    return json.loads((out / "run.json").read_text(encoding="utf-8")), took


def measure(table: Table, seconds: str) -> str:
    """One line: time, the best of ours, gradient boosting without a limit, and the relative difference."""
    with tempfile.TemporaryDirectory() as home:
        data = real_data_folder() / table.file
        ours, took = fit(table, data, Path(home) / "ours", seconds)
        apart, _ = fit(table, data, Path(home) / "apart", "1h", "--models", "gradient-boosting")
    best = next((row for row in ours["board"] if row["name"] == ours["best"]), None)
    trees = next(row for row in apart["board"] if row["name"] == "gradient-boosting")
    if best is None:
        return f"{table.name} | {took:.1f} s | no model | {trees['score']:.5g} | {ours['lead']}"
    sign = 1.0 if ours["metric"]["better"] == "smaller" else -1.0
    behind = sign * (best["score"] - trees["score"]) / abs(trees["score"])
    folds = f" ({best['folds']} folds)" if best["status"] == "partial" else ""
    return " | ".join(
        [table.name, f"{took:.1f} s", f"{best['name']}{folds}", best["certificate"], ours["metric"]["words"],
         f"{best['score']:.5g}", f"{trees['score']:.5g}", f"{behind:+.2%}", ours["lead"]]
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    parser.add_argument("--time", default="60s")
    parser.add_argument("--only", default="", help="names with commas between")
    given = parser.parse_args(arguments)
    wanted = [name for name in given.only.split(",") if name]
    print("table | command | best of ours | certificate | metric | ours | boosting, run apart | behind it | headline")
    for table in TABLES:
        if not wanted or table.name in wanted:
            print(measure(table, given.time), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
