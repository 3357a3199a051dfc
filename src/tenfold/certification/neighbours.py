"""Models that keep their rows: these are compared with those given, and their neighbours with plain distances."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Integers, is_sparse
from tenfold.certification.models import known
from tenfold.estimators.contract import validate_weights
from tenfold.estimators.neighbours import Histogram, KernelDensity, ParzenRegressor
from tenfold.judge import Certificate
from tenfold.judge import neighbours as judge


def index(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The judge asks the model for neighbours of some of its rows, as anybody would."""
    stored: dict[str, tuple[Any, Any]] = {}
    kept = model._fit_X
    given = X if is_sparse(X) else np.asarray(X, dtype=kept.dtype if kept.dtype in FLOATS else None)
    stored["the rows"] = (kept, given)
    if hasattr(model, "_y") and model._y is not None:
        if y is None:
            raise ValueError(f"{type(model).__name__} was fitted with targets: give y.")
        stored["the targets"] = (_targets(model), np.asarray(y).reshape(np.shape(_targets(model))))
    weight = validate_weights(sample_weight, kept)
    votes = getattr(model, "_votes", None)
    ones = np.ones(kept.shape[0])
    stored["the weights"] = (ones if votes is None else votes, ones if weight is None else weight)
    places = np.flatnonzero(votes) if votes is not None else np.arange(kept.shape[0])
    question = {"metric": model.effective_metric_, "params": model.effective_metric_params_}
    k = getattr(model, "n_neighbors_", getattr(model, "n_neighbors", None))
    k = None if k is None else min(int(k), len(places) - 1)
    question |= {"k": k, "radius": None if k is not None else model.radius}
    if model.effective_metric_ == "precomputed":
        return judge.neighbours(stored, kept, **question, asked=np.zeros(0, dtype=np.intp), found=lambda _: [])
    rows = kept[places]
    asked = judge.sample(rows.shape[0], rows.shape[1])
    return judge.neighbours(
        stored, rows, **question, asked=asked, found=lambda some: _found(model, rows, places, some, k)
    )


def _targets(model: Any) -> Any:
    if not hasattr(model, "classes_"):
        return model._y
    if not model.outputs_2d_:
        return model.classes_[model._y]
    return np.column_stack([classes[model._y[:, t]] for t, classes in enumerate(model.classes_)])


def _found(model: Any, rows: Any, places: Integers, asked: Integers, k: int | None) -> list[judge.Answer]:
    """Neighbours of some rows, other than these: one more is asked for, and the row itself left out."""
    number = np.full(int(places.max(initial=0)) + 1, -1)
    number[places] = np.arange(len(places))
    found = []
    if k is not None:
        answers = zip(*model.kneighbors(rows[asked], k + 1), strict=True)
    else:
        answers = zip(*model.radius_neighbors(rows[asked]), strict=True)
    for self, (distances, near) in zip(asked, answers, strict=True):
        near = number[near]
        others = near != self
        if k is not None and others.all():  # more rows at its place than neighbours
            others[-1] = False
        found.append((distances[others], near[others]))
    return found


def density(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Windows and histograms; scikit-learn's density is asked for its own logarithms."""
    ours = model if hasattr(model, "judged") else _as_ours(model)
    X = validate_data(ours, X, order="C", dtype=np.float64, reset=False)
    weight = validate_weights(sample_weight, X)
    if isinstance(ours, Histogram):
        return ours.judged(X, weight)
    y = None if y is None else np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    if weight is not None and not weight.all():
        X, y, weight = X[weight > 0], None if y is None else y[weight > 0], weight[weight > 0]
    if not isinstance(ours, ParzenRegressor):
        return ours.judged(X, weight)
    if y is None:
        raise ValueError("ParzenRegressor was fitted with targets: give y.")
    return ours.judged(X, y, weight)


class _Asked(KernelDensity):
    """A density of scikit-learn's, in the shape of ours; its own logarithms are judged."""

    def _logs(self, queries: Any) -> Any:
        return self._his.score_samples(queries)


def _as_ours(model: Any) -> Any:
    ours = _Asked(**model.get_params(deep=False))
    ours._his, ours._rows = model, np.asarray(model.tree_.data)
    ours.bandwidth_, ours.n_features_in_ = model.bandwidth_, model.n_features_in_
    return ours


JUDGES: dict[str, Callable[..., Certificate]] = dict.fromkeys(
    (
        "NearestNeighbors",
        "KNeighborsClassifier",
        "KNeighborsClassifierCV",
        "KNeighborsCV",
        "KNeighborsRegressor",
        "KNeighborsTransformer",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
        "RadiusNeighborsTransformer",
    ),
    index,
)
JUDGES |= dict.fromkeys(("KernelDensity", "ParzenRegressor", "Histogram"), density)


def prototypes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Means of the rows of each class that are nearest to a prototype."""
    X, y = validate_data(model, X, y, dtype=np.float64, order="C", reset=False)
    weight = validate_weights(sample_weight, X)
    known(model, y)
    if weight is not None and not weight.all():
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    return model.judged(X, np.searchsorted(model.classes_, y), weight)


JUDGES["PrototypeClassifier"] = prototypes
