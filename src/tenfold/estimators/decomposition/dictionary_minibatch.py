"""Dictionary learning by batches."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, wide
from tenfold.estimators.decomposition.dictionary import LEARNING, check_positive
from tenfold.estimators.decomposition.sparse_coding import (
    CODING,
    REPORT_ONLY,
    SparseCodingModel,
    require_finite_squares,
)
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, instance, integer, nothing
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, many, whole
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    validate_more_rows,
    validate_rows,
)
from tenfold.plans import minibatch_dictionary as plan
from tenfold.problems import SparseDictionary


class MiniBatchDictionaryLearning(SparseCodingModel):
    """Dictionary learning by batches, online: for many samples, or samples that come one after the other.

    Looks for atoms D (k, p) with a small ``||X - W D||^2 / 2 + alpha |W|``, ``||d_k|| <= 1``, as `DictionaryLearning`
    does: the codes of a batch are solved exactly, and added to running means of W'W and W'X, for which every atom takes
    a projected coordinate step.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms k; None takes as many as features.
    alpha : float, default=1
        The penalty of the codes.
    max_iter : int, default=1000
        Most passes over the samples.
    fit_algorithm : {"lars", "cd"}, default="lars"
        Accepted for compatibility: codes are solved by coordinate descent and an exact active set method. With "lars"
        `positive_code` is an error, as in scikit-learn.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    batch_size : int, default=256
        Samples of a batch.
    shuffle : bool, default=True
        Whether samples are shuffled before they are cut into batches.
    dict_init : ndarray of shape (n_components, n_features), default=None
        The atoms to start from; leading singular vectors if None.
    transform_algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="omp"
        How `transform` codes samples. "lasso_lars" and "lasso_cd": the Lasso at `transform_alpha`, exactly. "omp" and
        "lars": orthogonal matching pursuit or least angle regression with `transform_n_nonzero_coefs` atoms.
        "threshold": products with the atoms, shrunk by `transform_alpha`.
    transform_n_nonzero_coefs : int, default=None
        Number of atoms of a sample with "omp" and "lars"; None is a tenth of the features, at least one.
    transform_alpha : float, default=None
        The penalty of the Lasso, or the threshold. None is `alpha`.
    verbose : bool or int, default=False
        Whether the cost of every batch is printed.
    split_sign : bool, default=False
        Whether `transform` gives positive and negative parts of the codes as columns of their own.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, of the shuffle, and of atoms that replace unused ones.
    positive_code : bool, default=False
        Whether codes must not be negative; not with "lars" and "omp".
    positive_dict : bool, default=False
        Whether atoms must not have negative entries.
    transform_max_iter : int, default=1000
        Accepted for compatibility: the Lasso is solved exactly.
    callback : callable, default=None
        Called after every batch with a dict of the step `i`, the `dictionary` and the `batch_cost`.
    tol : float, default=1e-3
        Ends when a batch moves the atoms by at most this, divided by their number; 0 for never.
    max_no_improvement : int or None, default=10
        Ends after this many batches in a row without a new minimum of the smoothed cost; None for never.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms D.
    n_iter_ : float
        Passes over the samples that were begun; not after `partial_fit`.
    n_steps_ : int
        How many batches were seen.
    certificate_ : Certificate
        Not judged: atoms after batches are not stationary. ``tenfold.certify(model, X)`` computes the projected
        gradient, as for `DictionaryLearning`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A batch of m samples costs 4 m p k operations, 2 m k^2 and the codes. Runs on dense arrays in memory; `partial_fit`
    takes batches from anywhere.
    Mairal, Bach, Ponce and Sapiro 2009; Cookbook, ch. 9 (online factorization).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchDictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5) @ np.eye(6)[:4]
    >>> coding = {"transform_algorithm": "lasso_cd", "batch_size": 10}
    >>> model = MiniBatchDictionaryLearning(4, alpha=0.01, random_state=0, **coding)
    >>> W = model.fit_transform(X)
    >>> bool(np.abs(W @ model.components_ - X).max() < 0.2)
    True
    """

    _registration: ClassVar = Registration(
        method="Dictionary learning by batches",
        texts=("B9",),
        peer="sklearn.decomposition",
        reads=("in order",),
        where=("arrays",),
        instead="Its partial_fit takes parts of them.",
        certificate=("stationarity",),
        judged=False,
        judge="dictionary.atoms",
        outputs="dictionary.codes",
        report_only={**REPORT_ONLY, "n_steps_": "how many batches were seen"},
        stored={"components_": floats("k p"), "n_steps_": whole(0), "_sums": many(floats("* *"), "2")},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **LEARNING,
        **CODING,
        "batch_size": (integer(1),),
        "shuffle": (boolean(),),
        "dict_init": (instance(np.ndarray), nothing()),
        "max_no_improvement": (integer(0), nothing()),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1_000,
        fit_algorithm: str = "lars",
        n_jobs: int | None = None,
        batch_size: int = 256,
        shuffle: bool = True,
        dict_init: Any = None,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        verbose: Any = False,
        split_sign: bool = False,
        random_state: Any = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
        callback: Any = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.fit_algorithm = fit_algorithm
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.dict_init = dict_init
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter
        self.callback = callback
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the atoms of samples X (n, p); `y` is not used."""
        self._check()
        X = validate_rows(self, X)
        random = check_random_state(self.random_state)

        def work() -> plan.BatchAtoms:
            samples = require_finite_squares(X)
            start = self._start(samples, random)
            if self.shuffle:
                samples = samples.copy()
                random.shuffle(samples)
            rule = plan.Stopping(float(self.tol), self.max_no_improvement)
            known = {"batch": min(int(self.batch_size), len(samples)), "passes": int(self.max_iter)}
            log = print if self.verbose else None
            return plan.fit_batches(
                samples, self._problem(), start, random, stopping=rule, log=log, callback=self.callback, **known
            )

        result = require_finite(self, X, work)
        self.n_steps_ = result.steps
        passes = -(-len(X) // min(int(self.batch_size), len(X)))
        self.n_iter_ = float(-(-result.steps // passes))
        self._random = random
        self._store(result.running, X)
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on with one more batch; the first one sets the start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples of the batch.
        y : object, default=None
            Not used.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check()
        first = not hasattr(self, "components_")
        X = validate_more_rows(self, X, first=first)
        random = check_random_state(self.random_state) if first or self._random is None else self._random

        def work() -> plan.Running:
            samples = require_finite_squares(X)
            running = self._start(samples, random) if first else self._current()
            number = 0 if first else self.n_steps_
            return plan.batch_step(samples, running, self._problem(), number, random)[0]

        running = require_finite(self, X, work)
        self.n_steps_ = 1 if first else self.n_steps_ + 1
        self._random = random
        self.__dict__.pop("n_iter_", None)
        self._store(running, X)
        return self

    def _check(self) -> None:
        check_parameters(self, self._constraints)
        check_positive(self.fit_algorithm, self.positive_code)

    def _problem(self) -> SparseDictionary:
        return SparseDictionary(float(self.alpha), bool(self.positive_code), bool(self.positive_dict))

    def _start(self, X: Array, random: Any) -> plan.Running:
        k = X.shape[1] if self.n_components is None else int(self.n_components)
        if self.dict_init is not None and np.shape(self.dict_init)[1:] != X.shape[1:]:
            raise ValueError(f"dict_init has shape {np.shape(self.dict_init)}, and X {X.shape[1]} features.")
        return plan.begin(X, k, self.dict_init, random)

    def _current(self) -> plan.Running:
        return plan.Running(np.ascontiguousarray(wide(self.components_)), *self._sums)

    def _store(self, running: plan.Running, X: Array) -> None:
        self.components_ = convert_like(running.D, X)
        self._sums = (running.codes, running.samples)
        self.certificate_ = plan.leave_unjudged()
