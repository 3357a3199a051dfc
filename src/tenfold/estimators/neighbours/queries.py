"""Queries of stored samples: the k nearest, all within a radius, and graphs of either."""

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, is_array_api, is_dask, is_sparse, like, namespace, on_host
from tenfold.estimators.neighbours.neighbors_model import NeighborsBase, SupervisedNeighbors
from tenfold.estimators.neighbours.remote_queries import Formatter, is_in_memory
from tenfold.pairwise import NearestRequest, Neighbours, RadiusRequest, Request


class KNeighborsMixin(NeighborsBase):
    """`kneighbors` and its graph."""

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and indices of the nearest samples of the fit.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), table, Dask collection, or array on a device, default=None
            The queries, dense or sparse; distances (n_queries, n_samples_fit) with metric "precomputed". None asks for
            the neighbours of the samples of the fit, none of which is its own.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        neigh_dist : array of shape (n_queries, n_neighbors)
            Distances, the nearest first; only with `return_distance`.
        neigh_ind : array of shape (n_queries, n_neighbors)
            Indices of the neighbours among the samples of the fit.
        """
        request = self._nearest(n_neighbors)
        k = request.k
        # without X one more, which tells whether duplicates of a sample with lower indices fill the list; a graph says
        # itself which sample is its own
        more = X is None and k < self._index.count - 1 and not (self.metric == "precomputed" and is_sparse(self._fit_X))
        request = replace(request, k=k + 1) if more else request
        if is_in_memory(self, X):
            distances, rows = self._search(X, request).table(request.k)
        else:
            result = self._answer(X, request, Formatter(partial(_beside, request.k), np.zeros((0, 2 * request.k))))
            distances, rows = result[:, : request.k], _whole(result[:, request.k :])
        if more:
            xp, own = namespace(rows), like(np.arange(rows.shape[0]), rows)
            hidden = (distances[:, k:] == 0.0) & (rows[:, k:] < own[:, None])
            distances, rows = distances[:, :k], xp.where(hidden, rows[:, 1:], rows[:, :k])
        return (distances, rows) if return_distance else rows

    def _nearest(self, n_neighbors: Any = None) -> NearestRequest:
        """The request for n_neighbors, or that of the constructor."""
        check_is_fitted(self)
        return NearestRequest(self._check_k(n_neighbors))

    def _check_k(self, n_neighbors: Any) -> int:
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        elif n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        if not isinstance(n_neighbors, Integral):
            raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
        return int(n_neighbors)

    def _request(self) -> Request:
        return self._nearest()

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The graph of the nearest samples of the fit, in memory.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), table, Dask collection, or array on a device, default=None
            The queries, dense or sparse; distances (n_queries, n_samples_fit) with metric "precomputed". None asks for
            the neighbours of the samples of the fit, none of which is its own.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.

        Returns
        -------
        A : sparse matrix of shape (n_queries, n_samples_fit)
            The graph in CSR format.
        """
        check_is_fitted(self)
        check_mode(mode)
        distances, rows = (on_host(part) for part in self.kneighbors(X, n_neighbors))
        return graph(Neighbours.from_table(distances, rows), mode, self.n_samples_fit_)


class SupervisedKNeighbors(SupervisedNeighbors, KNeighborsMixin):
    """Predictions from the k nearest samples, by scikit-learn's parameters."""

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
        super().__init__(algorithm, leaf_size, p, metric, metric_params, n_jobs)


class RadiusNeighborsMixin(NeighborsBase):
    """`radius_neighbors` and its graph."""

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Distances and indices of all samples of the fit within a radius; one at this distance is among them.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), table, Dask collection, or array on a device, default=None
            The queries, dense or sparse; distances (n_queries, n_samples_fit) with metric "precomputed". None asks for
            the neighbours of the samples of the fit, none of which is its own.
        radius : float or array-like of shape (n_queries,), default=None
            The radius; None takes that of the constructor. One for each query may be given where the queries are in
            memory.
        return_distance : bool, default=True
            Whether to return the distances, too.
        sort_results : bool, default=False
            Whether neighbours are sorted by distance; else they are in the order of the samples.

        Returns
        -------
        neigh_dist : array of shape (n_queries,) of arrays
            Distances; only with `return_distance`. Lists have different lengths: those of queries on a device are in
            memory.
        neigh_ind : array of shape (n_queries,) of arrays
            Indices of the neighbours among the samples of the fit.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        result = self._answer(X, self._within(radius, sort_results), Formatter(_lists, np.empty((0, 2), dtype=object)))
        return (result[:, 0], result[:, 1]) if return_distance else result[:, 1]

    def _within(self, radius: Any = None, by_distance: bool = False) -> RadiusRequest:
        """The request for a radius, or that of the constructor."""
        return RadiusRequest(self.radius if radius is None else radius, by_distance)

    def _request(self) -> Request:
        return self._within()

    def radius_neighbors_graph(
        self, X: Any = None, radius: Any = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """The graph of the samples of the fit within a radius, in memory.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), table, Dask collection, or array on a device, default=None
            The queries, dense or sparse; distances (n_queries, n_samples_fit) with metric "precomputed". None asks for
            the neighbours of the samples of the fit, none of which is its own.
        radius : float or array-like of shape (n_queries,), default=None
            The radius; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.
        sort_results : bool, default=False
            Whether entries of a query are sorted by distance, with mode "distance".

        Returns
        -------
        A : sparse matrix of shape (n_queries, n_samples_fit)
            The graph in CSR format.
        """
        check_is_fitted(self)
        check_mode(mode)
        request = self._within(radius, sort_results and mode == "distance")
        if is_in_memory(self, X):
            return graph(self._search(X, request), mode, self.n_samples_fit_)
        result = on_host(self._answer(X, request, Formatter(_lists, np.empty((0, 2), dtype=object))))
        offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in result[:, 1]])])
        near = Neighbours(offsets, *(np.concatenate(list(result[:, i])) for i in range(2)))
        return graph(near, mode, self.n_samples_fit_)


def _beside(k: int, near: Neighbours) -> Floats:
    """Distances and samples of k neighbours each, in one array (m, 2 k)."""
    return np.concatenate(near.table(k), axis=1)


def _whole(numbers: Array) -> Array:
    """Indices of samples as integers where they are whole."""
    xp = namespace(numbers)
    return numbers.astype(np.int64) if is_dask(numbers) or not is_array_api(numbers) else xp.astype(numbers, xp.int64)


def _lists(near: Neighbours) -> Array:
    """Distances and samples of each query, an array (m, 2) of arrays."""
    result = np.empty((len(near.offsets) - 1, 2), dtype=object)
    for j, part in enumerate((near.distances, near.rows)):
        for i, one in enumerate(np.split(part, near.offsets[1:-1])[: len(result)]):
            result[i, j] = one
    return result


def check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead')


def graph(near: Neighbours, mode: str, columns: int) -> Any:
    """A sparse matrix of neighbours: ones or distances, in the order in which they were returned."""
    data = np.ones(len(near.rows)) if mode == "connectivity" else near.distances
    return sparse.csr_matrix((data, near.rows, near.offsets), shape=(len(near.offsets) - 1, columns))
