"""Selection of a candidate's hyper-parameters on given samples by the cheapest valid protocol, and the refit."""

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
from tenfold.selection.fitting import Chain, Data, Params, clone_with_seed, fit_model, keys_of
from tenfold.selection.score_settings import scores_of
from tenfold.selection.scoring import NEEDS_ALL_LABELS, Scoring
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
    """A fitted model, its selected parameters, the number of settings, and of those without a fit of their own."""

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
    """Choose hyper-parameters of a candidate on these samples and fit it to all of them; `splits` makes the inner
    folds and is called only where there is something to choose.
    """
    model = clone_with_seed(candidate.model, seed)
    tuning = tuning_of(last_step(model))
    settings = [{}] if candidate.grid is None else list(ParameterGrid(candidate.grid))
    if tuning is None and candidate.grid is None:
        return _without_search(fit_model(model, data, deadline))
    inner = splits()
    if tuning is None:
        return _search_grid(model, settings, data, inner, scoring, deadline)
    how, reason = shortcut(model, exchangeable=inner.exchangeable)
    if how is None and tuning.single and isinstance(model, Pipeline):
        # some steps know only after their fit whether they use the target
        how, reason = shortcut(_fit_steps(model, data, deadline), exchangeable=inner.exchangeable)
    where = _prefix(model)
    last = last_step(model)
    if how is not None and tuning.single and not _can_score(last, scoring):
        how, reason = None, f"{type(last).__name__} cannot choose by {scoring.name} itself."
    if how is None:
        plain, more = _expand_candidates(model, tuning, data, deadline)
        more = [{where + name: value for name, value in one.items()} for one in more]
        settings = [{**setting, **one} for setting in settings for one in more]
        return _search_grid(plain, settings, data, inner, scoring, deadline, reason)
    model.set_params(**_scoring_parameter(last, where, scoring))
    if how == "folds" and not hasattr(last.cv, "split"):
        model.set_params(**{f"{where}cv": [tuple(pair) for pair in inner.pairs]})
    if candidate.grid is not None and how == "leave-one-out":
        return _search_leave_one_out(model, settings, tuning, data, deadline, reason)
    if candidate.grid is not None:
        # indices of the folds of the class itself refer to all of these samples, not to those of an inner fold
        model.set_params(**{f"{where}cv": last_step(candidate.model).cv})
        return _search_grid(model, settings, data, inner, scoring, deadline, f"Within each, {reason}")
    model = fit_model(model, data, deadline)
    chosen, tried = _read_selection(last_step(model), tuning), tuning.count_candidates(last_step(model))
    return Choice(model, chosen, tried, 0 if tuning.refits else tried - 1, reason)


# scores that order models of the same samples as the mean squared error does, the default of regressors
ORDERED_BY_MSE = frozenset({"r2", "neg_mean_squared_error", "neg_root_mean_squared_error"})


def _can_score(last: Any, scoring: Scoring) -> bool:
    """Whether a class with cross-validation of its own can select by this score."""
    return not scoring.by_outputs or scoring.name in (*ORDERED_BY_MSE, "score") or hasattr(last, "scoring")


def _scoring_parameter(last: Any, where: str, scoring: Scoring) -> Params:
    """The parameter that makes a class select by this score, where it does not by default."""
    if not hasattr(last, "scoring") or (last.scoring is not None and last.scoring != "warn"):
        return {}
    if scoring.by_outputs and scoring.name != "score":
        if scoring.name in ORDERED_BY_MSE and last.scoring is None:
            return {}
        if scoring.name not in NEEDS_ALL_LABELS or hasattr(last, "predict_proba"):
            return {f"{where}scoring": scoring.name}
    return {f"{where}scoring": "neg_log_loss"} if last.scoring == "warn" else {}


def _fit_steps(model: Pipeline, data: Data, deadline: float) -> Pipeline:
    """A pipeline with all steps fitted but the last; unchanged where no step may use the target."""
    if not any(getattr(step, "supervised", False) for _, step in model.steps[:-1]):
        return model
    copy = clone(model)
    Chain(copy, data, deadline=deadline).before_last(copy, ("",) * len(copy.steps))
    return copy


def _without_search(model: Any) -> Choice:
    """The choice of a model without search; some classes select by a closed form or a criterion of their own."""
    last = last_step(model)
    registration = getattr(last, "_registration", None)
    entry = registration.board if isinstance(registration, Registration) else None
    if entry is None or not entry.chosen or not _is_set(last, entry):
        return Choice(model, {}, 1, 0, "Nothing to choose.")
    selected = {name.rstrip("_"): np.asarray(getattr(last, name)).tolist() for name in entry.chosen}
    return Choice(model, selected, 1, 0, f"{type(last).__name__} chooses by {entry.how}.")


def _is_set(model: Any, entry: Entry) -> bool:
    """Whether a model has the settings with which its class chooses."""
    own = model.get_params(deep=False)
    return all(own[name] is value or np.array_equal(own[name], value) for name, value in entry.settings.items())


def _read_selection(last: Any, tuning: Tuning) -> Params:
    """The parameters that a class selected by itself."""
    values = {name: np.asarray(getattr(last, attribute)) for name, attribute in tuning.selected.items()}
    return {name: value.item() if value.size == 1 else value.tolist() for name, value in values.items()}


def _search_leave_one_out(
    model: Any, settings: list[Params], tuning: Tuning, data: Data, deadline: float, reason: str
) -> Choice:
    """The setting with the largest leave-one-out score as its class computes it, the first of equals."""
    best, tried = None, 0
    for setting in settings:
        one = fit_model(clone(model).set_params(**setting), data, deadline)
        tried += tuning.count_candidates(last_step(one))
        if best is None or last_step(one).best_score_ > last_step(best[0]).best_score_:
            best = one, setting
    assert best is not None
    chosen = {**best[1], **_read_selection(last_step(best[0]), tuning)}
    words = f"{len(settings)} settings, compared by the score of each left-out sample. {reason}"
    return Choice(best[0], chosen, tried, tried - len(settings), words)


def _search_grid(
    model: Any,
    settings: list[Params],
    data: Data,
    inner: Protocol,
    scoring: Scoring,
    deadline: float,
    reason: str = "",
) -> Choice:
    """The setting with the largest mean score over the inner folds, the first of equals, fitted to all samples.

    Steps that never use the target are fitted once to all of these samples: valid for selection (`shortcut`).
    """
    scores = np.full((len(settings), len(inner)), np.nan)
    error: Exception | None = None
    once = True
    for numbers in _group_by_steps(model, settings):
        ready = _prepare(clone(model).set_params(**settings[numbers[0]]), data, deadline)
        once = once and ready is not None
        given, rows, prefix = (model, data, "") if ready is None else ready
        some = {number: _parameters_of(settings[number], prefix) for number in numbers}
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
    return Choice(fit_model(model.set_params(**best), data, deadline), best, len(settings), 0, words)


def _group_by_steps(model: Any, settings: list[Params]) -> list[list[int]]:
    """Indices of the settings in groups with equal parameters of all steps but the last."""
    groups: dict[Any, list[int]] = {}
    for number, setting in enumerate(settings):
        groups.setdefault(keys_of(model, setting)[:-1], []).append(number)
    return list(groups.values())


def _prepare(model: Any, data: Data, deadline: float) -> tuple[Any, Data, str] | None:
    """The last step of a pipeline, the samples as it gets them and the prefix of its parameters; None where a step
    before it uses the target, or there is none.
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


def _parameters_of(setting: Params, prefix: str) -> Params:
    """The parameters of a setting with this prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in setting.items() if name.startswith(prefix)}


def _prefix(model: Any) -> str:
    """The prefix of the last step's parameters within a pipeline."""
    if not isinstance(model, Pipeline):
        return ""
    name, last = model.steps[-1]
    return f"{name}__{_prefix(last)}"


def _expand_candidates(model: Any, tuning: Tuning, data: Data, deadline: float) -> tuple[Any, list[Params]]:
    """The pipeline that ends in the class of a single candidate, and all candidates.

    Some grids depend on the data, so the class with cross-validation is fitted once; its selection is ignored.
    """
    last = last_step(model)
    settings = tuning.settings(last_step(fit_model(clone_with_seed(model, 0), data, deadline)))
    plain = getattr(tenfold, tuning.single)()
    usual, shared = type(last)().get_params(deep=False), plain.get_params(deep=False).keys() - tuning.selected.keys()
    for name, value in last.get_params(deep=False).items():
        # the default of a parameter may differ between the two classes
        if name in shared and value is not usual[name]:
            plain.set_params(**{name: value})
    if not isinstance(model, Pipeline):
        return plain, settings
    return model.set_params(**{_prefix(model).removesuffix("__"): plain}), settings
