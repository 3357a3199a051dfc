"""Print the tables of methods and of what runs where, made from the code; with a file, put them between its markers.

Usage: python tools/methods_table.py [docs/methods.md]
"""

import sys
from pathlib import Path
from typing import Any

import tenfold
from tenfold.estimators.contract import SOURCES

MARKERS = {
    name: (f"<!-- {name}:begin (made by tools/methods_table.py: do not edit) -->", f"<!-- {name}:end -->")
    for name in ("methods", "where")
}


def estimators() -> list[tuple[str, Any]]:
    """The public classes that say what they claim, by name."""
    public = ((name, getattr(tenfold, name)) for name in tenfold.__all__)
    return [(name, thing) for name, thing in public if isinstance(thing, type) and hasattr(thing, "_claims")]


def table() -> str:
    """The Markdown table: a row for every estimator."""
    head = ["class", "method", "reads the rows", "certificate", "in scikit-learn", "sources"]
    rows = []
    for name, cls in estimators():
        claims = cls._claims
        rows.append([f"`{name}`", claims.method, claims.data, claims.certificate, claims.peer or "-", claims.sources])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def where() -> str:
    """The Markdown table of what runs where; *parts* are rows that come one after the other, by `partial_fit`."""
    head = ["class", *SOURCES, "parts"]
    rows = []
    for name, cls in estimators():
        claims = [source in cls._claims.where for source in SOURCES]
        rows.append([f"`{name}`", *("yes" if claim else "-" for claim in (*claims, hasattr(cls, "partial_fit")))])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def placed(page: str) -> str:
    """`page` with the tables of now between their markers."""
    for name, make in {"methods": table, "where": where}.items():
        begin, end = MARKERS[name]
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"the page needs the two lines {begin} and {end}")
        page = f"{before}{begin}\n{make()}\n{end}{after}"
    return page


def main() -> None:
    if len(sys.argv) == 1:
        print(table(), where(), sep="\n\n")
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(placed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
