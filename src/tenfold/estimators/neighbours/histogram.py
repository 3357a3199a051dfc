"""Histogram density."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import Array, Floats, Integers, is_array_api, like, on_host
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, choice, integer, nothing, real
from tenfold.estimators.predictors import Predictor
from tenfold.estimators.registration import Registration, source_of
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    as_rows_without_target,
    require_finite,
    restore_on_error,
    total_weight,
    validate_rows,
    validate_weights,
)
from tenfold.plans.neighbours import histogram as plan


def _has_boxes(model: Any) -> bool:
    """Edges ascend, and every bin has its count and its density."""
    shape = tuple(len(edges) - 1 for edges in model.bin_edges_)
    rising = all(np.all(np.diff(edges) > 0.0) for edges in model.bin_edges_)
    return rising and min(shape, default=0) >= 1 and model.density_.shape == model.counts_.shape == shape


class Histogram(Predictor, BaseEstimator):
    """The density as bars: ``n_j / (n v_j)`` in a bin of volume v_j with n_j of n samples, whose volumes add up to one.

    Parameters
    ----------
    bins : int, "loo" or list of arrays, default="loo"
        Bins of equal width per feature, or their edges, one array per feature. "loo" takes the number in `candidates`
        with the least leave-one-out estimate of the mean squared distance to the true density.
    width : float, default=None
        The width of the bins, in place of their number; the first begins at a multiple of it.
    candidates : array-like of int, default=None
        Numbers of bins to try; None: 1 to 64 for one column, and fewer for more.

    Attributes
    ----------
    bin_edges_ : list of ndarray
        One array a column.
    density_ : ndarray of shape (n_bins, ...)
        The density in each box, an axis for each feature.
    counts_ : ndarray of shape (n_bins, ...)
        The weight of the samples in each box, an axis for each feature.
    candidates_ : ndarray of shape (n_candidates,)
        The numbers of bins tried; only with "loo".
    risks_ : ndarray of shape (n_candidates,)
        Leave-one-out estimates of the mean squared distance to the true density, up to a constant, for each candidate;
        only with "loo".
    certificate_ : Certificate
        Kind exact: counted again, and the area is one.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A sample weight counts as repeated samples. Three passes over the data, whatever the number of candidates: their
    range, the counts, and the judge's. The number of bins grows with the power of the features: beyond about five
    there is hardly a sample in any. Runs on dense arrays, files, devices and Dask collections.
    Seeger, section 6.1; Welling, ch. 2.

    Examples
    --------
    >>> from tenfold import Histogram
    >>> model = Histogram(bins=2).fit([[0.0], [1.0], [1.5], [4.0]])
    >>> model.density_
    array([0.375, 0.125])
    """

    _registration: ClassVar = Registration(
        method="Histogram density estimation",
        texts=("S6.1", "W2"),
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="A histogram is of dense rows: X.toarray().",
        certificate=("exact",),
        judge="neighbours.histogram",
        outputs="neighbours.bars",
        choice="neighbours.check_boxes",
        stored={"counts_": floats("...")},
        rules={"boxes must have rising edges and their counts": _has_boxes},
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

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the samples X (n, p) by their optional `sample_weight` (n,); `y` is not used."""
        check_parameters(self, self._constraints)
        X, weight = self._validate_samples(X, sample_weight, reset=True)
        for name in ("candidates_", "risks_"):
            self.__dict__.pop(name, None)
        rows, total = as_rows_without_target(X, weight), total_weight(X, weight)
        low, high = require_finite(self, X, lambda: plan.range_of(rows))
        choose = isinstance(self.bins, str) and self.width is None
        if choose:
            self.candidates_ = list_bin_numbers(self, len(low), total)
            candidates = [plan.edges_of(low, high, int(bins)) for bins in self.candidates_]
        else:
            candidates = [make_edges(self, low, high)]
        bars, self.certificate_ = plan.fit_bars(rows, candidates, total, choose=choose)
        self.bin_edges_, self.counts_, self.density_ = bars.edges, bars.counts, bars.density
        if choose:
            self.risks_ = bars.risks
        return self

    def _validate_samples(self, X: Any, sample_weight: Any, *, reset: bool = False) -> tuple[Array, Array | None]:
        """Samples and weights; with `reset` the features are those of the fit."""
        self._registration.check_source(type(self).__name__, X)
        if source_of(X) == "arrays":
            X = validate_data(self, X, order="C", dtype=np.float64, reset=reset)
        else:
            X = validate_rows(self if reset else BaseEstimator(), X)
        return X, validate_weights(sample_weight, X)

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_logs, self.bin_edges_, self.density_)

    def score_samples(self, X: Any) -> Array:
        """Logarithms of the density at the samples X, (m,), where these are; minus infinity where it is zero."""
        check_is_fitted(self)
        if source_of(X) == "arrays":
            return self._prediction_function(False)(validate_data(self, X, order="C", dtype=np.float64, reset=False))
        return self._predict_raw(X)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of X (m, p): the sum of the logarithms of the density; `y` is not used."""
        return float(np.sum(on_host(self.score_samples(X))))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draw samples (n_samples, p) from the density; `random_state` is the seed."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        share = self.counts_.ravel() / self.counts_.sum()
        cells = np.unravel_index(rng.choice(len(share), size=n_samples, p=share), self.counts_.shape)
        columns = [rng.uniform(edge[cell], edge[cell + 1]) for edge, cell in zip(self.bin_edges_, cells, strict=True)]
        return np.column_stack(columns)


def _logs(edges: list[Floats], density: Floats, X: Array) -> Array:
    """Logarithms of the density at samples, where they are."""
    place = plan.find_bins(X, edges)
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(place >= 0, density.ravel()[place], 0.0))
    return like(logs, X) if is_array_api(X) else logs


def make_edges(model: Any, low: Floats, high: Floats) -> list[Floats]:
    """The edges of the bins that the parameters give for the range of the samples."""
    if model.width is not None:
        first, last = np.floor(low / model.width), np.floor(high / model.width) + 1.0
        return [model.width * np.arange(a, b + 1.0) for a, b in zip(first, last, strict=True)]
    if np.ndim(model.bins) == 0:
        return plan.edges_of(low, high, int(model.bins))
    given = [np.asarray(edge, dtype=np.float64) for edge in model.bins]
    if len(low) == 1 and all(edge.ndim == 0 for edge in given):
        given = [np.asarray(model.bins, dtype=np.float64)]
    if len(given) != len(low) or any(edge.ndim != 1 or len(edge) < 2 or np.any(np.diff(edge) <= 0) for edge in given):
        raise ValueError(f"bins must be rising edges, an array for each of {len(low)} columns.")
    if any(low[j] < edge[0] or high[j] > edge[-1] for j, edge in enumerate(given)):
        raise ValueError("Some rows are outside the edges in bins: widen them, for the area must be one.")
    return given


def list_bin_numbers(model: Any, columns: int, total: float) -> Integers:
    """The candidates for the number of bins, for this number of features and this total weight."""
    most = int(np.clip((1 << 20) ** (1.0 / columns), 1, 64))
    numbers = np.arange(1, most + 1) if model.candidates is None else np.unique(np.asarray(model.candidates, dtype=int))
    if numbers.size == 0 or numbers[0] < 1:
        raise ValueError(f"candidates must be numbers of bins of at least 1, got {model.candidates!r}.")
    return numbers if total > 1.0 else numbers[:1]


def read_histogram(model: Any, X: Any, sample_weight: Any) -> tuple[Array, Array | None]:
    """Samples and weights as a fitted model reads them."""
    return model._validate_samples(X, sample_weight)
