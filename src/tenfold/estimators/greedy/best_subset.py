"""The best subset of features."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.leaderboard_entry import Entry
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
from tenfold.plans.best_subset import MAX_FEATURES, Size, SubsetFit, fit


class BestSubset(ScoreMixin, MultiOutputMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Least squares on the best subset of the features, exact for up to 40 of them.

    Among all sets of k features the one with the smallest ``sum_i weight_i (y_i - x_i.w - b)^2``, w zero outside it,
    for every k at once; not greedy, but by an exhaustive branch-and-bound search. The
    number of features is given, or the one with the smallest ``(1/W) sum_i weight_i (y_i - x_i.w - b)^2 + alpha
    ||w||_0``, or with the best information criterion.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        How many features; None lets `alpha` or the criterion decide, among up to 4 where different samples do not
        outnumber features.
    alpha : float, default=None
        The price of a feature.
    criterion : {"aic", "bic"}, default="bic"
        ``W log(R / W) + f k`` with R the sum of squared residuals and f = 2 (aic) or log W (bic); used where neither a
        number nor `alpha` is given. Weights count as repeated samples here, so that their unit matters.
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    time_limit : float, default=None
        Time limit of the search in seconds; the best subset so far is certified only if the judge can prove it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target; zero for those that were not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_nonzero_coefs_ : int or list of int
        The number of selected features, for each target.
    subsets_ : ndarray of bool of shape (n_sizes, n_features) or list of such
        The best features of every size from 0 on.
    rss_path_ : ndarray of shape (n_sizes,) or list of such
        The (weighted) sums of squared residuals that they leave.
    criterion_ : ndarray of shape (n_sizes,) or list of such
        What was smallest at the size that was taken.
    n_nodes_ : int or list of int
        How many sets of features the search looked at.
    certificate_ : Certificate
        Kind exact: the judge finds the sum of squares by a QR of the samples, and by a search of its own that no other
        features, as many, leave less. `certify` judges all sizes like that, unless the search was given a `time_limit`,
        and that the one that was taken has the smallest criterion.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass for the Gram matrix, the search, and two passes of the judge. Milliseconds for 20 features and about a
    second for 40, longer without dominant features. Runs on dense and sparse arrays, files, Dask collections and
    devices. Rosasco, section 11.1; Furnival and Wilson (1974).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import BestSubset
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 8))
    >>> model = BestSubset().fit(X, 3.0 * X[:, 5] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(50))
    >>> np.flatnonzero(model.coef_)
    array([1, 5])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Best-subset selection",
        texts=("R11.1",),
        reads=("one pass",),
        certificate=("exact",),
        judge="greedy.subset",
        outputs="linear_outputs.regression",
        choice="greedy.check_choice",
        report_only={"n_nodes_": "how many sets of columns the search looked at"},
        board=Entry(
            "best-subset",
            "regression",
            {"criterion": "bic"},
            chosen=("n_nonzero_coefs_",),
            how="the information criterion BIC over all subsets",
            fast=False,
            most_columns=30,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "n_nonzero_coefs": (integer(0), nothing()),
        "alpha": (real(0), nothing()),
        "criterion": (choice("aic", "bic"),),
        "fit_intercept": (boolean(),),
        "time_limit": (real(0, closed="neither"), nothing()),
    }

    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        *,
        alpha: float | None = None,
        criterion: str = "bic",
        fit_intercept: bool = True,
        time_limit: float | None = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.alpha = alpha
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t) and optional `sample_weight` (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        p = X.shape[1]
        if p > MAX_FEATURES:
            raise ValueError(
                f"The best subset of {p} columns cannot be searched for: at most {MAX_FEATURES} are taken, more can "
                "need hours. Use ForwardSelection, OrthogonalMatchingPursuit or the Lasso, or choose columns before."
            )
        count = self.n_nonzero_coefs
        if count is not None and count > p:
            raise ValueError(f"n_nonzero_coefs = {count} is more than the {p} columns of X.")
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        size = Size(count, None if self.alpha is None else float(self.alpha), self.criterion)
        seconds = np.inf if self.time_limit is None else float(self.time_limit)
        chosen = require_finite(self, X, lambda: fit(rows, size, self.fit_intercept, seconds, dtype=rows.dtype))
        self._store(chosen, X, flat=y.ndim == 1)
        return self

    def _store(self, chosen: SubsetFit, X: Array, *, flat: bool) -> None:
        one = len(chosen.subsets) == 1
        store(self, chosen.fitted, X, coef_flat=one, intercept_flat=flat, intercept=self.fit_intercept)
        warn_unless_certified(self)
        each: dict[str, list[Any]] = {
            "n_nonzero_coefs_": list(chosen.sizes),
            "subsets_": [result.inside for result in chosen.subsets],
            "rss_path_": [result.squares for result in chosen.subsets],
            "criterion_": list(chosen.costs),
            "n_nodes_": [result.nodes for result in chosen.subsets],
        }
        for name, values in each.items():
            setattr(self, name, values[0] if one else values)

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
