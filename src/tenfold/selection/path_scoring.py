"""All penalties of a path scored on one split by one fit: what the classes that end in CV do, for a single split.

The training rows and the rows to test on are given to the class that chooses, with this one split. Its scores are those
of one fit for each penalty, to the rounding of a closed form or the tolerance of a path.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import tenfold
import tenfold.estimators as ours
from tenfold.arrays import Floats, is_sparse
from tenfold.selection.fitting import Data, Params

MSE = "neg_mean_squared_error"


@dataclass(frozen=True)
class Path:
    """Which class scores all values of a parameter, what it calls them, and how its scores are read.

    `only` is the one score that it can give; None stands for any by name.
    """

    chooser: str
    parameter: str
    values: str
    read: Callable[[Any, Floats], Floats]
    fixed: dict[str, Any]
    only: str | None = None


def _of_errors(model: Any, values: Floats) -> Floats:
    return -np.asarray(model.cv_errors_)


def _of_scores(model: Any, values: Floats) -> Floats:
    return np.asarray(model.scores_).reshape(-1)


def _of_squares(model: Any, values: Floats) -> Floats:
    place = {float(alpha): i for i, alpha in enumerate(model.alphas_)}
    errors = np.asarray(model.mse_path_).reshape(-1)
    return -errors[[place[float(value)] for value in values]]


LOGISTIC = {"use_legacy_attributes": False, "refit": False}
PATHS = {
    "Ridge": Path("RidgeCV", "alpha", "alphas", _of_errors, {}),
    "RidgeClassifier": Path("RidgeClassifierCV", "alpha", "alphas", _of_errors, {}),
    "LogisticRegression": Path("LogisticRegressionCV", "C", "Cs", _of_scores, LOGISTIC),
    "Lasso": Path("LassoCV", "alpha", "alphas", _of_squares, {}, MSE),
    "ElasticNet": Path("ElasticNetCV", "alpha", "alphas", _of_squares, {}, MSE),
}
SHARED = frozenset(
    {"fit_intercept", "max_iter", "tol", "positive", "l1_ratio", "class_weight", "solver", "random_state"}
)
"""Parameters that mean the same in both classes; where others are set, every value is fitted by itself."""


def path_of(model: Any, scoring: str) -> Path | None:
    """The path that can score this estimator, with its settings as they are."""
    if not type(model).__module__.startswith(ours.__name__):
        return None
    path = PATHS.get(type(model).__name__)
    if path is None or scoring == "score" or (path.only is not None and scoring != path.only):
        return None
    own, usual = model.get_params(deep=False), type(model)().get_params(deep=False)
    changed = {name for name in own if name != path.parameter and own[name] is not usual[name]}
    if type(model).__name__ != "LogisticRegression" and "solver" in changed:
        return None
    return path if changed <= SHARED else None


def scores_together(path: Path, model: Any, values: list[Any], train: Data, test: Data, scoring: str) -> Floats | None:
    """Scores of all values of the path's parameter on one split; None where they cannot be had at once."""
    grid = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(grid).all() and (grid > 0).all() and len(np.unique(grid)) == len(grid)):
        return None
    X = _stacked(train.X, test.X)
    if X is None:
        return None
    chooser = getattr(tenfold, path.chooser)
    n, m = len(train.y), len(test.y)
    settings: Params = {**path.fixed, path.values: grid, "cv": [(np.arange(n), np.arange(n, n + m))]}
    own = model.get_params(deep=False)
    if path.chooser == "LogisticRegressionCV":
        settings["l1_ratios"] = (own["l1_ratio"] or 0.0,)
    known = chooser().get_params(deep=False)
    settings |= {name: own[name] for name in SHARED & own.keys() & known.keys()}
    if "scoring" in known:
        settings["scoring"] = scoring
    weight = None if train.weight is None else np.concatenate([train.weight, test.weight])
    extra = {} if weight is None else {"sample_weight": weight}
    fitted = chooser(**settings).fit(X, np.concatenate([train.y, test.y]), **extra)
    return path.read(fitted, grid)


def _stacked(one: Any, other: Any) -> Any:
    """Rows of two matrices below each other; None where they are no arrays."""
    if is_sparse(one) and is_sparse(other):
        return sparse.vstack([one, other]).tocsr()
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([one, other])
    return None
