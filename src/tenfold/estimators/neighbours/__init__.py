"""Nearest neighbours, and densities and means by windows."""

from tenfold.estimators.neighbours.classes import KNeighborsClassifier
from tenfold.estimators.neighbours.condensed import PrototypeClassifier
from tenfold.estimators.neighbours.cv import KNeighborsClassifierCV, KNeighborsCV
from tenfold.estimators.neighbours.density import KernelDensity
from tenfold.estimators.neighbours.graphs import (
    KNeighborsTransformer,
    RadiusNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
)
from tenfold.estimators.neighbours.histogram import Histogram
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.neighbours.numbers import KNeighborsRegressor
from tenfold.estimators.neighbours.parzen import ParzenRegressor
from tenfold.estimators.neighbours.within import RadiusNeighborsClassifier, RadiusNeighborsRegressor

__all__ = [
    "Histogram",
    "KNeighborsCV",
    "KNeighborsClassifier",
    "KNeighborsClassifierCV",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "KernelDensity",
    "NearestNeighbors",
    "ParzenRegressor",
    "PrototypeClassifier",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
    "kneighbors_graph",
    "radius_neighbors_graph",
]
