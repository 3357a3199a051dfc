"""Search over the parameters of whole pipelines: by a grid or at random, with a time limit and racing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.selection.default_splits import splits_of
from tenfold.selection.fitting import Data, Params, clone_with_seed, fit_model
from tenfold.selection.racing import is_worse
from tenfold.selection.refit_rules import Simplicity, one_standard_error
from tenfold.selection.score_settings import SettingScore, scores_of
from tenfold.selection.scoring import Scoring
from tenfold.selection.splitters import Protocol
from tenfold.selection.time_limit import OutOfTime, until


def _has(name: str) -> Callable[[Any], bool]:
    """Whether the best estimator, or before the fit the given one, has a method."""

    def check(search: Any) -> bool:
        getattr(search.best_estimator_ if hasattr(search, "best_estimator_") else search.estimator, name)
        return True

    return check


class Search(MetaEstimatorMixin, BaseEstimator):
    """Search for the best parameters of an estimator or a pipeline by cross-validation.

    Fold after fold every remaining setting is fitted and scored. Steps of a pipeline before the first one whose
    parameters differ are fitted once a fold; where the last step is a class of this package with a path (Ridge, Lasso,
    ElasticNet, LogisticRegression, RidgeClassifier) and the score has a name, all its penalties are scored by one fit
    (`together`).

    Parameters
    ----------
    estimator : estimator or Pipeline
        What is tuned.
    grid : dict of str to list, or list of dicts
        Values by the names of parameters, ``step__parameter`` for those of a step of a pipeline; with
        ``method="random"`` distributions with `rvs`, too. The settings of several dicts come one after the other.
    method : {"grid", "random"}, default="grid"
        Whether all settings of the grid are tried, or some at random.
    n_iter : int, default=20
        How many settings are drawn at random.
    scoring : str, callable or None, default=None
        scikit-learn's name of a score, or a scorer; None is the estimator's own score.
    cv : "auto", "loo", "hold-out", int, Protocol, cross-validation generator or an iterable, default="auto"
        The splits; "auto" is leave-one-out below 20 samples, ten folds below 100, five above, and one split of a fifth
        above 100 000; with `groups` in `fit` five folds, with `time` five periods. "loo" leaves out each sample alone,
        "hold-out" is one random split of which a fifth tests. Else a number of folds, or of periods with `time`, a
        splitter of scikit-learn, or pairs of training and test indices.
    select : {"best", "one_se"}, default="best"
        The setting with the largest mean score, or the simplest within one standard error of it.
    simplicity : str, list of str, callable or None, default=None
        For "one_se", names of parameters, the most important first: larger values are simpler, with a minus sign
        smaller ones. Or a function of a setting, larger is simpler. None takes the names that are known (`alpha`, `-C`,
        `n_neighbors` ...).
    race : bool, default=True
        Whether settings are given up that have fallen behind: after three folds or more, when the mean of the paired
        differences to the best setting exceeds its standard error so far that Student's t has a probability below
        0.00135 (three standard deviations of a normal).
    together : bool, default=True
        Whether penalties of a path are scored by one fit, where `scoring` is a name, of Lasso and ElasticNet
        "neg_mean_squared_error". Their scores are those of single fits up to rounding, or up to the tolerance of
        iterative fits.
    time_limit : float, default=None
        Seconds for all folds, without the last fit. Settings are then compared on the folds that all of them have. None
        for no limit.
    refit : bool, default=True
        Whether the setting that was taken is fitted to all samples.
    random_state : int, default=0
        Seed of the settings, of the splits, and of the estimators that have none.

    Attributes
    ----------
    best_params_ : dict
        The setting that was taken.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its index in `cv_results_`.
    best_estimator_ : estimator
        Fitted to all samples with it; only with `refit`.
    cv_results_ : dict of str to ndarray
        One entry a setting, by the names that scikit-learn's searches have: `params`, a list of dicts; `param_` and the
        name of each parameter, masked where a setting has none; `split0_test_score` and so on, nan where there is no
        score; `mean_test_score` and `std_test_score` over the folds that count; `rank_test_score`, 1 for the best;
        seconds in `mean_fit_time`, `std_fit_time`, `mean_score_time` and `std_score_time`; and `abandoned_after`, the
        number of folds after which a setting was given up, 0 where it was not.
    n_splits_ : int
        Number of splits.
    refit_time_ : float
        Seconds of the last fit; only with `refit`.
    scorer_ : Scoring
        What scored the settings; `score` uses it.
    multimetric_ : bool
        False: there is one score.
    protocol_ : Protocol
        The splits.
    words_ : str
        What was done, in a sentence.
    certificate_ : Certificate
        That of the last step of `best_estimator_`, where it has one; its kind is that of this estimator.
    classes_ : ndarray of shape (n_classes,)
        The classes that `best_estimator_` tells apart; only of classifiers.
    n_features_in_ : int
        Number of features seen in `fit`; only with `refit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only with `refit`, and where X had names, all of them strings.

    Notes
    -----
    One fit for each setting and split, and one to all samples; fewer where settings are given up, and where penalties
    are scored together. Runs on samples in memory (arrays, sparse matrices, data frames) wherever the estimator does;
    tables in files are refused.

    The score of the best of many is too good: `best_of` says by how much, `nested` evaluates honestly. Seeger, section
    10.2; Cookbook, section 6.2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tenfold import Ridge
    >>> from tenfold.selection import Search
    >>> model = Search(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1.0, 10.0, 100.0, 1000.0]})
    >>> model.fit(*load_diabetes(return_X_y=True)).best_params_
    {'ridge__alpha': 1.0}
    """

    def __init__(
        self,
        estimator: Any,
        grid: Any,
        *,
        method: str = "grid",
        n_iter: int = 20,
        scoring: Any = None,
        cv: Any = "auto",
        select: str = "best",
        simplicity: Simplicity = None,
        race: bool = True,
        together: bool = True,
        time_limit: float | None = None,
        refit: bool = True,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.method = method
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.select = select
        self.simplicity = simplicity
        self.race = race
        self.together = together
        self.time_limit = time_limit
        self.refit = refit
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, groups: Any = None, time: Any = None, sample_weight: Any = None
    ) -> "Search":
        """Search, and fit the setting that is taken to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The samples, in memory.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The targets; classes of a classifier have equal shares in all parts, as nearly as can be. None where the
            estimator needs none.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group are never on both sides, unless `cv` has the splits themselves. None for none.
        time : array-like of shape (n_samples,), default=None
            Anything that can be sorted: with "auto" and a number in `cv`, what is tested comes after what trains. None
            for no order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in fits and scores that know weights. None for ones.

        Returns
        -------
        Search
            Itself, fitted.

        Raises
        ------
        TimeoutError
            Where no setting was scored within `time_limit`.
        TypeError
            Where X is a table in files.
        ValueError
            Where `method` or `select` is another word, or `cv` no splits of these samples. Where every fit fails, the
            first error is raised.
        """
        settings = self._settings()
        data = Data.of(X, y, sample_weight)
        classes = np.unique(data.y) if is_classifier(self.estimator) and np.ndim(data.y) == 1 else None
        splits = splits_of(data.X, data.y, classes if classes is None else data.y, cv=self.cv, groups=groups, time=time,
                           random_state=self.random_state)  # fmt: skip
        model = clone_with_seed(self.estimator, self.random_state)
        table = Table.empty(settings, splits)
        scoring = Scoring(self.scoring, classes, of_model=True)
        self._run(model, data, table, scoring)
        self.protocol_, self.n_splits_ = splits, len(splits)
        self.scorer_, self.multimetric_ = scoring, False
        self.cv_results_ = table.results()
        self.best_index_ = self._select(table)
        self.best_params_ = settings[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.words_ = table.words(self.select)
        if self.refit:
            self._refit(model, data)
        return self

    def _settings(self) -> list[Params]:
        if self.method not in ("grid", "random"):
            raise ValueError(f'method is "grid" or "random", got {self.method!r}.')
        if self.select not in ("best", "one_se"):
            raise ValueError(f'select is "best" or "one_se", got {self.select!r}.')
        if self.method == "grid":
            return list(ParameterGrid(self.grid))
        return list(ParameterSampler(self.grid, self.n_iter, random_state=self.random_state))

    def _run(self, model: Any, data: Data, table: "Table", scoring: Scoring) -> None:
        """Score the settings fold after fold, until the time is over."""
        deadline = inf if self.time_limit is None else time.perf_counter() + self.time_limit
        try:
            with until(deadline):
                for split, pair in enumerate(table.protocol):
                    remaining = table.remaining()
                    for tried in scores_of(model, remaining, data, pair, scoring, deadline, self.together):
                        table.add(split, tried)
                    if self.race and split + 1 < len(table.protocol):
                        table.give_up(split + 1)
        except OutOfTime:
            table.out_of_time = True
        if not np.isfinite(table.scores).any():
            if table.error is not None:
                raise table.error
            raise TimeoutError(f"No setting was scored within {self.time_limit} seconds. Allow more time.")

    def _select(self, table: "Table") -> int:
        if self.select == "one_se":
            return one_standard_error(self.cv_results_, self.simplicity)
        return table.best()

    def _refit(self, model: Any, data: Data) -> None:
        begin = time.perf_counter()
        self.best_estimator_ = fit_model(clone(model).set_params(**clone(self.best_params_, safe=False)), data)
        self.refit_time_ = time.perf_counter() - begin

    # -- methods of the best model

    def _best(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("This search was made with refit=False: fit a model with best_params_.")
        return self.best_estimator_

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """What the best model predicts for the samples X (m, p)."""
        return self._best().predict(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of `classes_`, (m, n_classes), by the best model for the samples X (m, p)."""
        return self._best().predict_proba(X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of `classes_`, (m, n_classes), by the best model for the samples X (m, p)."""
        return self._best().predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Scores by the best model for the samples X (m, p): (m,) of two classes, else (m, n_classes)."""
        return self._best().decision_function(X)

    @available_if(_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any) -> Any:
        """The samples X (m, p) as the best model transforms them."""
        return self._best().transform(X)

    @available_if(_has("inverse_transform"))  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Any:
        """What the best model takes transformed samples X back to: samples as they were before `transform`."""
        return self._best().inverse_transform(X)

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the best model for samples X (m, p) with targets y (m,), by the search's own scoring."""
        model = self._best()
        return self.scorer_(model, Data.of(X, y))

    @property
    def classes_(self) -> Any:
        """The classes that the best model tells apart."""
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self._best().n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features."""
        return self._best().feature_names_in_

    @property
    def certificate_(self) -> Any:
        """The certificate of the best model."""
        last = self._best()
        return (last.steps[-1][1] if hasattr(last, "steps") else last).certificate_

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_params_")


def search(
    pipeline: Any,
    grid: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    **settings: Any,
) -> Search:
    """Search for the best parameters of a pipeline: a `Search`, fitted.

    Parameters
    ----------
    pipeline : estimator or Pipeline
        What is tuned.
    grid : dict of str to list, or list of dicts
        Values by the names of parameters, ``step__parameter`` for those of a step of a pipeline; with
        ``method="random"`` distributions with `rvs`, too. The settings of several dicts come one after the other.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The samples, in memory.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        The targets. None where the estimator needs none.
    groups : array-like of shape (n_samples,), default=None
        Samples of one group are never on both sides, unless `cv` has the splits themselves. None for none.
    time : array-like of shape (n_samples,), default=None
        Anything that can be sorted: with "auto" and a number in `cv`, what is tested comes after what trains. None for
        no order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, in fits and scores that know weights. None for ones.
    **settings : keyword arguments
        Further parameters of `Search`: method ("grid" or "random"), n_iter (settings drawn at random, 20), scoring
        (None is the estimator's own score), cv (the splits, "auto"), select ("best" or "one_se", the simplest within
        one standard error), simplicity (what is simpler), race (whether hopeless settings are given up, True), together
        (whether penalties of a path are scored by one fit, True), time_limit (seconds for all folds), refit (True) and
        random_state (0).

    Returns
    -------
    Search
        The fitted search: `best_params_`, `best_score_`, `cv_results_` and, with refit, `best_estimator_`.

    Raises
    ------
    TimeoutError
        Where no setting was scored within `time_limit`.
    TypeError
        Where X is a table in files, or a setting is no parameter of `Search`.
    ValueError
        Where method or select is another word, or cv no splits of these samples. Where every fit fails, the first error
        is raised.

    Notes
    -----
    One fit for each setting and split, and one to all samples; fewer where settings are given up, and where penalties
    are scored together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import KNeighborsClassifier
    >>> from tenfold.selection import search
    >>> found = search(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15, 100]}, *load_iris(return_X_y=True),
    ...                select="one_se")
    >>> found.best_params_
    {'n_neighbors': 15}
    """
    model = Search(pipeline, grid, **settings)
    return model.fit(X, y, groups=groups, time=time, sample_weight=sample_weight)


@dataclass
class Table:
    """Scores of settings by folds; nan where there is none yet, or the setting was given up."""

    settings: list[Params]
    protocol: Protocol
    scores: Floats
    fit_seconds: Floats
    score_seconds: Floats
    abandoned: Any
    error: Exception | None = None
    out_of_time: bool = False

    @classmethod
    def empty(cls, settings: list[Params], protocol: Protocol) -> "Table":
        nothing = np.full((len(settings), len(protocol)), np.nan)
        return cls(settings, protocol, nothing, nothing.copy(), nothing.copy(), np.zeros(len(settings), dtype=np.intp))

    def remaining(self) -> dict[int, Params]:
        """The settings that are not given up."""
        return {place: setting for place, setting in enumerate(self.settings) if not self.abandoned[place]}

    def add(self, split: int, tried: SettingScore) -> None:
        self.scores[tried.setting, split] = tried.score
        self.fit_seconds[tried.setting, split] = tried.fit_seconds
        self.score_seconds[tried.setting, split] = tried.score_seconds
        self.error = self.error or tried.error

    def give_up(self, done: int) -> None:
        """Give up settings that are worse than the best by more than chance explains."""
        mean = self.scores[:, :done].mean(axis=1)
        mean[self.abandoned > 0] = np.nan
        if np.isnan(mean).all():
            return
        best = self.scores[int(np.nanargmax(mean)), :done]
        for place in self.remaining():
            if is_worse(best - self.scores[place, :done]):
                self.abandoned[place] = done

    def mean_scores(self) -> Floats:
        """Mean scores over the folds that all remaining settings have; nan for those that were given up or failed."""
        racing = self.abandoned == 0
        # a failed fit counts as done; a fold that was cut by the time limit does not count
        folds = np.isfinite(self.fit_seconds[racing]).all(axis=0)
        some = self.scores[:, folds] if folds.any() else self.scores[:, :1]
        return np.where(racing, some.mean(axis=1), np.nan)

    def best(self) -> int:
        mean = self.mean_scores()
        if np.isnan(mean).all():
            raise self.error or ValueError("No setting has a score in every fold.")
        return int(np.nanargmax(mean))

    def results(self) -> dict[str, Any]:
        """The table that GridSearchCV calls `cv_results_`."""
        racing = self.abandoned == 0
        counted = np.isfinite(self.fit_seconds[racing]).all(axis=0)
        mean, std = np.full((2, len(self.settings)), np.nan)
        for place, row in enumerate(self.scores):
            some = row[counted] if racing[place] and counted.any() else row[np.isfinite(self.fit_seconds[place])]
            if len(some):
                mean[place], std[place] = some.mean(), some.std()
        table: dict[str, Any] = {}
        for name, seconds in (("fit_time", self.fit_seconds), ("score_time", self.score_seconds)):
            inside = [row[np.isfinite(row)] for row in seconds]
            table[f"mean_{name}"] = np.array([part.mean() if len(part) else 0.0 for part in inside])
            table[f"std_{name}"] = np.array([part.std() if len(part) else 0.0 for part in inside])
        for name in sorted({name for setting in self.settings for name in setting}):
            table[f"param_{name}"] = _mask_missing([setting.get(name, _MISSING) for setting in self.settings])
        table["params"] = self.settings
        table |= {f"split{split}_test_score": self.scores[:, split] for split in range(len(self.protocol))}
        # settings that were given up rank after all others
        order = np.where(racing, mean, -np.inf)
        worst = np.nanmin(order[np.isfinite(order)], initial=0.0) - 1.0
        rank = rankdata(-np.where(np.isnan(order), worst, order), method="min").astype(np.int32)
        return {
            **table, "mean_test_score": mean, "std_test_score": std, "rank_test_score": rank,
            "abandoned_after": self.abandoned,
        }  # fmt: skip

    def words(self, select: str) -> str:
        """A sentence on the search."""
        lost = int(np.count_nonzero(self.abandoned))
        text = f"{len(self.settings)} settings by {self.protocol.words}"
        text += f"; {lost} were given up on the way" if lost else ""
        text += "; the time was over before all were scored" if self.out_of_time else ""
        return text + ("; the simplest within one standard error of the best." if select == "one_se" else ".")


_MISSING = object()


def _mask_missing(values: list[Any]) -> Any:
    """A column of parameters, masked where a setting lacks it."""
    there = [value is not _MISSING for value in values]
    known = [value for value, is_there in zip(values, there, strict=True) if is_there]
    plain = all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in known)
    dtype = np.result_type(*(np.asarray(value) for value in known)) if plain else np.dtype(object)
    column = np.ma.MaskedArray(np.empty(len(values), dtype), mask=[not one for one in there])
    for place, (value, is_there) in enumerate(zip(values, there, strict=True)):
        if is_there:
            column[place] = value
    return column
