"""What nested cross-validation found: every fold of every candidate, and what is made of them."""

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
    """A confidence interval, its level, and the method that it is from."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True)
class Fold:
    """One outer fold of one candidate.

    Attributes
    ----------
    rows : the rows that were tested.
    trained : the number of rows that trained.
    score : on the rows that were tested; larger is better.
    said : what the model said of them.
    params : what was chosen inside; `tried` settings were compared, `free` of them without a fit of their own.
    words : how it was chosen.
    fit_seconds : choosing and fitting; `shared_seconds` of them for what other candidates have for nothing.
    peak_bytes : the most memory beyond what was resident before; None where the system does not tell.
    warned : what warnings said.
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
    """One candidate: its outer folds, and the refit on all rows.

    Attributes
    ----------
    name : the name of the candidate.
    state : "ok"; "abandoned", "timed out" and "interrupted" with the folds until then; "failed", "not started".
    reason : why it is not ok, in a sentence; else empty.
    folds : the outer folds that were done.
    model : fitted to all rows, hyper-parameters chosen by all outer folds or by the model's own protocol; else None.
    params : what the refit chose, among `tried` settings, `free` of them without a fit of their own; `words` says how.
    fit_seconds : of the refit, choosing included.
    seconds : of everything.
    certificate : of the refit, where its last step has one.
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
        """For the score on new rows, from the spread over folds; wider than the standard error says, because training
        rows overlap: the variance is that of a fold times (1/k + tested / trained). (Nadeau and Bengio 2003.)
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
        """What each fold chose."""
        return tuple(fold.params for fold in self.folds)

    @property
    def predict_microseconds(self) -> float:
        """A row, on the average over the folds."""
        rows = sum(len(fold.rows) for fold in self.folds)
        return 1e6 * sum(fold.said.seconds for fold in self.folds) / rows if rows else np.nan

    @property
    def peak_bytes(self) -> int | None:
        """The most memory that a fit took beyond what the process had before it."""
        known = [size for size in (*(fold.peak_bytes for fold in self.folds), self.refit_bytes) if size is not None]
        return max(known, default=None)

    @property
    def warned(self) -> tuple[str, ...]:
        """What warnings said, each once."""
        every = [text for fold in self.folds for text in fold.warned]
        return tuple(dict.fromkeys([*every, *self.refit_warned]))

    @property
    def certificate(self) -> Any:
        last = self.model
        while isinstance(last, Pipeline):
            last = last.steps[-1][1]
        return getattr(last, "certificate_", None)

    @property
    def tested(self) -> Any:
        """Whether a row was tested in the folds that were done, (n,); of repeated folds the first partition counts."""
        found = np.zeros(self.protocol.n, dtype=bool)
        for fold in self._first():
            found[fold.rows] = True
        return found

    @property
    def predictions(self) -> Any:
        """Out-of-fold predictions of all rows that were tested, (n,) or (n, t); nan or None elsewhere."""
        return self._gathered("predictions")

    @property
    def probabilities(self) -> Any:
        """Out-of-fold probabilities of `classes`, (n, c); None where the model has none. A class that was missing from
        the training rows has 0.
        """
        return self._gathered("probabilities")

    @property
    def decisions(self) -> Any:
        """Out-of-fold scores, (n,) or (n, c), of a classifier that has no probabilities."""
        return self._gathered("scores")

    def _first(self) -> tuple[Fold, ...]:
        """The folds of the first partition."""
        return self.folds[: len(self.protocol) // max(1, self.protocol.repeats)]

    def _gathered(self, name: str) -> Any:
        parts = [getattr(fold.said, name) for fold in self._first()]
        if not parts or any(part is None for part in parts):
            return None
        wide = name != "predictions" and np.ndim(parts[0]) == 2
        shape = (self.protocol.n, len(self.classes)) if wide else (self.protocol.n, *np.shape(parts[0])[1:])
        dtype = np.result_type(*parts)
        if self.tested.all():
            found = np.zeros(shape, dtype)
        else:
            found = np.full(shape, np.nan, dtype) if dtype.kind == "f" else np.full(shape, None, object)
        for fold, part in zip(self._first(), parts, strict=True):
            if not wide:
                found[fold.rows] = part
                continue
            columns = np.searchsorted(self.classes, fold.said.classes)
            lowest = 0.0 if name == "probabilities" else np.min(part, axis=1, keepdims=True)
            found[fold.rows] = lowest
            found[fold.rows[:, None], columns] = part
        return found


@dataclass(frozen=True)
class Nested:
    """What nested cross-validation found, candidates in the order in which they were given.

    Attributes
    ----------
    results : one `Result` for each candidate.
    protocol : the outer splits.
    scoring : the name of the score; larger is better.
    classes : of a classifier's target, sorted; else None.
    y : the targets.
    words : what was done, in sentences.
    interrupted : whether somebody ended it early.
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
        """Candidates with folds, the best first, compared on the same folds; then the rest. See `ranked`."""
        return ranked(self.results)

    @property
    def best(self) -> Result | None:
        """The candidate with the largest score among those with all their folds; None where there are none."""
        return next((one for one in self.ranking if one.state == "ok" and not np.isnan(one.score)), None)


def ranked(results: Sequence[Result]) -> tuple[Result, ...]:
    """Results in the order of their scores, those without any at the end.

    A candidate that was tested on some folds alone is compared on these with the best of those that were tested on
    most: it counts with the score of that one, plus the difference between the two on the folds that both have.
    """
    most = max((len(one.folds) for one in results if not np.isnan(one.score)), default=0)
    reference = max((one for one in results if len(one.folds) == most), key=lambda one: -_loss(one), default=None)

    def place(one: Result) -> tuple[bool, float]:
        if not one.folds or np.isnan(one.score) or reference is None:
            return True, 0.0
        same = float(np.mean(reference.scores[: len(one.folds)]))
        return False, same - one.score - reference.score

    return tuple(sorted(results, key=place))


def _loss(result: Result) -> float:
    """What candidates are sorted by; no score is worse than any."""
    return np.inf if np.isnan(result.score) else -result.score
