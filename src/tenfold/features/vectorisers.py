"""Texts as counts, weights and hashed counts of their terms: scikit-learn's vectorisers, compiled."""

import weakref
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import text as sklearn_text
from sklearn.preprocessing import normalize

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.features.ngram_rules import Documents, is_compiled
from tenfold.machine import threads

HASHED_DTYPES = (np.float64, np.float32, np.int64, np.int32)

align_api: Any = sklearn_text._align_api_if_sparse

_tables: Any = weakref.WeakKeyDictionary()
"""The compiled table of the vocabulary of a vectoriser: (the vocabulary, its length, table, columns)."""


def _table_of(model: Any) -> tuple[Any, Integers] | None:
    """The compiled table of a vocabulary, and the columns of its terms; None where terms are no texts."""
    terms = model.vocabulary_
    last = _tables.get(model)
    if last is not None and last[0] is terms and last[1] == len(terms):
        return last[2], last[3]
    if not all(isinstance(term, str) for term in terms):
        return None
    table = _core.TermCounts()
    table.insert(list(terms))
    columns = np.fromiter(terms.values(), dtype=np.int64, count=len(terms))
    _tables[model] = (terms, len(terms), table, columns)
    return table, columns


def _as_csr(parts: list[Any], shape: tuple[int, int], dtype: Any) -> sparse.csr_array:
    """A matrix of blocks of rows, (end of each row, columns, values)."""
    entries = sum(len(columns) for _, columns, _ in parts)
    kind = np.int32 if entries <= np.iinfo(np.int32).max else np.int64
    begins = np.cumsum([0, *(len(columns) for _, columns, _ in parts)])
    pointers = [np.zeros(1, dtype=kind)]
    pointers += [(ends + begin).astype(kind) for (ends, _, _), begin in zip(parts, begins, strict=False)]
    if len(parts) == 1:
        _, columns, values = parts[0]
    else:
        empty = np.zeros(0, dtype=np.int32)
        columns = np.concatenate([empty, *(columns for _, columns, _ in parts)])
        values = np.concatenate([empty, *(values for _, _, values in parts)])
    indices = columns.astype(kind, copy=False)
    return sparse.csr_array((values, indices, np.concatenate(pointers)), shape=shape, dtype=dtype)


class CountVectorizer(sklearn_text.CountVectorizer):
    """Counts of the terms of texts.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        What the documents are: names of files, objects with a `read` method, or the texts themselves, str or bytes.
    encoding : str, default="utf-8"
        The encoding of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What is done with bytes that are no text in this encoding.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves only ASCII, "unicode" removes combining marks; or a function of the text.
    lowercase : bool, default=True
        Whether texts are put into lower case.
    preprocessor : callable, default=None
        A function of the text in place of lower case and accents; runs in Python.
    tokenizer : callable, default=None
        A function from the text to its tokens; runs in Python.
    stop_words : "english" or list, default=None
        Words that are left out.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        The regular expression of a token. Words of at least one or two letters, digits and underscores run compiled,
        others by `re`.
    ngram_range : tuple (int, int), default=(1, 1)
        The smallest and the largest n of the n-grams.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        N-grams of words, of characters, or of characters inside words, which are padded with blanks; or a function
        from the document to its features, which runs in Python.
    max_df : float or int, default=1.0
        Terms in more documents are left out: a fraction (float) or a number (int).
    min_df : float or int, default=1
        Terms in fewer documents are left out: a fraction (float) or a number (int).
    max_features : int, default=None
        Only so many terms are kept, the most frequent.
    vocabulary : mapping or iterable, default=None
        Terms and their columns, or the terms alone; None to learn them.
    binary : bool, default=False
        Whether counts above zero become one.
    dtype : dtype, default=np.int64
        The dtype of the result.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term, in the order of first occurrence.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Notes
    -----
    Tokens are cut, counted and sorted in compiled code on several threads, the output is scikit-learn's, bit for bit.
    A pattern of one's own runs Python's `re`, and functions run in Python, as in scikit-learn and as slowly. What is a
    letter or a space the running interpreter says. Runs on the CPU, in one pass over the texts. Cookbook, section 4.5;
    Seeger, section 6.5; Welling, chapter 1.

    Examples
    --------
    >>> from tenfold import CountVectorizer
    >>> vectoriser = CountVectorizer()
    >>> vectoriser.fit_transform(["one two", "two three"]).toarray()
    array([[1, 0, 1],
           [0, 1, 1]])
    >>> vectoriser.vocabulary_
    {'one': 0, 'two': 2, 'three': 1}
    """

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the terms of `raw_documents` and return their counts, sparse, a row for each; `y` is ignored."""
        if isinstance(raw_documents, str) or self.vocabulary is not None or not is_compiled(self):
            return super().fit_transform(raw_documents, y)
        self._validate_params()
        self._warn_for_unused_params()
        self._validate_vocabulary()
        counts = _core.TermCounts()
        for chunk, rules in Documents(self).chunks(raw_documents):
            counts.add(chunk, rules, threads())
        if counts.terms == 0:
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        columns = self._select_terms(counts)
        X = _as_csr([counts.matrix(columns, threads())], (counts.texts, int(columns.max()) + 1), self.dtype)
        if self.binary:
            X.data.fill(1)
        self.vocabulary_ = counts.vocabulary(columns)
        return align_api(X)

    def _select_terms(self, counts: Any) -> Integers:
        """The column of each term, in the order of their code points; -1 for those that the limits leave out."""
        rows = counts.texts
        most = self.max_df if isinstance(self.max_df, Integral) else self.max_df * rows
        least = self.min_df if isinstance(self.min_df, Integral) else self.min_df * rows
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        in_texts, occurrences = counts.totals()
        order = counts.order(threads())
        kept = ((in_texts <= most) & (in_texts >= least))[order]
        if self.max_features is not None and kept.sum() > self.max_features:
            # in scikit-learn's order and dtype, which decide between terms of equal frequency
            totals = (in_texts if self.binary else occurrences)[order][kept].astype(self._total_dtype())
            kept[np.flatnonzero(kept)[(-totals).argsort()[self.max_features :]]] = False
        if not kept.any():
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        columns = np.empty(len(order), dtype=np.int64)
        columns[order] = np.where(kept, np.cumsum(kept) - 1, -1)
        return columns

    def _total_dtype(self) -> Any:
        """The dtype of the sums of columns of a matrix of counts."""
        return sparse.csr_array((1, 1), dtype=self.dtype).sum(axis=0).dtype

    def _count_vocab(self, raw_documents: Any, fixed_vocab: bool) -> Any:
        """scikit-learn's hook: the vocabulary, and the counts of its terms."""
        known = _table_of(self) if fixed_vocab and is_compiled(self) else None
        if known is None:
            return super()._count_vocab(raw_documents, fixed_vocab)
        table, columns = known
        parts = [
            table.count(chunk, rules, columns, threads()) for chunk, rules in Documents(self).chunks(raw_documents)
        ]
        shape = (sum(len(ends) for ends, _, _ in parts), len(columns))
        return self.vocabulary_, align_api(_as_csr(parts, shape, self.dtype))


class TfidfTransformer(sklearn_text.TfidfTransformer):
    """Counts multiplied with inverse document frequencies, idf = log(n / df) + 1, and scaled rows.

    Parameters
    ----------
    norm : {"l1", "l2"}, default="l2"
        The norm to which rows are scaled; None for none.
    use_idf : bool, default=True
        Whether counts are multiplied with inverse document frequencies.
    smooth_idf : bool, default=True
        Whether document frequencies are those with one more document that has every term.
    sublinear_tf : bool, default=False
        Whether a count c becomes 1 + log(c).

    Attributes
    ----------
    idf_ : ndarray of shape (p,)
        Inverse document frequencies; only where these are used.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (p,)
        Their names, where X has some.

    Notes
    -----
    scikit-learn's class: its cost is that of three passes over the entries. Runs on the CPU. With `smooth_idf` n and df
    are one larger.
    Cookbook, section 4.5.

    Examples
    --------
    >>> from tenfold import TfidfTransformer
    >>> TfidfTransformer(norm=None).fit_transform([[1, 0], [1, 2]]).toarray().round(3)
    array([[1.   , 0.   ],
           [1.   , 2.811]])
    """

    def fit(self, X: Any, y: Any = None) -> "TfidfTransformer":
        """Learn the inverse document frequencies of counts X; `y` is ignored."""
        super().fit(X, y)
        return self

    def transform(self, X: Any, copy: bool = True) -> Any:
        """The weights of counts X, sparse; X is overwritten where `copy` is False."""
        return super().transform(X, copy=copy)


class TfidfVectorizer(sklearn_text.TfidfVectorizer, CountVectorizer):
    """Texts as the weights of their terms: `CountVectorizer`, and then `TfidfTransformer`.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        What the documents are: names of files, objects with a `read` method, or the texts themselves, str or bytes.
    encoding : str, default="utf-8"
        The encoding of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What is done with bytes that are no text in this encoding.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves only ASCII, "unicode" removes combining marks; or a function of the text.
    lowercase : bool, default=True
        Whether texts are put into lower case.
    preprocessor : callable, default=None
        A function of the text in place of lower case and accents; runs in Python.
    tokenizer : callable, default=None
        A function from the text to its tokens; runs in Python.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        N-grams of words, of characters, or of characters inside words, which are padded with blanks; or a function
        from the document to its features, which runs in Python.
    stop_words : "english" or list, default=None
        Words that are left out.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        The regular expression of a token. Words of at least one or two letters, digits and underscores run compiled,
        others by `re`.
    ngram_range : tuple (int, int), default=(1, 1)
        The smallest and the largest n of the n-grams.
    max_df : float or int, default=1.0
        Terms in more documents are left out: a fraction (float) or a number (int).
    min_df : float or int, default=1
        Terms in fewer documents are left out: a fraction (float) or a number (int).
    max_features : int, default=None
        Only so many terms are kept, the most frequent.
    vocabulary : mapping or iterable, default=None
        Terms and their columns, or the terms alone; None to learn them.
    binary : bool, default=False
        Whether counts above zero become one.
    dtype : dtype, default=np.float64
        The dtype of the result.
    norm : {"l1", "l2"}, default="l2"
        The norm to which rows are scaled; None for none.
    use_idf : bool, default=True
        Whether counts are multiplied with inverse document frequencies.
    smooth_idf : bool, default=True
        Whether document frequencies are those with one more document that has every term.
    sublinear_tf : bool, default=False
        Whether a count c becomes 1 + log(c).

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term, in the order of first occurrence.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : ndarray of shape (p,)
        Inverse document frequencies; only where these are used.

    Notes
    -----
    Tokens are cut, counted and sorted in compiled code on several threads, the output is scikit-learn's, bit for bit.
    A pattern of one's own runs Python's `re`, and functions run in Python, as in scikit-learn and as slowly. What is a
    letter or a space the running interpreter says. Runs on the CPU, in one pass over the texts. Cookbook, section 4.5;
    Seeger, section 6.5; Welling, chapter 1.

    Examples
    --------
    >>> from tenfold import TfidfVectorizer
    >>> TfidfVectorizer(norm=None).fit_transform(["one two", "two two"]).toarray().round(3)
    array([[1.405, 1.   ],
           [0.   , 2.   ]])
    """

    def fit(self, raw_documents: Any, y: Any = None) -> "TfidfVectorizer":
        """Learn the terms of `raw_documents` and their inverse document frequencies; `y` is ignored."""
        super().fit(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn from `raw_documents`, and return their weights, sparse; `y` is ignored."""
        return super().fit_transform(raw_documents, y)

    def transform(self, raw_documents: Any) -> Any:
        """The weights of the terms of `raw_documents`, sparse."""
        return super().transform(raw_documents)

    @property
    def idf_(self) -> Floats:
        """Inverse document frequencies."""
        return np.asarray(super().idf_)

    @idf_.setter
    def idf_(self, value: Any) -> None:
        sklearn_text.TfidfVectorizer.idf_.fset(self, value)


class HashingVectorizer(sklearn_text.HashingVectorizer):
    """Counts of the terms of texts in columns that are hashes of the terms: nothing is learned.

    Parameters
    ----------
    input : {"filename", "file", "content"}, default="content"
        What the documents are: names of files, objects with a `read` method, or the texts themselves, str or bytes.
    encoding : str, default="utf-8"
        The encoding of bytes and files.
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        What is done with bytes that are no text in this encoding.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Remove accents: "ascii" leaves only ASCII, "unicode" removes combining marks; or a function of the text.
    lowercase : bool, default=True
        Whether texts are put into lower case.
    preprocessor : callable, default=None
        A function of the text in place of lower case and accents; runs in Python.
    tokenizer : callable, default=None
        A function from the text to its tokens; runs in Python.
    stop_words : "english" or list, default=None
        Words that are left out.
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        The regular expression of a token. Words of at least one or two letters, digits and underscores run compiled,
        others by `re`.
    ngram_range : tuple (int, int), default=(1, 1)
        The smallest and the largest n of the n-grams.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        N-grams of words, of characters, or of characters inside words, which are padded with blanks; or a function
        from the document to its features, which runs in Python.
    n_features : int, default=1048576
        The number of columns.
    binary : bool, default=False
        Whether sums become one.
    norm : {"l1", "l2"}, default="l2"
        The norm to which rows are scaled; None for none.
    alternate_sign : bool, default=True
        Whether the sign of a term is that of its hash, so that collisions cancel on average.
    dtype : dtype, default=np.float64
        The dtype of the result.

    Notes
    -----
    Tokens are cut, counted and hashed in compiled code on several threads, the output is scikit-learn's, bit for bit.
    A pattern of one's own runs Python's `re`, and functions run in Python, as in scikit-learn and as slowly. What is a
    letter or a space the running interpreter says. Runs on the CPU, in one pass over the texts. Cookbook, section 4.5;
    Seeger, section 6.5; Welling, chapter 1.

    Examples
    --------
    >>> from tenfold import HashingVectorizer
    >>> HashingVectorizer(n_features=4, norm=None).transform(["one two two", "three"]).toarray()
    array([[1., 0., 0., 0.],
           [0., 0., 0., 1.]])
    """

    def transform(self, X: Any) -> Any:
        """The rows of the documents X, sparse."""
        if isinstance(X, str) or not is_compiled(self) or self.dtype not in HASHED_DTYPES:
            return super().transform(X)
        self._validate_ngram_range()
        parts = []
        for chunk, rules in Documents(self).chunks(X):
            if self.analyzer != "word":  # surrogates that stand alone have no bytes to hash
                [text.encode() for text in chunk if not text.isascii()]
            parts.append(_core.hash_texts(chunk, rules, self.n_features, bool(self.alternate_sign), threads()))
        rows = sum(len(ends) for ends, _, _ in parts)
        if rows == 0:
            raise ValueError("Cannot vectorize empty sequence.")
        result = _as_csr(parts, (rows, self.n_features), self.dtype)
        if self.binary:
            result.data.fill(1)
        if self.norm is not None:
            result = normalize(result, norm=self.norm, copy=False)
        return align_api(result)
