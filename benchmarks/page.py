"""Write the page of results: one table, rows we lose included and marked, what each row means below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import exp, log
from typing import Any

from benchmarks.run import BUSY
from benchmarks.table import INTELEX, OURS, ROWS, SKLEARN

HEAD = """# Speed and memory

Measured on {processor}, {threads} threads, {date}; Python {python}, {versions}.
Rows that were measured elsewhere or earlier say so in their notes. Written by `python -m benchmarks --page`.

Every number comes from fresh processes with the same number of threads, contenders in turn, {repetitions} or more
repetitions. *Time* is the median of the calls after the first one in each process; the *first call* is beside it.
Our time contains the certificate. Memory is the peak of the first call above what was resident before it.
*Floor* is a model (below) over ceilings measured in the same run:
dgemm {dgemm:.0f} GFLOP/s, reads {read:.1f} GB/s{disk}.

**Equal quality first.** All results are judged from their coefficients by `tenfold.certify`, and the objective and the
cross-validation error of a chosen alpha are computed again by plain formulas. A peer that stops early runs again at the
first tolerance that is as good as ours; that run is compared, and the notes say so. A peer that never gets there does
not count; if that is scikit-learn, its worse result is compared (marked ≥).
Read ratios, not seconds: they move less from machine to machine.
"""
COLUMNS = (
    *("row", "scikit-learn", "best peer", "ours", "first call", "floor", "scikit-learn / ours", "peer / ours"),
    *("ours / floor", "aim", "MiB ours", "MiB scikit-learn", ""),
)


def render(report: dict[str, Any], before: str = "") -> str:
    """The page in Markdown; rows that the report has not measured stay as they are on the page `before`."""
    measured = [row for row in report["rows"] if row["status"] == "measured"]
    new = {row["row"]: ("| " + " | ".join(_cells(row)) + " |", "; ".join(_notes(row))) for row in measured}
    place = {row.name: number for number, row in enumerate(ROWS)}
    rows = dict(sorted((_kept(before) | new).items(), key=lambda row: place.get(row[0], len(place))))
    lines = [_head(report, measured), "| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += [line for line, _ in rows.values()]
    lines += ["", _summary(line for line, _ in rows.values()), "", "## Notes to the rows", ""]
    lines += [f"- **{name}**: {note}." for name, (_, note) in rows.items() if note]
    skipped = [f"{row['row']} ({row['note']})" for row in report["rows"] if row["row"] not in rows]
    lines += ["", "Not measured: " + "; ".join(skipped) + "."] if skipped else []
    found = {name: entry for name, entry in report["imports"].items() if "seconds" in entry}
    imports = [f"{name} {_seconds(entry['seconds'])}" for name, entry in found.items()]
    return "\n".join([*lines, "", "Import alone, in a fresh process: " + ", ".join(imports) + ".", ""])


def _kept(page: str) -> dict[str, tuple[str, str]]:
    """Line and note of each row of a page, with where and when it was measured."""
    notes = dict(re.findall(r"^- \*\*(.+?)\*\*: (.+)\.$", page, re.MULTILINE))
    where = re.search(r"^Measured on (.+), \d+ threads, ([^;]+);", page, re.MULTILINE)
    words = f"measured on {where[1]}, {where[2]}" if where else ""
    lines = {line[2:].split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    lines.pop(COLUMNS[0], None)
    kept = {name: [note for note in (notes.get(name, ""), words) if note] for name, line in lines.items()}
    return {
        name: (lines[name], parts[0] if "measured on " in parts[0] else "; ".join(parts))
        for name, parts in kept.items()
    }


def join(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several runs on one page, under the head of the first: of a row measured twice the later one."""
    rows = list({row["row"]: row for report in reports for row in report["rows"]}.values())
    dates = sorted({report["date"] for report in reports})
    ceilings = {name: rate for report in reversed(reports) for name, rate in report["ceilings"].items()}
    return reports[0] | {"rows": rows, "ceilings": ceilings, "date": " to ".join(dict.fromkeys((dates[0], dates[-1])))}


def verdict(row: dict[str, Any]) -> str:
    """'ahead', 'short' of the aim, 'loses' to somebody, 'alone' where nobody else can; 'uncertified' or 'worse choice'
    where ours is not good.
    """
    ours, ratios = row["contenders"][0], row["ratios"]
    if ours["status"] != "ok":
        return str(ours["status"])
    if ours.get("quality", {}).get("ok") is False:
        return "uncertified"
    errors = [e["quality"]["choice_error"] for e in row["contenders"] if "choice_error" in e.get("quality", {})]
    if errors and errors[0] > min(errors) * (1 + 1e-9):
        return "worse choice"
    if len(row["contenders"]) == 1:
        return "alone"
    if min(ratio for ratio in (ratios["scikit_learn"], ratios["best_peer"], 1e9) if ratio is not None) < 1:
        return "loses"
    return "short" if row["aim"] and (ratios["scikit_learn"] or 0) < row["aim"] else "ahead"


def _cells(row: dict[str, Any]) -> list[str]:
    by_name = {entry["name"]: entry for entry in row["contenders"]}
    ours, peer = by_name[OURS], by_name.get(row["best_peer"])
    reference = by_name.get(row["reference"], {"status": "–"})  # nobody else reads these rows
    ratios, word = row["ratios"], verdict(row)
    bound = "≥ " if reference.get("shortfall") or reference["status"] == "late" else ""
    return [
        row["row"],
        _time(reference) + (" (scaled)" if reference.get("scaled") else ""),
        f"{_time(peer)} {peer['name']}" if peer else "–",
        _time(ours),
        _seconds(ours.get("first")),
        _seconds(row["floor"]),
        bound + _factor(ratios["scikit_learn"]),
        _factor(ratios["best_peer"]),
        _factor(ratios["floor"]),
        _factor(row["aim"]),
        _whole(ours.get("memory")),
        _whole(reference.get("memory")),
        {"ahead": "", "loses": "**loses**"}.get(word, word) + (" (noisy)" if _busy(row) > BUSY else ""),
    ]


def _busy(row: dict[str, Any]) -> float:
    return max((entry.get("others", 0.0) for entry in row["contenders"]), default=0.0)


def _notes(row: dict[str, Any]) -> list[str]:
    notes = [row["work"]["words"]] if row["work"] else []
    if _busy(row) > BUSY:
        notes.append(f"**measured beside other processes that took up to {_busy(row):.0%} of the machine**")
    for entry in row["contenders"]:
        if entry["status"] != "ok":
            notes.append(f"{entry['name']}: {entry['status']} ({entry['note']})")
            continue
        if entry.get("shortfall"):
            repeated = next((other for other in row["contenders"] if other.get("instead_of") == entry["name"]), None)
            remedy = f"compared as {repeated['name']}" if repeated else "no tolerance reaches our quality"
            notes.append(f"{entry['name']} in {_time(entry)}: {entry['shortfall']}, {remedy}")
        if entry["note"]:
            notes.append(f"{entry['name']} {entry['note']}")
        low, high = entry["spread"]
        if high > 1.5 * low:
            notes.append(f"{entry['name']} varied from {_seconds(low)} to {_seconds(high)}")
    return notes + _quality_note(row)


def _quality_note(row: dict[str, Any]) -> list[str]:
    judged = row["contenders"][0].get("quality", {})
    if "not_judged" in judged:
        return [f"not judged: {judged['not_judged']}"]
    words = []
    if "value" in judged:
        words.append(f"our {judged['kind']} {judged['value']:.1e} (allowed {judged['allowed']:.1e})")
    if "alpha" in judged:
        others = [entry for entry in row["contenders"] if "alpha" in entry.get("quality", {}) and not entry["scaled"]]
        choices = {entry["quality"]["alpha"] for entry in others}
        same = "the same alpha was chosen by all" if len(choices) == 1 < len(others) else f"alpha {judged['alpha']:.4g}"
        error = f", its cross-validation error {judged['choice_error']:.6g}" if "choice_error" in judged else ""
        words.append(same + error)
    return words


def _summary(lines: Iterable[str]) -> str:
    rows = [line[2:-2].split(" | ") for line in lines]
    factors = [cells[COLUMNS.index("scikit-learn / ours")].removeprefix("≥ ") for cells in rows]
    ratios = [float(factor.removesuffix("x")) for factor in factors if factor != "–"]
    mean = f"{exp(sum(map(log, ratios)) / len(ratios)):.1f}" if ratios else "–"
    words = [cells[-1].replace("(noisy)", "").strip(" *") or "ahead" for cells in rows]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"Geometric mean of scikit-learn / ours over {len(ratios)} rows: **{mean}**. Rows: {counts}."


def _head(report: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    found = {name: entry.get("version") for name, entry in report["imports"].items()}
    versions = ", ".join(f"{name} {found[name] or 'absent'}" for name in (OURS, SKLEARN, INTELEX))
    counts = [entry["repetitions"] for row in rows for entry in row["contenders"] if entry["status"] == "ok"]
    machine, ceilings = report["machine"], report["ceilings"]
    head = HEAD.format(
        **{name: machine[name] for name in ("processor", "threads", "python")},
        date=report["date"],
        versions=versions,
        repetitions=min(counts, default=0),
        dgemm=ceilings["dgemm_gflops"],
        read=ceilings["read_gbytes"],
        disk=f", files from the disk {ceilings['disk_gbytes']:.2f} GB/s" if "disk_gbytes" in ceilings else "",
    )
    return head + ("\n**A quick run on small data: these numbers mean nothing.**\n" if machine["quick"] else "")


def _time(entry: dict[str, Any]) -> str:
    if entry["status"] == "ok":
        return _seconds(entry["seconds"])
    return f"> {entry['above']:g} s" if entry["status"] == "late" else entry["status"]


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3g} s" if value >= 1 else f"{1e3 * value:.3g} ms" if value >= 1e-3 else f"{1e6 * value:.3g} µs"


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}x"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
