"""Expectation-maximisation (Dempster, Laird and Rubin 1977): maximum likelihood for models with latent variables.

A step is one pass over the samples. `expect` is the statistic of a block with the latent variables replaced by their
expectations at the parameters; `maximise` gives the best parameters for the sum of these. The bound, the mean
log-likelihood plus the contribution of a prior, cannot decrease: where it does, a step is wrong, and that is an error.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, Protocol, TypeVar

from tenfold.data import Block, MaybeDeferred, NotFinite, Rows
from tenfold.data.blocks import Statistic
from tenfold.solvers.loop import Step

MAX_DECREASE = 1e-9  # relative decrease of the bound that rounding may cause; more is an error

ROUNDING = 4.0 * 2.0**-52  # relative error of the bound

P = TypeVar("P")
S = TypeVar("S", bound=Statistic)


class BoundDecreased(ArithmeticError):
    """The bound decreased in a step of EM: `expect`, `maximise` and `bound` do not belong together."""


class Model(Protocol[P, S]):
    """What EM needs from a model: parameters are any value, statistics are merged in the order of the samples."""

    def expect(self, params: P, block: Block) -> MaybeDeferred[S]:
        """The statistic of a block of samples at the parameters."""
        ...

    def maximise(self, statistic: S) -> P:
        """The best parameters for the statistic of all samples."""
        ...

    def bound(self, params: P, statistic: S) -> float:
        """The mean log-likelihood at the parameters plus the contribution of a prior; the statistic is of the same
        parameters.
        """
        ...


Allowance = Callable[[Any, Any, Any], float]
"""By how much a step from parameters to others, by a statistic, may decrease the bound: not zero for a `maximise` that
is not exact.
"""


def size(one: float, other: float) -> float:
    """The magnitude of a bound in nats, at least one."""
    return max(abs(one), abs(other), 1.0)


def steps(
    model: Model[P, S],
    rows: Rows,
    start: P,
    tol: float,
    allowance: Allowance | None = None,
    bound: float = -inf,
) -> Iterator[Step]:
    """Steps of EM from `start`, where the bound was `bound`, perhaps of other samples. Each has the parameters after it
    and the bound before it; the measure is the change of the bound since the step before, in units of `tol`.
    """
    params, before, allowed = start, bound, inf
    yield Step(params, before, inf)
    while True:
        statistic: S = rows.fold(partial(model.expect, params))
        now = model.bound(params, statistic)
        if not abs(now) < inf:
            raise NotFinite
        if now < before - allowed - MAX_DECREASE * size(before, now):
            raise BoundDecreased(
                f"The bound fell from {before!r} to {now!r} in a step of EM. Either maximise does not maximise what "
                "bound measures, or expect does not give the statistic of the parameters."
            )
        after = model.maximise(statistic)
        allowed = 0.0 if allowance is None else allowance(params, after, statistic)
        change = abs(now - before)
        # a change within the rounding of the bound counts as none
        measure = 0.0 if change <= ROUNDING * size(now, now) else change / tol if tol > 0.0 else inf
        params, before = after, now
        yield Step(params, now, measure)
