"""Dense factorisations that Ctrl-C interrupts.

SciPy's wrappers of LAPACK hold the interpreter's lock, and a signal waits until they return: sixteen seconds for the
eigenvectors of a 6000 x 6000 matrix. Here the same routines are called without the lock, in a thread that is waited
for. After an interruption the routine runs to its end in the background, and its result is dropped. Small matrices go
to SciPy directly. All with one BLAS thread, so that bits do not depend on the number of threads.
"""

import ctypes
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeVar, cast

import numpy as np
from scipy import linalg as la
from scipy.linalg import blas, cython_blas, cython_lapack, lapack

from tenfold.arrays import Array, Floats, Integers
from tenfold.machine import one_blas_thread, poll, run_concurrently

SHORT_OPERATIONS = 400.0**3  # multiplications that take less than about a tenth of a second

DIVIDED_MAX_SIZE = 2048  # up to here all eigenvectors by divide and conquer, which takes 16 bytes more an entry

MIRROR_BLOCK = 256  # rows of a triangle that are copied to the other one at a time

POLL_SECONDS = 0.2  # between two checks for a signal, where waiting for a thread does not notice it

Result = TypeVar("Result")


def dot(a: Floats, b: Floats) -> float:
    """The inner product, by SciPy's BLAS on one thread."""
    with one_blas_thread:
        return float(blas.ddot(a, b))


def product(A: Floats, B: Floats) -> Floats:
    """A B in C order, by SciPy's BLAS on one thread: a second thread for a small product may take longer to wake."""
    if not A.size or not B.size:
        return np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype)
    gemm = blas.sgemm if A.dtype == np.float32 == B.dtype else blas.dgemm
    left, flip_left = (A, 1) if A.flags.f_contiguous and not A.flags.c_contiguous else (A.T, 0)
    right, flip_right = (B, 1) if B.flags.f_contiguous and not B.flags.c_contiguous else (B.T, 0)
    with one_blas_thread:
        return np.asarray(gemm(1.0, right, left, trans_a=flip_right, trans_b=flip_left).T)


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """The result of `work`, run in a thread that is waited for: it must release the interpreter's lock."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def task() -> None:
        try:
            with one_blas_thread:
                results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    if errors:
        raise errors[0]
    return results[0]


@cache
def _routine(name: str, blas_library: bool = False) -> Callable[..., None]:
    """A routine of SciPy's LAPACK or BLAS by its address, as Cython calls it; all arguments are pointers."""
    capsule = cast(Any, cython_blas if blas_library else cython_lapack).__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    routine = ctypes.CFUNCTYPE(None)(address)
    return lambda *arguments: routine(*map(_pointer, arguments))


def _pointer(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    return ctypes.byref(ctypes.c_double(value) if isinstance(value, float) else value)


def _fortran(A: Floats) -> Floats:
    """A copy in Fortran's order, to be overwritten."""
    return np.array(A, dtype=np.float64, order="F")


def _check(routine: str, info: int) -> None:
    if info < 0:
        raise ValueError(f"LAPACK's {routine} got an illegal argument, number {-info}.")
    if info > 0:
        raise la.LinAlgError(f"LAPACK's {routine} did not converge ({info}).")


def eigh(S: Floats, first: int = 0) -> tuple[Floats, Floats]:
    """Eigenvalues of a symmetric matrix in ascending order and their vectors as columns, from index `first` on."""
    p = len(S)
    if first == 0 and 0 < p <= DIVIDED_MAX_SIZE:
        return _syevd(S)
    if float(p) ** 3 < SHORT_OPERATIONS:
        wanted = None if first == 0 else [first, p - 1]
        with one_blas_thread:
            values, vectors = la.eigh(S, subset_by_index=wanted, check_finite=False)
    else:
        values, vectors = _syevr(S, first, vectors=True)
    if len(values) == p - first:
        return values, vectors
    # LAPACK does not find some of many equal eigenvalues by their index
    values, vectors = _syevd(S)
    return values[first:], vectors[:, first:]


def eigh_precisely(S: Floats) -> tuple[Floats, Floats]:
    """As `eigh`, by relatively robust representations for any size: filters of eigenvalues that are tiny beside the
    largest lose about a tenth of the digits that divide and conquer loses.
    """
    return _syevr(S, 0, vectors=True)


def eigenvalues(S: Floats) -> Floats:
    """Eigenvalues of a symmetric matrix in ascending order."""
    if float(len(S)) ** 3 < SHORT_OPERATIONS:
        with one_blas_thread:
            return np.asarray(la.eigvalsh(S, check_finite=False), dtype=np.float64)
    return _syevr(S, 0, vectors=False)[0]


def _syevd(S: Floats) -> tuple[Floats, Floats]:
    p = len(S)
    if float(p) ** 3 < SHORT_OPERATIONS:
        with one_blas_thread:
            w, vectors, failed = lapack.dsyevd(S, lower=1)
        _check("dsyevd", failed)
        return w, vectors
    lwork, liwork = 1 + 6 * p + 2 * p * p, 3 + 5 * p
    A, w, work, iwork = _fortran(S), np.empty(p), np.empty(lwork), np.empty(liwork, dtype=np.intc)
    n, info = ctypes.c_int(p), ctypes.c_int(0)
    run_interruptibly(
        lambda: _routine("dsyevd")(b"V", b"L", n, A, n, w, work, ctypes.c_int(lwork), iwork, ctypes.c_int(liwork), info)
    )
    _check("dsyevd", info.value)
    return w, A


def _syevr(S: Floats, first: int, vectors: bool) -> tuple[Floats, Floats]:
    p, count = len(S), len(S) - first
    lwork, liwork = (int(size) for size in lapack.dsyevr_lwork(p, lower=1)[:2])
    A, work, iwork = _fortran(S), np.empty(lwork), np.empty(liwork, dtype=np.intc)
    w, z = np.empty(p), np.empty((p, count if vectors else 1), order="F")
    support, eigenvalue_count, info = np.empty(2 * p, dtype=np.intc), ctypes.c_int(0), ctypes.c_int(0)
    n, low, high = ctypes.c_int(p), ctypes.c_int(first + 1), ctypes.c_int(p)
    run_interruptibly(
        lambda: _routine("dsyevr")(
            b"V" if vectors else b"N",
            b"A" if first == 0 else b"I",
            b"L",
            n,
            A,
            n,
            0.0,
            0.0,
            low,
            high,
            0.0,
            eigenvalue_count,
            w,
            z,
            n,
            support,
            work,
            ctypes.c_int(lwork),
            iwork,
            ctypes.c_int(liwork),
            info,
        )
    )
    _check("dsyevr", info.value)
    count = min(count, eigenvalue_count.value)
    return w[:count], z[:, :count]


def cholesky(A: Floats) -> Floats | None:
    """L with L L' = A in its lower triangle, the only part of A that is read; None where A is not positive definite.
    The upper triangle of the result is undefined.
    """
    p = len(A)
    if float(p) ** 3 < SHORT_OPERATIONS:
        with one_blas_thread:
            L, failed = lapack.dpotrf(A, lower=1, clean=0)
        return L if failed == 0 else None
    L, n, info = _fortran(A), ctypes.c_int(p), ctypes.c_int(0)
    run_interruptibly(lambda: _routine("dpotrf")(b"L", n, L, n, info))
    if info.value < 0:
        _check("dpotrf", info.value)
    return L if info.value == 0 else None


def factor_with_pivots(A: Floats, tol: float) -> tuple[Floats, Integers, int]:
    """L (p, r), the order (p,) of the rows and the rank r with A[order][:, order] = L L' but for a rest, whose diagonal
    is at most `tol`; L[:r] is a lower triangle. Rows are taken by the largest diagonal that is left (LAPACK's dpstrf).
    """
    p = len(A)
    if float(p) ** 3 < SHORT_OPERATIONS:
        with one_blas_thread:
            L, order, rank, _ = lapack.dpstrf(A, tol=tol, lower=1)
    else:
        L, order, work = _fortran(A), np.empty(p, dtype=np.intc), np.empty(2 * p)
        n, count, info = ctypes.c_int(p), ctypes.c_int(0), ctypes.c_int(0)
        run_interruptibly(lambda: _routine("dpstrf")(b"L", n, L, n, order, count, tol, work, info))
        if info.value < 0:
            _check("dpstrf", info.value)
        rank = count.value
    return np.tril(L[:, :rank]), order.astype(np.intp) - 1, int(rank)


def invert_positive(L: Floats) -> Floats:
    """A^-1, exactly symmetric, from the lower triangle L with L L' = A that `cholesky` gives."""
    p = len(L)
    if float(p) ** 3 < SHORT_OPERATIONS:
        with one_blas_thread:
            inverse, failed = lapack.dpotri(L, lower=1)
        _check("dpotri", failed)
    else:
        inverse, n, info = _fortran(L), ctypes.c_int(p), ctypes.c_int(0)
        run_interruptibly(lambda: _routine("dpotri")(b"L", n, inverse, n, info))
        _check("dpotri", info.value)
    for a in range(0, p, MIRROR_BLOCK):  # the lower triangle in Fortran's order, block by block
        b = min(p, a + MIRROR_BLOCK)
        square = np.tril(inverse[a:b, a:b])
        inverse[a:b, a:b] = square + np.tril(square, -1).T
        inverse[a:b, b:] = inverse[b:, a:b].T
    return inverse


def add_outer(A: Floats, x: Floats, y: Floats) -> None:
    """Add x y' to A in its place; A is in Fortran's order."""
    with one_blas_thread:
        blas.dger(1.0, x, y, a=A, overwrite_x=0, overwrite_y=0, overwrite_a=1)


def factor_semidefinite(A: Floats) -> Floats:
    """R with R R' = A up to rounding, (n, rank), for a positive semidefinite A, by Cholesky with pivots."""
    with one_blas_thread:
        factor, pivots, rank, _ = lapack.dpstrf(A, lower=1)
    R = np.zeros((len(A), rank))
    R[pivots - 1] = np.tril(factor)[:, :rank]
    return R


def solve_lower(L: Floats, B: Floats, transposed: bool = False) -> Floats:
    """L^-1 B of a lower triangle, or L'^-1 B."""
    p, q = len(L), B.shape[1]
    if float(p) ** 2 * q < SHORT_OPERATIONS:
        with one_blas_thread:
            result = la.solve_triangular(L, B, lower=True, trans="T" if transposed else "N", check_finite=False)
            return np.asarray(result, dtype=np.float64)
    A, X = (L if L.flags.f_contiguous else _fortran(L)), _fortran(B)
    n, count, info = ctypes.c_int(p), ctypes.c_int(q), ctypes.c_int(0)
    how = b"T" if transposed else b"N"
    run_interruptibly(lambda: _routine("dtrtrs")(b"L", how, b"N", n, count, A, n, X, n, info))
    _check("dtrtrs", info.value)
    return X


def svd(A: Floats) -> tuple[Floats, Floats, Floats]:
    """U (m, r), singular values (r,) in descending order and V' (r, n) with r = min(m, n)."""
    m, n = A.shape
    r = min(m, n)
    if float(m) * n * r < SHORT_OPERATIONS:
        with one_blas_thread:
            return la.svd(A, full_matrices=False, check_finite=False)
    lwork = int(lapack.dgesdd_lwork(m, n, compute_uv=1, full_matrices=0)[0])
    B, work, iwork = _fortran(A), np.empty(lwork), np.empty(8 * r, dtype=np.intc)
    s, U, V, info = np.empty(r), np.empty((m, r), order="F"), np.empty((r, n), order="F"), ctypes.c_int(0)
    rows, columns, count = ctypes.c_int(m), ctypes.c_int(n), ctypes.c_int(r)
    run_interruptibly(
        lambda: _routine("dgesdd")(
            b"S", rows, columns, B, rows, s, U, rows, V, count, work, ctypes.c_int(lwork), iwork, info
        )
    )
    _check("dgesdd", info.value)
    return U, s, V


# -- Cholesky factors of large matrices on several threads

PANEL, ROWS_OF_TASK = 256, 512  # columns that are factored at a time, and rows of a task: the same for any threads

MIN_TILED = 768  # smaller matrices are factored by LAPACK


def factor_in_place(A: Array) -> bool:
    """L with L L' = A in place of the lower triangle of a square array in Fortran's order, float32 or float64; False
    where A is not positive definite. The upper triangle is not read, and is undefined afterwards.

    Panel by panel from the left: the products with the panels before, tasks of 512 rows, run concurrently on one BLAS
    thread each, so that bits do not depend on the number of threads.
    """
    kind, n = ("s" if A.dtype == np.float32 else "d"), len(A)
    if not A.flags.f_contiguous:
        raise ValueError("A factor in place needs an array in Fortran's order.")
    if n < MIN_TILED:
        with one_blas_thread:
            _, info = _of_dtype("potrf", A)(A, lower=1, clean=0, overwrite_a=1)
        return bool(info == 0)
    with one_blas_thread:
        for start in range(0, n, PANEL):
            poll()
            stop = min(n, start + PANEL)
            cuts = [(a, min(n, a + ROWS_OF_TASK)) for a in range(start, n, ROWS_OF_TASK)]
            work = (stop - start) * (n - start) * max(1, start)
            if start:
                run_concurrently(partial(_subtract_products, kind, A, start, stop), cuts, work)
            info = ctypes.c_int(0)
            size, step = ctypes.c_int(stop - start), ctypes.c_int(n)
            _routine(f"{kind}potrf")(b"L", size, A[start:, start:], step, info)
            if info.value:
                return False
            below = [(max(a, stop), b) for a, b in cuts if b > stop]
            run_concurrently(partial(_divide_by_panel, kind, A, start, stop), below, work)
    return True


def _subtract_products(kind: str, A: Array, start: int, stop: int, rows: tuple[int, int]) -> None:
    """A[rows, panel] -= L[rows, before] L[panel, before]'."""
    (a, b), n = rows, ctypes.c_int(len(A))
    one, minus = _scalar(kind, 1.0), _scalar(kind, -1.0)
    sizes = (ctypes.c_int(b - a), ctypes.c_int(stop - start), ctypes.c_int(start))
    _routine(f"{kind}gemm", blas_library=True)(
        b"N", b"T", *sizes, minus, A[a:, :], n, A[start:, :], n, one, A[a:, start:], n
    )


def _divide_by_panel(kind: str, A: Array, start: int, stop: int, rows: tuple[int, int]) -> None:
    """A[rows, panel] = A[rows, panel] L[panel, panel]'^-1."""
    (a, b), n = rows, ctypes.c_int(len(A))
    sizes = (ctypes.c_int(b - a), ctypes.c_int(stop - start))
    _routine(f"{kind}trsm", blas_library=True)(
        b"R", b"L", b"T", b"N", *sizes, _scalar(kind, 1.0), A[start:, start:], n, A[a:, start:], n
    )


def one_norm(A: Array) -> float:
    """The largest sum of the absolute values of a column."""
    return float(_of_dtype("lange", A)("1", A))


def _of_dtype(name: str, A: Array) -> Any:
    """A wrapper of LAPACK for float32 or float64."""
    return getattr(lapack, ("s" if A.dtype == np.float32 else "d") + name)


def _scalar(kind: str, value: float) -> Any:
    return ctypes.c_float(value) if kind == "s" else ctypes.c_double(value)


def solve_factored(L: Array, B: Array) -> Array:
    """(L L')^-1 B in the dtype of L, for a lower triangle in Fortran's order."""
    with one_blas_thread:
        return _of_dtype("potrs", L)(L, np.asarray(B, dtype=L.dtype), lower=1)[0]


def invert_factored(L: Floats) -> Floats:
    """(L L')^-1 as a whole, in place of a lower triangle in Fortran's order."""
    with one_blas_thread:
        inverse, info = lapack.dpotri(L, lower=1, overwrite_c=1)
    _check("dpotri", info)
    lower = np.tril(inverse, -1)
    return np.asarray(lower + lower.T + np.diag(np.diag(inverse)))


def condition_of_factor(L: Array, norm: float) -> float:
    """An estimate of the condition number in the 1-norm of L L', whose 1-norm is given."""
    with one_blas_thread:
        rcond = float(_of_dtype("pocon", L)(L, norm, uplo="L")[0])
    return 1.0 / rcond if rcond > 0.0 else np.inf


def gram_of_rows(A: Floats) -> Floats:
    """A A' in the lower triangle of an array in Fortran's order, for A in C order; other threads run meanwhile."""
    rows, columns = A.shape
    C = np.zeros((rows, rows), order="F")
    A = np.ascontiguousarray(A)
    count, depth = ctypes.c_int(rows), ctypes.c_int(columns)
    with one_blas_thread:
        _routine("dsyrk", blas_library=True)(b"L", b"T", count, depth, 1.0, A, depth, 0.0, C, count)
    return C


def solve_positive(A: Floats, B: Floats) -> Floats | None:
    """A^-1 B for the lower triangle of A in Fortran's order, which is overwritten; None where A has no Cholesky
    factor. Other threads run meanwhile.
    """
    X, n, columns, info = _fortran(B), ctypes.c_int(len(A)), ctypes.c_int(B.shape[1]), ctypes.c_int(0)
    if not len(A):
        return X
    with one_blas_thread:
        _routine("dposv")(b"L", n, columns, A, n, X, n, info)
    return X if info.value == 0 else None


def multiply_by_rows(A: Array, V: Array) -> Array:
    """V A' (m, n) of rows V (m, p) and A (n, p), both in C order and of one dtype, float32 or float64.

    Tasks of 512 rows of A run concurrently on one BLAS thread each, so that bits do not depend on the number of
    threads.
    """
    A, V = np.ascontiguousarray(A), np.ascontiguousarray(V, dtype=A.dtype)
    (n, p), m = A.shape, len(V)
    result = np.zeros((m, n), dtype=A.dtype)
    if A.size and m:
        cuts = [(a, min(n, a + ROWS_OF_TASK)) for a in range(0, n, ROWS_OF_TASK)]
        with one_blas_thread:
            run_concurrently(partial(_multiply_rows, A, V, result), cuts, n * p * m)
    return result


def _multiply_rows(A: Array, V: Array, result: Array, rows: tuple[int, int]) -> None:
    """result[:, rows] = V A[rows]'."""
    poll()
    kind, (a, b), (n, p) = ("s" if A.dtype == np.float32 else "d"), rows, A.shape
    depth, width = ctypes.c_int(p), ctypes.c_int(n)
    _routine(f"{kind}gemm", blas_library=True)(
        b"T", b"N", ctypes.c_int(b - a), ctypes.c_int(len(V)), depth, _scalar(kind, 1.0), A[a:], depth, V, depth,
        _scalar(kind, 0.0), result[:, a:], width,
    )  # fmt: skip


def multiply_matrix(A: Array, V: Floats) -> Floats:
    """A V of A (n, p) in C order, float32 or float64, and a few vectors (p, k), in float64 but for the rounding of A's
    dtype. Rows are tasks that run concurrently, so that bits do not depend on the number of threads.
    """
    short = np.asarray(V, dtype=A.dtype)
    with one_blas_thread:
        parts = run_concurrently(partial(_multiply_task, A, short), _tasks(len(A)), A.size * V.shape[1])
    return np.concatenate(parts).astype(np.float64)


def multiply_transposed(A: Array, V: Floats) -> Floats:
    """A' V of A (n, p) in C order and a few vectors (n, k), likewise; the sums of the tasks are added in order."""
    short = np.asarray(V, dtype=A.dtype)
    with one_blas_thread:
        parts = run_concurrently(partial(_multiply_task_transposed, A, short), _tasks(len(A)), A.size * V.shape[1])
    return np.asarray(sum(part.astype(np.float64) for part in parts), dtype=np.float64)


def compute_weighted_gram(A: Array, weight: Floats) -> Floats:
    """A' diag(weight) A (p, p) in float64 of A (n, p) in C order, float32 or float64; tasks as above."""
    with one_blas_thread:
        parts = run_concurrently(partial(_gram_of_task, A, weight), _tasks(len(A)), A.size * A.shape[1])
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _tasks(n: int) -> list[tuple[int, int]]:
    return [(a, min(n, a + ROWS_OF_TASK)) for a in range(0, max(n, 1), ROWS_OF_TASK)]


def _multiply_task(A: Array, V: Array, rows: tuple[int, int]) -> Array:
    part = A[rows[0] : rows[1]]
    if not part.size:
        return np.zeros((len(part), V.shape[1]), dtype=A.dtype)
    kind = "s" if A.dtype == np.float32 else "d"
    if V.shape[1] == 1:
        return np.asarray(getattr(blas, kind + "gemv")(1.0, part.T, V[:, 0], trans=1))[:, None]
    return np.asarray(getattr(blas, kind + "gemm")(1.0, np.asarray(V, order="F"), part.T, trans_a=1)).T


def _multiply_task_transposed(A: Array, V: Array, rows: tuple[int, int]) -> Array:
    part, own = A[rows[0] : rows[1]], V[rows[0] : rows[1]]
    if not part.size:
        return np.zeros((A.shape[1], V.shape[1]), dtype=A.dtype)
    kind = "s" if A.dtype == np.float32 else "d"
    if V.shape[1] == 1:
        return np.asarray(getattr(blas, kind + "gemv")(1.0, part.T, own[:, 0]))[:, None]
    return np.asarray(getattr(blas, kind + "gemm")(1.0, part.T, np.asarray(own, order="F")))


def _gram_of_task(A: Array, weight: Floats, rows: tuple[int, int]) -> Floats:
    part = A[rows[0] : rows[1]].astype(np.float64)
    if not part.size:
        return np.zeros((A.shape[1], A.shape[1]))
    scaled = weight[rows[0] : rows[1], None] * part
    return np.asarray(blas.dgemm(1.0, part.T, scaled.T, trans_b=1))
