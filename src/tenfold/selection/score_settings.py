"""Scores of settings of a model on one split: steps that settings have in common are fitted once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from tenfold.estimators.tuning import PathScores
from tenfold.selection.fitting import Chain, Data, Params, in_order, is_passthrough, keys_of
from tenfold.selection.path_scoring import path_of, score_path
from tenfold.selection.scoring import Scoring
from tenfold.selection.splitters import Pair
from tenfold.selection.time_limit import check


@dataclass(frozen=True)
class SettingScore:
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
) -> Iterator[SettingScore]:
    """Scores of settings of a model on one split, in an order that shares the first steps of the pipeline; `together`
    scores all penalties of a path by one fit.
    """
    train, test = data.part(pair[0]), data.part(pair[1])
    chain = Chain(model, train, test.X, deadline)
    keys = {number: keys_of(model, setting) for number, setting in settings.items()}
    numbers = list(settings)
    order = [numbers[place] for place in in_order(list(keys.values()))]
    path = _path(model, settings, scoring) if together else None
    for numbers_ in _group_by_path(settings, keys, order, path):
        check(deadline)
        if path is not None and len(numbers_) > 1:
            done = _score_path(chain, model, settings, keys[numbers_[0]], numbers_, test, scoring, path)
            if done is not None:
                yield from done
                continue
        for number in numbers_:
            check(deadline)
            yield _score_setting(chain, settings[number], keys[number], number, test, scoring)


class PathParameter(NamedTuple):
    """A path, and the name of its parameter within the pipeline."""

    path: PathScores
    name: str


def _path(model: Any, settings: dict[int, Params], scoring: Scoring) -> PathParameter | None:
    """The path of the last step, where all settings keep that step and leave its other parameters as they are."""
    last, prefix = (model.steps[-1][1], f"{model.steps[-1][0]}__") if isinstance(model, Pipeline) else (model, "")
    path = path_of(last, scoring.name) if scoring.by_outputs else None
    if path is None:
        return None
    name = f"{prefix}{path.parameter}"
    step = prefix.removesuffix("__")
    group = {other for setting in settings.values() for other in setting if other.startswith(prefix) or other == step}
    return PathParameter(path, name) if group <= {name} else None


def _group_by_path(
    settings: dict[int, Params], keys: dict[int, tuple[str, ...]], order: list[int], path: PathParameter | None
) -> list[list[int]]:
    """Settings that differ in nothing but the parameter of the path."""
    if path is None:
        return [[number] for number in order]
    groups: dict[Any, list[int]] = {}
    for number in order:
        group = number if path.name not in settings[number] else keys[number][:-1]
        groups.setdefault(group, []).append(number)
    return list(groups.values())


def _score_setting(
    chain: Chain, setting: Params, key: tuple[str, ...], number: int, test: Data, scoring: Scoring
) -> SettingScore:
    """The score of one setting by a fit of its own."""
    begin = middle = time.perf_counter()
    score, error = np.nan, None
    try:
        whole, X = chain.fit(setting, key)
        middle = time.perf_counter()
        opened = scoring.by_outputs and isinstance(whole, Pipeline) and not is_passthrough(whole.steps[-1][1])
        score = scoring(whole.steps[-1][1], replace(test, X=X)) if opened else scoring(whole, test)
    except Exception as failure:
        error = failure
    return SettingScore(number, score, middle - begin, time.perf_counter() - middle, error)


def _score_path(
    chain: Chain,
    model: Any,
    settings: dict[int, Params],
    key: tuple[str, ...],
    numbers_: list[int],
    test: Data,
    scoring: Scoring,
    along: PathParameter,
) -> list[SettingScore] | None:
    """Scores of settings along a path by one fit; None where they have to be fitted one by one."""
    begin = time.perf_counter()
    try:
        first = clone(model).set_params(**settings[numbers_[0]])
        train, X = chain.before_last(first, key)
        last = first.steps[-1][1] if isinstance(first, Pipeline) else first
        values = [settings[number][along.name] for number in numbers_]
        scores = score_path(along.path, last, values, train, replace(test, X=X), scoring.name)
    except Exception:
        return None  # separate fits show which of them failed, and why
    if scores is None:
        return None
    seconds = (time.perf_counter() - begin) / len(numbers_)
    return [SettingScore(number, float(score), seconds, 0.0) for number, score in zip(numbers_, scores, strict=True)]
