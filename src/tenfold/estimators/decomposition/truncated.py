"""Truncated singular value decomposition: latent semantic analysis."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, numpy_dtype, wide
from tenfold.estimators.decomposition.principal import store_components
from tenfold.estimators.decomposition.projected import ProjectionMixin
from tenfold.estimators.parameters import Constraints, check_parameters, choice, integer, random_state, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows_without_target,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.pca_fit import fit_truncated


class TruncatedSVD(ProjectionMixin):
    """Leading singular vectors of the uncentred samples, which may be sparse.

    Components are the eigenvectors of ``sum_i w_i x_i x_i'`` with the largest values, the squares of the singular
    values. On counts of words this is latent semantic analysis.

    Parameters
    ----------
    n_components : int, default=2
        At most the number of columns.
    algorithm : {"arpack", "randomized"}, default="randomized"
        Both solve small problems in closed form: by products of columns, or of rows. On larger ones "randomized" takes
        `n_iter` steps of block Lanczos, and the certificate says how good the components are then; with "arpack" they
        are taken until it is ok, at most 300.
    n_iter : int, default=5
        Steps with "randomized" after the first block of vectors; each multiplies a block by X and by X'. They leave
        better components than as many power iterations.
    n_oversamples : int, default=10
        With "randomized" blocks have n_components + n_oversamples vectors. Not used with "arpack".
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Accepted for compatibility: blocks are always orthogonalised.
    random_state : int, RandomState instance or None, default=None
        Seed of the start of block Lanczos.
    tol : float, default=0.0
        The certificate allows it; with "arpack" block Lanczos ends when no component has a residual above
        ``max(tol, 1e-9)`` times the largest value.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal, each with its largest entry positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variances of the transformed samples, about their means.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same as fractions of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        The largest singular values of the (weighted) X, in decreasing order.
    certificate_ : Certificate
        Kind spectral: residuals of the eigenvectors, how far all that is stored is from what they capture, and a proof
        that none with a larger value was left out, certain or with a stated probability.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data, or one a step of block Lanczos, and one to judge; memory p x p, n x n, or some vectors. Runs
    on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, ch. 10; Seeger, section 11.1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from tenfold import TruncatedSVD
    >>> X = csr_array(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> TruncatedSVD(2).fit(X).singular_values_.round(4)
    array([3.1623, 1.    ])
    """

    _registration: ClassVar = Registration(
        method="Truncated SVD, latent semantic analysis",
        texts=("S11.1", "R10"),
        peer="sklearn.decomposition",
        reads=("one pass", "a pass a step"),
        certificate=("spectral",),
        judge="pca.as_they_are",
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "algorithm": (choice("arpack", "randomized"),),
        "n_iter": (integer(0),),
        "n_oversamples": (integer(1),),
        "power_iteration_normalizer": (choice("auto", "QR", "LU", "none"),),
        "random_state": (random_state(),),
        "tol": (real(0),),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        algorithm: str = "randomized",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        tol: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol

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
        p = rows.shape[1]
        if self.n_components > p:
            raise ValueError(f"n_components({self.n_components}) must be <= n_features({p}).")
        random, dtype = check_random_state(self.random_state), numpy_dtype(X.dtype)
        fitted, self.certificate_ = require_finite(
            self,
            X,
            lambda: fit_truncated(
                rows,
                self.n_components,
                tol=float(self.tol),
                steps=int(self.n_iter) if self.algorithm == "randomized" else None,
                oversampling=int(self.n_oversamples),
                random=random,
                dtype=dtype,
            ),
        )
        store_components(self, fitted, X)
        warn_unless_certified(self)
        return self

    def _frame(self) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        return wide(self.components_), np.zeros(self.components_.shape[1])

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and transform the same samples; `y` is not used."""
        return self.fit(X, y, sample_weight).transform(X)

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n, n_features) from their coordinates X (n, n_components)."""
        check_is_fitted(self)
        axes = wide(self.components_)
        return self._reconstruct(X, axes, np.zeros(axes.shape[1]))
