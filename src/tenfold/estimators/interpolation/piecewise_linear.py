"""Straight lines between the samples of one feature."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array
from tenfold.estimators.interpolation.lookup_table import check
from tenfold.estimators.parameters import Constraints, check_parameters, integer
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import require_finite, restore_on_error, validate, validate_weights
from tenfold.judge.certificate import Certificate
from tenfold.plans.lookup import averages


class PiecewiseLinear(RegressorMixin, BaseEstimator):
    """Regression on one feature by straight lines between the samples; constant outside of them.

    Passes through all samples, and through the weighted mean of those at one place: no noise is smoothed.

    Parameters
    ----------
    feature : int, default=0
        The number of the feature; the others are not read.

    Attributes
    ----------
    x_ : ndarray of shape (n_distinct,)
        The distinct places, in order.
    y_ : ndarray of shape (n_distinct,)
        The mean target at each.
    certificate_ : Certificate
        Kind exact: places and means are computed again.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    ``n log n`` operations. Runs on NumPy arrays, with sample weights.
    Seeger, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PiecewiseLinear
    >>> model = PiecewiseLinear().fit(np.array([[0.0], [1.0], [3.0]]), [0.0, 2.0, 0.0])
    >>> model.predict(np.array([[0.5], [2.0], [9.0]])).tolist()
    [1.0, 1.0, 0.0]
    """

    _registration: ClassVar = Registration(
        method="Piecewise-linear interpolation",
        texts=("S4.1",),
        reads=("in memory",),
        where=("arrays",),
        instead="Interpolation sorts its samples: pass a NumPy array.",
        certificate=("exact",),
        judge="lookup.interpolation",
        outputs="lookup.interpolation_outputs",
        stored={"x_": floats("m"), "y_": floats("m")},
    )

    _constraints: ClassVar[Constraints] = {"feature": (integer(0),)}

    certificate_: Certificate

    def __init__(self, feature: int = 0) -> None:
        self.feature = feature

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X (n, p), targets y (n,), and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        if self.feature >= X.shape[1]:
            raise ValueError(f"feature={self.feature} is not one of the {X.shape[1]} features of X, from 0 on.")
        weight = validate_weights(sample_weight, X)
        mass = np.ones(len(X)) if weight is None else weight
        targets = np.asarray(y, dtype=np.float64)
        table = require_finite(self, X, lambda: averages(check(X)[:, self.feature], targets, mass))
        self.x_, self.y_ = table.samples, table.values
        self.certificate_ = table.certificate
        return self

    def predict(self, X: Any) -> Array:
        """The value of the line at each sample of X (m, p), (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=list(FLOATS), reset=False)
        return np.interp(X[:, self.feature], self.x_, self.y_).astype(X.dtype, copy=False)
