"""Neighbours: an index of the rows, searches in it, and what neighbours say of a query."""

from tenfold.plans.neighbours.index import Index, Near, built, from_graph
from tenfold.plans.neighbours.said import means, shares, weighed

__all__ = ["Index", "Near", "built", "from_graph", "means", "shares", "weighed"]
