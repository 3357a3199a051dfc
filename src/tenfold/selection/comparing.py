"""Paired comparison of two models on the same splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tenfold.arrays import Floats
from tenfold.selection.inner_search import Candidate
from tenfold.selection.nested_cv import nested
from tenfold.selection.racing import losses_of
from tenfold.selection.results import Interval, Result
from tenfold.selection.scoring import Outputs

RESAMPLES = 2000  # bootstrap: the levels of the ends of a 95 % interval are right to 0.35 %


@dataclass(frozen=True)
class Difference:
    """A difference of two models, second minus first, with its interval and p-value.

    Attributes
    ----------
    difference : float
        The mean of the second model minus that of the first: of scores larger is better for the second, of losses
        smaller.
    interval : Interval
        Confidence interval of the difference; its ends are nan where a single split tells no spread.
    p_value : float
        Two-sided probability of a difference at least as large where there is none; nan where the interval is.
    method : str
        The methods that both are from.
    """

    difference: float
    interval: Interval
    p_value: float
    method: str


@dataclass(frozen=True)
class Comparison:
    """Two models on the same splits.

    Attributes
    ----------
    first, second : Result
        Folds, scores and predictions of each model; neither is fitted to all samples.
    scores : Difference
        Of the scores of the folds, larger is better.
    rows : Difference or None
        Of the losses of samples out of fold, smaller is better; None where the score is no mean over samples.
    words : str
        What was found, in a sentence.
    """

    first: Result
    second: Result
    scores: Difference
    rows: Difference | None
    words: str


def compare(
    first: Any,
    second: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = "auto",
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    random_state: int = 0,
) -> Comparison:
    """Compare two models on the same splits, pair by pair.

    Parameters
    ----------
    first : estimator, Pipeline or Candidate
        The first model. Hyper-parameters of a candidate are chosen within each split.
    second : estimator, Pipeline or Candidate
        The second model.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or, of regressors, (n_samples, n_targets)
        The targets.
    cv : "auto", "loo", "hold-out", int, Protocol, cross-validation generator or an iterable, default="auto"
        The splits; "auto" is leave-one-out below 20 samples, ten folds below 100, five above, and one split of a fifth
        above 100 000; with `groups` five folds, with `time` five periods. Repeated folds give the sharpest answer, for
        example ``repeated(k_fold(X, 10), 10)``.
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
    level : float, default=0.95
        Probability with which the interval of the difference covers.
    random_state : int, default=0
        Seed of the splits, and of estimators that have none.

    Returns
    -------
    Comparison
        The scores of both on every split, and their difference with its interval and p-value.

    Raises
    ------
    ValueError
        Where a fit or a score of one of the two fails, or one predicts classes and the other numbers.

    Notes
    -----
    Each model is fitted once a split, with what its hyper-parameters take; nothing is fitted to all samples. A single
    split tells no spread: interval and p-value of the scores are nan then.

    Scores of folds are not independent, since training rows overlap: the variance of their mean is taken as that of a
    fold times (1/k + tested / trained) (Nadeau and Bengio 2003). For classes the mistakes that only one of the two
    makes are counted, with the exact binomial p-value of McNemar; for other losses the pairs of rows, or the groups,
    are drawn again (bootstrap, 2000 times). Both of these are about these two fits, not about other training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import GaussianNB, RidgeClassifierCV
    >>> from tenfold.selection import compare
    >>> found = compare(GaussianNB(), RidgeClassifierCV(), *load_breast_cancer(return_X_y=True))
    >>> found.rows.method
    "McNemar's exact test; interval by the bootstrap of rows"
    >>> bool(found.scores.interval.low < found.scores.difference < found.scores.interval.high)
    True
    """
    pair = [
        Candidate(name, one.model, one.grid) if isinstance(one, Candidate) else Candidate(name, one)
        for name, one in (("first", first), ("second", second))
    ]
    run = nested(
        pair, X, y, outer=cv, scoring=scoring, groups=groups, time=time, sample_weight=sample_weight,
        random_state=random_state, refit=False, abandon=False,
    )  # fmt: skip
    for result in run.results:
        if result.state != "ok":
            raise ValueError(f"The {result.name} model cannot be compared: {result.reason or 'it was ended.'}")
    one, other = run.results
    y = np.asarray(y)
    by_folds = _compare_folds(one, other, level)
    by_losses = _compare_losses(run.scoring, y, one, other, groups, sample_weight, level, random_state)
    sure = by_folds.p_value < 1 - level
    better = "second" if by_folds.difference > 0 else "first"
    words = f"The {better} model has the larger mean {run.scoring}, by {abs(by_folds.difference):.4g}"
    words += ", more than chance explains." if sure else ", which chance alone can do."
    return Comparison(one, other, by_folds, by_losses, words)


def compute_resampled_t(differences: Any, ratio: float, level: float = 0.95) -> Difference:
    """The corrected resampled t-test of differences, one a split; `ratio` is test over training samples."""
    differences = np.asarray(differences, dtype=np.float64)
    k, mean = len(differences), float(np.mean(differences))
    method = "corrected resampled t (Nadeau and Bengio 2003)"
    if k < 2:
        return Difference(mean, Interval(np.nan, np.nan, level, method), np.nan, f"{method}: needs two splits")
    error = float(np.std(differences, ddof=1) * np.sqrt(1 / k + ratio))
    half = float(stats.t.ppf(0.5 + level / 2, k - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, k - 1)) if error > 0 else float(mean == 0)
    return Difference(mean, Interval(mean - half, mean + half, level, method), p, method)


def _compare_folds(one: Result, other: Result, level: float) -> Difference:
    ratio = float(np.mean([len(fold.rows) / fold.trained for fold in one.folds]))
    return compute_resampled_t(other.scores - one.scores, ratio, level)


def _compare_losses(
    scoring: str, y: Any, one: Result, other: Result, groups: Any, weight: Any, level: float, seed: int
) -> Difference | None:
    """The difference of out-of-fold losses of samples; of repeated folds the first partition counts."""
    tested = one.tested
    first_losses, second_losses = (
        losses_of(scoring, y[tested], _outputs_of(result, tested)) for result in (one, other)
    )
    if first_losses is None or second_losses is None:
        return None
    worse = second_losses - first_losses
    if weight is None and groups is None and scoring == "accuracy":
        return mcnemar(first_losses.astype(bool), second_losses.astype(bool), level, seed)
    units = np.arange(len(worse)) if groups is None else np.unique(np.asarray(groups)[tested], return_inverse=True)[1]
    weights = np.ones(len(worse)) if weight is None else np.asarray(weight, dtype=np.float64)[tested]
    draws, mean = _bootstrap_means(worse, weights, units, seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    below = (np.sum(draws <= 0) + 1) / (len(draws) + 1)
    above = (np.sum(draws >= 0) + 1) / (len(draws) + 1)
    method = f"bootstrap of {'rows' if groups is None else 'groups'}, {RESAMPLES} times"
    return Difference(
        mean, Interval(float(low), float(high), level, method), min(1.0, 2 * float(min(below, above))), method
    )


def _outputs_of(result: Result, tested: Any) -> Outputs:
    probabilities = result.probabilities
    return Outputs(
        result.predictions[tested], None if probabilities is None else probabilities[tested], None, result.classes
    )


def _bootstrap_means(values: Floats, weights: Floats, units: Any, seed: int) -> tuple[Floats, float]:
    """Weighted means of bootstrap draws of whole units, and the mean of all."""
    numerators, denominators = (np.bincount(units, part) for part in (values * weights, weights))
    rng = np.random.default_rng(seed)
    draws = np.empty(RESAMPLES)
    for draw in range(RESAMPLES):
        drawn = rng.integers(0, len(numerators), len(numerators))
        draws[draw] = numerators[drawn].sum() / denominators[drawn].sum()
    return draws, float(numerators.sum() / denominators.sum())


def mcnemar(first: Any, second: Any, level: float = 0.95, seed: int = 0) -> Difference:
    """McNemar's exact test of two series of mistakes on the same samples; the interval of the difference of their rates
    is that of the bootstrap.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.selection.comparing import mcnemar
    >>> first, second = np.array([1] * 9 + [0] * 11), np.array([0] * 8 + [1, 1] + [0] * 10)
    >>> round(mcnemar(first == 1, second == 1).p_value, 4)  # 8 rows against 1: 2 (1 + 9) / 2^9
    0.0391
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    n = only_first + only_second
    p = float(stats.binomtest(only_first, n, 0.5).pvalue) if n else 1.0
    worse = second.astype(np.float64) - first
    draws, mean = _bootstrap_means(worse, np.ones(len(worse)), np.arange(len(worse)), seed)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    interval = Interval(float(low), float(high), level, f"bootstrap of rows, {RESAMPLES} times")
    return Difference(mean, interval, p, "McNemar's exact test; interval by the bootstrap of rows")
