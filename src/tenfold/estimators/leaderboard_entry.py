"""Entries of estimators in leaderboards: their settings, and how their hyper-parameters are selected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TASKS = {
    "regression": "a target of numbers",
    "classification": "a target of classes",
    "structure": "no target",
}
TARGETS = {
    "any": "any",
    "counts": "numbers that are zero or more, and some zero or all whole",
    "positive": "numbers above zero",
}


@dataclass(frozen=True)
class Entry:
    """An entry of a leaderboard.

    Attributes
    ----------
    name : name for the command line, in lower case with hyphens
    task : a key of `TASKS`
    settings : parameters of the constructor
    grid : values of parameters for inner cross-validation; empty where the class selects them itself
    chosen, how : fitted attributes with the values that the class selected, and its criterion in words
    fast : whether it is tried among the first
    target : a key of `TARGETS`, the targets it supports
    most_columns : with more columns it takes gigabytes, and is left out unless requested by name; run times are
        extrapolated from fits to small samples
    most_rows : likewise for rows, where the cost grows with their square or cube
    fewest_rows : with fewer rows another class does the same at no greater cost, and it is left out unless requested
    dense : whether it needs dense columns
    scaled : whether columns are standardised; both variants are tried where both are listed
    expands : whether it is linear, so that splines and products of features extend it
    """

    name: str
    task: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    how: str = ""
    fast: bool = True
    target: str = "any"
    most_columns: int | None = None
    most_rows: int | None = None
    fewest_rows: int = 0
    dense: bool = False
    scaled: tuple[bool, ...] = (True,)
    expands: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS or self.target not in TARGETS:
            raise ValueError(f"an entry is for one of {', '.join(TASKS)}, and targets that are {', '.join(TARGETS)}")
