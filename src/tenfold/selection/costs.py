"""What a candidate will cost: seconds of an outer fold, extrapolated from fits to small samples of it.

The first step of a pipeline is fitted to all training samples of the first fold, which the fold needs anyway and all
candidates share; the rest, with its inner search, is fitted to growing samples of what that gives. Two sizes show how
the time grows. A candidate that is surely cheap is measured on the smallest sample alone.
"""

import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log, prod
from typing import Any

import numpy as np
from joblib import hash as hash_of
from sklearn.pipeline import Pipeline

from tenfold.selection.default_splits import splits_of
from tenfold.selection.fitting import Chain, Data, rows_of, seeded
from tenfold.selection.inner_search import Candidate, choose
from tenfold.selection.scoring import Scoring
from tenfold.selection.splitters import Protocol
from tenfold.selection.time_limit import OutOfTime, until

WARM = 100
SAMPLE = 500  # samples of the first fit: enough for four inner folds of some tens of classes
STEP = 4  # each sample is so many times as large as the one before
ASSUMED, STEEPEST = 2.0, 3.0  # growth while one size is known, all pairs; and at most, a decomposition of n x n
CHEAP = 0.005  # a fold below this part of the time needs no closer look
PATIENCE = 0.03  # the part of the time that looking at one candidate may take
INNER = 4


@dataclass(frozen=True)
class Cost:
    """Seconds of one outer fold of a candidate, and the exponent of their growth with the number of samples.

    Attributes
    ----------
    seconds : of a fold; a lower bound where `PATIENCE` was over. 0 where nothing is known.
    growth : the exponent.
    samples : how many were fitted to find out.
    failed : whether that could not be done, so that the candidate had better run after the others.
    """

    seconds: float = 0.0
    growth: float = 1.0
    samples: int = 0
    failed: bool = False

    def times(self, ratio: float) -> float:
        """Seconds of a fit to `ratio` times as many samples."""
        return self.seconds * ratio**self.growth if self.seconds else 0.0


UNKNOWN = Cost(failed=True)


def estimate(
    candidate: Candidate, data: Data, protocol: Protocol, scoring: Scoring, *, seed: int, seconds: float, end: float
) -> Cost:
    """The cost of the first outer fold, where `seconds` are there for everything and `end` is the last moment.

    Samples that are too small to be fitted, as they may lack a class, tell nothing: the first fold says what is wrong.
    """
    train = protocol.pairs[0][0]
    if len(train) <= 2 * SAMPLE:
        return Cost()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have them again
        try:
            with until(end):
                model, ready = _after_first_step(seeded(candidate.model, seed), data.part(train), end)
        except OutOfTime:
            return Cost(inf, ASSUMED, len(train))
        except Exception:
            return UNKNOWN
        try:
            rest, often = _rest(candidate, model)
            cost = _extrapolate(rest, ready, protocol, train, scoring, seed, seconds, end)
            return replace(cost, seconds=often * cost.seconds)
        except Exception:
            return UNKNOWN


def _extrapolate(
    candidate: Candidate,
    ready: Data,
    protocol: Protocol,
    train: Any,
    scoring: Scoring,
    seed: int,
    seconds: float,
    end: float,
) -> Cost:
    """Fits to growing samples, until the cost of all is known well enough."""
    n, size = len(train), SAMPLE
    order = np.random.default_rng(seed).permutation(n)

    def measure(size: int) -> tuple[float, bool]:
        """Seconds of a fit to so many samples, and whether it was ended."""
        rows = np.sort(order[:size])
        weight = None if ready.weight is None else ready.weight[rows]
        part = Data(rows_of(ready.X, rows), ready.y[rows], weight)
        begin = time.perf_counter()
        deadline = min(end, begin + PATIENCE * seconds)
        try:
            with until(deadline):
                inner = partial(_inner, part, protocol, train[rows], seed)
                choose(candidate, part, inner, scoring, seed=seed, deadline=deadline)
        except OutOfTime:
            return time.perf_counter() - begin, True
        return time.perf_counter() - begin, False

    with suppress(Exception):  # the first call of a class takes longer; a sample this small may not do
        took, ended = measure(WARM)
        if ended:
            return Cost(took * n / WARM, 1.0, WARM)
    before: float | None = None
    while True:
        took, ended = measure(size)
        cost = Cost(took * n / size, 1.0, size) if ended else _grow(before, took, size, n)
        if ended or cost.seconds <= CHEAP * seconds or STEP * size > n / 2:
            return cost
        before, size = took, STEP * size


def _grow(before: float | None, took: float, size: int, n: int) -> Cost:
    """The cost of n samples, where `size` took so long and a part of them `before`: a power of n where the time grew at
    least as they did, else a constant and a multiple of n. A time that fell tells nothing.
    """
    if before is None or took <= before:
        return Cost(took * (n / size) ** ASSUMED, ASSUMED, size)
    growth = log(took / before) / log(STEP)
    if growth >= 1.0:
        growth = min(growth, STEEPEST)
        return Cost(took * (n / size) ** growth, growth, size)
    return Cost(took + (took - before) / (size - size / STEP) * (n - size), 1.0, size)


def _after_first_step(model: Any, data: Data, end: float) -> tuple[Any, Data]:
    """A pipeline without its first step, and the samples as the rest gets them."""
    if not isinstance(model, Pipeline) or len(model.steps) < 2:
        return model, data
    first = Pipeline([model.steps[0], ("rest", "passthrough")])
    ready, _ = Chain(first, data, deadline=end).before_last(first, ("", ""))
    rest = model.steps[1:]
    return (rest[0][1] if len(rest) == 1 else Pipeline(rest)), ready


def first_key(model: Any) -> str:
    """Equal for pipelines that share their first step; empty where there is none."""
    return hash_of(model.steps[0][1]) if isinstance(model, Pipeline) and len(model.steps) > 1 else ""


def _rest(candidate: Candidate, model: Any) -> tuple[Candidate, int]:
    """A candidate without the first step of its pipeline, and how many settings of that step it is tried with."""
    grid = candidate.grid
    if not isinstance(candidate.model, Pipeline) or not isinstance(grid, Mapping):
        return Candidate(candidate.name, model, grid), 1
    names = [name for name, _ in candidate.model.steps]
    first = {name for name in grid if name == names[0] or name.startswith(f"{names[0]}__")}
    prefix = f"{names[-1]}__" if len(names) == 2 else ""
    kept = {name.removeprefix(prefix): values for name, values in grid.items() if name not in first}
    return Candidate(candidate.name, model, kept or None), prod(len(grid[name]) for name in first)


def _inner(part: Data, protocol: Protocol, rows: Any, seed: int) -> Protocol:
    """Inner folds of a sample, of the kind that the outer fold has."""
    classes = None if protocol.classes is None else part.y
    groups, moments = (None if one is None else np.asarray(one)[rows] for one in (protocol.groups, protocol.time))
    cv = "hold-out" if protocol.kind == "hold-out" else INNER
    return splits_of(part.X, part.y, classes, cv=cv, groups=groups, time=moments, random_state=seed)
