"""Incremental principal component analysis."""

from typing import Any, ClassVar, Self

from tenfold.arrays import numpy_dtype
from tenfold.estimators.decomposition.principal import PrincipalComponentsModel, store_components
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
)
from tenfold.plans.least_squares import fold_moments
from tenfold.plans.pca_fit import fit_parts
from tenfold.stats.moments import Moments


class IncrementalPCA(PrincipalComponentsModel):
    """Exact principal component analysis of samples that arrive in batches.

    With S the scatter ``sum_i w_i (x_i - m)(x_i - m)'`` of all samples so far about their weighted mean, components are
    its eigenvectors with the largest values l; ``explained_variance_ = l / (sum w - 1)``. Parts are merged as moments,
    so that the components are those of one fit to all samples so far.

    Parameters
    ----------
    n_components : int, default=None
        None for as many as there are columns, or samples in the first part where these are fewer.
    whiten : bool, default=False
        Whether `transform` divides by the standard deviations.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    batch_size : int, default=None
        Accepted for compatibility: data are read in blocks, which do not change the result.

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
    noise_variance_ : float
        The mean variance along all other directions.
    var_ : ndarray of shape (n_features,)
        Variances of the columns.
    n_components_ : int
        How many components are kept.
    n_samples_seen_ : int
        Number of samples of all parts so far.
    batch_size_ : int
        `batch_size`, or five times the number of features; it does not change the result.
    moments_ : Moments
        Count, means and second moments of all samples so far, to which `partial_fit` adds more.
    certificate_ : Certificate
        Kind spectral: the largest residual of an eigenvector in units of the largest value, and a proof that none with
        a larger value was left out; after `partial_fit` from the moments, because the samples are not stored.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and one to judge; memory p x p. Runs on dense and sparse arrays, files, devices and Dask
    collections, with sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import IncrementalPCA, PCA
    >>> X = np.random.RandomState(0).randn(100, 5)
    >>> parts = IncrementalPCA(2)
    >>> for part in np.array_split(X, 7):
    ...     parts = parts.partial_fit(part)
    >>> bool(np.allclose(parts.components_, PCA(2).fit(X).components_))
    True
    """

    _registration: ClassVar = Registration(
        method="Incremental principal component analysis",
        texts=("S11.1", "R10"),
        peer="sklearn.decomposition",
        reads=("one pass",),
        certificate=("spectral",),
        judge="pca.about_mean",
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (nothing(), integer(1)),
        "whiten": (boolean(),),
        "copy": (boolean(),),
        "batch_size": (nothing(), integer(1)),
    }

    moments_: Moments

    def __init__(
        self, n_components: int | None = None, *, whiten: bool = False, copy: bool = True, batch_size: int | None = None
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these samples alone.

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
        self.__dict__.pop("moments_", None)
        self.__dict__.pop("n_components_", None)
        return self._add(X, sample_weight)

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, check_input: bool = True, sample_weight: Any = None) -> Self:
        """Fit to these samples and all previous ones.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples.
        y : object, default=None
            Not used.
        check_input : bool, default=True
            Accepted for compatibility: input is always checked.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._add(X, sample_weight)

    def _add(self, X: Any, sample_weight: Any) -> Self:
        check_parameters(self, self._constraints)
        first = not hasattr(self, "moments_")
        X = validate_rows(self, X)
        if not first and X.shape[1] != self.moments_.features:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.moments_.features} "
                "features as input."
            )
        weight = validate_weights(sample_weight, X)
        rows = as_rows_without_target(X, weight)
        new: Moments = require_finite(self, X, lambda: fold_moments(rows))
        self._number(*rows.shape)
        self.moments_ = new if first else self.moments_.merge(new)
        (components, self.certificate_), variances = fit_parts(
            self.moments_,
            rows if first else None,
            self.n_components_,
            None if self.n_components is None else int(self.n_components),
            numpy_dtype(X.dtype),
        )
        store_components(self, components, X)
        self.mean_, self.var_, self.noise_variance_ = (
            convert_like(components.mean, X),
            convert_like(variances, X),
            components.noise,
        )
        self.n_samples_seen_ = self.moments_.count
        self.batch_size_ = 5 * rows.shape[1] if self.batch_size is None else self.batch_size
        return self

    def _number(self, n: int, p: int) -> None:
        """The number of components, from the first part on."""
        if self.n_components is None:
            self.n_components_ = getattr(self, "n_components_", min(n, p))
            return
        if self.n_components > p:
            raise ValueError(
                f"n_components={self.n_components} invalid for n_features={p}, need more rows than columns for "
                "IncrementalPCA processing"
            )
        if self.n_components > n and not hasattr(self, "moments_"):
            raise ValueError(
                f"n_components={self.n_components} must be less or equal to the batch number of samples {n} for the "
                "first partial_fit call."
            )
        self.n_components_ = self.n_components
