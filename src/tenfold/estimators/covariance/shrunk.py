"""Covariances that are shrunk towards a multiple of the identity."""

from typing import Any, ClassVar, Self

from tenfold.estimators.covariance.empirical import STORED, PlainCovariance
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import number
from tenfold.estimators.validation import restore_on_error


class ShrunkCovariance(PlainCovariance):
    """A covariance shrunk by a given amount a towards a multiple of the identity.

    ``C = (1 - a) S + a (trace S / p) I``, with S the empirical covariance. With a Wishart prior of weight b on the
    precision, in units of the mean variance, the posterior mode is such a C, but for a factor, with a = b / (b + n).

    Parameters
    ----------
    store_precision : bool, default=True
        Whether the inverse is stored.
    assume_centered : bool, default=False
        Whether samples count as centred: S is taken about zero.
    shrinkage : float in [0, 1], default=0.1
        The amount a.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The weighted mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The shrunk covariance.
    precision_ : ndarray of shape (n_features, n_features)
        Its inverse; None without `store_precision`.
    certificate_ : Certificate
        Kind exact: the location, products of the covariance with random vectors against those of the samples, and the
        precision as its inverse.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and one with products to judge; memory p x p. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights, whose sum counts as the number of samples.
    Seeger, section 7.3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ShrunkCovariance
    >>> model = ShrunkCovariance(shrinkage=0.5).fit(np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 3.0]]))
    >>> model.covariance_.round(3), model.certificate_.ok
    (array([[1.   , 0.   ],
           [0.   , 1.667]]), True)
    """

    _registration: ClassVar = Registration(
        method="Shrunk covariance",
        texts=("S7.3.1",),
        peer="sklearn.covariance",
        reads=("one pass",),
        certificate=("exact",),
        judge="covariance.shrunk",
        outputs="covariance.distances",
        stored=STORED,
    )
    _constraints: ClassVar[Constraints] = {
        "store_precision": (boolean(),),
        "assume_centered": (boolean(),),
        "shrinkage": (real(0, 1, "both"),),
    }
    _kind: ClassVar = "shrunk"

    def _amount(self) -> float | None:
        return float(self.shrinkage)

    def __init__(self, *, store_precision: bool = True, assume_centered: bool = False, shrinkage: float = 0.1) -> None:
        self.store_precision = store_precision
        self.assume_centered = assume_centered
        self.shrinkage = shrinkage

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the covariance.

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
        self._fit(X, sample_weight)
        return self


class LedoitWolf(PlainCovariance):
    """A covariance shrunk by the amount of Ledoit and Wolf (2004).

    ``C = (1 - a) S + a m I`` with ``m = trace S / p`` and ``a = min(b, d) / d``: d is the mean squared entry of
    ``S - m I`` times p, and b the squared error of S, ``(1/n^2) sum_i |x_i x_i' - S|^2 / p``, for samples about their
    mean.

    Parameters
    ----------
    store_precision : bool, default=True
        Whether the inverse is stored.
    assume_centered : bool, default=False
        Whether samples count as centred: S is taken about zero.
    block_size : int, default=1000
        Accepted for compatibility: nothing of the size of the samples is kept.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The weighted mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The shrunk covariance.
    precision_ : ndarray of shape (n_features, n_features)
        Its inverse; None without `store_precision`.
    shrinkage_ : float
        The amount a.
    certificate_ : Certificate
        Kind exact: the location, the amount by another formula, products of the covariance with random vectors against
        those of the samples, and the precision as its inverse.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Two passes over the samples, and two to judge; memory p x p. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights, whose sum counts as the number of samples.
    `LinearDiscriminantAnalysis` with ``shrinkage="auto"`` takes this amount for each class, on features of unit
    variance.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LedoitWolf
    >>> X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 1.0, 1.0, 2.0]
    >>> model = LedoitWolf().fit(X)
    >>> round(model.shrinkage_, 3), model.certificate_.ok
    (0.103, True)
    """

    _registration: ClassVar = Registration(
        method="Ledoit-Wolf covariance",
        texts=("S7.3.1",),
        peer="sklearn.covariance",
        reads=("two passes",),
        certificate=("exact",),
        judge="covariance.ledoit_wolf",
        outputs="covariance.distances",
        stored={**STORED, "shrinkage_": number(0.0, 1.0)},
    )
    _constraints: ClassVar[Constraints] = {
        "store_precision": (boolean(),),
        "assume_centered": (boolean(),),
        "block_size": (integer(1),),
    }
    _kind: ClassVar = "ledoit_wolf"

    shrinkage_: float

    def __init__(self, *, store_precision: bool = True, assume_centered: bool = False, block_size: int = 1000) -> None:
        self.store_precision = store_precision
        self.assume_centered = assume_centered
        self.block_size = block_size

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the covariance.

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
        self.shrinkage_ = float(self._fit(X, sample_weight).amount or 0.0)
        return self


class OAS(PlainCovariance):
    """A covariance shrunk by the oracle approximating amount (Chen, Wiesel, Eldar and Hero 2010).

    ``C = (1 - a) S + a m I`` with ``m = trace S / p`` and, in units of m = 1 and with the mean squared entry q of S,
    ``a = min((q + 1) / ((n + 1) (q - 1 / p)), 1)``: for samples of a Gaussian model nearer to the best amount than that
    of Ledoit and Wolf.

    Parameters
    ----------
    store_precision : bool, default=True
        Whether the inverse is stored.
    assume_centered : bool, default=False
        Whether samples count as centred: S is taken about zero.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The weighted mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The shrunk covariance.
    precision_ : ndarray of shape (n_features, n_features)
        Its inverse; None without `store_precision`.
    shrinkage_ : float
        The amount a.
    certificate_ : Certificate
        Kind exact: the location, the amount by another formula, products of the covariance with random vectors against
        those of the samples, and the precision as its inverse.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, and two to judge; memory p x p. Runs on dense and sparse arrays, files,
    devices and Dask collections, with sample weights, whose sum counts as the number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OAS
    >>> X = np.random.default_rng(0).standard_normal((50, 4)) * [1.0, 1.0, 1.0, 2.0]
    >>> model = OAS().fit(X)
    >>> round(model.shrinkage_, 3), model.certificate_.ok
    (0.138, True)
    """

    _registration: ClassVar = Registration(
        method="Oracle approximating shrinkage of a covariance",
        texts=("S7.3.1",),
        peer="sklearn.covariance",
        reads=("one pass",),
        certificate=("exact",),
        judge="covariance.oas",
        outputs="covariance.distances",
        stored={**STORED, "shrinkage_": number(0.0, 1.0)},
    )
    _constraints: ClassVar[Constraints] = {
        "store_precision": (boolean(),),
        "assume_centered": (boolean(),),
    }
    _kind: ClassVar = "oas"

    shrinkage_: float

    def __init__(self, *, store_precision: bool = True, assume_centered: bool = False) -> None:
        self.store_precision = store_precision
        self.assume_centered = assume_centered

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the covariance.

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
        self.shrinkage_ = float(self._fit(X, sample_weight).amount or 0.0)
        return self
