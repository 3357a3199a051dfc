"""What the classes of non-negative factors share: parameters, starts, penalties, codes and reconstruction."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative

from tenfold.arrays import FLOATS, Array, Floats, contiguous, is_sparse, wide
from tenfold.estimators.parameters import Constraints, choice, integer, nothing, random_state, real, unset
from tenfold.estimators.parameters import boolean as flag
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.validation import require_finite, validate_rows
from tenfold.objectives.factorization import Factors, has_missing
from tenfold.plans.factorization import (
    MAX_WITNESS_STEPS,
    WITNESS,
    best_codes,
    check_finite,
    check_finite_or_missing,
    initial_factors,
    tolerance,
)
from tenfold.problems import Factorization

BETAS = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}

BASIC: Constraints = {
    "n_components": (integer(1), nothing(), choice("auto")),
    "init": (choice("random", "nndsvd", "nndsvda", "nndsvdar", "custom"), nothing()),
    "beta_loss": (choice(*BETAS), real(-np.inf, np.inf, "neither")),
    "tol": (real(0),),
    "max_iter": (integer(1),),
    "random_state": (random_state(),),
    "alpha_W": (real(0),),
    "alpha_H": (real(0), unset("same")),
    "l1_ratio": (real(0, 1, "both"),),
    "verbose": (integer(0), flag()),
}

REPORT_ONLY: Mapping[str, str] = {"n_iter_": "how many steps the solver took"}


class FactorsModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Predictor, BaseEstimator):
    """A transformer of non-negative samples with non-negative `components_` (k, p)."""

    n_components: Any
    init: Any
    beta_loss: Any
    alpha_W: float
    alpha_H: Any
    l1_ratio: float
    tol: float
    random_state: Any
    components_: Array

    def _validate(self, X: Any) -> Array:
        """Samples in C order or CSR: finite, not negative, and not zero where the loss has no value there."""
        X = contiguous(validate_rows(self, X))
        return self._check_signs(X)

    def _check_signs(self, X: Array) -> Array:
        require_finite(self, X, partial(checker_of(self, X), X))
        check_signs(X, f"{type(self).__name__} (input X)")
        beta = beta_of(self)
        if beta <= 0.0 and (is_sparse(X) or np.nanmin(X) == 0.0):
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to X, or "
                "use a positive beta_loss."
            )
        return X

    def _start(self, X: Array, W: Any, H: Any) -> Factors:
        """The start of `init`, or the given one."""
        k = self.n_components
        if self.init == "custom":
            if W is None or H is None:
                raise ValueError("init='custom' needs both W and H: fit_transform(X, W=W, H=H).")
            k = np.shape(H)[0] if k == "auto" and np.ndim(H) == 2 else X.shape[1] if k in (None, "auto") else k
            return Factors(check_start(W, (X.shape[0], k), "W", X), check_start(H, (k, X.shape[1]), "H", X))
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them as initialization.",
                RuntimeWarning,
                stacklevel=5,
            )
        k = X.shape[1] if k in (None, "auto") else int(k)
        if self.init not in (None, "random") and k > min(X.shape):
            raise ValueError(f"init = '{self.init}' can only be used when n_components <= min(n_samples, n_features)")
        return initial_factors(X, k, self.init, check_random_state(self.random_state))

    def transform(self, X: Any) -> Array:
        """The factor W (n, n_components) that is best for the samples X (n, n_features) and `components_`."""
        check_is_fitted(self)
        self._registration.check_source(type(self).__name__, X)
        return self._predict_raw(X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return self._codes

    def _codes(self, X: Array) -> Array:
        X = self._check_signs(contiguous(X))
        problem = problem_of(self, X.shape)
        H, tol = wide(self.components_), WITNESS * tolerance(float(self.tol))
        return best_codes(X, H, problem, tol=tol, max_iter=self._most_steps()).astype(X.dtype)

    def _most_steps(self) -> int:
        """The most steps of `transform` where it is not exact."""
        return MAX_WITNESS_STEPS

    def inverse_transform(self, X: Any) -> Array:
        """Samples (n, n_features) from their coordinates X (n, n_components)."""
        check_is_fitted(self)
        X = check_array(X, input_name="X", dtype=list(FLOATS), accept_sparse=("csr", "csc"))
        return X @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = bool(self._allow_nan)
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def checker_of(model: Any, X: Array) -> Callable[[Array], None]:
    """What raises for values that a model does not take."""
    ignores = getattr(model, "missing", "error") == "ignore" and not is_sparse(X)
    return check_finite_or_missing if ignores else check_finite


def check_signs(X: Array, whom: str) -> None:
    """Raise where known entries are negative."""
    check_non_negative(np.nan_to_num(X) if has_missing(X) else X, whom)


def beta_of(model: Any) -> float:
    """The exponent of the divergence of a model, of ours or of scikit-learn's."""
    return float(BETAS.get(model.beta_loss, model.beta_loss))


def problem_of(model: Any, shape: tuple[int, ...]) -> Factorization:
    """What a model minimises on n samples of p features; penalties of W count p-fold, those of H n-fold."""
    n, p = shape
    alpha_W = float(model.alpha_W)
    alpha_H = alpha_W if isinstance(model.alpha_H, str) else float(model.alpha_H)
    l1 = float(model.l1_ratio)
    return Factorization(
        beta_of(model), p * alpha_W * l1, n * alpha_H * l1, p * alpha_W * (1.0 - l1), n * alpha_H * (1.0 - l1)
    )


def check_start(values: Any, shape: tuple[int, int], name: str, X: Array) -> Floats:
    """A factor that was given to start from."""
    whom = f"NMF (input {name})"
    factor = check_array(values, input_name=name)
    for axis, place in enumerate(("first", "second")):
        if factor.shape[axis] != shape[axis]:
            raise ValueError(
                f"Array with wrong {place} dimension passed to {whom}. Expected {shape[axis]}, but got "
                f"{factor.shape[axis]}."
            )
    check_non_negative(factor, whom)
    if not np.max(factor) > 0:
        raise ValueError(f"Array passed to {whom} is full of zeros.")
    if factor.dtype != X.dtype:
        raise TypeError(f"{name} should have the same dtype as X, {X.dtype}. Got {name}.dtype = {factor.dtype}.")
    return np.ascontiguousarray(factor, dtype=np.float64)
