"""Mixtures of Gaussians by variational Bayes."""

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from tenfold.arrays import Array, Floats, numpy_dtype, wide
from tenfold.data import NotFinite, Rows
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.mixture.gaussian_predictions import GaussianPredictions
from tenfold.estimators.mixture.progress import Reporter
from tenfold.estimators.mixture.validation import check_positive_definite, shape_of
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
from tenfold.estimators.schema import anything, floats, many, number
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
from tenfold.judge.certificate import Certificate
from tenfold.plans.bayesian_mixture import FittedVariational, fit, sample_moments
from tenfold.plans.mixture_fit import Search
from tenfold.plans.mixture_start import Given, look
from tenfold.stats.derivatives import total_weight
from tenfold.stats.gaussians import Mixture
from tenfold.stats.variational import Variational, VariationalPrior


class BayesianGaussianMixture(GaussianPredictions, DensityMixin, CallbackSupportMixin, Predictor, BaseEstimator):
    """Mixture of Gaussians by variational Bayes.

    Weights, means and precisions have a prior, and their posterior is approximated by a product of a Dirichlet
    distribution, or of stick-breaking Beta distributions, and of Gauss-Wishart ones. Fitting maximises the lower bound
    on the log evidence,

        ``sum_i w_i log sum_k exp(E log pi_k + E log N(x_i; mu_k, L_k^-1)) - KL(q || prior)``,

    by steps that cannot decrease it, one pass over the samples each. Components that the samples do not need end with
    weights near those of the prior.

    Parameters
    ----------
    n_components : int, default=1
        Most Gaussians k.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        The kind of the covariances; the family of the posterior is restricted to Wishart scales of the kind.
    tol : float, default=1e-3
        Steps end when the bound, of all samples together, changes by less.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance for each of its samples.
    max_iter : int, default=100
        Most steps for each start.
    n_init : int, default=1
        Starts; the one with the largest bound counts.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        Initial responsibilities: by the clusters of k-means, by the nearest of seeds of k-means++, at
        random, or by the nearest of samples drawn at random.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, default="dirichlet_process"
        The prior on the weights: sticks of Beta(1, a), truncated at `n_components`, or Dirichlet(a, ..., a).
    weight_concentration_prior : float, default=None
        The concentration a; None is 1 / n_components.
    mean_precision_prior : float, default=None
        Precision b0 of the means, whose prior is N(m0, (b0 L_k)^-1); None is 1.
    mean_prior : array-like of shape (n_features,), default=None
        The mean m0 of the means; None is the mean of the samples.
    degrees_of_freedom_prior : float, default=None
        Degrees of freedom v0 of the Wishart prior on the precisions; None is n_features.
    covariance_prior : float or array-like, default=None
        The inverse scale V of the Wishart prior, of the shape of the covariance of one component; None is that of the
        samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    warm_start : bool, default=False
        Start where the last fit ended.
    verbose : int, default=0
        1 says where each start begins and ends and every `verbose_interval`-th step, 2 also times and changes of the
        bound. scikit-learn's callbacks are called after every step, too.
    verbose_interval : int, default=10
        How many steps there are between two lines of output.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Expected weights of the components.
    means_ : ndarray of shape (n_components, n_features)
        Expected means.
    covariances_ : ndarray
        Inverses of the expected precisions: of shape (k, p, p) for "full", (p, p) for "tied", (k, p) for "diag", and
        (k,) for "spherical".
    precisions_ : ndarray
        Expected precisions, of the same shape.
    precisions_cholesky_ : ndarray
        Their Cholesky factors (square roots where they are numbers), of the same shape.
    converged_ : bool
        Whether steps ended by `tol`, and not by `max_iter`.
    n_iter_ : int
        Steps of the best start.
    lower_bound_ : float
        The lower bound before the last step, without the constants that scikit-learn leaves out.
    lower_bounds_ : list of float
        The same before each step.
    weight_concentration_ : ndarray of shape (n_components,) or tuple of two of them
        Concentrations of the Dirichlet posterior; or both parameters of the Beta posteriors of the sticks.
    mean_precision_ : ndarray of shape (n_components,)
        Precisions b_k = b0 + n_k of the means.
    degrees_of_freedom_ : ndarray of shape (n_components,), or float
        Degrees of freedom v_k = v0 + n_k; with tied covariances one number.
    weight_concentration_prior_ : float
        The concentration a of the prior.
    mean_precision_prior_ : float
        The precision b0 of the prior.
    mean_prior_ : ndarray of shape (n_features,)
        The mean m0 of the prior.
    degrees_of_freedom_prior_ : float
        The degrees of freedom v0 of the prior.
    covariance_prior_ : ndarray or float
        The inverse scale V of the prior.
    certificate_ : Certificate
        Kind fixed point: how much one more exact step, taken by the judge, would change the bound, in nats per sample.
        Another start may lead to a larger one. `objective` is the negative bound per sample, with its constants:
        the log evidence of the mixture is at least minus that.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples an iteration, and two to judge, as in a mixture by EM. Runs on dense arrays, files,
    devices and Dask collections, with sample weights.
    Seeger, sections 12.2 and 12.3; Cookbook, ch. 13; Bishop (2006), section 10.2; Blei and Jordan (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BayesianGaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [12, 4], [10, 7]])
    >>> model = BayesianGaussianMixture(n_components=2, random_state=42, max_iter=1000).fit(X)
    >>> model.means_.round(2)[np.argsort(model.means_[:, 0])]
    array([[2.5 , 2.29],
           [8.46, 4.52]])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Gaussian mixtures by variational Bayes",
        texts=("S12.2", "S12.3", "B13"),
        peer="sklearn.mixture",
        reads=("a pass a step",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray(), or TruncatedSVD first.",
        certificate=("fixed point",),
        judge="bayesian_mixture.variational",
        outputs="bayesian_mixture.memberships",
        report_only={
            "converged_": "whether the solver's own criterion was met; the certificate says whether the parameters are "
            "at rest",
            "lower_bound_": "the bound at the parameters before the last step, which are not kept; it must not be "
            "above that of the posterior",
            "lower_bounds_": "the course of the solver",
            "n_iter_": "how many steps the solver took",
        },
        stored={
            "means_": floats("c p"),
            "weight_concentration_": floats("c", low=0.0) | many(floats("*", low=0.0)),
            "mean_precision_": floats("c", low=0.0),
            "degrees_of_freedom_": floats("c", low=0.0) | floats("", low=0.0) | number(0.0),
            "weight_concentration_prior_": number(0.0),
            "mean_precision_prior_": number(0.0),
            "mean_prior_": floats("p"),
            "degrees_of_freedom_prior_": number(0.0),
            "covariance_prior_": anything(),
        },
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "covariance_type": (choice("full", "tied", "diag", "spherical"),),
        "tol": (real(0),),
        "reg_covar": (real(0),),
        "max_iter": (integer(0),),
        "n_init": (integer(1),),
        "init_params": (choice("kmeans", "random", "random_from_data", "k-means++"),),
        "weight_concentration_prior_type": (choice("dirichlet_process", "dirichlet_distribution"),),
        "weight_concentration_prior": (nothing(), real(0, np.inf, "neither")),
        "mean_precision_prior": (nothing(), real(0, np.inf, "neither")),
        "mean_prior": (nothing(), array_like()),
        "degrees_of_freedom_prior": (nothing(), real(0, np.inf, "neither")),
        "covariance_prior": (nothing(), array_like(), real(0, np.inf, "neither")),
        "random_state": (random_state(),),
        "warm_start": (boolean(),),
        "verbose": (integer(0), boolean()),
        "verbose_interval": (integer(1),),
    }

    weights_: Array
    means_: Array
    covariances_: Array
    certificate_: Certificate

    def __init__(
        self,
        *,
        n_components: int = 1,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weight_concentration_prior_type: str = "dirichlet_process",
        weight_concentration_prior: float | None = None,
        mean_precision_prior: float | None = None,
        mean_prior: Any = None,
        degrees_of_freedom_prior: float | None = None,
        covariance_prior: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the posterior for samples X (n, p) with optional `sample_weight` (n,); `y` is not used."""
        check_parameters(self, self._constraints)
        before = read_posterior(self) if self.warm_start and hasattr(self, "converged_") else None
        X = validate_rows(self, X)
        weight = validate_weights(sample_weight, X)
        self._check_sample_count(X.shape[0])
        rows = as_rows_without_target(X, weight)
        search = Search(
            self.n_components,
            self.init_params,
            Given(),
            self.n_init,
            float(self.tol),
            int(self.max_iter),
            check_random_state(self.random_state),
        )
        callback = make_callback(self, X, y, self.max_iter, partial(_attributes, X=X))
        reporter = Reporter(self.verbose, self.verbose_interval, callback) if self.verbose else None
        callback = callback if reporter is None else reporter.callback

        def search_best() -> tuple[VariationalPrior, FittedVariational]:
            seen = look(rows)
            if seen.missing:
                raise NotFinite
            prior = prior_of(self, rows)
            total = float(rows.fold(total_weight).sum)
            earlier = None if before is None else (before, float(self.lower_bound_))
            dtype = numpy_dtype(X.dtype)
            return prior, fit(
                prior, rows, seen, total, search, dtype, callback=callback, listener=reporter, earlier=earlier
            )

        self._store(*require_finite(self, X, search_best), X)
        return self

    def _check_sample_count(self, n: int) -> None:
        if n < 2:
            raise ValueError(
                f"Found array with {n} sample(s) (shape=({n}, {self.n_features_in_})) while a minimum of 2 is required "
                "by BayesianGaussianMixture."
            )
        if n < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n}"
            )

    def _store(self, prior: VariationalPrior, fitted: FittedVariational, X: Array) -> None:
        for name, value in _attributes(fitted.posterior, X).items():
            setattr(self, name, value)
        self.weight_concentration_prior_ = prior.concentration
        self.mean_precision_prior_ = prior.mean_precision
        self.mean_prior_ = convert_like(prior.mean, X)
        given = self.degrees_of_freedom_prior
        self.degrees_of_freedom_prior_ = len(prior.mean) if given is None else given
        scale = prior.scale
        self.covariance_prior_ = float(scale) if np.ndim(scale) == 0 else convert_like(scale, X)
        self.converged_ = fitted.converged
        self.n_iter_ = len(fitted.bounds)
        self.lower_bound_ = fitted.bounds[-1] if fitted.bounds else -np.inf
        self.lower_bounds_ = list(fitted.bounds)
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

    def _joint(self) -> Mixture:
        return read_posterior(self).mixture


def _attributes(q: Variational, X: Array) -> dict[str, Any]:
    mixture = q.mixture
    concentration = convert_like(q.concentration, X)
    return {
        "weights_": convert_like(q.weights, X),
        "means_": convert_like(q.means, X),
        "covariances_": convert_like(q.covariances, X),
        "precisions_": convert_like(mixture.precisions, X),
        "precisions_cholesky_": convert_like(mixture.triangles, X),
        "weight_concentration_": (concentration[0, :], concentration[1, :]) if q.sticks else concentration,
        "mean_precision_": convert_like(q.mean_precision, X),
        "degrees_of_freedom_": float(q.degrees) if q.kind == "tied" else convert_like(q.degrees, X),
    }


def read_posterior(model: Any) -> Variational:
    """The posterior that a model has, ours or scikit-learn's, in float64."""
    c = model.weight_concentration_
    c = np.stack([wide(part) for part in c]) if isinstance(c, (tuple, list)) else wide(c)
    degrees = model.degrees_of_freedom_
    degrees = np.asarray(wide(degrees) if getattr(degrees, "ndim", 0) else float(degrees), dtype=np.float64)
    parts = (wide(model.mean_precision_), wide(model.means_), degrees, wide(model.covariances_))
    return Variational(model.covariance_type, c, *parts)


def prior_of(model: Any, rows: Rows) -> VariationalPrior:
    """The prior by the parameters of a model, ours or scikit-learn's, and the samples."""
    p, k, kind = rows.shape[1], model.n_components, model.covariance_type
    mean, covariance = sample_moments(rows)
    if model.mean_prior is not None:
        mean = check_array(model.mean_prior, ensure_2d=False, dtype=np.float64, input_name="mean_prior")
        if mean.shape != (p,):
            raise ValueError(f"The parameter 'means' should have the shape of {(p,)}, but got {mean.shape}")
    degrees = float(p) if model.degrees_of_freedom_prior is None else float(model.degrees_of_freedom_prior)
    if degrees <= p - 1.0:
        raise ValueError(
            f"The parameter 'degrees_of_freedom_prior' should be greater than {p - 1}, but got {degrees:.3f}."
        )
    concentration, precision = model.weight_concentration_prior, model.mean_precision_prior
    return VariationalPrior(
        kind,
        model.weight_concentration_prior_type == "dirichlet_process",
        1.0 / k if concentration is None else float(concentration),
        1.0 if precision is None else float(precision),
        mean,
        degrees,
        _scale_of(model.covariance_prior, kind, covariance),
        float(model.reg_covar),
    )


def _scale_of(given: Any, kind: str, covariance: Floats) -> Floats:
    """The inverse scale of the Wishart prior, of one component."""
    p = len(covariance)
    if given is None:
        variances = np.diag(covariance)
        if kind == "spherical":
            return np.array(np.mean(variances))
        return variances.copy() if kind == "diag" else covariance
    wanted = () if kind == "spherical" else (shape_of(kind, 1, p) if kind == "tied" else shape_of(kind, 1, p)[1:])
    scale = np.asarray(given, dtype=np.float64)
    if scale.shape != wanted:
        raise ValueError(
            f"The parameter '{kind} covariance_prior' should have the shape of {wanted}, but got {scale.shape}"
        )
    if kind in ("full", "tied"):
        check_positive_definite(scale[None], f"'{kind} covariance_prior'")
    elif not np.all(scale > 0.0):
        raise ValueError(f"'{kind} covariance_prior' should be positive")
    return scale
