"""How coefficients become raw predictions: a linear map, forward, back, and its weighted Gram matrix.

Solvers see a `Design` of all samples at once. The judge sees a `DataDesign`: the same map with the targets and weights
of the samples, read block by block, so that the samples may be anywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from tenfold.arrays import Array, Floats, is_numpy, namespace, on_host
from tenfold.losses.classification import Softmax
from tenfold.losses.loss import Loss
from tenfold.objectives.objective import Objective, Reading

S = TypeVar("S")


class Design(Protocol):
    """A linear map from coefficients x (q,) to raw predictions (n, k) of n samples."""

    def forward(self, x: Floats) -> Floats:
        """A x, (n, k)."""
        ...

    def adjoint(self, u: Floats) -> Floats:
        """A'u (q,) of numbers (n, k)."""
        ...

    def gram(self, weight: Floats) -> Floats:
        """A' diag(weight) A, (q, q), for one raw prediction a sample."""
        ...


class DenseDesign:
    """The samples as rows of a matrix (n, q): features, a kernel matrix, a basis."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def forward(self, x: Floats) -> Floats:
        return (self.matrix @ x)[:, None]

    def adjoint(self, u: Floats) -> Floats:
        return np.asarray(self.matrix.T @ u[:, 0])

    def gram(self, weight: Floats) -> Floats:
        return np.asarray(self.matrix.T @ (weight[:, None] * self.matrix))


class DesignObjective(Objective):
    """f(x) = sum_i weight_i loss(y_i, (A x)_i) + x'P x / 2, for one raw prediction a sample, weights that sum to one,
    and P (q, q) positive semi-definite: the squared norm of the weights, or of a function of a kernel.
    """

    def __init__(self, design: Design, loss: Loss, y: Floats, weight: Floats, penalty: Floats) -> None:
        self.design, self.loss, self.penalty = design, loss, penalty
        self.y, self.weight = y.reshape(-1, 1), weight.reshape(-1, 1)
        self.jumps = not np.isfinite(loss.self_concordance)
        self.flat = loss.convex and self.jumps and bool(np.isfinite(loss.lipschitz))

    def read(self, x: Floats, order: int = 1) -> Reading:
        z, bend = self.design.forward(x), self.penalty @ x
        value = float(np.sum(self.weight * self.loss.value(self.y, z))) + 0.5 * float(x @ bend)
        gradient = self.design.adjoint(self.weight * self.loss.slope(self.y, z)) + bend
        return Reading(value, gradient, self._hessian(z) if order == 2 else None)

    def _hessian(self, z: Floats) -> Floats:
        return self.design.gram((self.weight * self.loss.curvature(self.y, z))[:, 0]) + self.penalty

    def hessian_product(self, x: Floats, d: Floats) -> Floats:
        z = self.design.forward(x)
        return self.design.adjoint(self.weight * self.loss.curvature(self.y, z) * self.design.forward(d)) + (
            self.penalty @ d
        )

    def line(self, x: Floats, d: Floats) -> Callable[[float], tuple[float, float]]:
        """The first two derivatives along d at x + length d: two products, whatever the number of lengths."""
        z, dz, of_penalty = self.design.forward(x), self.design.forward(d), self.penalty @ d
        slope, bend = float(x @ of_penalty), float(d @ of_penalty)

        def at(length: float) -> tuple[float, float]:
            there = z + length * dz
            first = float(np.sum(self.weight * self.loss.slope(self.y, there) * dz))
            second = float(np.sum(self.weight * self.loss.curvature(self.y, there) * dz * dz))
            return first + slope + length * bend, second + bend

        return at

    def bound_curvature(self) -> Floats:
        return self.design.gram(self.loss.lipschitz * self.weight[:, 0])


class DesignBlock(Protocol):
    """Some samples of a design, with their targets (m, t) and weights (m,)."""

    @property
    def y(self) -> Array: ...
    @property
    def weight(self) -> Array: ...
    def adjoint(self, u: Array) -> Floats:
        """sum_i u_i a_i' (t, q) of numbers (m, t), a_i (q,) the sample in the coordinates of coefficients."""
        ...

    def correlate(self, u: Array) -> Floats:
        """sum_i u_i a_i' (t, p) in the coordinates of dual points: without the column of the intercept, and of samples
        measured from the centre only where the intercept is free.
        """
        ...

    def sum_sizes(self, u: Array) -> Floats:
        """sum_i weight_i |u_i| |a_i| (p,) of numbers (m, 1), in the coordinates of dual points."""
        ...

    def take(self, chosen: Array) -> Array:
        """The samples with these numbers as rows a_i (m, q) of a matrix."""
        ...


class LossMeans(NamedTuple):
    """The weighted mean of a loss over all samples, its gradient (K, q) and its Hessian (K q, K q), and the weight."""

    weight: float
    value: float
    gradient: Floats
    hessian: Floats | None = None


class MarginLosses(NamedTuple):
    """Weighted sums of a loss, of its slopes and of its curvatures at given raw predictions (n, 1), and the weighted
    slopes (n, 1).
    """

    value: float
    slope: float
    curvature: float
    slopes: Floats


Predictor = Callable[[DesignBlock], Any]
"""The raw predictions (m, K) of a block at some coefficients."""


class DataDesign(Protocol):
    """A linear map from coefficients x (K, q) to K raw predictions of each sample, with targets and weights.

    The first p columns are weights, one more is the intercept's where there is one. Weights have an inner product of
    their own: that of vectors, or that of the functions of a kernel, and gradients are by this inner product.
    """

    @property
    def samples(self) -> int: ...
    @property
    def columns(self) -> int:
        """The number p of weights of an output."""
        ...

    @property
    def intercept(self) -> bool: ...
    @property
    def stored_intercept(self) -> Floats:
        """e (q,): x e' is the intercept for samples as they are, which are measured from a centre here."""
        ...

    @property
    def targets(self) -> Array:
        """y (n, t) of all samples."""
        ...

    @property
    def weights(self) -> Array:
        """The weights (n,) of all samples."""
        ...

    @property
    def sample(self) -> "DataDesign":
        """Some of the samples, in memory."""
        ...

    @property
    def sampled_whole(self) -> bool:
        """Whether the sample is all of them, on this machine."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether many passes are cheap."""
        ...

    @property
    def distributed(self) -> bool: ...
    @property
    def keeps_margins(self) -> bool:
        """Whether raw predictions of all samples are better kept than computed again."""
        ...

    @property
    def has_matrix(self) -> bool:
        """Whether Hessians are formed, with at most a few thousand columns."""
        ...

    @property
    def column_length(self) -> float:
        """The root mean square of the lengths of the samples, by which sums over them are rounded."""
        ...

    def outer_intercept(self, x: Floats) -> Floats:
        """The intercepts (K,) for samples as they are, in extended precision."""
        ...

    def margin_sizes(self, x: Floats) -> tuple[Floats, Floats]:
        """Mean sizes (K,) of the terms of raw predictions, of the weights with samples from the centre and with the
        centre.
        """
        ...

    def predictor(self, x: Floats) -> Predictor: ...
    def size_predictor(self, x: Floats) -> Predictor:
        """The sums of the absolute values of the terms of raw predictions."""
        ...

    def read(self, loss: Loss, x: Floats, order: int) -> LossMeans:
        """In one pass: the value at order 0, the gradient at 1, the Hessian at 2."""
        ...

    def read_with_curvature(self, loss: Loss, x: Floats) -> tuple[LossMeans, Floats]:
        """`read` at order 1, and the mean over all of the curvature times a_i (q,) of the samples of `sample` alone; of
        one raw prediction.
        """
        ...

    def gram(self, weight: Callable[[DesignBlock], Array]) -> Floats:
        """sum_i weight_i a_i a_i' (q, q) for weights (m,) of the samples of a block."""
        ...

    def inner(self, a: Floats, b: Floats) -> Floats:
        """The inner products (K,) of weights (K, p)."""
        ...

    def fold(self, lift: Callable[[DesignBlock], S]) -> S:
        """Merge the statistics of all blocks, in the order of the samples."""
        ...

    def sum(self, lift: Callable[[DesignBlock], Floats]) -> Floats:
        """The sum over the blocks of what `lift` gives."""
        ...

    def minimum(self, lift: Callable[[DesignBlock], Array]) -> Floats:
        """The least (k,) of numbers (m, k) of samples of positive weight."""
        ...

    def map(self, f: Callable[[DesignBlock], Array]) -> Array:
        """Numbers (n, k) of all samples."""
        ...

    def correlate(self, u: Floats) -> Floats:
        """`DesignBlock.correlate` of all samples, for numbers (n, t) in their order."""
        ...

    def untie(self) -> "DataDesign":
        """The same with an intercept that is free."""
        ...

    def losses_at(self, loss: Loss, y: Floats, z: Floats, weight: Floats) -> MarginLosses:
        """For targets, raw predictions and weights (n, 1)."""
        ...

    def retarget(self, y: Array) -> "DataDesign":
        """The same samples with other targets (n, t)."""
        ...


def curvature_product(loss: Loss, y: Array, z: Array, d: Array) -> Array:
    """C_i d_i (m, K), C_i the curvature of the loss in the raw predictions z (m, K) of a sample."""
    if not loss.multi_output:
        return loss.curvature(y, z) * d
    q = cast(Softmax, loss).probabilities(z)
    return q * (d - namespace(q).sum(q * d, axis=1, keepdims=True))


def sum_curvatures(loss: Loss, y: Array, z: Array, weight: Array) -> Floats:
    """sum_i weight_i C_i (K, K), for weights (m,)."""
    xp = namespace(z)
    if not loss.multi_output:
        return on_host(xp.sum(weight[:, None] * loss.curvature(y, z), axis=0))[:, None]
    q = cast(Softmax, loss).probabilities(z)
    each = weight[:, None] * q
    outer = np.einsum("nk,nl->kl", each, q) if is_numpy(q) else on_host(xp.matmul(each.T, q))
    return np.asarray(np.diag(on_host(xp.sum(each, axis=0))) - outer)


@dataclass(frozen=True)
class _Kernel:
    """The samples of a `KernelDesign`; weights are by functions, so that a_i is the function of sample i."""

    matrix: Floats
    y: Floats
    weight: Floats
    intercept: bool

    def adjoint(self, u: Floats) -> Floats:
        return np.column_stack([u.T, u.sum(axis=0)]) if self.intercept else np.ascontiguousarray(u.T)

    def correlate(self, u: Floats) -> Floats:
        return np.ascontiguousarray(u.T)

    def sum_sizes(self, u: Floats) -> Floats:
        return self.weight * np.abs(u[:, 0])

    def take(self, chosen: Floats) -> Floats:
        raise NotImplementedError


class KernelDesign:
    """f(x_i) = sum_j a_j k(x_i, x_j) + b for a kernel matrix k (n, n), with the inner product a'K b of functions.

    The gradient of sum_i u_i f(x_i) in the space of functions is sum_i u_i k(x_i, .), with coefficients u: neither a
    condition of K nor its inverse is in any bound.
    """

    distributed, keeps_margins, has_matrix, in_memory, sampled_whole = False, False, False, True, True

    def __init__(self, matrix: Floats, y: Floats, weight: Floats | None = None, intercept: bool = True) -> None:
        n = len(matrix)
        weight = np.ones(n) if weight is None else weight
        self.block = _Kernel(matrix, y.reshape(n, -1), weight, intercept)
        self.samples = self.columns = n
        self.intercept = intercept
        self.stored_intercept = np.append(np.zeros(n), [1.0] * intercept)
        self.column_length = float(np.sqrt(np.max(np.diag(matrix))))

    @property
    def sample(self) -> "KernelDesign":
        return self

    @property
    def targets(self) -> Floats:
        return self.block.y

    @property
    def weights(self) -> Floats:
        return self.block.weight

    def outer_intercept(self, x: Floats) -> Floats:
        return x[:, -1]

    def margin_sizes(self, x: Floats) -> tuple[Floats, Floats]:
        return np.abs(x[:, : self.columns]) @ np.sqrt(np.mean(self.block.matrix**2, axis=0)), np.zeros(len(x))

    def predictor(self, x: Floats) -> Predictor:
        z = self.block.matrix @ x[:, : self.columns].T + (x[:, self.columns] if self.intercept else 0.0)
        return lambda _: z

    def size_predictor(self, x: Floats) -> Predictor:
        sizes = np.abs(self.block.matrix) @ np.abs(x[:, : self.columns].T)
        return lambda _: sizes + np.abs(x[:, self.columns :]).sum(axis=1)

    def read(self, loss: Loss, x: Floats, order: int) -> LossMeans:
        block, z = self.block, self.predictor(x)(self.block)
        weight, total = block.weight[:, None], float(block.weight.sum())
        value = float(np.sum(weight * loss.value(block.y, z))) / total
        return LossMeans(total, value, block.adjoint(weight * loss.slope(block.y, z)) / total)

    def read_with_curvature(self, loss: Loss, x: Floats) -> tuple[LossMeans, Floats]:
        block, means = self.block, self.read(loss, x, 1)
        curvature = block.weight[:, None] * loss.curvature(block.y, self.predictor(x)(block))
        return means, block.adjoint(curvature)[0] / means.weight

    def gram(self, weight: Callable[[DesignBlock], Array]) -> Floats:
        raise NotImplementedError

    def inner(self, a: Floats, b: Floats) -> Floats:
        return np.einsum("kp,kp->k", a, b @ self.block.matrix)

    def fold(self, lift: Callable[[DesignBlock], S]) -> S:
        return lift(self.block)

    sum = fold

    def minimum(self, lift: Callable[[DesignBlock], Array]) -> Floats:
        return np.asarray(lift(self.block)[self.block.weight > 0.0].min(axis=0))

    def map(self, f: Callable[[DesignBlock], Array]) -> Array:
        return f(self.block)

    def correlate(self, u: Floats) -> Floats:
        return self.block.correlate(u)

    def untie(self) -> "KernelDesign":
        return self

    def losses_at(self, loss: Loss, y: Floats, z: Floats, weight: Floats) -> MarginLosses:
        u = weight * loss.slope(y, z)
        value, curvature = (float(np.sum(weight * part)) for part in (loss.value(y, z), loss.curvature(y, z)))
        return MarginLosses(value, float(np.sum(u)), curvature, u)

    def retarget(self, y: Array) -> "KernelDesign":
        other = KernelDesign(self.block.matrix, y, self.block.weight, self.intercept)
        other.block = replace(self.block, y=y)
        return other


class KernelNorm:
    """strength / 2 a'K a: the squared norm of a function sum_j a_j k(., x_j), as a penalty on its coefficients. The
    conjugate is at the functions with coefficients v.
    """

    positive, l1 = False, 0.0

    def __init__(self, strength: float, matrix: Floats) -> None:
        self.strength, self.matrix = strength, matrix

    def value(self, w: Floats) -> Floats:
        return 0.5 * self.strength * np.einsum("kp,kp->k", w, w @ self.matrix)

    def conjugate(self, v: Floats) -> Floats:
        return np.einsum("kp,kp->k", v, v @ self.matrix) / (2.0 * self.strength)

    def dual_scaling(self, v: Floats) -> Floats:
        return np.ones(len(v))
