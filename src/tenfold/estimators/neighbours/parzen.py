"""Kernel regression: local means (Nadaraya-Watson)."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, on_host
from tenfold.cross_validation.knn_loo import mean_error
from tenfold.distances import VALID, Distance
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.neighbours.density import DENSE, SPARSE
from tenfold.estimators.neighbours.kde_model import KernelModelBase
from tenfold.estimators.neighbours.remote_queries import Formatter
from tenfold.estimators.neighbours.stored import INDEXED
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, choice, instance, nothing, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import restore_on_error
from tenfold.pairwise import KernelSamples, KernelSum, KernelSumRequest
from tenfold.plans.neighbours import certify_means, list_bandwidths

WINDOWS = {"box": "box", "triangular": "cut", "gaussian": "gaussian", "exponential": "exponential"}


class ParzenRegressor(ScoreMixin, MultiOutputMixin, RegressorMixin, KernelModelBase):
    """The mean of all targets, weighted by a kernel of the distance (Nadaraya-Watson).

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
        Which of the kernels above.
    metric : str, default="euclidean"
        Minkowski's metrics, canberra, braycurtis, hamming, haversine.
    metric_params : dict, default=None
        Parameters of the metric, p of minkowski for instance.
    outside : {"nearest", "mean", "nan"}, default="nearest"
        The prediction where no sample is in the support: the target of the nearest sample, the mean of all, or not a
        number.
    candidates : array-like of float, default=None
        Bandwidths to try; None takes 24, from half the distance to the nearest sample to that of two samples.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use, given or chosen.
    candidates_ : ndarray of shape (n_candidates,)
        The bandwidths tried; only with "loo".
    cv_errors_ : ndarray of shape (n_candidates,)
        Weighted mean squares of the leave-one-out residuals, for each candidate; only with "loo".
    best_score_ : float
        With "loo": minus the least error.
    certificate_ : Certificate
        Kind exact: means at some of the samples, by sums over plain distances.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A sample weight counts as repeated samples, and weight zero as removed; left out is a sample with all its weight.
    Cost: samples times queries; for leave-one-out of all candidates one pass over the distances of all pairs, which are
    not kept, for samples in memory. Runs on dense arrays. Of data in files, on a cluster or on a device the source is
    kept, and every query reads it once, block by block. Rosasco, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import ParzenRegressor
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = ParzenRegressor("loo").fit(x, np.sin(x[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    _registration: ClassVar = Registration(
        method="Nadaraya-Watson kernel regression",
        texts=("R2.3",),
        reads=("one pass",),
        where=DENSE,
        instead=SPARSE,
        certificate=("exact",),
        judge="neighbours.means",
        outputs="neighbours.local_means",
        choice="neighbours.check_bandwidth",
        report_only={
            "cv_errors_": "no method reads them, and bandwidth_ must be the best of them; cross_val_score of the model "
            "with one candidate, cv=LeaveOneOut() and scoring='neg_mean_squared_error' computes one again",
        },
        derived=INDEXED,
        board=Entry(
            "parzen",
            "regression",
            {"bandwidth": "loo"},
            chosen=("bandwidth_",),
            how="exact leave-one-out",
            fast=False,
            dense=True,
        ),
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

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p), their targets y, (n,) or (n, n_outputs), and optional `sample_weight` (n,); choose
        the bandwidth.
        """
        check_parameters(self, self._constraints)
        self._keep(X, y, sample_weight, with_targets=True)
        for name in ("candidates_", "cv_errors_", "best_score_"):
            self.__dict__.pop(name, None)
        self.bandwidth_ = self._choose_bandwidth()
        request = kernel_request(self, self.bandwidth_)
        self.certificate_ = self._certify(certify_means, request=request, size=largest_targets(self._targets))
        return self

    def _in_memory(self, distance: Distance) -> KernelSamples:
        return KernelSamples(distance, self._rows, np.ascontiguousarray(self._targets), self._weight)

    def _choose_bandwidth(self) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        assert isinstance(self._index, KernelSamples)
        candidates = list_bandwidths(self._index.distance, self._rows, self.candidates)
        sums = self._index.query(kernel_request(self, candidates), self._rows, np.arange(len(self._rows)))
        fits = _fill_empty(self._mean(), sums)
        self.candidates_ = candidates
        self.cv_errors_ = mean_error(((self._targets[:, None] - fits) ** 2).mean(axis=2), self._weight)
        best = int(np.nanargmin(np.where(np.isnan(self.cv_errors_), np.inf, self.cv_errors_)))
        self.best_score_ = -float(self.cv_errors_[best])
        return float(candidates[best])

    def _mean(self) -> Floats | None:
        """The mean of all targets, where it is predicted outside of all supports."""
        if self.outside != "mean":
            return None
        y, w = self._targets, self._weight
        sums = y.mean(axis=0) if w is None else (y * on_host(w)[:, None]).sum(axis=0) / on_host(w).sum()
        return np.asarray(on_host(sums), dtype=np.float64)

    def predict(self, X: Any) -> Array:
        """The local mean at each sample of X, (m,) or (m, n_outputs), where the samples are."""
        check_is_fitted(self)
        empty = np.zeros(0) if self._flat else np.zeros((0, self._targets.shape[1]))
        formatter = Formatter(partial(_first, self._mean(), self._flat), empty)
        return self._answer(X, kernel_request(self, self.bandwidth_), formatter)


def kernel_request(model: Any, bandwidths: Any) -> KernelSumRequest:
    """The kernel sums of the local means of a model."""
    scale = np.sqrt(2.0) if model.window == "exponential" else 1.0
    bandwidths = scale * np.atleast_1d(np.asarray(bandwidths, dtype=np.float64))
    ends = model.window in ("box", "triangular")
    return KernelSumRequest(WINDOWS[model.window], bandwidths, True, ends and model.outside == "nearest")


def largest_targets(targets: Array) -> Floats:
    """The largest target of each column."""
    return np.asarray(abs(targets).max(axis=0), dtype=np.float64)


def _fill_empty(mean: Floats | None, sums: KernelSum) -> Floats:
    """Means (m, b, t); where no sample is in the support the mean of all, or the target of the nearest sample."""
    empty = np.isneginf(sums.logs)[:, :, None]
    if mean is not None:
        return np.where(empty, mean, sums.means)
    return sums.means_or_nan() if sums.nearest is None else np.where(empty, sums.nearest[:, None], sums.means)


def _first(mean: Floats | None, flat: bool, sums: KernelSum) -> Floats:
    """Means of the one bandwidth, (m,) or (m, t)."""
    means = _fill_empty(mean, sums)[:, 0]
    return means[:, 0] if flat else means
