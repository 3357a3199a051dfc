"""The order in which candidates meet the outer folds: the cheapest first, and all of them on one fold before any on the
next.

Where time is limited, a candidate starts only if all of its folds and its refit fit into what is left beside what those
that have started still need; the others come after everybody has finished, with as many folds as fit. Time is kept for
the refit of the best. Timing decides what is computed, never what comes out of it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from tenfold.selection.costs import Cost
from tenfold.selection.inner_search import Candidate
from tenfold.selection.results import Fold, Result, ranked
from tenfold.selection.time_limit import OutOfTime

Kind = Literal["started", "fold", "finished"]
OVERRUN = 5.0  # a fold may take so many times what was expected of it
FAIR = 0.5  # or this part of what is left, where that is more
DEAR = 0.02  # what takes less than this part of the time that is left is not ended to save time
SURE = 1.5  # so many times what the refit of the best is expected to take is kept for it: it is what is saved
MARGIN = 1.25  # fits are expected to take so many times what was measured: machines are shared


@dataclass
class Runner:
    """A candidate on its way; candidates with the same `first` share the first step of their pipelines."""

    candidate: Candidate
    result: Result
    first: str = ""
    cost: Cost = field(default_factory=Cost)
    spent: float = 0.0
    last: float = 0.0

    @property
    def running(self) -> bool:
        return self.result.state == "running"

    def measured(self, ratio: float) -> tuple[float, float]:
        """Seconds to expect of a fold and of the refit: of those that were done, else as estimated."""
        done = [fold.fit_seconds - fold.shared_seconds for fold in self.result.folds]
        cost = replace(self.cost, seconds=float(np.mean(done))) if done else self.cost
        return MARGIN * cost.seconds, MARGIN * cost.times(ratio)


@dataclass
class Race:
    """Runs candidates over `folds` outer folds until `end`, by functions that do the work.

    Attributes
    ----------
    runners : the candidates.
    folds : the number of outer folds.
    ratio : all samples for each training sample of a fold.
    end, per_model : the last moment, and the seconds that a candidate may take.
    refit : whether candidates are fitted to all samples.
    run : tests candidates on a fold: what they gave, or the error, one after the other.
    fit : fits a candidate to all samples.
    hopeless : why a candidate is given up against the best, or None.
    jobs : how many candidates run at once.
    shared : seconds of a fold for the first steps of pipelines, which candidates share, by `Runner.first`.
    """

    runners: list[Runner]
    folds: int
    ratio: float
    end: float
    per_model: float
    refit: bool
    run: Callable[[Sequence[tuple[Candidate, float]], int], Iterator[Fold | BaseException]]
    fit: Callable[[Candidate, Result, float], Result]
    hopeless: Callable[[Result, Result], str | None] | None
    jobs: int = 1
    shared: Mapping[str, float] = field(default_factory=dict)

    def events(self) -> Iterator[tuple[Kind, Runner]]:
        """Everything, event by event."""
        order = sorted(self.runners, key=lambda one: (one.cost.failed, one.cost.seconds))
        first = yield from self._rounds(order, whole=True)
        yield from self._refits()
        if first:
            yield from self._rounds(first, whole=False)
            yield from self._refits()

    def rescue(self) -> Result | None:
        """After an interruption, the best with some folds fitted to all samples, where nobody is; None else."""
        could = {one.result.name: one for one in self.runners if _can_win(one) and one.result.folds}
        if not self.refit or not could or any(one.result.model is not None for one in could.values()):
            return None
        one = could[ranked([runner.result for runner in could.values()])[0].name]
        state = one.result
        done = self._refitted(one).result
        reason = state.reason or f"Interrupted after {len(done.folds)} of {self.folds} folds."
        return replace(done, state="interrupted" if state.state == "running" else state.state, reason=reason)

    def _rounds(self, order: list[Runner], whole: bool) -> Any:
        """All candidates on one fold after the other; gives those that cannot finish, where they have to."""
        waiting: list[Runner] = []
        for fold in range(self.folds):
            yield from self._relieve()
            ready = [one for one in order if one.running and one not in waiting and len(one.result.folds) == fold]
            # one at a time, so that what the cheap ones took is known before the dear ones start
            size = 1 if self.jobs == 1 else len(ready)
            for at in range(0, len(ready), max(1, size)):
                some = []
                for one in ready[at : at + size]:
                    # what nothing is known of might take all of the time
                    needed = inf if whole and one.cost.failed else self._needed(one, fold, whole)
                    if needed <= self._left(one):
                        some.append(one)
                    elif whole and fold == 0:
                        waiting.append(one)
                    else:
                        yield "finished", self._cut(one)
                yield from self._fold(some, fold)
            yield from self._give_up(order, fold)
        return waiting

    def _fold(self, some: list[Runner], fold: int) -> Iterator[tuple[Kind, Runner]]:
        """Some candidates on one fold."""
        tasks = []
        for one in some:
            if fold == 0:
                yield "started", one
            tasks.append((one.candidate, self._deadline(one)))
        begin = time.perf_counter()
        for one, found in zip(some, self.run(tasks, fold), strict=True):
            one.last = time.perf_counter() - begin
            one.spent += one.last
            begin = time.perf_counter()
            if isinstance(found, Fold):
                one.result = replace(one.result, folds=(*one.result.folds, found))
                if len(one.result.folds) == self.folds and not (self.refit and one.candidate.refit):
                    yield "fold", one
                    yield "finished", self._end(one, "ok", "")
                else:
                    yield "fold", one
            elif isinstance(found, OutOfTime):
                yield "finished", self._cut(one, f"Fold {fold + 1} was ended after {said(one.last)}")
            else:
                where = f"{type(found).__name__} in fold {fold + 1}: {first_line(found)}"
                yield "finished", self._end(one, "failed", where)

    def _relieve(self) -> Iterator[tuple[Kind, Runner]]:
        """Where what is left to do does not fit into the time, end the worst of those that take a part of it."""
        while self.end < inf:
            left = self.end - time.perf_counter()
            if self._remaining() <= left:
                return
            could = {one.result.name: one for one in self.runners if one.running and one.result.folds and _can_win(one)}
            order = [could[result.name] for result in ranked([one.result for one in could.values()])]
            worst = next((one for one in reversed(order[1:]) if self._rest(one) > DEAR * left), None)
            if worst is None:
                return
            better = order.index(worst)
            done = f"Ended after {len(worst.result.folds)} of {self.folds} folds"
            yield "finished", self._end(worst, "timed out", f"{done}: time was short, and {better} others were better.")

    def _give_up(self, order: list[Runner], fold: int) -> Iterator[tuple[Kind, Runner]]:
        """After a fold, end those that are worse than the best of those that are fitted in the end."""
        done = fold + 1
        if self.hopeless is None or done == self.folds:
            return
        rivals = [one for one in self.runners if _can_win(one) and len(one.result.folds) >= done]
        if not rivals:
            return
        short = [replace(one.result, folds=one.result.folds[:done]) for one in rivals]
        best = max(short, key=lambda result: -inf if np.isnan(result.score) else result.score)
        for one in order:
            if one.running and _can_win(one) and len(one.result.folds) == done and one.result.name != best.name:
                reason = self.hopeless(one.result, best)
                if reason is not None:
                    yield "finished", self._end(one, "abandoned", reason)

    def _refits(self) -> Iterator[tuple[Kind, Runner]]:
        """Fit candidates to all samples, the best first; one that was cut only where nothing better is there."""
        by_name = {one.result.name: one for one in self.runners if self.refit and one.candidate.refit}
        better = False
        for result in ranked([one.result for one in by_name.values() if one.result.folds]):
            one = by_name[result.name]
            if one.running or (one.result.state == "timed out" and one.result.model is None and not better):
                yield "finished", self._refitted(one)
            better = better or (one.result.model is not None and not one.candidate.keep)

    def _refitted(self, one: Runner) -> Runner:
        """A candidate fitted to all samples, where there is time."""
        whole = len(one.result.folds) == self.folds
        seconds = one.measured(self.ratio)[1]
        left = self._left(one, reserve=False)
        if seconds > left:
            reason = f"Not fitted to all samples: that takes about {said(seconds)}, and {said(left)} were left."
            return self._end(one, "ok" if whole else "timed out", one.result.reason or reason)
        begin = time.perf_counter()
        state, reason = one.result.state, one.result.reason
        try:
            found = self.fit(one.candidate, one.result, begin + left)
            state = "ok" if whole else "timed out"
            one.result = replace(found, state=state, reason=reason)
        except OutOfTime:
            state, reason = ("ok" if whole else "timed out"), "Not fitted to all samples: the time was over."
        except Exception as error:
            state, reason = "failed", f"{type(error).__name__} in the refit on all rows: {first_line(error)}"
        one.spent += time.perf_counter() - begin
        return self._end(one, state, reason)

    # -- time

    def _needed(self, one: Runner, fold: int, whole: bool) -> float:
        """Seconds to keep for a candidate to go on: for all that it still needs, beside what the others still need, or
        for this fold alone.
        """
        if self.end == inf:
            return 0.0
        mine, refit = one.measured(self.ratio)
        if not (whole and fold == 0):
            # the first that runs at all has to leave time for its own refit
            alone = fold == 0 and _can_win(one) and not any(other.result.model is not None for other in self.runners)
            return mine + (max(0.0, self._to_fit(one) - self._reserve()) if alone else 0.0)
        mine = (self.folds - fold) * mine + (refit if one.candidate.refit and self.refit else 0.0)
        return mine + self._remaining()

    def _remaining(self) -> float:
        """Seconds that all that have started still need, with what they share."""
        started = [one for one in self.runners if one.running and one.result.folds]
        rounds = max((self.folds - len(one.result.folds) for one in started), default=0)
        shared = sum(self.shared.get(first, 0.0) for first in {one.first for one in started})
        return (rounds + self.ratio) * shared + sum(self._rest(one) for one in started)

    def _rest(self, one: Runner) -> float:
        """Seconds that a candidate that has started still needs."""
        fold, refit = one.measured(self.ratio)
        return (self.folds - len(one.result.folds)) * fold + (refit if self.refit and one.candidate.refit else 0.0)

    def _left(self, one: Runner, reserve: bool = True) -> float:
        """Seconds that are left to a candidate, less those of the refit of the best."""
        left = self.end - time.perf_counter() - (self._reserve() if reserve else 0.0)
        return min(left, self.per_model - one.spent)

    def _reserve(self) -> float:
        """Seconds of the refit of the best so far, as long as it is not fitted."""
        could = {one.result.name: one for one in self.runners if _can_win(one) and one.result.folds}
        best = next(iter(ranked([one.result for one in could.values()])), None)
        if best is None or best.model is not None or not self.refit or self.end == inf:
            return 0.0
        return SURE * self._to_fit(could[best.name])

    def _to_fit(self, one: Runner) -> float:
        """Seconds that the refit of a candidate takes where nothing of it is there."""
        return one.measured(self.ratio)[1] + MARGIN * self.ratio * self.shared.get(one.first, 0.0)

    def _deadline(self, one: Runner) -> float:
        """When a fold of a candidate is ended: it may not take all of the time if it is not what it seemed."""
        left = self.end - time.perf_counter() - self._reserve()
        others = any(other.running and other is not one for other in self.runners)
        most = min(left, max(OVERRUN * one.measured(self.ratio)[0], FAIR * left)) if others and left < inf else left
        return time.perf_counter() + min(most, self.per_model - one.spent)

    # -- ends

    def _cut(self, one: Runner, ended: str = "") -> Runner:
        """A candidate that time does not allow to go on; `ended` says so of a fold that ran."""
        done, left = len(one.result.folds), self._left(one)
        if self.per_model - one.spent <= 0.0:
            reason = f"The time for a candidate was over after {done} folds."
        elif left <= 0.0:
            reason = f"The time for all candidates together was over after {done} folds."
        elif ended:
            reason = f"{ended}, to leave time for the others."
        else:
            seconds = said(one.measured(self.ratio)[0])
            reason = f"A fold takes about {seconds}, and {said(left)} were left after {done} of {self.folds} folds."
        return self._end(one, "timed out" if done or one.spent else "not started", reason)

    def _end(self, one: Runner, state: Any, reason: str) -> Runner:
        last = one.result.folds[-1] if one.result.folds else None
        if state == "ok" and one.result.model is None and last is not None:
            one.result = replace(one.result, tried=last.tried, free=last.free, words=last.words)
        one.result = replace(one.result, state=state, reason=reason, seconds=one.spent)
        return one


def _can_win(one: Runner) -> bool:
    """Whether a candidate may be kept in the end: it is to be fitted, and more than something to compare with."""
    return one.candidate.refit and not one.candidate.keep and one.result.state != "failed"


def said(seconds: float) -> str:
    """Seconds in words."""
    return f"{seconds:,.0f} s" if seconds >= 10.0 else f"{max(0.0, seconds):.2g} s"


def first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
