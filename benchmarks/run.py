"""Run the benchmarks: every measurement in a fresh process, contenders in turn; imprecise ones again, with a smaller
tol.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import floors, quality
from benchmarks.data import ROOT
from benchmarks.table import INTELEX, MODULES, OURS, SKLEARN, SPECIALISTS, Contender, Row

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
BUSY = 0.05  # a machine that others keep busier than this is not quiet enough to measure on
Entry = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    quick: bool = False
    full: bool = False
    threads: int = 2
    repetitions: int = 3
    timeout: float = 150.0
    peer_python: str = sys.executable  # the interpreter that has scikit-learn-intelex, celer and skglm
    say: Callable[[str], None] = print

    def process(self, task: str, python_of: str = OURS, **arguments: Any) -> Any:
        """Run one task in a fresh process; failures and timeouts are recorded."""
        python = self.peer_python if python_of in (INTELEX, *SPECIALISTS) else sys.executable
        environment = os.environ | {name: str(self.threads) for name in THREAD_VARIABLES}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        command = [python, "-m", "benchmarks.process", task, json.dumps(arguments)]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return {"status": "late", "note": f"more than {self.timeout:g} s", "above": self.timeout}
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return {"status": "failed", "note": lines[-1]}
        return json.loads(done.stdout.strip().splitlines()[-1])


def run(rows: Sequence[Row], settings: Settings) -> dict[str, Any]:
    """Measure the rows and return everything that the page needs, ready for JSON."""
    before = settings.process("ceilings", quick=settings.quick)
    report: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": _machine(settings),
        "imports": {name: settings.process("imports", name, library=module) for name, module in MODULES.items()},
        "rows": [],
    }
    report["rows"] = [_row(row, settings) for row in rows]
    after = settings.process("ceilings", quick=settings.quick)
    report["ceilings"] = {name: max(before[name], after[name]) for name in before}
    for entry in report["rows"]:
        _finish(entry, report["ceilings"])
    return report


def _row(row: Row, settings: Settings) -> Entry:
    settings.say(row.name)
    answer: Entry = {"row": row.name, "aim": row.aim, "call": row.call}
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as folder:
        size = settings.process("make", row=row.name, quick=settings.quick, folder=folder)
        if "status" in size:
            settings.say(f"  skipped: {size['note']}")
            return answer | {"status": "skipped", "note": size["note"]}
        work = row.floor(floors.Size(**size)) if row.floor else None
        answer |= {"status": "measured", "size": size, "work": vars(work) if work else None}
        entries = _measure(row, row.contenders(settings.full), settings, folder)
        entries += _tighten(row, entries, settings, folder)
    return answer | {"contenders": entries}


def _measure(row: Row, contenders: Sequence[Contender], settings: Settings, folder: str) -> list[Entry]:
    """Repetitions outside, contenders inside in rotating order, so that a slow phase of the machine affects all."""
    results: dict[str, list[Entry]] = {contender.name: [] for contender in contenders}
    for repetition in range(settings.repetitions):
        turn = repetition % len(contenders)
        for contender in (*contenders[turn:], *contenders[:turn]):
            earlier = results[contender.name]
            if earlier and earlier[0]["status"] != "ok":
                continue
            keep = str(Path(folder, f"{contender.name}.npz"))
            arguments = {"row": row.name, "params": contender.params, "folder": folder, "keep": keep}
            arguments["library"] = contender.library
            earlier.append(settings.process("measure", contender.library, **arguments))
    entries = [_entry(contender, results[contender.name]) for contender in contenders]
    fitted = [entry for entry in entries if entry["status"] == "ok"]
    kept = [str(Path(folder, f"{entry['name']}.npz")) for entry in fitted]
    judged = settings.process("judge", row=row.name, folder=folder, kept=kept)
    for number, entry in enumerate(fitted):
        entry["quality"] = judged[number] if isinstance(judged, list) else {"not_judged": judged["note"]}
    for entry in entries:
        settings.say(f"  {entry['name']}: " + (_short(entry) if entry["status"] == "ok" else entry["note"]))
    return entries


def _entry(contender: Contender, results: list[Entry]) -> Entry:
    entry: Entry = {"name": contender.name, "library": contender.library, "note": contender.note}
    entry["tightened"] = {name: contender.params[name] for name in ("tol",) if name in contender.params}
    good = [result for result in results if result["status"] == "ok"]
    if not good:
        return entry | results[0]
    warm = [contender.times * result["seconds"] for result in good]
    entry |= {"status": "ok", "seconds": median(warm), "spread": [min(warm), max(warm)], "repetitions": len(good)}
    entry["first"] = median(contender.times * result["first"] for result in good)
    entry["memory"] = median(result["memory"] for result in good)
    entry["others"] = median(result["others"] or 0.0 for result in good)
    entry["disk"] = min((result["disk"] for result in good if result.get("disk")), default=None)
    return entry | {"certificate": good[0]["certificate"], "scaled": contender.times != 1.0}


def _tighten(row: Row, entries: list[Entry], settings: Settings, folder: str) -> list[Entry]:
    """Peers below our quality run again, at the first tolerance of the row's list that reaches it."""
    ours = entries[0]
    extra: list[Entry] = []
    for contender, entry in zip(row.contenders(settings.full), entries, strict=True):
        if entry is ours or entry["status"] != "ok" or ours["status"] != "ok" or entry["scaled"]:
            continue  # a scaled contender chose among other alphas
        entry["shortfall"] = quality.shortfall(ours["quality"], entry["quality"])
        if entry["shortfall"] is None:
            continue
        for step in row.tighten:
            name = f"{contender.name}, tol={step['tol']:g}"
            trial = replace(contender, name=name, params=contender.params | step)
            (result,) = _measure(row, [trial], replace(settings, repetitions=1, say=lambda text: None), folder)
            if result["status"] != "ok":
                break
            if quality.shortfall(ours["quality"], result["quality"]) is None:
                (result,) = _measure(row, [trial], settings, folder)
                extra.append(result | {"shortfall": None, "instead_of": contender.name})
                break
    return extra


def _finish(entry: Entry, ceilings: dict[str, float]) -> None:
    """The floor's time and the ratios.

    A peer that does not reach our quality does not count. Where scikit-learn itself reaches it at no tolerance, its
    worse result stands in for it, which can only make our ratio smaller.
    """
    if entry["status"] != "measured":
        return
    ours, *others = entry["contenders"]
    if ours.get("disk"):  # the disk as it gave these very files, between our fits
        ceilings = ceilings | {"disk_gbytes": 1e-9 * entry["size"]["bytes"] / ours["disk"]}
    entry["floor"] = floors.Work(**entry["work"]).seconds(ceilings) if entry["work"] else None
    reference = next((other for other in others if other["name"] == SKLEARN), None)
    fair = [other for other in others if other["status"] == "ok" and other.get("shortfall") is None]
    fair = [other for other in fair if other is not reference]
    reference = next((other for other in fair if other.get("instead_of") == SKLEARN), reference)
    peers = [other for other in fair if other is not reference]
    best = min(peers, key=lambda peer: peer["seconds"], default=None)
    entry["reference"], entry["best_peer"] = (result["name"] if result else None for result in (reference, best))
    entry["ratios"] = {
        "scikit_learn": _ratio(reference, ours),
        "best_peer": _ratio(best, ours),
        "floor": ours["seconds"] / entry["floor"] if entry["floor"] and ours["status"] == "ok" else None,
    }


def _ratio(other: Entry | None, ours: Entry) -> float | None:
    if other is None or ours["status"] != "ok" or other["status"] not in ("ok", "late"):
        return None
    seconds: float = other["seconds"] if other["status"] == "ok" else other["above"]
    return seconds / float(ours["seconds"])


def _short(entry: Entry) -> str:
    low, high = entry["spread"]
    text = f"{entry['seconds']:.3g} s ({low:.3g} to {high:.3g}), first {entry['first']:.3g}, {entry['memory']:.0f} MiB"
    return text + (f"; other processes took {entry['others']:.0%} of the machine" if entry["others"] > BUSY else "")


def _machine(settings: Settings) -> dict[str, Any]:
    described: dict[str, Any] = {"processor": describe_processor(), "cores": os.cpu_count()}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    described |= {"threads": settings.threads, "quick": settings.quick, "load": load}
    return described | {"python": platform.python_version()}


def describe_processor() -> str:
    """The model of the processor."""
    names = [line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
