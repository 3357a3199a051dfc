"""Tampered copies of fitted models: every public fitted name, found by itself, changed in every way that changes it.

`tamper(model)` yields a `Tampered` for each name that ends in an underscore, attribute or property, and each change:
scaled, moved, zeroed, two entries exchanged, an axis reversed, integers by one. What a change leaves as it was is left
out, and so is a property that cannot be set: it is computed from other names.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from namespaces import host

OUTSIDE = {
    "certificate_": "the verdict itself",
    "trace_": "the course of the solver, which the judge never reads",
    "feature_names_in_": "names, not numbers",
}


class Tampered(NamedTuple):
    """A copy of a model in which one name was changed."""

    name: str
    change: str
    model: Any


def list_fitted_names(model: Any) -> list[str]:
    """Public fitted names, attributes and properties, that hold numbers."""
    properties = (name for name, _ in inspect.getmembers(type(model), lambda entry: isinstance(entry, property)))
    names = {name for name in (*vars(model), *properties) if name.endswith("_") and not name.startswith("_")}
    return sorted(name for name in names - set(OUTSIDE) if _numeric(read(model, name)))


def read(model: Any, name: str) -> Any:
    """The value of a name, None where it is refused."""
    try:
        return getattr(model, name)
    except (AttributeError, ValueError):
        return None


def _numeric(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_numeric(part) for part in value)
    if isinstance(value, dict):
        return any(_numeric(part) for part in value.values())
    if isinstance(value, (bool, int, float)) or sparse.issparse(value):
        return True
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufUSO" and value.size > 0


def scale_a_little(a: Any) -> Any:
    return a * (1.0 + 1e-3)


def scale_tenfold(a: Any) -> Any:
    return a * 10


def move(a: Any) -> Any:
    return a + 1e-3 * (float(np.sqrt(np.mean(np.square(a[np.isfinite(a)])))) if np.isfinite(a).any() else 1.0)


def zero(a: Any) -> Any:
    return np.zeros_like(a)


def swap(a: Any) -> Any:
    """Exchange the first entry with the first that is not equal to it."""
    flat = a.ravel().copy()
    others = np.flatnonzero(flat != flat[0])
    if others.size:
        flat[[0, others[0]]] = flat[[others[0], 0]]
    return flat.reshape(a.shape)


def reverse_first(a: Any) -> Any:
    return a[::-1] if a.ndim else a


def reverse_last(a: Any) -> Any:
    return a[..., ::-1] if a.ndim > 1 else a


def add_one(a: Any) -> Any:
    return a + 1


def subtract_one(a: Any) -> Any:
    return a - 1


def flip(a: Any) -> Any:
    return ~a


ORDERS = (swap, reverse_first, reverse_last)
CHANGES: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "f": (scale_a_little, scale_tenfold, move, zero, *ORDERS),
    "i": (scale_tenfold, zero, add_one, subtract_one, *ORDERS),
    "u": (scale_tenfold, zero, add_one, *ORDERS),
    "b": (flip, *ORDERS),
    "U": ORDERS,
    "S": ORDERS,
    "O": ORDERS,
}


def _change(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value after a change, None where it does not apply or changes nothing."""
    if sparse.issparse(value):
        data = _change(value.data, change)
        if data is None:
            return None
        moved = value.copy()
        moved.data = data
        return moved
    array = np.asarray(value)
    if array.size == 0 or change not in CHANGES.get(array.dtype.kind, ()):
        return None
    with np.errstate(all="ignore"):
        moved = np.asarray(change(array)).astype(array.dtype)
    if np.array_equal(moved, array, equal_nan=array.dtype.kind == "f"):
        return None
    return moved if isinstance(value, np.ndarray) else type(value)(moved[()])


def _places(value: Any) -> list[Any]:
    """Where a change is made: in all of an array or a number, in the first or the last part of a list or a dict."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [key for key in dict.fromkeys((*keys[:1], *keys[-1:])) if _numeric(value[key])]


def change_values(value: Any) -> Iterator[tuple[str, Any]]:
    """(what was done, the changed value), for every change that applies."""
    if isinstance(value, (list, tuple, dict)):
        for place in _places(value):
            for change, part in change_values(value[place]):
                parts = dict(value) if isinstance(value, dict) else list(value)
                parts[place] = part
                yield f"[{place}] {change}", tuple(parts) if isinstance(value, tuple) else parts
        return
    for change in dict.fromkeys(change for changes in CHANGES.values() for change in changes):
        moved = _change(value, change)
        if moved is not None:
            yield change.__name__.replace("_", " "), moved


def tamper(model: Any) -> Iterator[Tampered]:
    """All tampered copies of a fitted model."""
    for name in list_fitted_names(model):
        for change, value in change_values(read(model, name)):
            worse = copy.deepcopy(model)
            try:
                setattr(worse, name, value)
            except AttributeError:
                break  # a property that is computed
            yield Tampered(name, change, worse)


COMPARED_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")


def outputs(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """What the methods of a model return, or the error that they raise."""
    result: dict[str, Any] = {}
    for method in (*COMPARED_METHODS, "predict_interval"):
        if hasattr(model, method):
            result[method] = _ask(lambda method=method: getattr(model, method)(X))
    if hasattr(model, "score"):
        result["score"] = _ask(lambda: model.score(X, y))
    return result


def _ask(call: Callable[[], Any]) -> Any:
    try:
        answer = call()
    except Exception as error:
        return type(error)
    parts = answer if isinstance(answer, (tuple, list)) else (answer,)
    return [part.toarray() if sparse.issparse(part) else host(part) for part in parts]


def same_or_raises(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Methods whose answers are neither equal to the bit nor errors."""
    return [
        method
        for method, answer in after.items()
        if not isinstance(answer, type)
        and not (
            not isinstance(before[method], type)
            and all(
                np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
                for one, other in zip(before[method], answer, strict=True)
            )
        )
    ]
