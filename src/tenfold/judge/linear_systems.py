"""Solutions of linear systems and eigenpairs of a symmetric matrix, from products with the matrix alone.

A x = b, A symmetric positive definite: the gradient A x - b of 1/2 x'A x - b'x, in units of b. Least squares: the
gradient A'(A x - b) + damping^2 x, in units of A'b. Both are kind stationarity, and of convex functions, so that a zero
gradient is the optimum. Eigenpairs are kind spectral: residuals, orthonormality, order, and, where a bound on the
spectrum is known, that no larger one is missing (largest_eigenvalue.py).
"""

from collections.abc import Callable

import numpy as np

from tenfold.arrays import EPS, Floats
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.eigenvectors import slant
from tenfold.judge.largest_eigenvalue import ERROR_PROBABILITY, below

Product = Callable[[Floats], Floats]

CONVEX = "The objective is convex: where the gradient vanishes it is least."
DEFINITE = "Where the matrix is positive definite, as conjugate gradients need, the objective is convex."
NOT_DEFINITE = "The matrix is not positive definite: x'A x is {curvature:.3g} along {which}."
MISSING = "A larger eigenvalue is missing."
NOT_PROVED = "That no larger eigenvalue is missing is not proved."
PROBABLE = f"That no larger eigenvalue is missing holds with probability 1 - {ERROR_PROBABILITY:.0e}."
PROBES = 16  # random vectors along which the curvature must be positive


def definite_system(product: Product, b: Floats, x: Floats, *, tol: float | None, status: str) -> Certificate:
    """Judge x of A x = b for a symmetric positive definite A."""
    image = product(x)
    gradient = image - b
    random = np.random.default_rng(0).standard_normal((PROBES, len(b)))
    curvatures = [(float(d @ product(d)), which) for d, which in _directions(random, x, gradient)]
    objective = float(0.5 * (x @ image) - b @ x)
    size = max(float(np.linalg.norm(b)), float(np.linalg.norm(image)))
    least, which = min(curvatures)
    note = NOT_DEFINITE.format(curvature=least, which=which) if least < 0.0 else DEFINITE
    gradient = gradient if least >= 0.0 else np.full_like(gradient, np.inf)
    return _stationary(gradient, float(np.linalg.norm(b)), size, objective, tol, status, note)


def _directions(random: Floats, x: Floats, gradient: Floats) -> list[tuple[Floats, str]]:
    own = [(x, "x"), (gradient, "the residual")]
    return [*((d, "a random direction") for d in random), *own]


def least_squares_system(
    product: Product, transposed: Product, b: Floats, x: Floats, damping: float, *, tol: float | None, status: str
) -> Certificate:
    """Judge x of min |A x - b|^2 + damping^2 |x|^2."""
    residual = product(x) - b
    gradient = transposed(residual) + damping**2 * x
    first = float(np.linalg.norm(transposed(b)))
    objective = 0.5 * float(residual @ residual + damping**2 * (x @ x))
    size = max(first, float(np.linalg.norm(transposed(residual + b))))
    return _stationary(gradient, first, size, objective, tol, status, CONVEX)


def _stationary(
    gradient: Floats, scale: float, size: float, objective: float, tol: float | None, status: str, note: str
) -> Certificate:
    floor = 8.0 * EPS * size * float(np.sqrt(len(gradient)))
    value = float(np.linalg.norm(gradient))
    value = max(value, floor) if np.isfinite(value) else np.inf
    tol = RULES["stationarity"].tol if tol is None else tol
    if scale == 0.0 and value == 0.0:  # zero is the solution
        scale = 1.0
    return Certificate("stationarity", value, scale, tol, floor, objective, status=status, parts=(value,), note=note)


def eigenpairs(
    product: Product,
    values: Floats,
    vectors: Floats,
    bound: float | None,
    *,
    by_size: bool,
    tol: float | None,
    status: str,
) -> Certificate:
    """Judge eigenvectors (k, q) and their values, that are said to be the largest, or the largest in size; `bound` is
    one on the size of all eigenvalues.
    """
    k, q = vectors.shape
    images = np.array([product(v) for v in vectors])
    scale = float(np.max(np.abs(values))) or (1.0 if bound is None else bound or 1.0)
    with np.errstate(invalid="ignore"):
        residual = float(np.max(np.linalg.norm(images - values[:, None] * vectors, axis=1)))
        ordered = np.abs(values) if by_size else values
    floor = 8.0 * EPS * max(scale, bound or scale) * float(np.sqrt(q))
    value = max(residual, slant(vectors) * scale, floor)
    tol = RULES["spectral"].tol if tol is None else tol
    note = NOT_PROVED
    if not np.isfinite(value) or not np.all(np.diff(ordered) <= tol * scale):
        value, note = np.inf, "The eigenvalues are not in order, or not finite."
    elif k == q:
        note = "All eigenvectors are there."
    elif bound is not None:
        complete = _none_is_larger(product, values, vectors, bound, tol * scale + value, by_size=by_size)
        note = {True: PROBABLE, False: MISSING, None: NOT_PROVED}[complete]
        value = np.inf if complete is False else value
    return Certificate(
        "spectral", value, scale, tol, floor, float(np.sum(ordered)), status=status, parts=(value,), note=note
    )


def _none_is_larger(
    product: Product, values: Floats, vectors: Floats, bound: float, slack: float, *, by_size: bool
) -> bool | None:
    """Whether all eigenvalues outside the vectors are at most the last value and `slack`: of A + bound I, or of A^2,
    which are positive semidefinite.
    """
    if by_size:
        limit = (float(np.abs(values[-1])) + slack) ** 2
        weights = values**2

        def lift(v: Floats) -> Floats:
            return product(product(v))
    else:
        limit = float(values[-1]) + bound + slack
        weights = values + bound

        def lift(v: Floats) -> Floats:
            return product(v) + bound * v

    def apply(rows: Floats) -> Floats:
        images = np.array([lift(row) for row in rows])
        return np.ascontiguousarray(images - ((rows @ vectors.T) * weights) @ vectors)

    size = (bound**2 if by_size else 2.0 * bound) or 1.0
    q = vectors.shape[1]
    return below(apply, q, limit, 8.0 * EPS * size * float(np.sqrt(q)), np.random.default_rng(0), None)
