"""Mixtures of multinomials and of independent binary features."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, is_dask, is_sparse, numpy_dtype
from tenfold.data import Rows, Table
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.class_labels import argmax_scores
from tenfold.estimators.mixture.progress import Reporter
from tenfold.estimators.mixture.validation import check_start
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    STATUS_ADVICE,
    as_rows_without_target,
    require_finite,
    restore_on_error,
    rowwise,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.discrete_mixture import DiscreteSteps, FittedDiscrete, Search, Totals, fit, look
from tenfold.problems import DiscretePrior
from tenfold.stats.discrete_mixtures import Discrete, Kind, posterior, values_of

HERE: tuple[Source, ...] = ("arrays", "sparse", "files", "Dask")
REPORT_ONLY = {
    "lower_bound_": "the bound at the parameters before the last step, which are not kept: where the solver converged "
    "it is within tol of that of the certificate",
    "converged_": "whether the solver's own criterion was met; the certificate says whether the parameters are at rest",
    "lower_bounds_": "the course of the solver",
    "n_iter_": "how many steps of EM the solver took",
}
STORED = {"weights_": floats("c", low=0.0), "feature_log_prob_": floats("c p", high=0.0)}
CONSTRAINTS: Constraints = {
    "n_components": (integer(1),),
    "alpha": (real(0),),
    "tol": (real(0),),
    "max_iter": (integer(1),),
    "n_init": (integer(1),),
    "init_params": (choice("kmeans", "random", "random_from_data"),),
    "weights_init": (nothing(), array_like()),
    "probabilities_init": (nothing(), array_like()),
    "random_state": (random_state(),),
    "warm_start": (boolean(),),
    "verbose": (integer(0), boolean()),
    "verbose_interval": (integer(1),),
    "weight_concentration_prior": (nothing(), real(1)),
}


class DiscreteMixture(DensityMixin, CallbackSupportMixin, Predictor, BaseEstimator):
    """What both mixtures have in common: EM, the starts, and what is asked of a fitted mixture."""

    kind: ClassVar[Kind]
    _constraints: ClassVar[Constraints]

    n_components: int
    alpha: float
    tol: float
    max_iter: int
    n_init: int
    init_params: str
    weights_init: Any
    probabilities_init: Any
    random_state: Any
    warm_start: bool
    verbose: int
    verbose_interval: int
    weight_concentration_prior: float | None
    n_features_in_: int
    weights_: Floats
    feature_log_prob_: Floats
    certificate_: Certificate

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find weights and probabilities for samples X (n, p) with optional `sample_weight` (n,); `y` is not used."""
        check_parameters(self, self._constraints)
        before = self._mixture() if self.warm_start and hasattr(self, "converged_") else None
        X = validate_rows(self, X)
        weight = validate_weights(sample_weight, X)
        self._check_sample_count(X.shape[0])
        k, p = self.n_components, X.shape[1]
        weights, probabilities = self._check_start(k, p)
        search = Search(
            k,
            self.init_params,
            weights,
            probabilities,
            self.n_init,
            float(self.tol),
            int(self.max_iter),
            check_random_state(self.random_state),
        )
        callback = make_callback(self, X, y, self.max_iter, self._attributes)
        reporter = Reporter(self.verbose, self.verbose_interval, callback) if self.verbose else None
        callback = callback if reporter is None else reporter.callback
        dtype = np.float32 if numpy_dtype(X.dtype) == np.float32 else np.float64

        def search_best() -> FittedDiscrete:
            self._check_values(look(as_rows_without_target(X, weight)))
            rows, model = self._rows_and_steps(X, weight)
            earlier = None if before is None else (before, float(self.lower_bound_))
            return fit(model, rows, search, dtype, callback=callback, listener=reporter, earlier=earlier)

        self._store(require_finite(self, X, search_best), dtype)
        return self

    def _rows_and_steps(self, X: Array, weight: Array | None) -> tuple[Rows, DiscreteSteps]:
        """The samples, and the steps of EM for them: samples in memory are made binary once."""
        threshold = self._threshold()
        if threshold is not None and is_sparse(X) and threshold < 0.0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        if threshold is not None and not is_dask(X) and not isinstance(X, Table):
            X = np.asarray(threshold < X, dtype=X.dtype) if not is_sparse(X) else values_of(X, threshold)
            threshold = None
        prior = self.weight_concentration_prior
        problem = DiscretePrior(float(self.alpha), 1.0 if prior is None else float(prior))
        return as_rows_without_target(X, weight), DiscreteSteps(self.kind, problem, threshold)

    @abstractmethod
    def _threshold(self) -> float | None:
        """The threshold above which a feature is on; None where the values are used."""

    @abstractmethod
    def _check_values(self, totals: Totals) -> None:
        """Raise where the values are not those of this mixture."""

    def _check_sample_count(self, n: int) -> None:
        name = type(self).__name__
        if n < 2:
            raise ValueError(
                f"Found array with {n} sample(s) (shape=({n}, {self.n_features_in_})) while a minimum of 2 is required "
                f"by {name}."
            )
        if n < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n}"
            )

    def _check_start(self, k: int, p: int) -> tuple[Floats | None, Floats | None]:
        given = check_start("unit", k, p, self.weights_init, None, None)
        if self.probabilities_init is None:
            return given.weights, None
        q = np.asarray(self.probabilities_init, dtype=np.float64)
        if q.shape != (k, p):
            raise ValueError(f"The parameter 'probabilities' should have the shape of {(k, p)}, but got {q.shape}")
        if not (np.all(q >= 0.0) and np.all(q <= 1.0)):
            raise ValueError("The parameter 'probabilities' should be in the range [0, 1].")
        if self.kind == "multinomial" and not np.allclose(np.sum(q, axis=1), 1.0, atol=1e-8):
            raise ValueError("The parameter 'probabilities' should sum to one in each component.")
        return given.weights, q

    def _attributes(self, mixture: Any) -> dict[str, Any]:
        return {"weights_": mixture.weights, "feature_log_prob_": mixture.logs}

    def _store(self, fitted: FittedDiscrete, dtype: Any) -> None:
        for name, value in self._attributes(fitted.mixture).items():
            setattr(self, name, value.astype(dtype))
        self.converged_ = fitted.converged
        self.n_iter_ = len(fitted.bounds)
        self.lower_bound_ = fitted.bounds[-1] if fitted.bounds else -np.inf
        self.lower_bounds_ = list(fitted.bounds)
        self.certificate_ = fitted.certificate
        if self.converged_:
            warn_unless_certified(self)
            return
        advice = STATUS_ADVICE.get(fitted.certificate.status, "")
        message = (
            "Best performing initialization did not converge. Try different init parameters, or increase max_iter, or "
            f"tol. {fitted.certificate.explain()} {advice}"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _mixture(self) -> Discrete:
        """The parameters in float64."""
        q = np.exp(np.asarray(self.feature_log_prob_, dtype=np.float64))
        return Discrete(self.kind, np.asarray(self.weights_, dtype=np.float64), np.minimum(q, 1.0))

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_responsibilities, self._mixture(), self._threshold())

    def _densities_of_rows(self, small: bool) -> Callable[[Array], Array]:
        return partial(_log_probabilities, self._mixture(), self._threshold())

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and give the component of each sample, (n,); `y` is not
        used.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the components for the samples X, (n, n_components)."""
        return self._predict_raw(X)

    def predict(self, X: Any) -> Array:
        """The index of the most probable component of each sample of X, (n,)."""
        return rowwise(argmax_scores, self._predict_raw(X))

    def score_samples(self, X: Any) -> Array:
        """The log probability of each sample of X, (n,)."""
        return self._predict_raw(X, self._densities_of_rows)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log probability of the samples X; `y` is not used."""
        densities = self.score_samples(X)
        return float(densities.mean().compute() if is_dask(densities) else np.mean(densities))

    def _n_parameters(self) -> int:
        """The number of free parameters."""
        k, p = self.feature_log_prob_.shape
        return int(k * (p - 1 if self.kind == "multinomial" else p) + k - 1)

    def bic(self, X: Any) -> float:
        """The Bayesian information criterion on the samples X: the lower the better."""
        return -2.0 * self.score(X) * X.shape[0] + self._n_parameters() * float(np.log(X.shape[0]))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion on the samples X: the lower the better."""
        return -2.0 * self.score(X) * X.shape[0] + 2.0 * self._n_parameters()

    def _draw_components(self, n_samples: int) -> tuple[Array, Any]:
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        random = check_random_state(self.random_state)
        mixture = self._mixture()
        counts = random.multinomial(int(n_samples), mixture.weights / mixture.weights.sum())
        return np.repeat(np.arange(len(counts)), counts), random


def _responsibilities(mixture: Discrete, threshold: float | None, X: Array) -> Array:
    X = values_of(X, threshold)
    return _as(posterior(X, mixture, np.ones(X.shape[0]))[1].T, X)


def _log_probabilities(mixture: Discrete, threshold: float | None, X: Array) -> Array:
    return _as(posterior(values_of(X, threshold), mixture)[0], X)


def _as(values: Array, X: Array) -> Array:
    return np.ascontiguousarray(values, dtype=X.dtype if X.dtype in FLOATS else np.float64)


class MultinomialMixture(DiscreteMixture):
    """Mixture of multinomials for counts, such as documents of words, fitted by EM.

    With components of weights pi_k and probabilities q_k over the features, samples of counts x have

        ``log p(x) = log sum_k pi_k prod_j q_kj^x_j``,

    the log probability of the words in their order (the multinomial coefficient, in which no parameter is, would make
    it that of the counts). Fitting maximises the mean of these and of the log prior, ``alpha sum_kj log q_kj``; a step
    of EM counts with responsibilities, ``q_kj`` proportional to ``sum_i r_ik x_ij + alpha``.

    Parameters
    ----------
    n_components : int, default=1
        Number of components k.
    alpha : float, default=1.0
        Pseudo-count of each feature in each component, a Dirichlet prior of concentration alpha + 1; 0 for maximum
        likelihood, where a probability below 1e-300 counts as that.
    tol : float, default=1e-3
        EM stops when the mean log probability changes by less in a step, and the judge asks the same of one more.
    max_iter : int, default=100
        Most steps of EM for each start.
    n_init : int, default=1
        Starts; the best one counts.
    init_params : {"kmeans", "random", "random_from_data"}, default="kmeans"
        Initial responsibilities: by the clusters of k-means, at random, or each component mostly that of a sample drawn
        at random.
    weights_init : array-like of shape (n_components,), default=None
        Weights to start from; None takes those of `init_params`.
    probabilities_init : array-like of shape (n_components, n_features), default=None
        Probabilities to start from; None takes those of `init_params`.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    warm_start : bool, default=False
        Start where the last fit ended.
    verbose : int, default=0
        1 says where each start begins and ends and every `verbose_interval`-th step, 2 also times and changes of the
        bound. scikit-learn's callbacks are called after every step, too.
    verbose_interval : int, default=10
        How many steps there are between two lines of output.
    weight_concentration_prior : float, default=None
        Concentration a >= 1 of a Dirichlet prior on the weights: pi_k is proportional to n_k + a - 1. None is 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights pi_k of the components.
    feature_log_prob_ : ndarray of shape (n_components, n_features)
        Logarithms of the probabilities q_kj.
    converged_ : bool
        Whether EM stopped by `tol`, and not by `max_iter`.
    n_iter_ : int
        Steps of EM of the best start.
    lower_bound_ : float
        The mean log probability with the log prior before the last step.
    lower_bounds_ : list of float
        The same before each step.
    certificate_ : Certificate
        Kind fixed point: how much one more exact step, taken by the judge, would change the objective. Another start
        may lead to a better one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples an iteration, and two to judge: 4 n k p operations a pass, of sparse samples 4 k for each
    entry. Runs on dense and sparse arrays, files and Dask collections, with sample weights.
    Seeger, sections 12.2.1 and 12.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultinomialMixture
    >>> X = np.array([[5, 1, 0], [4, 0, 0], [6, 1, 0], [0, 1, 7], [1, 0, 5]])
    >>> model = MultinomialMixture(n_components=2, random_state=0).fit(X)
    >>> np.unique(model.predict(X)[:3]).size, np.unique(model.predict(X)[3:]).size
    (1, 1)
    >>> model.certificate_.ok
    True
    """

    kind: ClassVar[Kind] = "multinomial"
    _registration: ClassVar = Registration(
        method="Mixtures of multinomials by EM",
        texts=("S12.2", "S12.3"),
        reads=("a pass a step",),
        where=HERE,
        instead="Take the samples to the host.",
        certificate=("fixed point",),
        judge="discrete_mixture.discrete",
        outputs="discrete_mixture.memberships",
        report_only=REPORT_ONLY,
        stored=STORED,
    )
    _constraints: ClassVar[Constraints] = CONSTRAINTS

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        probabilities_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        weight_concentration_prior: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.probabilities_init = probabilities_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.weight_concentration_prior = weight_concentration_prior

    def _threshold(self) -> float | None:
        """None: the counts are used."""
        return None

    def _check_values(self, totals: Totals) -> None:
        """Raise where counts are negative, or all of them zero."""
        if totals.low < 0.0:
            raise ValueError("Negative values in data passed to MultinomialMixture (input X).")
        if self.alpha == 0.0 and not np.any(totals.sums > 0.0):
            raise ValueError("All counts are zero: with alpha=0 there is nothing to learn of any feature.")

    def sample(self, n_samples: int = 1, length: int = 100) -> tuple[Array, Array]:
        """Counts of `length` words each, (n_samples, n_features), drawn from one component after the other, and the
        number of each sample's component.
        """
        which, random = self._draw_components(n_samples)
        q = np.exp(np.asarray(self.feature_log_prob_, dtype=np.float64))
        drawn = [random.multinomial(int(length), q[k] / q[k].sum()) for k in which]
        return np.array(drawn, dtype=np.float64).reshape(len(which), q.shape[1]), which

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class BernoulliMixture(DiscreteMixture):
    """Mixture of products of Bernoulli distributions for binary features, fitted by EM.

    With components of weights pi_k in which feature j is on with probability q_kj, independently,

        ``p(x) = sum_k pi_k prod_j q_kj^x_j (1 - q_kj)^(1 - x_j)``.

    Fitting maximises the mean of log p(x_i) and of the log prior ``alpha sum_kj (log q_kj + log (1 - q_kj))``; a step
    of EM counts with responsibilities, ``q_kj = (sum_i r_ik x_ij + alpha) / (sum_i r_ik + 2 alpha)``.

    Parameters
    ----------
    n_components : int, default=1
        Number of components k.
    alpha : float, default=1.0
        Pseudo-count of each value of a feature in each component, a Beta prior with parameters alpha + 1; 0 for maximum
        likelihood, where a probability below 1e-300 counts as that.
    binarize : float or None, default=0.0
        A feature is on above this; None where X is of zeros and ones, or numbers between them.
    tol : float, default=1e-3
        EM stops when the mean log probability changes by less in a step, and the judge asks the same of one more.
    max_iter : int, default=100
        Most steps of EM for each start.
    n_init : int, default=1
        Starts; the best one counts.
    init_params : {"kmeans", "random", "random_from_data"}, default="kmeans"
        Initial responsibilities: by the clusters of k-means, at random, or each component mostly that of a sample drawn
        at random.
    weights_init : array-like of shape (n_components,), default=None
        Weights to start from; None takes those of `init_params`.
    probabilities_init : array-like of shape (n_components, n_features), default=None
        Probabilities to start from; None takes those of `init_params`.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    warm_start : bool, default=False
        Start where the last fit ended.
    verbose : int, default=0
        1 says where each start begins and ends and every `verbose_interval`-th step, 2 also times and changes of the
        bound. scikit-learn's callbacks are called after every step, too.
    verbose_interval : int, default=10
        How many steps there are between two lines of output.
    weight_concentration_prior : float, default=None
        Concentration a >= 1 of a Dirichlet prior on the weights: pi_k is proportional to n_k + a - 1. None is 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights pi_k of the components.
    feature_log_prob_ : ndarray of shape (n_components, n_features)
        Logarithms of the probabilities q_kj that a feature is on.
    converged_ : bool
        Whether EM stopped by `tol`, and not by `max_iter`.
    n_iter_ : int
        Steps of EM of the best start.
    lower_bound_ : float
        The mean log probability with the log prior before the last step.
    lower_bounds_ : list of float
        The same before each step.
    certificate_ : Certificate
        Kind fixed point: how much one more exact step, taken by the judge, would change the objective. Another start
        may lead to a better one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples an iteration, and two to judge: 4 n k p operations a pass, of sparse samples 4 k for each
    entry. Runs on dense and sparse arrays, files and Dask collections, with sample weights.
    Seeger, sections 12.2.1 and 12.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BernoulliMixture
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]])
    >>> model = BernoulliMixture(n_components=2, random_state=0).fit(X)
    >>> labels = model.predict(X)
    >>> bool(labels[0] == labels[4]), bool(labels[0] == labels[2])
    (True, False)
    >>> model.certificate_.ok
    True
    """

    kind: ClassVar[Kind] = "bernoulli"
    _registration: ClassVar = Registration(
        method="Mixtures of Bernoulli features by EM",
        texts=("S12.2", "S12.3"),
        reads=("a pass a step",),
        where=HERE,
        instead="Take the samples to the host.",
        certificate=("fixed point",),
        judge="discrete_mixture.discrete",
        outputs="discrete_mixture.memberships",
        report_only=REPORT_ONLY,
        stored=STORED,
    )
    _constraints: ClassVar[Constraints] = {**CONSTRAINTS, "binarize": (nothing(), real(-np.inf, np.inf, "neither"))}

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 1.0,
        binarize: float | None = 0.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        probabilities_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        weight_concentration_prior: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.probabilities_init = probabilities_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.weight_concentration_prior = weight_concentration_prior

    def _threshold(self) -> float | None:
        """The threshold above which a feature is on."""
        return None if self.binarize is None else float(self.binarize)

    def _check_values(self, totals: Totals) -> None:
        """Raise where values that are not made binary are not between zero and one."""
        if self.binarize is None and (totals.low < 0.0 or totals.high > 1.0):
            raise ValueError(
                f"With binarize=None features are between 0 and 1; they are from {totals.low:g} to {totals.high:g}."
            )

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Binary samples (n_samples, n_features) from one component after the other, and the number of each sample's
        component.
        """
        which, random = self._draw_components(n_samples)
        q = np.exp(np.asarray(self.feature_log_prob_, dtype=np.float64))[which]
        return (random.uniform(size=q.shape) < q).astype(np.float64), which
