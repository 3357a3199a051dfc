"""Models of an intercept alone, for losses whose best constant stands for the mean of the targets; only the targets are
read.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenfold.arrays import Array, namespace, on_host
from tenfold.data import BatchRows, Block, MemoryRows, Rows, resolve, weights_of
from tenfold.losses.loss import Loss
from tenfold.stats.derivatives import Params, Total, derivatives


class Constant(NamedTuple):
    """A constant z, and the weighted mean loss there."""

    z: float
    value: float


def best_constant(loss: Loss, rows: Rows) -> Constant:
    """The z that stands for the mean of the targets, for a loss with a link; minus infinity for the logarithm of
    zero.
    """
    mean = mean_over_targets(rows, lambda y: y)
    if loss.link == "log" and not mean > 0.0:
        return Constant(-np.inf, 0.0)
    z = float(np.log(mean)) if loss.link == "log" else mean
    return Constant(z, mean_loss(loss, rows, z))


def mean_loss(loss: Loss, rows: Rows, z: float) -> float:
    """The weighted mean loss of one constant: that of a model without features."""
    if not isinstance(rows, MemoryRows | BatchRows) or rows.on_device:
        return mean_over_targets(rows, lambda y: loss.value(y, z + namespace(y).zeros_like(y)))
    y, weight = np.ascontiguousarray(rows.y[:, :1]), rows.weight
    block = Block(np.zeros((len(y), 0)), y, None if weight is None else np.ascontiguousarray(weight))
    sums = resolve(derivatives(loss, Params(np.zeros((1, 0)), np.array([z])), 0)(block))
    return float(sums.value[0] / sums.weight)


def mean_over_targets(rows: Rows, f: Callable[[Array], Array]) -> float:
    """The weighted mean of f(y), for one target."""

    def lift(block: Block) -> Total:
        weight, value = weights_of(block), f(block.y)[:, 0]
        xp = namespace(weight)
        counted = xp.where(weight > 0, weight * value, xp.zeros_like(weight))
        return Total(np.array([float(on_host(xp.sum(weight))), float(on_host(xp.sum(counted)))]))

    if isinstance(rows, MemoryRows | BatchRows) and rows.weight is None and not rows.on_device:
        with np.errstate(over="ignore"):
            return float(np.add.reduce(f(rows.y)[:, 0]) / len(rows.y)) if len(rows.y) else np.nan
    with np.errstate(over="ignore"):
        if isinstance(rows, MemoryRows | BatchRows) and not rows.on_device:
            weight, total = lift(Block(rows.y, rows.y, rows.weight)).sum
        else:
            weight, total = rows.fold(lift).sum
    return float(total / weight)


def mean_and_deviation(rows: Rows, intercept: bool) -> tuple[float, float]:
    """The weighted mean of one target, or zero without an intercept, and the root mean square about it."""
    mean = mean_over_targets(rows, lambda y: y) if intercept else 0.0
    return mean, float(np.sqrt(mean_over_targets(rows, lambda y: (y - mean) ** 2)))
