"""Multiview canonical correlation analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tenfold.arrays import Array, numpy_dtype, wide
from tenfold.estimators.cross_decomposition.blocks import project, ridges
from tenfold.estimators.parameters import Constraints, array_like, boolean, check_parameters, integer, real
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    as_rows_without_target,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.cca_pls import fit_views


class MultiviewCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """Multiview canonical correlation analysis: directions of each view with maximally correlated scores.

    The columns of X are views side by side. With C_ij the covariances of views i and j, directions w maximise
    ``sum_{i != j} w_i'C_ij w_j`` where ``sum_i w_i'(C_ii + ridge_i I)w_i`` is the number of views m: the generalised
    eigenproblem ``O w = r D w``. For two views this is `CCA`, r its correlations, and each view has variance one. For
    more, r is at most m - 1, and views that have little to do with the others get small scores (Kettenring's MAXVAR;
    the sum with a constraint for each view is another problem, which has no closed form).

    Parameters
    ----------
    n_components : int, default=2
        At most the columns of the smallest view.
    views : int or sequence of int, default=2
        The columns of each view, in order; or how many views there are, as nearly equal in width as can be.
    scale : bool, default=True
        Whether columns are divided by their standard deviations first.
    ridge : float or sequence of float, default=0.0
        Added to the variances of the (scaled) columns, of all views or of each by itself.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_components)
        The directions of all views, one above the other, in units of the columns; in each column the largest entry is
        positive.
    values_ : ndarray of shape (n_components,)
        The eigenvalues r, the largest first.
    correlations_ : ndarray of shape (n_components, m, m)
        Between the scores of the views.
    widths_ : list of int
        The columns of each view.
    mean_, scale_ : ndarray of shape (n_features,)
        Where the samples are measured from, and in which units.
    certificate_ : Certificate
        Kind spectral: how far the directions are from solving the problem, in units of a correlation; infinite where
        one with a larger value was left out.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples (two where features are nearly collinear) and two of the judge; memory p^2. Runs on
    dense and sparse arrays, files, devices and Dask collections, with sample weights. Cookbook, ch. 10; Welling,
    section 14.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiviewCCA
    >>> rng = np.random.RandomState(0)
    >>> hidden = rng.randn(400, 1)
    >>> X = np.hstack([hidden * [1.0, 1.0] + rng.randn(400, 1) * [3.0, -3.0] for _ in range(3)])
    >>> model = MultiviewCCA(1, views=3).fit(X)
    >>> model.values_.round(6), model.transform(X).shape
    (array([2.]), (400, 3))
    """

    _registration: ClassVar = Registration(
        method="Multi-view canonical correlation analysis",
        texts=("B10", "W14"),
        reads=("one pass",),
        certificate=("spectral",),
        judge="cca_pls.views",
        stored={"weights_": floats("p c"), "scale_": floats("p")},
    )
    _constraints: ClassVar[Constraints] = {
        "n_components": (integer(1),),
        "views": (integer(2), array_like()),
        "scale": (boolean(),),
        "ridge": (real(0), array_like()),
    }

    weights_: Array
    values_: Array
    certificate_: Certificate

    def __init__(self, n_components: int = 2, *, views: Any = 2, scale: bool = True, ridge: Any = 0.0) -> None:
        self.n_components = n_components
        self.views = views
        self.scale = scale
        self.ridge = ridge

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The views side by side.
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
        n, p = X.shape
        if n < 2:
            raise ValueError(
                f"Found array with {n} sample(s) (shape={(n, p)}) while a minimum of 2 is required by "
                f"{type(self).__name__}."
            )
        self.widths_ = widths_of_views(self.views, p)
        if self.n_components > min(self.widths_):
            raise ValueError(
                f"n_components={self.n_components} is more than the columns of the smallest view, {min(self.widths_)}."
            )
        rows = as_rows_without_target(X, validate_weights(sample_weight, X))
        ridge = ridges(self.ridge, len(self.widths_))
        dtype = numpy_dtype(X.dtype)
        fitted = require_finite(
            self, X, lambda: fit_views(rows, self.widths_, self.n_components, self.scale, ridge, dtype)
        )
        self.weights_, self.values_ = convert_like(fitted.weights, X), convert_like(fitted.values, X)
        self.correlations_ = convert_like(fitted.correlations, X)
        self.mean_, self.scale_ = convert_like(fitted.means, X), convert_like(fitted.units, X)
        self.certificate_ = fitted.certificate
        warn_unless_certified(self)
        return self

    def transform(self, X: Any) -> Array:
        """Scores of the samples X: those of the first view, then those of the second, ..., (n, m n_components)."""
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        k, parts = self.n_components, np.split(wide(self.weights_), np.cumsum(self.widths_)[:-1])
        axes, start = np.zeros((len(parts) * k, self.n_features_in_)), 0
        for i, part in enumerate(parts):
            axes[i * k : (i + 1) * k, start : start + len(part)] = part.T
            start += len(part)
        return partial(project, axes / wide(self.scale_), wide(self.mean_))

    @property
    def _n_features_out(self) -> int:
        return self.n_components * len(self.widths_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def widths_of_views(views: Any, p: int) -> list[int]:
    """The columns of each view."""
    fitted = np.asarray(views)
    if fitted.ndim == 0:
        count = int(fitted)
        if p < count:
            raise ValueError(f"X has {p} feature(s), which is too few for {count} views of at least one column each.")
        return [p // count + (i < p % count) for i in range(count)]
    if fitted.ndim != 1 or fitted.dtype.kind not in "iu" or len(fitted) < 2 or np.any(fitted < 1) or fitted.sum() != p:
        raise ValueError(f"views must have the columns of at least two views, {p} together. Got {views!r}.")
    return [int(width) for width in fitted]
