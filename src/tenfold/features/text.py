"""Columns of text as weights of their words."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer

from tenfold.features.canonical import as_text
from tenfold.features.frames import frame_of


def text_vectoriser(*, max_words: int, min_rows: int) -> Any:
    """What turns texts into rows of numbers: the one place where it is chosen.

    It has ``fit_transform(texts)`` and ``transform(texts)``, which give sparse matrices, and
    ``get_feature_names_out()``.
    """
    return TfidfVectorizer(max_features=max_words, min_df=min_rows, sublinear_tf=True)


class Texts(TransformerMixin, BaseEstimator):
    """Each column of text by a vectoriser of its own; names are ``column: word``. A missing text is an empty one.

    Parameters
    ----------
    max_words : int, default=20000
        Words of each column at most, the most frequent ones.

    Attributes
    ----------
    vectorisers_ : of each column; None where it has no words.
    """

    def __init__(self, *, max_words: int = 20_000) -> None:
        self.max_words = max_words

    def fit(self, X: Any, y: Any = None) -> "Texts":
        """Learn the words of each column."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sparse.csr_array:
        """Learn the words, and weigh them, in one pass over the texts."""
        return self._learn(X)

    def _learn(self, X: Any) -> sparse.csr_array:
        frame = frame_of(X)
        self.names_, self.n_features_in_ = list(frame.columns), frame.width
        self.vectorisers_: list[Any] = []
        self.names_out_: list[str] = []
        blocks = []
        for series in frame.get_columns():
            texts = as_text(series).fill_null("").to_list()
            vectoriser = text_vectoriser(max_words=self.max_words, min_rows=2 if len(texts) >= 100 else 1)
            try:
                blocks.append(vectoriser.fit_transform(texts))
            except ValueError:  # no words at all, or none in two rows
                self.vectorisers_.append(None)
                continue
            self.vectorisers_.append(vectoriser)
            self.names_out_ += [f"{series.name}: {word}" for word in vectoriser.get_feature_names_out()]
        return _beside(blocks, frame.height)

    def transform(self, X: Any) -> sparse.csr_array:
        """Weights of words, sparse."""
        frame = frame_of(X)
        blocks = [
            vectoriser.transform(as_text(series).fill_null("").to_list())
            for series, vectoriser in zip(frame.get_columns(), self.vectorisers_, strict=True)
            if vectoriser is not None
        ]
        return _beside(blocks, frame.height)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that `transform` gives."""
        return np.asarray(self.names_out_, dtype=object)


def _beside(blocks: list[Any], rows: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack(blocks, format="csr") if blocks else (rows, 0))
