"""Measure Tenfold beside scikit-learn and the best peers, each in fresh processes, at equal quality."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from functools import partial
from pathlib import Path

from benchmarks import page, routes, scaling, sweep
from benchmarks.data import ROOT
from benchmarks.run import Settings, describe_processor, run
from benchmarks.table import ROWS

SWEEP, SCALING = ROOT / "docs" / "sweep.md", ROOT / "docs" / "scaling.md"
LAST, PAGE = ROOT / "build" / "benchmarks.json", ROOT / "docs" / "performance.md"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", default="", help="rows whose name contains this")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--json", type=Path, default=LAST, metavar="FILE", help=f"where to write the result ({LAST})")
    parser.add_argument("--page", nargs="*", type=Path, metavar="FILE", help="only bring the page up to these results")
    parser.add_argument("--page-to", type=Path, default=PAGE, metavar="FILE", help=f"where the page goes ({PAGE})")
    parser.add_argument("--quick", action="store_true", help="small data and one repetition: a test of this program")
    parser.add_argument("--full", action="store_true", help="no scaled rows: time scikit-learn on all alphas")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=150.0, help="seconds for one contender's process")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has intelex, celer, skglm")
    parser.add_argument("--sweep", action="store_true", help=f"every class on ordinary shapes, to {SWEEP}")
    parser.add_argument("--classes", default="", help="with --sweep: only these classes, commas between them")
    parser.add_argument("--seconds", type=float, default=1800.0, help="with --sweep: stop after so many seconds")
    parser.add_argument("--routes", type=int, metavar="COUNT", help="every route of each plan on so many random shapes")
    parser.add_argument("--scaling", action="store_true", help=f"times by threads and by samples, to {SCALING}")
    given = parser.parse_args(arguments)
    if given.routes:
        routes.run(given.only, given.routes, partial(print, flush=True))
        return 0
    if given.sweep:
        return measure_sweep(given.classes, given.seconds)
    if given.scaling:
        return measure_scaling(given.only)

    rows = [row for row in ROWS if given.only.lower() in row.name.lower()]
    if given.list:
        print("\n".join(row.name for row in rows))
        return 0
    if given.page is not None:
        reports = [json.loads(path.read_text()) for path in given.page or [LAST]]
        given.page_to.parent.mkdir(exist_ok=True)
        before = given.page_to.read_text() if given.page_to.exists() else ""
        given.page_to.write_text(page.render(page.join(reports), before))
        print(f"wrote {given.page_to}")
        return 0
    if not rows:
        parser.error(f"no row contains {given.only!r}; --list names them all")
    chosen = {"quick": given.quick, "full": given.full, "threads": given.threads, "timeout": given.timeout}
    repetitions = 1 if given.quick else given.repetitions
    say = partial(print, flush=True)
    report = run(rows, Settings(repetitions=repetitions, peer_python=given.peer_python, say=say, **chosen))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1))
    for row in report["rows"]:
        if row["status"] == "measured":
            print(f"{row['row']}: {page.verdict(row)}", {k: v and round(v, 2) for k, v in row["ratios"].items()})
    print(f"wrote {given.json}")
    return 0


def measure_sweep(only: str, seconds: float) -> int:
    """Time every class on ordinary shapes; a sweep of all classes is written to its page."""
    cases = sweep.run(only, seconds, partial(print, flush=True))
    text = sweep.render(cases, describe_machine())
    if not only and cases:
        SWEEP.write_text(text)
        print(f"wrote {SWEEP}")
    else:
        print(text)
    return 0


def measure_scaling(only: str) -> int:
    """Time one row a family by threads and by samples; all rows are written to their page."""
    text = scaling.render(scaling.run(only, partial(print, flush=True)), describe_machine())
    if only:
        print(text)
    else:
        SCALING.write_text(text)
        print(f"wrote {SCALING}")
    return 0


def describe_machine() -> str:
    return f"{describe_processor()}, {os.cpu_count()} cores, {datetime.date.today().isoformat()}"


if __name__ == "__main__":
    sys.exit(main())
