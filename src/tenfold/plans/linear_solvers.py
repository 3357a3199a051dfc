"""Iterative solvers of linear systems and of eigenproblems on their own, with the trace and the judge of `minimize`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from tenfold.arrays import Floats, is_sparse
from tenfold.judge.linear_systems import definite_system, eigenpairs, least_squares_system
from tenfold.plans.solver_result import SolverResult
from tenfold.solvers import block_lanczos, conjugate_gradient, golub_kahan, power_method
from tenfold.solvers.loop import Record, Solution, map_params, run

SYSTEM_METHODS, EIGEN_METHODS = ("cg", "lsqr"), ("lanczos", "power")
ASYMMETRY = 1e-10  # of u'A v and v'A u, relative to |A v| |u|


class Operator:
    """Products with a matrix, counted."""

    def __init__(self, A: Any) -> None:
        self.linear: LinearOperator = aslinearoperator(A)
        self.shape = self.linear.shape
        self.products = 0
        self.bound: float | None = None  # on the size of all eigenvalues
        if not isinstance(A, LinearOperator):
            rows = abs(A).sum(axis=1) if is_sparse(A) else np.abs(A).sum(axis=1)
            self.bound = float(np.max(np.asarray(rows)))

    def product(self, v: Floats) -> Floats:
        self.products += 1
        return np.asarray(self.linear.matvec(v), dtype=np.float64).ravel()

    def multiply_transposed(self, u: Floats) -> Floats:
        self.products += 1
        return np.asarray(self.linear.rmatvec(u), dtype=np.float64).ravel()

    def rows(self, V: Floats) -> Floats:
        """The products with the rows of V."""
        return np.array([self.product(v) for v in V])


def solve_linear(
    A: Any,
    b: Any,
    *,
    method: str = "lsqr",
    damping: float = 0.0,
    tol: float = 1e-10,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Record, Floats], bool] | None = None,
    keep_path: bool = False,
) -> SolverResult:
    """Solve a linear system or a least squares problem by products with its matrix, and judge the solution.

    Parameters
    ----------
    A : array-like, sparse array or LinearOperator of shape (m, q)
        The matrix; for "cg" symmetric and positive definite. Whatever SciPy's `aslinearoperator` takes.
    b : array-like of shape (m,)
        The right side.
    method : str, default="lsqr"
        "lsqr", which minimises |A x - b|^2 + damping^2 |x|^2 for any A, or "cg", conjugate gradients for A x = b.
    damping : float, default=0.0
        The penalty of "lsqr"; for "cg" damping^2 is added to the diagonal of A.
    tol : float, default=1e-10
        "cg" stops where |A x - b| <= tol |b|, "lsqr" where |A'r| <= tol |A| |r|, |A| an estimate of the Frobenius
        norm, or |r| <= tol |b|.
    max_iter : int, default=None
        The most steps; None for ten times q, and at least 100.
    time_limit : float, default=None
        Seconds after which it stops; None for no limit.
    callback : callable, default=None
        Called after each step with its record (objective, measure, seconds) and x; stops where it returns True.
    keep_path : bool, default=False
        Whether the points of all steps are kept.

    Returns
    -------
    SolverResult
        The solution, the trace, and the certificate: the gradient of the convex objective, in units of that at zero.

    Raises
    ------
    ValueError
        If shapes or numbers are wrong, or a matrix for "cg" is not symmetric.

    Notes
    -----
    One product with A a step, "lsqr" one with A' besides. In exact arithmetic q steps suffice. Seeger, section 4.2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import solve_linear
    >>> result = solve_linear([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0], method="cg")
    >>> result.x.round(6), result.nit, result.success
    (array([0.2, 0.6]), 2, True)
    """
    operator, b = _as_operator(A), np.asarray(b, dtype=np.float64)
    _check_choice(method, SYSTEM_METHODS)
    m, q = operator.shape
    if b.shape != (m,) or not np.isfinite(b).all():
        raise ValueError(f"b must be a vector of {m} finite numbers, one for each row of A; got shape {b.shape}.")
    if not (np.isfinite(damping) and damping >= 0.0 and tol > 0.0):
        raise ValueError(f"damping must not be negative, and tol positive; got {damping} and {tol}.")

    def product(v: Floats) -> Floats:
        return operator.product(v) + damping**2 * v

    if method == "cg":
        _check_symmetric(operator)
        path = conjugate_gradient.steps(lambda D: product(D[0])[None], b[None], np.ones((1, q)), None, tol)
        path = map_params(path, lambda W: W[0])
    else:
        path = golub_kahan.steps(operator.product, operator.multiply_transposed, b, q, damping, tol)
    points: list[Floats] = []

    def report(record: Record, x: Floats) -> bool:
        if keep_path:
            points.append(x.copy())
        return callback is not None and callback(record, x)

    solution = run(path, max(100, 10 * q) if max_iter is None else max_iter, time_limit, report)
    x, products = solution.params, operator.products
    if method == "cg":
        certificate = definite_system(product, b, x, tol=None, status=solution.status.value)
        gradient = product(x) - b
    else:
        certificate = least_squares_system(
            operator.product, operator.multiply_transposed, b, x, damping, tol=None, status=solution.status.value
        )
        gradient = operator.multiply_transposed(operator.product(x) - b) + damping**2 * x
    kept = np.array([np.zeros(q), *points]) if keep_path else None
    return _result(x, certificate.objective, gradient, method, solution, products, kept, None, certificate)


def leading_eigenvectors(
    A: Any,
    k: int = 1,
    *,
    method: str = "lanczos",
    tol: float = 1e-9,
    max_iter: int = 1000,
    time_limit: float | None = None,
    callback: Callable[[Record, Any], bool] | None = None,
    random_state: int = 0,
) -> SolverResult:
    """Leading eigenvectors of a symmetric matrix by products with it, and judge them.

    Parameters
    ----------
    A : array-like, sparse array or LinearOperator of shape (q, q)
        The symmetric matrix.
    k : int, default=1
        The number of eigenvectors.
    method : str, default="lanczos"
        "lanczos", for the largest eigenvalues, or "power", the power method, for those that are largest in size.
    tol : float, default=1e-9
        The largest residual |A v - l v| at which it stops, in units of the first eigenvalue.
    max_iter : int, default=1000
        The most steps.
    time_limit : float, default=None
        Seconds after which it stops; None for no limit.
    callback : callable, default=None
        Called after each step with its record (objective, measure, seconds) and what the solver has; stops where it
        returns True.
    random_state : int, default=0
        The seed of the start.

    Returns
    -------
    SolverResult
        `values` (k,), the vectors as the rows of `x` (k, q), the trace, and the certificate: kind spectral, which also
        says whether a larger eigenvalue is missing, unless A is a LinearOperator, of which no bound is known.

    Raises
    ------
    ValueError
        If shapes are wrong, or the matrix is not symmetric.

    Notes
    -----
    A step costs k products and, of Lanczos, the orthogonalisation of k vectors against all before. Seeger, section
    11.1.4.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import leading_eigenvectors
    >>> result = leading_eigenvectors(np.diag([3.0, 2.0, 1.0, 0.5]), 2, method="power")
    >>> result.values.round(6), result.success
    (array([3., 2.]), True)
    """
    operator = _as_operator(A)
    _check_choice(method, EIGEN_METHODS)
    q = operator.shape[1]
    if not 1 <= k <= q or operator.shape[0] != q or not tol > 0.0:
        raise ValueError(
            f"A must be square, k between 1 and its size, and tol positive; got {operator.shape} and k={k}."
        )
    _check_symmetric(operator)
    random = np.random.default_rng(random_state)
    if method == "lanczos":
        path = block_lanczos.steps(operator.rows, q, k, k, random, tol)
        path = map_params(path, lambda space: power_method.Pairs(space.values[:k], space.vectors(0, k)))
    else:
        path = power_method.steps(operator.rows, random.standard_normal((k, q)), tol)
    solution = run(path, max_iter, time_limit, callback)
    (values, vectors), products = solution.params, operator.products
    certificate = eigenpairs(
        operator.product,
        values,
        vectors,
        operator.bound,
        by_size=method == "power",
        tol=max(10.0 * tol, 1e-8) if tol <= 1e-6 else tol,
        status=solution.status.value,
    )
    residuals = operator.rows(vectors) - values[:, None] * vectors
    total = float(np.sum(values))
    return _result(vectors, total, residuals, method, solution, products, None, values, certificate)


def _result(
    x: Floats,
    fun: float,
    gradient: Floats,
    method: str,
    solution: Solution,
    products: int,
    path: Floats | None,
    values: Floats | None,
    certificate: Any,
) -> SolverResult:
    status = solution.status
    return SolverResult(
        x=x,
        fun=fun,
        jac=gradient,
        method=method,
        status=status.value,
        message=status.message,
        nit=solution.iterations,
        nfev=0,
        njev=products,
        nhev=0,
        trace=solution.trace,
        path=path,
        values=values,
        certificate_=certificate,
    )


def _as_operator(A: Any) -> Operator:
    if not (isinstance(A, LinearOperator) or is_sparse(A)):
        A = np.asarray(A, dtype=np.float64)
        if A.ndim != 2 or not A.size or not np.isfinite(A).all():
            raise ValueError(f"A must be a matrix of finite numbers; got an array of shape {A.shape}.")
    return Operator(A)


def _check_choice(method: str, known: tuple[str, ...]) -> None:
    if method not in known:
        raise ValueError(f"method must be one of {', '.join(known)}; got {method!r}.")


def _check_symmetric(operator: Operator) -> None:
    m, q = operator.shape
    if m != q:
        raise ValueError(f"A must be square and symmetric; got shape {operator.shape}.")
    u, v = np.random.default_rng(0).standard_normal((2, q))
    there, back = operator.product(v), operator.product(u)
    operator.products -= 2
    size = max(np.linalg.norm(there) * np.linalg.norm(u), np.linalg.norm(back) * np.linalg.norm(v))
    if not abs(float(u @ there - v @ back)) <= ASYMMETRY * size:
        raise ValueError("A is not symmetric: u'A v and v'A u differ for random u and v.")
