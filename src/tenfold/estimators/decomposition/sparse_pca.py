"""Sparse principal components."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, numpy_dtype, wide
from tenfold.estimators.decomposition.dictionary import LEARNING, reporter, take_start
from tenfold.estimators.decomposition.sparse_coding import REPORT_ONLY, require_finite_squares
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    warn_unless_certified,
)
from tenfold.plans import minibatch_dictionary as batches
from tenfold.plans.dictionary import FittedDictionary, fit
from tenfold.plans.sparse_components import normalize, ridge_scores
from tenfold.problems import SparseDictionary
from tenfold.solvers.dictionary_alternation import solve_codes

SPARSE: Constraints = {
    **{name: LEARNING[name] for name in ("n_components", "alpha", "max_iter", "tol", "verbose", "random_state")},
    "ridge_alpha": (real(0),),
    "method": (choice("cd", "lars"),),
    "n_jobs": (integer(-(2**31)), nothing()),
}


class SparseComponentsModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer of samples to scores on sparse components (k, p)."""

    ridge_alpha: float
    components_: Array
    mean_: Array

    def transform(self, X: Any) -> Array:
        """The scores (n, n_components) of the samples X (n, n_features), by ridge regression on the components."""
        check_is_fitted(self)
        self._registration.check_source(type(self).__name__, X)
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_scores, wide(self.components_), wide(self.mean_), float(self.ridge_alpha))

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n, n_features) from their scores X (n, n_components)."""
        check_is_fitted(self)
        return check_array(X, dtype=list(FLOATS)) @ self.components_ + self.mean_

    def _centre(self, X: Array) -> Floats:
        """The features (p, n) about their means, which are stored."""
        X64 = require_finite_squares(X)
        self.mean_ = convert_like(X64.mean(axis=0), X)
        return np.ascontiguousarray((X64 - X64.mean(axis=0)).T)

    def _store(self, codes: Floats, X: Array) -> None:
        self.components_ = convert_like(normalize(codes), X)
        self.n_components_ = len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _scores(C: Floats, mean: Floats, alpha: float, X: Array) -> Array:
    return ridge_scores(np.asarray(X, dtype=np.float64) - mean, C, alpha).astype(X.dtype, copy=False)


class SparsePCA(SparseComponentsModel):
    """Sparse principal components: few features make a component.

    With X centred, looks for scores U (n, k) and components V (k, p) that minimise

    ``||X - U V||^2 / 2 + alpha |V|`` with ``||U_k|| <= 1``,

    where ``|.|`` sums absolute values: dictionary learning of the features. The objective is not convex: what is found
    is stationary.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None takes as many as features.
    alpha : float, default=1
        The penalty: larger values give more zeros.
    ridge_alpha : float, default=0.01
        The ridge penalty of `transform`.
    max_iter : int, default=1000
        Most steps.
    tol : float, default=1e-8
        The fit ends when the certificate is at most this, or 1e-6 where that is larger.
    method : {"lars", "cd"}, default="lars"
        Accepted for compatibility: components are solved by coordinate descent and an exact active set method.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    U_init : ndarray of shape (n_samples, n_components), default=None
        The scores to start from; only with `V_init`.
    V_init : ndarray of shape (n_components, n_features), default=None
        The components to start from; only with `U_init`. Else the start is a singular value decomposition.
    verbose : bool or int, default=False
        Whether every step is printed.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing is drawn.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components V, scaled to norm one, each with its largest entry positive; those of zeros stay.
    error_ : ndarray of shape (n_iter_,)
        The objective after every step.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Steps of the solver.
    mean_ : ndarray of shape (n_features,)
        Means of the features.
    certificate_ : Certificate
        Kind stationarity: the larger one of the norms of the proximal gradient of V relative to U'X, and of the
        projected gradient of U relative to X V', with the scores and lengths that are best for the stored components. A
        component of zeros is refused while the residual of a feature is longer than `alpha`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A step is 4 n p k operations, 2 p k^2 and the components, for all features on one Gram matrix of the scores. Memory
    for the samples in float64. Runs on dense arrays in memory.
    Jenatton, Obozinski and Bach 2010; Rosasco, ch. 10 (principal components).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2)) @ np.array([[3.0, 3, 0, 0, 0], [0, 0, 2, 2, 2]])
    >>> X += 0.1 * rng.standard_normal(X.shape)
    >>> model = SparsePCA(2, alpha=2).fit(X)
    >>> (model.components_ != 0).sum(axis=1)
    array([2, 3])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Sparse principal components, by dictionary learning of the features",
        texts=("R10",),
        peer="sklearn.decomposition",
        reads=("a pass a step",),
        where=("arrays",),
        instead="Take a sample of them in memory.",
        certificate=("stationarity",),
        judge="dictionary.components",
        outputs="dictionary.scores",
        report_only={**REPORT_ONLY, "error_": "the objective after every step; the certificate has that of the end"},
        stored={"components_": floats("k p", low=-1.0, high=1.0), "error_": floats("*", low=0.0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **SPARSE,
        "U_init": (instance(np.ndarray), nothing()),
        "V_init": (instance(np.ndarray), nothing()),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1000,
        tol: float = 1e-8,
        method: str = "lars",
        n_jobs: int | None = None,
        U_init: Any = None,
        V_init: Any = None,
        verbose: Any = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.n_jobs = n_jobs
        self.U_init = U_init
        self.V_init = V_init
        self.verbose = verbose
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of samples X (n, p); `y` is not used."""
        check_parameters(self, self._constraints)
        X = validate_rows(self, X)
        result: FittedDictionary = require_finite(self, X, lambda: self._learn(X))
        self._store(result.coded.W, X)
        self.error_ = np.array([record.objective for record in result.trace[1:]])
        self.n_iter_, self.certificate_ = result.iterations, result.certificate
        warn_unless_certified(self)
        return self

    def _learn(self, X: Array) -> FittedDictionary:
        features = self._centre(X)
        k = len(features) if self.n_components is None else int(self.n_components)
        codes, atoms = (None if given is None else given.T for given in (self.V_init, self.U_init))
        start = take_start(features, k, codes, atoms, ("V_init", "U_init"))
        return fit(
            features,
            SparseDictionary(float(self.alpha)),
            start,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            dtype=numpy_dtype(X.dtype),
            keeps_codes=True,
            callback=reporter(None, self.verbose),
        )


class MiniBatchSparsePCA(SparseComponentsModel):
    """Sparse principal components by batches of features.

    Looks for scores U (n, k) and components V (k, p) with a small ``||X - U V||^2 / 2 + alpha |V|``, ``||U_k|| <= 1``,
    X centred, as `SparsePCA` does: the scores are atoms of a dictionary that is learned from batches of features, and
    the components are the exact codes of all features in the end.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None takes as many as features.
    alpha : float, default=1
        The penalty: larger values give more zeros.
    ridge_alpha : float, default=0.01
        The ridge penalty of `transform`.
    max_iter : int, default=1000
        Most passes over the features.
    callback : callable, default=None
        Called after every batch with a dict of the step `i`, the `dictionary` and the `batch_cost`.
    batch_size : int, default=3
        Features of a batch.
    verbose : bool or int, default=False
        Whether the cost of every batch is printed.
    shuffle : bool, default=True
        Whether features are shuffled before they are cut into batches.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    method : {"lars", "cd"}, default="lars"
        Accepted for compatibility: components are solved by coordinate descent and an exact active set method.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, of the shuffle, and of scores that replace unused ones.
    tol : float, default=1e-3
        Ends when a batch moves the scores by at most this, divided by the number of components; 0 for never.
    max_no_improvement : int or None, default=10
        Ends after this many batches in a row without a new minimum of the smoothed cost; None for never.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components V, scaled to norm one, each with its largest entry positive; those of zeros stay.
    n_components_ : int
        Number of components.
    n_iter_ : float
        Passes over the features that were begun.
    mean_ : ndarray of shape (n_features,)
        Means of the features.
    certificate_ : Certificate
        Not judged: components after batches are not stationary. ``tenfold.certify(model, X)`` computes the gradients,
        as for `SparsePCA`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A batch of m features costs 4 n m k operations and the codes. Runs on dense arrays in memory.
    Mairal, Bach, Ponce and Sapiro 2009; Jenatton, Obozinski and Bach 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchSparsePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 2)) @ np.array([[3.0, 3, 0, 0, 0], [0, 0, 2, 2, 2]])
    >>> X += 0.1 * rng.standard_normal(X.shape)
    >>> model = MiniBatchSparsePCA(2, alpha=2, random_state=0).fit(X)
    >>> model.components_.shape
    (2, 5)
    """

    _registration: ClassVar = Registration(
        method="Sparse principal components by batches of features",
        texts=("R10",),
        peer="sklearn.decomposition",
        reads=("in order",),
        where=("arrays",),
        instead="Take a sample of them in memory.",
        certificate=("stationarity",),
        judged=False,
        judge="dictionary.components",
        outputs="dictionary.scores",
        report_only=REPORT_ONLY,
        stored={"components_": floats("k p", low=-1.0, high=1.0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **SPARSE,
        "callback": LEARNING["callback"],
        "batch_size": (integer(1),),
        "shuffle": (boolean(),),
        "max_no_improvement": (integer(0), nothing()),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        ridge_alpha: float = 0.01,
        max_iter: int = 1_000,
        callback: Any = None,
        batch_size: int = 3,
        verbose: Any = False,
        shuffle: bool = True,
        n_jobs: int | None = None,
        method: str = "lars",
        random_state: Any = None,
        tol: float = 1e-3,
        max_no_improvement: int | None = 10,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.ridge_alpha = ridge_alpha
        self.max_iter = max_iter
        self.callback = callback
        self.batch_size = batch_size
        self.verbose = verbose
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.method = method
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of samples X (n, p); `y` is not used."""
        check_parameters(self, self._constraints)
        X = validate_rows(self, X)
        random, problem = check_random_state(self.random_state), SparseDictionary(float(self.alpha))
        batch = min(int(self.batch_size), X.shape[1])

        def work() -> tuple[batches.BatchAtoms, Floats]:
            features = self._centre(X)
            start = batches.begin(
                features, X.shape[1] if self.n_components is None else int(self.n_components), None, random
            )
            ordered = random.permutation(features) if self.shuffle else features
            result = batches.fit_batches(
                ordered,
                problem,
                start,
                random,
                batch=batch,
                passes=int(self.max_iter),
                stopping=batches.Stopping(float(self.tol), self.max_no_improvement),
                log=print if self.verbose else None,
                callback=self.callback,
            )
            return result, solve_codes(features, result.running.D, problem)

        result, codes = require_finite(self, X, work)
        self.n_iter_ = float(-(-result.steps // -(-X.shape[1] // batch)))
        self._store(codes, X)
        self.certificate_ = batches.leave_unjudged()
        return self
