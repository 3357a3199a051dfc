"""Estimated cost of a candidate: seconds of an outer fold, extrapolated from fits to subsamples.

The first step of a pipeline is fitted to all training samples of the first fold: the fold needs that anyway, and all
candidates share it. The rest, with its inner search, is fitted to growing subsamples of the transformed samples. Two
sizes give the exponent of the growth. A cheap candidate is measured on the smallest subsample alone.
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
from tenfold.selection.fitting import Chain, Data, clone_with_seed, rows_of
from tenfold.selection.inner_search import Candidate, choose
from tenfold.selection.scoring import Scoring
from tenfold.selection.splitters import Protocol
from tenfold.selection.time_limit import OutOfTime, until

WARM_UP_SAMPLES = 100  # the first call of a class takes longer: it is not measured
FIRST_SAMPLES = 500  # samples of the first fit: enough for four inner folds of some tens of classes
GROWTH_FACTOR = 4  # ratio of the sizes of consecutive samples
DEFAULT_EXPONENT = 2.0  # assumed growth with the samples while one size is known: all pairs of samples
MAX_EXPONENT = 3.0  # a decomposition of an n x n matrix
CHEAP_FRACTION = 0.005  # a fold below this fraction of the time limit is not measured on a larger sample
MAX_FRACTION = 0.03  # fraction of the time limit that measuring one candidate may take
INNER_FOLDS = 4  # those of five outer folds


@dataclass(frozen=True)
class Cost:
    """Seconds of one outer fold of a candidate, and the exponent of their growth with the number of samples.

    Attributes
    ----------
    seconds : of a fold; a lower bound where `MAX_FRACTION` was exceeded. 0 where nothing is known.
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
    """The cost of the first outer fold; `seconds` is the time limit of everything and `end` its deadline.

    A subsample that cannot be fitted, as it may lack a class, gives no estimate: the first fold reports the error.
    """
    train = protocol.pairs[0][0]
    if len(train) <= 2 * FIRST_SAMPLES:
        return Cost()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds raise them again
        try:
            with until(end):
                model, ready = _fit_first_step(clone_with_seed(candidate.model, seed), data.part(train), end)
        except OutOfTime:
            return Cost(inf, DEFAULT_EXPONENT, len(train))
        except Exception:
            return UNKNOWN
        try:
            rest, repeats = _without_first_step(candidate, model)
            cost = _extrapolate(rest, ready, protocol, train, scoring, seed, seconds, end)
            return replace(cost, seconds=repeats * cost.seconds)
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
    """Fit growing subsamples until the cost of the fold is known well enough."""
    n, size = len(train), FIRST_SAMPLES
    order = np.random.default_rng(seed).permutation(n)

    def measure(size: int) -> tuple[float, bool]:
        """Seconds of a fit to `size` samples, and whether it ran out of time."""
        rows = np.sort(order[:size])
        weight = None if ready.weight is None else ready.weight[rows]
        part = Data(rows_of(ready.X, rows), ready.y[rows], weight)
        begin = time.perf_counter()
        deadline = min(end, begin + MAX_FRACTION * seconds)
        try:
            with until(deadline):
                inner = partial(_inner_splits, part, protocol, train[rows], seed)
                choose(candidate, part, inner, scoring, seed=seed, deadline=deadline)
        except OutOfTime:
            return time.perf_counter() - begin, True
        return time.perf_counter() - begin, False

    with suppress(Exception):  # a sample this small may lack a class
        seconds_now, ended = measure(WARM_UP_SAMPLES)
        if ended:
            return Cost(seconds_now * n / WARM_UP_SAMPLES, 1.0, WARM_UP_SAMPLES)
    before: float | None = None
    while True:
        seconds_now, ended = measure(size)
        cost = Cost(seconds_now * n / size, 1.0, size) if ended else _extrapolate_time(before, seconds_now, size, n)
        if ended or cost.seconds <= CHEAP_FRACTION * seconds or GROWTH_FACTOR * size > n / 2:
            return cost
        before, size = seconds_now, GROWTH_FACTOR * size


def _extrapolate_time(before: float | None, seconds_now: float, size: int, n: int) -> Cost:
    """The cost of n samples, where `size` of them took `seconds_now` and `size / GROWTH_FACTOR` took `before`.

    A power of n where the time grew at least linearly, else a constant plus a multiple of n. A time that decreased
    gives no exponent.
    """
    if before is None or seconds_now <= before:
        return Cost(seconds_now * (n / size) ** DEFAULT_EXPONENT, DEFAULT_EXPONENT, size)
    growth = log(seconds_now / before) / log(GROWTH_FACTOR)
    if growth >= 1.0:
        growth = min(growth, MAX_EXPONENT)
        return Cost(seconds_now * (n / size) ** growth, growth, size)
    return Cost(seconds_now + (seconds_now - before) / (size - size / GROWTH_FACTOR) * (n - size), 1.0, size)


def _fit_first_step(model: Any, data: Data, end: float) -> tuple[Any, Data]:
    """The pipeline after its first step, and the samples transformed by that step."""
    if not isinstance(model, Pipeline) or len(model.steps) < 2:
        return model, data
    first = Pipeline([model.steps[0], ("rest", "passthrough")])
    ready, _ = Chain(first, data, deadline=end).before_last(first, ("", ""))
    rest = model.steps[1:]
    return (rest[0][1] if len(rest) == 1 else Pipeline(rest)), ready


def first_key(model: Any) -> str:
    """Equal for pipelines that share their first step; empty where there is none."""
    return hash_of(model.steps[0][1]) if isinstance(model, Pipeline) and len(model.steps) > 1 else ""


def _without_first_step(candidate: Candidate, model: Any) -> tuple[Candidate, int]:
    """A candidate without the first step of its pipeline, and how many settings of that step it is tried with."""
    grid = candidate.grid
    if not isinstance(candidate.model, Pipeline) or not isinstance(grid, Mapping):
        return Candidate(candidate.name, model, grid), 1
    names = [name for name, _ in candidate.model.steps]
    first = {name for name in grid if name == names[0] or name.startswith(f"{names[0]}__")}
    prefix = f"{names[-1]}__" if len(names) == 2 else ""
    remaining = {name.removeprefix(prefix): values for name, values in grid.items() if name not in first}
    return Candidate(candidate.name, model, remaining or None), prod(len(grid[name]) for name in first)


def _inner_splits(part: Data, protocol: Protocol, rows: Any, seed: int) -> Protocol:
    """Inner folds of a sample, of the kind that the outer fold has."""
    classes = None if protocol.classes is None else part.y
    groups, moments = (None if one is None else np.asarray(one)[rows] for one in (protocol.groups, protocol.time))
    cv = "hold-out" if protocol.kind == "hold-out" else INNER_FOLDS
    return splits_of(part.X, part.y, classes, cv=cv, groups=groups, time=moments, random_state=seed)
