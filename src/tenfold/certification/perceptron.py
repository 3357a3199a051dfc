"""Perceptrons: the mistakes of the fitted model, counted again."""

from typing import Any

import numpy as np

from tenfold.arrays import contiguous
from tenfold.certification.models import known, params, status, validated
from tenfold.data import Rows
from tenfold.estimators.classes import numbered
from tenfold.estimators.contract import as_rows, validate_weights
from tenfold.estimators.perceptron.mistaken import problem_of, weights_of_rows
from tenfold.judge import Certificate
from tenfold.judge.counts import count, count_votes
from tenfold.problems import Separation


def linear(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    problem, rows = _given(model, X, y, sample_weight)
    fitted, dtype = params(model, problem.targets)
    return count(problem, rows, fitted, status=status(model), dtype=dtype)


def votes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    problem, rows = _given(model, X, y, sample_weight)
    return count_votes(problem, rows, model._voters, status=status(model))


def _given(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Separation, Rows]:
    X, y = validated(model, X, y, numeric=False)
    known(model, y)
    label = numbered(model.classes_, y, X)
    weight = weights_of_rows(model, label, validate_weights(sample_weight, X))
    return problem_of(model), as_rows(contiguous(X) if isinstance(X, np.ndarray) else X, label, weight)


JUDGES = {"Perceptron": linear, "AveragedPerceptron": linear, "VotedPerceptron": votes}
