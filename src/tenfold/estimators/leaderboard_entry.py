"""How a class enters a leaderboard of a table: its settings there, and how its hyper-parameters are chosen."""

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
    """One line of a leaderboard.

    Attributes
    ----------
    name : the line's name, in words that a command can take: lower case and hyphens
    task : a key of `TASKS`
    settings : parameters of the constructor
    grid : values of parameters that inner folds choose among; empty where the class chooses by itself
    chosen, how : fitted attributes with what the class chose by a criterion of its own, and the criterion in words
    fast : whether it is among the first to be tried
    target : a key of `TARGETS`: targets it is made for
    most_columns : beyond these it takes gigabytes, and stays away unless it is asked for by name; what takes too long
        is seen from fits to small samples
    dense : whether it needs its columns dense
    scaled : whether it gets standardised columns; both are tried where both are here
    expands : whether it is linear, so that splines and products of features make it more
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
    dense: bool = False
    scaled: tuple[bool, ...] = (True,)
    expands: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS or self.target not in TARGETS:
            raise ValueError(f"an entry is for one of {', '.join(TASKS)}, and targets that are {', '.join(TARGETS)}")
