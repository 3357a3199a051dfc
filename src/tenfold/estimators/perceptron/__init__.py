"""Perceptrons: Rosenblatt's, the mean of its weights, and their votes."""

from tenfold.estimators.perceptron.averaged import AveragedPerceptron
from tenfold.estimators.perceptron.last import Perceptron
from tenfold.estimators.perceptron.voted import VotedPerceptron

__all__ = ["AveragedPerceptron", "Perceptron", "VotedPerceptron"]
