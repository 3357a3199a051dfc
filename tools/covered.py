"""Measure which lines of src/tenfold and of core/ the tests run.

    python tools/covered.py FOLDER [arguments of pytest]

FOLDER is where CMake built the extension with TENFOLD_COVERAGE. Every process of the run, and every one that a test
starts, takes that extension and counts its lines of Python: a module sitecustomize, first on their path, sees to both.
What is installed stays as it is.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def run_tests(built: Path, arguments: list[str]) -> int:
    """The exit status of pytest; what was counted is left in the folder."""
    (extension,) = built.glob("_core*.so")
    for old in [*built.rglob("*.gcda"), *built.glob(".coverage*")]:
        old.unlink()
    (built / "python").mkdir(exist_ok=True)
    (built / "python" / "sitecustomize.py").write_text(START.format(extension=str(extension)), encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(built / "python"),
        "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
        "COVERAGE_FILE": str(built / ".coverage"),
    }
    check = f"import tenfold._core as core; assert core.__file__ == {str(extension)!r}, core.__file__"
    subprocess.run([sys.executable, "-c", check], env=environment, cwd=ROOT, check=True)
    tests = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(tests, env=environment, cwd=ROOT, check=False).returncode


def read_python(built: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """The totals of src/tenfold, and the per cent of each file."""
    environment = {**os.environ, "COVERAGE_FILE": str(built / ".coverage")}
    found = built / "python.json"
    for words in (["combine", "-q"], ["json", "-q", "-o", str(found)]):
        subprocess.run([sys.executable, "-m", "coverage", *words], env=environment, cwd=ROOT, check=True)
    read = json.loads(found.read_text(encoding="utf-8"))
    totals = {"covered": read["totals"]["covered_lines"], "lines": read["totals"]["num_statements"]}
    return totals, {name: file["summary"]["percent_covered"] for name, file in read["files"].items()}


def read_core(built: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """The same of core/ but for its own tests; a line of a kernel runs if it does for some instruction set."""
    found = built / "core.json"
    words = ["--root", str(ROOT), "--filter", "core/", "--exclude", "core/tests/", "--json-summary", str(found)]
    merged = ["--merge-mode-functions", "merge-use-line-min", "--gcov-ignore-parse-errors", "all"]
    subprocess.run([sys.executable, "-m", "gcovr", *words, *merged, str(built)], cwd=ROOT, check=True)
    read = json.loads(found.read_text(encoding="utf-8"))
    totals = {"covered": read["line_covered"], "lines": read["line_total"]}
    return totals, {file["filename"]: file["line_percent"] for file in read["files"]}


def main(built: Path, arguments: list[str]) -> int:
    status = run_tests(built, arguments)
    read = {"src": read_python(built), "core": read_core(built)}
    for name, (totals, _) in read.items():
        percent = 100.0 * totals["covered"] / totals["lines"]
        print(f"{name:5} {percent:.1f} % of {totals['lines']:,} lines run")
    for _, files in read.values():
        for name, percent in sorted(files.items(), key=lambda item: item[1]):
            if percent < LOW:
                print(f"{percent:5.1f} %  {name}")
    return status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
