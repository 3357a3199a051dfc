"""Learning curves, and the spread of a score over random splits."""

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
    """Scores by numbers of training samples.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of training samples, the mean over the splits.
    train_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the training samples themselves, larger is better.
    test_scores : ndarray of shape (n_sizes, n_splits)
        Scores on the samples that were left out.
    words : str
        How they came about: the score, and the splits.
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
    """Scores of a model for growing training sets, tested on the same samples.

    Hyper-parameters are chosen anew for each number of samples, within these samples alone. The smaller sets are parts
    of the larger ones: samples are added at random, of classes in turn by their shares, group after group, or with
    `time` from the latest back. Where more samples would help, the curve of the tested samples still rises; where it
    lies far below that of the training samples, a simpler model may.

    Parameters
    ----------
    model : estimator, Pipeline or Candidate
        What is fitted. A class that ends in CV, and a candidate with a grid, choose hyper-parameters.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or, of regressors, (n_samples, n_targets)
        The targets.
    sizes : array-like of shape (n_sizes,), default=(0.1, 0.2, 0.4, 0.7, 1.0)
        Shares of the training samples of each split, above 0 and at most 1; two samples are taken at least.
    cv : "auto", "loo", "hold-out", int, Protocol, cross-validation generator or an iterable, default="auto"
        The splits; "auto" is leave-one-out below 20 samples, ten folds below 100, five above, and one split of a fifth
        above 100 000; with `groups` five folds, with `time` five periods. Else a number of folds or periods, a
        splitter, or pairs of training and test indices.
    scoring : str, callable or None, default=None
        scikit-learn's name of a score, or a scorer; larger is better. None is accuracy for classifiers and R2 for
        regressors.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides, unless `cv` has the splits themselves. None for none.
    time : array-like of shape (n_samples,), default=None
        Anything that can be sorted: with "auto" and a number in `cv`, what is tested comes after what trains. None for
        no order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, in fits and scores that know weights. None for ones.
    random_state : int, default=0
        Seed of the splits, of the order in which samples are added, and of estimators that have none.

    Returns
    -------
    LearningCurve
        Numbers of training samples, and the scores of every split for each of them.

    Raises
    ------
    ValueError
        Where a size is not above 0 and at most 1. What a fit or a score raises is raised, too.

    Notes
    -----
    One fit for each size and split, with what the choice of hyper-parameters takes: by at most five inner folds, or by
    the exact protocol of the class where that is honest (`shortcut`).

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
    fractions = np.asarray(sizes, dtype=np.float64)
    if fractions.ndim != 1 or not len(fractions) or (fractions <= 0).any() or (fractions > 1).any():
        raise ValueError(f"sizes are shares of the training rows, above 0 and at most 1, got {sizes!r}.")
    data = Data.of(X, y, sample_weight)
    classes = np.unique(data.y) if is_classifier(last_step(candidate.model)) else None
    strata = None if classes is None else data.y
    protocol = splits_of(data.X, data.y, strata, cv=cv, groups=groups, time=time, random_state=random_state)
    score = Scoring(scoring, classes)
    trained, tested = np.empty((2, len(fractions), len(protocol)))
    counts = np.empty((len(fractions), len(protocol)))
    for split, (train, test) in enumerate(protocol):
        order = growing_order(protocol, train, random_state + split)
        for place, fraction in enumerate(fractions):
            rows = np.sort(order[: max(2, int(fraction * len(order)))])
            part = data.part(rows)
            fitted = fit_part(candidate, part, protocol, rows, score, seed=random_state).model
            trained[place, split], tested[place, split] = score(fitted, part), score(fitted, data.part(test))
            counts[place, split] = len(rows)
    words = f"{score.name} by {protocol.words}, on growing parts of the training rows"
    return LearningCurve(counts.mean(axis=1), trained, tested, words)


def _take(values: Any, rows: Integers) -> Any:
    return None if values is None else values[rows]


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
    """Fit a candidate to a part of the training samples: its hyper-parameters are chosen within these `rows`."""
    strata = part.y if is_classifier(last_step(candidate.model)) else None
    inner = partial(
        splits_of, part.X, part.y, strata, cv=min(5, max(2, len(rows) // 2)), groups=_take(protocol.groups, rows),
        time=_take(protocol.time, rows), random_state=seed,
    )  # fmt: skip
    return choose(candidate, part, inner, scoring, seed=seed, deadline=deadline)


def growing_order(protocol: Protocol, train: Integers, seed: int) -> Integers:
    """The order in which training samples are added: at random and stratified by class; in time the latest first."""
    if protocol.time is not None:
        return train[np.argsort(protocol.time[train], kind="stable")[::-1]]
    rows = np.random.default_rng(seed).permutation(train)
    if protocol.groups is not None:
        first = {group: place for place, group in reversed(list(enumerate(protocol.groups[rows])))}
        return rows[np.argsort([first[group] for group in protocol.groups[rows]], kind="stable")]
    if protocol.classes is None:
        return rows
    labels = protocol.classes[rows]
    fraction = np.empty(len(rows))
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        fraction[own] = (np.arange(len(own)) + 0.5) / len(own)
    return rows[np.argsort(fraction, kind="stable")]


@dataclass(frozen=True)
class SplitStability:
    """How much a score depends on the random split.

    Attributes
    ----------
    scores : ndarray of shape (times,)
        Scores of independent random splits, larger is better.
    mean : float
        Their mean.
    spread : float
        Their standard deviation (n - 1): the error of a single split.
    interval : Interval
        For the score on new samples, of level 0.95, by the corrected resampled t (Nadeau and Bengio 2003).
    result : Result
        Every split: predictions, hyper-parameters, seconds, warnings.
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

    Parameters
    ----------
    model : estimator, Pipeline or Candidate
        What is fitted. A class that ends in CV, and a candidate with a grid, choose hyper-parameters within each split.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or, of regressors, (n_samples, n_targets)
        The targets; classes of a classifier have equal shares on both sides, as nearly as can be.
    times : int, default=20
        Number of splits, two at least.
    test : float, default=0.2
        Share of the samples, or of the groups, that test.
    scoring : str, callable or None, default=None
        scikit-learn's name of a score, or a scorer; larger is better. None is accuracy for classifiers and R2 for
        regressors.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides; shares of classes are left to chance then. None for none.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, in fits and scores that know weights. None for ones.
    random_state : int, default=0
        Seed of the first split, the next integers are those of the others; and of estimators that have none.

    Returns
    -------
    SplitStability
        The scores, their mean and spread, and everything about the splits.

    Raises
    ------
    ValueError
        Where `times` is below two, or the model cannot be fitted or scored on some split.

    Notes
    -----
    `times` fits, with what the choice of hyper-parameters takes; nothing is fitted to all samples.

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
