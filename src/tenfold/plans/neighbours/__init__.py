"""Neighbours: an index of the rows, searches in it, what neighbours say of a query, and sums of windows."""

from tenfold.plans.neighbours.condensed import centres_of_classes
from tenfold.plans.neighbours.index import Index, Near, built, from_graph
from tenfold.plans.neighbours.said import means, shares, weighed
from tenfold.plans.neighbours.windows import (
    Tolerance,
    bandwidths_to_try,
    likelihoods_left_out,
    log_densities,
    log_volume,
    rule_of_thumb,
    tree_of,
    window_sums,
)

__all__ = [
    "Index",
    "Near",
    "Tolerance",
    "bandwidths_to_try",
    "built",
    "centres_of_classes",
    "from_graph",
    "likelihoods_left_out",
    "log_densities",
    "log_volume",
    "means",
    "rule_of_thumb",
    "shares",
    "tree_of",
    "weighed",
    "window_sums",
]
