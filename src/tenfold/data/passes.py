"""A budget of passes over the data.

Every `fold`, `scan` and `map` counts the values that it reads. The largest count is one pass; a pass over a subsample
is a fraction of one. Inside `limit_passes(most)` the pass that would exceed the budget raises `BudgetSpent`. The budget
is in passes, not in seconds, because results must not depend on the load of the machine.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class BudgetSpent(RuntimeError):
    """The budget of passes over the data is spent."""


class _Budget:
    """Values read so far, and the most that one pass has read."""

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
    """Allow at most `most` passes over the data inside the context."""
    token = _BUDGET.set(_Budget(most))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def count_pass(entries: int) -> None:
    """Count a pass that reads `entries` values; raise `BudgetSpent` where the budget does not allow it."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.spend(entries)
