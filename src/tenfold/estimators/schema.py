"""Schemas of fitted models: the type, the shape with named sizes, and the range of each attribute.

Sizes have names within one model: ``floats("t p")`` is a matrix whose second side is the number of columns, and whose
first must be the same wherever ``t`` is written. A name that has no size yet gets that of the first array that has it;
a number stands for itself, ``p+t`` for a sum, ``*`` for any size, and ``...`` for any shape.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tenfold.arrays import is_sparse

Scope = dict[str, int]
"""Sizes by their names."""

NUMBERS = {"f": "f", "i": "iu", "b": "b", "c": "c"}


@dataclass(frozen=True)
class Check:
    """A test of a value, which may bind names of sizes, and a description of what it requires."""

    words: str
    test: Callable[[Any, Scope], bool]

    def __or__(self, other: "Check") -> "Check":
        def test(value: Any, scope: Scope) -> bool:
            for check in (self, other):
                tried = dict(scope)
                if check.test(value, tried):
                    scope.update(tried)
                    return True
            return False

        return Check(f"{self.words} or {other.words}", test)


def fits(shape: tuple[int, ...], wanted: str, scope: Scope) -> bool:
    """Whether a shape matches the wanted one; binds names that have no size yet."""
    if wanted == "...":
        return True
    sides = wanted.split()
    if len(sides) != len(shape):
        return False
    for size, side in zip(shape, sides, strict=True):
        if side == "*":
            continue
        terms = [int(term) if term.isdigit() else scope.get(term) for term in side.split("+")]
        if None not in terms:
            if sum(term for term in terms if term is not None) != size:
                return False
        elif len(terms) > 1:
            return False
        else:
            scope[side] = size
    return True


def _size(bound: float | str, scope: Scope) -> float:
    """A bound that is a number, or a size minus one: the last index."""
    return float(scope.get(bound, 0) - 1) if isinstance(bound, str) else bound


def _inside(values: Any, low: float, high: float | str, scope: Scope, finite: bool, nan: bool) -> bool:
    if values.size == 0:
        return True
    if values.dtype.kind in "fc" and not nan and np.isnan(values).any():
        return False
    if values.dtype.kind in "fc" and finite and np.isinf(values).any():
        return False
    if low == -np.inf and high == np.inf:
        return True
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return bool((known >= low).all() and (known <= _size(high, scope)).all())


def array(
    kind: str,
    *shapes: str,
    low: float = -np.inf,
    high: float | str = np.inf,
    inf: bool = False,
    nan: bool = False,
    sparse: bool = False,
) -> Check:
    """An array of numbers between bounds; the upper bound of indices may be the name of a size."""

    def test(value: Any, scope: Scope) -> bool:
        if is_sparse(value):
            if not sparse:
                return False
            values = value.data
        elif isinstance(value, np.ndarray):
            values = value
        else:
            return False
        if values.dtype.kind not in NUMBERS[kind] or (kind == "f" and values.dtype.itemsize not in (4, 8)):
            return False
        if not any(fits(value.shape, shape, scope) for shape in shapes):
            return False
        return _inside(values, low, high, scope, not inf, nan)

    names = {"f": "floating-point numbers", "i": "integers", "b": "bools", "c": "complex numbers"}
    return Check(f"{names[kind]} of shape {' or '.join(map(_sides, shapes))}{_range(low, high)}", test)


def floats(*shapes: str, **limits: Any) -> Check:
    return array("f", *shapes, **limits)


def integers(*shapes: str, **limits: Any) -> Check:
    return array("i", *shapes, **limits)


def number(
    low: float = -np.inf,
    high: float | str = np.inf,
    *,
    whole: bool = False,
    inf: bool = False,
    nan: bool = False,
    size: str = "",
) -> Check:
    """One number, of Python or NumPy; `size` is the name of the size that it binds."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) is int:  # may exceed the range of a float
            good = low <= value <= _size(high, scope)
        else:
            kinds = (np.integer,) if whole else (float, np.integer, np.floating)
            good = isinstance(value, kinds) and _inside(np.asarray(value), low, high, scope, not inf, nan)
        if not good:
            return False
        return not size or scope.setdefault(size, int(value)) == int(value)

    return Check(f"{'a whole' if whole else 'a'} number{_range(low, high)}", test)


def whole(low: float = 0, high: float | str = np.inf, **more: Any) -> Check:
    return number(low, high, whole=True, **more)


def flag() -> Check:
    return Check("a bool", lambda value, _: isinstance(value, (bool, np.bool_)))


def text(*choices: str) -> Check:
    words = f"one of {', '.join(choices)}" if choices else "a string"
    return Check(words, lambda value, _: isinstance(value, str) and (not choices or str(value) in choices))


def nothing() -> Check:
    return Check("None", lambda value, _: value is None)


def anything() -> Check:
    """Any value."""
    return Check("any value", lambda value, _: True)


def many(item: Check, length: str = "*") -> Check:
    """A list or a tuple of values; sizes bound by an item are local to it."""

    def test(value: Any, scope: Scope) -> bool:
        if type(value) not in (list, tuple) or not fits((len(value),), length, scope):
            return False
        return all(item.test(one, dict(scope)) for one in value)

    return Check(f"a list of {item.words}", test)


def mapping(keys: Check, values: Check) -> Check:
    def test(value: Any, scope: Scope) -> bool:
        if type(value) is not dict:
            return False
        return all(keys.test(k, dict(scope)) and values.test(v, dict(scope)) for k, v in value.items())

    return Check(f"a dict of {values.words}", test)


def labels(size: str) -> Check:
    """Sorted distinct classes; `size` is bound to their number."""

    def test(value: Any, scope: Scope) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufUSOM" or value.ndim != 1 or not value.size:
            return False
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return False
        try:
            increasing = bool(np.all(value[1:] > value[:-1]))
        except TypeError:  # numbers and strings have no common order
            return False
        return increasing and fits(value.shape, size, scope)

    return Check("classes in their order, each once", test)


def names(size: str) -> Check:
    """An array of strings, of this length."""

    def test(value: Any, scope: Scope) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype != object:
            return False
        return all(type(name) is str for name in value.flat) and fits(value.shape, size, scope)

    return Check("an array of strings", test)


def find_violation(checks: Mapping[str, Check], values: Mapping[str, Any], scope: Scope, *, whole: bool) -> str:
    """A sentence on the first value that fails its check, or ""; values without a check fail, and with `whole` so do
    checks without a value.
    """
    unknown = sorted(set(values) - set(checks))
    if unknown:
        return f"{unknown[0]} is not known here"
    for name, check in checks.items():
        if name not in values:
            if whole:
                return f"{name} is missing"
        elif not check.test(values[name], scope):
            return f"{name} must be {check.words}; it is {describe(values[name])}"
    return ""


def describe(value: Any) -> str:
    """A short description of a value."""
    if isinstance(value, np.ndarray) or is_sparse(value):
        values = value.data if is_sparse(value) else value
        kind = f"an array of {values.dtype} and shape {value.shape}"
        if values.size and values.dtype.kind in "iuf":
            kind += f", from {values.min()} to {values.max()}"
        return kind
    if isinstance(value, (list, tuple, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    shown = repr(value)
    return shown if len(shown) < 60 else f"{shown[:57]}..."


def _sides(shape: str) -> str:
    return f"({', '.join(shape.split())})"


def _range(low: float, high: float | str) -> str:
    if high == np.inf:
        return "" if low == -np.inf else f", at least {low:g}"
    upper = f"below {high}" if isinstance(high, str) else f"at most {high:g}"
    return f", {upper}" if low == -np.inf else f", at least {low:g} and {upper}"


Rule = Callable[[Any], bool]


@dataclass(frozen=True)
class Schema:
    """The schema of a fitted model of a class.

    Attributes
    ----------
    attributes : the check of each attribute, in the order of construction.
    rules : conditions on several attributes, each in words.
    derived : attributes that are not in the file, with functions that compute them from the others.
    """

    attributes: Mapping[str, Check]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)


# attributes that every estimator may have
ANY = {
    "n_features_in_": whole(0, size="p"),
    "feature_names_in_": names("p"),
    "_sklearn_output_config": mapping(text(), text()),
}
