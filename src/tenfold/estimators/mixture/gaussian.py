"""Mixtures of Gaussians."""

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from tenfold.arrays import Array, numpy_dtype
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.mixture.gaussian_predictions import GaussianPredictions
from tenfold.estimators.mixture.progress import Reporter
from tenfold.estimators.mixture.validation import check_positive_definite, check_start, shape_of
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
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    STATUS_ADVICE,
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.mixture_fit import FittedMixture, Search, fit
from tenfold.plans.mixture_start import Seen, look
from tenfold.problems import Gaussians
from tenfold.stats.gaussians import KINDS


def _has_covariances(model: Any) -> bool:
    """Covariances, precisions and their factors have the shape of their type."""
    c, p = model.means_.shape
    shape = {"full": (c, p, p), "tied": (p, p), "diag": (c, p), "spherical": (c,)}[model.covariance_type]
    return all(getattr(model, name).shape == shape for name in ("covariances_", "precisions_", "precisions_cholesky_"))


class GaussianMixture(GaussianPredictions, DensityMixin, CallbackSupportMixin, Predictor, BaseEstimator):
    """Mixture of Gaussians, fitted by EM.

    ``p(x) = sum_k pi_k N(x; m_k, C_k)``. Fitting maximises the mean log density of the samples, ``(1/W) sum_i w_i log
    p(x_i)``, and with priors that of the posterior; each step of EM is one pass over the samples. Missing values
    (NaN) are marginalised: the density of such a sample is that of its observed features, and each step uses the
    conditional moments of the others. This assumes values missing at random.

    Parameters
    ----------
    n_components : int, default=1
        Number of Gaussians k.
    covariance_type : {"full", "tied", "diag", "spherical", "unit"}, default="full"
        "unit": all covariances are the identity, and only weights and means are learned.
    tol : float, default=1e-3
        EM stops when the mean log density changes by less in a step, and the judge asks the same of one more.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance: no variance along any axis is smaller. Without such a floor the
        likelihood has no maximum, for a component may shrink to a point.
    max_iter : int, default=100
        Most steps of EM for each start.
    n_init : int, default=1
        Starts; the best one counts.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        Initial responsibilities: by the clusters of k-means, by the nearest of seeds of k-means++, at
        random, or by the nearest of samples drawn at random.
    weights_init : array-like of shape (n_components,), default=None
        Weights to start from; None takes those of `init_params`.
    means_init : array-like of shape (n_components, n_features), default=None
        Means to start from; None takes those of `init_params`.
    precisions_init : array-like, default=None
        Inverse covariances to start from, of the shape of `precisions_`; None takes those of `init_params`.
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
        Concentration a >= 1 of a Dirichlet prior on the weights: pi_k is proportional to n_k + a - 1.
    mean_precision_prior : float, default=None
        Precision b of a normal prior on each mean, whose covariance is C_k / b. None for no prior.
    mean_prior : array-like of shape (n_features,), default=None
        Mean m0 of the normal prior on each mean; None is the mean of the samples.
    degrees_of_freedom_prior : float, default=None
        Degrees of freedom v of an inverse Wishart prior on each covariance; None for no prior. Goes with
        `covariance_prior`.
    covariance_prior : array-like, default=None
        Scale V of the inverse Wishart prior, of the shape that the covariance of one component has. Goes with
        `degrees_of_freedom_prior`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Weights pi_k of the components.
    means_ : ndarray of shape (n_components, n_features)
        Means m_k of the components.
    covariances_ : ndarray
        Covariances C_k: of shape (k, p, p) for "full", (p, p) for "tied", (k, p) for "diag", and (k,) for "spherical"
        and "unit".
    precisions_ : ndarray
        Inverses of the covariances, of the same shape.
    precisions_cholesky_ : ndarray
        Cholesky factors of the inverses (square roots where they are numbers), of the same shape.
    converged_ : bool
        Whether EM stopped by `tol`, and not by `max_iter`.
    n_iter_ : int
        Steps of EM of the best start.
    lower_bound_ : float
        The mean log density (with priors, that of the posterior up to a constant) before the last step.
    lower_bounds_ : list of float
        The same before each step.
    restarted_ : list of int
        Components that lost all their samples, or had shrunk to a point, and were set off again from half of another.
    certificate_ : Certificate
        Kind fixed point: how much one more exact step, taken by the judge, would change the objective. Its note names
        the floor of the covariances and the components at that floor.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples an iteration, and two to judge: ``2 n k p (p + 3)`` operations a pass with full
    covariances, ``n k p`` with diagonal ones; memory for the parameters, and no array of n x k. Runs on dense
    arrays, files, devices and Dask collections.
    Seeger, sections 12.2 and 12.3; Cookbook, ch. 13, whose likelihood (13.3) has a sum over the samples in
    place of a product, and where a component can collapse with two components already, not only with more.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> model.means_[np.argsort(model.means_[:, 0])]
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.predict([[0, 0], [12, 3]]) == model.predict([[1, 2], [10, 2]])
    array([ True,  True])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Gaussian mixtures by EM; missing values, priors, weights",
        texts=("S12.2", "S12.3", "B13"),
        peer="sklearn.mixture",
        reads=("a pass a step",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray(), or TruncatedSVD first.",
        certificate=("fixed point",),
        judge="mixture.gaussian",
        outputs="mixture.memberships",
        report_only={
            "converged_": "whether the solver's own criterion was met; the certificate says whether the parameters are "
            "at rest",
            "lower_bound_": "the bound at the parameters before the last step, which are not kept: where the solver "
            "converged it is within tol of score(X)",
            "lower_bounds_": "the course of the solver",
            "n_iter_": "how many steps of EM the solver took",
            "restarted_": "components that the solver set off again on its way",
        },
        stored={"means_": floats("c p")},
        rules={"covariances must have the shape of covariance_type": _has_covariances},
        board=Entry(
            "mixture",
            "structure",
            {"random_state": 0, "n_init": 3},
            {"n_components": (1, 2, 3, 4, 6)},
            dense=True,
        ),
    )
    _allow_nan: ClassVar[bool] = True
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "covariance_type": (choice(*KINDS),),
        "tol": (real(0),),
        "reg_covar": (real(0),),
        "max_iter": (integer(0),),
        "n_init": (integer(1),),
        "init_params": (choice("kmeans", "random", "random_from_data", "k-means++"),),
        "weights_init": (nothing(), array_like()),
        "means_init": (nothing(), array_like()),
        "precisions_init": (nothing(), array_like()),
        "random_state": (random_state(),),
        "warm_start": (boolean(),),
        "verbose": (integer(0), boolean()),
        "verbose_interval": (integer(1),),
        "weight_concentration_prior": (nothing(), real(1)),
        "mean_precision_prior": (nothing(), real(0)),
        "mean_prior": (nothing(), array_like()),
        "degrees_of_freedom_prior": (nothing(), real(0)),
        "covariance_prior": (nothing(), real(0, np.inf, "neither"), array_like()),
    }

    weights_: Array
    means_: Array
    covariances_: Array
    precisions_cholesky_: Array

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find weights, means and covariances.

        Parameters
        ----------
        X : array-like of shape (n, p), table, Dask collection, or array on a device
            The samples; what is not a number is missing.
        y : object, default=None
            Not used.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        before = self._mixture() if self.warm_start and hasattr(self, "converged_") else None
        X = validate_rows(self, X)
        weight = validate_weights(sample_weight, X)
        self._check_sample_count(X.shape[0])
        rows = as_rows_without_target(X, weight)
        k, p = self.n_components, rows.shape[1]
        start = check_start(self.covariance_type, k, p, self.weights_init, self.means_init, self.precisions_init)
        search = Search(
            k,
            self.init_params,
            start,
            self.n_init,
            float(self.tol),
            int(self.max_iter),
            check_random_state(self.random_state),
        )
        callback = make_callback(self, X, y, self.max_iter, partial(self._attributes, X=X))
        reporter = Reporter(self.verbose, self.verbose_interval, callback) if self.verbose else None
        callback = callback if reporter is None else reporter.callback

        def search_best() -> FittedMixture:
            seen = look(rows)
            earlier = None if before is None else (before, float(self.lower_bound_))
            problem = self._problem(seen, p)
            dtype = numpy_dtype(X.dtype)
            return fit(problem, rows, seen, search, dtype, callback=callback, listener=reporter, earlier=earlier)

        self._store(require_finite(self, X, search_best), X)
        return self

    def _check_sample_count(self, n: int) -> None:
        if n < 2:
            raise ValueError(
                f"Found array with {n} sample(s) (shape=({n}, {self.n_features_in_})) while a minimum of 2 is required "
                "by GaussianMixture."
            )
        if n < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n}"
            )

    def _problem(self, seen: Seen | None, p: int) -> Gaussians:
        """The objective; the prior mean is the sample mean unless given."""
        degrees, scale, b = self.degrees_of_freedom_prior, self.covariance_prior, self.mean_precision_prior
        if (degrees is None) != (scale is None):
            raise ValueError("Give degrees_of_freedom_prior and covariance_prior, or neither.")
        kind = self.covariance_type
        if scale is not None:
            if kind == "unit":
                raise ValueError("covariance_type='unit' learns no covariance, and takes no prior on it.")
            wanted = shape_of(kind, 1, p) if kind == "tied" else shape_of(kind, 1, p)[1:]
            scale = np.asarray(scale, dtype=np.float64)
            if scale.shape != wanted:
                raise ValueError(f"covariance_prior should have the shape {wanted}, but got {scale.shape}")
            if kind in ("full", "tied"):
                check_positive_definite(scale[None], "covariance_prior")
            elif not np.all(scale > 0.0):
                raise ValueError("covariance_prior should be positive")
        mean = 0.0 if seen is None else seen.mean
        if self.mean_prior is not None:
            mean = check_array(self.mean_prior, ensure_2d=False, dtype=np.float64, input_name="mean_prior")
            if mean.shape != (p,):
                raise ValueError(f"mean_prior should have the shape {(p,)}, but got {mean.shape}")
        concentration = 1.0 if self.weight_concentration_prior is None else float(self.weight_concentration_prior)
        return Gaussians(
            kind, float(self.reg_covar), concentration, 0.0 if b is None else float(b), mean, degrees, scale
        )

    def _attributes(self, mixture: Any, X: Array) -> dict[str, Any]:
        return {
            "weights_": convert_like(mixture.weights, X),
            "means_": convert_like(mixture.means, X),
            "covariances_": convert_like(mixture.covariances, X),
            "precisions_": convert_like(mixture.precisions, X),
            "precisions_cholesky_": convert_like(mixture.triangles, X),
        }

    def _store(self, fitted: FittedMixture, X: Array) -> None:
        for name, value in self._attributes(fitted.mixture, X).items():
            setattr(self, name, value)
        self.converged_ = fitted.converged
        self.n_iter_ = len(fitted.bounds)
        self.lower_bound_ = fitted.bounds[-1] if fitted.bounds else -np.inf
        self.lower_bounds_ = list(fitted.bounds)
        self.restarted_ = list(fitted.restarted)
        self.certificate_ = fitted.certificate
        if self.max_iter > 0 and not self.converged_:
            advice = STATUS_ADVICE.get(fitted.certificate.status, "")
            message = (
                "Best performing initialization did not converge. Try different init parameters, or increase max_iter, "
                f"tol, or check for degenerate data. {fitted.certificate.explain()} {advice}"
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        elif self.max_iter > 0:
            warn_unless_certified(self)

    def _n_parameters(self) -> int:
        """The number of free parameters."""
        k, p = self.means_.shape
        shared = {"full": k * p * (p + 1) // 2, "tied": p * (p + 1) // 2, "diag": k * p, "spherical": k, "unit": 0}
        return int(shared[self.covariance_type] + k * p + k - 1)

    def bic(self, X: Any) -> float:
        """The Bayesian information criterion on the samples X: the lower the better."""
        return -2.0 * self.score(X) * X.shape[0] + self._n_parameters() * float(np.log(X.shape[0]))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion on the samples X: the lower the better."""
        return -2.0 * self.score(X) * X.shape[0] + 2.0 * self._n_parameters()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def problem_of(model: GaussianMixture, seen: Seen, p: int) -> Gaussians:
    """What a model maximises on samples with these statistics."""
    return model._problem(seen, p)
