"""The Nystroem feature map of any kernel."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array, is_array_api, like, numpy_dtype
from tenfold.estimators.kernel_approximation.feature_map import FeatureMapMixin
from tenfold.estimators.kernel_parameter import is_pairwise, name_kernel
from tenfold.estimators.parameters import (
    Constraints,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, integers
from tenfold.estimators.schema import nothing as no_value
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    warn_unless_certified,
)
from tenfold.kernels import Kernel
from tenfold.kernels.conversion import NAMES
from tenfold.kernels.nystroem_map import NystroemMap
from tenfold.plans import centres as choice_of_centres
from tenfold.plans.nystroem import fit as fit_map

TOO_MANY = (
    "n_components > n_samples. This is not possible.\n"
    "n_components was set to n_samples, which results in inefficient evaluation of the full kernel."
)


class Nystroem(FeatureMapMixin):
    """Features of any kernel from its values with a few centres.

    ``z(x) = N k(x, C)`` with centres C and N the inverse root of ``k(C, C)``: ``z(x).z(y)`` is the projection of the
    kernel on the span of the centres, and exact at these.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        A name of ``sklearn.metrics.pairwise``; an object of `tenfold.kernels` or a kernel of scikit-learn's Gaussian
        processes; a function of two samples, which gets `kernel_params`; or "precomputed", where X is the kernel matrix
        of all samples.
    gamma : float, default=None
        Of the kernels named "rbf", "laplacian", "poly", "polynomial", "chi2" and "sigmoid"; None: 1 / n_features, and 1
        for "chi2".
    coef0 : float, default=None
        Constant of the polynomial and the sigmoid kernel; None: 1.
    degree : float, default=None
        Degree of the polynomial kernel; None: 3.
    kernel_params : dict, default=None
        Parameters of a function, or of a named kernel.
    n_components : int, default=100
        Number of centres m, and of features; at most the number of samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of centres; with the same one "uniform" takes those of scikit-learn.
    n_jobs : int, default=None
        Accepted for compatibility: kernels are evaluated with all threads.
    centres : {"uniform", "kmeans", "leverage"}, default="uniform"
        Samples drawn uniformly; the means of k-means with m clusters; or samples drawn by ridge leverage scores, which
        are large for samples that few others resemble.

    Attributes
    ----------
    components_ : ndarray or sparse matrix of shape (n_components, n_features)
        The centres.
    component_indices_ : ndarray of shape (n_components,), or None
        Their numbers among the samples; None where they are means, or samples of a file or a cluster.
    normalization_ : ndarray of shape (n_components, n_components)
        N, symmetric. Eigenvalues of ``k(C, C)`` that are rounding have no part in it, so that equal centres do no harm.
    certificate_ : Certificate
        Kind exact: N by the identities that make it the inverse root, and the centres by their numbers; the note and
        the last two of `parts` have the mean kernel error on a sample and Hoeffding's bound on it for all pairs.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    ``9 m^3`` operations and the kernel of m^2 pairs; `transform` takes the kernel of n m pairs and ``2 n m^2``
    operations, in tiles. Runs on dense and sparse arrays, files, devices and Dask collections.
    Cookbook, ch. 21 and 24; Williams and Seeger 2001; Rudi, Calandriello, Carratino and Rosasco 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Nystroem
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> model = Nystroem(gamma=1.0, n_components=10, random_state=0).fit(X)
    >>> Z = model.transform(X)
    >>> bool(np.abs(Z @ Z.T - np.exp(-((X - X.T) ** 2))).max() < 1e-6), model.certificate_.ok
    (True, True)
    """

    _registration: ClassVar = Registration(
        method="Nystroem features: a kernel by some of its columns",
        texts=("B21", "B24"),
        peer="sklearn.kernel_approximation",
        reads=("one pass",),
        certificate=("exact",),
        judge="kernel_approximation.nystroem",
        outputs="kernel_approximation.nystroem_features",
        stored={
            "components_": floats("c p", sparse=True),
            "component_indices_": integers("c", low=0) | no_value(),
            "normalization_": floats("c c"),
        },
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        "kernel": (choice(*NAMES), function()),
        "gamma": (real(0), nothing()),
        "coef0": (real(-np.inf, closed="neither"), nothing()),
        "degree": (real(1), nothing()),
        "kernel_params": (instance(dict), nothing()),
        "n_components": (integer(1),),
        "random_state": (random_state(),),
        "n_jobs": (integer(-(1 << 62)), nothing()),
        "centres": (choice(*choice_of_centres.NAMES),),
    }

    components_: Array
    component_indices_: Any
    normalization_: Array

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        centres: str = "uniform",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.centres = centres

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the centres and compute N.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples, or their kernel matrix (n, n) with kernel="precomputed".
        y : object, default=None
            Not used.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        X = self._validate_samples(X)
        kernel = kernel_of(self, X)
        if is_pairwise(self.kernel) and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel matrix must be square, got shape {tuple(X.shape)}.")
        m, dtype = int(self.n_components), numpy_dtype(X.dtype)
        if m > X.shape[0]:
            warnings.warn(TOO_MANY, stacklevel=3)
            m = int(X.shape[0])
        rows, random = as_rows_without_target(X, None), check_random_state(self.random_state)
        fitted = require_finite(self, X, lambda: fit_map(rows, kernel, m, self.centres, random=random, dtype=dtype))
        C = fitted.centres
        self.components_ = convert_like(C, X) if type(C) is np.ndarray else C
        index = fitted.index
        self.component_indices_ = like(index, X) if index is not None and is_array_api(X) else index
        self.normalization_ = convert_like(fitted.normalization, X, copy=False)
        self._n_features_out = int(self.normalization_.shape[0])
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def _feature_map(self) -> Callable[[Array], Array]:
        pairwise = is_pairwise(self.kernel)
        centres = self.component_indices_ if pairwise else self.components_
        return NystroemMap(kernel_of(self, self.components_), centres, self.normalization_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags


def kernel_of(model: Any, X: Array) -> Kernel:
    """The kernel that the parameters of a Nystroem map name, for samples X."""
    given = {name: getattr(model, name) for name in ("gamma", "degree", "coef0")}
    given = {name: value for name, value in given.items() if value is not None}
    params = dict(model.kernel_params or {})
    if isinstance(model.kernel, str) and model.kernel != "precomputed":
        known = {name: params[name] for name in ("gamma", "degree", "coef0") if params.get(name) is not None}
        return name_kernel(model.kernel, X, **{**known, **given})
    if given:
        raise ValueError("Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel")
    return name_kernel(model.kernel, X, params=params or None)
