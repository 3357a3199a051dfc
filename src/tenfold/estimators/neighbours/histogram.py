"""Densities in boxes."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Floats
from tenfold.estimators.contract import Claims, all_or_nothing, validate_weights
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, choice, integer, nothing, real
from tenfold.judge import windows as judge
from tenfold.plans.neighbours import boxes as plan


class Histogram(BaseEstimator):
    """The density as bars: ``n_j / (n v_j)`` in a box of volume v_j with n_j of n rows, whose volumes add up to one.

    Parameters
    ----------
    bins : int, "loo" or list of arrays, default="loo"
        Boxes of equal width in each column, or their edges, one array a column. "loo" takes the number in `candidates`
        with the least leave-one-out estimate of the mean squared distance to the true density.
    width : float, default=None
        The width of the boxes, in place of their number; the first begins at a multiple of it.
    candidates : array-like of int, default=None
        Numbers of bins to try; None: 1 to 64 for one column, and fewer for more.

    Attributes
    ----------
    bin_edges_ : list of ndarray
        One array a column.
    density_ : ndarray of shape (n_bins, ...)
    counts_ : ndarray of the same shape
        The weight of the rows in each box.
    candidates_, risks_ : ndarray of shape (n_candidates,)
        With "loo".
    certificate_ : Certificate
        Kind exact: counted again, and the area is one.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    A sample weight counts as repeated rows. The number of boxes grows with the power of the columns: beyond about five
    there is hardly a row in any. Seeger, section 6.1; Welling, ch. 2.

    Examples
    --------
    >>> from tenfold import Histogram
    >>> model = Histogram(bins=2).fit([[0.0], [1.0], [1.5], [4.0]])
    >>> model.density_
    array([0.375, 0.125])
    """

    _claims: ClassVar = Claims(
        "Histogram, density in boxes",
        "in memory",
        "exact",
        "S6.1, W2",
        "-",
        ("arrays",),
        "A histogram reads arrays: load the rows (numpy.asarray, X.compute()), or a sample.",
    )
    _constraints: ClassVar[Constraints] = {
        "bins": (integer(1), choice("loo"), array_like()),
        "width": (nothing(), real(0, np.inf, "neither")),
        "candidates": (nothing(), array_like()),
    }

    def __init__(self, bins: Any = "loo", *, width: float | None = None, candidates: Any = None) -> None:
        self.bins = bins
        self.width = width
        self.candidates = candidates

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows X, (n, p), by their weights."""
        check_parameters(self, self._constraints)
        self._claims.refuse(type(self).__name__, X)
        X = validate_data(self, X, order="C", dtype=np.float64)
        weight = validate_weights(sample_weight, X)
        for name in ("candidates_", "risks_"):
            self.__dict__.pop(name, None)
        inside = X if weight is None else X[weight > 0]
        self.bin_edges_ = self._edges(inside, weight if weight is None else weight[weight > 0])
        self.counts_ = plan.counts(X, self.bin_edges_, weight)
        total = float(len(X) if weight is None else weight.sum())
        self.density_ = self.counts_ / plan.volumes(self.bin_edges_) / total
        self.certificate_ = self.judged(X, weight)
        return self

    def _edges(self, X: Floats, weight: Floats | None) -> list[Floats]:
        if self.width is not None:
            low, high = np.floor(X.min(axis=0) / self.width), np.floor(X.max(axis=0) / self.width) + 1.0
            return [self.width * np.arange(a, b + 1.0) for a, b in zip(low, high, strict=True)]
        if isinstance(self.bins, str):
            return self._best(X, weight)
        if np.ndim(self.bins) == 0:
            return plan.edges_of(X, int(self.bins))
        given = [np.asarray(edge, dtype=np.float64) for edge in self.bins]
        if X.shape[1] == 1 and all(edge.ndim == 0 for edge in given):
            given = [np.asarray(self.bins, dtype=np.float64)]
        if len(given) != X.shape[1] or any(
            edge.ndim != 1 or len(edge) < 2 or np.any(np.diff(edge) <= 0) for edge in given
        ):
            raise ValueError(f"bins must be rising edges, an array for each of {X.shape[1]} columns.")
        if any(X[:, j].min() < edge[0] or X[:, j].max() > edge[-1] for j, edge in enumerate(given)):
            raise ValueError("Some rows are outside the edges in bins: widen them, for the area must be one.")
        return given

    def _best(self, X: Floats, weight: Floats | None) -> list[Floats]:
        total = float(len(X) if weight is None else weight.sum())
        most = int(np.clip((1 << 20) ** (1.0 / X.shape[1]), 1, 64))
        tried = np.arange(1, most + 1) if self.candidates is None else np.unique(np.asarray(self.candidates, dtype=int))
        if tried.size == 0 or tried[0] < 1:
            raise ValueError(f"candidates must be numbers of bins of at least 1, got {self.candidates!r}.")
        if total <= 1.0:
            tried = tried[:1]
        found = []
        for bins in tried:
            edges = plan.edges_of(X, int(bins))
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append(plan.risk_left_out(plan.counts(X, edges, weight), plan.volumes(edges), total))
        self.candidates_, self.risks_ = tried, np.array(found)
        best = 0 if np.isnan(self.risks_).all() else int(np.nanargmin(self.risks_))
        return plan.edges_of(X, int(tried[best]))

    def judged(self, X: Floats, weight: Floats | None) -> Any:
        """What is proved of these bars for rows and weights."""
        return judge.histogram(X, weight, self.bin_edges_, self.density_)

    def score_samples(self, X: Any) -> Floats:
        """Logarithms of the density at the queries, (m,); minus infinity where it is zero."""
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        place = plan.places(X, self.bin_edges_)
        with np.errstate(divide="ignore"):
            return np.log(np.where(place >= 0, self.density_.ravel()[place], 0.0))

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the logarithms of the density: the log likelihood of X."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Rows drawn from the density, (n_samples, p)."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        share = self.counts_.ravel() / self.counts_.sum()
        cells = np.unravel_index(rng.choice(len(share), size=n_samples, p=share), self.counts_.shape)
        columns = [rng.uniform(edge[cell], edge[cell + 1]) for edge, cell in zip(self.bin_edges_, cells, strict=True)]
        return np.column_stack(columns)
