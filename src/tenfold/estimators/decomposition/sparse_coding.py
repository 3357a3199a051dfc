"""What classes of sparse codes share: the coding of samples, its parameters, and reconstruction."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, Floats, wide
from tenfold.data import NotFinite
from tenfold.estimators.parameters import Constraints, boolean, choice, integer, nothing, real
from tenfold.estimators.predictors import Predictor
from tenfold.plans.dictionary import Coding, encode

ALGORITHMS = ("lasso_lars", "lasso_cd", "lars", "omp", "threshold")

CODING: Constraints = {
    "transform_algorithm": (choice(*ALGORITHMS),),
    "transform_n_nonzero_coefs": (integer(1), nothing()),
    "transform_alpha": (real(0), nothing()),
    "split_sign": (boolean(),),
    "n_jobs": (integer(-(2**31)), nothing()),
    "positive_code": (boolean(),),
    "transform_max_iter": (integer(0),),
}

REPORT_ONLY: Mapping[str, str] = {"n_iter_": "how many steps the solver took"}


class SparseCodingModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer of samples to sparse codes with atoms (k, p)."""

    transform_algorithm: str
    transform_n_nonzero_coefs: int | None
    transform_alpha: float | None
    split_sign: bool
    positive_code: bool

    def _atoms(self) -> Array:
        return self.components_

    def transform(self, X: Any) -> Array:
        """The codes (n, n_components) of the samples X (n, n_features), by `transform_algorithm`."""
        check_is_fitted(self)
        self._registration.check_source(type(self).__name__, X)
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return self._codes

    def _codes(self, X: Array) -> Array:
        D = np.ascontiguousarray(wide(self._atoms()))
        W = encode(require_finite_squares(X), D, coding_of(self, D.shape))
        if self.split_sign:
            W = np.hstack([np.maximum(W, 0.0), -np.minimum(W, 0.0)])
        return W.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n, n_features) from their codes X (n, n_components)."""
        check_is_fitted(self)
        W, D = check_array(X, dtype=list(FLOATS)), np.asarray(self._atoms())
        expected = len(D) * (2 if self.split_sign else 1)
        if W.shape[1] != expected:
            raise ValueError(
                "The number of components in the code is different from the number of components in the dictionary. "
                f"Expected {expected}, got {W.shape[1]}."
            )
        return (W[:, : len(D)] - W[:, len(D) :] if self.split_sign else W) @ D

    @property
    def _n_features_out(self) -> int:
        return len(self._atoms()) * (2 if self.split_sign else 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def require_finite_squares(X: Array) -> Floats:
    """Samples in float64 and in C order; raises NotFinite where they, or sums of their squares, are not finite."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.sum(np.square(X))):
            raise NotFinite
    return X


def coding_of(model: Any, shape: tuple[int, ...]) -> Coding:
    """How a model, ours or scikit-learn's, codes samples with atoms of this shape (k, p)."""
    alpha = model.transform_alpha
    if alpha is None:
        alpha = getattr(model, "alpha", 1.0)
    return make_coding(
        model.transform_algorithm, alpha, model.transform_n_nonzero_coefs, bool(model.positive_code), shape
    )


def make_coding(algorithm: str, alpha: Any, count: Any, positive: bool, shape: tuple[int, ...]) -> Coding:
    """The coding with atoms of this shape (k, p); a tenth of the features as the number of atoms by default."""
    k, p = shape
    if positive and algorithm in ("omp", "lars"):
        raise ValueError(f"Positive constraint not supported for '{algorithm}' coding method.")
    count = int(min(max(p / 10, 1), k)) if count is None else int(count)
    if algorithm == "omp" and count > k:
        raise ValueError(f"The number of atoms cannot be more than the number of components: {count} > {k}.")
    return Coding(algorithm, 1.0 if alpha is None else float(alpha), count, positive)
