"""Measure which lines of src/tenfold and of core/ the tests run.

    python tools/covered.py FOLDER [arguments of pytest]

FOLDER is where CMake built the extension with TENFOLD_COVERAGE. Every process of the run, and every one that a test
starts, takes that extension and counts its lines of Python: a module sitecustomize, first on their path, sees to both.
What is installed stays as it is. Counting takes its time, and tests that measure seconds may fail here: whether the
tests pass is what `make test` says.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOW = 90.0
"""Files of which fewer per cent of the lines run are named."""

START = """
import sys
import coverage

coverage.process_startup()
for finder in sys.meta_path:
    files = getattr(finder, "known_wheel_files", {{}})
    if "tenfold._core" in files:
        files["tenfold._core"] = {extension!r}
"""

PATIENT = """
from xdist.workermanage import NodeManager

NodeManager.EXIT_TIMEOUT = 600  # seconds: what a worker has counted is written when it ends
"""


def run_tests(built: Path, arguments: list[str]) -> int:
    """The exit status of pytest; what was counted is left in the folder."""
    (extension,) = built.glob("_core*.so")
    for old in [*built.rglob("*.gcda"), *built.glob(".coverage*")]:
        old.unlink()
    (built / "python").mkdir(exist_ok=True)
    (built / "python" / "sitecustomize.py").write_text(START.format(extension=str(extension)), encoding="utf-8")
    (built / "python" / "patient.py").write_text(PATIENT, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(built / "python"),
        "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
        "COVERAGE_FILE": str(built / ".coverage"),
    }
    check = f"import tenfold._core as core; assert core.__file__ == {str(extension)!r}, core.__file__"
    subprocess.run([sys.executable, "-c", check], env=environment, cwd=ROOT, check=True)
    tests = [sys.executable, "-m", "pytest", "-p", "patient", *arguments]
    return subprocess.run(tests, env=environment, cwd=ROOT, check=False).returncode


Counts = dict[str, tuple[int, int]]
"""Of each file the lines that ran, and all lines."""


def read_python(built: Path) -> Counts:
    """Of src/tenfold."""
    environment = {**os.environ, "COVERAGE_FILE": str(built / ".coverage")}
    result = built / "python.json"
    for words in (["combine", "-q"], ["json", "-q", "-o", str(result)]):
        subprocess.run([sys.executable, "-m", "coverage", *words], env=environment, cwd=ROOT, check=True)
    read = json.loads(result.read_text(encoding="utf-8"))
    files = {name: file["summary"] for name, file in read["files"].items()}
    return {name: (file["covered_lines"], file["num_statements"]) for name, file in files.items()}


def read_core(built: Path) -> Counts:
    """Of core/ but for its tests; a line of a template or a kernel runs if it does for some type or instruction set."""
    result = built / "core.json"
    words = ["--root", str(ROOT), "--filter", "core/", "--exclude", "core/tests/", "--json", str(result)]
    merged = ["--merge-mode-functions", "merge-use-line-min", "--gcov-ignore-parse-errors", "all"]
    subprocess.run([sys.executable, "-m", "gcovr", *words, *merged, str(built)], cwd=ROOT, check=True)
    counts = {}
    for file in json.loads(result.read_text(encoding="utf-8"))["files"]:
        lines = {line["line_number"] for line in file["lines"]}
        ran = {line["line_number"] for line in file["lines"] if line["count"]}
        counts[file["file"]] = (len(ran), len(lines))
    return counts


def main(built: Path, arguments: list[str]) -> int:
    status = run_tests(built, arguments)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return status
    read = {"src": read_python(built), "core": read_core(built)}
    for name, counts in read.items():
        ran, lines = (sum(part) for part in zip(*counts.values(), strict=True))
        print(f"{name:5} {100.0 * ran / lines:.1f} % of {lines:,} lines run")
    for counts in read.values():
        shares = {name: 100.0 * ran / lines for name, (ran, lines) in counts.items() if lines}
        for name, share in sorted(shares.items(), key=lambda item: item[1]):
            if share < LOW:
                print(f"{share:5.1f} %  {name}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
