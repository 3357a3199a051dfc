"""Scores of all penalties of a path on one split, by one fit.

The training and the test samples are given to the class with cross-validation (RidgeCV for Ridge), with this one split.
Its scores are those of one fit for each penalty, up to rounding of a closed form or the tolerance of a path solver. The
registrations of the classes say which one scores which (`PathScores`).
"""

from typing import Any

import numpy as np
from scipy import sparse

import tenfold
from tenfold.arrays import Floats, is_sparse
from tenfold.estimators.registration import registration_of
from tenfold.estimators.tuning import PathScores
from tenfold.selection.fitting import Data, Params


def path_of(model: Any, scoring: str) -> PathScores | None:
    """How all penalties of this estimator are scored by one fit, with its parameters as they are; None where not."""
    registration = registration_of(type(model))
    path = None if registration is None else registration.path
    if path is None or scoring == "score" or (path.scoring and scoring != path.scoring):
        return None
    params, defaults = model.get_params(deep=False), type(model)().get_params(deep=False)
    changed = {name for name in params if name != path.parameter and params[name] is not defaults[name]}
    return path if changed <= path.common else None


def score_path(path: PathScores, model: Any, values: list[Any], train: Data, test: Data, scoring: str) -> Floats | None:
    """Scores of all values of the path's parameter on one split; None where one fit cannot give them."""
    grid = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(grid).all() and (grid > 0).all() and len(np.unique(grid)) == len(grid)):
        return None
    X = _stack(train.X, test.X)
    if X is None:
        return None
    cv_class = getattr(tenfold, path.cv_class)
    n, m = len(train.y), len(test.y)
    settings: Params = {**path.settings, path.values: grid, "cv": [(np.arange(n), np.arange(n, n + m))]}
    params = model.get_params(deep=False)
    settings |= {values: (params[name] or 0.0,) for name, values in path.listed.items()}
    accepted = cv_class().get_params(deep=False)
    settings |= {name: params[name] for name in path.common & params.keys() & accepted.keys()}
    if "scoring" in accepted:
        settings["scoring"] = scoring
    weight = None if train.weight is None else np.concatenate([train.weight, test.weight])
    extra = {} if weight is None else {"sample_weight": weight}
    fitted = cv_class(**settings).fit(X, np.concatenate([train.y, test.y]), **extra)
    return path.scores(fitted, grid)


def _stack(first: Any, second: Any) -> Any:
    """Samples of two matrices below each other; None where they are not arrays."""
    if is_sparse(first) and is_sparse(second):
        return sparse.vstack([first, second]).tocsr()
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second])
    return None
