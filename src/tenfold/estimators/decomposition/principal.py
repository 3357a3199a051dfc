"""Principal component analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, like, namespace, numpy_dtype, wide
from tenfold.estimators.class_statistics import cast_like
from tenfold.estimators.decomposition.projected import ProjectionMixin
from tenfold.estimators.leaderboard_entry import Entry
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
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.pca_fit import Components, fit_principal
from tenfold.stats.derivatives import Params, forward

SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized", "power")


class PrincipalComponentsModel(ProjectionMixin):
    """Base of PCA and IncrementalPCA: the probabilistic model with equal noise outside the components."""

    components_: Array
    mean_: Array
    explained_variance_: Array
    noise_variance_: float
    whiten: bool

    def _frame(self) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        axes = wide(self.components_)
        if self.whiten:
            scale = np.sqrt(wide(self.explained_variance_))
            least = np.finfo(numpy_dtype(self.components_.dtype)).eps
            axes = axes / np.maximum(scale, least)[:, None]
        return axes, wide(self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n, n_features) from their coordinates X (n, n_components)."""
        check_is_fitted(self)
        axes = wide(self.components_)
        if self.whiten:
            axes = axes * np.sqrt(wide(self.explained_variance_))[:, None]
        return self._reconstruct(X, axes, wide(self.mean_))

    def _model(self) -> tuple[Floats, Floats, float]:
        """Axes, variances along them, at least the rounding of the largest, and the noise variance."""
        check_is_fitted(self)
        variances, noise = wide(self.explained_variance_), float(self.noise_variance_)
        least = np.finfo(np.float64).eps * np.max(variances, initial=np.finfo(np.float64).tiny)
        return wide(self.components_), np.maximum(variances, max(noise, least)), noise

    def get_covariance(self) -> Array:
        """The covariance of the model: ``V'(L - s I)V + s I``, s the noise, (n_features, n_features)."""
        V, variances, noise = self._model()
        S = (V.T * (variances - noise)) @ V + noise * np.eye(V.shape[1])
        return convert_like(S, self.components_)

    def get_precision(self) -> Array:
        """The inverse of `get_covariance`."""
        V, variances, noise = self._model()
        if noise == 0.0:
            return convert_like(np.linalg.inv((V.T * variances) @ V), self.components_)
        P = (V.T * (1.0 / variances - 1.0 / noise)) @ V + np.eye(V.shape[1]) / noise
        return convert_like(P, self.components_)


def store_components(model: Any, fitted: Components, X: Array) -> None:
    """Set the attributes of components."""
    model.components_ = convert_like(fitted.axes, X, copy=False)
    model.singular_values_ = convert_like(fitted.singular_values, X)
    model.explained_variance_ = convert_like(fitted.variances, X)
    model.explained_variance_ratio_ = convert_like(fitted.shares, X)


def count_requested(n_components: Any, keep: Any, solver: str, shape: tuple[int, int]) -> int | float | str:
    """The requested number of components: an integer, a fraction of the variance, or "mle"."""
    if keep is not None:
        return len(keep)
    if n_components is None:
        return min(shape) - (solver == "arpack")  # as scikit-learn's
    if isinstance(n_components, str):
        return n_components
    return float(n_components) if 0 < n_components < 1 else int(n_components)


class PCA(PrincipalComponentsModel):
    """Principal component analysis: the directions of largest variance.

    With S the scatter ``sum_i w_i (x_i - m)(x_i - m)'`` about the weighted mean, components are its eigenvectors with
    the largest values l; ``explained_variance_ = l / (sum w - 1)``.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=None
        The number; the smallest number that explains more than a given fraction of the variance; as Minka (2000)
        finds most probable; or all, min(n, p).
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    whiten : bool, default=False
        Whether `transform` divides by the standard deviations.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized", "power"}, default="auto"
        "full" takes a triangular factor of the samples, which keeps the digits of small values. All others take what
        suits the shape: products of columns, products of rows, or block Lanczos for few components of large data.
        "power", which scikit-learn does not have, is the power method with deflation, a pass a step.
    tol : float, default=0.0
        Block Lanczos ends when no component has a residual above ``max(tol, 1e-9)`` times the largest value.
    iterated_power : int or "auto", default="auto"
        Limit of the steps of block Lanczos with "randomized", and of those for each component with "power"; 300 with
        "auto".
    n_oversamples : int, default=10
        Accepted for compatibility: block Lanczos takes as many vectors as it needs.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Accepted for compatibility: blocks are always orthogonalised.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of block Lanczos.
    keep : sequence of int, default=None
        Numbers of the components to keep, of all: 0 is that with the largest variance. Leave out the first, or take
        the third and the fifth.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal, each with its largest entry positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along the components.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as fractions of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the (centred, weighted) X: square roots of the eigenvalues l.
    mean_ : ndarray of shape (n_features,)
        Weighted mean of the samples.
    n_components_ : int
        How many components are kept.
    n_samples_ : int
        Number of samples seen in `fit`.
    noise_variance_ : float
        The mean variance along all other directions.
    certificate_ : Certificate
        Kind spectral: residuals of the eigenvectors, how far all that is stored is from what they capture, and a proof
        that none with a larger value was left out, certain or with a stated probability.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, or one a step of block Lanczos; memory p x p, n x n, or some vectors. Runs on dense and
    sparse arrays, files, devices and Dask collections, with sample weights.
    Seeger, section 11.1; Rosasco, ch. 10; Cookbook, ch. 7; Welling, ch. 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import PCA
    >>> X = load_iris().data
    >>> model = PCA(2).fit(X)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9246, 0.0531])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Principal component analysis",
        texts=("S11.1", "R10", "B7", "W2"),
        peer="sklearn.decomposition",
        reads=("one pass", "a pass a step"),
        certificate=("spectral",),
        judge="pca.about_mean",
        board=Entry("principal-components", "structure"),
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (nothing(), integer(0), real(0, 1, "neither"), choice("mle")),
        "copy": (boolean(),),
        "whiten": (boolean(),),
        "svd_solver": (choice(*SOLVERS),),
        "tol": (real(0),),
        "iterated_power": (choice("auto"), integer(0)),
        "n_oversamples": (integer(1),),
        "power_iteration_normalizer": (choice("auto", "QR", "LU", "none"),),
        "random_state": (random_state(),),
        "keep": (nothing(), array_like()),
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        keep: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.keep = keep

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples.
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
        X = validate_rows(self, X)
        weight = validate_weights(sample_weight, X)
        rows = as_rows_without_target(X, weight)
        count = self._count_to_compute(*rows.shape)
        fitted, self.certificate_ = require_finite(
            self,
            X,
            lambda: fit_principal(
                rows,
                count,
                count_requested(self.n_components, self.keep, self.svd_solver, rows.shape),
                self.keep,
                accurate=self.svd_solver == "full",
                tol=float(self.tol),
                max_iter=300 if self.iterated_power == "auto" else max(1, int(self.iterated_power)),
                random=partial(check_random_state, self.random_state),
                dtype=numpy_dtype(X.dtype),
                power=self.svd_solver == "power",
            ),
        )
        store_components(self, fitted, X)
        self.mean_, self.noise_variance_ = convert_like(fitted.mean, X), fitted.noise
        self.n_components_, self.n_samples_ = len(fitted.axes), rows.shape[0]
        warn_unless_certified(self)
        return self

    def _count_to_compute(self, n: int, p: int) -> int | None:
        """The number of components to compute; None for all."""
        if isinstance(self.n_components, str) and self.svd_solver in ("arpack", "randomized"):
            raise ValueError(
                f"n_components={self.n_components!r} cannot be a string with svd_solver='{self.svd_solver}'"
            )
        if self.n_components == "mle" and n < p:
            raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        if self.n_components is None or isinstance(self.n_components, str) or 0 < self.n_components < 1:
            return None if self.keep is None else max(map(int, self.keep), default=0) + 1
        least = 1 if self.svd_solver in ("arpack", "randomized") else 0
        name = "full" if self.svd_solver == "auto" else self.svd_solver
        if not least <= self.n_components <= min(n, p):
            raise ValueError(
                f"n_components={self.n_components} must be between {least} and min(n_samples, n_features)={min(n, p)} "
                f"with svd_solver={name!r}"
            )
        if self.svd_solver == "arpack" and self.n_components == min(n, p):
            raise ValueError(
                f"n_components={self.n_components} must be strictly less than min(n_samples, n_features)={min(n, p)} "
                "with svd_solver='arpack'"
            )
        if self.keep is not None:
            raise ValueError("Give n_components or keep, not both.")
        return int(self.n_components)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and transform the same samples; `y` is not used."""
        return self.fit(X, y, sample_weight).transform(X)

    def score_samples(self, X: Any) -> Array:
        """The log density of each sample in the probabilistic model, (n,), in the precision of X."""
        return cast_like(self._predict_raw(X, self._density_of_rows), X)

    def _density_of_rows(self, few: bool) -> Callable[[Array], Array]:
        V, variances, noise = self._model()
        return partial(log_density, V, wide(self.mean_), variances, noise)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the samples X (n, p) in the probabilistic model; `y` is not used."""
        fitted = self.score_samples(X)
        return float(namespace(fitted).mean(fitted))


def log_density(V: Floats, mean: Floats, variances: Floats, noise: float, X: Array) -> Array:
    """``-1/2 (p log 2 pi + log|C| + (x - m)'C^-1 (x - m))``: by projections and the remaining norm."""
    p, k = V.shape[1], len(V)
    z = forward(X, Params(V, np.zeros(k)), mean)
    xp = namespace(z)
    quadratic = xp.sum(z**2 * like(1.0 / variances, z), axis=1)
    logs = float(np.sum(np.log(variances)))
    if noise > 0.0:
        length = xp.sum((_dense(X) - like(mean, z)) ** 2, axis=1)
        rest = length - xp.sum(z**2, axis=1)
        quadratic = quadratic + xp.where(rest > 0.0, rest, xp.zeros_like(rest)) / noise
        logs += (p - k) * float(np.log(noise))
    return -0.5 * (quadratic + p * float(np.log(2.0 * np.pi)) + logs)


def _dense(X: Array) -> Array:
    return X.toarray() if hasattr(X, "toarray") else namespace(X).astype(X, namespace(X).float64, copy=False)
