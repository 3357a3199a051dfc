"""Orthogonal matching pursuit and forward selection."""

import warnings
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice, integer, nothing, real
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.greedy_selection import PursuitFit
from tenfold.plans.greedy_selection import fit as fit_greedily
from tenfold.problems import GreedyRule

PREMATURE = (
    "Orthogonal matching pursuit ended prematurely due to linear dependence in the dictionary. The requested precision "
    "might not have been met."
)

TOO_MANY = "The number of atoms cannot be more than the number of features"


class _Pursuit(ScoreMixin, MultiOutputMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Base of the pursuits: a selection rule, a number of features or a sum of squares."""

    _promise: ClassVar[str]

    n_nonzero_coefs: int | None
    tol: float | None
    fit_intercept: bool

    def _fit(self, X: Any, y: Any, sample_weight: Any, precompute: Any) -> Self:
        X, y = validate(self, X, y)
        weight = validate_weights(sample_weight, X)
        rows = as_rows(X, y, weight)
        self.n_nonzero_coefs_ = count_requested(self.n_nonzero_coefs, self.tol, rows.shape[1])
        rule = GreedyRule(self._promise, self.n_nonzero_coefs_, self.tol)
        whole = None if isinstance(precompute, str) else bool(precompute)
        pursued = require_finite(
            self, X, lambda: fit_greedily(rows, rule, self.fit_intercept, dtype=rows.dtype, whole=whole)
        )
        self._store(pursued, X, flat=y.ndim == 1)
        if pursued.premature:
            warnings.warn(PREMATURE, RuntimeWarning, stacklevel=4)
        return self

    def _store(self, pursued: PursuitFit, X: Array, *, flat: bool) -> None:
        one = len(pursued.paths) == 1
        store(self, pursued.fitted, X, coef_flat=one, intercept_flat=flat, intercept=self.fit_intercept)
        warn_unless_certified(self)
        order: Any = [path.order for path in pursued.paths]
        taken: Any = [len(path) for path in order]
        self.path_ = order[0] if one else order
        self.n_iter_ = taken[0] if one else taken

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def count_requested(count: int | None, tol: float | None, columns: int) -> int | None:
    """The number of features to select: a tenth of all by default, None where a sum of squares decides."""
    if tol is not None:
        return None
    if count is None:
        return max(int(0.1 * columns), 1)
    if count > columns:
        raise ValueError(TOO_MANY)
    return count


class OrthogonalMatchingPursuit(_Pursuit):
    """Orthogonal matching pursuit: features taken one by one, least squares on those taken.

    Looks for few features I with a small ``sum_i weight_i (y_i - x_i.w - b)^2``, w zero outside I. Starting from none,
    each step takes the feature with the largest ``|x_j.r|``, r the residual of least squares on the selected features
    before, and fits anew: the residual is orthogonal to all that were taken. Greedy, so the features need not be the
    best ones: see `BestSubset`. Columns of unequal length are not taken by their angle but by this product, as in
    scikit-learn; scale them, or use `ForwardSelection`.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        How many features to take; None takes a tenth of them, at least one. Not used with `tol`.
    tol : float, default=None
        Take features until the (weighted) sum of squared residuals is at most this.
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    precompute : "auto" or bool, default="auto"
        Whether to form the whole Gram matrix; "auto" forms it where that is cheaper than reading the products of the
        features that are selected.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target; zero for those that were not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int or list of int
        The number of selected features, for each target.
    n_nonzero_coefs_ : int or None
        The requested number; None with `tol`.
    path_ : ndarray of int or list of such
        The features in the order of their selection.
    certificate_ : Certificate
        Kind residual: the largest cosine between the residual and a selected feature, or, if that is more, the
        relative amount by which another feature exceeds the selected ones at some step of the rule, which the
        judge follows again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or one pass for about 32 features where few of many features are requested or these
    outnumber the samples; then k^2 p products for k features, and two passes of the judge. Memory p x p or k x p. Runs
    on dense and sparse arrays, files, Dask collections and devices. Rosasco, section 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import OrthogonalMatchingPursuit
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> model = OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.1 * X[:, 0])
    >>> model.path_
    array([5, 1])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Orthogonal matching pursuit",
        texts=("R11.2",),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("residual",),
        judge="greedy.pursuit",
        outputs="linear_outputs.regression",
        choice="greedy.check_counts",
    )
    _promise: ClassVar[str] = "correlation"
    _constraints: ClassVar[Constraints] = {
        "n_nonzero_coefs": (integer(1), nothing()),
        "tol": (real(0), nothing()),
        "fit_intercept": (boolean(),),
        "precompute": (choice("auto"), boolean()),
    }

    def __init__(
        self,
        *,
        n_nonzero_coefs: int | None = None,
        tol: float | None = None,
        fit_intercept: bool = True,
        precompute: bool | str = "auto",
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        return self._fit(X, y, sample_weight, self.precompute)


class ForwardSelection(_Pursuit):
    """Forward selection: each step takes the feature that lowers the sum of squares most.

    As orthogonal matching pursuit, but a feature is not taken by its product with the residual: the one is taken with
    which least squares has the smallest ``sum_i weight_i (y_i - x_i.w - b)^2``. One step looks further, units of
    features do not matter, and it costs the same: a factorisation is updated, nothing is fitted anew.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        How many features to take; None takes a tenth of them, at least one. Not used with `tol`.
    tol : float, default=None
        Take features until the (weighted) sum of squared residuals is at most this.
    fit_intercept : bool, default=True
        Whether to fit ``b``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target; zero for those that were not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int or list of int
        The number of selected features, for each target.
    n_nonzero_coefs_ : int or None
        The requested number; None with `tol`.
    path_ : ndarray of int or list of such
        The features in the order of their selection.
    certificate_ : Certificate
        Kind residual: the largest cosine between the residual and a selected feature, or, if that is more, the
        relative amount by which another feature exceeds the selected ones at some step of the rule, which the
        judge follows again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or one pass for about 32 features where few of many features are requested or these
    outnumber the samples; then k^2 p products for k features, and two passes of the judge. Memory p x p or k x p. Runs
    on dense and sparse arrays, files, Dask collections and devices, with sample weights.
    Rosasco, sections 11.1 and 11.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ForwardSelection
    >>> X = np.random.default_rng(0).standard_normal((50, 8)) * np.arange(1, 9)
    >>> model = ForwardSelection(n_nonzero_coefs=2).fit(X, 3.0 * X[:, 1] - X[:, 2] + 0.1 * X[:, 7])
    >>> model.path_
    array([1, 2])
    """

    _registration: ClassVar = Registration(
        method="Forward selection",
        texts=("R11.1-2",),
        reads=("one pass",),
        certificate=("residual",),
        judge="greedy.forward_selection",
        outputs="linear_outputs.regression",
        choice="greedy.check_counts",
    )
    _promise: ClassVar[str] = "gain"
    _constraints: ClassVar[Constraints] = {
        "n_nonzero_coefs": (integer(1), nothing()),
        "tol": (real(0), nothing()),
        "fit_intercept": (boolean(),),
    }

    def __init__(
        self, n_nonzero_coefs: int | None = None, *, tol: float | None = None, fit_intercept: bool = True
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        return self._fit(X, y, sample_weight, "auto")
