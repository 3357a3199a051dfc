"""Several statistics from one pass over the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tenfold.data import Block, resolve


@dataclass(frozen=True, slots=True)
class Several:
    """Statistics of the same rows."""

    parts: tuple[Any, ...]

    def merge(self, other: "Several") -> "Several":
        return Several(tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True)))

    def result(self) -> "Several":
        """Without pending parts."""
        return Several(tuple(map(resolve, self.parts)))


def together(lifts: Sequence[Callable[[Block], Any]]) -> Callable[[Block], Several]:
    """The lift of all that `lifts` lift."""
    return partial(_together, tuple(lifts))


def _together(lifts: tuple[Callable[[Block], Any], ...], block: Block) -> Several:
    return Several(tuple(lift(block) for lift in lifts))
