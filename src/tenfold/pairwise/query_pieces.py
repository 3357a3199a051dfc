"""Queries in pieces: compiled loops do not look for Ctrl-C, so no call of them may take long."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np

FIRST_PIECE_READS = 1 << 28  # values that the first piece reads; the size of the next follows from the time it took
SHORT_CALL_SECONDS, LONG_CALL_SECONDS = 0.1, 0.3  # shorter calls get twice as many queries, longer ones half as many


def cut_queries(queries: int, reads_per_query: int) -> Iterator[slice]:
    """Slices of the queries, where each of them reads so many values; results do not depend on the cut."""
    size, begin = max(1, FIRST_PIECE_READS // max(1, reads_per_query)), 0
    while begin < queries:
        start = perf_counter()
        yield slice(begin, min(queries, begin + size))
        seconds = perf_counter() - start
        begin += size
        size = 2 * size if seconds < SHORT_CALL_SECONDS else max(1, size // 2) if seconds > LONG_CALL_SECONDS else size


def take_piece(values: np.ndarray | None, piece: slice) -> np.ndarray | None:
    """The values of some queries, where there are any."""
    return None if values is None else values[piece]
