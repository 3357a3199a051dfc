"""Stored samples and pairwise tiles: what neighbours, k-means, kernel density and kernel methods have in common.

A tile is a block of queries and a block of stored samples: their distances or inner products, an elementwise function,
and a running reduction - the k nearest, all within a radius, a log-sum-exp, the nearest centre, a product with vectors.
No array of all queries and all samples is formed unless a block is requested. The compiled tiles are in
core/include/tenfold/pairwise.hpp; the same in the Array API serves samples of other libraries.
"""

from tenfold.pairwise.array_api import supports_distance
from tenfold.pairwise.functions import PairFunction
from tenfold.pairwise.kernel_sums import Tolerance, density_tree, log_kernel_sums, log_volume, sum_kernels
from tenfold.pairwise.neighbour_lists import Neighbours
from tenfold.pairwise.out_of_core import (
    BlockSearch,
    NearestRequest,
    NeighbourRequest,
    NeighbourSamples,
    RadiusRequest,
    Request,
    RowsSamples,
    collect_rows,
    number_rows,
    search_rows,
)
from tenfold.pairwise.out_of_core_sums import KernelSamples, KernelSum, KernelSumRequest
from tenfold.pairwise.stored_samples import StoredPoints, StoredSamples, cast, empty, mirror, store_samples

__all__ = [
    "BlockSearch",
    "KernelSamples",
    "KernelSum",
    "KernelSumRequest",
    "NearestRequest",
    "NeighbourRequest",
    "NeighbourSamples",
    "Neighbours",
    "PairFunction",
    "RadiusRequest",
    "Request",
    "RowsSamples",
    "StoredPoints",
    "StoredSamples",
    "Tolerance",
    "cast",
    "collect_rows",
    "density_tree",
    "empty",
    "log_kernel_sums",
    "log_volume",
    "mirror",
    "number_rows",
    "search_rows",
    "store_samples",
    "sum_kernels",
    "supports_distance",
]
