"""The count sketch of polynomial kernels."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, on_host
from tenfold.estimators.kernel_approximation.feature_map import FeatureMapMixin
from tenfold.estimators.parameters import Constraints, check_parameters, integer, random_state, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import integers
from tenfold.estimators.validation import restore_on_error
from tenfold.kernels.random_features import CountSketch


class PolynomialCountSketch(FeatureMapMixin):
    """Features of the polynomial kernel ``(gamma x.y + coef0)^degree`` by a tensor sketch.

    The count sketch of the products of all features, a convolution of sketches of x, by fast Fourier transforms.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of the inner product.
    degree : int, default=2
        The exponent.
    coef0 : float, default=0.0
        Constant in the power; at least zero, as no real feature has a negative square.
    n_components : int, default=100
        Number of features; ten times the number of features of X is a good start.
    random_state : int, RandomState instance or None, default=None
        Seed of the hash functions; with the same one they are those of scikit-learn.

    Attributes
    ----------
    indexHash_ : ndarray of shape (degree, n_features), dtype=int64
        The place, below n_components, of each feature in each sketch; a last column for the constant where coef0 is not
        zero.
    bitHash_ : ndarray of shape (degree, n_features)
        Their signs, -1 or 1.
    certificate_ : Certificate
        Kind exact, not judged by `fit`, as nothing is minimised: `tenfold.certify` judges the features.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    `fit` reads no sample; `transform` takes n (p + K log K) degree operations, in the dtype of X. Runs on dense and
    sparse arrays, files, devices and Dask collections. `tenfold.certify`
    draws the hash functions again where `random_state` is a number, and measures the kernel error on a sample.
    Pham and Pagh 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PolynomialCountSketch
    >>> X = np.array([[1.0, 2.0], [0.5, -1.0]])
    >>> Z = PolynomialCountSketch(degree=2, coef0=1.0, n_components=5000, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - (X[0] @ X[1] + 1) ** 2) < 0.2)
    True
    """

    _registration: ClassVar = Registration(
        method="Count sketch of polynomial kernels",
        texts=("B24",),
        peer="sklearn.kernel_approximation",
        reads=("one pass",),
        certificate=("exact",),
        judged=False,
        judge="kernel_approximation.count_sketch",
        outputs="kernel_approximation.features",
        stored={"indexHash_": integers("d *", low=0), "bitHash_": integers("d *", low=-1, high=1)},
        transform_uses="sample",
    )
    _constraints: ClassVar[Constraints] = {
        "gamma": (real(0),),
        "degree": (integer(1),),
        "coef0": (real(-np.inf, closed="neither"),),
        "n_components": (integer(1),),
        "random_state": (random_state(),),
    }

    indexHash_: Array
    bitHash_: Array

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 0.0,
        n_components: int = 100,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the hash functions for samples of the shape of X (n, p); `y` is not used."""
        check_parameters(self, self._constraints)
        if self.coef0 < 0.0:
            raise ValueError(f"coef0 must be at least zero: no real features have this kernel, got {self.coef0}.")
        X = self._validate_samples(X)
        random, features = check_random_state(self.random_state), X.shape[1] + (self.coef0 != 0.0)
        self.indexHash_ = random.randint(0, high=self.n_components, size=(self.degree, features))
        self.bitHash_ = random.choice(a=[-1, 1], size=(self.degree, features))
        self._n_features_out = int(self.n_components)
        return self

    def _feature_map(self) -> Callable[[Array], Array]:
        return CountSketch(
            on_host(self.indexHash_), on_host(self.bitHash_), self._n_features_out, float(self.gamma), float(self.coef0)
        )
