"""Logistic regression of two classes and more."""

from tenfold.estimators.logistic.cv import LogisticRegressionCV
from tenfold.estimators.logistic.regression import LogisticRegression
from tenfold.estimators.logistic.smallest import l1_min_c

__all__ = ["LogisticRegression", "LogisticRegressionCV", "l1_min_c"]
