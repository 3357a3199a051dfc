"""Random Fourier features of shift-invariant kernels."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, Floats, is_array_api, is_sparse, like, numpy_dtype
from tenfold.estimators.kernel_approximation.feature_map import FeatureMapMixin
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, integer, random_state, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, number
from tenfold.estimators.validation import as_rows_without_target, require_finite, restore_on_error
from tenfold.kernels.random_features import SPECTRA, Cosines, Spectrum
from tenfold.stats.column_moments import Columns

PARAMETERS: Constraints = {
    "gamma": (choice("scale"), real(0)),
    "n_components": (integer(1),),
    "random_state": (random_state(),),
    "kernel": (choice(*SPECTRA),),
    "nu": (real(0, closed="neither"),),
    "orthogonal": (boolean(),),
}


class RBFSampler(FeatureMapMixin):
    """Random Fourier features, whose inner products approximate a shift-invariant kernel.

    ``z_k(x) = sqrt(2 / K) cos(w_k.x + b_k)`` with w_k from the Fourier transform of the kernel and b_k uniform; the
    error of ``z(x).z(y)`` falls like ``1 / sqrt(K)``.

    Parameters
    ----------
    gamma : "scale" or float, default=1.0
        Of the kernel ``exp(-gamma ||x - y||^2)``; "scale" is ``1 / (n_features * X.var())``.
    n_components : int, default=100
        Number of features K.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw. With the same one the Gaussian features are those of scikit-learn.
    kernel : {"gaussian", "laplacian", "matern"}, default="gaussian"
        The kernel: Gaussian; ``exp(-gamma ||x - y||_1)``; or that of Matern with smoothness `nu` and length scale
        ``1 / sqrt(2 gamma)``, which is the Gaussian for large nu.
    nu : float, default=1.5
        Smoothness of the Matern kernel; 1/2 is ``exp(-||x - y|| sqrt(2 gamma))``. Not used by the others.
    orthogonal : bool, default=False
        Whether the directions of each n_features weights are orthogonal, which makes the error smaller. Not for the
        Laplacian kernel, whose spectrum has no uniform directions.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        The weights w_k, in the dtype of X.
    random_offset_ : ndarray of shape (n_components,)
        The offsets b_k.
    certificate_ : Certificate
        Kind exact, not judged by `fit`, as nothing is minimised: `tenfold.certify` judges the features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    `fit` reads no sample unless gamma is "scale"; `transform` takes n p K multiplications and n K cosines, in tiles
    that stay in the cache. Runs on dense and sparse arrays, files, devices and Dask collections. Nothing is minimised,
    so `fit` judges nothing: `tenfold.certify` draws the weights again where `random_state` is a number, measures the
    kernel error on a sample, and refuses where it is beyond Hoeffding's bound.
    Cookbook, ch. 24; Rahimi and Recht 2007; Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RBFSampler
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> Z = RBFSampler(gamma=0.5, n_components=20000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))).max() < 0.03)
    True
    """

    _registration: ClassVar = Registration(
        method="Random Fourier features",
        texts=("B24",),
        peer="sklearn.kernel_approximation",
        reads=("one pass",),
        certificate=("exact",),
        judged=False,
        judge="kernel_approximation.fourier",
        outputs="kernel_approximation.features",
        stored={"random_weights_": floats("p c"), "random_offset_": floats("c"), "_gamma": number(0.0)},
        transform_uses="sample",
    )
    _constraints: ClassVar[Constraints] = PARAMETERS

    random_weights_: Array
    random_offset_: Array

    def __init__(
        self,
        *,
        gamma: Any = 1.0,
        n_components: int = 100,
        random_state: Any = None,
        kernel: str = "gaussian",
        nu: float = 1.5,
        orthogonal: bool = False,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state
        self.kernel = kernel
        self.nu = nu
        self.orthogonal = orthogonal

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples, of which the number of features and the dtype are read, and with gamma="scale" the variance.
        y : object, default=None
            Not used.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        X = self._validate_samples(X)
        self._gamma = read_gamma(self, X)
        spectrum = spectrum_of(self, self._gamma)
        weights, offset = spectrum.draw(X.shape[1], int(self.n_components), check_random_state(self.random_state))
        self.random_weights_, self.random_offset_ = store_draw((weights, offset), X)
        self._n_features_out = int(self.n_components)
        return self

    def _feature_map(self) -> Callable[[Array], Array]:
        return Cosines(self.random_weights_, self.random_offset_)


def spectrum_of(model: Any, gamma: float) -> Spectrum:
    """The spectrum that the parameters of a model name."""
    kernel, orthogonal = getattr(model, "kernel", "gaussian"), bool(getattr(model, "orthogonal", False))
    if orthogonal and kernel == "laplacian":
        raise ValueError(
            "The spectrum of the Laplacian kernel is not the same in all directions: orthogonal=True goes with "
            "kernel='gaussian' and kernel='matern'."
        )
    return Spectrum(kernel, gamma, float(getattr(model, "nu", 1.5)), orthogonal)


def read_gamma(model: Any, X: Array, weight: Array | None = None) -> float:
    """The number that gamma means for samples X: "scale" is 1 / (n_features X.var()), and 1 without a variance."""
    if not isinstance(model.gamma, str):
        return float(model.gamma)
    variance = float(X.var()) if type(X) is np.ndarray and weight is None else _variance(model, X, weight)
    return 1.0 / (X.shape[1] * variance) if variance != 0.0 else 1.0


def _variance(model: Any, X: Array, weight: Array | None) -> float:
    """The variance of all entries, in one pass."""
    if is_sparse(X) and weight is None:
        return float(X.multiply(X).mean() - X.mean() ** 2)
    columns: Columns = require_finite(model, X, lambda: as_rows_without_target(X, weight).fold(Columns.lift))
    p = columns.features
    mean, squares = columns.mean[:p], columns.spread[:p] ** 2 / columns.weight
    return float(np.mean(squares + (mean - mean.mean()) ** 2))


def store_draw(arrays: tuple[Floats, Floats], X: Array) -> tuple[Array, Array]:
    """What was drawn, in the dtype of X and where X is."""
    dtype = numpy_dtype(X.dtype)
    weights, offset = (np.asarray(part, dtype=dtype if dtype == np.float32 else np.float64) for part in arrays)
    return (like(weights, X), like(offset, X)) if is_array_api(X) else (weights, offset)
