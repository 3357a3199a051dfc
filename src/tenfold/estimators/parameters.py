"""Validation of constructor parameters: constraints, and the error of an invalid value."""

from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value of a wrong type or outside its range."""


Check = tuple[Callable[[Any], bool], str]
"""A test and the description of allowed values; "" for a value that is accepted but not documented."""


def _is_number(value: Any, kind: type) -> bool:
    """Whether value is a number of this type; a bool is not."""
    if type(value) is int or type(value) is float:  # without the search of an abstract class
        return kind is Real or type(value) is int
    return isinstance(value, kind) and not isinstance(value, (bool, np.bool_))


def real(low: float, high: float = np.inf, closed: str = "left") -> Check:
    """A real number in an interval; `closed` is left, right, both or neither."""
    left, right = "[" if closed in ("left", "both") else "(", "]" if closed in ("right", "both") else ")"

    def test(value: Any) -> bool:
        if not _is_number(value, Real):
            return False
        x = float(value)  # NaN is in no interval
        return (low < x or (left == "[" and low == x)) and (x < high or (right == "]" and x == high))

    return test, f"a float in the range {left}{low}, {high}{right}"


def integer(low: int) -> Check:
    """An integer of at least `low`."""
    return lambda value: _is_number(value, Integral) and int(value) >= low, f"an int in the range [{low}, inf)"


def choice(*options: str) -> Check:
    """One of some strings."""
    listed = ", ".join(repr(option) for option in sorted(options))
    return lambda value: isinstance(value, str) and value in options, f"a str among {{{listed}}}"


def unset(default: str) -> Check:
    """The default string of a deprecated or unset parameter; accepted, but not documented."""
    return lambda value: isinstance(value, str) and value == default, ""


def nothing() -> Check:
    """None."""
    return lambda value: value is None, "None"


def boolean() -> Check:
    """True or False."""
    return lambda value: isinstance(value, (bool, np.bool_)), "an instance of 'bool'"


def array_like() -> Check:
    """A sequence or an array of numbers."""
    return (
        lambda value: (
            not isinstance(value, (str, bytes, dict)) and (hasattr(value, "__len__") or hasattr(value, "__array__"))
        ),
        "an array-like",
    )


def instance(*kinds: type) -> Check:
    """An object of one of some types."""
    names = " or ".join(repr(kind.__name__) for kind in kinds)
    return lambda value: isinstance(value, kinds), f"an instance of {names}"


def function() -> Check:
    """A callable."""
    return callable, "a callable"


def has_methods(*names: str) -> Check:
    """An object with some methods."""
    listed = " and ".join(repr(name) for name in names)
    return lambda value: all(callable(getattr(value, name, None)) for name in names), f"an object implementing {listed}"


def random_state() -> Check:
    """A seed for random numbers."""
    return (
        lambda value: value is None or _is_number(value, Integral) or isinstance(value, np.random.RandomState),
        "an int, a RandomState instance or None",
    )


def splitter() -> Check:
    """A value of scikit-learn's `cv`."""
    return (
        lambda value: (
            value is None
            or (_is_number(value, Integral) and int(value) >= 2)
            or (hasattr(value, "split") and not isinstance(value, str))
            or (isinstance(value, Iterable) and not isinstance(value, str))
        ),
        "an int of at least 2, a cross-validation splitter, an iterable of splits or None",
    )


Constraints = dict[str, tuple[Check, ...]]


def check_parameters(estimator: Any, constraints: Constraints) -> None:
    """Raise for the first parameter of `estimator` that no check allows."""
    values = {parameter: getattr(estimator, parameter) for parameter in constraints}
    check_arguments(type(estimator).__name__, constraints, **values)


def check_arguments(name: str, constraints: Constraints, /, **values: Any) -> None:
    """Raise for the first argument of the function `name` that no check allows."""
    for parameter, checks in constraints.items():
        value = values[parameter]
        for test, _ in checks:
            if test(value):
                break
        else:
            allowed = [words for _, words in checks if words]
            described = allowed[0] if len(allowed) == 1 else f"{', '.join(allowed[:-1])} or {allowed[-1]}"
            raise InvalidParameterError(
                f"The {parameter!r} parameter of {name} must be {described}. Got {value!r} instead."
            )
