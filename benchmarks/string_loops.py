"""Gram matrices of strings by plain Python: loops over the characters of each pair, and counts of substrings as nltk
makes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np


def count_ngrams(s: str, length: int) -> Counter[tuple[str, ...]]:
    """The substrings as tuples, in the way of `nltk.ngrams`: shifted copies that are zipped."""
    return Counter(zip(*(s[i:] for i in range(length)), strict=False))


def subsequence(s: str, t: str, length: int, decay: float = 0.5) -> float:
    """The recursion of Lodhi et al. 2002, a list for each level."""
    below = [[1.0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for level in range(1, length + 1):
        own, total = [[0.0] * (len(t) + 1) for _ in range(len(s) + 1)], 0.0
        for a, c in enumerate(s):
            running = 0.0
            for j, d in enumerate(t):
                running *= decay
                if c == d:
                    running += decay * decay * below[a][j]
                    total += decay * decay * below[a][j]
                own[a + 1][j + 1] = decay * own[a][j + 1] + running
        if level == length:
            return total
        below = own
    return 0.0


def spectrum(one: Counter[Any], other: Counter[Any]) -> float:
    """The inner product of counts."""
    if len(one) > len(other):
        one, other = other, one
    return float(sum(count * other[word] for word, count in one.items()))


class StringGram:
    """The kernel matrix of all pairs of strings."""

    def __init__(self, *, kernel: str, length: int) -> None:
        self.kernel, self.length = kernel, length

    def fit(self, X: Any, y: Any) -> StringGram:
        strings: list[Any] = [str(s) for s in np.ravel(X)]
        if self.kernel == "spectrum":
            strings = [count_ngrams(s, self.length) for s in strings]
        pair: Callable[[Any, Any], float] = (
            spectrum if self.kernel == "spectrum" else lambda s, t: subsequence(s, t, self.length)
        )
        self.gram_ = np.zeros((len(strings), len(strings)))
        for i, s in enumerate(strings):
            for j, t in enumerate(strings[: i + 1]):
                self.gram_[i, j] = self.gram_[j, i] = pair(s, t)
        return self
