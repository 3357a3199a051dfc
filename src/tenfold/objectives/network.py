"""Multi-layer perceptrons in the Array API: outputs, the loss, its gradient, and products with its Hessian.

Layer l maps a_l to f(a_l W_l + b_l), the last one to raw outputs z; all weights are one vector: W_0 (in, out) in C
order, b_0, W_1, b_1, ... core/include/tenfold/mlp.hpp has the same for NumPy arrays, which `Network.compile` gives.
Seeger, sections 3.2 and 3.3; Pearlmutter 1994 for products with the Hessian.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, is_sparse, namespace, sigmoid, softplus

HIDDEN = ("identity", "logistic", "tanh", "relu")
OUTPUTS = ("identity", "exp", "logistic", "softmax")


class Layer(NamedTuple):
    """The weights (in, out) and the biases (out,) of a layer."""

    weights: Array
    biases: Array


class Values(NamedTuple):
    """The values of all layers, the samples first and the raw outputs last."""

    layers: tuple[Array, ...]

    @property
    def raw(self) -> Array:
        return self.layers[-1]


class Derivatives(NamedTuple):
    """The sum of the losses of some samples, and its gradient in each layer."""

    value: Array
    layers: list[Layer]


@dataclass(frozen=True)
class Network:
    """The sizes of the layers, inputs first, and the functions of hidden units and of outputs."""

    units: tuple[int, ...]
    hidden: str
    output: str

    @cached_property
    def size(self) -> int:
        """The number of weights."""
        return sum((inputs + 1) * outputs for inputs, outputs in pairwise(self.units))

    @cached_property
    def places(self) -> tuple[tuple[slice, slice, tuple[int, int]], ...]:
        """Where the weights and the biases of each layer are, and the shape of the weights."""
        result, start = [], 0
        for inputs, outputs in pairwise(self.units):
            middle = start + inputs * outputs
            result.append((slice(start, middle), slice(middle, middle + outputs), (inputs, outputs)))
            start = middle + outputs
        return tuple(result)

    def compile(self, dtype: Any) -> Any:
        """The compiled network, with work space of its own."""
        kind = _core.MlpFloat32 if np.dtype(dtype) == np.float32 else _core.MlpFloat64
        return kind(np.array(self.units), self.hidden, self.output)

    def split(self, x: Array) -> list[Layer]:
        """Views of the layers of a vector."""
        xp = namespace(x)
        return [Layer(xp.reshape(x[of], shape), x[bias]) for of, bias, shape in self.places]

    def join(self, layers: Sequence[Layer]) -> Array:
        """The vector of these layers."""
        xp = namespace(layers[0].weights)
        return xp.concat([xp.reshape(part, (-1,)) for layer in layers for part in layer], axis=0)

    def decay(self, x: Floats) -> Floats:
        """A copy of a vector in which the biases, which are not penalised, are zero."""
        result = np.array(x)
        for _, bias, _ in self.places:
            result[bias] = 0.0
        return result

    def forward(self, X: Array, layers: Sequence[Layer]) -> Values:
        """The values of all layers for samples X (m, p)."""
        values = [X]
        for number, layer in enumerate(layers):
            z = _product(values[-1], layer.weights) + layer.biases
            values.append(z if number + 1 == len(layers) else _activate(self.hidden, z))
        return Values(tuple(values))

    def outputs(self, z: Array) -> Array:
        """The outputs of raw ones (m, k)."""
        xp = namespace(z)
        if self.output == "exp":
            return xp.exp(z)
        if self.output == "logistic":
            return sigmoid(z)
        if self.output == "softmax":
            e = xp.exp(z - xp.max(z, axis=1, keepdims=True))
            return e / xp.sum(e, axis=1, keepdims=True)
        return z

    def losses(self, y: Array, z: Array) -> Array:
        """The loss (m,) of each sample with targets y and raw outputs z (m, k)."""
        xp = namespace(z)
        if self.output == "identity":
            return 0.5 * xp.sum((z - y) ** 2, axis=1)
        if self.output == "logistic":
            return xp.sum(softplus(z) - y * z, axis=1)
        if self.output == "softmax":
            largest = xp.max(z, axis=1, keepdims=True)
            total = xp.log(xp.sum(xp.exp(z - largest), axis=1)) + largest[:, 0]
            return total - xp.sum(y * z, axis=1)
        positive = xp.where(y > 0, y, xp.ones_like(y))
        return xp.sum(xp.exp(z) - y + xp.where(y > 0, y * (xp.log(positive) - z), xp.zeros_like(y)), axis=1)

    def derivatives(self, X: Array, y: Array, weight: Array | None, layers: Sequence[Layer]) -> Derivatives:
        """The sum of weight_i loss_i over samples X (m, p) and its gradient, by backpropagation."""
        values = self.forward(X, layers)
        xp = namespace(values.raw)
        losses, back = self.losses(y, values.raw), self.outputs(values.raw) - y
        if weight is not None:
            losses, back = weight * losses, weight[:, None] * back
        result: list[Layer] = []
        for number in range(len(layers) - 1, -1, -1):
            below = values.layers[number]
            result.append(Layer(_product(below.T, back), xp.sum(back, axis=0)))
            if number > 0:
                back = xp.matmul(back, layers[number].weights.T) * _slope(self.hidden, below)
        return Derivatives(xp.sum(losses), result[::-1])

    def hessian_product(
        self, X: Array, y: Array, weight: Array | None, layers: Sequence[Layer], along: Sequence[Layer]
    ) -> list[Layer]:
        """The Hessian of the sum of the losses times a vector: the derivative of backpropagation along it."""
        values = self.forward(X, layers)
        xp = namespace(values.raw)
        moves: list[Any] = [None]  # the derivatives of the values along the vector
        for number, (layer, step) in enumerate(zip(layers, along, strict=True)):
            move = _product(values.layers[number], step.weights) + step.biases
            if moves[-1] is not None:
                move = move + xp.matmul(moves[-1], layer.weights)
            last = number + 1 == len(layers)
            moves.append(move if last else move * _slope(self.hidden, values.layers[number + 1]))
        q = self.outputs(values.raw)
        back, back_move = q - y, self._curvature_product(q, moves[-1])
        if weight is not None:
            back, back_move = weight[:, None] * back, weight[:, None] * back_move
        result: list[Layer] = []
        for number in range(len(layers) - 1, -1, -1):
            below, moved = values.layers[number], moves[number]
            product = _product(below.T, back_move)
            if moved is not None:
                product = product + xp.matmul(moved.T, back)
            result.append(Layer(product, xp.sum(back_move, axis=0)))
            if number > 0:
                slope, W = _slope(self.hidden, below), layers[number].weights
                through = xp.matmul(back, W.T)
                back_move = (xp.matmul(back_move, W.T) + xp.matmul(back, along[number].weights.T)) * slope
                back_move = back_move + through * _bend(self.hidden, below) * moved
                back = through * slope
        return result[::-1]

    def jacobian(self, X: Array, layers: Sequence[Layer]) -> Array:
        """The derivatives (m, k, q) of the raw outputs of each sample by all weights; X dense, for small networks."""
        values = self.forward(X, layers)
        xp = namespace(values.raw)
        m, k = values.raw.shape
        back = xp.broadcast_to(xp.eye(k, dtype=values.raw.dtype), (m, k, k))
        parts: list[Array] = []
        for number in range(len(layers) - 1, -1, -1):
            below = values.layers[number]
            outer = below[:, None, :, None] * back[:, :, None, :]
            parts = [xp.reshape(outer, (m, k, -1)), back, *parts]
            if number > 0:
                back = xp.matmul(back, layers[number].weights.T) * _slope(self.hidden, below)[:, None, :]
        return xp.concat(parts, axis=2)

    def _curvature_product(self, q: Array, move: Array) -> Array:
        """The second derivative of the loss by the raw outputs, of outputs q, times a change of them."""
        xp = namespace(q)
        if self.output == "exp":
            return q * move
        if self.output == "logistic":
            return q * (1.0 - q) * move
        if self.output == "softmax":
            return q * (move - xp.sum(q * move, axis=1, keepdims=True))
        return move


def _product(left: Array, right: Array) -> Array:
    """left right, of which the left one may be sparse."""
    return np.asarray(left @ right) if is_sparse(left) else namespace(right).matmul(left, right)


def _activate(hidden: str, z: Array) -> Array:
    xp = namespace(z)
    if hidden == "relu":
        return xp.where(z < 0, xp.zeros_like(z), z)
    return xp.tanh(z) if hidden == "tanh" else sigmoid(z) if hidden == "logistic" else z


def _slope(hidden: str, a: Array) -> Array:
    """f' at the values a of f."""
    xp = namespace(a)
    if hidden == "relu":
        return xp.where(a == 0, xp.zeros_like(a), xp.ones_like(a))
    return 1.0 - a * a if hidden == "tanh" else a * (1.0 - a) if hidden == "logistic" else xp.ones_like(a)


def _bend(hidden: str, a: Array) -> Array:
    """f'' / f' at the values a of f, away from kinks."""
    if hidden == "tanh":
        return -2.0 * a
    if hidden == "logistic":
        return 1.0 - 2.0 * a
    return namespace(a).zeros_like(a)


def slopes_of(network: Network, values: Values) -> list[Array]:
    """f' of the hidden units of each layer, (m, units)."""
    return [_slope(network.hidden, a) for a in values.layers[1:-1]]
