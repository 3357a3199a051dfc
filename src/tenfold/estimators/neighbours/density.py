"""Densities by windows about every row."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammainc
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Floats
from tenfold.distances import VALID, Distance, distance_of
from tenfold.estimators.contract import Claims, all_or_nothing, validate_weights
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
from tenfold.judge import windows as judge
from tenfold.plans.neighbours import (
    Tolerance,
    bandwidths_to_try,
    likelihoods_left_out,
    log_densities,
    log_volume,
    rule_of_thumb,
    tree_of,
)

KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")
KEEPS = "Windows need the rows in memory: load them (numpy.asarray, X.compute()), or a sample of them."


class KernelDensity(BaseEstimator):
    """The density as a mean of windows about the rows.

    ``p(x) = sum_i w_i K(d(x, x_i) / h) / (sum_i w_i h^p c)`` with c the integral of the window K. Sums are of all rows,
    about their largest term, so that no logarithm is lost far from the data; with few columns rows that a window does
    not reach are not looked at, and with `atol` or `rtol` boxes full of rows are counted as one where they may be.

    Parameters
    ----------
    bandwidth : float, {"scott", "silverman", "likelihood"}, default=1.0
        "likelihood", ours: the one among `candidates` with the largest leave-one-out likelihood.
    algorithm : {"kd_tree", "ball_tree", "auto"}, default="auto"
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, default="gaussian"
    metric : str, default="euclidean"
        Minkowski's metrics, canberra, braycurtis, hamming, haversine, those of sets, and "pyfunc" with a function of
        two rows in ``metric_params={"func": ...}``; the integral is that of the Euclidean distance, as in scikit-learn.
    atol, rtol : float, default=0
        What a density may be off by: atol + rtol times itself. It is kept by bounds on what the rows in a box of a tree
        can add, and saves time in up to six columns.
    breadth_first : bool, default=True
    leaf_size : int, default=40
    metric_params : dict, default=None
    candidates : array-like of float, default=None
        Bandwidths to try; None takes 24, from half the distance to the nearest row to that of two rows.

    Attributes
    ----------
    bandwidth_ : float
    candidates_, likelihoods_ : ndarray of shape (n_candidates,)
        With "likelihood": the bandwidths tried, and mean log densities of rows by all others.
    certificate_ : Certificate
        Kind exact: log densities at a sample of the rows, by sums over plain distances of all rows (equal up to `atol`
        and `rtol`), and the bandwidth by its rule.
    n_features_in_, feature_names_in_ : as in scikit-learn. There is no `tree_`: ours is not one of its classes.

    Notes
    -----
    Cost: rows times queries, and for every candidate as many exponentials. Too small a bandwidth has a spike at every
    row, too large a one smooths everything away. Seeger, section 12.2.1.

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

    _claims: ClassVar = Claims(
        "Density by windows",
        "in memory",
        "exact",
        "S12.2.1, S6.1",
        "sklearn.neighbors.KernelDensity",
        ("arrays",),
        KEEPS,
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

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows X, (n, p), and their weights; choose the bandwidth."""
        check_parameters(self, self._constraints)
        self._claims.refuse(type(self).__name__, X)
        if self.algorithm == "kd_tree" and self.metric not in VALID["kd_tree"]:
            raise ValueError(f"invalid metric for KDTree: '{self.metric}'")
        X = validate_data(self, X, order="C", dtype=np.float64)
        weight = validate_weights(sample_weight, X)
        if weight is not None and not weight.all():
            X, weight = np.ascontiguousarray(X[weight > 0]), weight[weight > 0]
        self._rows, self._weight = X, weight
        self._distance = self._measured()
        self._index = self._treed()
        for name in ("candidates_", "likelihoods_"):
            self.__dict__.pop(name, None)
        self.bandwidth_ = self._chosen()
        self.certificate_ = self.judged(X, weight)
        return self

    def _measured(self) -> Distance:
        """The distance; what the parameters do not say is read off the rows."""
        return distance_of(self.metric, self.metric_params or {}, self._rows)

    def _treed(self) -> Any:
        """The tree of the rows, where one serves."""
        return tree_of(self._distance, self._rows)

    def _chosen(self) -> float:
        n, d = self._rows.shape
        if not isinstance(self.bandwidth, str):
            return self.bandwidth
        if self.bandwidth != "likelihood":
            return rule_of_thumb(self.bandwidth, n, d)
        tried = bandwidths_to_try(self._distance, self._rows, self.candidates)
        self.candidates_ = tried
        self.likelihoods_ = likelihoods_left_out(self._distance, self._rows, self.kernel, tried, self._weight)
        if not np.isfinite(self.likelihoods_).any():
            raise ValueError(
                "No candidate covers every row by a window of another: give larger ones, or a kernel that never ends "
                "(gaussian, exponential)."
            )
        return float(tried[np.argmax(self.likelihoods_)])

    def judged(self, X: Floats, weight: Floats | None) -> Any:
        """What is proved of this density for rows and weights."""
        h, d = float(self.bandwidth_), X.shape[1]
        rule = h
        if self.bandwidth in ("scott", "silverman"):
            rule = rule_of_thumb(self.bandwidth, *X.shape)
        elif not isinstance(self.bandwidth, str):
            rule = float(self.bandwidth)
        return judge.density(
            X,
            metric=self.metric,
            params=self.metric_params or {},
            window=self.kernel,
            bandwidth=h,
            volume=float(log_volume(self.kernel, np.array([h]), d)[0]),
            weight=weight,
            found=self._logs(judge.asked(X)),
            bandwidths=(h, rule),
            stored=self._rows,
            allowed=(float(self.atol), float(self.rtol)),
        )

    def _logs(self, queries: Floats) -> Floats:
        h, tolerance = float(self.bandwidth_), Tolerance(float(self.atol), float(self.rtol))
        return log_densities(self._distance, self._rows, queries, self.kernel, h, self._weight, tolerance, self._index)

    def score_samples(self, X: Any) -> Floats:
        """Logarithms of the density at the queries, (m,)."""
        check_is_fitted(self)
        return self._logs(validate_data(self, X, order="C", dtype=np.float64, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the logarithms of the density: the log likelihood of X."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Rows drawn from the density, (n_samples, p); for the windows "gaussian" and "tophat"."""
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat") or self.metric not in ("euclidean", "l2", "minkowski"):
            raise NotImplementedError("Rows are drawn from Gaussian and tophat windows of the Euclidean distance.")
        rng = check_random_state(random_state)
        u, data = rng.uniform(0, 1, size=int(n_samples)), self._rows
        if self._weight is None:
            which = (u * len(data)).astype(np.int64)
        else:
            sums = np.cumsum(self._weight)
            which = np.searchsorted(sums, u * sums[-1])
        if self.kernel == "gaussian":
            return np.atleast_2d(rng.normal(data[which], self.bandwidth_))
        # a Gaussian direction; its length, by its own distribution, becomes that of a point in a ball
        away = rng.normal(size=(int(n_samples), data.shape[1]))
        squares = np.einsum("ij,ij->i", away, away)
        d = data.shape[1]
        length = gammainc(0.5 * d, 0.5 * squares) ** (1.0 / d) * self.bandwidth_ / np.sqrt(squares)
        return data[which] + away * length[:, None]
