"""Discriminants: Gaussian classes, linear and quadratic, and nearest centroids."""

from tenfold.estimators.discriminant.linear import LinearDiscriminantAnalysis
from tenfold.estimators.discriminant.quadratic import QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
