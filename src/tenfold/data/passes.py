"""A budget of passes over the data.

Every `fold`, `scan` and `map` counts the numbers that it reads. The largest count is one pass; a pass over a sample is
its share of one. Inside `limit_passes(most)` the pass that would exceed the budget raises `BudgetSpent`. Passes, not
seconds: what is found must not depend on the load of the machine.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class BudgetSpent(RuntimeError):
    """The budget of passes over the data is spent."""


class _Budget:
    """Numbers read so far, and the most that one pass has read."""

    def __init__(self, most: float) -> None:
        self.most, self.total, self.largest = most, 0, 0

    def spend(self, entries: int) -> None:
        self.total += entries
        self.largest = max(self.largest, entries)
        if self.total > self.most * self.largest:
            raise BudgetSpent


_BUDGET: ContextVar[_Budget | None] = ContextVar("budget of passes", default=None)


@contextmanager
def limit_passes(most: float) -> Generator[None]:
    """Inside, at most so many passes over the data."""
    token = _BUDGET.set(_Budget(most))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def count_pass(entries: int) -> None:
    """A pass begins that reads so many numbers."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.spend(entries)
