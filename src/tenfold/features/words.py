"""Word counts of texts, tokenised once for all folds of a table, by the compiled loop of the vectorisers.

A word is a run of two or more letters, digits or underscores, in lower case, as in scikit-learn's `CountVectorizer`.
Folds of a table share their texts, and tokenising dominates the cost: inside `share_counts` the counts of the columns
that an encoder was fitted to are cached.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from tenfold import _core
from tenfold.arrays import Integers
from tenfold.features.frames import pl
from tenfold.features.ngram_rules import word_rules
from tenfold.machine import threads

CHUNK_BYTES = 1 << 24  # of text that is tokenised at a time
CACHE_BYTES = 1 << 28  # of cached counts and texts


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of each word in each text.

    Attributes
    ----------
    words : the distinct words, in order.
    counts : csr_array of texts by words.
    """

    words: list[str]
    counts: sparse.csr_array

    @property
    def nbytes(self) -> int:
        """Memory of the counts."""
        return int(self.counts.data.nbytes + self.counts.indices.nbytes + self.counts.indptr.nbytes)

    def frequent(self, min_rows: int) -> Integers:
        """Indices of the words in at least `min_rows` texts."""
        return np.flatnonzero(np.bincount(self.counts.indices, minlength=len(self.words)) >= min_rows)

    def most_frequent(self, min_rows: int, max_words: int) -> Integers:
        """Indices of the words in at least `min_rows` texts; of more than `max_words`, the most frequent."""
        places = self.frequent(min_rows)
        if len(places) > max_words:
            totals = np.bincount(self.counts.indices, self.counts.data, minlength=len(self.words))[places]
            places = np.sort(places[np.argsort(-totals, kind="stable")[:max_words]])
        return places

    def columns(self, new: Integers, width: int) -> sparse.csr_array:
        """The counts with word j in column ``new[j]`` of `width`; words with -1 are left out."""
        indices = new[self.counts.indices]
        kept = indices >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[self.counts.indptr]
        kind = np.int32 if max(int(ends[-1]), width) < 2**31 else np.int64
        matrix = sparse.csr_array(
            (self.counts.data[kept], indices[kept].astype(kind), ends.astype(kind)),
            shape=(self.counts.shape[0], width),
        )
        matrix.sort_indices()
        return matrix


CountsCache = deque[tuple[pl.Series, WordCounts]]
_shared: ContextVar[CountsCache | None] = ContextVar("_shared", default=None)
"""The distinct texts of columns with their counts, the oldest first; None outside of `share_counts`."""


@contextmanager
def share_counts() -> Iterator[CountsCache]:
    """A context that caches the word counts of fitted columns, for folds of the same table."""
    shared: CountsCache = deque()
    token = _shared.set(shared)
    try:
        yield shared
    finally:
        _shared.reset(token)


def count_words(texts: pl.Series, *, keep: bool = False) -> WordCounts:
    """Counts of the words of each text; a missing text is an empty one.

    Parameters
    ----------
    texts : column of strings
    keep : bool, default=False
        Whether the counts are cached, inside `share_counts`.
    """
    texts = texts.fill_null("")
    shared = _shared.get()
    for known, counts in tuple(shared or ()):
        if len(texts) and not (known == texts[-1]).any():  # a cheap test before the full lookup
            continue
        places = _indices(texts, known)
        if not places.null_count():
            return WordCounts(counts.words, counts.counts[places.to_numpy()])
    distinct = texts.unique(maintain_order=True)
    counts = _tokenise(distinct)
    if keep and shared is not None:
        shared.append((distinct, counts))
        while sum(texts.estimated_size() + counts.nbytes for texts, counts in shared) > CACHE_BYTES:
            shared.popleft()
    if len(distinct) == len(texts):
        return counts
    return WordCounts(counts.words, counts.counts[_indices(texts, distinct).to_numpy()])


def _indices(texts: pl.Series, known: pl.Series) -> pl.Series:
    """The index of each text among distinct ones; null without one."""
    return texts.replace_strict(known, np.arange(len(known)), default=None, return_dtype=pl.Int64)


def _tokenise(texts: pl.Series) -> WordCounts:
    counted = _core.TermCounts()
    for chunk in _chunks(texts):
        # Python knows the lower case of letters that are not in ASCII; the compiled loop that of the others
        lower = [text if text.isascii() else text.lower() for text in chunk.to_list()]
        counted.add(lower, word_rules(), threads())
    columns = np.empty(counted.terms, dtype=np.int64)
    columns[counted.order(threads())] = np.arange(counted.terms)
    ends, indices, values = counted.matrix(columns, threads())
    vocabulary = counted.vocabulary(columns)
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    kind = np.int32 if len(indices) < 2**31 else np.int64
    counts = sparse.csr_array(
        (values.astype(np.float64), indices.astype(kind, copy=False), np.concatenate([[0], ends]).astype(kind)),
        shape=(len(texts), len(words)),
    )
    counts.sort_indices()
    return WordCounts(words, counts)


def _chunks(texts: pl.Series) -> Iterator[pl.Series]:
    """Parts of about equal bytes, at least one."""
    ends = texts.str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, np.arange(CHUNK_BYTES, total, CHUNK_BYTES), side="left") + 1
    edges = [0, *np.unique(np.minimum(cuts, len(texts))).tolist()]
    for begin, end in pairwise([*edges, len(texts)]):
        yield texts[begin:end]
