"""The family of least squares."""

from tenfold.estimators.least_squares.cv import RidgeClassifierCV, RidgeCV
from tenfold.estimators.least_squares.functions import ridge_path, ridge_regression
from tenfold.estimators.least_squares.ordinary import LinearRegression
from tenfold.estimators.least_squares.ridge import Ridge, RidgeClassifier

__all__ = [
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "ridge_path",
    "ridge_regression",
]
