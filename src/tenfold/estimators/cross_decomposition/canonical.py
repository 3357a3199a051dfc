"""Canonical correlation analysis."""

from typing import Any, ClassVar

from tenfold.arrays import Array
from tenfold.data import Rows
from tenfold.estimators.cross_decomposition.blocks import ITERATED, REPORT_ONLY, PLSBase, ridges
from tenfold.estimators.parameters import Constraints, array_like, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import convert_like
from tenfold.plans.cca_pls import Fitted, fit_canonical


class CCA(PLSBase):
    """Canonical correlation analysis: directions of X and y with maximally correlated scores.

    Maximises ``a'C_xy b`` where ``a'(C_xx + ridge I)a = b'(C_yy + ridge I)b = 1``, with C the covariances of the
    columns, which are correlations where these are scaled; the next pair is uncorrelated with those before it. By
    closed form from the second moments of one pass, not by iterating.

    Parameters
    ----------
    n_components : int, default=2
        Pairs of directions; at most min(n, p, t).
    scale : bool, default=True
        Whether columns are divided by their standard deviations first.
    max_iter : int, default=500
        Accepted for compatibility: there are no iterations.
    tol : float, default=1e-6
        Accepted for compatibility: there are no iterations.
    copy : bool, default=True
        Accepted for compatibility: X is never changed.
    ridge : float or (float, float), default=0.0
        Added to the variances of the (scaled) columns of X and of y, or to those of each by itself. Without it, more
        columns than samples are correlated perfectly, whatever they are.

    Attributes
    ----------
    x_weights_, y_weights_ : ndarray of shape (p, n_components), (t, n_components)
        Orthonormal directions in what earlier pairs leave of each block.
    x_rotations_, y_rotations_ : ndarray of shape (p, n_components), (t, n_components)
        Scores are the centred and scaled samples times these: multiples of the canonical directions a and b.
    x_loadings_, y_loadings_ : ndarray of shape (p, n_components), (t, n_components)
        The regression of each block on its scores.
    correlations_ : ndarray of shape (n_components,)
        Of the pairs of scores, the largest first; with a ridge, of the penalised ones.
    coef_ : ndarray of shape (t, p)
        Weights of the linear prediction of y from the centred X.
    intercept_ : ndarray of shape (t,)
        The mean of y, to which `predict` adds the centred samples times `coef_`.
    n_iter_ : list of int
        One for each pair.
    certificate_ : Certificate
        Kind spectral: how far the pairs are from solving the problem, in units of a correlation; infinite where a pair
        with a larger correlation was left out.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples (two where features are nearly collinear) and two of the judge; memory (p + t)^2. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Cookbook, ch. 10 and B.2; Welling, section 14.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import CCA
    >>> rng = np.random.RandomState(0)
    >>> hidden = rng.randn(500, 1)
    >>> X = hidden @ [[1.0, 1.0]] + rng.randn(500, 1) @ [[3.0, -3.0]]
    >>> y = hidden @ [[1.0, -1.0]] + rng.randn(500, 1) @ [[3.0, 3.0]]
    >>> model = CCA(1).fit(X, y)
    >>> model.correlations_.round(6)
    array([1.])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Canonical correlation analysis, optionally with ridge regularisation",
        texts=("B10", "W14.1"),
        peer="sklearn.cross_decomposition",
        reads=("one pass",),
        certificate=("spectral",),
        judge="cca_pls.correlations",
        report_only=REPORT_ONLY,
        stored={"coef_": floats("q p")},
    )
    _constraints: ClassVar[Constraints] = {**ITERATED, "ridge": (real(0), array_like())}

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        max_iter: int = 500,
        tol: float = 1e-06,
        copy: bool = True,
        ridge: Any = 0.0,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy
        self.ridge = ridge

    def _fit(self, rows: Rows, dtype: Any) -> Fitted:
        return fit_canonical(rows, self.n_components, self.scale, ridges(self.ridge), dtype)

    def _store(self, fitted: Fitted, X: Array) -> None:
        super()._store(fitted, X)
        assert fitted.stored.correlations is not None
        self.correlations_ = convert_like(fitted.stored.correlations, X)
