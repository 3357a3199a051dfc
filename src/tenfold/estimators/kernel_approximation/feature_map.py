"""The base of transformers that map each sample to features by a formula."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tenfold.arrays import Array, NotFinite, is_array_api, is_dask, is_sparse, namespace
from tenfold.data import Table
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.validation import all_finite, require_finite, validate_rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate

UNJUDGED = Certificate(
    "exact",
    np.inf,
    1.0,
    RULES["exact"].tol,
    0.0,
    np.inf,
    status=NOT_JUDGED,
    note="Nothing is minimised. tenfold.certify(model, X) measures the kernel error on a sample.",
)


class FeatureMapMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer whose features of a sample depend on this sample alone."""

    _n_features_out: int
    certificate_: Certificate

    def _feature_map(self) -> Callable[[Array], Array]:
        """The function of validated samples, evaluated where they are."""
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """The features of the samples X (n, n_features), (n, n_components), where these are."""
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return self._feature_map()

    def _validate_samples(self, X: Any) -> Array:
        """The samples of a fit that reads nothing but their number of features and dtype: those in memory are checked
        for values that are not finite.
        """
        X = validate_rows(self, X)
        require_finite(self, X, lambda: check_finite(X))
        self.certificate_ = UNJUDGED
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_finite(X: Array) -> None:
    """Raise NotFinite where samples in memory are not finite."""
    if isinstance(X, Table) or is_dask(X):
        return
    if is_array_api(X):
        finite = bool(namespace(X).all(namespace(X).isfinite(X)))
    else:
        finite = all_finite(X.data if is_sparse(X) else X)
    if not finite:
        raise NotFinite
