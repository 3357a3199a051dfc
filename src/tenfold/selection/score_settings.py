"""Settings of a model scored on one split: what they share is computed once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from tenfold.estimators.tuning import PathScores
from tenfold.selection.fitting import Chain, Data, Params, in_order, keys_of, passes
from tenfold.selection.path_scoring import path_of, score_path
from tenfold.selection.scoring import Scoring
from tenfold.selection.splitters import Pair
from tenfold.selection.time_limit import check


@dataclass(frozen=True)
class Tried:
    """One setting on one split; where the fit failed, the score is nan and there is an error."""

    setting: int
    score: float
    fit_seconds: float
    score_seconds: float
    error: Exception | None = None


def scores_of(
    model: Any,
    settings: dict[int, Params],
    data: Data,
    pair: Pair,
    scoring: Scoring,
    deadline: float = inf,
    together: bool = False,
) -> Iterator[Tried]:
    """Scores of settings of a model on one split, in an order that shares the first steps of the pipeline; `together`
    scores all penalties of a path by one fit.
    """
    train, test = data.part(pair[0]), data.part(pair[1])
    chain = Chain(model, train, test.X, deadline)
    keys = {number: keys_of(model, setting) for number, setting in settings.items()}
    numbers = list(settings)
    order = [numbers[place] for place in in_order(list(keys.values()))]
    path = _path(model, settings, scoring) if together else None
    for some in _groups(settings, keys, order, path):
        check(deadline)
        if path is not None and len(some) > 1:
            done = _at_once(chain, model, settings, keys[some[0]], some, test, scoring, path)
            if done is not None:
                yield from done
                continue
        for number in some:
            check(deadline)
            yield _alone(chain, settings[number], keys[number], number, test, scoring)


class Along(NamedTuple):
    """A path, and the name of its parameter within the pipeline."""

    path: PathScores
    name: str


def _path(model: Any, settings: dict[int, Params], scoring: Scoring) -> Along | None:
    """The path of the last step, where all settings keep that step and leave its other parameters as they are."""
    last, prefix = (model.steps[-1][1], f"{model.steps[-1][0]}__") if isinstance(model, Pipeline) else (model, "")
    path = path_of(last, scoring.name) if scoring.by_outputs else None
    if path is None:
        return None
    name = f"{prefix}{path.parameter}"
    step = prefix.removesuffix("__")
    own = {other for setting in settings.values() for other in setting if other.startswith(prefix) or other == step}
    return Along(path, name) if own <= {name} else None


def _groups(
    settings: dict[int, Params], keys: dict[int, tuple[str, ...]], order: list[int], path: Along | None
) -> list[list[int]]:
    """Settings that differ in nothing but the parameter of the path."""
    if path is None:
        return [[number] for number in order]
    found: dict[Any, list[int]] = {}
    for number in order:
        own = number if path.name not in settings[number] else keys[number][:-1]
        found.setdefault(own, []).append(number)
    return list(found.values())


def _alone(chain: Chain, setting: Params, key: tuple[str, ...], number: int, test: Data, scoring: Scoring) -> Tried:
    """One setting by a fit of its own."""
    begin = middle = time.perf_counter()
    score, error = np.nan, None
    try:
        whole, X = chain.fit(setting, key)
        middle = time.perf_counter()
        opened = scoring.by_outputs and isinstance(whole, Pipeline) and not passes(whole.steps[-1][1])
        score = scoring(whole.steps[-1][1], replace(test, X=X)) if opened else scoring(whole, test)
    except Exception as failure:
        error = failure
    return Tried(number, score, middle - begin, time.perf_counter() - middle, error)


def _at_once(
    chain: Chain,
    model: Any,
    settings: dict[int, Params],
    key: tuple[str, ...],
    some: list[int],
    test: Data,
    scoring: Scoring,
    along: Along,
) -> list[Tried] | None:
    """Settings along a path by one fit; None where they have to be fitted one by one."""
    begin = time.perf_counter()
    try:
        first = clone(model).set_params(**settings[some[0]])
        train, X = chain.before_last(first, key)
        last = first.steps[-1][1] if isinstance(first, Pipeline) else first
        values = [settings[number][along.name] for number in some]
        scores = score_path(along.path, last, values, train, replace(test, X=X), scoring.name)
    except Exception:
        return None  # each by itself will say which of them failed, and why
    if scores is None:
        return None
    seconds = (time.perf_counter() - begin) / len(some)
    return [Tried(number, float(score), seconds, 0.0) for number, score in zip(some, scores, strict=True)]
