"""Several statistics from one pass over the samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tenfold.data import Block, resolve


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple of statistics of the same samples, merged part by part."""

    parts: tuple[Any, ...]

    def merge(self, other: "Several") -> "Several":
        return Several(tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True)))

    def result(self) -> "Several":
        """With deferred parts resolved."""
        return Several(tuple(map(resolve, self.parts)))


def combine(lifts: Sequence[Callable[[Block], Any]]) -> Callable[[Block], Several]:
    """The lift of all statistics of `lifts` in one pass."""
    return partial(_combine, tuple(lifts))


def _combine(lifts: tuple[Callable[[Block], Any], ...], block: Block) -> Several:
    return Several(tuple(lift(block) for lift in lifts))
