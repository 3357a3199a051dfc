"""Bigram models of sequences of words, and the classifier that has one for each class."""

import warnings
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, Integers
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, integer, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats
from tenfold.estimators.validation import restore_on_error, validate_weights, warn_unless_certified
from tenfold.judge.certificate import Certificate
from tenfold.machine import require_memory
from tenfold.plans.bigram import FittedBigrams, fit
from tenfold.stats.bigrams import MISSING, BigramCounts, Bigrams, count_bigrams, log_gaps

INSTEAD = "Give a list of sequences of words, with None where a word is missing."
REPORT_ONLY = {
    "converged_": "whether the solver's own criterion was met; the certificate says whether the parameters are at rest",
    "lower_bound_": "the bound at the parameters before the last step, which are not kept",
    "lower_bounds_": "the course of the solver",
    "n_iter_": "how many steps of EM the solver took",
}
CONSTRAINTS: Constraints = {
    "alpha": (real(0),),
    "unknown": (choice("error", "missing"),),
    "tol": (real(0),),
    "max_iter": (integer(1),),
}


def as_sequences(X: Any) -> Sequence[Any]:
    """X as a list of sequences of words that is not empty."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = X.tolist()
    if isinstance(X, (str, bytes)) or not isinstance(X, (list, tuple)) or not len(X):
        raise ValueError(f"X must be a list of sequences of words, and not empty; got {type(X).__name__}.")
    for number, words in enumerate(X):
        if isinstance(words, (str, bytes)) or not isinstance(words, (list, tuple, np.ndarray)):
            raise ValueError(f"Sequence {number} must be a list of words, got {type(words).__name__}.")
    return X


def _is_missing(word: Any) -> bool:
    return word is None or (isinstance(word, float) and word != word)


def list_words(X: Sequence[Any]) -> Array:
    """The words of sequences, sorted."""
    known = {word for words in X for word in words if not _is_missing(word)}
    if not known:
        raise ValueError("The sequences have no words: there is nothing to learn from.")
    kinds = {isinstance(word, str) for word in known}
    if len(kinds) > 1:
        raise ValueError("Words must be all strings, or all numbers.")
    return np.array(sorted(known))


def number_words(X: Sequence[Any], vocabulary: Array, unknown: str) -> tuple[Integers, Integers]:
    """The numbers of all words, one sequence after the other, and the offsets of the sequences."""
    numbers: dict[Hashable, int] = {word: number for number, word in enumerate(vocabulary.tolist())}
    flat = [word for words in X for word in (words.tolist() if isinstance(words, np.ndarray) else words)]
    offsets = np.append(0, np.cumsum([len(words) for words in X])).astype(np.int64)
    result = np.array([MISSING if _is_missing(word) else numbers.get(word, -2) for word in flat], dtype=np.int64)
    strange = np.flatnonzero(result == -2)
    if strange.size and unknown == "error":
        raise ValueError(
            f"The word {flat[strange[0]]!r} was not seen in fit; unknown='missing' treats such words as missing."
        )
    result[strange] = MISSING
    return result, offsets


def read_counts(X: Sequence[Any], vocabulary: Array, unknown: str, sample_weight: Any) -> BigramCounts:
    """The counts and gaps of sequences."""
    V = len(vocabulary)
    instead = "Replace rare words by one."
    require_memory(f"The transitions between {V:,} words, four times,", 32 * V * V, instead)
    weight = validate_weights(sample_weight, np.zeros((len(X), 1)))
    words, offsets = number_words(X, vocabulary, unknown)
    return count_bigrams(words, offsets, np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float), V)


def score_sequences(params: Bigrams, words: Integers, offsets: Integers) -> Floats:
    """The log probability of each sequence, with missing words summed over."""
    n = len(offsets) - 1
    result = np.zeros(n)
    with np.errstate(divide="ignore"):
        start, transition = np.log(params.start), np.log(params.transition)
    for i in range(n):
        own = words[offsets[i] : offsets[i + 1]]
        seen = np.flatnonzero(own != MISSING)
        if not seen.size:
            continue
        gaps = _gaps_of(own, seen)
        direct = seen[1:][np.diff(seen) == 1]
        result[i] = (start[own[0]] if own[0] != MISSING else 0.0) + np.sum(transition[own[direct - 1], own[direct]])
        if len(gaps):
            result[i] += np.sum(log_gaps(params, gaps))
    return result


def _gaps_of(own: Integers, seen: Integers) -> Integers:
    """The gaps of one sequence."""
    before = np.concatenate([[-1], seen[:-1]])
    missing = seen - before - 1
    inside = missing > 0
    left = np.where(before[inside] >= 0, own[before[inside]], -1)
    return np.stack([left, missing[inside], own[seen[inside]]], axis=1).astype(np.int64)


class BigramModel(DensityMixin, BaseEstimator):
    """Bigram model of sequences of words, some of which may be missing, fitted by EM.

    ``P(x_1, ..., x_n) = s(x_1) prod_j P(x_j | x_(j-1))``. Without missing words the estimates are relative frequencies;
    with them EM counts bigrams with their expectations, which the forward-backward recursion gives for runs of missing
    words, and maximises the mean log probability of what was seen with the log prior, ``alpha sum log P``.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of each word at the start and after each word, a Dirichlet prior of concentration alpha + 1; 0 for
        maximum likelihood.
    unknown : {"error", "missing"}, default="error"
        Whether words that were not seen in `fit` raise an error in the other methods, or count as missing.
    tol : float, default=1e-3
        EM stops when the mean log probability of a sequence changes by less in a step, and the judge asks the same of
        one more.
    max_iter : int, default=100
        Most steps of EM.

    Attributes
    ----------
    vocabulary_ : ndarray of shape (n_words,)
        The words, sorted.
    start_log_prob_ : ndarray of shape (n_words,)
        Log probabilities of the first word.
    transition_log_prob_ : ndarray of shape (n_words, n_words)
        Log probabilities of a word, a column, after another, a row.
    converged_ : bool
        Whether EM stopped by `tol`, and not by `max_iter`.
    n_iter_ : int
        Steps of EM.
    lower_bound_ : float
        The mean log probability of a sequence with the log prior before the last step.
    lower_bounds_ : list of float
        The same before each step.
    certificate_ : Certificate
        Kind fixed point: how much one more exact step, taken by the judge, would change the objective.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Never set: the words are `vocabulary_`.

    Notes
    -----
    V^2 numbers for V words. Different gaps are treated once: a missing word takes V operations a step, a run of m
    missing words m V^2. Missing words at the end of a sequence say nothing of the model.
    Runs on lists of sequences in memory, with sample weights.
    Seeger, section 12.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BigramModel
    >>> X = [["the", "cat", "sat"], ["the", None, "sat"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> model = BigramModel(alpha=0.0).fit(X)
    >>> model.fill([["the", None, "sat"]])
    [['the', 'cat', 'sat']]
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Bigram model with missing words, by EM",
        texts=("S12.3",),
        reads=("in memory",),
        where=("arrays",),
        instead=INSTEAD,
        certificate=("fixed point",),
        judge="bigram.model",
        report_only=REPORT_ONLY,
        stored={
            "vocabulary_": anything(),
            "start_log_prob_": floats("v", high=0.0, inf=True),
            "transition_log_prob_": floats("v v", high=1e-12, inf=True),
        },
    )
    _constraints: ClassVar[Constraints] = CONSTRAINTS

    vocabulary_: Array
    start_log_prob_: Floats
    transition_log_prob_: Floats
    certificate_: Certificate

    def __init__(self, *, alpha: float = 1.0, unknown: str = "error", tol: float = 1e-3, max_iter: int = 100) -> None:
        self.alpha = alpha
        self.unknown = unknown
        self.tol = tol
        self.max_iter = max_iter

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to sequences X, lists of words with None where one is missing, with optional `sample_weight` of the
        sequences; `y` is not used.
        """
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X = as_sequences(X)
        self.vocabulary_ = list_words(X)
        self.n_features_in_ = len(self.vocabulary_)
        counts = read_counts(X, self.vocabulary_, "error", sample_weight)
        if not counts.sequences > 0.0:
            raise ValueError("The sequences of positive weight have no words: there is nothing to learn from.")
        result = fit(counts, float(self.alpha), tol=float(self.tol), max_iter=int(self.max_iter))
        store(self, result)
        if not self.converged_:
            message = f"EM did not converge. {result.certificate.explain()} Increase max_iter, or tol."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        else:
            warn_unless_certified(self)
        return self

    def _numbers(self, X: Any) -> tuple[Integers, Integers]:
        check_is_fitted(self)
        return number_words(as_sequences(X), self.vocabulary_, self.unknown)

    def score_samples(self, X: Any) -> Floats:
        """The log probability of each sequence of X, (n,), with missing words summed over."""
        words, offsets = self._numbers(X)
        return score_sequences(read_params(self), words, offsets)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log probability of the sequences X; `y` is not used."""
        return float(np.mean(self.score_samples(X)))

    def fill(self, X: Any) -> list[list[Any]]:
        """The sequences X with the most probable words in place of the missing ones, each run of them as a whole."""
        words, offsets = self._numbers(X)
        params = read_params(self)
        with np.errstate(divide="ignore"):
            start, transition = np.log(params.start), np.log(params.transition)
        known = self.vocabulary_.tolist()
        return [[known[k] for k in _best_path(words[a:b], start, transition)] for a, b in pairwise(offsets)]

    def sample(self, n_samples: int = 1, length: int = 10, random_state: Any = None) -> list[list[Any]]:
        """`n_samples` sequences of `length` words from the model; `random_state` is the seed."""
        check_is_fitted(self)
        random, params = check_random_state(random_state), read_params(self)
        known, V = self.vocabulary_.tolist(), len(self.vocabulary_)
        result = []
        for _ in range(int(n_samples)):
            path = [int(random.choice(V, p=params.start / params.start.sum()))]
            while len(path) < length:
                row = params.transition[path[-1]]
                path.append(int(random.choice(V, p=row / row.sum())))
            result.append([known[k] for k in path[: int(length)]])
        return result

    def __sklearn_tags__(self) -> Any:
        return _with_sequences(super().__sklearn_tags__())


def _with_sequences(tags: Any) -> Any:
    tags.input_tags.two_d_array = False
    tags.input_tags.string = True
    tags.input_tags.allow_nan = True
    return tags


def _best_path(own: Integers, start: Floats, transition: Floats) -> list[int]:
    """Viterbi's path through a sequence in which some words are given."""
    back: list[Integers] = []
    score = np.zeros(len(start))
    for t, word in enumerate(own):
        if t == 0:
            score = start.copy()
        else:
            every = score[:, None] + transition
            back.append(np.argmax(every, axis=0))
            score = np.max(every, axis=0)
        if word != MISSING:
            kept = score[word]
            score = np.full(len(start), -np.inf)
            score[word] = kept if kept > -np.inf else 0.0
    path = [int(np.argmax(score))] if len(own) else []
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def store(model: Any, result: FittedBigrams) -> None:
    """Set the attributes of a fitted model."""
    with np.errstate(divide="ignore"):
        model.start_log_prob_ = np.log(result.params.start)
        model.transition_log_prob_ = np.log(result.params.transition)
    model.converged_ = result.status.value == "converged"
    model.n_iter_ = len(result.bounds)
    model.lower_bound_ = result.bounds[-1] if result.bounds else -np.inf
    model.lower_bounds_ = list(result.bounds)
    model.certificate_ = result.certificate


def read_params(model: Any) -> Bigrams:
    """The probabilities of a fitted model."""
    start = np.exp(np.asarray(model.start_log_prob_, dtype=np.float64))
    return Bigrams(start, np.ascontiguousarray(np.exp(np.asarray(model.transition_log_prob_, dtype=np.float64))))


class BigramClassifier(ClassifierMixin, BaseEstimator):
    """Classes of sequences of words by one bigram model for each of them.

    ``P(c, x) = P(c) s_c(x_1) prod_j P_c(x_j | x_(j-1))`` with the frequencies of the classes and bigram models with the
    words of all of them; missing words are summed over. The class with the largest probability given x is predicted.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of each word at the start and after each word; 0 for maximum likelihood, with which most sequences
        are impossible in all classes.
    fit_prior : bool, default=True
        Whether priors are the class frequencies; otherwise they are equal.
    unknown : {"error", "missing"}, default="missing"
        Whether words that were not seen in `fit` raise an error in the other methods, or count as missing.
    tol : float, default=1e-3
        Of each model: EM stops when the mean log probability of a sequence changes by less in a step.
    max_iter : int, default=100
        Most steps of EM of each model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the priors of the classes.
    vocabulary_ : ndarray of shape (n_words,)
        The words of all classes, sorted.
    start_log_prob_ : ndarray of shape (n_classes, n_words)
        Log probabilities of the first word.
    transition_log_prob_ : ndarray of shape (n_classes, n_words, n_words)
        Log probabilities of a word after another.
    certificate_ : Certificate
        Kind fixed point: the largest change of the objective of a class in one more exact step of EM.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Never set: the words are `vocabulary_`.

    Notes
    -----
    V^2 numbers for V words in each class. Runs on lists of sequences in memory, with sample weights.
    Seeger, section 12.3.2.

    Examples
    --------
    >>> from tenfold import BigramClassifier
    >>> X = [["to", "be"], ["to", "do"], ["be", "to"], ["do", "to"]]
    >>> model = BigramClassifier().fit(X, ["infinitive", "infinitive", "other", "other"])
    >>> model.predict([["to", "be"], ["be", "to"]]).tolist()
    ['infinitive', 'other']
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Classification by bigrams",
        texts=("S12.3",),
        reads=("in memory",),
        where=("arrays",),
        instead=INSTEAD,
        certificate=("fixed point",),
        judge="bigram.classifier",
        stored={
            "vocabulary_": anything(),
            "start_log_prob_": floats("k v", high=0.0, inf=True),
            "transition_log_prob_": floats("k v v", high=1e-12, inf=True),
        },
    )
    _constraints: ClassVar[Constraints] = {**CONSTRAINTS, "fit_prior": (boolean(),)}

    classes_: Array
    class_log_prior_: Floats
    vocabulary_: Array
    start_log_prob_: Floats
    transition_log_prob_: Floats
    certificate_: Certificate

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_prior: bool = True,
        unknown: str = "missing",
        tol: float = 1e-3,
        max_iter: int = 100,
    ) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.unknown = unknown
        self.tol = tol
        self.max_iter = max_iter

    @restore_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to sequences X, lists of words with None where one is missing, their classes y (n,), and optional
        `sample_weight` of the sequences.
        """
        check_parameters(self, self._constraints)
        self._registration.check_source(type(self).__name__, X)
        X = as_sequences(X)
        labels = check_labels(y, len(X))
        weight = weights_for(sample_weight, len(X))
        self.vocabulary_ = list_words(X)
        self.n_features_in_ = len(self.vocabulary_)
        self.classes_ = np.unique(labels)
        priors = estimate_priors(labels, weight, self.classes_, self.fit_prior)
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(priors)
        fitted = []
        for label in self.classes_:
            counts = read_counts(X, self.vocabulary_, "error", np.where(labels == label, weight, 0.0))
            if not counts.sequences > 0.0:
                raise ValueError(f"The sequences of class {label!r} have no words of positive weight.")
            fitted.append(fit(counts, float(self.alpha), tol=float(self.tol), max_iter=int(self.max_iter)))
        with np.errstate(divide="ignore"):
            self.start_log_prob_ = np.log(np.stack([one.params.start for one in fitted]))
            self.transition_log_prob_ = np.log(np.stack([one.params.transition for one in fitted]))
        self.certificate_ = max((one.certificate for one in fitted), key=lambda one: one.value / one.allowed)
        warn_unless_certified(self)
        return self

    def _joint(self, X: Any) -> Floats:
        check_is_fitted(self)
        words, offsets = number_words(as_sequences(X), self.vocabulary_, self.unknown)
        models = zip(np.exp(self.start_log_prob_), np.exp(self.transition_log_prob_), strict=True)
        scores = [score_sequences(Bigrams(s, np.ascontiguousarray(P)), words, offsets) for s, P in models]
        return np.stack(scores, axis=1) + self.class_log_prior_

    def predict_log_proba(self, X: Any) -> Floats:
        """Log probabilities of the classes of each sequence of X, (n, n_classes); equal where it is impossible in all
        of them.
        """
        joint = self._joint(X)
        joint = np.where(np.isfinite(joint).any(axis=1, keepdims=True), joint, 0.0)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes of each sequence of X, (n, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each sequence of X, (n,)."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        return _with_sequences(super().__sklearn_tags__())


def check_labels(y: Any, n: int) -> Array:
    """One class for each sequence."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must hold a class for each of {n} sequences, got shape {labels.shape}.")
    return labels


def weights_for(sample_weight: Any, n: int) -> Floats:
    """A weight for each sequence."""
    weight = validate_weights(sample_weight, np.zeros((n, 1)))
    return np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)


def estimate_priors(labels: Array, weight: Floats, classes: Array, fit_prior: bool) -> Floats:
    """The priors of the classes."""
    if not fit_prior:
        return np.full(len(classes), 1.0 / len(classes))
    return np.array([np.sum(weight[labels == label]) for label in classes]) / np.sum(weight)
