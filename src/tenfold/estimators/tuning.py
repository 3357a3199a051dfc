"""How estimators select hyper-parameters by themselves, and how a path of penalties is scored by one fit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from tenfold.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How a class with cross-validation of its own (RidgeCV, LassoCV) selects hyper-parameters.

    Attributes
    ----------
    single : name of the class that fits one candidate; empty where there is none
    selected : fitted attributes with the selected values, by parameters of `single`
    candidates : fitted attributes with all candidates, by parameters of `single`; a name without underscore is a
        parameter of the class itself
    leave_one_out : whether it selects by exact leave-one-out where no folds are given
    refits : whether each candidate costs a fit of its own
    """

    single: str = ""
    selected: Mapping[str, str]
    candidates: Mapping[str, str] = field(default_factory=dict)
    leave_one_out: bool = False
    refits: bool = False

    def count_candidates(self, model: Any) -> int:
        """Number of candidates that a fitted model compared."""
        if not self.candidates:
            return int(np.asarray(getattr(model, "mse_path_", [0])).shape[0])
        return len(self.settings(model))

    def settings(self, model: Any) -> list[dict[str, Any]]:
        """All candidates of a fitted model, as parameters of `single`."""
        values = {name: np.asarray(getattr(model, attribute)) for name, attribute in self.candidates.items()}
        nested = next((name for name in values if values[name].ndim == 2), None)
        if nested is not None:  # a grid of penalties for each l1_ratio
            other = next(name for name in values if name != nested)
            grids = zip(np.atleast_1d(values[other]), values[nested], strict=True)
            return [{nested: float(value), other: float(ratio)} for ratio, grid in grids for value in grid]
        combinations = product(*(np.atleast_1d(column).tolist() for column in values.values()))
        return [
            {name: value for name, value in zip(values, combination, strict=True) if value is not None}
            for combination in combinations
        ]


def read_cv_errors(model: Any, values: Floats) -> Floats:
    """Scores of RidgeCV and RidgeClassifierCV: `cv_errors_`, negated."""
    return -np.asarray(model.cv_errors_)


def read_scores(model: Any, values: Floats) -> Floats:
    """Scores of LogisticRegressionCV: `scores_`."""
    return np.asarray(model.scores_).reshape(-1)


def read_mse_path(model: Any, values: Floats) -> Floats:
    """Scores of LassoCV and ElasticNetCV: `mse_path_`, negated, in the order of `values`."""
    index = {float(alpha): i for i, alpha in enumerate(model.alphas_)}
    errors = np.asarray(model.mse_path_).reshape(-1)
    return -errors[[index[float(value)] for value in values]]


COMMON_PARAMETERS = frozenset(
    {"fit_intercept", "max_iter", "tol", "positive", "l1_ratio", "class_weight", "random_state"}
)


@dataclass(frozen=True, kw_only=True)
class PathScores:
    """How the class with cross-validation scores all values of a parameter of this class on one split, by one fit.

    Attributes
    ----------
    cv_class : name of the class with cross-validation
    parameter : the parameter of this class
    values : the parameter of `cv_class` that takes all its values
    scores : reads the scores from the fitted model, in the order of the values
    settings : parameters that `cv_class` gets in addition
    scoring : the only score that it computes; empty where it takes any by name
    common : parameters that mean the same in both classes; where others are set, each value is fitted separately
    listed : parameters that `cv_class` takes as a list of values, by their names here
    """

    cv_class: str
    parameter: str
    values: str
    scores: Callable[[Any, Floats], Floats]
    settings: Mapping[str, Any] = field(default_factory=dict)
    scoring: str = ""
    common: frozenset[str] = COMMON_PARAMETERS
    listed: Mapping[str, str] = field(default_factory=dict)
