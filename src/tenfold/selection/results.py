"""Results of nested cross-validation: every fold of every candidate, with scores, intervals and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats
from sklearn.pipeline import Pipeline

from tenfold.arrays import Floats, Integers
from tenfold.selection.fitting import Params
from tenfold.selection.scoring import Outputs
from tenfold.selection.splitters import Protocol

State = Literal["running", "ok", "abandoned", "timed out", "failed", "interrupted", "not started"]
"""How a candidate ended."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Attributes
    ----------
    low : float
        Its lower end; nan where there is too little to tell.
    high : float
        Its upper end; nan where there is too little to tell.
    level : float
        Probability with which it is meant to cover.
    method : str
        How it was computed.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True)
class Fold:
    """One outer fold of one candidate.

    Attributes
    ----------
    rows : ndarray of int
        Indices of the samples that were tested.
    trained : int
        Number of samples that trained.
    score : float
        Score on the samples that were tested; larger is better.
    said : Outputs
        The model's outputs for them: `predictions`; of a classifier `probabilities`, or `scores` where it has no
        probabilities, and its `classes`, else None; and the `seconds` of `predict`.
    params : dict
        The selected hyper-parameters, by name; empty where there are none to select.
    tried : int
        Number of settings that were compared.
    free : int
        How many of them took no fit of their own.
    words : str
        How they were selected, in a sentence.
    fit_seconds : float
        Seconds of selection and fit.
    peak_bytes : int or None
        Peak memory beyond what was resident before; None where the system does not report it.
    warned : tuple of str
        Texts of warnings, each once.
    shared_seconds : float
        The part of `fit_seconds` for parts of the samples and steps of pipelines that later candidates reuse.
    """

    rows: Integers
    trained: int
    score: float
    said: Outputs
    params: Params
    tried: int
    free: int
    words: str
    fit_seconds: float
    peak_bytes: int | None
    warned: tuple[str, ...] = ()
    shared_seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """One candidate: its outer folds, and the refit to all samples.

    Attributes
    ----------
    name : str
        The name of the candidate.
    protocol : Protocol
        The outer splits.
    classes : ndarray of shape (n_classes,) or None
        All classes of a classifier's target, sorted; else None.
    state : {"ok", "abandoned", "timed out", "interrupted", "failed", "not started", "running"}
        How it ended: "ok" with all its folds; "abandoned" because it could not win any more; "timed out",
        "interrupted" and "failed", with the folds until then; "not started". "running" in events before its end.
    reason : str
        Why it is not ok, or why it was not fitted to all samples, in a sentence; else empty.
    folds : tuple of Fold
        The outer folds that were done.
    model : estimator or None
        Fitted to all samples, hyper-parameters chosen by all outer folds or by the model's own protocol; None where
        that was not asked for, or not done.
    params : dict
        What the fit to all samples chose, by the names of parameters; empty where there was none, or nothing to choose.
    tried : int
        Number of settings that it compared; of the last fold where all folds are done without a fit to all samples.
    free : int
        How many of them took no fit of their own.
    words : str
        How it was chosen, in a sentence.
    fit_seconds : float
        Seconds of the fit to all samples, choosing included; nan where there was none.
    seconds : float
        Seconds of all folds and of the fit to all samples.
    refit_bytes : int or None
        The most memory of the fit to all samples beyond what was resident before; None where that is not known.
    refit_warned : tuple of str
        What warnings of the fit to all samples said.
    scores : ndarray of shape (n_folds_done,)
        Score of each fold that was done; larger is better.
    score : float
        Their mean; nan without folds.
    standard_error : float
        Standard error of the mean; nan below two folds.
    chosen : tuple of dict
        What each fold chose.
    predict_microseconds : float
        Microseconds that `predict` takes a sample, on the average over the folds; nan without folds.
    peak_bytes : int or None
        The most memory that a fit took beyond what was resident before; None where that is not known.
    warned : tuple of str
        What all warnings said, each once.
    certificate : Certificate or None
        That of the last step of `model`, where it has one.
    tested : ndarray of shape (n_samples,)
        Whether a sample was tested in the folds that were done; of repeated folds the first partition counts.
    predictions : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        Predictions of samples out of fold; those that were not tested have nan, or None where predictions are no
        floating point numbers. Of repeated folds the first partition counts, of overlapping tests the last.
    probabilities : ndarray of shape (n_samples, n_classes) or None
        Probabilities of `classes`, out of fold in the same way; 0 for a class that the training samples lack. None
        where the model has none.
    decisions : ndarray of shape (n_samples,) or (n_samples, n_classes), or None
        Scores of a classifier that has no probabilities, out of fold in the same way; else None.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import RidgeCV
    >>> from tenfold.selection import nested
    >>> result = nested({"ridge": RidgeCV()}, *load_diabetes(return_X_y=True))["ridge"]
    >>> result.state, result.params, result.certificate.ok
    ('ok', {'alpha': 0.1}, True)
    >>> result.predictions.shape, round(result.score, 2), round(result.standard_error, 2)
    ((442,), 0.49, 0.04)
    """

    name: str
    protocol: Protocol = field(repr=False)
    classes: Any = field(default=None, repr=False)
    state: State = "running"
    reason: str = ""
    folds: tuple[Fold, ...] = field(default=(), repr=False)
    model: Any = field(default=None, repr=False)
    params: Params = field(default_factory=dict)
    tried: int = 0
    free: int = 0
    words: str = ""
    fit_seconds: float = np.nan
    seconds: float = 0.0
    refit_bytes: int | None = None
    refit_warned: tuple[str, ...] = ()

    @property
    def scores(self) -> Floats:
        """The score of each fold that was done."""
        return np.array([fold.score for fold in self.folds])

    @property
    def score(self) -> float:
        """The mean over the folds that were done."""
        return float(np.mean(self.scores)) if self.folds else np.nan

    @property
    def standard_error(self) -> float:
        """Of the mean over folds: their standard deviation over the root of their number; nan for a single fold."""
        return float(np.std(self.scores, ddof=1) / np.sqrt(len(self.folds))) if len(self.folds) > 1 else np.nan

    def interval(self, level: float = 0.95) -> Interval:
        """The confidence interval, of this level, for the score on new samples, from the spread over folds.

        It is wider than the standard error suggests, because training sets overlap: the variance is that of a fold
        times (1/k + tested / trained), with Student's t of k - 1 degrees of freedom (Nadeau and Bengio 2003).

        Parameters
        ----------
        level : float, default=0.95
            Probability with which it covers.

        Returns
        -------
        Interval
            The interval; its ends are nan below two folds.
        """
        k = len(self.folds)
        method = "corrected resampled t over folds (Nadeau and Bengio 2003)"
        if k < 2:
            return Interval(np.nan, np.nan, level, method + ": needs two folds")
        ratio = float(np.mean([len(fold.rows) / fold.trained for fold in self.folds]))
        half = stats.t.ppf(0.5 + level / 2, k - 1) * np.std(self.scores, ddof=1) * np.sqrt(1 / k + ratio)
        return Interval(self.score - half, self.score + half, level, method)

    @property
    def chosen(self) -> tuple[Params, ...]:
        """The selected hyper-parameters of each fold."""
        return tuple(fold.params for fold in self.folds)

    @property
    def predict_microseconds(self) -> float:
        """Microseconds of `predict` per sample, on average over the folds."""
        rows = sum(len(fold.rows) for fold in self.folds)
        return 1e6 * sum(fold.said.seconds for fold in self.folds) / rows if rows else np.nan

    @property
    def peak_bytes(self) -> int | None:
        """Peak memory of a fit beyond what the process had before it."""
        known = [size for size in (*(fold.peak_bytes for fold in self.folds), self.refit_bytes) if size is not None]
        return max(known, default=None)

    @property
    def warned(self) -> tuple[str, ...]:
        """Texts of warnings, each once."""
        every = [text for fold in self.folds for text in fold.warned]
        return tuple(dict.fromkeys([*every, *self.refit_warned]))

    @property
    def certificate(self) -> Any:
        """The certificate of the last step of the model that was fitted to all samples; None where there is none."""
        last = self.model
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return getattr(last, "certificate_", None)

    @property
    def tested(self) -> Any:
        """Whether a sample was tested in the folds that were done, (n,); of repeated folds, in the first partition."""
        tested = np.zeros(self.protocol.n, dtype=bool)
        for fold in self._first_partition():
            tested[fold.rows] = True
        return tested

    @property
    def predictions(self) -> Any:
        """Out-of-fold predictions of all tested samples, (n,) or (n, t); nan or None for the others."""
        return self._gather("predictions")

    @property
    def probabilities(self) -> Any:
        """Out-of-fold probabilities of `classes`, (n, c); None where the model has none. A class that the training
        samples lack has 0.
        """
        return self._gather("probabilities")

    @property
    def decisions(self) -> Any:
        """Out-of-fold scores, (n,) or (n, c), of a classifier that has no probabilities."""
        return self._gather("scores")

    def _first_partition(self) -> tuple[Fold, ...]:
        """The folds of the first partition."""
        return self.folds[: len(self.protocol) // max(1, self.protocol.repeats)]

    def _gather(self, name: str) -> Any:
        parts = [getattr(fold.said, name) for fold in self._first_partition()]
        if not parts or any(part is None for part in parts):
            return None
        per_class = name != "predictions" and np.ndim(parts[0]) == 2
        shape = (self.protocol.n, len(self.classes)) if per_class else (self.protocol.n, *np.shape(parts[0])[1:])
        dtype = np.result_type(*parts)
        if self.tested.all():
            gathered = np.zeros(shape, dtype)
        else:
            gathered = np.full(shape, np.nan, dtype) if dtype.kind == "f" else np.full(shape, None, object)
        for fold, part in zip(self._first_partition(), parts, strict=True):
            if not per_class:
                gathered[fold.rows] = part
                continue
            columns = np.searchsorted(self.classes, fold.said.classes)
            lowest = 0.0 if name == "probabilities" else np.min(part, axis=1, keepdims=True)
            gathered[fold.rows] = lowest
            gathered[fold.rows[:, None], columns] = part
        return gathered


@dataclass(frozen=True)
class Nested:
    """Results of nested cross-validation, candidates in the order in which they were given.

    Attributes
    ----------
    results : tuple of Result
        One for each candidate; ``nested_result[name]`` is that of a name, and a KeyError where there is none.
    protocol : Protocol
        The outer splits.
    scoring : str
        The name of the score; larger is better.
    classes : ndarray of shape (n_classes,) or None
        Classes of a classifier's target, sorted; else None.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The targets.
    words : str
        What was done, in sentences.
    interrupted : bool
        Whether it was interrupted.
    ranking : tuple of Result
        Candidates with folds, the best first; then the rest. One with some folds alone counts with the score of the
        best of those with most folds, plus the difference between the two on the folds that both have.
    best : Result or None
        The candidate with the largest score among those with all their folds; None where there are none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import GaussianNB, RidgeClassifierCV
    >>> from tenfold.selection import nested
    >>> found = nested({"bayes": GaussianNB(), "ridge": RidgeClassifierCV()}, *load_iris(return_X_y=True))
    >>> found.best.name, found["ridge"].state
    ('bayes', 'abandoned')
    """

    results: tuple[Result, ...]
    protocol: Protocol
    scoring: str
    classes: Any
    y: Any = field(repr=False)
    words: str
    interrupted: bool = False

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(f"There is no candidate {name!r}; there are {', '.join(one.name for one in self.results)}.")

    @property
    def ranking(self) -> tuple[Result, ...]:
        """Candidates with folds, the best first, compared on the same folds; then the rest."""
        return rank(self.results)

    @property
    def best(self) -> Result | None:
        """The candidate with the largest score among those with all their folds; None where there are none."""
        return next((one for one in self.ranking if one.state == "ok" and not np.isnan(one.score)), None)


def rank(results: Sequence[Result]) -> tuple[Result, ...]:
    """Results in the order of their scores, those without any at the end.

    A candidate that was tested on some folds alone is compared on these with the best of those that were tested on
    most: it counts with the score of that one, plus the difference between the two on the folds that both have.
    """
    most = max((len(one.folds) for one in results if not np.isnan(one.score)), default=0)
    reference = max((one for one in results if len(one.folds) == most), key=lambda one: -_loss(one), default=None)

    def key(one: Result) -> tuple[bool, float]:
        if not one.folds or np.isnan(one.score) or reference is None:
            return True, 0.0
        same = float(np.mean(reference.scores[: len(one.folds)]))
        return False, same - one.score - reference.score

    return tuple(sorted(results, key=key))


def _loss(result: Result) -> float:
    """What candidates are sorted by; no score is worse than any."""
    return np.inf if np.isnan(result.score) else -result.score
