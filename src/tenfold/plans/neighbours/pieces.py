"""Queries a few at a time: compiled searches do not look for Ctrl-C, so none of them may take long."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

FIRST = 1 << 28
"""Numbers that the first queries read together; how many the next are depends on the time these took."""
SHORT, LONG = 0.1, 0.3
"""Seconds of a call: below the one queries become twice as many, above the other half as many."""


def in_pieces(queries: int, each: int) -> Iterator[slice]:
    """Which queries are asked together, where one of them reads so many numbers; answers do not depend on it."""
    size, begin = max(1, FIRST // max(1, each)), 0
    while begin < queries:
        start = perf_counter()
        yield slice(begin, min(queries, begin + size))
        seconds = perf_counter() - start
        begin += size
        size = 2 * size if seconds < SHORT else max(1, size // 2) if seconds > LONG else size


def some(values: np.ndarray | None, piece: slice) -> np.ndarray | None:
    """Those of some queries."""
    return None if values is None else values[piece]
