"""Kind gap: kernel least squares on centres, f = sum_j c_j k(z_j, .) + b.

With K = k(X, Z) of the samples with m centres, K_mm = k(Z, Z), and sample weights s that sum to one, the problem is
    J(c, b) = 1/2 sum_i s_i (y_i - b - (K c)_i)^2 + lambda/2 c'K_mm c.
J is quadratic and its curvature is at least lambda K_mm, so with its gradient g in c and g_b = -mean residual in b
    J(c, b) - min J <= h'K_mm^-1 h / (2 lambda) + g_b^2 / 2,   h = g - g_b mean(K),
where the minimum over b is taken first; without an intercept g_b = 0.

K_mm^-1. The factor is that of K_mm - mu I with mu = (m + 2) u tr K_mm, u = 2^-53. Where it exists K_mm is positive
definite (Rump 2006), and a solution with it is not smaller than with K_mm: the bound stays one. Where it does not, some
centres are dependent: r of them are kept by a pivoted factor, c is taken to the nearest function c_r of their span, and
    J(c) - min over the r centres <= J(c) - J(c_r) + (the bound at c_r), where J(c) and J(c_r) are both computed,
whatever the rounding of c_r. The note says that the bound is of r centres.

Rounding. The computed residual of sample i is wrong by at most e_i; by the triangle inequality in the space of the
kernel that changes (h'K_mm^-1 h)^(1/2) by at most sum_i s_i e_i k(x_i, x_i)^(1/2). Rounding w of the sums of h changes
it by at most || |L^-1| w ||, or, where that is enough, by ||w|| / mu^(1/2).

The bound is of the problem on these centres: with other centres, or all samples, the objective may be lower. What the
centres miss is measured: ||k_x - its best approximation by the centres||^2 = k(x, x) - k_x'K_mm^-1 k_x, on samples
drawn at random, with Hoeffding's bound on the mean over all. For any z it is at most k(x, x) - 2 k_x'z + z'K_mm z.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import lapack

from tenfold.arrays import TINY, Array, Floats, Integers, is_array_api, like, namespace, on_host, some_rows, take_rows
from tenfold.bounds import hoeffding
from tenfold.data import Block, Deferred, MaybeDeferred, Rows, weights_of
from tenfold.judge.certificate import RULES, Certificate
from tenfold.kernels import Kernel
from tenfold.linear_algebra import cholesky, factor_with_pivots, solve_lower
from tenfold.machine import one_blas_thread, poll, spend
from tenfold.objectives.kernel_tiles import times, times_transposed
from tenfold.pairwise import collect_rows
from tenfold.stats.derivatives import Params

U = 2.0**-53
TILE_VALUES = 1 << 20  # kernel values at a time: 8 MiB
SEED = 20170406  # of the samples of the kernel error
SAMPLE = 400  # samples on which the kernel error is measured
CONFIDENCE = 0.95
NEGLIGIBLE = 1e-9  # of the scale: a bound on rounding up to here need not be finer
MOST_ATTEMPTS = 8  # of a pivoted factor, each with ten times the tolerance


@dataclass(frozen=True)
class _Span:
    """Centres that are independent to working precision: their numbers (r,), and L with L L' = K_rr - mu I."""

    index: Integers
    factor: Floats
    shift: float


def _find_span(K: Floats) -> _Span | None:
    """All centres, or those that a pivoted factor keeps; None where none has a positive square."""
    m, index = len(K), np.arange(len(K))
    tol = 10.0 * (m + 2) * U * float(np.trace(K))
    for attempt in range(MOST_ATTEMPTS):
        if attempt:
            _, order, rank = factor_with_pivots(K, tol)
            index, tol = np.sort(order[:rank]), 10.0 * tol
        if not len(index):
            return None
        part = K[np.ix_(index, index)]
        shift = (len(index) + 2) * U * float(np.trace(part))
        part[np.arange(len(index)), np.arange(len(index))] -= shift
        factor = cholesky(part)
        if factor is not None:
            return _Span(index, factor, shift)
    return None


@dataclass(frozen=True, slots=True)
class _Sums:
    """Weighted sums over samples, with d = y - b, the residuals r of the coefficients and r' of those of the kept
    centres, and e the rounding of r: 1 (t,); d, d^2, r', r^2, r'^2, e |r|, e^2, e k(x, x)^(1/2) and |r'| k(x, x)^(1/2),
    each (t,); and for the kept centres K'r' (r, t) and K'1 (r, 1).
    """

    parts: tuple[Floats, ...]

    def merge(self, other: "_Sums") -> "_Sums":
        return _Sums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


def _as_sums(_: tuple[None, ...], *parts: Floats) -> _Sums:
    return _Sums(parts)


@dataclass(frozen=True)
class _Model:
    """What is evaluated tile by tile; `kept` has the coefficients of the kept centres (r, t), None where all are."""

    kernel: Kernel
    centres: Array
    given: Params
    index: Integers
    kept: Floats | None


def _lift(model: _Model, block: Block) -> MaybeDeferred[_Sums]:
    n, m = block.X.shape[0], model.centres.shape[0]
    step = max(16, TILE_VALUES // max(m, 1))
    total: tuple[Array, ...] | None = None
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, max(n, 1), step):
            poll()
            cut = slice(start, min(n, start + step))
            spend(float((cut.stop - cut.start) * m * (block.X.shape[1] + 16)))
            weight = None if block.weight is None else block.weight[cut]
            terms = _tile(model, Block(some_rows(block.X, cut), some_rows(block.y, cut), weight))
            total = terms if total is None else tuple(a + b for a, b in zip(total, terms, strict=True))
    assert total is not None
    return Deferred.of(total, _as_sums, key="judged")


def _tile(model: _Model, block: Block) -> tuple[Array, ...]:
    K = model.kernel.block(block.X, model.centres)
    xp, w, y = namespace(K), weights_of(block)[:, None], block.y
    d = y - (b := like(model.given.intercept, y))
    r = d - times(K, model.given.coef)
    size = times(abs(K), np.abs(model.given.coef)) + abs(b) + abs(y)
    inside = K if model.kept is None else xp.take(K, like(model.index, K), axis=1)
    if model.kept is not None:
        size = size + times(abs(inside), np.abs(model.kept))
    error = (4.0 + K.shape[1] ** 0.5) * U * size
    kept = r if model.kept is None else d - times(inside, model.kept)
    root = xp.sqrt(abs(model.kernel.diag(block.X)))[:, None]
    terms = [d**0, d, d * d, kept, r * r, kept * kept, error * abs(r), error * error, error * root, abs(kept) * root]
    sums = [xp.sum(w * term, axis=0) for term in terms]
    return (*sums, times_transposed(inside, w * kept), times_transposed(inside, w))


def _multiply(A: Floats, B: Floats) -> Floats:
    with one_blas_thread:
        return times(A, B)


def _multiply_sizes(A: Floats, B: Floats) -> Floats:
    """|A| |B|, without |A| in memory."""
    step = max(1, TILE_VALUES // max(1, A.shape[1]))
    return np.concatenate([_multiply(np.abs(A[i : i + step]), np.abs(B)) for i in range(0, len(A), step)])


def certify(
    rows: Rows,
    kernel: Kernel,
    centres: Array,
    given: Params,
    penalty: float | Floats,
    intercept: bool,
    *,
    tol: float = RULES["gap"].tol,
    status: str = "solved",
    subject: str = "",
) -> Certificate:
    """The certificate of coefficients (m, t) in float64, as they are stored. The penalty is that of all targets, or one
    for each; `subject` says what the centres are.

    Two passes over the samples, one of them for a few samples alone; memory m^2.
    """
    m, t = given.coef.shape
    penalties = np.array(np.broadcast_to(np.asarray(penalty, dtype=np.float64), t))
    finite = np.isfinite(given.coef).all() and np.isfinite(given.intercept).all() and np.all(penalties > 0.0)
    K = np.asarray(on_host(kernel.block(centres)), dtype=np.float64) if finite else np.full((1, 1), np.nan)
    span = _find_span(K) if np.isfinite(K).all() and K.shape == (m, m) else None
    if span is None or (not intercept and np.any(given.intercept)):
        return _fail("No function of these centres, coefficients and intercepts can be judged.", tol, status)
    kept = _project(K, span, given.coef) if len(span.index) < m else None
    sums: _Sums = rows.fold(partial(_lift, _Model(kernel, centres, given, span.index, kept)))
    with np.errstate(over="ignore", invalid="ignore"):
        verdict = _bound(K, span, sums, given, kept, penalties, intercept)
    if verdict is None:
        return _fail("The objective is not finite at these coefficients.", tol, status)
    value, scale, floor, objective = verdict
    ratio = np.maximum(value, floor) / np.maximum(tol * scale, floor)
    worst = int(np.argmax(ratio))
    note = _describe(rows, kernel, centres, K, span, subject)
    return Certificate(
        "gap",
        float(max(value[worst], floor[worst])),
        float(scale[worst]),
        tol,
        float(floor[worst]),
        float(np.sum(objective)),
        lower_bound=float(np.sum(objective - np.maximum(value, floor))),
        status=status,
        parts=tuple(float(part) for part in np.maximum(value, floor)) if t > 1 else (),
        note=note,
    )


def _fail(note: str, tol: float, status: str) -> Certificate:
    return Certificate("gap", np.inf, 1.0, tol, 0.0, np.inf, status=status, note=note)


def _project(K: Floats, span: _Span, coef: Floats) -> Floats:
    """Params of the kept centres of the nearest function of their span."""
    rest = np.setdiff1d(np.arange(len(K)), span.index)
    right = _multiply(K[np.ix_(span.index, rest)], coef[rest])
    return coef[span.index] + _solve(span, right)


def _solve(span: _Span, B: Floats) -> Floats:
    return solve_lower(span.factor, solve_lower(span.factor, B), transposed=True)


def _invert(L: Floats) -> Floats:
    """L^-1 of a lower triangle."""
    with one_blas_thread:
        inverse, _ = lapack.dtrtri(np.tril(L), lower=1)
    return np.ascontiguousarray(inverse)


def _bound(
    K: Floats, span: _Span, sums: _Sums, given: Params, kept: Floats | None, penalty: Floats, intercept: bool
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """The bounds, scales, floors and objectives of the targets; None where they are not finite."""
    W, (coef, b) = sums.parts[0][0], given
    d, d_square, r_kept, square, square_kept, cross, errors, moved, lengths, G, mean = (
        part / W for part in sums.parts[1:]
    )
    reduced, part = (coef, K) if kept is None else (kept, K[np.ix_(span.index, span.index)])
    Kc = _multiply(part, reduced)
    norm = np.sum(coef * _multiply(K, coef), axis=0)
    norm_kept = norm if kept is None else np.sum(kept * Kc, axis=0)
    objective = 0.5 * square + 0.5 * penalty * norm
    objective_kept = 0.5 * square_kept + 0.5 * penalty * norm_kept
    g = penalty * Kc - G
    g_b = -r_kept if intercept else np.zeros_like(r_kept)
    h = g - mean * g_b
    dual = np.sqrt(np.sum(solve_lower(span.factor, h) ** 2, axis=0))
    terms = 4.0 + np.sqrt(len(K))
    reach = np.sqrt(np.maximum(np.diag(part), 0.0))[:, None] * (8.0 * U * lengths)
    wrong = reach + penalty * terms * U * _multiply_sizes(part, reduced)  # of sums of the gradient, and of K c
    spread = np.maximum(d_square - d * d, 0.0) if intercept else d_square
    raw = np.maximum(d_square + b * (2.0 * d + b), 0.0)  # the mean square of y; its rounding is no variance
    scale = 0.5 * np.where(spread > (64.0 * U) ** 2 * raw, spread, np.where(raw > TINY, raw, 2.0))
    rounding = moved + np.sqrt(np.sum(wrong**2, axis=0) / span.shift)
    if np.any(rounding**2 > NEGLIGIBLE * penalty * scale):
        rounding = moved + np.sqrt(np.sum(_multiply_sizes(_invert(span.factor), wrong) ** 2, axis=0))
    value = (dual + rounding) ** 2 / (2.0 * penalty) + 0.5 * g_b**2 + np.maximum(objective - objective_kept, 0.0)
    absolute = np.sum(np.abs(coef) * _multiply_sizes(K, coef), axis=0)
    if kept is not None:
        absolute = absolute + np.sum(np.abs(kept) * _multiply_sizes(part, kept), axis=0)
    floor = 8.0 * U * objective + cross + 0.5 * errors + 0.5 * penalty * terms * U * absolute
    floor = floor + (2.0 * rounding) ** 2 / (2.0 * penalty)  # the computed norm is as far from zero at a solution
    results = value, scale, floor, objective
    return results if all(np.isfinite(result).all() for result in results) else None


def _describe(rows: Rows, kernel: Kernel, centres: Array, K: Floats, span: _Span, subject: str) -> str:
    """What the certificate speaks of, and what the centres miss."""
    m, r = len(K), len(span.index)
    which = f"{m} centres" if r == m else f"{r} of {m} centres, in whose span the others are to working precision"
    words = [f"The bound is of the problem on {subject or which}, not of that with a centre at every sample."]
    if subject and r < m:
        words = [f"The bound is of the problem on {subject}, {which}, not of that with a centre at every sample."]
    errors, population = measure_errors(rows, kernel, centres, K, span)
    if not errors.size:
        return words[0]
    mean = float(np.mean(errors))
    if errors.size == population:
        return f"{words[0]} Over all {errors.size} samples the centres miss {mean:.2g} of k(x, x) on average."
    most = min(1.0, mean + hoeffding(np.full(errors.size, 1.0 / errors.size), CONFIDENCE))
    return (
        f"{words[0]} On {errors.size} samples drawn at random the centres miss {mean:.2g} of k(x, x) on average; over "
        f"all samples it is at most {most:.2g} with a probability of {CONFIDENCE:g} (Hoeffding)."
    )


def measure_errors(rows: Rows, kernel: Kernel, centres: Array, K: Floats, span: _Span) -> tuple[Floats, int]:
    """What the centres miss of k(x, x), as fractions of it, on samples of positive weight drawn at random, and the
    number of all such samples. The generator is another than that of the fit, so that samples are not the centres.
    """
    inside = np.flatnonzero(np.asarray(on_host(rows.map(weights_of))) > 0.0)
    count = min(SAMPLE, inside.size)
    numbers = np.sort(np.random.default_rng(SEED).choice(inside, count, replace=False))
    X = collect_rows(rows, numbers)
    kept = centres if len(span.index) == len(K) else take_rows(centres, span.index)
    kept = on_host(kept) if not is_array_api(X) and is_array_api(kept) else kept
    k = np.asarray(on_host(kernel.block(X, kept)), dtype=np.float64)
    own = np.asarray(on_host(kernel.diag(X)), dtype=np.float64)
    z = _solve(span, np.ascontiguousarray(k.T))
    part = K if len(span.index) == len(K) else K[np.ix_(span.index, span.index)]
    missed = own - 2.0 * np.sum(k.T * z, axis=0) + np.sum(z * _multiply(part, z), axis=0)
    positive = own > 0.0
    return np.clip(missed[positive] / own[positive], 0.0, 1.0), inside.size
