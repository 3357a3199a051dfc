"""Scheduling of candidates over outer folds: the cheapest first, and all of them on one fold before the next.

With a time limit, a candidate starts only if all of its folds and its refit fit into the remaining time, less what the
started ones still need; the others run after these have finished, on as many folds as fit. Time is reserved for the
refit of the best. Timing decides what is computed, never the value of a result.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from tenfold.selection.costs import Cost
from tenfold.selection.inner_search import Candidate
from tenfold.selection.results import Fold, Result, rank
from tenfold.selection.time_limit import OutOfTime

Kind = Literal["started", "fold", "finished"]
MAX_OVERRUN = 5.0  # a fold is ended after this multiple of its expected seconds
FOLD_FRACTION = 0.5  # or after this fraction of the remaining time, where that is more
NEGLIGIBLE_FRACTION = 0.02  # a candidate that needs less than this of the remaining time is not ended to save time
REFIT_RESERVE = 1.5  # multiple of the expected seconds that is reserved for the refit of the best
MARGIN = 1.25  # expected over measured seconds: machines are shared


@dataclass
class CandidateRun:
    """A candidate and its results so far; candidates with the same `first` share the first step of their pipelines."""

    candidate: Candidate
    result: Result
    first: str = ""
    cost: Cost = field(default_factory=Cost)
    spent: float = 0.0
    last: float = 0.0

    @property
    def running(self) -> bool:
        return self.result.state == "running"

    def estimate_seconds(self, ratio: float) -> tuple[float, float]:
        """Expected seconds of a fold and of the refit: from the folds that are done, else as estimated."""
        done = [fold.fit_seconds - fold.shared_seconds for fold in self.result.folds]
        cost = replace(self.cost, seconds=float(np.mean(done))) if done else self.cost
        return MARGIN * cost.seconds, MARGIN * cost.times(ratio)


@dataclass
class Scheduler:
    """Runs candidates over `folds` outer folds until `end`.

    Attributes
    ----------
    runners : the candidates.
    folds : the number of outer folds.
    ratio : all samples for each training sample of a fold.
    end, per_model : the last moment, and the seconds that a candidate may take.
    refit : whether candidates are fitted to all samples.
    run : runs candidates on a fold: their folds, or the errors, one after the other.
    fit : fits a candidate to all samples.
    reason_to_give_up : why a candidate is given up against the best, or None.
    jobs : how many candidates run at once.
    shared : seconds of a fold for the first steps of pipelines, which candidates share, by `Runner.first`.
    """

    runners: list[CandidateRun]
    folds: int
    ratio: float
    end: float
    per_model: float
    refit: bool
    run: Callable[[Sequence[tuple[Candidate, float]], int], Iterator[Fold | BaseException]]
    fit: Callable[[Candidate, Result, float], Result]
    reason_to_give_up: Callable[[Result, Result], str | None] | None
    jobs: int = 1
    shared: Mapping[str, float] = field(default_factory=dict)

    def events(self) -> Iterator[tuple[Kind, CandidateRun]]:
        """Run all candidates, event by event."""
        order = sorted(self.runners, key=lambda one: (one.cost.failed, one.cost.seconds))
        first = yield from self._rounds(order, whole=True)
        yield from self._refits()
        if first:
            yield from self._rounds(first, whole=False)
            yield from self._refits()

    def rescue(self) -> Result | None:
        """After an interruption, fit the best candidate that has folds to all samples, where none is; None else."""
        rivals = {one.result.name: one for one in self.runners if _can_win(one) and one.result.folds}
        if not self.refit or not rivals or any(one.result.model is not None for one in rivals.values()):
            return None
        one = rivals[rank([runner.result for runner in rivals.values()])[0].name]
        state = one.result
        done = self._refit(one).result
        reason = state.reason or f"Interrupted after {len(done.folds)} of {self.folds} folds."
        return replace(done, state="interrupted" if state.state == "running" else state.state, reason=reason)

    def _rounds(self, order: list[CandidateRun], whole: bool) -> Any:
        """All candidates on one fold after the other; with `whole`, returns those that have no time for all folds."""
        waiting: list[CandidateRun] = []
        for fold in range(self.folds):
            yield from self._end_worst()
            ready = [one for one in order if one.running and one not in waiting and len(one.result.folds) == fold]
            # one at a time, so that the seconds of the cheap ones are known before the expensive ones start
            size = 1 if self.jobs == 1 else len(ready)
            for at in range(0, len(ready), max(1, size)):
                some = []
                for one in ready[at : at + size]:
                    # a candidate whose cost is unknown might take all of the time
                    needed = inf if whole and one.cost.failed else self._seconds_needed(one, fold, whole)
                    if needed <= self._seconds_left(one):
                        some.append(one)
                    elif whole and fold == 0:
                        waiting.append(one)
                    else:
                        yield "finished", self._time_out(one)
                yield from self._fold(some, fold)
            yield from self._give_up(order, fold)
        return waiting

    def _fold(self, some: list[CandidateRun], fold: int) -> Iterator[tuple[Kind, CandidateRun]]:
        """Some candidates on one fold."""
        tasks = []
        for one in some:
            if fold == 0:
                yield "started", one
            tasks.append((one.candidate, self._deadline(one)))
        begin = time.perf_counter()
        for one, outcome in zip(some, self.run(tasks, fold), strict=True):
            one.last = time.perf_counter() - begin
            one.spent += one.last
            begin = time.perf_counter()
            if isinstance(outcome, Fold):
                one.result = replace(one.result, folds=(*one.result.folds, outcome))
                if len(one.result.folds) == self.folds and not (self.refit and one.candidate.refit):
                    yield "fold", one
                    yield "finished", self._end(one, "ok", "")
                else:
                    yield "fold", one
            elif isinstance(outcome, OutOfTime):
                yield "finished", self._time_out(one, f"Fold {fold + 1} was ended after {format_seconds(one.last)}")
            else:
                where = f"{type(outcome).__name__} in fold {fold + 1}: {first_line(outcome)}"
                yield "finished", self._end(one, "failed", where)

    def _end_worst(self) -> Iterator[tuple[Kind, CandidateRun]]:
        """Where the remaining folds do not fit into the time, end the worst candidates that take a part of it."""
        while self.end < inf:
            left = self.end - time.perf_counter()
            if self._seconds_of_all() <= left:
                return
            rivals = {
                one.result.name: one for one in self.runners if one.running and one.result.folds and _can_win(one)
            }
            order = [rivals[result.name] for result in rank([one.result for one in rivals.values()])]
            worst = next(
                (one for one in reversed(order[1:]) if self._seconds_to_finish(one) > NEGLIGIBLE_FRACTION * left), None
            )
            if worst is None:
                return
            better = order.index(worst)
            done = f"Ended after {len(worst.result.folds)} of {self.folds} folds"
            yield "finished", self._end(worst, "timed out", f"{done}: time was short, and {better} others were better.")

    def _give_up(self, order: list[CandidateRun], fold: int) -> Iterator[tuple[Kind, CandidateRun]]:
        """After a fold, end candidates that are worse than the best of those that are to be refitted."""
        done = fold + 1
        if self.reason_to_give_up is None or done == self.folds:
            return
        rivals = [one for one in self.runners if _can_win(one) and len(one.result.folds) >= done]
        if not rivals:
            return
        short = [replace(one.result, folds=one.result.folds[:done]) for one in rivals]
        best = max(short, key=lambda result: -inf if np.isnan(result.score) else result.score)
        for one in order:
            if one.running and _can_win(one) and len(one.result.folds) == done and one.result.name != best.name:
                reason = self.reason_to_give_up(one.result, best)
                if reason is not None:
                    yield "finished", self._end(one, "abandoned", reason)

    def _refits(self) -> Iterator[tuple[Kind, CandidateRun]]:
        """Fit candidates to all samples, the best first; one that timed out only where nothing better is fitted."""
        by_name = {one.result.name: one for one in self.runners if self.refit and one.candidate.refit}
        better = False
        for result in rank([one.result for one in by_name.values() if one.result.folds]):
            one = by_name[result.name]
            if one.running or (one.result.state == "timed out" and one.result.model is None and not better):
                yield "finished", self._refit(one)
            better = better or (one.result.model is not None and not one.candidate.keep)

    def _refit(self, one: CandidateRun) -> CandidateRun:
        """A candidate fitted to all samples, where there is time."""
        whole = len(one.result.folds) == self.folds
        seconds = one.estimate_seconds(self.ratio)[1]
        left = self._seconds_left(one, reserve=False)
        if seconds > left:
            times = f"that takes about {format_seconds(seconds)}, and {format_seconds(left)} were left"
            reason = f"Not fitted to all samples: {times}."
            return self._end(one, "ok" if whole else "timed out", one.result.reason or reason)
        begin = time.perf_counter()
        state, reason = one.result.state, one.result.reason
        try:
            result = self.fit(one.candidate, one.result, begin + left)
            state = "ok" if whole else "timed out"
            one.result = replace(result, state=state, reason=reason)
        except OutOfTime:
            state, reason = ("ok" if whole else "timed out"), "Not fitted to all samples: the time was over."
        except Exception as error:
            state, reason = "failed", f"{type(error).__name__} in the refit on all rows: {first_line(error)}"
        one.spent += time.perf_counter() - begin
        return self._end(one, state, reason)

    # -- time

    def _seconds_needed(self, one: CandidateRun, fold: int, whole: bool) -> float:
        """Seconds that must remain for a candidate to go on: for all that it and the others still need, or for this
        fold alone.
        """
        if self.end == inf:
            return 0.0
        mine, refit = one.estimate_seconds(self.ratio)
        if not (whole and fold == 0):
            # the first that runs at all has to leave time for its own refit
            alone = fold == 0 and _can_win(one) and not any(other.result.model is not None for other in self.runners)
            return mine + (max(0.0, self._refit_seconds(one) - self._seconds_reserved()) if alone else 0.0)
        mine = (self.folds - fold) * mine + (refit if one.candidate.refit and self.refit else 0.0)
        return mine + self._seconds_of_all()

    def _seconds_of_all(self) -> float:
        """Seconds that all started candidates still need, with the steps that they share."""
        started = [one for one in self.runners if one.running and one.result.folds]
        rounds = max((self.folds - len(one.result.folds) for one in started), default=0)
        shared = sum(self.shared.get(first, 0.0) for first in {one.first for one in started})
        return (rounds + self.ratio) * shared + sum(self._seconds_to_finish(one) for one in started)

    def _seconds_to_finish(self, one: CandidateRun) -> float:
        """Seconds that a started candidate still needs."""
        fold, refit = one.estimate_seconds(self.ratio)
        return (self.folds - len(one.result.folds)) * fold + (refit if self.refit and one.candidate.refit else 0.0)

    def _seconds_left(self, one: CandidateRun, reserve: bool = True) -> float:
        """Seconds that remain for a candidate, less those reserved for the refit of the best."""
        left = self.end - time.perf_counter() - (self._seconds_reserved() if reserve else 0.0)
        return min(left, self.per_model - one.spent)

    def _seconds_reserved(self) -> float:
        """Seconds reserved for the refit of the best so far; 0 once it is fitted."""
        rivals = {one.result.name: one for one in self.runners if _can_win(one) and one.result.folds}
        best = next(iter(rank([one.result for one in rivals.values()])), None)
        if best is None or best.model is not None or not self.refit or self.end == inf:
            return 0.0
        return REFIT_RESERVE * self._refit_seconds(rivals[best.name])

    def _refit_seconds(self, one: CandidateRun) -> float:
        """Expected seconds of the refit of a candidate, with the steps that it shares."""
        return one.estimate_seconds(self.ratio)[1] + MARGIN * self.ratio * self.shared.get(one.first, 0.0)

    def _deadline(self, one: CandidateRun) -> float:
        """When a fold of a candidate is ended, so that an underestimated one does not take all of the time."""
        left = self.end - time.perf_counter() - self._seconds_reserved()
        others = any(other.running and other is not one for other in self.runners)
        most = (
            min(left, max(MAX_OVERRUN * one.estimate_seconds(self.ratio)[0], FOLD_FRACTION * left))
            if others and left < inf
            else left
        )
        return time.perf_counter() + min(most, self.per_model - one.spent)

    # -- ends

    def _time_out(self, one: CandidateRun, ended: str = "") -> CandidateRun:
        """End a candidate for which there is no time; `ended` describes a fold that was running."""
        done, left = len(one.result.folds), self._seconds_left(one)
        if self.per_model - one.spent <= 0.0:
            reason = f"The time for a candidate was over after {done} folds."
        elif left <= 0.0:
            reason = f"The time for all candidates together was over after {done} folds."
        elif ended:
            reason = f"{ended}, to leave time for the others."
        else:
            seconds = format_seconds(one.estimate_seconds(self.ratio)[0])
            after = f"after {done} of {self.folds} folds"
            reason = f"A fold takes about {seconds}, and {format_seconds(left)} were left {after}."
        return self._end(one, "timed out" if done or one.spent else "not started", reason)

    def _end(self, one: CandidateRun, state: Any, reason: str) -> CandidateRun:
        last = one.result.folds[-1] if one.result.folds else None
        if state == "ok" and one.result.model is None and last is not None:
            one.result = replace(one.result, tried=last.tried, free=last.free, words=last.words)
        one.result = replace(one.result, state=state, reason=reason, seconds=one.spent)
        return one


def _can_win(one: CandidateRun) -> bool:
    """Whether a candidate may be selected: it is to be refitted, is no baseline and has not failed."""
    return one.candidate.refit and not one.candidate.keep and one.result.state != "failed"


def format_seconds(seconds: float) -> str:
    """Seconds in words."""
    return f"{seconds:,.0f} s" if seconds >= 10.0 else f"{max(0.0, seconds):.2g} s"


def first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
