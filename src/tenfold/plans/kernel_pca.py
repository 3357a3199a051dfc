"""Eigenvectors of centred kernel matrices: block Lanczos for few, a dense decomposition for many, and the judge.

Few components of many samples: block Lanczos on a float32 copy of K, 4 n^2 bytes, and one product in float64 by tiles
that corrects what rounding did to the vectors; where that is not certified, block Lanczos with products by tiles in
float64. What neither certifies, many components, and few samples: the dense decomposition, 9 n^3 multiplications.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, namespace
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kernel_pca import join_certificates, kernel_components
from tenfold.kernels import Kernel
from tenfold.kernels.centring import CentredKernel
from tenfold.kernels.given import Evaluated
from tenfold.linear_algebra import eigh
from tenfold.plans import kernel_ridge
from tenfold.plans.pca import fix_signs
from tenfold.solvers import block_lanczos
from tenfold.solvers.loop import Status, run

MIN_LANCZOS = 400  # samples from which block Lanczos is faster (benchmark: kernel PCA 500 x 5)
FEW = 8  # of so many samples one component is asked for at most, for block Lanczos
OVERSAMPLING, WIDTH = 8, 16  # of blocks: more vectors than components, and at most so many (in float64 twice as many)
EXTRA = 24  # approximate next eigenvectors for the judge, which make its proof shorter
STEPS = 300
FLOAT32_TOL, FLOAT64_TOL = 1e-7, 2e-9  # relative residuals at which block Lanczos ends

NEGATIVE = 1e-5  # of the largest eigenvalue: beyond this the kernel is not positive semidefinite
ROUNDING = 64.0 * EPS  # of the trace of K: a largest eigenvalue below is rounding
VANISHING = 1e-12  # of the largest eigenvalue: smaller ones are zero


@dataclass(frozen=True)
class KernelComponents:
    """Eigenvalues (k,) and vectors (n, k) as they will be stored, the offset (k,) of projections, how they were
    computed, and their certificate.
    """

    values: Floats
    vectors: Floats
    means: Floats
    method: str
    certificate: Certificate


@dataclass(frozen=True)
class _Eigenpairs:
    """Eigenvalues in descending order, vectors as rows, and approximate next vectors."""

    values: Floats
    vectors: Floats
    method: str
    status: Status = Status.SOLVED
    beside: Floats | None = None


def fit_components(
    kernel: Kernel,
    X: Array,
    count: int | None,
    *,
    center: bool,
    drop_zero: bool,
    solver: str,
    tol: float,
    max_iter: int | None,
    random: Callable[[], Any],
    dtype: Any,
) -> KernelComponents:
    """`count` leading components, or all whose eigenvalue is not zero (None)."""
    if kernel.reads_strings:
        kernel, X = Evaluated(kernel), kernel.block(X)
    centred = CentredKernel(kernel, X, center)
    n = centred.n
    most = n if count is None else min(count, n)
    fewer = drop_zero or count is None
    best: KernelComponents | None = None
    for pairs in _attempts(centred, most, solver, tol, max_iter, random):
        values = _clean(pairs.values, ROUNDING * centred.size())
        kept = values > 0.0 if fewer else np.ones(len(values), dtype=bool)
        vectors = fix_signs(np.array(pairs.vectors))[kept]
        values, vectors = values[kept].astype(dtype), vectors.astype(dtype)
        verdict = kernel_components(
            centred.kernel,
            centred.X,
            values=values.astype(np.float64),
            vectors=np.ascontiguousarray(vectors, dtype=np.float64),
            most=most,
            fewer=fewer,
            center=center,
            beside=pairs.beside,
            tol=max(tol, RULES["spectral"].tol),
            dtype=dtype,
            status=pairs.status.value,
        )
        fitted = KernelComponents(values, np.ascontiguousarray(vectors.T), centred.means, pairs.method, verdict)
        if verdict.ok:
            return fitted
        if best is None or verdict.value < best.certificate.value:
            best = fitted
    assert best is not None
    return best


def _attempts(
    centred: CentredKernel, most: int, solver: str, tol: float, max_iter: int | None, random: Callable[[], Any]
) -> Iterator[_Eigenpairs]:
    """Eigenpairs by better and better means."""
    n = centred.n
    few = 0 < FEW * most <= n
    if few and (n >= MIN_LANCZOS if solver == "auto" else solver != "dense"):
        steps = STEPS if max_iter is None else max_iter
        yield _lanczos(centred, most, steps, random(), in_float32=True, tol=tol)
        yield _lanczos(centred, most, steps, random(), in_float32=False, tol=tol)
        if max_iter is not None:
            return
    first = n - most if 4 * most <= n else 0
    values, vectors = eigh(centred.dense(), first)
    yield _Eigenpairs(values[::-1][:most], vectors.T[::-1][:most], "dense eigenvectors")


def _lanczos(
    centred: CentredKernel, count: int, steps: int, random: Any, *, in_float32: bool, tol: float
) -> _Eigenpairs:
    n = centred.n
    width = min(count + OVERSAMPLING, n, WIDTH if in_float32 else 2 * WIDTH)
    apply = centred.in_float32().apply if in_float32 else centred.apply
    wanted = max(tol, FLOAT32_TOL if in_float32 else FLOAT64_TOL)
    search = block_lanczos.steps(apply, n, count, width, random, wanted, more=EXTRA)
    result = run(search, steps)
    space: block_lanczos.Space = result.params
    vectors, values = space.vectors(0, count), np.array(space.values[:count])
    if in_float32:
        images = centred.apply(vectors)
        vectors, values = block_lanczos.refine(vectors, images, float(np.sum(centred.diagonal())))
    method = "block Lanczos in float32, corrected in float64" if in_float32 else "block Lanczos"
    return _Eigenpairs(values, vectors, method, result.status, space.vectors(count, count + EXTRA))


def _clean(values: Floats, rounding: float) -> Floats:
    """Eigenvalues without those that are rounding; raises where one is negative beyond that."""
    largest, smallest = float(np.max(np.abs(values), initial=0.0)), float(np.min(values, initial=0.0))
    if largest <= rounding:
        return np.zeros_like(values)
    if smallest < -max(rounding, NEGATIVE * largest):
        raise ValueError(
            f"There are significant negative eigenvalues ({smallest:.6g}, the largest is {np.max(values):.6g}): the "
            "kernel is not positive semidefinite. Ask for fewer components, or use another kernel."
        )
    return np.where(values > VANISHING * largest, values, 0.0)


@dataclass(frozen=True)
class PreImages:
    """Dual coefficients (n, p) of pre-images, and the certificate of their ridge regression."""

    dual_coef: Array
    certificate: Certificate

    def join(self, components: Certificate) -> Certificate:
        """The certificate of the components, which is not ok where that of the pre-images is not."""
        return join_certificates(components, self.certificate)


def fit_inverse(kernel: Kernel, Z: Array, X: Array, alpha: float, dtype: Any) -> PreImages:
    """Kernel ridge regression of samples X (n, p) on their coordinates Z (n, k)."""
    xp = namespace(X)
    targets = xp.astype(X, xp.float64, copy=False)
    fitted = kernel_ridge.fit(kernel, Z, targets, None, np.full(X.shape[1], alpha), dtype)
    return PreImages(fitted.dual_coef, fitted.certificate)
