"""Print the tables of methods and of what runs where, made from the code; with a file, put them between its markers.

Usage: python tools/methods_table.py [docs/methods.md]
"""

import sys
from pathlib import Path

from tenfold.estimators.registration import SOURCES, list_registered

MARKERS = {
    name: (f"<!-- {name}:begin (made by tools/methods_table.py: do not edit) -->", f"<!-- {name}:end -->")
    for name in ("methods", "where")
}


def table() -> str:
    """The Markdown table: a row for every estimator."""
    head = ["class", "method", "reads the samples", "certificate", "in scikit-learn", "sources"]
    rows = []
    for name, cls in list_registered().items():
        said = cls._registration
        kinds = " or ".join(said.certificate) + (", on demand" if said.certificate and not said.judged else "")
        texts = ", ".join(said.texts)
        rows.append([f"`{name}`", said.method, " or ".join(said.reads), kinds or "-", said.peer or "-", texts or "-"])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def where() -> str:
    """The Markdown table of what runs where; *parts* are rows that come one after the other, by `partial_fit`."""
    head = ["class", *SOURCES, "parts"]
    rows = []
    for name, cls in list_registered().items():
        said = [source in cls._registration.where for source in SOURCES]
        rows.append([f"`{name}`", *("yes" if claim else "-" for claim in (*said, hasattr(cls, "partial_fit")))])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def place_tables(page: str) -> str:
    """`page` with the tables of now between their markers."""
    for name, make in {"methods": table, "where": where}.items():
        begin, end = MARKERS[name]
        before, result, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (result and closed):
            raise SystemExit(f"the page needs the two lines {begin} and {end}")
        page = f"{before}{begin}\n{make()}\n{end}{after}"
    return page


def main() -> None:
    if len(sys.argv) == 1:
        print(table(), where(), sep="\n\n")
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(place_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
