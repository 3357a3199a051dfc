"""C and the width of the kernel chosen by folds, or by the samples left out one by one: what both classes share."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import Bunch

from tenfold.arrays import Array, Floats, Integers
from tenfold.cross_validation.kernel_svm import Penalties, Search
from tenfold.cross_validation.prediction_scores import choose
from tenfold.estimators.cv_scoring import SCORING, CvScoringMixin, GivenPredictions, select_rows
from tenfold.estimators.parameters import Constraints, array_like, choice, integer, real
from tenfold.estimators.svm.kernel_model import COMMON, KernelMachine
from tenfold.kernels.conversion import gamma_of
from tenfold.plans.kernel_svm import Samples, Settings

SMALLEST, LARGEST = -2.0, 3.0  # logarithms of the candidates of C where a number of them is given
FOLDS = 5  # that probabilities are fitted to where the folds of the choice do not do
NO_PROBABILITIES = (
    "scoring={!r} needs probabilities, which are fitted after the choice: take a score of classes or of decision "
    "values, for instance 'balanced_accuracy' or 'roc_auc'."
)
WITH_GAMMA = ("rbf", "poly", "sigmoid")

CHOICE: Constraints = {
    **{name: checks for name, checks in COMMON.items() if name != "gamma"},
    "Cs": (integer(1), array_like()),
    "gammas": (choice("scale", "auto"), real(0.0), array_like()),
    **SCORING,
}


def check_penalties(Cs: Any) -> Floats:
    """The values of C that a parameter means, ascending."""
    if np.ndim(Cs) == 0:
        return np.logspace(SMALLEST, LARGEST, int(Cs)) if Cs > 1 else np.ones(1)
    values = np.sort(np.ravel(np.asarray(Cs, dtype=np.float64)))
    if not len(values) or not (np.isfinite(values).all() and values[0] > 0.0):
        raise ValueError(f"Cs must hold positive finite numbers, at least one. Got {Cs!r}.")
    return values


class GivenValues(ClassifierMixin, BaseEstimator):
    """Values of machines that are already there, in the shape of a classifier, for scorers."""

    def __init__(self, model: Any = None) -> None:
        self.model = model

    @property
    def classes_(self) -> Array:
        return self.model.classes_

    def decision_function(self, values: Floats) -> Floats:
        return self.model._decide(values)

    def predict(self, values: Floats) -> Array:
        return self.model._label(values)


class ChoosingMachine(CvScoringMixin, KernelMachine):
    """Base of SVCCV and SVRCV."""

    Cs: Any
    gammas: Any
    Cs_: Floats
    gammas_: Floats
    C_: float
    gamma_: float
    best_score_: float
    cv_results_: dict[str, Any]
    cv_method_: str
    cost_: float
    _left_out: ClassVar[tuple[str, ...]] = ("span",)

    def _resolve_gamma(self, X: Array) -> float:
        return self.gamma_

    def _widths(self, X: Any) -> Floats:
        """The candidates of gamma, as numbers; of kernels without one a zero."""
        if not isinstance(self.kernel, str) or self.kernel == "precomputed":
            return np.zeros(1)
        several = not isinstance(self.gammas, str) and np.ndim(self.gammas) > 0
        given = list(self.gammas) if several else [self.gammas]
        if not given:
            raise ValueError(f"gammas must hold at least one value. Got {self.gammas!r}.")
        if several and len(given) > 1 and self.kernel not in WITH_GAMMA:
            raise ValueError(f"The kernel {self.kernel!r} has no gamma to choose. Got gammas={self.gammas!r}.")
        for value in given:
            number = not isinstance(value, (str, bool)) and np.isfinite(value) and value >= 0.0
            if not number and value not in ("scale", "auto"):
                raise ValueError(f"gammas must be 'scale', 'auto' or numbers of at least 0. Got {value!r}.")
        return np.array([gamma_of(value, X) if isinstance(value, str) else float(value) for value in given])

    def _choose(
        self,
        X: Any,
        y: Array,
        factor: Floats,
        routed: Bunch,
        make: Callable[[Samples, Penalties, Settings], Search],
    ) -> tuple[Floats | None, float]:
        """Sets the results of all candidates. Returns the values of all samples by machines without them, where each
        was left out once, for the best one, and the operations.
        """
        n, settings = len(y), self._settings(X, y)
        self.Cs_, self.gammas_ = check_penalties(self.Cs), self._widths(X)
        splits = None if isinstance(self.cv, str) else self._split(X, y, routed)
        spent, scores = 0.0, np.empty((len(self.gammas_), 1 if splits is None else len(splits), len(self.Cs_)))
        best, kept = -np.inf, None
        for g, gamma in enumerate(self.gammas_):
            self.gamma_ = float(gamma)
            search = make(self._samples(X, np.arange(n)), Penalties(self.Cs_, factor), settings)
            left_out = self._score_kernel(search, splits, y, routed, scores[g])
            top = float(np.max(np.where(np.isfinite(m := scores[g].mean(axis=0)), m, -np.inf)))
            if top > best:
                best, kept = top, left_out
            spent += search.operations
        mean = scores.mean(axis=1)
        g, a = choose(mean, 1.0 / self.Cs_)
        self.C_, self.gamma_, self.best_score_ = float(self.Cs_[a]), float(self.gammas_[g]), float(mean[g, a])
        self.cv_results_ = _tabulate(self.gammas_, self.Cs_, scores)
        how = f"{len(splits)} splits" if splits is not None else WORDS[self.cv]
        self.cv_method_ = f"{how}, {len(self.gammas_)} kernels, {len(self.Cs_)} values of C from warm starts"
        return (None if kept is None else np.ascontiguousarray(kept[..., a])), spent

    def _score_kernel(
        self, search: Any, splits: list[tuple[Integers, Integers]] | None, y: Array, routed: Bunch, scores: Floats
    ) -> Floats | None:
        """Writes the scores (splits, A); returns the values of all samples where each was left out once."""
        n = len(y)
        if splits is None:
            scores[0] = self._score_left_out(search, y, routed)
            return None
        tests = [test for _, test in splits]
        once = sum(map(len, tests)) == n and len(np.unique(np.concatenate(tests))) == n
        everything: Any = None
        for s, (train, test) in enumerate(splits):
            values = search.values(train, test)
            scores[s] = self._score_values(values, y, test, routed)
            if once:
                everything = np.empty((n, *values.shape[1:])) if everything is None else everything
                everything[test] = values
        return None if everything is None else np.asarray(everything)

    def _score_left_out(self, search: Any, y: Array, routed: Bunch) -> Floats:
        raise NotImplementedError

    def _score_values(self, values: Floats, y: Array, test: Integers, routed: Bunch) -> Floats:
        """The scores (A,) of values (m, ..., A) for test samples; not a number where time ended a fit."""
        scorer, n = self._scorer(), len(y)
        parameters = {key: select_rows(value, test, n) for key, value in routed.scorer.score.items()}
        given = GivenValues(self) if is_classifier(self) else GivenPredictions()
        scores = np.full(values.shape[-1], np.nan)
        for a in range(len(scores)):
            each = np.ascontiguousarray(values[..., a])
            if not np.isfinite(each).all():
                continue
            try:
                scores[a] = scorer(given, self._as_public(each), y[test], **parameters)
            except AttributeError as reason:
                if "predict_proba" not in str(reason):
                    raise
                raise ValueError(NO_PROBABILITIES.format(self.scoring)) from reason
        return scores

    def _as_public(self, values: Floats) -> Floats:
        """Values of machines with the sign of the model's."""
        return values

    def _split(self, X: Any, y: Array, routed: Bunch) -> list[tuple[Integers, Integers]]:
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        splits = [(_numbers(train), _numbers(test)) for train, test in cv.split(X, y, **routed.splitter.split)]
        if not splits:
            raise ValueError("cv gives no splits.")
        return splits


WORDS = {
    "span": "estimates of leave-one-out by spans",
    "xi-alpha": "bounds on leave-one-out",
}


def _numbers(chosen: Any) -> Integers:
    chosen = np.asarray(chosen)
    return np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.intp)


def calibration_folds(y: Array) -> list[tuple[Integers, Integers]]:
    """Folds that leave out each sample once."""
    smallest = int(np.min(np.unique(y, return_counts=True)[1]))
    folds = StratifiedKFold(max(2, min(FOLDS, smallest)))
    return [(train, test) for train, test in folds.split(np.zeros((len(y), 1)), y)]


def _tabulate(gammas: Floats, Cs: Floats, scores: Floats) -> dict[str, Any]:
    """A column of each part of the results, a row for each kernel and C."""
    mean = scores.mean(axis=1).ravel()
    ranked = np.where(np.isfinite(mean), -mean, np.inf)
    table: dict[str, Any] = {
        "param_C": np.tile(Cs, len(gammas)),
        "param_gamma": np.repeat(gammas, len(Cs)),
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1).ravel(),
        "rank_test_score": np.searchsorted(np.sort(ranked), ranked).astype(np.int32) + 1,
    }
    if scores.shape[1] > 1:
        table |= {f"split{k}_test_score": scores[:, k].ravel() for k in range(scores.shape[1])}
    return table
