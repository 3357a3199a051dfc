"""Kernel density estimation."""

from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, on_host
from tenfold.distances import VALID, Distance, Minkowski, distance_of, same
from tenfold.estimators.neighbours.kde_model import KernelModelBase
from tenfold.estimators.neighbours.remote_queries import Formatter
from tenfold.estimators.neighbours.stored import INDEXED
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    real,
)
from tenfold.estimators.registration import Registration, Source
from tenfold.estimators.validation import as_rows_without_target, restore_on_error, total_weight
from tenfold.pairwise import KernelSamples, KernelSumRequest, Tolerance, collect_rows, density_tree, log_volume
from tenfold.plans.neighbours import (
    certify_density,
    draw_from_kernel,
    list_bandwidths,
    log_density,
    loo_log_likelihoods,
    rule_of_thumb,
)

KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")
DENSE: tuple[Source, ...] = ("arrays", "files", "Dask", "devices")
SPARSE = "Windows are about dense rows: X.toarray(), or neighbours of sparse rows."


class KernelDensity(KernelModelBase):
    """Kernel density estimation: the mean of a kernel about each sample.

    ``p(x) = sum_i w_i K(d(x, x_i) / h) / (sum_i w_i h^p c)`` with c the integral of the kernel K. Sums are of all
    samples, about their largest term, so that logarithms do not underflow far from the data; with few features samples
    outside the support are skipped by a tree, and with `atol` or `rtol` its nodes are approximated within these.

    Parameters
    ----------
    bandwidth : float, {"scott", "silverman", "likelihood"}, default=1.0
        "likelihood", ours: the one among `candidates` with the largest leave-one-out likelihood.
    algorithm : {"kd_tree", "ball_tree", "auto"}, default="auto"
        All give the same answer, up to `atol` and `rtol`; "kd_tree" refuses metrics that have no such tree, as in
        scikit-learn.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, default="gaussian"
        The kernel K.
    metric : str, default="euclidean"
        Minkowski's metrics, canberra, braycurtis, hamming, haversine, those of sets, and "pyfunc" with a function of
        two samples in ``metric_params={"func": ...}``; the integral is that of the Euclidean distance, as in
        scikit-learn.
    atol : float, default=0
        Absolute error that a density may have, beside the relative one. It is kept by bounds on what the samples in a
        box of a tree can add, and saves time with up to six features.
    rtol : float, default=0
        Relative error that a density may have, beside the absolute one.
    breadth_first : bool, default=True
        Accepted for compatibility: the order of the search does not change the result.
    leaf_size : int, default=40
        Accepted for compatibility: it does not change the result.
    metric_params : dict, default=None
        Parameters of the metric, p of minkowski for instance.
    candidates : array-like of float, default=None
        Bandwidths to try; None takes 24, from half the distance to the nearest sample to that of two samples.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use, given or chosen.
    candidates_ : ndarray of shape (n_candidates,)
        The bandwidths tried; only with "likelihood".
    likelihoods_ : ndarray of shape (n_candidates,)
        Mean log densities of samples by all others, for each candidate; only with "likelihood".
    certificate_ : Certificate
        Kind exact: log densities at some of the samples, by sums over plain distances to all (equal up to `atol`
        and `rtol`), and the bandwidth by its rule.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    Cost: samples times queries, and for every candidate as many exponentials. Too small a bandwidth has a spike at
    every sample, too large a one smooths everything away. Runs on dense arrays. Of data in files, on a cluster or
    on a device only the source is stored, and every query reads it once, block by block; a bandwidth by likelihood
    is for samples in memory. Seeger, section 12.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import KernelDensity
    >>> X = np.random.RandomState(0).randn(200, 1)
    >>> model = KernelDensity(bandwidth="likelihood").fit(X)
    >>> round(model.bandwidth_, 2)
    0.35
    >>> bool(np.exp(model.score_samples([[0.0]]))[0] > 0.3)
    True
    """

    _registration: ClassVar = Registration(
        method="Kernel density estimation",
        texts=("S12.2.1", "S6.1"),
        peer="sklearn.neighbors",
        reads=("one pass",),
        where=DENSE,
        instead=SPARSE,
        certificate=("exact",),
        judge="neighbours.density",
        choice="neighbours.check_bandwidth",
        report_only={
            "likelihoods_": "no method reads them, and bandwidth_ must be the best of them; the mean of "
            "cross_val_score of the model with one candidate and cv=LeaveOneOut() computes one again",
        },
        derived=INDEXED,
    )
    _constraints: ClassVar[Constraints] = {
        "bandwidth": (real(0, np.inf, "neither"), choice("scott", "silverman", "likelihood")),
        "algorithm": (choice("kd_tree", "ball_tree", "auto"),),
        "kernel": (choice(*KERNELS),),
        "metric": (choice(*sorted({*VALID["ball_tree"], *VALID["brute"]} - {"precomputed"})),),
        "atol": (real(0),),
        "rtol": (real(0),),
        "breadth_first": (boolean(),),
        "leaf_size": (integer(1),),
        "metric_params": (nothing(), instance(dict)),
        "candidates": (nothing(), array_like()),
    }

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
        candidates: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.candidates = candidates

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the samples X (n, p) and optional `sample_weight` (n,), and choose the bandwidth; `y` is not used."""
        check_parameters(self, self._constraints)
        if self.algorithm == "kd_tree" and self.metric not in VALID["kd_tree"]:
            raise ValueError(f"invalid metric for KDTree: '{self.metric}'")
        self._keep(X, None, sample_weight, with_targets=False)
        for name in ("candidates_", "likelihoods_"):
            self.__dict__.pop(name, None)
        self.bandwidth_ = self._choose_bandwidth()
        h, rule = float(self.bandwidth_), bandwidth_by_rule(self, self._count, self._rows.shape[1])
        self.certificate_ = self._certify(
            certify_density,
            kernel=self.kernel,
            bandwidths=(h, rule),
            total=total_weight(self._rows, self._weight),
            allowed=(float(self.atol), float(self.rtol)),
        )
        return self

    def _in_memory(self, distance: Distance) -> KernelSamples:
        tolerance = Tolerance(float(self.atol), float(self.rtol))
        return KernelSamples(distance, self._rows, None, self._weight, density_tree(distance, self._rows), tolerance)

    def _choose_bandwidth(self) -> float:
        if not isinstance(self.bandwidth, str):
            return self.bandwidth
        if self.bandwidth != "likelihood":
            return rule_of_thumb(self.bandwidth, self._count, self._rows.shape[1])
        assert isinstance(self._index, KernelSamples)
        distance = self._index.distance
        candidates = list_bandwidths(distance, self._rows, self.candidates)
        self.candidates_ = candidates
        self.likelihoods_ = loo_log_likelihoods(distance, self._rows, self.kernel, candidates, self._weight)
        if not np.isfinite(self.likelihoods_).any():
            raise ValueError(
                "No candidate covers every row by a window of another: give larger ones, or a kernel that never ends "
                "(gaussian, exponential)."
            )
        return float(candidates[np.argmax(self.likelihoods_)])

    def _density_request(self) -> tuple[KernelSumRequest, Formatter]:
        """The kernel sums of a query, and the density made of them."""
        h = np.array([float(self.bandwidth_)])
        volume = float(log_volume(self.kernel, h, self._rows.shape[1])[0])
        level = np.log(total_weight(self._rows, self._weight)) + volume
        return KernelSumRequest(self.kernel, h, False), Formatter(partial(log_density, level), np.zeros(0))

    def score_samples(self, X: Any) -> Array:
        """Logarithms of the density at the samples X, (m,), where these are."""
        check_is_fitted(self)
        return self._answer(X, *self._density_request())

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of X (m, p): the sum of the logarithms of the density; `y` is not used."""
        return float(np.sum(on_host(self.score_samples(X))))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw samples (n_samples, p) from the density, for "gaussian" and "tophat" windows of Minkowski distances;
        `random_state` is the seed.
        """
        check_is_fitted(self)
        distance = distance_of(self.metric, self.metric_params or {}, self._rows)
        is_norm = isinstance(distance, Minkowski) and distance.image is same and distance.finish == "root"
        if not is_norm or self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError("Rows are drawn from Gaussian and tophat windows of Minkowski distances.")
        rng = check_random_state(random_state)
        u, (n, d) = rng.uniform(0, 1, size=int(n_samples)), self._rows.shape
        if self._weight is None:
            which = (u * n).astype(np.int64)
        else:
            sums = np.cumsum(on_host(self._weight))
            which = np.searchsorted(sums, u * sums[-1])
        some, place = np.unique(which, return_inverse=True)
        centres = on_host(collect_rows(as_rows_without_target(self._rows, None), some))[place].astype(
            np.float64, copy=False
        )
        return centres + self.bandwidth_ * draw_from_kernel(
            self.kernel, cast(Minkowski, distance).p, (int(n_samples), d), rng
        )


def bandwidth_by_rule(model: Any, count: int, columns: int) -> float:
    """The bandwidth that the parameters of a density give for this number of samples; that of a fit where it is
    chosen.
    """
    if not isinstance(model.bandwidth, str):
        return float(model.bandwidth)
    if model.bandwidth in ("scott", "silverman"):
        return rule_of_thumb(model.bandwidth, count, columns)
    return float(model.bandwidth_)
