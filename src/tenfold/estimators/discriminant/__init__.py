"""Discriminants: Gaussian classes, linear and quadratic, nearest centroids, and classes whose densities are known."""

from tenfold.estimators.discriminant.centroid import NearestCentroid
from tenfold.estimators.discriminant.known import BayesClassifier
from tenfold.estimators.discriminant.linear import LinearDiscriminantAnalysis
from tenfold.estimators.discriminant.plug_in import GaussianPlugIn
from tenfold.estimators.discriminant.quadratic import QuadraticDiscriminantAnalysis

__all__ = [
    "BayesClassifier",
    "GaussianPlugIn",
    "LinearDiscriminantAnalysis",
    "NearestCentroid",
    "QuadraticDiscriminantAnalysis",
]
