"""What rows that are kept are asked for: the k nearest, all within a radius, and graphs of either."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, Integers, is_sparse
from tenfold.estimators.neighbours.searched import Searched, Told
from tenfold.plans.neighbours import Near, from_graph


class NearestAsked(Searched):
    """`kneighbors` and its graph."""

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and numbers of the nearest rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Or (n_queries, n_samples_fit) with metric "precomputed". Without it the rows of the fit are asked, none of
            which is its own neighbour.
        n_neighbors : int, default=None
            Else that of the constructor.
        return_distance : bool, default=True

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            The nearest first. Only if `return_distance`.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            Of rows at the same distance the first comes first.
        """
        check_is_fitted(self)
        k = self._checked_k(n_neighbors)
        queries, own = self._queries(X)
        self._check_enough(k, own is not None, queries.shape[0])
        distances, rows = self._nearest(queries, k, own)
        rows = self._numbered(rows)
        return (distances, rows) if return_distance else rows

    def _checked_k(self, n_neighbors: Any) -> int:
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        elif n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        if not isinstance(n_neighbors, Integral):
            raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
        return int(n_neighbors)

    def _check_enough(self, k: int, itself: bool, queries: int) -> None:
        count = self._index.count
        if k > count - itself:
            sign = "<" if itself else "<="
            left = "" if count == self.n_samples_fit_ else f" of which {count} have positive weight,"
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{self.n_samples_fit_},{left} n_samples = {queries}"
            )

    def _nearest(self, queries: Array, k: int, own: Integers | None) -> tuple[Floats, Integers]:
        if self.metric == "precomputed" and is_sparse(queries):
            near = from_graph(queries, own)
            fewest = int(np.diff(near.offsets).min(initial=k))
            if fewest < k:
                raise ValueError(
                    f"{k} neighbors per samples are required, but some samples have only {fewest} neighbors in "
                    "precomputed graph matrix. Decrease number of neighbors used or recompute the graph with more "
                    "neighbors."
                )
            place = near.offsets[:-1, None] + np.arange(k)
            return near.distances[place], near.rows[place]
        return self._index.nearest(queries, k, own)

    def _near(self, X: Any) -> Near:
        """The nearest rows of queries, as what is said of them reads them."""
        return Near.of_equally_many(*self.kneighbors(X))

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The graph of the nearest rows, CSR (n_queries, n_samples_fit): ones, or distances with mode "distance"."""
        check_is_fitted(self)
        check_mode(mode)
        return graph(Near.of_equally_many(*self.kneighbors(X, n_neighbors)), mode, self.n_samples_fit_)


class NearestTold(Told, NearestAsked):
    """What the nearest rows say of queries, by scikit-learn's parameters."""

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs


class RadiusAsked(Searched):
    """`radius_neighbors` and its graph."""

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Distances and numbers of all rows within a radius; a row at this distance is one of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            As in `kneighbors`.
        radius : float, default=None
            Else that of the constructor. One for each query may be given.
        return_distance : bool, default=True
        sort_results : bool, default=False
            By distance; else rows are in their order.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries,) of arrays
            Only if `return_distance`.
        neigh_ind : ndarray of shape (n_queries,) of arrays
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        near = self._within(X, self.radius if radius is None else radius, sort_results)
        cuts = near.offsets[1:-1]
        rows = lists(np.split(near.rows, cuts))
        return (lists(np.split(near.distances, cuts)), rows) if return_distance else rows

    def _within(self, X: Any, radius: Any, by_distance: bool = False) -> Near:
        """The rows within a radius, as what is said of them reads them."""
        queries, own = self._queries(X)
        if self.metric == "precomputed" and is_sparse(queries):
            near = from_graph(queries, own, radius)
        else:
            near = self._index.within(queries, radius, own, by_distance=by_distance)
        return near._replace(rows=self._numbered(near.rows))

    def radius_neighbors_graph(
        self, X: Any = None, radius: Any = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """The graph of rows within a radius, CSR (n_queries, n_samples_fit): ones, or distances with mode "distance",
        by distance if `sort_results`.
        """
        check_is_fitted(self)
        check_mode(mode)
        near = self._within(X, self.radius if radius is None else radius, sort_results and mode == "distance")
        return graph(near, mode, self.n_samples_fit_)


def check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead')


def graph(near: Near, mode: str, columns: int) -> Any:
    """A sparse matrix of neighbours: ones or distances, in the order in which they were found."""
    data = np.ones(len(near.rows)) if mode == "connectivity" else near.distances
    return sparse.csr_matrix((data, near.rows, near.offsets), shape=(len(near.offsets) - 1, columns))


def lists(parts: list[Any]) -> Any:
    """An array of arrays."""
    found = np.empty(len(parts), dtype=object)
    found[:] = parts
    return found
