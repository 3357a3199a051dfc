"""Partial least squares."""

from typing import Any, ClassVar

from tenfold.arrays import Array
from tenfold.data import Rows
from tenfold.estimators.cross_decomposition.blocks import ITERATED, REPORT_ONLY, CrossDecomposition, PLSBase
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, choice, integer
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.plans.cca_pls import Fitted, fit_covariances, fit_regression, fit_singular


class PLSRegression(PLSBase):
    """Partial least squares regression, PLS1 and PLS2.

    The k-th direction maximises ``|y'X w|`` over unit vectors w, in what the scores ``X w`` so far leave of X and y.
    From the second moments of one pass, not by iterating over the samples.

    Parameters
    ----------
    n_components : int, default=2
        At most min(n, p).
    scale : bool, default=True
        Whether columns are divided by their standard deviations first.
    max_iter : int, default=500
        Accepted for compatibility: there are no iterations.
    tol : float, default=1e-6
        Accepted for compatibility: there are no iterations.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.

    Attributes
    ----------
    x_weights_ : ndarray of shape (p, n_components)
        The directions w of X, in what the components before leave of it.
    y_weights_ : ndarray of shape (t, n_components)
        The directions of y, in what the components before leave of it.
    x_loadings_ : ndarray of shape (p, n_components)
        The regression of X on its scores.
    y_loadings_ : ndarray of shape (t, n_components)
        The regression of y on its scores.
    x_rotations_ : ndarray of shape (p, n_components)
        Scores of X are the centred and scaled samples times these.
    y_rotations_ : ndarray of shape (t, n_components)
        Scores of y are the centred and scaled targets times these.
    x_scores_, y_scores_ : ndarray of shape (n, n_components)
        Of the samples of the fit.
    coef_ : ndarray of shape (t, p)
        Weights of the linear prediction of y from the centred X.
    intercept_ : ndarray of shape (t,)
        The mean of y, to which `predict` adds the centred samples times `coef_`.
    n_iter_ : list of int
        One for each component.
    certificate_ : Certificate
        Kind spectral: the largest residual of a pair of singular vectors, in units of the largest covariance; infinite
        where a pair with a larger covariance was left out.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples (two where features are nearly collinear), two of the judge and one for the scores; memory
    (p + t)^2. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PLSRegression
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 5)
    >>> y = X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.randn(100)
    >>> model = PLSRegression(2).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.998
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Partial least squares regression",
        texts=(),
        peer="sklearn.cross_decomposition",
        reads=("one pass",),
        certificate=("spectral",),
        judge="cca_pls.regression",
        report_only=REPORT_ONLY,
        stored={"coef_": floats("q p")},
        board=Entry(
            "partial-least-squares",
            "regression",
            {"scale": False},
            {"n_components": (1, 2, 4, 8)},
            fast=False,
            most_columns=2000,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = ITERATED

    x_scores_: Array
    y_scores_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        max_iter: int = 500,
        tol: float = 1e-06,
        copy: bool = True,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy

    def _max_pairs(self, n: int, p: int, t: int) -> int:
        return min(n, p)

    def _fit(self, rows: Rows, dtype: Any) -> Fitted:
        return fit_regression(rows, self.n_components, self.scale, dtype)

    def _store(self, fitted: Fitted, X: Array) -> None:
        super()._store(fitted, X)
        assert fitted.scores is not None
        self.x_scores_, self.y_scores_ = fitted.scores


class PLSCanonical(PLSBase):
    """Pairs of directions of X and y with the largest covariances: partial least squares, symmetric in both.

    The k-th pair maximises ``v'y'X w`` over unit vectors w and v, in what their own scores so far leave of X and of y.
    From the second moments of one pass, not by iterating over the samples.

    Parameters
    ----------
    n_components : int, default=2
        At most min(n, p, t).
    scale : bool, default=True
        Whether columns are divided by their standard deviations first.
    algorithm : {"nipals", "svd"}, default="nipals"
        Both use the same closed form.
    max_iter : int, default=500
        Accepted for compatibility: there are no iterations.
    tol : float, default=1e-6
        Accepted for compatibility: there are no iterations.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.

    Attributes
    ----------
    x_weights_ : ndarray of shape (p, n_components)
        The directions w of X, in what the components before leave of it.
    y_weights_ : ndarray of shape (t, n_components)
        The directions of y, in what the components before leave of it.
    x_loadings_ : ndarray of shape (p, n_components)
        The regression of X on its scores.
    y_loadings_ : ndarray of shape (t, n_components)
        The regression of y on its scores.
    x_rotations_ : ndarray of shape (p, n_components)
        Scores of X are the centred and scaled samples times these.
    y_rotations_ : ndarray of shape (t, n_components)
        Scores of y are the centred and scaled targets times these.
    coef_ : ndarray of shape (t, p)
        Weights of the linear prediction of y from the centred X.
    intercept_ : ndarray of shape (t,)
        The mean of y, to which `predict` adds the centred samples times `coef_`.
    n_iter_ : list of int
        One for each component; none with "svd".
    certificate_ : Certificate
        Kind spectral: the largest residual of a pair of singular vectors, in units of the largest covariance; infinite
        where a pair with a larger covariance was left out.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples (two where features are nearly collinear), and two of the judge; memory (p + t)^2. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.

    Examples
    --------
    >>> from tenfold import PLSCanonical
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> X_scores, y_scores = PLSCanonical(2).fit(X, y).transform(X, y)
    >>> X_scores.round(2)[:, 0]
    array([-1.4 , -1.2 ,  0.56,  2.03])
    """

    _registration: ClassVar = Registration(
        method="Canonical partial least squares",
        texts=(),
        peer="sklearn.cross_decomposition",
        reads=("one pass",),
        certificate=("spectral",),
        judge="cca_pls.covariances",
        report_only=REPORT_ONLY,
        stored={"coef_": floats("q p")},
    )
    _constraints: ClassVar[Constraints] = {**ITERATED, "algorithm": (choice("nipals", "svd"),)}

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        algorithm: str = "nipals",
        max_iter: int = 500,
        tol: float = 1e-06,
        copy: bool = True,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy

    def _fit(self, rows: Rows, dtype: Any) -> Fitted:
        return fit_covariances(rows, self.n_components, self.scale, dtype)

    def _store(self, fitted: Fitted, X: Array) -> None:
        super()._store(fitted, X)
        if self.algorithm == "svd":
            self.n_iter_ = []


class PLSSVD(CrossDecomposition):
    """Pairs of directions of X and y with the largest covariances: the singular vectors of ``X'y``.

    Parameters
    ----------
    n_components : int, default=2
        At most min(n, p, t).
    scale : bool, default=True
        Whether columns are divided by their standard deviations first.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (p, n_components), (t, n_components)
        The singular vectors: scores are the centred and scaled samples times these.
    certificate_ : Certificate
        Kind spectral: the largest residual of a pair of singular vectors, in units of the largest covariance; infinite
        where a pair with a larger covariance was left out.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples (two where features are nearly collinear), and two of the judge; memory (p + t)^2. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.

    Examples
    --------
    >>> from tenfold import PLSSVD
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> X_scores, y_scores = PLSSVD(2).fit(X, y).transform(X, y)
    >>> X_scores.shape, y_scores.shape
    ((4, 2), (4, 2))
    """

    _registration: ClassVar = Registration(
        method="Partial least squares by SVD of the cross-covariance",
        texts=(),
        peer="sklearn.cross_decomposition",
        reads=("one pass",),
        certificate=("spectral",),
        judge="cca_pls.singular_vectors",
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "scale": (boolean(),),
        "copy": (boolean(),),
    }

    def __init__(self, n_components: int = 2, *, scale: bool = True, copy: bool = True) -> None:
        self.n_components = n_components
        self.scale = scale
        self.copy = copy

    def _fit(self, rows: Rows, dtype: Any) -> Fitted:
        return fit_singular(rows, self.n_components, self.scale, dtype)

    def transform(self, X: Any, y: Any = None) -> Any:
        """The scores of X, (n, n_components), and those of y where it is given: a pair then."""
        return self._pair(X, y)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to X (n, p), y and optional `sample_weight` (n,), and transform the same samples: a pair where y is
        given.
        """
        return self.fit(X, y, sample_weight).transform(X, y)
