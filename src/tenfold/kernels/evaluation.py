"""How kernels are evaluated: blocks, products and gradients, tile by tile.

A kernel that is one elementwise function of inner products or distances, up to a factor, a constant and noise, is a
`PairForm` and goes to the compiled tiles as a whole. Every other kernel gives the values of a `Tile`, some rows of the
block, from those of the kernels that it is made of. Of k(X, X) only the half above the diagonal is evaluated.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from tenfold.arrays import FLOATS, Array, Floats, is_array_api, is_sparse, like, namespace, some_rows
from tenfold.linear_algebra import dot
from tenfold.machine import poll, require_memory
from tenfold.pairwise import PairFunction, StoredPoints, cast, empty, mirror

if TYPE_CHECKING:
    from tenfold.kernels.kernel import Kernel

Image = Any
"""Samples as the tiles of a kernel read them: an array, or a tuple of images."""

FEW_VECTORS = 8  # up to so many a product goes vector by vector in the tiles; more are multiplied by BLAS
TILE_VALUES = 1 << 20  # of a tile: 8 MiB in float64, with its temporaries in the last cache


@dataclass(frozen=True)
class Tile:
    """Some rows of a block: images of samples x and z, and the rows and columns where they begin; `same` where the
    block is k(X, X).
    """

    x: Image
    z: Image
    row: int
    column: int
    same: bool

    @property
    def shape(self) -> tuple[int, int]:
        return count(self.x), count(self.z)

    def part(self, i: int) -> "Tile":
        """The tile of the kernel within that has the image number i."""
        return Tile(self.x[i], self.z[i], self.row, self.column, self.same)


@dataclass(frozen=True)
class PairForm:
    """A kernel that is function(u, v) + constant + noise [u and v are one sample] of the images u, v of two samples;
    function None: zero.
    """

    image: Callable[[Array], Array] | None
    function: PairFunction | None
    constant: float = 0.0
    noise: float = 0.0


def count(image: Image) -> int:
    """The number of samples of an image."""
    return count(image[0]) if isinstance(image, tuple) else len(image) if isinstance(image, list) else image.shape[0]


def take(image: Image, start: int, stop: int) -> Image:
    """Consecutive samples of an image."""
    if isinstance(image, tuple):
        return tuple(take(part, start, stop) for part in image)
    stop = min(stop, count(image))
    return image[start:stop] if isinstance(image, list) else some_rows(image, slice(start, stop))


def take_columns(K: Array, index: Any) -> Array:
    """Some columns of a given kernel matrix."""
    return namespace(K).take(K, like(index, K), axis=1) if is_array_api(K) else K[:, index]


def first_array(image: Image) -> Array:
    """An array of the image, which says where the samples are."""
    return first_array(image[0]) if isinstance(image, tuple) else image


def as_samples(kernel: "Kernel", X: Any) -> Array:
    """Samples as an array of floats: NumPy, sparse (CSR), or of another library; anything where the kernel takes
    samples that are no vectors.
    """
    if kernel.reads_strings:
        return kernel.encode_samples(X)
    if is_sparse(X):
        return X if X.format == "csr" and X.dtype in FLOATS else sparse.csr_array(X, dtype=np.float64)
    if is_array_api(X):
        xp = namespace(X)
        return X if X.dtype in (xp.float32, xp.float64) else xp.astype(X, xp.float64)
    if not kernel.requires_vector_input:
        return X if isinstance(X, (np.ndarray, list)) else list(X)
    X = np.asarray(X)
    X = X if X.dtype in FLOATS else X.astype(np.float64)
    X = X[None, :] if X.ndim == 1 else X
    if X.ndim != 2:
        raise ValueError(f"Samples must be a matrix (samples, features), got an array of shape {X.shape}.")
    return X


def _validate(kernel: "Kernel", X: Any, Y: Any) -> tuple[Array, Array | None]:
    X = as_samples(kernel, X)
    Y = None if Y is None or Y is X else as_samples(kernel, Y)
    if Y is not None and kernel.requires_vector_input and X.shape[1] != Y.shape[1]:
        raise ValueError(f"Incompatible dimension for X and Y matrices: X has {X.shape[1]} features, Y {Y.shape[1]}.")
    if Y is not None and is_sparse(X) != is_sparse(Y):  # tiles are of one storage
        return (X, sparse.csr_array(Y)) if is_sparse(X) else (sparse.csr_array(X), Y)
    return X, Y


def evaluate_block(kernel: "Kernel", X: Any, Y: Any, dtype: np.dtype[Any]) -> Array:
    """The block k(X, Y), (m, n), in float64 or float32; Y None: k(X, X)."""
    if dtype not in FLOATS:
        raise ValueError(f"A kernel is evaluated in float64 or float32, not in {dtype}.")
    X, Y = _validate(kernel, X, Y)
    m, n = count(X), count(X if Y is None else Y)
    instead = "Use products by tiles (Kernel.multiply), fewer samples, or float32."
    require_memory(f"The kernel matrix of {m} and {n} samples", m * n * dtype.itemsize, instead)
    form = kernel._pair_form()
    if form is not None and form.function is not None and form.image is not None:
        return _evaluate_form(form, X, Y, dtype)
    x = kernel._image(X)
    z = x if Y is None else kernel._image(Y)
    out = empty(m, n, dtype, first_array(x))
    for tile, (a, b) in _tiles(x, z, Y is None):
        out[a:b, tile.column :] = cast(kernel._values(tile), dtype)
        if Y is None:
            mirror(out, a, b)
    return out


def _evaluate_form(form: PairForm, X: Array, Y: Array | None, dtype: np.dtype[Any]) -> Array:
    """The block of a kernel that is one function of pairs; its constant goes into the tiles, its noise on the
    diagonal.
    """
    assert form.image is not None
    assert form.function is not None
    u = form.image(X)
    v = u if Y is None else form.image(Y)
    function = replace(form.function, shift=form.function.shift + form.constant)
    K = StoredPoints(v).block(None if Y is None else u, function, dtype)
    if Y is None and form.noise:
        _add_diagonal(K, form.noise)
    return K


def _add_diagonal(K: Array, value: float) -> None:
    if is_array_api(K):
        flat = namespace(K).reshape(K, (-1,))  # a view
        flat[:: K.shape[0] + 1] += value
        return
    index = np.arange(K.shape[0])
    K[index, index] += value


def _tiles(x: Image, z: Image, same: bool) -> Iterator[tuple[Tile, tuple[int, int]]]:
    """The tiles of a block with their rows; of k(X, X) the columns begin at the diagonal."""
    m, n = count(x), count(z)
    step = max(1, TILE_VALUES // max(1, n))
    for a in range(0, m, step):
        poll()
        b, column = min(m, a + step), a if same else 0
        yield Tile(take(x, a, b), take(z, column, n), a, column, same), (a, b)


def multiply(kernel: "Kernel", X: Any, Z: Any, V: Array) -> Array:
    """k(X, Z) V by tiles, (m,) or (m, t) as V; Z None: k(X, X) V."""
    X, Z = _validate(kernel, X, Z)
    vectors = V if V.ndim == 2 else V[:, None]
    result = _multiply(kernel, X, Z, vectors)
    return result if V.ndim == 2 else result[:, 0]


def _multiply(kernel: "Kernel", X: Array, Z: Array | None, V: Array) -> Array:
    form = kernel._pair_form()
    few = V.shape[1] <= FEW_VECTORS and not is_sparse(X) and not is_array_api(X)
    if few and form is not None and form.function is not None and form.image is not None:
        u = form.image(X)
        v = u if Z is None else form.image(Z)
        function = replace(form.function, shift=form.function.shift + form.constant)
        product = StoredPoints(v).multiply(u, function, V)
        return product + form.noise * V if Z is None and form.noise else product
    x = kernel._image(X)
    z = x if Z is None else kernel._image(Z)
    parts = [multiply_matrices(kernel._values(tile), V) for tile in _rectangles(x, z, Z is None)]
    return namespace(V).concat(parts, axis=0)


def multiply_matrices(K: Array, V: Array) -> Array:
    """K V, by SciPy's BLAS where both are NumPy's."""
    if is_array_api(V):
        return namespace(V).matmul(K, V)
    V = np.ascontiguousarray(V, dtype=np.float64)
    return np.asarray(blas.dgemm(1.0, V.T, K.T).T) if K.size and V.size else np.zeros((K.shape[0], V.shape[1]))


def _rectangles(x: Image, z: Image, same: bool) -> Iterator[Tile]:
    step = max(1, TILE_VALUES // max(1, count(z)))
    for a in range(0, max(1, count(x)), step):
        poll()
        yield Tile(take(x, a, min(count(x), a + step)), z, a, 0, same)


def evaluate_gradient(kernel: "Kernel", X: Any) -> Array:
    """dk(X, X)/dtheta, (n, n, n_dims)."""
    X, _ = _validate(kernel, X, None)
    n, d = count(X), kernel.n_dims
    size = 8 * n * n * d
    require_memory(f"The gradient of a kernel of {n} samples in {d} parameters", size, "Use weighted_gradient.")
    x = kernel._image(X)
    flat = empty(n, n * d, np.dtype(np.float64), first_array(x))
    out = namespace(flat).reshape(flat, (n, n, d))
    for tile in _rectangles(x, x, True):
        for k, gradient in enumerate(kernel._gradients(tile)):
            out[tile.row : tile.row + gradient.shape[0], :, k] = gradient
    return out


def weighted_gradient(kernel: "Kernel", X: Any, A: Array) -> Floats:
    """sum_ij A_ij dk_ij/dtheta, (n_dims,), for a symmetric A: of each pair once, with twice its weight."""
    X, _ = _validate(kernel, X, None)
    if A.shape != (count(X), count(X)):
        raise ValueError(f"A must be a matrix of {count(X)} x {count(X)} weights, got an array of shape {A.shape}.")
    x, total = kernel._image(X), np.zeros(kernel.n_dims)
    for tile, (a, b) in _tiles(x, x, True) if kernel.n_dims else ():
        W = 1.0 * like(A, first_array(x))[a:b, a:]
        W[:, b - a :] *= 2.0
        total += np.asarray(kernel._contract(tile, W))
    return total


def multiply_gradient(kernel: "Kernel", X: Any, V: Array) -> Floats:
    """(dk(X, X)/dtheta_j) V for each free hyper-parameter, (n_dims, n, t), for V (n, t); by tiles of the half above the
    diagonal.
    """
    X, _ = _validate(kernel, X, None)
    x = kernel._image(X)
    out = np.zeros((kernel.n_dims, *V.shape))
    for tile, (a, b) in _tiles(x, x, True) if kernel.n_dims else ():
        for product, gradient in zip(out, kernel._gradients(tile), strict=True):
            product[a:b] += multiply_matrices(gradient, V[a:])
            product[b:] += multiply_matrices(gradient[:, b - a :].T, V[a:b])
    return out


def inner_product(one: Array, other: Array) -> float:
    """The sum of the products of the entries of two matrices."""
    if is_array_api(one):
        return float(namespace(one).sum(one * other))
    return dot(np.ravel(one), np.ravel(other))
