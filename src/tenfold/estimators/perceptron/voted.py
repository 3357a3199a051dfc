"""The votes of all weights that a perceptron had."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array
from tenfold.data import BatchRows, Block, Table
from tenfold.estimators.callbacks import with_callbacks
from tenfold.estimators.parameters import Constraints, check_parameters
from tenfold.estimators.perceptron.mistake_driven import COMMON, INSTEAD, REPORT_ONLY, WHERE, Mistaken, problem_of
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import require_finite, restore_on_error, sum_duplicates
from tenfold.plans.perceptron import PerceptronFit, fit_votes
from tenfold.stats.perceptron_votes import Voters, vote_difference


class VotedPerceptron(Mistaken):
    """The votes of all weights that a perceptron had, each with as many as the samples that it survived.

    Learns as `Perceptron` does. Between two mistakes the weights ``w_k`` stay for ``c_k`` samples; the prediction of
    two classes is the sign of ``sum_k c_k sign(x.w_k + b_k)``, of more classes the one with the most votes (they are
    learned together: a mistake moves the weights of its class and of the class that was predicted). After a pass
    without mistakes further passes would only give votes to the last weights; as many are given as the votes need to
    make no mistake either, without reading the samples again.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn an intercept ``b``.
    max_iter : int, default=100
        Passes at most, of `fit`: predictions cost as many products as there were mistakes.
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
        Whether a fit goes on from the weights, and keeps the votes, of the one before.
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
    votes_ : ndarray of shape (n_mistakes,)
        The votes of the weights after each mistake.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The samples that were mistakes, each once: all weights are sums of them.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The last weights, which predictions do not use alone.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The last intercepts, one for two classes, else one for each.
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
        Kind count: mistakes of the votes, counted again; ok if there are none. Not judged where that would take more
        than 2^26 votes.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Memory and the cost of a prediction are those of the samples that were mistakes: on classes that overlap take
    `AveragedPerceptron`, which predicts nearly the same at the cost of one product.
    Runs on dense and sparse arrays and on files.
    CMU lecture 11. Freund and Schapire 1999.

    Examples
    --------
    >>> from tenfold import VotedPerceptron
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = [-1, 1, 1, -1, -1, 1]
    >>> model = VotedPerceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> model.votes_
    array([2., 2., 8.])
    >>> model.decision_function([[1, 0], [0, -1]]).round(2)
    array([ 1.  , -0.33])
    """

    _registration: ClassVar = Registration(
        method="Voted perceptron",
        texts=("C12-30",),
        reads=("in order",),
        where=WHERE,
        instead=INSTEAD,
        certificate=("count",),
        judge="perceptron.votes",
        outputs="perceptron.vote_outputs",
        choice="perceptron.check_votes",
        report_only=REPORT_ONLY,
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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "VotedPerceptron":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        self._forget()
        X, y, label, weight = self._all_rows(X, y, sample_weight)
        rows, start = self._rows(X, label, weight), self._start(X.shape[1])
        course, limits = self._course(parts=False), self._limits(X, y)
        fitted = require_finite(
            self, X, lambda: fit_votes(problem_of(self), rows, start, course, limits, rows.dtype, *self._so_far())
        )
        self._store(fitted, X)
        self._elect(fitted)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "VotedPerceptron":
        """One pass over more samples X (n, p) of classes y (n,) with optional `sample_weight`; `classes` names all
        classes in the first call.
        """
        check_parameters(self, self._constraints)
        X, label, weight = self._part(X, y, classes, sample_weight)
        rows, start = self._rows(X, label, weight), self._start(X.shape[1])
        course, limits = self._course(parts=True), self._one_pass()
        fitted = require_finite(
            self, X, lambda: fit_votes(problem_of(self), rows, start, course, limits, rows.dtype, *self._so_far())
        )
        self._store_part(fitted, X)
        self._elect(fitted)
        return self

    def _so_far(self) -> tuple[float, Voters | None]:
        """Samples seen and models so far."""
        voters = getattr(self, "_voters", None)
        return (self._seen if voters is not None else 0.0), voters

    def _elect(self, fitted: PerceptronFit) -> None:
        assert fitted.voters is not None
        assert fitted.memory is not None
        self._voters, self._seen = fitted.voters, fitted.memory.seen
        self.votes_, self.support_vectors_ = fitted.voters.votes, fitted.voters.X

    def decision_function(self, X: Any) -> Array:
        """Votes for the samples X: of two classes (n,), the vote fraction of the second minus that of the first;
        of more, the fraction of each, (n, n_classes).
        """
        check_is_fitted(self)
        if isinstance(X, Table):
            rows = BatchRows(X, np.zeros((X.shape[0], 0)))
            z = require_finite(self, X, lambda: rows.map(self._of_block))
        else:
            X = validate_data(self, X, accept_sparse="csr", dtype=list(FLOATS), reset=False)
            z = vote_difference(self._voters.shares(sum_duplicates(X)))
        return z[:, 0] if z.shape[1] == 1 else z

    def _of_block(self, block: Block) -> Array:
        return vote_difference(self._voters.shares(block.X))


def voters_of(model: Any) -> Voters:
    """The models that vote in predictions."""
    voters: Voters = model._voters
    return voters
