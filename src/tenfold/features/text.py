"""Columns of text as tf-idf weights of their words."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from tenfold.features.dtypes import as_text
from tenfold.features.frames import frame_of, pl
from tenfold.features.words import WordCounts, count_words

MIN_ROWS_FOR_PAIRS = 100  # texts from which pairs of words are counted; fewer hardly repeat one


def text_vectoriser(*, max_words: int, min_rows: int) -> TfidfVectorizer:
    """The vectoriser of texts, configured here only.

    `Texts` sets its vocabulary and inverse document frequencies from word counts that folds share; it is
    scikit-learn's class, and transforms texts by itself as well.
    """
    return TfidfVectorizer(max_features=max_words, min_df=min_rows, sublinear_tf=True)


def count_vocabulary(texts: pl.Series) -> int:
    """The number of words that `Texts` encodes without a limit: those in two texts, or in one of few texts."""
    return len(count_words(as_text(texts), keep=True).frequent(_min_rows(len(texts))))


def _min_rows(rows: int) -> int:
    return 2 if rows >= MIN_ROWS_FOR_PAIRS else 1


class Texts(TransformerMixin, BaseEstimator):
    """tf-idf weights of each column of text; names are ``column: word``. A missing text is an empty one.

    Parameters
    ----------
    max_words : int, default=20000
        The largest number of words of a column; the most frequent are encoded.

    Attributes
    ----------
    vectorisers_ : one for each column; None where it has no words.
    """

    def __init__(self, *, max_words: int = 20_000) -> None:
        self.max_words = max_words

    def fit(self, X: Any, y: Any = None) -> "Texts":
        """Learn the words of each column."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sparse.csr_array:
        """Learn the words and return their weights, in one pass over the texts."""
        return self._learn(X)

    def _learn(self, X: Any) -> sparse.csr_array:
        frame = frame_of(X)
        self.names_, self.n_features_in_ = list(frame.columns), frame.width
        self.vectorisers_: list[Any] = []
        self.names_out_: list[str] = []
        blocks = []
        for series in frame.get_columns():
            counts = count_words(as_text(series), keep=True)
            min_rows = _min_rows(frame.height)
            places = counts.most_frequent(min_rows, self.max_words)
            if not len(places):
                self.vectorisers_.append(None)
                continue
            vectoriser = text_vectoriser(max_words=self.max_words, min_rows=min_rows)
            words = [counts.words[place] for place in places]
            vectoriser.vocabulary_ = {word: column for column, word in enumerate(words)}
            vectoriser.fixed_vocabulary_ = False
            blocks.append(_fit_weights(vectoriser, counts))
            self.vectorisers_.append(vectoriser)
            self.names_out_ += [f"{series.name}: {word}" for word in words]
        return _hstack(blocks, frame.height)

    def transform(self, X: Any) -> sparse.csr_array:
        """Weights of words, sparse."""
        frame = frame_of(X)
        blocks = [
            _weigh(vectoriser, _select(vectoriser, count_words(as_text(series))))
            for series, vectoriser in zip(frame.get_columns(), self.vectorisers_, strict=True)
            if vectoriser is not None
        ]
        return _hstack(blocks, frame.height)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features that `transform` returns."""
        return np.asarray(self.names_out_, dtype=object)


def _hstack(blocks: list[Any], rows: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack(blocks, format="csr") if blocks else (rows, 0))


def _fit_weights(vectoriser: TfidfVectorizer, word_counts: WordCounts) -> sparse.csr_array:
    """Learn the inverse document frequencies of the vocabulary, and weigh the texts."""
    counts = _select(vectoriser, word_counts)
    vectoriser.idf_ = TfidfTransformer(sublinear_tf=vectoriser.sublinear_tf).fit(counts).idf_
    return _weigh(vectoriser, counts)


def _select(vectoriser: TfidfVectorizer, word_counts: WordCounts) -> sparse.csr_array:
    """Counts of the words of the vocabulary, in its columns."""
    known = vectoriser.vocabulary_
    return word_counts.columns(
        np.asarray([known.get(word, -1) for word in word_counts.words], dtype=np.int64), len(known)
    )


def _weigh(vectoriser: TfidfVectorizer, counts: sparse.csr_array) -> sparse.csr_array:
    weights = TfidfTransformer(sublinear_tf=vectoriser.sublinear_tf)
    weights.idf_ = vectoriser.idf_
    return weights.transform(counts, copy=False)
