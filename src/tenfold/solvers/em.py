"""Expectation and maximisation: likelihoods of models with something hidden.

A step is one pass over the rows. `expect` says what the rows come to at the parameters, the hidden part replaced by
what they make probable; `maximise` finds the best parameters for that. The bound, the mean log-likelihood of the rows
and what a prior adds to it, cannot fall (Dempster, Laird and Rubin 1977): where it does, a step is wrong, and that is
an error.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, Protocol, TypeVar

from tenfold.data import Block, Lifted, NotFinite, Rows
from tenfold.data.blocks import Statistic
from tenfold.solvers.loop import Step

FALL = 1e-9
"""A bound that falls by more, in units of its size, is an error."""

ROUNDING = 4.0 * 2.0**-52
"""What a bound is known up to, in units of its size."""

P = TypeVar("P")
S = TypeVar("S", bound=Statistic)


class BoundDecreased(ArithmeticError):
    """The bound of a step of EM fell: its `expect`, `maximise` and `bound` do not belong together."""


class Model(Protocol[P, S]):
    """What EM needs to know: parameters are any value, statistics are merged in the order of the rows."""

    def expect(self, params: P, block: Block) -> Lifted[S]:
        """The statistic of a block of rows at the parameters."""
        ...

    def maximise(self, statistic: S) -> P:
        """The best parameters for the statistic of all rows."""
        ...

    def bound(self, params: P, statistic: S) -> float:
        """The mean log-likelihood at the parameters, with what a prior adds; the statistic is of the same ones."""
        ...


Allowance = Callable[[Any, Any, Any], float]
"""By how much a step from parameters to others, by a statistic, may lower the bound: more than nothing for a `maximise`
that does not quite maximise.
"""


def size(one: float, other: float) -> float:
    """The size of a bound: a number of nats, and of one of them at least."""
    return max(abs(one), abs(other), 1.0)


def steps(
    model: Model[P, S],
    rows: Rows,
    start: P,
    tol: float,
    allowance: Allowance | None = None,
    bound: float = -inf,
) -> Iterator[Step]:
    """Steps of EM from `start`, where the bound was `bound`, of other rows perhaps. Each has the parameters after it
    and the bound before it; the measure is the change of the bound since the step before, in units of `tol`.
    """
    params, before, allowed = start, bound, inf
    yield Step(params, before, inf)
    while True:
        statistic: S = rows.fold(partial(model.expect, params))
        now = model.bound(params, statistic)
        if not abs(now) < inf:
            raise NotFinite
        if now < before - allowed - FALL * size(before, now):
            raise BoundDecreased(
                f"The bound fell from {before!r} to {now!r} in a step of EM. Either maximise does not maximise what "
                "bound measures, or expect does not give the statistic of the parameters."
            )
        after = model.maximise(statistic)
        allowed = 0.0 if allowance is None else allowance(params, after, statistic)
        change = abs(now - before)
        # a change as small as the rounding of the bound is none
        measure = 0.0 if change <= ROUNDING * size(now, now) else change / tol if tol > 0.0 else inf
        params, before = after, now
        yield Step(params, now, measure)
