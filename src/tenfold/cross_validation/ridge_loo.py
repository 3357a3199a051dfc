"""Exact leave-one-out for every alpha of a ridge grid, from one eigendecomposition and one more pass over the samples.

With sample i left out and alpha kept, the residual is e_i = r_i / (1 - h_i): r_i the residual of the full fit, and
the leverage h_i = weight_i (1 / W + z_i (S + alpha I)^-1 z_i'), z_i the centred sample (without 1 / W where there is no
intercept). Rotated samples Z = z V give both products: leverages (Z * Z) D, fits Z C, for all alphas at once. Seeger,
section 10.2.2; Cookbook, C.3.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold import _core
from tenfold.arrays import Array, Floats, is_array_api, is_numpy, is_sparse, likes, namespace, on_host, ones
from tenfold.cross_validation.ridge_spectrum import Tall, Wide, intercepts, inverse
from tenfold.data import Block, Deferred, MaybeDeferred, Rows, is_near
from tenfold.machine import one_blas_thread, require_memory, threads


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out errors of each alpha.

    Attributes
    ----------
    squares : (t, A), weighted sums of squared leave-one-out residuals
    errors : (n, t, A) residuals where they are requested
    """

    squares: Floats
    errors: Floats | None = None

    def merge(self, other: "LeaveOneOut") -> "LeaveOneOut":
        errors = None if self.errors is None or other.errors is None else np.concatenate([self.errors, other.errors])
        return LeaveOneOut(self.squares + other.squares, errors)


@dataclass(frozen=True)
class _Products:
    """The matrices that samples are multiplied by: V (p, r), D (A, r), C (t, A, r), and the centre, means and 1 / W."""

    V: Floats
    D: Floats
    C: Floats
    centre: Floats
    target_mean: Floats
    base: float


def leave_one_out(
    rows: Rows, spectrum: Tall | Wide, alphas: Floats, weight: float, intercept: bool, *, keep: bool
) -> LeaveOneOut:
    """Leave-one-out residuals of every sample, target and alpha: sums of squares, and all of them with `keep`."""
    n, t = rows.shape[0], rows.targets
    if keep:
        size = 8 * n * t * len(alphas)
        what = f"The {n} x {t} x {len(alphas)} leave-one-out residuals"
        if rows.distributed:
            raise ValueError(
                f"{what}, {size:,} bytes, stay where the rows are. Use the default scoring, which needs their sums of "
                "squares alone, and store_cv_results=False; or pass X.compute()."
            )
        require_memory(what, size, "Use fewer alphas, or the default scoring.")
    if isinstance(spectrum, Wide):
        return _wide(rows, spectrum, alphas, keep)
    filters = inverse(spectrum.values, alphas)
    products = _Products(
        spectrum.vectors,
        filters,
        np.ascontiguousarray(spectrum.right.T[:, None, :] * filters),
        spectrum.mean,
        spectrum.target_mean,
        1.0 / weight if intercept else 0.0,
    )
    return rows.fold(partial(_lift_compiled, products, keep))


def _lift_compiled(products: _Products, keep: bool, block: Block) -> MaybeDeferred[LeaveOneOut]:
    if not is_numpy(block.X):
        return loo_in_arrays(products, keep, block)
    P = products
    count = threads(P.D.size * len(block.X))
    with one_blas_thread:
        squares, _, errors, _ = _core.ridge_loo(
            block.X, block.y, block.weight, P.centre, P.target_mean, P.V, P.D, P.C, P.base, count, keep
        )
    return LeaveOneOut(squares, errors)


def loo_in_arrays(products: _Products, keep: bool, block: Block) -> MaybeDeferred[LeaveOneOut]:
    """The lift in the Array API, a tile of samples at a time: for sparse samples and other namespaces, and the
    reference for the compiled loop.

    On a device the rotated samples z - s are not formed where s, the rotated centre, is small beside them, which saves
    a pass: their products are z^2 D - 2 z (s D) + s^2 D and z C - s C.
    """
    xp, P = namespace(block.y), products
    t, candidates, r = P.C.shape
    C, base, mean = P.C.reshape(t * candidates, r), np.asarray(P.base), P.target_mean[:, None]
    near = is_array_api(block.X) and is_near(P.centre, block)
    with one_blas_thread:
        shift = P.centre @ P.V
        if near:
            base, mean = base + P.D @ shift**2, mean - (C @ shift).reshape(t, candidates)
            C = np.vstack([C, 2.0 * shift * P.D])
    V, D, C, shift, base, mean, squares = likes((P.V, P.D, C, shift, base, mean, np.zeros((t, candidates))), block.y)
    kept = []
    tile = max(64, (1 << (25 if is_array_api(block.X) else 20)) // max(1, r))
    for start in range(0, block.X.shape[0], tile):
        part = slice(start, min(start + tile, block.X.shape[0]))
        X = block.X[part] if is_sparse(block.X) else xp.astype(block.X[part, :], xp.float64, copy=False)
        with one_blas_thread:
            Z = X @ V if near else X @ V - shift
            h = base + xp.matmul(Z * Z, D.T)
            fits = xp.matmul(Z, C.T)
        if near:
            h, fits = h - fits[:, t * candidates :], fits[:, : t * candidates]
        weight = None if block.weight is None else block.weight[part]
        h = h if weight is None else h * weight[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 at leverage one
            e = (block.y[part, :][:, :, None] - mean - xp.reshape(fits, (-1, t, candidates))) / (1.0 - h)[:, None, :]
        squares = squares + _sum_of_squares(e, weight)
        if keep:
            kept.append(on_host(e))
    if is_sparse(block.X) or keep:
        return LeaveOneOut(on_host(squares), np.concatenate([np.zeros((0, t, candidates)), *kept]) if keep else None)
    return Deferred.of((squares,), lambda _, result: LeaveOneOut(result), key=True)


def _sum_of_squares(e: Array, weight: Array | None) -> Array:
    """The weighted sum of squares (t, A) over the samples of e (m, t, A)."""
    xp = namespace(e)
    if is_array_api(e):
        # as a product: down a long column a library's own sum may be many times slower
        flat = xp.reshape(e * e, (e.shape[0], -1))
        return xp.reshape(xp.matmul(ones(e.shape[0], e) if weight is None else weight, flat), e.shape[1:])
    return xp.sum(e * e if weight is None else e * e * weight[:, None, None], axis=0)


def _wide(rows: Rows, spectrum: Wide, alphas: Floats, keep: bool) -> LeaveOneOut:
    """For more features than samples: with c = (K + alpha I)^-1 y and d the diagonal of that inverse, both without the
    direction of the intercept, e = c / d in root-weighted units.
    """
    root = spectrum.data.root
    d = (spectrum.vectors**2) @ inverse(spectrum.values, alphas).T
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 at leverage one
        e = np.moveaxis(spectrum.dual_coef(alphas) / d[:, :, None], 1, 2)
    squares = np.sum(e * e, axis=0)
    if not keep:
        return LeaveOneOut(squares, None)
    e = e / np.where(root > 0, root, 1.0)[:, None, None]
    if not root.all():
        # samples of weight zero are in no fit: their leave-one-out residual is the plain one
        block, coef = rows.whole(), spectrum.coef(alphas)
        fits = np.asarray(block.X[root == 0] @ coef.reshape(-1, coef.shape[2]).T).reshape(-1, *coef.shape[:2])
        e[root == 0] = block.y[root == 0][:, :, None] - np.moveaxis(fits + intercepts(spectrum, coef), 1, 2)
    return LeaveOneOut(squares, e)


def enclose(without: Floats, size: Floats, coverage: float) -> Floats:
    """Intervals (m, 2) from predictions (m, n) without each sample and the sizes (n,) of leave-one-out residuals: the
    middle of the n values without -+ size; infinite where there are too few samples for the coverage.
    """
    rank = int(np.ceil(coverage * (size.size + 1)))
    if rank > size.size:
        return np.tile([-np.inf, np.inf], (len(without), 1))
    low = -np.partition(size - without, rank - 1, axis=1)[:, rank - 1]
    return np.column_stack([low, np.partition(without + size, rank - 1, axis=1)[:, rank - 1]])


@dataclass(frozen=True)
class JackknifePlus:
    """Prediction intervals from leave-one-out residuals (Barber, Candes, Ramdas and Tibshirani 2021).

    The model without sample i predicts f(x) - g_i(x), g_i(x) = weight_i e_i (1 / W + z (S + alpha I)^-1 z_i'). The
    interval holds the middle of the n values f(x) - g_i(x) -+ |e_i|, and covers a new observation with probability at
    least 2 coverage - 1, typically coverage.
    """

    errors: Floats  # (n,), exact leave-one-out residuals
    rows: Floats  # (n, p), about the centre
    weight: Floats  # (n,)
    centre: Floats
    base: float  # 1 / W, or 0 without an intercept
    alpha: float
    values: Floats
    vectors: Floats  # V (p, p), or Q (n, r) for wide data

    def interval(self, X: Floats, fits: Floats, coverage: float) -> Floats:
        """Intervals (m, 2) around the predictions `fits` of the samples X."""
        n, size = self.errors.size, np.abs(self.errors)
        result = np.empty((len(fits), 2))
        tile = max(1, (1 << 21) // n)
        for start in range(0, len(fits), tile):
            part = slice(start, start + tile)
            moves = (self.base + self._solve(X[part] - self.centre) @ self.rows.T) * (self.weight * self.errors)
            result[part] = enclose(fits[part, None] - moves, size, coverage)
        return result

    def _solve(self, Z: Floats) -> Floats:
        """Z (S + alpha I)^-1."""
        filters = inverse(self.values, np.array([self.alpha]))[0]
        if len(self.vectors) == Z.shape[1]:
            return np.asarray((Z @ self.vectors * filters) @ self.vectors.T)
        # (S + alpha I)^-1 = (I - A'(K + alpha I)^-1 A) / alpha
        A = np.sqrt(self.weight)[:, None] * self.rows
        return np.asarray((Z - ((Z @ A.T) @ self.vectors * filters) @ self.vectors.T @ A) / self.alpha)


def jackknife_plus(
    rows: Rows, spectrum: Tall | Wide, alpha: float, errors: Floats, total: float, intercept: bool
) -> JackknifePlus:
    """Intervals for one target from its leave-one-out residuals (n,) at `alpha`."""
    block = rows.whole()
    X = block.X.toarray() if is_sparse(block.X) else block.X
    weight = np.ones(len(X)) if block.weight is None else np.asarray(block.weight)
    kept = np.asarray(X, dtype=np.float64) - spectrum.mean
    base = 1.0 / total if intercept else 0.0
    inside = weight > 0.0  # a sample of weight zero is none
    vectors = spectrum.vectors[inside] if isinstance(spectrum, Wide) else spectrum.vectors
    return JackknifePlus(
        errors[inside], kept[inside], weight[inside], spectrum.mean, base, alpha, spectrum.values, vectors
    )
