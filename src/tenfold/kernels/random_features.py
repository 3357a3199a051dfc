"""Random feature maps: z(x).z(y) is k(x, y) on average over their draws.

Fourier features z_k(x) = sqrt(2 / K) cos(w_k.x + b_k), b_k uniform in [0, 2 pi), of a kernel k(x - y) (Bochner's
theorem: w is drawn from the Fourier transform of the kernel; Rahimi and Recht 2007; Cookbook, ch. 24):

==========  ===============================================  =====================================================
kernel      k(d)                                             w
==========  ===============================================  =====================================================
gaussian    exp(-gamma ||d||^2)                              normal with variance 2 gamma
laplacian   exp(-gamma ||d||_1)                              independent Cauchy of scale gamma
matern      that of smoothness nu, length 1/sqrt(2 gamma)    Student of 2 nu degrees, squared scale 2 gamma
==========  ===============================================  =====================================================

Orthogonal features (Yu et al. 2016) have directions that are the rows of random orthogonal matrices, p at a time, and
lengths drawn as before: each w has the same distribution, and the kernel error a smaller variance.

The skewed chi-squared kernel prod_j 2 sqrt((x_j + c)(y_j + c)) / (x_j + y_j + 2 c) has Fourier features of log(x + c),
w of the hyperbolic secant (Li, Ionescu and Sminchisescu 2010).

The count sketch of (gamma x.y + c)^q is the inverse Fourier transform of the product of those of q sketches S_d x:
each feature goes to one of K places with a random sign (Pham and Pagh 2013).

The additive chi-squared kernel sum_j 2 x_j y_j / (x_j + y_j) has features that are not random: its spectrum
sech(pi w) is sampled at j L, j = 0, ..., s - 1 (Vedaldi and Zisserman 2011).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft, sparse

from tenfold import _core
from tenfold.arrays import Array, Floats, Integers, is_array_api, is_sparse, like, namespace
from tenfold.kernels.kernel import Kernel
from tenfold.kernels.products import AdditiveChi2
from tenfold.kernels.stationary import Gaussian, Laplacian, Matern
from tenfold.machine import one_blas_thread, poll, threads

SPECTRA = ("gaussian", "laplacian", "matern")

TILE_VALUES = 1 << 18  # of features that are made at a time, where a step reads them again: 2 MiB in float64

OVERFLOW = (
    "The products of X and the random weights overflow: the features would be NaN. Scale the columns of X, or take a "
    "smaller gamma."
)


@dataclass(frozen=True)
class Spectrum:
    """The kernel of Fourier features, and how their weights are drawn."""

    kernel: str = "gaussian"
    gamma: float = 1.0
    nu: float = 1.5
    orthogonal: bool = False

    def exact(self) -> Kernel:
        """The kernel that is approximated."""
        if not self.gamma > 0.0:
            return Gaussian(1e150)
        if self.kernel == "laplacian":
            return Laplacian(1.0 / self.gamma)
        length = math.sqrt(0.5 / self.gamma)
        return Gaussian(length) if self.kernel == "gaussian" else Matern(length, nu=self.nu)

    def draw(self, p: int, count: int, random: Any) -> tuple[Floats, Floats]:
        """Weights (p, K) and offsets (K,), by the same calls of the generator as scikit-learn's."""
        weights = self._draw_weights(p, count, random)
        return weights, random.uniform(0.0, 2.0 * np.pi, size=count)

    def _draw_weights(self, p: int, count: int, random: Any) -> Floats:
        if self.kernel == "laplacian":
            return np.asarray(self.gamma * random.standard_cauchy(size=(p, count)))
        if self.orthogonal:
            directions, lengths = _draw_orthogonal(p, count, random), np.sqrt(random.chisquare(p, size=count))
            normal = directions * lengths
        else:
            normal = random.normal(size=(p, count))
        if self.kernel == "matern":
            normal = normal * np.sqrt(2.0 * self.nu / random.chisquare(2.0 * self.nu, size=count))
        return np.asarray((2.0 * self.gamma) ** 0.5 * normal)


def _draw_orthogonal(p: int, count: int, random: Any) -> Floats:
    """Columns of random orthogonal matrices (p, p), one after the other; the law of each is uniform."""
    parts = []
    for _ in range(-(-count // p)):
        Q, R = np.linalg.qr(random.normal(size=(p, p)))
        parts.append(Q * np.sign(np.diag(R)))
    return np.concatenate(parts, axis=1)[:, :count]


@dataclass(frozen=True)
class Cosines:
    """sqrt(2 / K) cos(x.W + b) for weights (p, K) and offsets (K,), in the wider dtype of X and the weights."""

    weights: Array
    offset: Array

    @property
    def count(self) -> int:
        return int(self.weights.shape[1])

    def __call__(self, X: Array) -> Array:
        scale = math.sqrt(2.0 / self.count)
        if is_array_api(X):
            return self._in_arrays(X, scale)
        dtype = np.result_type(X.dtype, self.weights.dtype)
        W, b = (np.ascontiguousarray(part, dtype=dtype) for part in (self.weights, self.offset))
        work = threads(X.shape[0] * self.count)
        if is_sparse(X):
            Z = np.ascontiguousarray(X.astype(dtype, copy=False) @ W)
            _core.take_cosines(Z, b, scale, work)
        else:
            with one_blas_thread:
                Z = _core.cosine_features(np.ascontiguousarray(X, dtype=dtype), W, b, scale, work)
        _require_no_overflow(X, W, Z)
        return Z

    def _in_arrays(self, X: Array, scale: float) -> Array:
        xp = namespace(X)
        W, b = (xp.astype(like(part, X), X.dtype, copy=False) for part in (self.weights, self.offset))
        Z = xp.cos(xp.matmul(X, W) + b) * scale
        if not bool(xp.all(xp.isfinite(Z))):
            raise ValueError(OVERFLOW)
        return Z


def _require_no_overflow(X: Array, W: Floats, Z: Floats) -> None:
    """Raise where products have overflowed, which sizes of X and W exclude for all ordinary data."""
    values = X.data if is_sparse(X) else X
    if not values.size:
        return
    with np.errstate(over="ignore"):
        size = max(-float(values.min()), float(values.max())) * float(np.abs(W).max()) * X.shape[1]
    if not size < 0.1 * float(np.finfo(Z.dtype).max) and not np.isfinite(Z).all():
        raise ValueError(OVERFLOW)


@dataclass(frozen=True)
class LogCosines:
    """Cosines of log(x + skewedness); every entry of x must be above -skewedness."""

    cosines: Cosines
    skewedness: float

    def __call__(self, X: Array) -> Array:
        xp = namespace(X)
        if bool(xp.any(-self.skewedness >= X)):
            raise ValueError("X may not contain entries smaller than -skewedness.")
        return self.cosines(xp.log(X + self.skewedness))


def draw_sech(p: int, count: int, random: Any) -> tuple[Floats, Floats]:
    """Weights (p, K) of the hyperbolic secant by the inverse of its distribution, and offsets (K,)."""
    uniform = random.uniform(size=(p, count))
    weights = 1.0 / np.pi * np.log(np.tan(np.pi / 2.0 * uniform))
    return weights, random.uniform(0.0, 2.0 * np.pi, size=count)


@dataclass(frozen=True)
class CountSketch:
    """The sketch of (gamma x.y + coef0)^q: places (q, p) of the features, their signs (q, p), K components; a constant
    is the last feature where coef0 is not zero.
    """

    places: Integers
    signs: Array
    count: int
    gamma: float
    coef0: float

    def __call__(self, X: Array) -> Array:
        if is_array_api(X):
            return self._in_arrays(X)
        tables, constants = self._tables(X.dtype)
        out = np.empty((X.shape[0], self.count), dtype=X.dtype)
        step = max(16, TILE_VALUES // self.count)
        for start in range(0, X.shape[0], step):
            poll()
            part: Any = X[start : start + step]
            spectrum: Any = None
            for table, constant in zip(tables, constants, strict=True):
                transformed = fft.rfft(self._sketch(part, table) + constant, axis=1)
                spectrum = transformed if spectrum is None else np.multiply(spectrum, transformed, out=spectrum)
            out[start : start + step] = fft.irfft(spectrum, n=self.count, axis=1, overwrite_x=True)
        return out

    def _sketch(self, X: Array, table: Any) -> Floats:
        product = X @ table
        return product.toarray() if is_sparse(product) else np.asarray(product)

    def _tables(self, dtype: Any) -> tuple[list[Any], list[Floats]]:
        """The matrices (p, K) of the sketches, each with one entry a row, and the sketches (K,) of the constant."""
        p = self.places.shape[1] - (self.coef0 != 0.0)
        tables, constants = [], []
        for place, sign in zip(np.asarray(self.places), np.asarray(self.signs, dtype=np.float64), strict=True):
            constant = np.zeros(self.count, dtype=dtype)
            if self.coef0 != 0.0:
                constant[place[p]] = math.sqrt(self.coef0) * sign[p]
            values = (math.sqrt(self.gamma) * sign[:p]).astype(dtype)
            tables.append(sparse.csr_array((values, place[:p], np.arange(p + 1)), shape=(p, self.count)))
            constants.append(constant)
        return tables, constants

    def _in_arrays(self, X: Array) -> Array:
        xp, spectrum = namespace(X), None
        tables, constants = self._tables(np.float64)
        for table, constant in zip(tables, constants, strict=True):
            dense, shift = (xp.astype(like(part, X), X.dtype, copy=False) for part in (table.toarray(), constant))
            transformed = xp.fft.rfft(xp.matmul(X, dense) + shift, axis=-1)
            spectrum = transformed if spectrum is None else spectrum * transformed
        return xp.fft.irfft(spectrum, n=self.count, axis=-1)


@dataclass(frozen=True)
class ChiSquaredSteps:
    """The sampled spectrum of the additive chi-squared kernel: of each entry x >= 0
    sqrt(L x), and for j = 1, ..., steps - 1  sqrt(2 L x sech(pi j L)) times cos(j L log x) and sin(j L log x).
    """

    steps: int
    interval: float

    def exact(self) -> Kernel:
        return AdditiveChi2()

    def __call__(self, X: Array) -> Array:
        if is_sparse(X):
            parts = self._columns(X.data)
            return sparse.hstack([self._with_data(X, part) for part in parts], format="csr")
        if is_array_api(X):
            return namespace(X).concat(self._columns(X), axis=1)
        n, p = X.shape
        out = np.empty((n, p * (2 * self.steps - 1)), dtype=X.dtype)
        step = max(1, TILE_VALUES // max(1, out.shape[1]))
        for start in range(0, n, step):
            for j, part in enumerate(self._columns(X[start : start + step])):
                out[start : start + step, j * p : (j + 1) * p] = part
        return out

    def _with_data(self, X: Array, data: Array) -> Array:
        return type(X)((data, X.indices, X.indptr), shape=X.shape)

    def _columns(self, x: Array) -> list[Array]:
        """The features of every entry, one after the other, in the dtype of x."""
        xp = namespace(x)
        root, empty = xp.sqrt(x), x == 0.0
        logs = self.interval * xp.log(xp.where(empty, xp.ones_like(x), x))
        result = [math.sqrt(self.interval) * root]
        for j in range(1, self.steps):
            factor = math.sqrt(2.0 * self.interval / math.cosh(math.pi * j * self.interval))
            result += [factor * root * xp.cos(j * logs), factor * root * xp.sin(j * logs)]
        return result
