"""Kernel-target alignment, and the convex mixture of kernels that maximises it.

With centred kernels C = H K H, H = I - 11'/n, and Y the targets about their mean, the alignment is
<C, Y Y'> / (||C|| ||Y Y'||) (Cortes, Mohri and Rostamizadeh 2012). Of sum_j w_j K_j, w >= 0, it is largest where w is a
multiple of the solution of the quadratic problem  min_{v >= 0} v'M v - 2 v'a,  M_ij = <C_i, C_j>, a_i = <C_i, Y Y'>.
M and a are summed over tiles: no n x n matrix of a kernel is kept.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.optimize import nnls

from tenfold.arrays import EPS, Floats, on_host
from tenfold.kernels.compositions import Product
from tenfold.kernels.constants import Constant
from tenfold.kernels.conversion import as_kernel
from tenfold.kernels.diagnostics import matrix_of
from tenfold.kernels.evaluation import TILE_VALUES, Tile, as_samples, count, inner_product, take
from tenfold.kernels.kernel import Kernel
from tenfold.linear_algebra import eigh


@dataclass(frozen=True)
class Mixture:
    """A convex mixture of kernels, and how well it agrees with the targets.

    kernel: sum_j weights_j kernel_j without those of weight zero, the weights fixed; weights: (kernels,), they sum to
    one; alignment: of the mixture; alignments: of each kernel.
    """

    kernel: Kernel
    weights: Floats
    alignment: float
    alignments: Floats


def targets_of(y: Any) -> Floats:
    """Targets (n, t) about their mean: numbers as they are, labels as indicators of the classes."""
    y = np.asarray(on_host(y))
    if y.dtype.kind not in "fiub":
        y = y[:, None] == np.unique(y)[None, :]
    Y: Floats = np.asarray(y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    return np.asarray(Y - Y.mean(axis=0))


def alignment(kernel: Any, y: Any, X: Any = None) -> float:
    """The centred alignment of a kernel matrix with targets, between -1 and 1: their cosine as matrices.

    kernel: the matrix, or a kernel with samples X; y: targets (n,) or (n, t), or labels.

    >>> import numpy as np
    >>> from tenfold.kernels import alignment
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> round(alignment(np.outer(y, y), y), 12)
    1.0
    """
    K, Y = matrix_of(kernel, X), targets_of(y)
    if len(Y) != len(K):
        raise ValueError(f"The kernel has {len(K)} samples and y {len(Y)}.")
    M, a = _products(([K[start:stop]] for start, stop in _cut(len(K))), Y)
    return float(_cosines(M, a, Y)[0])


def align(kernels: Sequence[Any], X: Any, y: Any) -> Mixture:
    """The convex mixture of kernels with the largest alignment with the targets y of samples X.

    >>> import numpy as np
    >>> from tenfold.kernels import Gaussian, Linear, align
    >>> X = np.linspace(-1.0, 1.0, 20)[:, None]
    >>> mixture = align([Linear(), Gaussian(0.1)], X, X[:, 0])
    >>> mixture.weights.round(6).tolist(), round(mixture.alignment, 6)
    ([1.0, 0.0], 1.0)
    """
    parts = [as_kernel(kernel, X) for kernel in kernels]
    if not parts:
        raise ValueError("Give at least one kernel.")
    Y = targets_of(y)
    samples = as_samples(parts[0], X)
    if count(samples) != len(Y):
        raise ValueError(f"X has {count(samples)} samples and y {len(Y)}.")
    M, a = _products(_tiles_of(parts, samples), Y)
    weights = _maximise(M, a)
    chosen = [Product(Constant(float(w), "fixed"), k) for w, k in zip(weights, parts, strict=True) if w > 0.0]
    size = math.sqrt(max(float(weights @ (M @ weights)), 0.0)) * _size(Y)
    value = float(weights @ a) / size if size > 0.0 else 0.0
    return Mixture(reduce(add, chosen), weights, value, _cosines(M, a, Y))


def _cut(n: int) -> list[tuple[int, int]]:
    step = max(1, TILE_VALUES // max(1, n))
    return [(start, min(n, start + step)) for start in range(0, n, step)]


def _tiles_of(kernels: list[Kernel], X: Any) -> Iterator[list[Floats]]:
    """Some rows of the matrices of all kernels at a time."""
    images, n = [kernel._image(X) for kernel in kernels], count(X)
    for start, stop in _cut(n):
        tiles = [Tile(take(image, start, stop), image, start, 0, True) for image in images]
        yield [np.asarray(on_host(kernel._values(tile))) for kernel, tile in zip(kernels, tiles, strict=True)]


def _products(tiles: Iterator[list[Floats]], Y: Floats) -> tuple[Floats, Floats]:
    """M_ij = <C_i, C_j> and a_i = <C_i, Y Y'> from rows of the kernels: <C_i, C_j> is <K_i, K_j> - 2 r_i.r_j / n +
    sum(r_i) sum(r_j) / n^2, r the sums of the rows, and a needs no centring, as Y has mean zero.
    """
    n, start = len(Y), 0
    M: Any = 0.0
    a: Any = 0.0
    rows: list[Floats] = []
    for parts in tiles:
        stop = start + len(parts[0])
        inner = np.array([[inner_product(one, other) for other in parts] for one in parts])
        target = np.array([np.sum((part @ Y) * Y[start:stop]) for part in parts])
        M, a = M + inner, a + target
        rows.append(np.stack([part.sum(axis=1) for part in parts]))
        start = stop
    r = np.concatenate(rows, axis=1)
    total = r.sum(axis=1)
    return M - 2.0 / n * (r @ r.T) + np.outer(total, total) / n**2, a


def _size(Y: Floats) -> float:
    """||Y Y'||."""
    return float(np.linalg.norm(Y.T @ Y))


def _cosines(M: Floats, a: Floats, Y: Floats) -> Floats:
    sizes = np.sqrt(np.maximum(np.diag(M), 0.0)) * _size(Y)
    return np.where(sizes > 0.0, a / np.where(sizes > 0.0, sizes, 1.0), 0.0)


def _maximise(M: Floats, a: Floats) -> Floats:
    """Weights, which sum to one, from min v'M v - 2 v'a over v >= 0, a problem of least squares by the root of M; where
    no kernel agrees with the targets, all weight is on the one that disagrees least.
    """
    scales = np.sqrt(np.maximum(np.diag(M), 0.0))
    scales = np.where(scales > 0.0, scales, 1.0)
    values, vectors = eigh(M / np.outer(scales, scales))
    kept = values > len(values) * EPS * max(values[-1], 0.0)
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ (a / scales)) / np.sqrt(values[kept])
    v = (nnls(root, right)[0] if kept.any() else np.zeros(len(a))) / scales
    if not v.any():
        v = (np.arange(len(a)) == int(np.argmax(a / scales))).astype(np.float64)
    return v / v.sum()
