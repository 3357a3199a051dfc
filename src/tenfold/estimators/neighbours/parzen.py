"""Local means by windows about every row."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array, Floats, Integers
from tenfold.choose.neighbours import mean_error
from tenfold.distances import VALID, Distance, distance_of
from tenfold.estimators.contract import Claims, all_or_nothing, validate_weights
from tenfold.estimators.entries import Entry
from tenfold.estimators.neighbours.density import KEEPS
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, choice, instance, nothing, real
from tenfold.judge import windows as judge
from tenfold.plans.neighbours import bandwidths_to_try, built, window_sums

WINDOWS = {"box": "box", "triangular": "cut", "gaussian": "gaussian", "exponential": "exponential"}


class ParzenRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """The mean of all targets, weighted by a window of the distance (Nadaraya-Watson).

    ``f(x) = sum_i w_i y_i k(x, x_i) / sum_i w_i k(x, x_i)`` with, for the distance d,

    - box: ``[d <= h]``
    - triangular: ``(1 - d)_+ [d <= h]``
    - gaussian: ``exp(-d^2 / (2 h^2))``
    - exponential: ``exp(-d / (sqrt(2) h))``

    Parameters
    ----------
    bandwidth : float or "loo", default=1.0
        h; "loo": the one among `candidates` with the least leave-one-out error.
    window : {"gaussian", "box", "triangular", "exponential"}, default="gaussian"
    metric : str, default="euclidean"
        Minkowski's metrics, canberra, braycurtis, hamming, haversine.
    metric_params : dict, default=None
    outside : {"nearest", "mean", "nan"}, default="nearest"
        What is predicted where no row is in the window: the target of the nearest row, the mean of all, or not a
        number.
    candidates : array-like of float, default=None
        Bandwidths to try; None takes 24, from half the distance to the nearest row to that of two rows.

    Attributes
    ----------
    bandwidth_ : float
    candidates_, cv_errors_ : ndarray of shape (n_candidates,)
        With "loo": the bandwidths tried, and weighted mean squares of the leave-one-out residuals.
    best_score_ : float
        With "loo": minus the least error.
    certificate_ : Certificate
        Kind exact: means at a sample of the rows, by sums over plain distances.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A sample weight counts as repeated rows, and a row of weight zero as removed; left out is a row with all its weight.
    Cost: rows times queries; for leave-one-out of all candidates one pass over the distances of all pairs, which are
    not kept. Rosasco, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ParzenRegressor
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = ParzenRegressor("loo").fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    _claims: ClassVar = Claims("Parzen windows, means", "in memory", "exact", "R2.3", "-", ("arrays",), KEEPS)
    _zoo: ClassVar = Entry(
        "parzen",
        "regression",
        {"bandwidth": "loo"},
        chosen=("bandwidth_",),
        how="exact leave-one-out",
        fast=False,
        most_rows=10_000,
        dense=True,
    )
    _constraints: ClassVar[Constraints] = {
        "bandwidth": (real(0, np.inf, "neither"), choice("loo")),
        "window": (choice(*WINDOWS),),
        "metric": (choice(*sorted({*VALID["ball_tree"], *VALID["brute"]} - {"precomputed"})),),
        "metric_params": (nothing(), instance(dict)),
        "outside": (choice("nearest", "mean", "nan"),),
        "candidates": (nothing(), array_like()),
    }

    def __init__(
        self,
        bandwidth: Any = 1.0,
        *,
        window: str = "gaussian",
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        outside: str = "nearest",
        candidates: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.window = window
        self.metric = metric
        self.metric_params = metric_params
        self.outside = outside
        self.candidates = candidates

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows X, (n, p), and their targets y, (n,) or (n, n_outputs); choose the bandwidth."""
        check_parameters(self, self._constraints)
        self._claims.refuse(type(self).__name__, X)
        X, y = validate_data(self, X, y, order="C", dtype=np.float64, multi_output=True, y_numeric=True)
        weight = validate_weights(sample_weight, X)
        if weight is not None and not weight.all():
            X, y, weight = np.ascontiguousarray(X[weight > 0]), y[weight > 0], weight[weight > 0]
        self._rows, self._weight, self._flat = X, weight, y.ndim == 1
        self._targets = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        self._distance = self._measured()
        for name in ("candidates_", "cv_errors_", "best_score_"):
            self.__dict__.pop(name, None)
        self.bandwidth_ = self._chosen()
        self.certificate_ = self.judged(X, self._targets, weight)
        return self

    def _measured(self) -> Distance:
        """The distance; what the parameters do not say is read off the rows."""
        return distance_of(self.metric, self.metric_params or {}, self._rows)

    def _chosen(self) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        tried = bandwidths_to_try(self._distance, self._rows, self.candidates)
        own = np.arange(len(self._rows))
        fits = self._filled(self._means(self._rows, tried, own), self._rows, own)
        self.candidates_ = tried
        self.cv_errors_ = mean_error(((self._targets[:, None] - fits) ** 2).mean(axis=2), self._weight)
        best = int(np.nanargmin(np.where(np.isnan(self.cv_errors_), np.inf, self.cv_errors_)))
        self.best_score_ = -float(self.cv_errors_[best])
        return float(tried[best])

    def _means(self, queries: Floats, bandwidths: Floats, own: Integers | None = None) -> Floats:
        """Means (m, b, t), not a number where the window is empty."""
        scale = np.sqrt(2.0) if self.window == "exponential" else 1.0
        bandwidths = scale * np.atleast_1d(bandwidths)
        return window_sums(
            self._distance,
            self._rows,
            queries,
            WINDOWS[self.window],
            bandwidths,
            weight=self._weight,
            targets=self._targets,
            own=own,
        )[1]

    def _filled(self, found: Floats, queries: Floats, own: Integers | None = None) -> Floats:
        """Means (m, b, t), with what is said of empty windows."""
        empty = np.any(np.isnan(found), axis=2)
        if self.outside == "nan" or not np.any(empty):
            return found
        if self.outside == "mean":
            total = np.average(self._targets, axis=0, weights=self._weight)
            return np.where(empty[:, :, None], total, found)
        some = np.any(empty, axis=1)
        rows = built(self._distance, self._rows).nearest(queries[some], 1, None if own is None else own[some])[1][:, 0]
        said = np.zeros((len(queries), self._targets.shape[1]))
        said[some] = self._targets[rows]
        return np.where(empty[:, :, None], said[:, None], found)

    def judged(self, X: Floats, y: Floats, weight: Floats | None) -> Any:
        """What is proved of these means for rows, targets (n, t) and weights."""
        scale = np.sqrt(2.0) if self.window == "exponential" else 1.0
        return judge.means(
            X,
            y,
            metric=self.metric,
            params=self.metric_params or {},
            window=WINDOWS[self.window],
            bandwidth=scale * self.bandwidth_,
            weight=weight,
            found=self._means(judge.asked(X), np.array([self.bandwidth_]))[:, 0],
            stored=(self._rows, self._targets, self._weight),
        )

    def predict(self, X: Any) -> Array:
        """The local mean at each query, (m,) or (m, n_outputs)."""
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        found = self._filled(self._means(X, np.array([self.bandwidth_])), X)[:, 0]
        return found[:, 0] if self._flat else found
