"""Exact leave-one-out errors of every step of a spectral filter.

With f_i = W / (W - w_i) where there is an intercept, else 1, d_i the centred sample in the eigenbasis of S and z_i its
centred target, leaving sample i out leaves

    S_i = S - w_i f_i d_i d_i',    C_i = C - w_i f_i d_i z_i,    e_i = f_i (z_i - d_i.w^(i)),

w^(i) the weights of these: every step of an iteration is a diagonal and a rank-one correction in this basis, so that
all n fits take 4 n r flops a step. The step size and alpha stay those of all samples. Components of S_i are not those
of S: where these are cut the eigenvectors of S_i are computed for every sample, n r^3 in all.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tenfold.arrays import Floats, is_sparse, on_host
from tenfold.data import Block, Rows
from tenfold.linear_algebra import eigh
from tenfold.machine import one_blas_thread, poll
from tenfold.plans.spectral_filter import TRUNCATED, Filter, System, cut_of, momentum
from tenfold.stats.derivatives import Total

MOST_PRODUCTS = 1 << 36  # n r^3 of truncated components up to which exact errors take about a minute
TILE_VALUES = 1 << 18  # of the weights of some left-out samples: 2 MiB


@dataclass(frozen=True)
class _LeftOut:
    """Samples that are left out one at a time: d (m, r), z (m, t), w f (m,), f (m,)."""

    d: Floats
    z: Floats
    c: Floats
    f: Floats


def errors_of_rows(rows: Rows, system: System, filter_: Filter, steps: int, centred: bool) -> Floats:
    """Weighted sums of squared errors (steps + 1,) over the samples and targets of a data source; one pass."""
    require_cheap(rows.shape[0], len(system.values), filter_)
    return rows.fold(partial(_lift, system, filter_, steps, centred)).sum


def require_cheap(n: int, r: int, filter_: Filter) -> None:
    """Raise where eigenvectors for every sample would take too long."""
    if filter_.method in TRUNCATED and n * r**3 > MOST_PRODUCTS:
        raise ValueError(
            f"Exact leave-one-out of components takes the eigenvectors of {n} matrices of {r} x {r}: choose "
            "stop='holdout', or the number of components."
        )


def _lift(system: System, filter_: Filter, steps: int, centred: bool, block: Block) -> Total:
    X = np.asarray(block.X.toarray() if is_sparse(block.X) else on_host(block.X), dtype=np.float64)
    y = np.asarray(on_host(block.y), dtype=np.float64)
    weight = np.ones(len(X)) if block.weight is None else np.asarray(on_host(block.weight), dtype=np.float64)
    mean, target_mean = (system.mean, system.target_mean) if centred else (0.0, 0.0)
    with one_blas_thread:
        d = (X - mean) @ system.basis
    return Total(errors_of(d, y - target_mean, weight, system, filter_, steps, centred))


def errors_of(
    d: Floats, z: Floats, weight: Floats, system: System, filter_: Filter, steps: int, centred: bool
) -> Floats:
    """Weighted sums of squared errors (steps + 1,) of samples d (m, r) with targets z (m, t)."""
    total = np.zeros(steps + 1)
    inside = weight > 0.0
    d, z, weight = d[inside], z[inside], weight[inside]
    step = max(1, TILE_VALUES // max(1, d.shape[1]))
    for start in range(0, len(d), step):
        poll()
        some = slice(start, start + step)
        f = system.total / (system.total - weight[some]) if centred else np.ones(len(weight[some]))
        left = _LeftOut(d[some], z[some], weight[some] * f, f)
        for k in range(z.shape[1]):
            fits = (
                _cut_components(left, system, k, steps)
                if filter_.method in TRUNCATED
                else _follow_steps(left, system, k, filter_, steps)
            )
            total += weight[some] @ (f[:, None] * (left.z[:, k, None] - fits)) ** 2
    return total


def _follow_steps(left: _LeftOut, system: System, k: int, filter_: Filter, steps: int) -> Floats:
    """d_i.w_t^(i), (m, steps + 1), of a method of steps."""
    s, C, d, c = system.values, system.right[:, k], left.d, left.c[:, None]
    largest = float(np.max(s, initial=0.0)) or 1.0
    w = np.zeros_like(d)
    before, fits = w, np.zeros((len(d), steps + 1))
    shifted = d / (s + filter_.alpha) if filter_.method == "iterated_tikhonov" and filter_.alpha > 0.0 else d
    for t in range(1, steps + 1):
        if filter_.method == "iterated_tikhonov":
            b = (C - c * d * left.z[:, k, None]) + filter_.alpha * w
            w = b / (s + filter_.alpha)
            corrected = c[:, 0] * np.einsum("ir,ir->i", d, w) / (1.0 - c[:, 0] * np.einsum("ir,ir->i", d, shifted))
            w += shifted * corrected[:, None]
        else:
            gradient = (C - w * s) - c * d * (left.z[:, k] - fits[:, t - 1])[:, None]
            if filter_.method == "landweber":
                w = w + (filter_.step_size / largest) * gradient
            else:
                u, o = momentum(t, filter_.nu)
                w, before = w + u * (w - before) + (o / largest) * gradient, w
        fits[:, t] = np.einsum("ir,ir->i", d, w)
    return fits


def _cut_components(left: _LeftOut, system: System, k: int, steps: int) -> Floats:
    """d_i.w_t^(i), (m, steps + 1), of the t largest components of S_i."""
    fits = np.zeros((len(left.d), steps + 1))
    for i, (d, c) in enumerate(zip(left.d, left.c, strict=True)):
        values, V = eigh(np.diag(system.values) - c * np.outer(d, d))
        values, V = values[::-1], V[:, ::-1]
        kept = values > cut_of(values)
        parts = (d @ V) * ((system.right[:, k] - c * d * left.z[i, k]) @ V)
        parts = np.where(kept, parts / np.where(kept, values, 1.0), 0.0)
        most = min(steps, len(parts))
        fits[i, 1 : most + 1] = np.cumsum(parts)[:most]
        fits[i, most + 1 :] = fits[i, most]
    return fits
