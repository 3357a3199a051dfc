"""Features of the chi-squared kernels, for histograms."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, check_non_negative

from tenfold.arrays import Array, is_array_api, is_dask, namespace
from tenfold.data import Table
from tenfold.estimators.kernel_approximation.feature_map import FeatureMapMixin
from tenfold.estimators.kernel_approximation.fourier import store_draw
from tenfold.estimators.parameters import Constraints, check_parameters, integer, nothing, random_state, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import restore_on_error
from tenfold.kernels.random_features import ChiSquaredSteps, Cosines, LogCosines, draw_sech

INTERVALS = {1: 0.8, 2: 0.5, 3: 0.4}  # Vedaldi and Zisserman 2011, figure 2 c


class AdditiveChi2Sampler(FeatureMapMixin):
    """Features of the additive chi-squared kernel ``sum_j 2 x_j y_j / (x_j + y_j)`` of entries that are not negative.

    Each entry becomes 2 sample_steps - 1 features, the spectrum of the kernel at regular steps: nothing is random.

    Parameters
    ----------
    sample_steps : int, default=2
        Number of (complex) sampling points.
    sample_interval : float, default=None
        Distance of the sampling points; None: the best for 1, 2 or 3 steps, 0.8, 0.5 and 0.4.

    Attributes
    ----------
    certificate_ : Certificate
        Kind exact, not judged by `fit`, as nothing is minimised: `tenfold.certify` judges the features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Nothing is learned, and `transform` may be called without `fit`. Sparse samples give sparse features. Runs
    on dense and sparse arrays, files, devices and Dask collections.
    `tenfold.certify` measures the kernel error on a sample.
    Vedaldi and Zisserman 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import AdditiveChi2Sampler
    >>> X = np.array([[0.2, 0.8], [0.5, 0.5]])
    >>> Z = AdditiveChi2Sampler(sample_steps=3).fit_transform(X)
    >>> exact = (2 * X[0] * X[1] / (X[0] + X[1])).sum()
    >>> Z.shape, bool(abs(Z[0] @ Z[1] - exact) < 0.05)
    ((2, 10), True)
    """

    _registration: ClassVar = Registration(
        method="Sampled spectrum of the additive chi-squared kernel",
        texts=("B24",),
        peer="sklearn.kernel_approximation",
        reads=("one pass",),
        certificate=("exact",),
        judged=False,
        judge="kernel_approximation.chi_squared",
        outputs="kernel_approximation.features",
        transform_uses="sample",
    )
    _constraints: ClassVar[Constraints] = {
        "sample_steps": (integer(1),),
        "sample_interval": (real(0), nothing()),
    }

    def __init__(self, *, sample_steps: int = 2, sample_interval: float | None = None) -> None:
        self.sample_steps = sample_steps
        self.sample_interval = sample_interval

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and the samples X (n, p), which must not be negative; `y` is not used."""
        check_parameters(self, self._constraints)
        X = self._validate_samples(X)
        if not (isinstance(X, Table) or is_dask(X)):
            _require_non_negative(X)
        self._feature_map()
        return self

    def transform(self, X: Any) -> Array:
        """The features of the samples X (n, p), (n, p (2 sample_steps - 1)): first the p roots, then of each further
        step the p cosines and the p sines.
        """
        if not hasattr(self, "n_features_in_"):
            return clone(self).fit(X).transform(X)
        return self._predict_raw(X)

    def _feature_map(self) -> Callable[[Array], Array]:
        return _of_histograms(ChiSquaredSteps(int(self.sample_steps), interval_of(self)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features_in_,), default=None
            Names of the features of X, those of `fit` where it had names; None for those, or x0, x1, ...

        Returns
        -------
        names : ndarray of str
            Of each name additivechi2sampler_<name>_sqrt, then _cos1, _sin1, ...
        """
        check_is_fitted(self, attributes="n_features_in_")
        names = _check_feature_names_in(self, input_features, generate_names=True)
        prefix = type(self).__name__.lower()
        kinds = ["sqrt", *(f"{kind}{j}" for j in range(1, self.sample_steps) for kind in ("cos", "sin"))]
        return np.asarray([f"{prefix}_{name}_{kind}" for kind in kinds for name in names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.positive_only = True
        return tags


def interval_of(model: Any) -> float:
    """The distance of the sampling points."""
    if model.sample_interval is not None:
        return float(model.sample_interval)
    if model.sample_steps not in INTERVALS:
        raise ValueError("If sample_steps is not in [1, 2, 3], you need to provide sample_interval")
    return INTERVALS[int(model.sample_steps)]


def _of_histograms(steps: ChiSquaredSteps) -> Callable[[Array], Array]:
    def features(X: Array) -> Array:
        _require_non_negative(X)
        return steps(X)

    return features


def _require_non_negative(X: Array) -> None:
    if not is_array_api(X):
        if X.shape[0]:
            check_non_negative(X, "X in AdditiveChi2Sampler")
    elif bool(namespace(X).any(X < 0)):
        raise ValueError("Negative values in data passed to X in AdditiveChi2Sampler.")


class SkewedChi2Sampler(FeatureMapMixin):
    """Random Fourier features of the skewed chi-squared kernel.

    The kernel is ``prod_j 2 sqrt((x_j + c)(y_j + c)) / (x_j + y_j + 2 c)``, c the skewedness, a shift-invariant kernel
    of the logarithms of x + c.

    Parameters
    ----------
    skewedness : float, default=1.0
        The constant c; every entry of X must be above -c.
    n_components : int, default=100
        Number of features.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; with the same one the features are those of scikit-learn.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        Weights from a hyperbolic secant distribution, in the dtype of X.
    random_offset_ : ndarray of shape (n_components,)
        Offsets, uniform between 0 and 2 pi.
    certificate_ : Certificate
        Kind exact, not judged by `fit`, as nothing is minimised: `tenfold.certify` judges the features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    `fit` reads no sample. Runs on dense arrays, files, devices and Dask collections. `tenfold.certify` draws the
    weights again where `random_state` is a number, and measures the kernel error on a sample beside Hoeffding's bound.
    Li, Ionescu and Sminchisescu 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SkewedChi2Sampler
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> Z = SkewedChi2Sampler(skewedness=1.0, n_components=20000, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - 8 / 9) < 0.02)
    True
    """

    _registration: ClassVar = Registration(
        method="Random features of the skewed chi-squared kernel",
        texts=("B24",),
        peer="sklearn.kernel_approximation",
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Its features are those of logarithms, and zeros are no smaller: pass X.toarray().",
        certificate=("exact",),
        judged=False,
        judge="kernel_approximation.log_cosines",
        outputs="kernel_approximation.features",
        stored={"random_weights_": floats("p c"), "random_offset_": floats("c")},
        transform_uses="sample",
    )
    _constraints: ClassVar[Constraints] = {
        "skewedness": (real(-np.inf, closed="neither"),),
        "n_components": (integer(1),),
        "random_state": (random_state(),),
    }

    random_weights_: Array
    random_offset_: Array

    def __init__(self, *, skewedness: float = 1.0, n_components: int = 100, random_state: Any = None) -> None:
        self.skewedness = skewedness
        self.n_components = n_components
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the weights for samples of the shape and dtype of X (n, p); `y` is not used."""
        check_parameters(self, self._constraints)
        X = self._validate_samples(X)
        drawn = draw_sech(X.shape[1], int(self.n_components), check_random_state(self.random_state))
        self.random_weights_, self.random_offset_ = store_draw(drawn, X)
        self._n_features_out = int(self.n_components)
        return self

    def _feature_map(self) -> Callable[[Array], Array]:
        return LogCosines(Cosines(self.random_weights_, self.random_offset_), float(self.skewedness))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
