"""Nested cross-validation of many candidates: the engine of the leaderboard.

Each outer fold is predicted by a model whose hyper-parameters were chosen on the other folds, so that its score is not
biased by the selection. The outer folds are also the inner ones: within an outer split, the other k - 1 folds test in
turn (Cookbook, section 6.2).
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_classifier

from tenfold.selection.costs import estimate, first_key
from tenfold.selection.default_splits import splits_of
from tenfold.selection.fitting import Data
from tenfold.selection.inner_search import Candidate, choose
from tenfold.selection.racing import reason_to_give_up
from tenfold.selection.results import Fold, Nested, Result, rank
from tenfold.selection.scheduler import CandidateRun, Kind, Scheduler
from tenfold.selection.scoring import Scoring, outputs
from tenfold.selection.shortcuts import last_step
from tenfold.selection.splitters import Protocol
from tenfold.selection.time_limit import OutOfTime, PeakMemory, until
from tenfold.selection.transform_cache import TransformCache


@dataclass(frozen=True)
class Event:
    """Progress of a candidate: it started, one of its folds is done, or it is finished.

    Attributes
    ----------
    kind : {"started", "fold", "finished"}
        The event.
    result : Result
        The candidate so far.
    number : int
        Number of the candidate among those given, from 1.
    count : int
        Number of all candidates.
    fold : int
        Number of its outer folds that are done.
    folds : int
        Number of all outer folds.
    seconds : float
        Since the first event was asked for.
    best : Result or None
        The best candidate so far, compared on the same folds, baselines (`Candidate.keep`) left out; None before the
        first fold.
    name : str
        The name of the candidate.
    """

    kind: Kind
    result: Result
    number: int
    count: int
    fold: int
    folds: int
    seconds: float
    best: Result | None

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return self.result.name


def nested(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    outer: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    time_limit: float | None = None,
    per_model_limit: float | None = None,
    callback: Callable[[Event], Any] | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    refit: bool = True,
    abandon: bool = True,
) -> Nested:
    """Tune and evaluate candidates by nested cross-validation, and fit each to all samples.

    Within each outer fold a candidate chooses its hyper-parameters on the other folds: a class of ours that ends in CV
    by its own exact protocol where that is honest (`shortcut`), anything with a grid by the k - 1 other folds. All
    candidates run on one outer fold before any runs on the next. A candidate that fails, takes too long or is given up
    never ends the others. Ctrl-C returns the results so far, the best candidate fitted to all samples.

    Parameters
    ----------
    candidates : list of Candidate, of (name, model) or of (name, model, grid), or dict of str to model
        What is compared: all classifiers, or all regressors, each with a name of its own. A grid is a dict of lists of
        values by the names of parameters, or a list of such dicts.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or, of regressors, (n_samples, n_targets)
        The targets.
    outer : int, "auto", "loo", "hold-out", Protocol, cross-validation generator or an iterable, default=5
        The outer splits: a number of folds, or of periods with `time`; "loo" leaves out each sample alone; "hold-out"
        is one random split of which a fifth tests; "auto" is leave-one-out below 20 samples, ten folds below 100, five
        above, and one split above 100 000, with `groups` five folds, with `time` five periods. Else a splitter of
        scikit-learn, or pairs of training and test indices.
    scoring : str, callable or None, default=None
        scikit-learn's name of a score, or a scorer; larger is better. None is accuracy for classifiers and R2 for
        regressors.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides, unless `outer` has the splits themselves. None for none.
    time : array-like of shape (n_samples,), default=None
        Anything that can be sorted: with "auto" and a number in `outer`, what is tested comes after what trains. None
        for no order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, in fits and scores that know weights. None for ones.
    time_limit : float, default=None
        Seconds for all. Costs are then estimated by fits to small samples, the cheapest candidates run first, and what
        cannot finish is not started before the others are done. None for no limit.
    per_model_limit : float, default=None
        Seconds for each candidate. None for no limit.
    callback : callable, default=None
        Called with each `Event`; a true return value ends everything, as Ctrl-C does. None for no callback.
    random_state : int, default=0
        Seed of the splits, and of every estimator that has none.
    n_jobs : int or None, default=1
        Processes, each for a candidate, that work on one outer fold at a time; -1 for one a core, None for what joblib
        is set to, else 1. The result depends on it only where time is limited.
    refit : bool, default=True
        Whether candidates are fitted to all samples in the end.
    abandon : bool, default=True
        Whether candidates are given up that are worse than the best on the same samples by more than chance explains:
        when the mean of the paired differences exceeds its standard error so far that Student's t has a probability
        below 0.00135 (three standard deviations of a normal). Losses of 20 samples at least are compared; scores that
        are no means over samples fold by fold, after three folds or more.

    Returns
    -------
    Nested
        The result of every candidate in the order in which they were given; ``found[name]``, `ranking` and `best`.

    Raises
    ------
    TypeError
        Where X is a table in files: load it, or split the files.
    ValueError
        Where there are no candidates, two have the same name, some predict classes and some numbers, or X, y and the
        rest have different lengths. A candidate that fails raises nothing: its result says why.

    Notes
    -----
    With k outer folds, a candidate with m settings takes (k - 1) m + 1 fits a fold and k m + 1 for all samples. One
    that chooses by its own exact protocol takes one fit each, and so does one with nothing to choose. Steps of
    pipelines that candidates of one process have in common are fitted once a fold, as long as what is kept fits into
    1 GiB.

    A fit that is out of time is ended at once in the main thread of a process; in other threads, and on systems without
    timers, when it is over, unless the estimator has a `time_limit` of its own, which is set to what is left.

    Without limits and interruption the result is a function of the arguments, bit for bit. Cookbook, section 6.2;
    Seeger, section 10.2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.dummy import DummyRegressor
    >>> from tenfold import KNeighborsCV, RidgeCV
    >>> from tenfold.selection import nested
    >>> found = nested({"mean": DummyRegressor(), "ridge": RidgeCV(), "neighbours": KNeighborsCV()},
    ...                *load_diabetes(return_X_y=True))
    >>> [(one.name, round(one.score, 2)) for one in found.ranking]
    [('ridge', 0.49), ('neighbours', 0.44), ('mean', -0.0)]
    >>> found["ridge"].words
    'RidgeCV chooses by exact leave-one-out.'
    """
    run = Run.of(candidates, X, y, outer, scoring, groups, time, sample_weight, random_state)
    race = run.race(time_limit, per_model_limit, effective_n_jobs(n_jobs), refit, abandon)
    results: dict[str, Result] = {}
    interrupted = False
    try:
        for event in run.events(race, time_limit):
            results[event.name] = event.result
            if callback is not None and callback(event):
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    if interrupted and (saved := race.rescue()) is not None:
        results[saved.name] = saved
    return run.collect(results, interrupted)


def nested_events(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    outer: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    time_limit: float | None = None,
    per_model_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = 1,
    refit: bool = True,
    abandon: bool = True,
) -> Iterator[Event]:
    """Tune and evaluate candidates by nested cross-validation, event by event.

    The arguments and the results are those of `nested`; whoever stops asking for events keeps what the last of each
    candidate has as its `result`. Arguments are checked at once, fits begin with the first event that is asked for, and
    the time of `time_limit` runs from the call on.

    Parameters
    ----------
    candidates : list of Candidate, of (name, model) or of (name, model, grid), or dict of str to model
        What is compared: all classifiers, or all regressors, each with a name of its own. A grid is a dict of lists of
        values by the names of parameters, or a list of such dicts.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or, of regressors, (n_samples, n_targets)
        The targets.
    outer : int, "auto", "loo", "hold-out", Protocol, cross-validation generator or an iterable, default=5
        The outer splits: a number of folds, or of periods with `time`; "loo" leaves out each sample alone; "hold-out"
        is one random split of which a fifth tests; "auto" is leave-one-out below 20 samples, ten folds below 100, five
        above, and one split above 100 000, with `groups` five folds, with `time` five periods. Else a splitter of
        scikit-learn, or pairs of training and test indices.
    scoring : str, callable or None, default=None
        scikit-learn's name of a score, or a scorer; larger is better. None is accuracy for classifiers and R2 for
        regressors.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides, unless `outer` has the splits themselves. None for none.
    time : array-like of shape (n_samples,), default=None
        Anything that can be sorted: with "auto" and a number in `outer`, what is tested comes after what trains. None
        for no order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, in fits and scores that know weights. None for ones.
    time_limit : float, default=None
        Seconds for all. Costs are then estimated by fits to small samples, the cheapest candidates run first, and what
        cannot finish is not started before the others are done. None for no limit.
    per_model_limit : float, default=None
        Seconds for each candidate. None for no limit.
    random_state : int, default=0
        Seed of the splits, and of every estimator that has none.
    n_jobs : int or None, default=1
        Processes, each for a candidate, that work on one outer fold at a time; -1 for one a core, None for what joblib
        is set to, else 1. The result depends on it only where time is limited.
    refit : bool, default=True
        Whether candidates are fitted to all samples in the end.
    abandon : bool, default=True
        Whether candidates are given up that are worse than the best on the same samples by more than chance explains:
        when the mean of the paired differences exceeds its standard error so far that Student's t has a probability
        below 0.00135 (three standard deviations of a normal). Losses of 20 samples at least are compared; scores that
        are no means over samples fold by fold, after three folds or more.

    Returns
    -------
    iterator of Event
        For each candidate "started", "fold" after each of its outer folds, and "finished" with its last result; all
        candidates meet one fold before any meets the next. One that there is no time to start is "finished" alone; one
        that was ended, and is fitted to all samples after all, is "finished" once more.

    Raises
    ------
    TypeError
        Where X is a table in files: load it, or split the files.
    ValueError
        Where there are no candidates, two have the same name, some predict classes and some numbers, or X, y and the
        rest have different lengths. A candidate that fails raises nothing: its result says why.

    Notes
    -----
    With k outer folds, a candidate with m settings takes (k - 1) m + 1 fits a fold and k m + 1 for all samples. One
    that chooses by its own exact protocol takes one fit each, and so does one with nothing to choose. Steps of
    pipelines that candidates of one process have in common are fitted once a fold, as long as what is kept fits into
    1 GiB.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import RidgeClassifierCV
    >>> from tenfold.selection import nested_events
    >>> events = nested_events({"ridge": RidgeClassifierCV()}, *load_iris(return_X_y=True), outer=3)
    >>> [event.kind for event in events]
    ['started', 'fold', 'fold', 'fold', 'finished']
    """
    run = Run.of(candidates, X, y, outer, scoring, groups, time, sample_weight, random_state)
    return run.events(run.race(time_limit, per_model_limit, effective_n_jobs(n_jobs), refit, abandon), time_limit)


@dataclass(frozen=True)
class Run:
    """Candidates, samples and splits of one nested cross-validation."""

    candidates: tuple[Candidate, ...]
    data: Data
    protocol: Protocol
    scoring: Scoring
    classes: Any
    seed: int

    @classmethod
    def of(
        cls, candidates: Any, X: Any, y: Any, outer: Any, scoring: Any, groups: Any, time: Any, weight: Any, seed: int
    ) -> "Run":
        """Check the arguments of `nested`."""
        some = tuple(_candidates(candidates))
        data = replace(Data.of(X, y, weight), shared=TransformCache())
        kinds = {is_classifier(last_step(one.model)) for one in some}
        if len(kinds) > 1:
            raise ValueError("Some candidates predict classes and some numbers: they cannot be compared.")
        classes = np.unique(data.y) if kinds == {True} else None
        strata = None if classes is None else data.y
        protocol = splits_of(data.X, data.y, strata, cv=outer, groups=groups, time=time, random_state=seed)
        return cls(some, data, protocol, Scoring(scoring, classes), classes, seed)

    def race(
        self, time_limit: float | None, per_model_limit: float | None, jobs: int, refit: bool, abandon: bool
    ) -> Scheduler:
        """A scheduler of all candidates; the time limit starts now."""
        runners = [
            CandidateRun(one, Result(one.name, self.protocol, self.classes), first_key(one.model))
            for one in self.candidates
        ]
        count = len(self.protocol)
        return Scheduler(
            runners,
            count,
            self.protocol.n / max(1, len(self.protocol.pairs[0][0])),
            inf if time_limit is None else time.perf_counter() + time_limit,
            inf if per_model_limit is None else per_model_limit,
            refit,
            partial(self._folds, jobs=jobs),
            self._refit,
            (lambda result, best: reason_to_give_up(self.scoring.name, self.data, result, best, count))
            if abandon
            else None,
            jobs,
        )

    def events(self, race: Scheduler, time_limit: float | None) -> Iterator[Event]:
        """Events, candidates in the order of their costs, which are estimated where time is limited."""
        begin = time.perf_counter()
        if time_limit is not None:
            price = partial(estimate, seed=self.seed, seconds=time_limit, end=race.end)
            shared: dict[str, float] = {}
            for runner in race.runners:
                before = self._cache_seconds()
                runner.cost = price(runner.candidate, self.data, self.protocol, self.scoring)
                shared[runner.first] = shared.get(runner.first, 0.0) + self._cache_seconds() - before
            race.shared = shared
        number = {runner.result.name: place for place, runner in enumerate(race.runners, 1)}
        for kind, runner in race.events():
            rivals = [one.result for one in race.runners if one.result.folds and not one.candidate.keep]
            best = next(iter(rank(rivals)), None)
            result, seconds = runner.result, time.perf_counter() - begin
            counts = (number[result.name], len(number), len(result.folds), len(self.protocol))
            yield Event(kind, result, *counts, seconds, best)

    def _folds(self, tasks: Sequence[tuple[Candidate, float]], split: int, jobs: int) -> Iterator[Fold | BaseException]:
        """Candidates on one outer fold, each until its deadline: the fold, or the exception that ended it."""
        if jobs == 1 or len(tasks) < 2:
            for candidate, deadline in tasks:
                yield self._attempt(candidate, split, deadline)
            return
        now = time.perf_counter()
        work = (delayed(_attempt_in_process)(self, candidate, split, end - now) for candidate, end in tasks)
        yield from Parallel(n_jobs=jobs, return_as="generator")(work)

    def _attempt(self, candidate: Candidate, split: int, deadline: float) -> Fold | BaseException:
        try:
            return self.fold(candidate, split, deadline)
        except (OutOfTime, Exception) as error:
            return error

    def fold(self, candidate: Candidate, split: int, deadline: float) -> Fold:
        """One outer fold: choose hyper-parameters on the training samples, fit, predict the left-out samples."""
        train, test = self.protocol.pairs[split]
        begin, before = time.perf_counter(), self._cache_seconds()
        with until(deadline), PeakMemory() as peak, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            inside = partial(self.protocol.inner, split)
            choice = choose(candidate, self.data.part(train), inside, self.scoring, seed=self.seed, deadline=deadline)
            seconds, shared = time.perf_counter() - begin, self._cache_seconds() - before
            left_out = self.data.part(test)
            predicted = outputs(choice.model, left_out.X, self.data.shared)
            score = self.scoring.of_outputs(last_step(choice.model), left_out, predicted)
        return Fold(
            test, len(train), score, predicted, choice.params, choice.tried, choice.free, choice.words, seconds,
            peak.bytes, _texts(warned), shared,
        )  # fmt: skip

    def _cache_seconds(self) -> float:
        return 0.0 if self.data.shared is None else self.data.shared.seconds

    def _refit(self, candidate: Candidate, result: Result, deadline: float) -> Result:
        """The candidate fitted to all samples, hyper-parameters chosen by the outer folds or by its own protocol."""
        begin = time.perf_counter()
        with until(deadline), PeakMemory() as peak, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            outer = self.protocol
            choice = choose(candidate, self.data, lambda: outer, self.scoring, seed=self.seed, deadline=deadline)
        return replace(
            result, state="ok", model=choice.model, params=choice.params, tried=choice.tried, free=choice.free,
            words=choice.words, fit_seconds=time.perf_counter() - begin, refit_bytes=peak.bytes,
            refit_warned=_texts(warned),
        )  # fmt: skip

    def collect(self, finished: Mapping[str, Result], interrupted: bool) -> Nested:
        """The results of all candidates, those that never started included."""
        results = []
        for candidate in self.candidates:
            result = finished.get(candidate.name)
            if result is None:
                why = "Interrupted before it began."
                result = Result(candidate.name, self.protocol, self.classes, state="not started", reason=why)
            if result.state == "running":
                why = f"Interrupted after {len(result.folds)} of {len(self.protocol)} folds."
                result = replace(result, state="interrupted", reason=why)
            results.append(result)
        words = f"Score: {self.scoring.name}, larger is better. Outer folds: {self.protocol.words}."
        return Nested(tuple(results), self.protocol, self.scoring.name, self.classes, self.data.y, words, interrupted)


def _attempt_in_process(run: Run, candidate: Candidate, split: int, seconds: float) -> Fold | BaseException:
    """A fold in another process, whose clock has another origin."""
    return run._attempt(candidate, split, time.perf_counter() + seconds)


def _candidates(given: Any) -> Iterable[Candidate]:
    """Candidates from any form that `nested` takes."""
    pairs = given.items() if isinstance(given, Mapping) else given
    candidates = [one if isinstance(one, Candidate) else Candidate(*one) for one in pairs]
    if not candidates:
        raise ValueError("There are no candidates.")
    names = [candidate.name for candidate in candidates]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Candidates need names of their own, {', '.join(twice)} is there twice.")
    return candidates


def _texts(warned: Any) -> tuple[str, ...]:
    """Texts of warnings, each once."""
    return tuple(dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in warned))
