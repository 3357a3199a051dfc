"""The smallest and the largest of numbers of each sample, for bounds that hold for every sample."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Array, Floats, is_numpy, namespace
from tenfold.data import Block, Deferred, MaybeDeferred
from tenfold.losses.loss import Loss
from tenfold.stats.derivatives import Params, forward


@dataclass(frozen=True, slots=True)
class Extremes:
    """Smallest and largest (k,) of k values a sample; inf and -inf where there are no samples."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: Array, weight: Array | None) -> "MaybeDeferred[Extremes]":
        """Of values (m, k) for the samples of positive weight."""
        xp = namespace(values)
        if values.shape[0] == 0:
            nothing = cls(np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf))
            return nothing if is_numpy(values) else Deferred((), nothing)
        low = high = values
        if weight is not None:
            inside = xp.reshape(weight > 0, (-1, 1))
            low, high = xp.where(inside, values, xp.inf), xp.where(inside, values, -xp.inf)
        ends = xp.min(low, axis=0), xp.max(high, axis=0)
        return cls(*ends) if is_numpy(values) else Deferred.of(ends, lambda _, *parts: cls(*parts))

    def merge(self, other: "Extremes") -> "Extremes":
        return Extremes(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def of_columns(block: Block) -> MaybeDeferred[Extremes]:
    """The lift for the columns of dense samples, whatever their weights."""
    xp = namespace(block.X)
    return Extremes.of(xp.astype(block.X, xp.float64, copy=False), None)


def of_predictions(params: Params, shift: Floats | None = None) -> Callable[[Block], MaybeDeferred[Extremes]]:
    """The lift for (x - shift).w + b of each target."""
    return lambda block: Extremes.of(forward(block.X, params, shift), block.weight)


def of_recession(loss: Loss, params: Params, shift: Floats | None = None) -> Callable[[Block], MaybeDeferred[Extremes]]:
    """The lift for the recession of a loss along (x - shift).w + b."""
    return lambda block: Extremes.of(loss.recession(block.y, forward(block.X, params, shift)), block.weight)


def of_weights(block: Block) -> MaybeDeferred[Extremes]:
    """The lift for the positive weights."""
    if block.weight is None:
        return Extremes(np.ones(1), np.ones(1))
    return Extremes.of(block.weight[:, None], block.weight)
