"""How a score depends on the number of rows, and on the split."""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tenfold.arrays import Floats, Integers
from tenfold.selection.default_splits import splits_of
from tenfold.selection.fitting import Data
from tenfold.selection.inner_search import Candidate, Choice, choose
from tenfold.selection.nested_cv import nested
from tenfold.selection.results import Interval, Result
from tenfold.selection.scoring import Scoring
from tenfold.selection.shortcuts import last_step
from tenfold.selection.splitters import Protocol, hold_out, repeated


@dataclass(frozen=True)
class LearningCurve:
    """Scores by numbers of training rows.

    Attributes
    ----------
    sizes : (s,) the mean number of training rows.
    train_scores, test_scores : (s, k) on the training rows themselves and on those that were left out, by split.
    words : how they came about.
    """

    sizes: Floats
    train_scores: Floats
    test_scores: Floats
    words: str


def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    sizes: Any = (0.1, 0.2, 0.4, 0.7, 1.0),
    cv: Any = "auto",
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> LearningCurve:
    """Scores of a model that is trained on more and more of the training rows, tested on the same rows.

    Hyper-parameters are chosen anew for each number of rows, as in `nested`. The smaller sets are parts of the larger
    ones; with `time` they are the latest rows. Where more rows would help, the curve of the tested rows still rises;
    where it lies far below that of the training rows, a simpler model may.

    Parameters
    ----------
    model : an estimator, a pipeline, or a `Candidate`
    X, y, scoring, groups, time, sample_weight, random_state : as in `nested`.
    sizes : array-like, default=(0.1, 0.2, 0.4, 0.7, 1.0)
        Shares of the training rows.
    cv : as in `splits_for`, default="auto"

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import RidgeCV
    >>> from tenfold.selection import learning_curve
    >>> curve = learning_curve(RidgeCV(), *load_diabetes(return_X_y=True), sizes=[0.1, 1.0])
    >>> curve.sizes, bool(curve.test_scores[1].mean() > curve.test_scores[0].mean())
    (array([ 35. , 353.6]), True)
    """
    candidate = model if isinstance(model, Candidate) else Candidate("model", model)
    shares = np.asarray(sizes, dtype=np.float64)
    if shares.ndim != 1 or not len(shares) or (shares <= 0).any() or (shares > 1).any():
        raise ValueError(f"sizes are shares of the training rows, above 0 and at most 1, got {sizes!r}.")
    data = Data.of(X, y, sample_weight)
    classes = np.unique(data.y) if is_classifier(last_step(candidate.model)) else None
    strata = None if classes is None else data.y
    protocol = splits_of(data.X, data.y, strata, cv=cv, groups=groups, time=time, random_state=random_state)
    score = Scoring(scoring, classes)
    trained, tested = np.empty((2, len(shares), len(protocol)))
    counts = np.empty((len(shares), len(protocol)))
    for split, (train, test) in enumerate(protocol):
        order = growing_order(protocol, train, random_state + split)
        for place, share in enumerate(shares):
            rows = np.sort(order[: max(2, int(share * len(order)))])
            part = data.part(rows)
            fitted = fit_part(candidate, part, protocol, rows, score, seed=random_state).model
            trained[place, split], tested[place, split] = score(fitted, part), score(fitted, data.part(test))
            counts[place, split] = len(rows)
    words = f"{score.name} by {protocol.words}, on growing parts of the training rows"
    return LearningCurve(counts.mean(axis=1), trained, tested, words)


def _some(ties: Any, rows: Integers) -> Any:
    return None if ties is None else ties[rows]


def fit_part(
    candidate: Candidate,
    part: Data,
    protocol: Protocol,
    rows: Integers,
    scoring: Scoring,
    *,
    seed: int = 0,
    deadline: float = inf,
) -> Choice:
    """A candidate on a part of the training rows: its hyper-parameters are chosen within these `rows` of `protocol`."""
    strata = part.y if is_classifier(last_step(candidate.model)) else None
    inner = partial(
        splits_of, part.X, part.y, strata, cv=min(5, max(2, len(rows) // 2)), groups=_some(protocol.groups, rows),
        time=_some(protocol.time, rows), random_state=seed,
    )  # fmt: skip
    return choose(candidate, part, inner, scoring, seed=seed, deadline=deadline)


def growing_order(protocol: Protocol, train: Integers, seed: int) -> Integers:
    """In which order training rows are added: at random, classes in turn by their shares; in time the latest first."""
    if protocol.time is not None:
        return train[np.argsort(protocol.time[train], kind="stable")[::-1]]
    rows = np.random.default_rng(seed).permutation(train)
    if protocol.groups is not None:
        first = {group: place for place, group in reversed(list(enumerate(protocol.groups[rows])))}
        return rows[np.argsort([first[group] for group in protocol.groups[rows]], kind="stable")]
    if protocol.classes is None:
        return rows
    labels = protocol.classes[rows]
    share = np.empty(len(rows))
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        share[own] = (np.arange(len(own)) + 0.5) / len(own)
    return rows[np.argsort(share, kind="stable")]


@dataclass(frozen=True)
class SplitStability:
    """How much a score depends on which rows happened to be tested.

    Attributes
    ----------
    scores : (times,) of independent random splits.
    mean, spread : their mean and standard deviation: what a single split may be off by.
    interval : of the mean.
    result : everything about the splits.
    """

    scores: Floats
    mean: float
    spread: float
    interval: Interval
    result: Result


def split_stability(
    model: Any,
    X: Any,
    y: Any,
    *,
    times: int = 20,
    test: float = 0.2,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> SplitStability:
    """The spread of the score of a model over repeated random splits.

    One split may over- or underestimate a model (Cookbook, section 6.2; Seeger, section 10.1.2): this is by how much.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import RidgeCV
    >>> from tenfold.selection import split_stability
    >>> found = split_stability(RidgeCV(), *load_diabetes(return_X_y=True))
    >>> round(found.mean, 1), round(found.spread, 2)
    (0.5, 0.06)
    """
    if times < 2:
        raise ValueError(f"A spread needs two splits at least, got times={times!r}.")
    candidate = model if isinstance(model, Candidate) else Candidate("model", model)
    classes = np.asarray(y) if is_classifier(last_step(candidate.model)) else None
    splits = repeated(hold_out(X, test=test, classes=classes, groups=groups, random_state=random_state), times)
    run = nested(
        [candidate], X, y, outer=splits, scoring=scoring, sample_weight=sample_weight, random_state=random_state,
        refit=False,
    )  # fmt: skip
    (result,) = run.results
    if result.state != "ok":
        raise ValueError(f"The model cannot be evaluated: {result.reason or 'it was ended.'}")
    spread = float(np.std(result.scores, ddof=1))
    return SplitStability(result.scores, result.score, spread, result.interval(), result)
