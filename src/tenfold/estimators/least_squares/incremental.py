"""Least squares from moments: partial fits, and moments computed by the user."""

from typing import Any, Self

from tenfold.arrays import Array
from tenfold.estimators.parameters import check_parameters
from tenfold.estimators.validation import as_rows, require_finite, validate_more, validate_weights
from tenfold.plans.least_squares import KEPT_COLUMNS, fold_moments
from tenfold.stats.moments import Moments


class FromMoments:
    """Estimators that moments determine: `fit` accepts `Moments` in place of X, and parts merge.

    A class implements `_fit_moments`; the moments are stored in `moments_`.
    """

    moments_: Moments

    def _merge(self, X: Array, y: Array, weight: Array | None) -> None:
        rows = as_rows(X, y, weight)
        new: Moments = require_finite(self, X, lambda: fold_moments(rows))
        self._fit_moments(self.moments_.merge(new) if hasattr(self, "moments_") else new)

    def _fit_moments(self, moments: Moments) -> None:
        raise NotImplementedError

    def _take_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Self:
        """`fit` on moments alone."""
        if y is not None or sample_weight is not None:
            raise ValueError("Moments hold their targets and weights: give neither y nor sample_weight beside them.")
        if moments.count == 0 or not moments.yy.size:
            raise ValueError("These moments have no rows or no targets: make them by Moments.of(X, y).")
        self.n_features_in_ = moments.features
        self.__dict__.pop("feature_names_in_", None)
        self._fit_moments(moments)
        return self

    def _keep(self, moments: Moments | None) -> None:
        """Store the moments of a fit for `partial_fit`, unless they are large."""
        self.__dict__.pop("moments_", None)
        if moments is not None and moments.features <= KEPT_COLUMNS:
            self.moments_ = moments


class PartialRegression(FromMoments):
    """`partial_fit` of a regression."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t) with optional `sample_weight`, and all samples that came before, whose
        moments are kept; gives what `fit` on all of them at once gives.
        """
        check_parameters(self, self._constraints)  # type: ignore[attr-defined]
        X, y = validate_more(self, X, y, first=not hasattr(self, "moments_"))
        weight = validate_weights(sample_weight, X)
        self._merge(X, y, weight)
        return self
