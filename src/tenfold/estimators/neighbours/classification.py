"""Classes by the votes of neighbours."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, on_host
from tenfold.estimators.neighbours.neighbors_model import NEAREST, SEARCH, WEIGHTS, SupervisedNeighbors
from tenfold.estimators.neighbours.queries import SupervisedKNeighbors
from tenfold.estimators.neighbours.remote_queries import Formatter
from tenfold.estimators.neighbours.stored import INDEXED, VOTING
from tenfold.estimators.parameters import Constraints, choice, random_state
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import nothing, whole
from tenfold.estimators.validation import restore_on_error
from tenfold.pairwise import Neighbours
from tenfold.plans.neighbours import choose_classes, count_votes

NO_WEIGHT = (
    "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you are using "
    "a user-defined function."
)


class VotingClassifierMixin(ScoreMixin, ClassifierMixin, SupervisedNeighbors):
    """Classes of queries by the votes of their neighbours."""

    classes_: Any
    outputs_2d_: bool
    _tie_seed: int | None = None

    def _each_classes(self) -> list[Array]:
        """The classes of each output, in memory."""
        return [on_host(classes) for classes in (self.classes_ if self.outputs_2d_ else [self.classes_])]

    def _vote_counter(self) -> Callable[[Neighbours], list[Floats]]:
        """A function from neighbours to votes for the classes of each output."""
        counts = tuple(len(classes) for classes in self._each_classes())
        return partial(_vote_counter, self.weights, counts)

    def _labels_without_votes(self) -> Any:
        """The class of queries for which nobody votes, for each output."""
        return None

    def predict(self, X: Any) -> Array:
        """The class of each query, (m,) or (m, n_outputs); without X of the samples of the fit, not their own
        voters.
        """
        check_is_fitted(self)
        each = self._each_classes()
        empty = np.empty((0, len(each)), dtype=each[0].dtype)
        unheard = self._labels_without_votes()
        chosen = partial(_choose_labels, self._vote_counter(), each, unheard, self.outputs_2d_, self._tie_seed)
        return self._answer(X, self._request(), Formatter(chosen, empty if self.outputs_2d_ else empty[:, 0]))

    def predict_proba(self, X: Any) -> Any:
        """Vote fractions for each sample of X, (m, n_classes), or a list of them for several outputs."""
        check_is_fitted(self)
        ends = np.cumsum([len(classes) for classes in self._each_classes()])
        formatter = Formatter(partial(_shares, self._vote_counter()), np.zeros((0, int(ends[-1]))))
        shares = self._answer(X, self._request(), formatter)
        return [shares[:, a:b] for a, b in pairwise([0, *ends.tolist()])] if self.outputs_2d_ else shares

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy for X and classes y, weighted by `sample_weight`; without X for the samples of the fit, none of
        which votes for itself: the exact leave-one-out accuracy.
        """
        return float(super().score(X, y, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _vote_counter(weights: Any, counts: tuple[int, ...], near: Neighbours) -> list[Floats]:
    result = count_votes(near, weights, counts)
    if any(np.any(part.sum(axis=1) == 0.0) for part in result):
        raise ValueError(NO_WEIGHT)
    return result


def _choose_labels(
    counted: Callable[[Neighbours], list[Floats]],
    each: list[Array],
    unheard: Any,
    multi_output: bool,
    seed: int | None,
    near: Neighbours,
) -> Array:
    """The class with most votes; of several the first, or with a seed one at random."""
    counts = counted(near)
    labels = np.empty((len(counts[0]), len(each)), dtype=each[0].dtype)
    for t, classes in enumerate(each):
        labels[:, t] = classes[choose_classes(counts[t], near, seed, t)]
        if unheard is not None:
            labels[~counts[t].any(axis=1), t] = unheard[t]
    return labels if multi_output else labels[:, 0]


def _shares(counted: Callable[[Neighbours], list[Floats]], near: Neighbours) -> Floats:
    """Vote fractions, of all outputs beside each other."""
    shares = []
    for part in counted(near):
        total = part.sum(axis=1, keepdims=True)
        shares.append(part / np.where(total == 0.0, 1.0, total))
    return np.concatenate(shares, axis=1)


class KNeighborsClassifier(VotingClassifierMixin, SupervisedKNeighbors):
    """Classification by the k nearest neighbours: the class that most of them have.

    Predicts the class c with the largest sum of votes ``sum_{i in N_k(x)} w_i [y_i = c]`` over the k nearest samples
    N_k(x), w_i the weight of a neighbour.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours k.
    weights : {"uniform", "distance"} or callable, default="uniform"
        "distance": a vote counts one over its distance, and where some distance is zero only those samples vote. A
        function makes weights of distances.
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
    tie_break : {"first", "random"}, default="first"
        The class of a query for which several have most votes, equal to the last bit: the first of them, as in
        scikit-learn, or one at random, each with the same probability.
    random_state : int, RandomState instance or None, default=None
        Seed of `tie_break="random"`, drawn once in `fit`: the draw of a query is a function of this seed and of its
        neighbours. It does not depend on the other queries, and queries with the same neighbours get the same class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such
        The classes, sorted; a list of them for several outputs.
    effective_metric_ : str or callable
        The metric in use: "minkowski" is "euclidean" with p=2, "manhattan" with p=1, "chebyshev" with p=inf.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Number of samples seen in `fit`.
    outputs_2d_ : bool
        Whether y has several columns.
    certificate_ : Certificate
        Kind exact: for a sample of the data, all of up to 512, the neighbours that the index finds are those of plain
        float64 distances. `tenfold.certify` also compares the stored samples with those given.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A sample's `sample_weight` multiplies its vote, and a sample of weight zero is no neighbour; a sample of weight two
    takes one of the k places, not two. Ties go to the first class
    or to one at random (`tie_break`); with two classes, odd k and equal weights there are none.
    Memory: the samples; for a tree or another metric a copy in float64, and half as much while products run. Never n x
    n. A query costs n p operations at most, with a tree of few features far fewer; all answers are exact. Runs on dense
    and sparse arrays. Of data in files, on a cluster or on a device only the source is stored, and every query reads it
    once, block by block; answers are those of memory.
    Seeger, section 2.1; Rosasco, 2.2; Welling, ch. 5; Cookbook, ch. 22.

    Examples
    --------
    >>> from tenfold import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.1]])
    array([0])
    >>> model.predict_proba([[0.9]])
    array([[0.66666667, 0.33333333]])
    """

    _registration: ClassVar = Registration(
        method="k-nearest-neighbour classification",
        texts=("S2.1", "R2", "W5", "B22"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        certificate=("exact",),
        judge="neighbours.index",
        choice="neighbours.check_index",
        rules=VOTING,
        derived=INDEXED,
        stored={"_tie_seed": whole(0) | nothing()},
    )
    _constraints: ClassVar[Constraints] = {
        **NEAREST,
        **WEIGHTS,
        **SEARCH,
        "tie_break": (choice("first", "random"),),
        "random_state": (random_state(),),
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        tie_break: str = "first",
        random_state: Any = None,
    ) -> None:
        self.tie_break = tie_break
        self.random_state = random_state
        search: dict[str, Any] = {"p": p, "metric": metric, "metric_params": metric_params, "n_jobs": n_jobs}
        super().__init__(n_neighbors, weights=weights, algorithm=algorithm, leaf_size=leaf_size, **search)

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p), their classes y, (n,) or (n, n_outputs), and optional `sample_weight` (n,); a
        table may bring its own.
        """
        self._keep(X, y, sample_weight)
        self._tie_seed = None
        if self.tie_break == "random":
            self._tie_seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return self._certify()
