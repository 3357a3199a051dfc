"""Base of models of two blocks of columns, X and y: fitting, and scores of samples."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, contiguous, is_array_api, is_dask, namespace, numpy_dtype, wide
from tenfold.data import Rows
from tenfold.estimators import array_api
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, real
from tenfold.estimators.predictors import Predictor, ScoreMixin
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    require_finite,
    restore_on_error,
    rowwise,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.judge.certificate import Certificate
from tenfold.plans.cca_pls import Fitted
from tenfold.stats.derivatives import Params, forward

ITERATED: Constraints = {
    "n_components": (integer(1),),
    "scale": (boolean(),),
    "max_iter": (integer(1),),
    "tol": (real(0),),
    "copy": (boolean(),),
}


class CrossDecomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer of X, and optionally of y, by directions in each."""

    _constraints: ClassVar[Constraints]
    certificate_: Certificate
    n_components: int
    scale: bool
    x_weights_: Array
    y_weights_: Array
    _x_mean: Floats
    _y_mean: Floats
    _x_std: Floats
    _y_std: Floats

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples.
        y : array-like of shape (n,) or (n, t), default=None
            The targets; None where a table brings its own.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        if X.shape[0] < 2:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum of 2 is required by "
                f"{type(self).__name__}."
            )
        weight = validate_weights(sample_weight, X)
        rows = as_rows(X, y, weight)
        most = self._max_pairs(*rows.shape, rows.targets)
        if self.n_components > most:
            raise ValueError(
                f"`n_components` upper bound is {most}. Got {self.n_components} instead. Reduce `n_components`."
            )
        fitted = require_finite(self, X, lambda: self._fit(rows, numpy_dtype(X.dtype)))
        self._store(fitted, X)
        self._predict_1d, self.certificate_ = y.ndim == 1, fitted.certificate
        warn_unless_certified(self)
        return self

    def _max_pairs(self, n: int, p: int, t: int) -> int:
        """The largest possible number of pairs."""
        return min(n, p, t)

    def _fit(self, rows: Rows, dtype: Any) -> Fitted:
        """The result of the plan."""
        raise NotImplementedError

    def _store(self, fitted: Fitted, X: Array) -> None:
        """Set the attributes."""
        stored, p = fitted.stored, X.shape[1]
        assert stored.means is not None
        assert stored.units is not None
        self.x_weights_, self.y_weights_ = (convert_like(side, X) for side in stored.weights)
        self._x_mean, self._y_mean = stored.means[:p], stored.means[p:]
        self._x_std, self._y_std = stored.units[:p], stored.units[p:]

    def _axes(self) -> tuple[Array, Array]:
        """The directions of X and y, as columns, in scaled units."""
        return self.x_weights_, self.y_weights_

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(project, wide(self._axes()[0]).T / self._x_std, self._x_mean)

    def _pair(self, X: Any, y: Any) -> Any:
        """Scores of X, and of y where it is given."""
        scores = self._predict_raw(X)
        if y is None:
            return scores
        f = partial(project, wide(self._axes()[1]).T / self._y_std, self._y_mean)
        return scores, rowwise(partial(_of_targets, f), _targets(y, len(self._y_mean)))

    @property
    def _n_features_out(self) -> int:
        return int(self.x_weights_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


REPORT_ONLY = {"n_iter_": "how many iterations scikit-learn's solver took; ours takes none"}


class PLSBase(ScoreMixin, RegressorMixin, MultiOutputMixin, CrossDecomposition):
    """Directions with loadings and rotations, which predict y."""

    x_loadings_: Array
    y_loadings_: Array
    x_rotations_: Array
    y_rotations_: Array
    coef_: Array
    intercept_: Array
    n_iter_: list[int]

    def _store(self, fitted: Fitted, X: Array) -> None:
        super()._store(fitted, X)
        stored = fitted.stored
        assert stored.loadings is not None
        assert stored.coef is not None
        assert stored.intercept is not None
        self.x_loadings_, self.y_loadings_ = (convert_like(side, X) for side in stored.loadings)
        self.x_rotations_, self.y_rotations_ = (convert_like(side, X) for side in stored.rotations)
        self.coef_, self.intercept_ = convert_like(stored.coef, X), convert_like(stored.intercept, X)
        self.n_iter_ = [1] * fitted.reached
        if fitted.reached < self.n_components:
            warnings.warn(f"y residual is constant at iteration {fitted.reached}", stacklevel=5)

    def _axes(self) -> tuple[Array, Array]:
        return self.x_rotations_, self.y_rotations_

    def transform(self, X: Any, y: Any = None, copy: bool = True) -> Any:
        """The scores of X, (n, n_components), and those of y where it is given: a pair then.

        `copy` is accepted for compatibility; inputs are never changed.
        """
        return self._pair(X, y)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to X (n, p), y and optional `sample_weight` (n,), and transform the same samples: a pair where y is
        given.
        """
        return self.fit(X, y, sample_weight).transform(X, y)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Reconstruct samples from scores of X, and targets from scores of y where given."""
        check_is_fitted(self)
        there = _reconstruct(X, "X", wide(self.x_loadings_), self._x_std, self._x_mean)
        return there if y is None else (there, _reconstruct(y, "y", wide(self.y_loadings_), self._y_std, self._y_mean))

    def predict(self, X: Any, copy: bool = True) -> Array:
        """Predictions ``(X - mean) coef_' + intercept_``; `copy` is accepted for compatibility."""
        return self._predict_raw(X, self._predicting)

    def _predicting(self, small: bool) -> Callable[[Array], Array]:
        return partial(_regress, wide(self.coef_), wide(self.intercept_), self._x_mean, self._predict_1d)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


def project(axes: Floats, place: Floats, X: Array) -> Array:
    """Projections of samples minus an origin on axes (q, columns), in the dtype of the samples."""
    z = forward(X, Params(np.ascontiguousarray(axes), np.zeros(len(axes))), place)
    return namespace(z).astype(z, X.dtype, copy=False)


def _regress(coef: Floats, intercept: Floats, place: Floats, flat: bool, X: Array) -> Array:
    z = forward(X, Params(coef, intercept), place)
    z = namespace(z).astype(z, X.dtype, copy=False)
    return z[:, 0] if flat else z


def ridges(ridge: Any, count: int = 2) -> list[float]:
    """The ridge of each block of columns."""
    values = np.ravel(np.asarray(ridge, dtype=np.float64))
    if values.size not in (1, count) or not np.all((values >= 0.0) & np.isfinite(values)):
        raise ValueError(f"ridge must be one number, or one for each of {count}, and not negative. Got {ridge!r}.")
    return [float(value) for value in np.broadcast_to(values, count)]


def _targets(y: Any, count: int) -> Array:
    """Targets as a matrix."""
    if is_array_api(y) and not is_dask(y):
        y = array_api.validate_matrix(BaseEstimator(), y if y.ndim == 2 else y[:, None])
    elif not is_dask(y):
        y = check_array(y, input_name="y", dtype=list(FLOATS), ensure_2d=False)
    width = 1 if y.ndim == 1 else y.shape[1]
    if width != count:
        raise ValueError(f"y has {width} columns, and the model was fitted with {count}.")
    return y


def _of_targets(f: Callable[[Array], Array], y: Array) -> Array:
    return f(contiguous(y if y.ndim == 2 else y[:, None]))


def _reconstruct(scores: Any, name: str, loadings: Floats, units: Floats, place: Floats) -> Array:
    """Samples reconstructed from their scores."""
    if is_array_api(scores):
        xp = namespace(scores)
        z = forward(scores, Params(loadings * units[:, None], place))
        return xp.astype(z, scores.dtype)
    scores = check_array(scores, input_name=name, dtype=list(FLOATS))
    z = forward(contiguous(scores), Params(np.ascontiguousarray(loadings * units[:, None]), place))
    return z.astype(scores.dtype, copy=False)
