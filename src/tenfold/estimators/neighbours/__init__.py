"""Nearest neighbours."""

from tenfold.estimators.neighbours.classes import KNeighborsClassifier
from tenfold.estimators.neighbours.nearest import NearestNeighbors
from tenfold.estimators.neighbours.numbers import KNeighborsRegressor
from tenfold.estimators.neighbours.searched import Searched

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors", "Searched"]
