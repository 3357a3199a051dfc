"""The penalised loss of a multi-layer perceptron over rows, as a function of the vector of its weights.

    F(x) = (1/W) (sum_i weight_i loss(y_i, x_i) + alpha / 2 |W_0|^2 + alpha / 2 |W_1|^2 + ...),   W = sum_i weight_i,

with the loss of `objectives.network`; biases are not penalised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, contiguous, is_array_api, is_sparse, like, namespace, on_host
from tenfold.data import Block, MemoryRows, Rows, weights_of
from tenfold.machine import one_blas_thread, spend, threads
from tenfold.objectives.network import Network
from tenfold.objectives.objective import Objective, Reading


@dataclass(frozen=True)
class Sums:
    """Sums over rows, which merge."""

    parts: tuple[Any, ...]

    def merge(self, other: "Sums") -> "Sums":
        return Sums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


class Samples:
    """A block of rows as the compiled network takes them: targets and samples of one dtype."""

    def __init__(self, block: Block, dtype: Any) -> None:
        X = block.X
        self.X = contiguous(X) if X.dtype == dtype else X.astype(dtype)
        self.y = np.ascontiguousarray(block.y, dtype=dtype)
        self.weight = block.weight
        self.sparse = is_sparse(X)

    @property
    def storage(self) -> tuple[Any, ...]:
        """The samples as arguments."""
        X = self.X
        return (X.data, X.indices, X.indptr, X.shape[1]) if self.sparse else (X,)


class NetworkLoss(Objective):
    """F for rows with targets (n, k); computed in `dtype`, where the rows are."""

    def __init__(self, network: Network, rows: Rows, alpha: float, dtype: Any = np.float64) -> None:
        self.network, self.rows, self.alpha, self.dtype = network, rows, alpha, np.dtype(dtype)
        self.jumps = network.hidden == "relu"
        self.noise = 4.0 * EPS if self.dtype == np.float64 else 8.0 * float(np.finfo(np.float32).eps)
        self.readings = 0
        weight = None if isinstance(rows, MemoryRows) and rows.weight is None else rows.map(weights_of)
        self.total = float(rows.shape[0]) if weight is None else float(np.sum(on_host(weight)))
        self._compiled = None if rows.on_device else network.compile(self.dtype)
        here = isinstance(rows, MemoryRows) and not rows.on_device
        self._samples = Samples(rows.whole(), self.dtype) if here else None

    def read(self, x: Floats, order: int = 1) -> Reading:
        self.readings += 1
        loss, gradient = self._sum_all(x)
        penalty = self.alpha * self.network.decay(x)
        value = (loss + 0.5 * float(penalty @ x)) / self.total
        hessian = np.stack([self.hessian_product(x, e) for e in np.eye(len(x))]) if order == 2 else None
        return Reading(value, (gradient + penalty) / self.total, hessian)

    def _sum_all(self, x: Floats) -> tuple[float, Floats]:
        if self._samples is not None:
            return self._sum_compiled(x, self._samples)
        if self._compiled is not None:
            sums = self.rows.fold(lambda block: Sums(self._sum_compiled(x, Samples(block, self.dtype))))
        else:
            sums = self.rows.fold(self._derivatives_of(x))
        return sums.parts

    def _sum_compiled(self, x: Floats, samples: Samples) -> tuple[float, Floats]:
        params = np.ascontiguousarray(x, dtype=self.dtype)
        gradient = np.empty_like(params)
        network: Any = self._compiled
        read = network.gradient_csr if samples.sparse else network.gradient
        spend(3.0 * samples.y.shape[0] * len(x))
        with one_blas_thread:
            loss = read(*samples.storage, params, gradient, samples.y, samples.weight, threads())
        return loss, gradient.astype(np.float64, copy=False)

    def _derivatives_of(self, x: Floats) -> Callable[[Block], Sums]:
        """The same on a device."""

        def lift(block: Block) -> Sums:
            layers, y, weight = self._on_device(x, block)
            sums = self.network.derivatives(block.X, y, weight, layers)
            gradient = on_host(self.network.join(sums.layers)).astype(np.float64)
            return Sums((float(sums.value), gradient))

        return lift

    def _on_device(self, x: Floats, block: Block) -> tuple[Any, Array, Array | None]:
        """Layers, targets and weights in the dtype of the samples of a block, where they are."""
        xp, dtype = namespace(block.X), block.X.dtype
        layers = self.network.split(xp.astype(like(x, block.X), dtype, copy=False))
        weight = None if block.weight is None else xp.astype(block.weight, dtype, copy=False)
        return layers, xp.astype(block.y, dtype, copy=False), weight

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        """By the derivative of backpropagation along d."""

        def lift(block: Block) -> Sums:
            if is_array_api(block.X):
                layers, y, weight = self._on_device(x, block)
                along = self._on_device(d, block)[0]
            else:
                layers, along = self.network.split(x), self.network.split(d)
                y, weight = block.y, block.weight
            product = self.network.hessian_product(block.X, y, weight, layers, along)
            return Sums((on_host(self.network.join(product)).astype(np.float64),))

        with one_blas_thread:
            (product,) = self.rows.fold(lift).parts
        return np.asarray((product + self.alpha * self.network.decay(d)) / self.total)


def predict_compiled(network: Network, params: Array, X: Array, *, raw: bool = False) -> Array:
    """The outputs (n, k) of a network for dense or CSR samples of the dtype of its weights."""
    compiled = network.compile(params.dtype)
    with one_blas_thread:
        if is_sparse(X):
            storage = (X.data, X.indices, X.indptr, X.shape[1])
            return compiled.predict_csr(*storage, params, raw, threads())
        return compiled.predict(contiguous(X), params, raw, threads())
