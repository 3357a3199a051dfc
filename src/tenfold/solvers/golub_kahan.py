"""LSQR: least squares by the bidiagonalisation of Golub and Kahan (Paige and Saunders 1982).

Minimises |A x - b|^2 + damping^2 |x|^2 by one product with A and one with A' a step. In exact arithmetic its iterates
are those of conjugate gradients on the normal equations; it is more accurate where A is ill-conditioned, as A'A is
never used, and |r| and |A'r| are known by recurrence.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tenfold.arrays import TINY, Floats
from tenfold.solvers.loop import Step

Product = Callable[[Floats], Floats]


def steps(product: Product, transposed: Product, b: Floats, columns: int, damping: float, tol: float) -> Iterator[Step]:
    """Steps from zero. The measure is the smaller of |A'r| / (|A| |r|), |A| the Frobenius norm of the bidiagonal
    matrix, and |r| / |b|, over `tol`; the objective (|r|^2 + damping^2 |x|^2) / 2.
    """
    x = np.zeros(columns)
    beta = float(np.linalg.norm(b))
    u = b / (beta or 1.0)
    v = transposed(u)
    alpha = float(np.linalg.norm(v))
    v = v / (alpha or 1.0)
    w, first = v, beta
    phi_bar, rho_bar, damped = beta, alpha, 0.0
    squares, normal = alpha * alpha, alpha * beta
    while True:
        size = float(np.sqrt(phi_bar**2 + damped))
        cosine = normal / max(float(np.sqrt(squares)) * size, TINY)
        measure = min(cosine, size / max(first, TINY)) if size > 0.0 else 0.0
        yield Step(x, 0.5 * size * size, measure / tol if tol > 0.0 else np.inf)
        if normal == 0.0:
            return
        u = product(v) - alpha * u
        beta = float(np.linalg.norm(u))
        u = u / (beta or 1.0)
        v = transposed(u) - beta * v
        alpha = float(np.linalg.norm(v))
        v = v / (alpha or 1.0)
        squares += alpha * alpha + beta * beta + damping * damping
        # a rotation removes the damping, another the entry below the diagonal
        rho_hat = float(np.hypot(rho_bar, damping))
        c, s = rho_bar / rho_hat, damping / rho_hat
        phi_bar, damped = c * phi_bar, damped + (s * phi_bar) ** 2
        rho = float(np.hypot(rho_hat, beta))
        c, s = rho_hat / rho, beta / rho
        theta, rho_bar = s * alpha, -c * alpha
        phi, phi_bar = c * phi_bar, s * phi_bar
        x = x + (phi / rho) * w
        w = v - (theta / rho) * w
        normal = abs(phi_bar * alpha * c)
