"""Nearest neighbours."""

from tenfold.estimators.neighbours.classes import KNeighborsClassifier
from tenfold.estimators.neighbours.graphs import (
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
)
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.neighbours.numbers import KNeighborsRegressor
from tenfold.estimators.neighbours.within import RadiusNeighborsClassifier, RadiusNeighborsRegressor

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "kneighbors_graph",
    "radius_neighbors_graph",
]
