"""Print the table of methods, made from the code; with a file, put it between that file's markers.

Usage: python tools/methods_table.py [README.md]
"""

import sys
from pathlib import Path
from typing import Any

import tenfold

BEGIN = "<!-- methods:begin (made by tools/methods_table.py: do not edit) -->"
END = "<!-- methods:end -->"


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


def placed(page: str) -> str:
    """`page` with the table of now between its markers."""
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"the page needs the two lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    if len(sys.argv) == 1:
        print(table())
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(placed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
