"""Logistic regression of two classes and more."""

from tenfold.estimators.logistic.regression import LogisticRegression

__all__ = ["LogisticRegression"]
