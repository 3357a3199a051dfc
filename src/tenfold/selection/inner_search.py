"""One candidate on some rows: hyper-parameters chosen by the cheapest honest protocol, then a fit to all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from joblib import hash as hash_of
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

import tenfold
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.selection.fitting import Chain, Data, Params, fitted, keys_of, seeded
from tenfold.selection.score_settings import scores_of
from tenfold.selection.scoring import LABELLED, Scoring
from tenfold.selection.shortcuts import last_step, shortcut, transform_uses, tuning_of
from tenfold.selection.splitters import Protocol

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Candidate:
    """A model to be compared with others.

    Parameters
    ----------
    name : str
        What it is called; every candidate of a comparison has a name of its own.
    model : estimator or Pipeline
        What is fitted, never itself but clones of it. A class that ends in CV chooses hyper-parameters by itself.
    grid : dict of str to sequence, or list of dicts, default=None
        Values to choose from, by the names of parameters, ``step__parameter`` for those of a step: all combinations of
        a dict are compared, those of several dicts one after the other. None where there is nothing to choose.
    keep : bool, default=False
        Whether it is a baseline that others are compared with: it is never given up, and nobody is given up for it.
    refit : bool, default=True
        Whether it is fitted to all samples in the end, where the other candidates are. Else its scores are all that is
        wanted: it is never given up, and nobody is given up for it.

    Notes
    -----
    Nothing is fitted, copied or checked before `nested`, `compare` or `learning_curve` runs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import Lasso
    >>> from tenfold.selection import Candidate, nested
    >>> lasso = Candidate("lasso", Lasso(), {"alpha": [0.1, 1.0, 10.0]})
    >>> nested([lasso], *load_diabetes(return_X_y=True))["lasso"].params
    {'alpha': 0.1}
    """

    name: str
    model: Any
    grid: Grid | None = None
    keep: bool = False
    refit: bool = True


@dataclass(frozen=True)
class Choice:
    """A fitted model, what was chosen, among how many, for how many of them no fit was needed, and how it was done."""

    model: Any
    params: Params
    tried: int
    free: int
    words: str


def choose(
    candidate: Candidate,
    data: Data,
    splits: Callable[[], Protocol],
    scoring: Scoring,
    *,
    seed: int = 0,
    deadline: float = inf,
) -> Choice:
    """Choose hyper-parameters of a candidate on these rows and fit it to all of them; `splits` gives the inner folds,
    and is asked only where there is something to choose.
    """
    model = seeded(candidate.model, seed)
    tuning = tuning_of(last_step(model))
    settings = [{}] if candidate.grid is None else list(ParameterGrid(candidate.grid))
    if tuning is None and candidate.grid is None:
        return _as_it_is(fitted(model, data, deadline))
    inner = splits()
    if tuning is None:
        return _by_grid(model, settings, data, inner, scoring, deadline)
    how, reason = shortcut(model, exchangeable=inner.exchangeable)
    if how is None and tuning.single and isinstance(model, Pipeline):
        # some steps know only when they have seen the rows whether they look at the target
        how, reason = shortcut(_steps_fitted(model, data, deadline), exchangeable=inner.exchangeable)
    where = _prefix(model)
    last = last_step(model)
    if how is not None and tuning.single and not _can_score(last, scoring):
        how, reason = None, f"{type(last).__name__} cannot choose by {scoring.name} itself."
    if how is None:
        plain, more = _expand_candidates(model, tuning, data, deadline)
        more = [{where + name: value for name, value in one.items()} for one in more]
        settings = [{**setting, **one} for setting in settings for one in more]
        return _by_grid(plain, settings, data, inner, scoring, deadline, reason)
    model.set_params(**_scored_by(last, where, scoring))
    if how == "folds" and not hasattr(last.cv, "split"):
        model.set_params(**{f"{where}cv": [tuple(pair) for pair in inner.pairs]})
    if candidate.grid is not None and how == "leave-one-out":
        return _by_own_score(model, settings, tuning, data, deadline, reason)
    if candidate.grid is not None:
        # the folds of the class itself are numbered within all of these rows, not within those of an inner fold
        model.set_params(**{f"{where}cv": last_step(candidate.model).cv})
        return _by_grid(model, settings, data, inner, scoring, deadline, f"Within each, {reason}")
    model = fitted(model, data, deadline)
    chosen, tried = _selected_params(last_step(model), tuning), tuning.count_candidates(last_step(model))
    return Choice(model, chosen, tried, 0 if tuning.refits else tried - 1, reason)


SQUARES = frozenset({"r2", "neg_mean_squared_error", "neg_root_mean_squared_error"})
"""Scores that order models of the same rows as the mean squared error does, by which regressors choose by default."""


def _can_score(last: Any, scoring: Scoring) -> bool:
    """Whether a class that chooses by itself can do so by this score."""
    return not scoring.by_outputs or scoring.name in (*SQUARES, "score") or hasattr(last, "scoring")


def _scored_by(last: Any, where: str, scoring: Scoring) -> Params:
    """The parameter that makes a class choose by the score that ranks it, where it does not do so already."""
    if not hasattr(last, "scoring") or (last.scoring is not None and last.scoring != "warn"):
        return {}
    if scoring.by_outputs and scoring.name != "score":
        if scoring.name in SQUARES and last.scoring is None:
            return {}
        if scoring.name not in LABELLED or hasattr(last, "predict_proba"):
            return {f"{where}scoring": scoring.name}
    return {f"{where}scoring": "neg_log_loss"} if last.scoring == "warn" else {}


def _steps_fitted(model: Pipeline, data: Data, deadline: float) -> Pipeline:
    """A pipeline with all steps fitted but the last; as it is where no step says that it may look at the target."""
    if not any(getattr(step, "supervised", False) for _, step in model.steps[:-1]):
        return model
    copy = clone(model)
    Chain(copy, data, deadline=deadline).before_last(copy, ("",) * len(copy.steps))
    return copy


def _as_it_is(model: Any) -> Choice:
    """A fitted model that nobody asked to choose; some classes do so by a closed form or a criterion of their own."""
    last = last_step(model)
    registration = getattr(last, "_registration", None)
    entry = registration.board if isinstance(registration, Registration) else None
    if entry is None or not entry.chosen or not _is_set(last, entry):
        return Choice(model, {}, 1, 0, "Nothing to choose.")
    found = {name.rstrip("_"): np.asarray(getattr(last, name)).tolist() for name in entry.chosen}
    return Choice(model, found, 1, 0, f"{type(last).__name__} chooses by {entry.how}.")


def _is_set(model: Any, entry: Entry) -> bool:
    """Whether a model has the settings with which its class chooses."""
    own = model.get_params(deep=False)
    return all(own[name] is value or np.array_equal(own[name], value) for name, value in entry.settings.items())


def _selected_params(last: Any, tuning: Tuning) -> Params:
    """What a class chose by itself."""
    found = {name: np.asarray(getattr(last, attribute)) for name, attribute in tuning.selected.items()}
    return {name: value.item() if value.size == 1 else value.tolist() for name, value in found.items()}


def _by_own_score(
    model: Any, settings: list[Params], tuning: Tuning, data: Data, deadline: float, reason: str
) -> Choice:
    """The setting whose own exact leave-one-out score is the largest, the first of several."""
    best, tried = None, 0
    for setting in settings:
        one = fitted(clone(model).set_params(**setting), data, deadline)
        tried += tuning.count_candidates(last_step(one))
        if best is None or last_step(one).best_score_ > last_step(best[0]).best_score_:
            best = one, setting
    assert best is not None
    chosen = {**best[1], **_selected_params(last_step(best[0]), tuning)}
    words = f"{len(settings)} settings, compared by the score of each left-out sample. {reason}"
    return Choice(best[0], chosen, tried, tried - len(settings), words)


def _by_grid(
    model: Any,
    settings: list[Params],
    data: Data,
    inner: Protocol,
    scoring: Scoring,
    deadline: float,
    reason: str = "",
) -> Choice:
    """The setting with the largest mean score over the inner folds, the first of several, fitted to all rows.

    Steps that never look at the target are fitted once to all of these rows: that is honest for choosing (`shortcut`).
    """
    scores = np.full((len(settings), len(inner)), np.nan)
    error: Exception | None = None
    once = True
    for numbers in _same_steps(model, settings):
        ready = _prepare(clone(model).set_params(**settings[numbers[0]]), data, deadline)
        once = once and ready is not None
        given, rows, prefix = (model, data, "") if ready is None else ready
        some = {number: _inside(settings[number], prefix) for number in numbers}
        for split, pair in enumerate(inner):
            for tried in scores_of(given, some, rows, pair, scoring, deadline):
                scores[tried.setting, split] = tried.score
                error = error or tried.error
    mean = scores.mean(axis=1)
    if np.isnan(mean).all():
        raise error or ValueError(f"No setting has a score {scoring.name} on every inner fold.")
    best = settings[int(np.nanargmax(mean))]
    how = "" if once else "; the whole pipeline is refitted in each"
    words = f"{len(settings)} settings by {inner.words}{how}. {reason}".rstrip()
    return Choice(fitted(model.set_params(**best), data, deadline), best, len(settings), 0, words)


def _same_steps(model: Any, settings: list[Params]) -> list[list[int]]:
    """The numbers of settings in groups with equal parameters of all steps but the last."""
    groups: dict[Any, list[int]] = {}
    for number, setting in enumerate(settings):
        groups.setdefault(keys_of(model, setting)[:-1], []).append(number)
    return list(groups.values())


def _prepare(model: Any, data: Data, deadline: float) -> tuple[Any, Data, str] | None:
    """The last step of a pipeline, the rows as it gets them and the prefix of its parameters; None where a step before
    it looks at the target, or there is none.
    """
    if not isinstance(model, Pipeline) or len(model.steps) < 2:
        return None
    keys = tuple(
        hash_of((type(step), step.get_params())) if hasattr(step, "get_params") else "" for _, step in model.steps
    )
    ready, _ = Chain(model, data, deadline=deadline).before_last(model, keys)
    if any(transform_uses(step) == "targets" for _, step in model.steps[:-1]):
        return None
    name, last = model.steps[-1]
    return last, replace(ready, place=(*data.place, *keys[:-1])), f"{name}__"


def _inside(setting: Params, prefix: str) -> Params:
    """A setting as the last step knows it, which alone differs."""
    return {name.removeprefix(prefix): value for name, value in setting.items() if name.startswith(prefix)}


def _prefix(model: Any) -> str:
    """What the parameters of the last step are called by, within a pipeline."""
    if not isinstance(model, Pipeline):
        return ""
    name, last = model.steps[-1]
    return f"{name}__{_prefix(last)}"


def _expand_candidates(model: Any, tuning: Tuning, data: Data, deadline: float) -> tuple[Any, list[Params]]:
    """The pipeline with the class that fits one candidate at its end, and all candidates.

    Some grids begin where the data say, so the class that chooses is fitted once; what it chose is not looked at.
    """
    last = last_step(model)
    settings = tuning.settings(last_step(fitted(seeded(model, 0), data, deadline)))
    plain = getattr(tenfold, tuning.single)()
    usual, shared = type(last)().get_params(deep=False), plain.get_params(deep=False).keys() - tuning.selected.keys()
    for name, value in last.get_params(deep=False).items():
        # what was left as it is may have another default there
        if name in shared and value is not usual[name]:
            plain.set_params(**{name: value})
    if not isinstance(model, Pipeline):
        return plain, settings
    return model.set_params(**{_prefix(model).removesuffix("__"): plain}), settings
