"""Rows along stored components, and back."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, is_array_api, like, namespace, on_host
from tenfold.estimators.predictors import Predictor
from tenfold.stats.derivatives import Params, forward


class Projected(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer with `components_` (k, p)."""

    _propagates_nonfinite: ClassVar[bool] = True
    components_: Array

    def _frame(self) -> tuple[Floats, Floats]:
        """The axes (k, p) that rows are multiplied by, and the place from which they are measured."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """Coordinates of the samples X (n, n_features) along the components, (n, n_components)."""
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        axes, place = self._frame()
        return partial(_along, np.ascontiguousarray(axes), place)

    def _back(self, X: Any, axes: Floats, place: Floats) -> Array:
        """Rows of coordinates in the space of the data."""
        check_is_fitted(self)
        if is_array_api(X):
            xp = namespace(X)
            found = xp.matmul(xp.astype(X, xp.float64, copy=False), like(axes, X)) + like(place, X)
            return xp.astype(found, X.dtype)
        X = check_array(X, input_name="X", dtype=list(FLOATS))
        found = forward(np.ascontiguousarray(X), Params(np.ascontiguousarray(axes.T), place))
        return found.astype(np.result_type(X.dtype, on_host(self.components_).dtype), copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _along(axes: Floats, place: Floats, X: Array) -> Array:
    z = forward(X, Params(axes, np.zeros(len(axes))), place)
    return namespace(z).astype(z, X.dtype, copy=False)
