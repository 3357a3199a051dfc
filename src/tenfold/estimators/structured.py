"""The structured perceptron: tags of sequences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import DictVectorizer
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.estimators.contract import all_or_nothing
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, random_state
from tenfold.judge import RULES, Certificate
from tenfold.solvers.loop import Status


class Tokens(NamedTuple):
    """All tokens of all sequences as one CSR matrix; sequence s has those from offsets[s] to offsets[s + 1]."""

    X: Array
    offsets: Integers

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As the compiled loop reads them."""
        X = self.X
        return X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64), self.offsets


@dataclass(frozen=True)
class TagPass:
    """A line of the trace: tokens with a wrong tag in a pass, and sequences with any."""

    mistakes: int
    sequences: int


class StructuredPerceptron(BaseEstimator):
    """Tags of sequences by a perceptron on whole sequences: features of tokens, of neighbouring tags, of both ends.

    The score of tags ``y_1 ... y_L`` is ``start[y_1] + sum_t x_t.w[y_t] + sum_t transition[y_t, y_{t+1}] + end[y_L]``;
    Viterbi's recursion finds the best. Where they are not the true tags, the features of the true ones are added to the
    weights and those of the best ones taken away. The mean of the weights after every sequence is returned.

    Parameters
    ----------
    max_iter : int, default=5
        Passes at most; a pass without mistakes is the last.
    shuffle : bool, default=True
        Whether sequences come in a random order, a new one in each pass.
    average : bool, default=True
        Whether the mean of the weights is returned, or the last.
    random_state : int, RandomState instance or None, default=0

    Attributes
    ----------
    classes_ : ndarray of shape (n_tags,)
    coef_ : ndarray of shape (n_tags, n_features)
    transition_ : ndarray of shape (n_tags, n_tags)
        Scores of a tag, the row, followed by another, the column.
    start_, end_ : ndarray of shape (n_tags,)
    n_features_in_ : int
    n_iter_ : int
    n_mistakes_ : int
        Wrong tags in all passes.
    vectorizer_ : DictVectorizer
        Only after a fit on dicts.
    certificate_ : Certificate
        Kind count: wrong tags of the returned weights on the sequences of the fit, decoded again; ok if there are none.
    status_, trace_ : how the fit ended, and the mistakes of each pass.

    Notes
    -----
    X is a list of sequences, each an array or a sparse matrix (tokens, features) or a list of dicts of features; y is a
    list of sequences of tags. A pass costs ``tags^2`` steps a token, and the features. Memory: the tokens once more.
    CMU lecture 11, slide 28. Collins 2002.

    Examples
    --------
    >>> from tenfold import StructuredPerceptron
    >>> X = [[{"the": 1}, {"dog": 1}, {"barks": 1}], [{"dogs": 1}, {"bark": 1}], [{"the": 1}, {"bark": 1}]]
    >>> y = [["D", "N", "V"], ["N", "V"], ["D", "N"]]
    >>> model = StructuredPerceptron(max_iter=20).fit(X, y)
    >>> [list(map(str, tags)) for tags in model.predict(X)]
    [['D', 'N', 'V'], ['N', 'V'], ['D', 'N']]
    >>> model.score(X, y), model.sequence_accuracy(X, y), model.certificate_.ok
    (1.0, 1.0, True)
    """

    _constraints: ClassVar[Constraints] = {
        "max_iter": (integer(1),),
        "shuffle": (boolean(),),
        "average": (boolean(),),
        "random_state": (random_state(),),
    }

    def __init__(self, *, max_iter: int = 5, shuffle: bool = True, average: bool = True, random_state: Any = 0) -> None:
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> "StructuredPerceptron":
        """Fit to sequences X and their tags y."""
        check_parameters(self, self._constraints)
        self.__dict__.pop("vectorizer_", None)
        if _is_dicts(X):
            self.vectorizer_ = DictVectorizer().fit(token for sequence in X for token in sequence)
        tokens = self._tokens(X, None)
        self.n_features_in_ = tokens.X.shape[1]
        flat = _flat_tags(y, tokens.offsets)
        self.classes_, gold = np.unique(flat, return_inverse=True)
        tagger = _core.Tagger(self.n_features_in_, len(self.classes_))
        gold = np.ascontiguousarray(gold, dtype=np.int32)
        self.trace_, self.status_ = self._learn(tagger, tokens, gold)
        # the mean is the last weights less what came late
        share = 1.0 / tagger.seen if self.average and tagger.seen else 0.0
        parts = [w - share * s for w, s in zip(tagger.weights, tagger.sums, strict=True)]
        emission, self.transition_, self.start_, self.end_ = parts
        self.coef_ = np.ascontiguousarray(emission.T)
        self.n_iter_ = len(self.trace_)
        self.n_mistakes_ = sum(line.mistakes for line in self.trace_)
        self.certificate_ = self._counted(tokens, gold)
        return self

    def _learn(self, tagger: Any, tokens: Tokens, gold: Integers) -> tuple[tuple[TagPass, ...], str]:
        random = check_random_state(self.random_state)
        order = np.flatnonzero(np.diff(tokens.offsets)).astype(np.int64)
        trace: list[TagPass] = []
        status = Status.MAX_ITER
        for _ in range(self.max_iter):
            looked = order[random.permutation(len(order))] if self.shuffle else order
            trace.append(TagPass(*tagger.learn(*tokens.arrays, gold, looked)))
            if trace[-1].mistakes == 0:
                status = Status.CONVERGED
                break
        return tuple(trace), status.value

    def _counted(self, tokens: Tokens, gold: Integers) -> Certificate:
        wrong = self._decode(tokens) != gold
        mistakes = float(np.count_nonzero(wrong))
        parts = tuple(np.bincount(gold[wrong], minlength=len(self.classes_)).astype(float).tolist())
        total = float(max(len(gold), 1))
        tol = RULES["count"].tol
        return Certificate("count", mistakes, total, tol, 0.0, mistakes / total, status=self.status_, parts=parts)

    def _decode(self, tokens: Tokens) -> Integers:
        tagger = _core.Tagger(self.n_features_in_, len(self.classes_))
        parts = (self.coef_.T, self.transition_, self.start_, self.end_)
        tagger.assign(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))
        return tagger.decode(*tokens.arrays)

    def predict(self, X: Any) -> list[Array]:
        """The best tags of each sequence, a list of arrays."""
        check_is_fitted(self)
        tokens = self._tokens(X, self.n_features_in_)
        tags = self.classes_[self._decode(tokens)]
        return [tags[a:b] for a, b in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right tag."""
        found = self.predict(X)
        flat = _flat_tags(y, np.append(0, np.cumsum([len(tags) for tags in found])))
        return float(np.mean(np.concatenate(found) == flat)) if len(flat) else 1.0

    def sequence_accuracy(self, X: Any, y: Any) -> float:
        """The share of sequences all of whose tags are right."""
        found = self.predict(X)
        if len(found) != len(y):
            raise ValueError(f"X has {len(found)} sequences and y {len(y)}.")
        return float(np.mean([np.array_equal(a, np.asarray(b)) for a, b in zip(found, y, strict=True)]))

    def _tokens(self, X: Any, columns: int | None) -> Tokens:
        """All tokens as one matrix, checked."""
        if isinstance(X, str) or not isinstance(X, Sequence) or len(X) == 0:
            raise ValueError("X must be a list of sequences, each of them a matrix or a list of dicts, and not empty.")
        if _is_dicts(X):
            if not hasattr(self, "vectorizer_"):
                raise ValueError("The fit was on matrices of features: dicts of features have no columns here.")
            lengths = [len(sequence) for sequence in X]
            flat = self.vectorizer_.transform(token for sequence in X for token in sequence)
        else:
            parts = [_matrix(sequence) for sequence in X]
            widths = {part.shape[1] for part in parts}
            if len(widths) > 1:
                raise ValueError(f"All sequences must have the same features; there are {sorted(widths)} columns.")
            lengths = [part.shape[0] for part in parts]
            flat = sparse.vstack(parts, format="csr")
        flat = sparse.csr_array(flat, dtype=np.float64)
        flat.sum_duplicates()
        if columns is not None and flat.shape[1] != columns:
            raise ValueError(f"X has {flat.shape[1]} features, but StructuredPerceptron is expecting {columns}.")
        if not np.isfinite(flat.data).all():
            raise ValueError("Input X contains NaN or infinity.")
        return Tokens(flat, np.append(0, np.cumsum(lengths)).astype(np.int64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def _is_dicts(X: Any) -> bool:
    """Whether tokens are dicts; sequences without tokens say nothing."""
    if isinstance(X, (str, np.ndarray)) or not isinstance(X, Sequence):
        return False
    full = (sequence for sequence in X if not is_sparse(sequence) and len(sequence))
    return isinstance(next((sequence[0] for sequence in full), None), dict)


def _matrix(sequence: Any) -> Array:
    """A sequence's tokens as a sparse matrix."""
    if is_sparse(sequence):
        return sequence.tocsr()
    return sparse.csr_array(check_array(sequence, dtype=np.float64, ensure_min_samples=0))


def _flat_tags(y: Any, offsets: Floats | Integers) -> Array:
    """Tags of all tokens, one after the other."""
    lengths = np.diff(offsets)
    if isinstance(y, str) or len(y) != len(lengths):
        raise ValueError(f"y must hold a sequence of tags for each of the {len(lengths)} sequences of X.")
    for number, (tags, length) in enumerate(zip(y, lengths, strict=True)):
        if len(tags) != length:
            raise ValueError(f"Sequence {number} has {length} tokens and {len(tags)} tags.")
    full = [np.asarray(tags) for tags in y if len(tags)]
    if not full:
        raise ValueError("The sequences have no tokens: there is nothing to learn from.")
    return np.concatenate(full)
