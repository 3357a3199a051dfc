"""The Nystroem feature map: centres, the kernel matrix of the centres, its inverse root, and the certificate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, is_array_api, is_sparse, on_host, take_rows
from tenfold.data import MemoryRows, Rows
from tenfold.judge import kernel_error
from tenfold.judge import nystroem as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import Kernel, Precomputed
from tenfold.kernels.nystroem_map import NystroemMap, inverse_root
from tenfold.plans.centres import choose_centres
from tenfold.plans.kmeans import load_sample


@dataclass(frozen=True)
class Map:
    """Centres, their numbers where they are samples, N as it will be stored, and the certificate."""

    centres: Array
    index: Integers | None
    normalization: Floats
    certificate: Certificate


def fit(rows: Rows, kernel: Kernel, m: int, method: str, *, random: Any, dtype: Any) -> Map:
    """The map with m centres, chosen by a method of `plans.centres`."""
    chosen = choose_centres(rows, m, method, random=random, kernel=kernel)
    K = kernel_of_centres(kernel, chosen.samples, chosen.index)
    if not np.isfinite(K).all():
        raise ValueError("The kernel of the centres overflows or is NaN: scale the features, or take other parameters.")
    N = inverse_root(K, dtype).astype(dtype)
    return Map(chosen.samples, chosen.index, N, certify(rows, kernel, chosen.samples, chosen.index, N, dtype, K))


def kernel_of_centres(kernel: Kernel, centres: Array, index: Integers | None) -> Floats:
    """K (m, m) in float64, exactly symmetric."""
    if isinstance(kernel, Precomputed):
        K = np.asarray(on_host(centres), dtype=np.float64)[:, on_host(index)]
        return np.asarray(0.5 * (K + K.T))
    return np.asarray(on_host(kernel.block(centres)), dtype=np.float64)


def certify(
    rows: Rows,
    kernel: Kernel,
    centres: Array,
    index: Integers | None,
    N: Floats,
    dtype: Any,
    K: Floats | None = None,
) -> Certificate:
    """The certificate: N by its identities, the centres by their numbers, the kernel error on a sample."""
    K = kernel_of_centres(kernel, centres, index) if K is None else K
    wide = np.asarray(N, dtype=np.float64)
    same = None
    if index is not None and isinstance(rows, MemoryRows):
        same = _dense(centres, take_rows(rows.X, on_host(index)))
    certificate = judge.inverse_root(kernel, K, wide, same, dtype)
    if not certificate.ok:
        return certificate
    some = _some_samples(rows)
    of_columns = on_host(index) if isinstance(kernel, Precomputed) and index is not None else _here(centres)
    Z = NystroemMap(kernel, of_columns, wide)(some)
    if isinstance(kernel, Precomputed):
        return certificate
    reach = None
    if kernel.certainly_psd and isinstance(rows, MemoryRows):
        reach = float(np.max(on_host(kernel.diag(rows.X)), initial=0.0))
    return kernel_error.of_samples(kernel, some, Z, reach).extend(certificate)


def _some_samples(rows: Rows) -> Array:
    """Some samples drawn by the judge's own seed, in the memory of this machine; of blocks those of a subsample."""
    if not isinstance(rows, MemoryRows):
        loaded = load_sample(rows, kernel_error.SAMPLE).X
        return take_rows(loaded, kernel_error.sample_rows(loaded.shape[0]))
    return _here(take_rows(rows.X, kernel_error.sample_rows(rows.shape[0])))


def _here(X: Array) -> Array:
    return on_host(X) if is_array_api(X) else X


def _dense(one: Array, other: Array) -> tuple[Floats, Floats]:
    """Two sets of samples as arrays in float64; of sparse ones the columns in which either has entries."""
    if is_sparse(one) and is_sparse(other) and one.shape[1] == other.shape[1]:
        used = np.union1d(one.indices, other.indices)
        one, other = (
            sparse.csr_array((X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], len(used)))
            for X in (one, other)
        )
    parts = (part.toarray() if is_sparse(part) else on_host(part) for part in (one, other))
    first, second = (np.asarray(part, dtype=np.float64) for part in parts)
    return first, second
