"""Which cases of a parametrised test are collected, and which of them the default run takes.

`only_if` removes combinations of parameters that a test says nothing about: every case that is collected asserts
something. Of tests whose cases are a product - a row of the table of estimators with shapes, layouts, sources - the
default run takes a covering design: every row once, and every pair of values of the other parameters with some row;
where one row says enough of a class, `once_a_class`, only its first. The design is a function of the cases alone, the
same on every day and in every order; `-m product` runs the rest.
"""

import inspect
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import pytest

Pair = tuple[tuple[str, int], ...]


def only_if(condition: Callable[..., bool]) -> pytest.MarkDecorator:
    """A mark: collect the cases for which `condition` holds; its arguments are parameters of the test, by name."""
    return pytest.mark.only_if.with_args(condition)


def is_possible(item: Any) -> bool:
    """Whether all conditions of a case hold."""
    for mark in item.iter_markers("only_if"):
        (condition,) = mark.args
        if not condition(**{name: item.callspec.params[name] for name in _names(condition)}):
            return False
    return True


@cache
def _names(condition: Callable[..., bool]) -> tuple[str, ...]:
    return tuple(inspect.signature(condition).parameters)


def select_covering(items: list[Any]) -> set[Any]:
    """A covering design of the cases of one test: each row once, each pair of values of the other parameters once.

    Greedy, as in AETG (Cohen, Dalal, Fredman, Patton 1997): rows in their order take the case whose values have been
    taken least; then cases are added until every pair of values that stands together in some case is covered. Ties go
    by a checksum of the test's name, so that a row meets different values in different tests.
    """
    by_row: dict[str, list[Any]] = {}
    for item in items:
        by_row.setdefault(row_of(item), []).append(item)
    taken: Counter[Pair] = Counter()
    selected = set()

    def take(item: Any) -> None:
        selected.add(item)
        taken.update(values_of(item))

    for cases in by_row.values():
        take(min(cases, key=lambda item: (sum(taken[value] for value in values_of(item)), _checksum(item))))
    for item in sorted(items, key=_checksum):
        if any(not taken[value] for value in values_of(item)):
            take(item)
    return selected


def first_of_each_class(items: list[Any]) -> list[Any]:
    """The cases of the first row of each class; those without a row."""
    first: dict[str, str] = {}
    for item in items:
        first.setdefault(class_of(item), row_of(item))
    return [item for item in items if first[class_of(item)] == row_of(item)]


def class_of(item: Any) -> str:
    """The name of the class that the row of a case is about."""
    return str(getattr(item.callspec.params.get("row"), "name", ""))


def row_of(item: Any) -> str:
    """The row of the table of estimators that a case is about."""
    params = item.callspec.params
    row = next((params[name] for name in ("row", "estimator", "model") if name in params), None)
    return str(getattr(row, "id", row))


def values_of(item: Any) -> Iterator[Pair]:
    """The values of the parameters of a case but for the row, by their identity, and pairs of them."""
    values = sorted((name, id(value)) for name, value in item.callspec.params.items() if name != "row")
    yield from ((one,) for one in values)
    yield from combinations(values, 2)


def _checksum(item: Any) -> int:
    return zlib.crc32(item.nodeid.encode())
