"""Bigrams of sequences of words, of which some are missing.

P(x_1, ..., x_n) = s(x_1) prod_j P(x_j | x_(j-1)). What EM needs of sequences are the counts of starts and of bigrams
that were seen, and the gaps: runs of missing words between a word, or the start, and another. Missing words at the end
say nothing, and are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.machine import spend

MISSING = -1


@dataclass(frozen=True)
class Bigrams:
    """Start probabilities (V,) and transitions (V, V), a row for the word before."""

    start: Floats
    transition: Floats


@dataclass(frozen=True)
class BigramCounts:
    """Weights of the starts (V,) and bigrams (V, V) that were seen; gaps (g, 3) of the word before, -1 at a start, the
    number of missing words, and the word after; their weights (g,); and the weight of the sequences that have words.
    """

    starts: Floats
    bigrams: Floats
    gaps: Integers
    weight: Floats
    sequences: float


@dataclass(frozen=True)
class ExpectedBigrams:
    """Expected bigrams (V, V) and starts (V,) in gaps, and the log probability of these."""

    bigrams: Floats
    starts: Floats
    value: float

    def merge(self, other: "ExpectedBigrams") -> "ExpectedBigrams":
        return ExpectedBigrams(self.bigrams + other.bigrams, self.starts + other.starts, self.value + other.value)


def expect(params: Bigrams, gaps: Integers, weight: Floats) -> ExpectedBigrams:
    """The expectations by the forward-backward recursion."""
    spend(2.0 * float(np.sum(gaps[:, 1])) * len(params.start) ** 2)
    transposed = np.ascontiguousarray(params.transition.T)
    return ExpectedBigrams(*_core.expect_bigrams(params.transition, transposed, params.start, gaps, weight))


def count_bigrams(words: Integers, offsets: Integers, weight: Floats, size: int) -> BigramCounts:
    """The counts of sequences of numbers of words, -1 where one is missing; sequence i has the words from offsets[i] to
    offsets[i + 1].
    """
    starts, bigrams = np.zeros(size), np.zeros(size * size)
    seen = np.flatnonzero(words != MISSING)
    of = np.searchsorted(offsets, seen, side="right") - 1  # the sequence of each word that is there
    first = np.ones(len(seen), dtype=bool)
    first[1:] = of[1:] != of[:-1]
    before = np.where(first, -1, np.concatenate([[-1], words[seen[:-1]]])[: len(seen)])
    skipped = np.where(first, seen - offsets[of], seen - np.concatenate([[0], seen[:-1]])[: len(seen)] - 1)
    own, after = weight[of], words[seen]
    direct = skipped == 0
    np.add.at(starts, after[direct & first], own[direct & first])
    pairs = before[direct & ~first] * size + after[direct & ~first]
    bigrams += np.bincount(pairs, weights=own[direct & ~first], minlength=size * size)
    gaps, which = np.unique(
        np.stack([before[~direct], skipped[~direct], after[~direct]], axis=1), axis=0, return_inverse=True
    )
    total: Floats = np.bincount(np.ravel(which), weights=own[~direct], minlength=len(gaps)).astype(np.float64)
    has_words = float(np.sum(weight[np.unique(of)]))
    inside = total > 0.0
    gaps = np.ascontiguousarray(gaps[inside], dtype=np.int64).reshape(-1, 3)
    return BigramCounts(starts, bigrams.reshape(size, size), gaps, total[inside], has_words)


def log_gaps(params: Bigrams, gaps: Integers) -> Floats:
    """The log probability of the word after each gap given the word before, (g,)."""
    result = np.zeros(len(gaps))
    for rows, forward, last, scale in propagate(params, gaps):
        with np.errstate(divide="ignore"):
            result[rows] = scale + np.log(np.einsum("gi,gi->g", forward[-1], last))
    return result


GAP_NUMBERS = 1 << 22  # of forward vectors that are kept at a time


def propagate(params: Bigrams, gaps: Integers) -> Iterator[tuple[Integers, list[Floats], Floats, Floats]]:
    """Pieces of gaps of one length: their numbers, forward vectors (g, V) of each missing word with sums one, the
    probabilities (g, V) of the word after, and the log of what was divided by.
    """
    V = len(params.start)
    for length in np.unique(gaps[:, 1]):
        whole = np.flatnonzero(gaps[:, 1] == length)
        piece = max(1, GAP_NUMBERS // (V * int(length)))
        for begin in range(0, len(whole), piece):
            rows = whole[begin : begin + piece]
            spend(float(len(rows)) * V * V * int(length))
            left = gaps[rows, 0]
            vector = np.where((left < 0)[:, None], params.start, params.transition[np.maximum(left, 0)])
            forward, scale = [vector], np.zeros(len(rows))
            for _ in range(int(length) - 1):
                vector = np.einsum("gi,ij->gj", vector, params.transition, optimize=False)
                total = np.sum(vector, axis=1)
                scale += np.log(np.where(total > 0.0, total, 1.0))
                vector = vector / np.where(total > 0.0, total, 1.0)[:, None]
                forward.append(vector)
            yield rows, forward, params.transition[:, gaps[rows, 2]].T, scale
