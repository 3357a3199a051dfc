"""The mean of a perceptron's weights."""

from typing import Any, ClassVar

import numpy as np

from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, check_parameters
from tenfold.estimators.perceptron.mistake_driven import (
    COMMON,
    INSTEAD,
    REPORT_ONLY,
    WHERE,
    Linear,
    Mistaken,
    problem_of,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import require_finite, restore_on_error
from tenfold.plans.perceptron import fit_mean
from tenfold.solvers.perceptron import Memory
from tenfold.stats.derivatives import Params


class AveragedPerceptron(Mistaken, Linear):
    """The perceptron with the mean of its weights after every sample: those that survive long count most.

    Learns as `Perceptron` does, ``w += eta0 s y x`` where ``y (x.w + b) <= 0``, and returns ``(1/T) sum_t w_t`` over
    all T samples seen. More than two classes are learned together: a mistake adds the sample to the weights of its
    class and takes it from those of the class that was predicted. On classes that overlap the mean is much steadier
    than the last weights. After a pass without mistakes further passes would only move the mean to the last weights;
    as many are added to it as it needs to make no mistake either, without reading the samples again.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``.
    max_iter : int, default=100
        Passes at most, of `fit`.
    tol : float or None, default=None
        None: the fit ends after a pass without mistakes, or after `max_iter`. Else it also
        ends when the mean loss of a pass was not smaller by `tol` than the best for `n_iter_no_change` passes.
    shuffle : bool, default=True
        Whether each pass has a random order of its own, as in scikit-learn for the same `random_state`; from files,
        within the blocks that are in memory.
    eta0 : float, default=1.0
        Factor of all updates.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.
    n_iter_no_change : int, default=5
        Passes without a better loss, or score, after which a fit ends; see `tol`.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes their total weights equal. None for
        ones.
    warm_start : bool, default=False
        Whether a fit goes on from the weights, and the mean, of the one before.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    tie : {"mistake", "positive"}, default="mistake"
        What a score of zero is: a mistake, or a prediction of the later class.
    normalize : bool, default=False
        Whether samples are normalised to unit length first.
    time_limit : float, default=None
        Seconds after which no further pass is begun.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The mean of the weights, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The mean of the intercepts, one for two classes, else one for each.
    n_iter_ : int
        Passes over the data.
    t_ : float
        One more than the samples seen.
    n_mistakes_ : int
        Mistakes in all passes, of the weights that learn.
    status_ : str
        "converged" (a pass without mistakes), "no improvement", "cycling" (without `shuffle`: weights came back; the
        note says where that proves that no weights separate the classes), "iteration limit", "time limit", ...
    trace_ : list
        Mistakes, mean loss and length of the weights of each pass.
    certificate_ : Certificate
        Kind count: mistakes of the mean, counted again; ok if there are none.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A pass costs a product with X and two updates a mistake; memory is the weights, twice. Runs on dense and sparse
    arrays and on files, block by block.
    CMU lecture 11. Freund and Schapire 1999; Collins 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import AveragedPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AveragedPerceptron(max_iter=20).fit(X, y)
    >>> model.coef_.shape, model.n_iter_
    ((3, 4), 20)
    >>> model.score(X, y) > 0.9
    True
    """

    _registration: ClassVar = Registration(
        method="Averaged perceptron",
        texts=("C12-30",),
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("count",),
        judge="perceptron.linear",
        outputs="linear_outputs.classification",
        report_only=REPORT_ONLY,
        board=Entry("averaged-perceptron", "classification", {"max_iter": 20}, fast=False),
    )
    _constraints: ClassVar[Constraints] = COMMON

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float | None = None,
        shuffle: bool = True,
        eta0: float = 1.0,
        random_state: Any = 0,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        tie: str = "mistake",
        normalize: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.eta0 = eta0
        self.random_state = random_state
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.tie = tie
        self.normalize = normalize
        self.time_limit = time_limit

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "AveragedPerceptron":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        self._forget()
        X, y, label, weight = self._all_rows(X, y, sample_weight)
        rows, start = self._rows(X, label, weight), self._start(X.shape[1])
        course, limits, memory = self._course(parts=False), self._limits(X, y), self._get_memory(start)
        fitted = require_finite(
            self, X, lambda: fit_mean(problem_of(self), rows, start, course, limits, rows.dtype, memory)
        )
        self._store(fitted, X)
        self._memory = fitted.memory
        return self

    @restore_on_error
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> "AveragedPerceptron":
        """One pass over more samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        check_parameters(self, self._constraints)
        X, label, weight = self._part(X, y, classes, sample_weight)
        rows, start = self._rows(X, label, weight), self._start(X.shape[1])
        course, memory = self._course(parts=True), self._get_memory(start)
        fitted = require_finite(
            self, X, lambda: fit_mean(problem_of(self), rows, start, course, self._one_pass(), rows.dtype, memory)
        )
        self._store_part(fitted, X)
        self._memory = fitted.memory
        return self

    def _get_memory(self, start: Params) -> Memory:
        return getattr(self, "_memory", Memory(np.zeros_like(start.coef), np.zeros_like(start.intercept), 0.0))
