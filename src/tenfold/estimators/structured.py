"""The structured perceptron for sequence labelling."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.data import Sequences
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import restore_on_error, validate_weights
from tenfold.plans.structured_perceptron import TagFit, fit
from tenfold.solvers.loop import Status
from tenfold.stats.viterbi import TagWeights, best_tags

INSTEAD = "Give a list of sequences, each an array or a sparse matrix (tokens, features) or a list of dicts."

CUT_SHORT = {status.value: status.message for status in (Status.TIME_LIMIT, Status.INTERRUPTED)}


class StructuredPerceptron(BaseEstimator):
    """Tags of sequences by a perceptron on whole sequences: features of tokens, of neighbouring tags, of both ends.

    The score of tags ``y_1 ... y_L`` is ``start[y_1] + sum_t x_t.w[y_t] + sum_t transition[y_t, y_{t+1}] + end[y_L]``;
    Viterbi's recursion finds the best. Where they are not the true tags, the features of the true ones are added to the
    weights and those of the best ones taken away. The mean of the weights after every sequence is returned; after a
    pass without mistakes as many further passes are added to it as it needs to make no mistake either, without looking
    at the sequences again.

    Parameters
    ----------
    max_iter : int, default=5
        Passes at most; a pass without mistakes is the last.
    shuffle : bool, default=True
        Whether sequences come in a random order, a new one in each pass.
    average : bool, default=True
        Whether the mean of the weights is returned, or the last.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.
    time_limit : float, default=None
        Seconds after which no further pass is begun.

    Attributes
    ----------
    classes_ : ndarray of shape (n_tags,)
        The tags, sorted.
    coef_ : ndarray of shape (n_tags, n_features)
        Scores of the features of a token, for each tag.
    transition_ : ndarray of shape (n_tags, n_tags)
        Scores of a tag, the row, followed by another, the column.
    start_ : ndarray of shape (n_tags,)
        Scores of a tag at the beginning of a sequence.
    end_ : ndarray of shape (n_tags,)
        Scores of a tag at the end of a sequence.
    n_iter_ : int
        Passes over the sequences.
    n_mistakes_ : int
        Wrong tags in all passes.
    vectorizer_ : DictVectorizer
        Only after a fit on dicts.
    certificate_ : Certificate
        Kind count: wrong tags of the returned weights on the sequences of the fit, found again by a recursion of the
        judge's own; ok if there are none. Its note has the smallest margin.
    status_ : str
        How the fit ended: "converged" (a pass without mistakes), "iteration limit", "time limit", ...
    trace_ : list
        The mistakes of each pass.
    n_features_in_ : int
        Number of features of a token seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Never set: features of dicts are named by `vectorizer_`.

    Notes
    -----
    X is a list of sequences, each an array or a sparse matrix (tokens, features) or a list of dicts of features; y is a
    list of sequences of tags. A weight of a sequence is a factor of its steps; one of weight zero is removed. A pass
    costs ``tags^2`` steps a token, and the features. Memory: the tokens once more. Runs on sequences in memory. If some
    weights of length one score the true tags of every sequence above all others by gamma, there are at most ``(R /
    gamma)^2`` updates, R being the longest difference of features, however many paths of tags there are. CMU lecture
    11, slide 28. Collins 2002.

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

    _registration: ClassVar = Registration(
        method="Structured perceptron",
        texts=("C28",),
        reads=("in order",),
        where=("arrays", "sparse"),
        instead=INSTEAD,
        certificate=("count",),
        judge="structured.tagger",
        choice="structured.check_tags",
        report_only={
            "n_iter_": "how many passes the solver took",
            "n_mistakes_": "how many wrong tags the solver learned from, in the order of its passes",
        },
        stored={"coef_": floats("k p")},
    )
    _constraints: ClassVar[Constraints] = {
        "max_iter": (integer(1),),
        "shuffle": (boolean(),),
        "average": (boolean(),),
        "random_state": (random_state(),),
        "time_limit": (nothing(), real(0, np.inf, "right")),
    }

    def __init__(
        self,
        *,
        max_iter: int = 5,
        shuffle: bool = True,
        average: bool = True,
        random_state: Any = 0,
        time_limit: float | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.time_limit = time_limit

    @restore_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "StructuredPerceptron":
        """Fit to sequences X, their tags y, and optional `sample_weight` of the sequences."""
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        self.__dict__.pop("vectorizer_", None)
        sequences = _as_list(X)
        if _are_dicts(sequences):
            self.vectorizer_ = _vectorizer().fit(token for tokens in sequences for token in tokens)
        tokens = self._tokens(sequences)
        tags, weight = flat_tags(y, tokens), weights_of_sequences(sample_weight, tokens)
        self.n_features_in_ = tokens.X.shape[1]
        self.classes_, number = np.unique(tags, return_inverse=True)
        fitted = fit(
            tokens.with_tags(number, weight),
            len(self.classes_),
            average=bool(self.average),
            shuffle=bool(self.shuffle),
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
            passes=int(self.max_iter),
            seconds=self.time_limit,
        )
        self._store(fitted)
        return self

    def _store(self, fitted: TagFit) -> None:
        emission, self.transition_, self.start_, self.end_ = fitted.weights
        self.coef_ = np.ascontiguousarray(emission.T)
        self.trace_, self.certificate_ = fitted.trace, fitted.certificate
        self.status_ = fitted.certificate.status
        self.n_iter_ = len(fitted.trace)
        self.n_mistakes_ = sum(line.mistakes for line in fitted.trace)
        if self.status_ in CUT_SHORT and not self.certificate_.ok:
            message = f"{self.certificate_.explain()} {CUT_SHORT[self.status_]}"
            warnings.warn(f"{type(self).__name__} ({self.status_}): {message}", ConvergenceWarning, stacklevel=4)

    def predict(self, X: Any) -> list[Array]:
        """The best tags of each sequence of X, a list of arrays; of equal ones the first in `classes_`, from the end
        on.
        """
        tokens = self._validate_to_predict(X)
        return np.split(self._tags(tokens), tokens.offsets[1:-1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of tokens of X with the tag of y; `sample_weight` weights the sequences."""
        tokens = self._validate_to_predict(X)
        right, weight = self._tags(tokens) == flat_tags(y, tokens), weights_of_sequences(sample_weight, tokens)
        return float(np.average(right, weights=None if weight is None else np.repeat(weight, tokens.lengths)))

    def sequence_accuracy(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of sequences of X with all tags of y, weighted by `sample_weight`."""
        tokens = self._validate_to_predict(X)
        wrong = np.append(0, np.cumsum(self._tags(tokens) != flat_tags(y, tokens)))
        right = wrong[tokens.offsets[1:]] == wrong[tokens.offsets[:-1]]
        return float(np.average(right, weights=weights_of_sequences(sample_weight, tokens)))

    def _tags(self, tokens: Sequences) -> Array:
        return self.classes_[best_tags(tokens, weights_of(self))]

    def _validate_to_predict(self, X: Any) -> Sequences:
        """Validate sequences against the features of the fit."""
        check_is_fitted(self)
        self._registration.check_source(type(self).__name__, X)
        tokens = self._tokens(_as_list(X))
        if tokens.X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {tokens.X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input."
            )
        return tokens

    def _tokens(self, X: Sequence[Any]) -> Sequences:
        """The validated tokens of all sequences as one matrix."""
        if _are_dicts(X):
            if not hasattr(self, "vectorizer_"):
                raise ValueError("The fit was on matrices of features: dicts of features have no columns here.")
            flat = self.vectorizer_.transform(token for tokens in X for token in tokens)
            lengths = [len(tokens) for tokens in X]
        else:
            parts = [_matrix(number, tokens) for number, tokens in enumerate(X)]
            widths = sorted({part.shape[1] for part in parts if part.shape[0]}) or [0]
            if len(widths) > 1:
                raise ValueError(f"All sequences must have the same features; there are {widths} columns.")
            lengths = [part.shape[0] for part in parts]
            full = [part for part in parts if part.shape[0]]
            flat = sparse.vstack(full, format="csr") if full else sparse.csr_array((0, 0))
        matrix = sparse.csr_array(flat, dtype=np.float64)
        matrix.sum_duplicates()
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        if not np.isfinite(matrix.data).all():
            raise ValueError("Input X contains NaN or infinity.")
        return Sequences(matrix, np.append(0, np.cumsum(lengths)).astype(np.int64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags


def weights_of(model: Any) -> TagWeights:
    """The weights of a fitted model."""
    return TagWeights(model.coef_.T, model.transition_, model.start_, model.end_)


def _vectorizer() -> Any:
    """scikit-learn's DictVectorizer, imported on demand."""
    from sklearn.feature_extraction import DictVectorizer

    return DictVectorizer()


def _as_list(X: Any) -> Sequence[Any]:
    """X as a nonempty list of sequences."""
    if isinstance(X, np.ndarray) and (X.ndim == 3 or (X.ndim == 1 and X.dtype == object)):
        X = list(X)
    if isinstance(X, str) or not isinstance(X, Sequence) or len(X) == 0:
        raise ValueError(
            "X must be a list of sequences, each of them a matrix (tokens, features) or a list of dicts, and not "
            f"empty; got {type(X).__name__}."
        )
    return X


def _are_dicts(X: Sequence[Any]) -> bool:
    """Whether tokens are dicts, by the first nonempty sequence."""
    full = (tokens for tokens in X if isinstance(tokens, (list, tuple)) and len(tokens))
    return isinstance(next((tokens[0] for tokens in full), None), dict)


def _matrix(number: int, tokens: Any) -> Array:
    """A sequence's tokens as a sparse matrix."""
    if is_sparse(tokens):
        return tokens.tocsr()
    if isinstance(tokens, str) or (isinstance(tokens, (list, tuple)) and tokens and isinstance(tokens[0], str)):
        raise ValueError(
            f"Sequence {number} holds words: a token is a row of numbers or a dict of features, such as "
            "{'word': 'dog', 'capital': False}."
        )
    if isinstance(tokens, (list, tuple)) and not tokens:
        return sparse.csr_array((0, 0))
    return sparse.csr_array(check_array(tokens, dtype=np.float64, ensure_min_samples=0, input_name="X"))


def flat_tags(y: Any, tokens: Sequences) -> Array:
    """The tags of all tokens, concatenated."""
    lengths = tokens.lengths
    if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != len(lengths):
        raise ValueError(f"y must hold a sequence of tags for each of the {len(lengths)} sequences of X.")
    for number, (tags, length) in enumerate(zip(y, lengths, strict=True)):
        if isinstance(tags, str) or not hasattr(tags, "__len__"):
            raise ValueError(f"y must hold sequences of tags; that of sequence {number} is {tags!r}.")
        if len(tags) != length:
            raise ValueError(f"Sequence {number} has {length} tokens and {len(tags)} tags.")
    full = [np.asarray(tags) for tags in y if len(tags)]
    if not full:
        raise ValueError("The sequences have no tokens: there is nothing to learn from.")
    return np.concatenate(full)


def weights_of_sequences(sample_weight: Any, tokens: Sequences) -> Floats | None:
    """A weight for each sequence, or None."""
    return validate_weights(sample_weight, np.zeros((len(tokens.lengths), 1)))


def numbers_of(model: Any, tags: Array) -> Integers:
    """The index of each tag among those of a fitted model."""
    unknown = np.setdiff1d(tags, model.classes_)
    if unknown.size:
        raise ValueError(f"y holds tags that the model does not know: {unknown.tolist()}; it knows {model.classes_}.")
    return np.asarray(np.searchsorted(model.classes_, tags))


def tokens_of(model: StructuredPerceptron, X: Any) -> Sequences:
    """The tokens of sequences, validated against the features of a fitted model."""
    return model._validate_to_predict(X)
