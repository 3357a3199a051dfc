"""Print the table of losses and penalties, made from the plan that decides; with a file, put it between its markers.

Usage: python tools/losses_table.py [docs/glm.md]
"""

import sys
from pathlib import Path

import numpy as np

from tenfold.plans.loss_penalty_table import LOSSES, PERCEPTRON, Method, penalty_of, select_method

BEGIN = "<!-- losses:begin (made by tools/losses_table.py: do not edit) -->"
END = "<!-- losses:end -->"

PENALTIES = {
    'None, "l2"': ["l2", 1.0],
    '"l1", "elasticnet"': ["l1", 1.0],
    '"group"': ["group", 1.0],
    "one alpha per class": ["l2", np.ones(3)],
}
"""The columns: names of penalties, and what stands for them."""


def cell(loss_name: str, penalty_name: str) -> str:
    """What a pair gets, in words."""
    loss, (name, alpha) = LOSSES[loss_name](), PENALTIES[penalty_name]
    if np.ndim(alpha) and not loss.multi_output:
        return "-"
    result: Method = select_method(loss, penalty_of(name, alpha, 0.5, [0, 0, 1], 3))
    return f"{result.method}; {result.kind}" if result.kind else result.method


def table() -> str:
    """The Markdown table: a row for every loss."""
    head = ["loss", "targets", *PENALTIES]
    rows = []
    for name, make in LOSSES.items():
        loss = make()
        of = "classes" if loss.multi_output else "two classes" if loss.signs else "real"
        rows.append([f'"{name}"', of, *(cell(name, penalty) for penalty in PENALTIES)])
    rows.append(['"perceptron"', "two classes", *["refused"] * 3, "-"])
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join([*lines, "", f"*Refused*: {PERCEPTRON} {refusals()}"])


def refusals() -> str:
    """Why pairs are refused, each reason once."""
    penalties = [penalty_of(name, alpha, 0.5, [0, 0, 1], 3) for name, alpha in PENALTIES.values() if not np.ndim(alpha)]
    result = [select_method(make(), penalty).rejected for make in LOSSES.values() for penalty in penalties]
    return " ".join(dict.fromkeys(reason for reason in result if reason))


def place_tables(page: str) -> str:
    """`page` with the table of now between its markers."""
    before, result, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (result and closed):
        raise SystemExit(f"the page needs the two lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    if len(sys.argv) == 1:
        print(table())
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(place_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
