"""The number of neighbours, chosen by exact leave-one-out."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, Integers, on_host
from tenfold.cross_validation.classifier_scores import roc_areas
from tenfold.cross_validation.knn_loo import (
    NeighbourJackknife,
    list_candidates,
    mean_error,
    means_left_out,
    votes_left_out,
)
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.neighbours.classification import NO_WEIGHT, VotingClassifierMixin
from tenfold.estimators.neighbours.neighbors_model import SEARCH, WEIGHTS
from tenfold.estimators.neighbours.queries import SupervisedKNeighbors
from tenfold.estimators.neighbours.regression import AveragingRegressorMixin
from tenfold.estimators.neighbours.remote_queries import REMOTE, follow_queries
from tenfold.estimators.neighbours.stored import COMPARED, INDEXED, VOTING
from tenfold.estimators.parameters import Constraints, array_like, choice, function, integer, nothing
from tenfold.estimators.registration import Registration, source_of
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import restore_on_error
from tenfold.pairwise import Neighbours
from tenfold.plans.neighbours import weigh_neighbours

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100)  # of a leaderboard, in ratios of about 5/4


REPORT_ONLY = {
    "cv_errors_": "no method reads them, and n_neighbors_ must be the best of them; cross_val_score of the model "
    "with one candidate and cv=LeaveOneOut() computes one again",
}


class ChooseKMixin(SupervisedKNeighbors):
    """Chooses k among candidates by the leave-one-out errors of one search."""

    _constraints: ClassVar[Constraints] = {
        "n_neighbors": (integer(1), array_like()),
        "scoring": (choice(*get_scorer_names()), function(), nothing()),
        **WEIGHTS,
        **SEARCH,
    }

    scoring: Any

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p), their targets y and optional `sample_weight` (n,), and choose the number of
        neighbours.
        """
        self._keep(X, y, sample_weight)
        rows, weight = self._leave_one_out()
        votes = None if self._votes is None else on_host(self._votes)[self._inside()]
        if self.scoring is None:
            self.cv_errors_ = mean_error(self._errors(rows, weight), votes)
        else:
            self.cv_errors_ = -self._scores(rows, weight, votes)
        if np.isnan(self.cv_errors_).all():
            raise ValueError(f"scoring={self.scoring!r} is not a number for any candidate.")
        best = int(np.nanargmin(self.cv_errors_))
        self.n_neighbors_ = int(self.candidates_[best])
        self.best_score_ = -float(self.cv_errors_[best])
        self._remember(rows, weight)
        return self._certify()

    def _remember(self, rows: Integers, weight: Floats) -> None:
        """Store what later predictions need of the lists of neighbours."""

    def _inside(self) -> Integers:
        """The samples of positive weight."""
        return np.arange(self.n_samples_fit_) if self._votes is None else np.flatnonzero(on_host(self._votes))

    def _numbers(self) -> Array:
        """Targets (n, t), or numbers of classes, in memory: lists of neighbours are compared there."""
        return on_host(self._y).reshape(self.n_samples_fit_, -1)

    def _leave_one_out(self) -> tuple[Integers, Floats]:
        """Neighbours of all samples of positive weight, for the largest candidate; sets the candidates."""
        most = self._index.count - 1
        if most < 1:
            raise ValueError("Leaving one row out needs two rows: n_samples=1 is too few.")
        self.candidates_ = list_candidates(self.n_neighbors, most)
        if self.candidates_.size == 0 or self.candidates_[0] < 1:
            raise ValueError(
                f"n_neighbors must have a number of at least 1 and at most {most}, the number of other rows, got "
                f"{self.n_neighbors!r}."
            )
        distances, rows = (on_host(part) for part in self.kneighbors(None, int(self.candidates_[-1])))
        inside = self._inside()
        return rows[inside], self._weights_of(distances[inside], rows[inside])

    def _weights_of(self, distances: Floats, rows: Integers) -> Floats:
        """Weights of neighbours by their distances and their samples."""
        weight = weigh_neighbours(self.weights, Neighbours.from_table(distances, rows))
        weights = np.ones(rows.shape) if weight is None else weight.reshape(rows.shape)
        weights = weights if self._votes is None else weights * on_host(self._votes)[rows]
        if np.any(weights[:, 0] == 0.0):
            raise ValueError(NO_WEIGHT)
        return weights

    def _errors(self, rows: Integers, weight: Floats) -> Floats:
        """The leave-one-out error of each sample, for each candidate, (n, c)."""
        raise NotImplementedError

    def _predictions(self, rows: Integers, weight: Floats) -> "Iterator[_LeftOut]":
        """The leave-one-out predictions, for one candidate after the other."""
        raise NotImplementedError

    def _scores(self, rows: Integers, weight: Floats, votes: Floats | None) -> Floats:
        """The user's score of the leave-one-out predictions, for each candidate."""
        if isinstance(self.scoring, str) and self.scoring == "roc_auc" and votes is None and self._is_binary():
            shares = [model.predict_proba(None)[:, 1] for model in self._predictions(rows, weight)]
            return roc_areas(np.column_stack(shares), on_host(self._y)[self._inside()] == 1)
        scorer, inside = check_scoring(self, scoring=self.scoring), self._inside()
        X = inside[:, None] if source_of(self._fit_X) in REMOTE else self._fit_X[inside]
        y = on_host(self._y)[inside]
        if is_classifier(self):
            y = np.column_stack(
                [classes[column] for classes, column in zip(self._each_classes(), y.reshape(len(y), -1).T, strict=True)]
            )
            y = y if self.outputs_2d_ else y[:, 0]
        weighs = votes is not None and getattr(scorer, "_accept_sample_weight", bool)()
        extra = {"sample_weight": votes} if weighs else {}
        return np.array([scorer(model, X, y, **extra) for model in self._predictions(rows, weight)], dtype=np.float64)

    def _is_binary(self) -> bool:
        """Whether there is one output of two classes."""
        return is_classifier(self) and not self.outputs_2d_ and len(self._each_classes()[0]) == 2

    def _check_k(self, n_neighbors: Any) -> int:
        return super()._check_k(self.n_neighbors_ if n_neighbors is None else n_neighbors)

    def _search_settings(self) -> dict[str, Any]:
        k = min(getattr(self, "n_neighbors_", 1), self._index.count - 1)
        return {"metric": self.effective_metric_, "params": self.effective_metric_params_, "k": k, "radius": None}


class _LeftOut(BaseEstimator):
    """Predictions of the samples of a fit, in the form in which a scorer asks for them."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        return self.labels


class _MeansLeftOut(RegressorMixin, _LeftOut):
    """Of numbers."""


class _VotesLeftOut(ClassifierMixin, _LeftOut):
    """Of classes, with their vote fractions."""

    def __init__(self, labels: Any, shares: Any, classes: Any) -> None:
        super().__init__(labels)
        self.shares = shares
        self.classes = classes

    @property
    def classes_(self) -> Any:
        return self.classes

    def predict_proba(self, X: Any) -> Any:
        return self.shares


class KNeighborsClassifierCV(VotingClassifierMixin, ChooseKMixin):
    """Classification by the k nearest neighbours, k by exact leave-one-out.

    Predicts the class c with the largest sum of votes ``sum_{i in N_k(x)} w_i [y_i = c]`` over the k nearest samples
    N_k(x), with the k of the smallest leave-one-out error (or best score); the errors of all candidates come from one
    search.

    Parameters
    ----------
    n_neighbors : int or array-like of int, default=50
        Candidates: all up to a number, or these; none larger than the number of other samples is tried.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "uniform": all neighbours count alike. "distance": a neighbour counts one over its distance, and where some
        distance is zero only those samples count. A function makes weights of distances, each by itself.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        All give the same answer. A tree of balls is a k-d tree here, and where the metric is not Minkowski's, all pairs
        are compared.
    leaf_size : int, default=30
        Accepted for compatibility: leaves have up to 32 samples.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.
    scoring : str or callable, default=None
        The score of the predictions of all samples, each left out; with "roc_auc" and the like of their probabilities.
        None is minus the fraction of samples that are classified wrongly.

    Attributes
    ----------
    n_neighbors_ : int
        The candidate with the least error, the smallest of several.
    candidates_ : ndarray of shape (n_candidates,)
        The numbers of neighbours tried.
    cv_errors_ : ndarray of shape (n_candidates,)
        The weighted fraction of samples that the others classify wrongly; with a `scoring` minus the scores.
    best_score_ : float
        Minus the least error, or the largest score.
    classes_ : ndarray of shape (n_classes,) or list of such
        The classes, sorted; a list of them for several outputs.
    outputs_2d_ : bool
        Whether y has several columns.
    effective_metric_ : str or callable
        The metric in use: "minkowski" is "euclidean" with p=2, "manhattan" with p=1, "chebyshev" with p=inf.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Number of samples seen in `fit`.
    certificate_ : Certificate
        Kind exact: for a sample of the data, all of up to 512, the `n_neighbors_` neighbours that the index finds are
        those of plain float64 distances. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Leaving a sample out of n changes nobody's neighbours but its own list, from which it is missing: one search for the
    largest candidate has everything. Of several outputs all must be right.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Rosasco, 3.3; Welling, ch. 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import KNeighborsClassifierCV
    >>> model = KNeighborsClassifierCV(20).fit(*load_iris(return_X_y=True))
    >>> model.n_neighbors_, round(model.best_score_, 2)
    (19, -0.02)
    """

    _registration: ClassVar = Registration(
        method="k-nearest-neighbour classification, k by exact leave-one-out",
        texts=("R3.3", "W5", "B22"),
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        report_only=REPORT_ONLY,
        rules=VOTING,
        derived=INDEXED,
        board=Entry(
            "neighbours-classifier",
            "classification",
            {"n_neighbors": CANDIDATES},
            {"weights": ("uniform", "distance")},
            dense=True,
            scaled=(True, False),
        ),
        tuning=Tuning(
            single="KNeighborsClassifier",
            selected={"n_neighbors": "n_neighbors_"},
            candidates={"n_neighbors": "candidates_"},
            leave_one_out=True,
        ),
    )

    def __init__(
        self,
        n_neighbors: Any = 50,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        scoring: Any = None,
    ) -> None:
        self.scoring = scoring
        search: dict[str, Any] = {"p": p, "metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, **search)

    def _votes_of(self, rows: Integers, weight: Floats) -> Iterator[tuple[Floats, ...]]:
        """Votes for the classes of each output, for one candidate after the other."""
        inside = self._inside()
        numbers, place = self._numbers(), np.full(self.n_samples_fit_, -1)
        place[inside] = np.arange(len(inside))
        return zip(
            *(
                votes_left_out(
                    place[rows], weight, np.ascontiguousarray(numbers[inside, t]), len(classes), self.candidates_
                )
                for t, classes in enumerate(self._each_classes())
            ),
            strict=True,
        )

    def _errors(self, rows: Integers, weight: Floats) -> Floats:
        numbers = self._numbers()[self._inside()]
        wrong = [
            np.any([votes.argmax(axis=1) != numbers[:, t] for t, votes in enumerate(each)], axis=0)
            for each in self._votes_of(rows, weight)
        ]
        return np.column_stack(wrong).astype(np.float64)

    def _predictions(self, rows: Integers, weight: Floats) -> Iterator[_LeftOut]:
        names = self._each_classes()
        for each in self._votes_of(rows, weight):
            labels = [classes[votes.argmax(axis=1)] for classes, votes in zip(names, each, strict=True)]
            shares = [votes / votes.sum(axis=1, keepdims=True) for votes in each]
            if self.outputs_2d_:
                yield _VotesLeftOut(np.column_stack(labels), shares, names)
            else:
                yield _VotesLeftOut(labels[0], shares[0], names[0])


class KNeighborsCV(AveragingRegressorMixin, ChooseKMixin):
    """Regression by the k nearest neighbours, k by exact leave-one-out; with jackknife+ prediction intervals.

    Predicts ``f(x) = sum_{i in N_k(x)} w_i y_i / sum_{i in N_k(x)} w_i`` over the k nearest samples N_k(x), with the k
    of the smallest mean squared leave-one-out error (or best score); the errors of all candidates come from one search.

    Parameters
    ----------
    n_neighbors : int or array-like of int, default=50
        Candidates: all up to a number, or these; none larger than the number of other samples is tried.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "uniform": all neighbours count alike. "distance": a neighbour counts one over its distance, and where some
        distance is zero only those samples count. A function makes weights of distances, each by itself.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        All give the same answer. A tree of balls is a k-d tree here, and where the metric is not Minkowski's, all pairs
        are compared.
    leaf_size : int, default=30
        Accepted for compatibility: leaves have up to 32 samples.
    p : float, default=2
        Power of Minkowski's metric: 1 is manhattan, 2 is euclidean.
    metric : str, callable or DistanceMetric, default="minkowski"
        Every metric of scikit-learn: euclidean, sqeuclidean, manhattan, chebyshev, minkowski, seuclidean, mahalanobis,
        cosine, correlation, hamming, canberra, braycurtis, jaccard, dice, rogerstanimoto, russellrao, sokalmichener,
        sokalsneath, yule, haversine, nan_euclidean, "precomputed", or a function of two samples. Ours: "ordinal", city
        blocks of the ranks of values.
    metric_params : dict, default=None
        w of minkowski, V of seuclidean, V or VI of mahalanobis (else those of the samples of the fit), or arguments of
        a function.
    n_jobs : int, default=None
        Accepted for compatibility: threads are as many as SciPy's BLAS has.
    scoring : str or callable, default=None
        The score of the predictions of all samples, each left out. None is minus the mean squared error.

    Attributes
    ----------
    n_neighbors_ : int
        The candidate with the least error, the smallest of several.
    candidates_ : ndarray of shape (n_candidates,)
        The numbers of neighbours tried.
    best_score_ : float
        Minus the least error, or the largest score.
    cv_errors_ : ndarray of shape (n_candidates,)
        Weighted mean squares of the leave-one-out residuals, the mean over outputs; with a `scoring` minus the scores.
    effective_metric_ : str or callable
        The metric in use: "minkowski" is "euclidean" with p=2, "manhattan" with p=1, "chebyshev" with p=inf.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Number of samples seen in `fit`.
    certificate_ : Certificate
        Kind exact: for a sample of the data, all of up to 512, the `n_neighbors_` neighbours that the index finds are
        those of plain float64 distances. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Leaving a sample out of n changes nobody's neighbours but its own list, from which it is missing: one search for the
    largest candidate has everything.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Rosasco, 3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tenfold import KNeighborsCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KNeighborsCV().fit(X, y)
    >>> model.n_neighbors_
    18
    >>> model.predict_interval(X[:1], coverage=0.9).round()
    array([[ 93., 282.]])
    """

    _registration: ClassVar = Registration(
        method="k-nearest-neighbour regression, k by exact leave-one-out; jackknife+ intervals",
        texts=("R3.3", "B22"),
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        report_only=REPORT_ONLY,
        rules=COMPARED,
        derived=INDEXED,
        board=Entry(
            "neighbours",
            "regression",
            {"n_neighbors": CANDIDATES},
            {"weights": ("uniform", "distance")},
            dense=True,
            scaled=(True, False),
        ),
        tuning=Tuning(
            single="KNeighborsRegressor",
            selected={"n_neighbors": "n_neighbors_"},
            candidates={"n_neighbors": "candidates_"},
            leave_one_out=True,
        ),
    )

    def __init__(
        self,
        n_neighbors: Any = 50,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        scoring: Any = None,
    ) -> None:
        self.scoring = scoring
        search: dict[str, Any] = {"p": p, "metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, **search)

    def _errors(self, rows: Integers, weight: Floats) -> Floats:
        y = self._numbers().astype(np.float64)
        fits = means_left_out(rows, weight, y, self.candidates_)
        return ((y[self._inside()][:, :, None] - fits) ** 2).mean(axis=1)

    def _predictions(self, rows: Integers, weight: Floats) -> Iterator[_LeftOut]:
        fits = means_left_out(rows, weight, self._numbers().astype(np.float64), self.candidates_)
        for k in range(len(self.candidates_)):
            yield _MeansLeftOut(fits[:, 0, k] if self._y.ndim == 1 else fits[:, :, k])

    def _remember(self, rows: Integers, weight: Floats) -> None:
        y = self._numbers().astype(np.float64)
        self._residuals = y[self._inside()] - means_left_out(rows, weight, y, np.array([self.n_neighbors_]))[:, :, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Jackknife+ intervals for new observations at X (m, p), from the exact leave-one-out residuals.

        For exchangeable samples of any distribution and a number of neighbours that is given they cover with
        probability at least ``2 coverage - 1``, typically `coverage`; a number chosen on the same samples makes them
        slightly optimistic. (Barber, Candes, Ramdas and Tibshirani 2021.)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Samples to predict.
        coverage : float, default=0.9
            Probability with which an interval is to cover.

        Returns
        -------
        ndarray of shape (m, 2) or (m, n_outputs, 2)
            Lower and upper ends.
        """
        check_is_fitted(self)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        inside = self._inside()
        y = self._numbers().astype(np.float64)[inside]
        place = np.full(self.n_samples_fit_, -1)
        place[inside] = np.arange(len(inside))
        distances, rows = (on_host(part) for part in self.kneighbors(X, self.n_neighbors_ + 1))
        weight, rows = self._weights_of(distances, rows), place[rows]
        intervals = [
            NeighbourJackknife(self._residuals[:, t], y[:, t]).interval(rows, weight, coverage)
            for t in range(y.shape[1])
        ]
        return follow_queries(intervals[0] if self._y.ndim == 1 else np.stack(intervals, axis=1), X)
