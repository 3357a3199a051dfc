"""The delta rule: linear models that learn from one row at a time."""

from tenfold.estimators.sgd.classifier import SGDClassifier
from tenfold.estimators.sgd.one_class import SGDOneClassSVM
from tenfold.estimators.sgd.passive_aggressive import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from tenfold.estimators.sgd.regressor import SGDRegressor

__all__ = [
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "SGDClassifier",
    "SGDOneClassSVM",
    "SGDRegressor",
]
