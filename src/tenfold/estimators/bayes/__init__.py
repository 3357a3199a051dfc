"""Naive Bayes: columns that are independent within each class."""

from tenfold.estimators.bayes.categorical import CategoricalNB
from tenfold.estimators.bayes.discrete import BernoulliNB, ComplementNB, MultinomialNB
from tenfold.estimators.bayes.gaussian import GaussianNB
from tenfold.estimators.bayes.mixed import MixedNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MixedNB", "MultinomialNB"]
