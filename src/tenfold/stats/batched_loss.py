"""Losses of many models on the same samples, each with its own weights, and their gradients: one pass for all folds and
penalties of a cross-validation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, entries, is_numpy, is_sparse, like, namespace, on_host
from tenfold.data import Block, weights_of
from tenfold.losses.classification import Logistic, Softmax
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import Params, products


@dataclass(frozen=True, slots=True)
class ModelSums:
    """Sums over samples of weighted loss (M,), slopes (M, K), and slopes times features (M, K, p) of M models."""

    value: Floats
    slope: Floats
    gradient: Floats | None = None

    def merge(self, other: "ModelSums") -> "ModelSums":
        return ModelSums(
            self.value + other.value,
            self.slope + other.slope,
            None if self.gradient is None or other.gradient is None else self.gradient + other.gradient,
        )


def model_losses(
    params: Params, share: Floats, order: int = 1, shift: Floats | None = None
) -> Callable[[Block], ModelSums]:
    """The lift of `ModelSums` for coef (M, K, p) and intercept (M, K) at z = (x - shift).w + b, on samples with groups:
    model m gives a sample of group g its weight times share[g, m].

    K = 1 is the logistic loss of targets -1 and +1, K > 1 the softmax loss of class numbers. Order 0 has no gradients.
    """
    return partial(_model_losses, params, share, order, shift)


def _model_losses(params: Params, share: Floats, order: int, shift: Floats | None, block: Block) -> ModelSums:
    X = block.X
    spend(products(X, params.intercept.size, order) * (_mean_share(share, block) if is_numpy(X) else 1.0))
    if not (is_sparse(X) or is_numpy(X)):
        return model_losses_in_arrays(params, share, order, shift, block)
    assert block.group is not None
    count = threads(entries(X) * max(1, len(params.coef)))
    rows = (np.ascontiguousarray(block.y[:, 0]), block.weight, block.group, share)
    if is_numpy(X):
        return ModelSums(*_core.batched_loss(X, *rows, params.coef, params.intercept, shift, order, count))
    intercept = params.intercept if shift is None else params.intercept - np.einsum("mkp,p->mk", params.coef, shift)
    value, slope, gradient = _core.batched_loss_csr(
        X.data, X.indices, X.indptr, X.shape[1], *rows, params.coef, intercept, order, count
    )
    if gradient is not None and shift is not None:
        gradient = gradient - slope[:, :, None] * shift
    return ModelSums(value, slope, gradient)


def _mean_share(share: Floats, block: Block) -> float:
    """The part of the samples that models give weight, in the mean over the models: others are not read."""
    assert block.group is not None
    rows = np.bincount(block.group, minlength=len(share))
    return float(rows @ np.mean(share > 0.0, axis=1)) / max(1.0, float(rows.sum()))


def model_losses_in_arrays(params: Params, share: Floats, order: int, shift: Floats | None, block: Block) -> ModelSums:
    """The same lift in the Array API: the reference for the compiled loop."""
    xp = namespace(block.X)
    X = xp.astype(block.X, xp.float64, copy=False)
    X = X if shift is None else X - like(shift, X)
    weight = weights_of(block)[:, None] * xp.take(like(share, X), like(on_host(block.group), X), axis=0)
    values, slopes, gradients = [], [], []
    for m, (coef, intercept) in enumerate(zip(params.coef, params.intercept, strict=True)):
        z = xp.matmul(X, like(np.ascontiguousarray(coef), X).T) + like(intercept, X)
        loss = Logistic() if len(intercept) == 1 else Softmax()
        w = weight[:, m : m + 1]
        u = _where(w, loss.slope(block.y, z))
        values.append(float(xp.sum(_where(w, loss.value(block.y, z)))))
        slopes.append(on_host(xp.sum(u, axis=0)))
        gradients.append(on_host(xp.matmul(u.T, X)))
    return ModelSums(np.array(values), np.array(slopes), np.array(gradients) if order >= 1 else None)


def _where(weight: Array, values: Array) -> Array:
    """weight * values, and zero where there is no weight."""
    xp = namespace(values)
    return xp.where(weight > 0, weight * values, xp.zeros_like(values))
