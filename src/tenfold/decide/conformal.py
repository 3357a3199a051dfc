"""Conformal prediction: what is calibrated, with which guarantee, and on which samples.

Let a = 1 - coverage. For exchangeable samples of any distribution, and a model that treats its samples alike:

    split       the rank ceil((n + 1)(1 - a)) of n scores of samples that the model has not seen; infinite beyond n.
                Covers with probability at least 1 - a (Vovk, Gammerman and Shafer 2005)
    jackknife+  scores of each sample by the model without it: at least 1 - 2a (Barber, Candes, Ramdas and
                Tibshirani 2021)
    cv+         scores of each sample by the model without its fold: at least 1 - 2a - sqrt(2 / n) (the same)

None of these holds where a hyper-parameter was chosen by the same scores; a choice inside of the fit of each fold is
part of the model, and harmless.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv, train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from tenfold.arrays import Floats
from tenfold.estimators.validation import validate_weights

METHODS = ("auto", "split", "cv+", "jackknife+")


@dataclass(frozen=True)
class Guarantee:
    """What is proved about the coverage.

    Attributes
    ----------
    coverage : float
        The coverage that was asked for.
    proved : float
        The least probability with which an interval or a set covers; 0 where nothing is proved.
    statement : str
        The same in a sentence.
    """

    coverage: float
    proved: float
    statement: str

    @classmethod
    def of(cls, method: str, coverage: float, n: int, *, chosen: bool = False) -> "Guarantee":
        """That of a method with n scores; `chosen` says that hyper-parameters were chosen by the same scores."""
        miss = 1.0 - coverage
        if chosen:
            return cls(
                coverage,
                0.0,
                f"{method}: nothing is proved, as hyper-parameters were chosen by the same left-out errors; coverage "
                f"is typically near {coverage:.0%}.",
            )
        lost = {"split": miss, "jackknife+": 2.0 * miss, "cv+": 2.0 * miss + np.sqrt(2.0 / n)}[method]
        proved = max(0.0, float(1.0 - lost))
        typical = "" if method == "split" else f" and typically near {coverage:.0%}"
        return cls(
            coverage,
            proved,
            f"{method} with {n} scores: for exchangeable samples coverage is at least {proved:.1%}{typical}.",
        )


def check_coverage(coverage: float) -> float:
    """The coverage, where it is between 0 and 1."""
    if not 0.0 < float(coverage) < 1.0:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
    return float(coverage)


def rank_of(coverage: float, n: int) -> int:
    """ceil((n + 1) coverage), without the rounding of the product; beyond n nothing but everything covers."""
    return int(np.ceil((n + 1) * coverage * (1.0 - 4.0 * np.finfo(np.float64).eps)))


def quantile_of(scores: Floats, coverage: float) -> float:
    """The score of that rank; infinite where there are too few."""
    rank = rank_of(coverage, scores.size)
    return float(np.partition(scores, rank - 1)[rank - 1]) if 1 <= rank <= scores.size else np.inf


@dataclass(frozen=True)
class LeftOut:
    """Models that have not seen some samples: each with the numbers of those."""

    models: list[Any]
    samples: list[NDArray[np.intp]]

    @property
    def model_of(self) -> NDArray[np.intp]:
        """The number of the model of each left-out sample, in the order of `order`."""
        return np.repeat(np.arange(len(self.models)), [len(part) for part in self.samples])

    @property
    def order(self) -> NDArray[np.intp]:
        """The numbers of the left-out samples."""
        return np.concatenate(self.samples)

    def __iter__(self) -> Iterator[tuple[Any, NDArray[np.intp]]]:
        return iter(zip(self.models, self.samples, strict=True))


def keep_weighted(X: Any, y: Any, sample_weight: Any, cv: Any) -> tuple[Any, Any, Floats | None, Any]:
    """The samples of positive weight with their targets and weights, and `cv` for these."""
    if sample_weight is None:
        return X, y, None, cv
    weight = np.asarray(validate_weights(sample_weight, y), dtype=np.float64)
    kept = np.flatnonzero(weight)
    if len(kept) == len(weight):
        return X, y, weight, cv
    if not isinstance(cv, int | np.integer):
        place = np.cumsum(weight > 0.0) - 1
        splits = check_cv(cv).split(X, y)
        cv = [tuple(place[part[weight[part] > 0.0]] for part in split) for split in splits]
        cv = [(train, test) for train, test in cv if len(test)]
    return _safe_indexing(X, kept), y[kept], weight[kept], cv


def fit_model(estimator: Any, X: Any, y: Any, weight: Floats | None, index: Any = None) -> Any:
    """A clone of the estimator, fitted to all samples or to those of an index."""
    if weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight: leave the weights out, or put the conformal model "
            "inside the pipeline."
        )
    if index is not None:
        X, y = _safe_indexing(X, index), y[index]
        weight = None if weight is None else weight[index]
    return clone(estimator).fit(X, y, **({} if weight is None else {"sample_weight": weight}))


def leave_out(
    estimator: Any, X: Any, y: Any, weight: Floats | None, method: str, cv: Any, size: Any, random: Any
) -> LeftOut:
    """The models of a split, of the folds, or of all samples but one."""
    n = len(y)
    classifier = hasattr(estimator, "predict_proba")
    if method == "split":
        train, test = train_test_split(
            np.arange(n), test_size=size, random_state=random, stratify=_stratify(y, classifier, size)
        )
        return LeftOut([fit_model(estimator, X, y, weight, train)], [test])
    if method == "jackknife+":
        splits: Any = ((np.delete(np.arange(n), i), np.array([i])) for i in range(n))
    else:
        splits = _splitter(cv, y, classifier, random).split(X, y)
    models, samples = [], []
    for train, test in splits:
        models.append(fit_model(estimator, X, y, weight, train))
        samples.append(np.asarray(test))
    order = np.sort(np.concatenate(samples))
    if not np.array_equal(order, np.arange(n)):
        raise ValueError("cv+ needs folds that leave every sample out once: use KFold, or a number of folds.")
    return LeftOut(models, samples)


def _stratify(y: Any, classifier: bool, size: Any) -> Any:
    """The classes, where each part of a split can have some of each."""
    if not classifier:
        return None
    count, n = np.unique(y, return_counts=True)[1], len(y)
    test = round(size * n) if isinstance(size, float) else int(size)
    return y if count.min() >= 2 and min(test, n - test) >= len(count) else None


def _splitter(cv: Any, y: Any, classifier: bool, random: Any) -> Any:
    if not isinstance(cv, int | np.integer):
        return check_cv(cv, y, classifier=classifier)
    folds = min(int(cv), len(y))
    if folds < 2:
        raise ValueError(f"cv+ needs two folds at least, got cv={cv!r} with {len(y)} samples.")
    if classifier and np.unique(y, return_counts=True)[1].min() >= folds:
        return StratifiedKFold(folds, shuffle=True, random_state=random)
    return KFold(folds, shuffle=True, random_state=random)
