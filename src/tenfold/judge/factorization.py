"""Certificate of non-negative factors, kind stationarity: the projected gradient in both of them.

The model keeps H alone, and W = 0 = H is stationary, so W is a witness: any W whose own projected gradient is small
proves that of the pair. Where nothing is penalised, W and H are balanced first, ||W_k|| = ||H_k||. With G the gradient
of the objective in H, its projected gradient is

    P = min(G, L H) = (H - max(H - G / L, 0)) L,    L = diag(W'W) + l2 for the squared loss, else G+ / mean(H),

G+ the positive part of G, and the number is ||P|| beside the norm of the negative part, ||W'X|| for the squared loss;
likewise in W; the larger of both. A component that is zero is stationary whatever the others are: it is refused while a
new one would decrease the objective to first order, max (X - W H) > 0 for the squared loss without a penalty.

Missing entries (NaN) have no term in any of these. For the squared loss of all entries no factors of rank k have an
objective below half the sum of the squares of all singular values of X but the k largest (Eckart and Young 1936): the
penalties are at least zero.
"""

from typing import Any

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_sparse, unit_roundoff, wide
from tenfold.judge.certificate import RULES, Certificate
from tenfold.linear_algebra import eigenvalues
from tenfold.objectives.factorization import Divergence, Slopes, gram, penalty_value, sum_of_squares
from tenfold.problems import Factorization, length

BOUND_MAX_SIZE = 1024  # of the smaller side of X, up to which the lower bound is computed


def stationary_factors(
    X: Array,
    W: Floats,
    H: Floats,
    problem: Factorization,
    *,
    error: float | None,
    tol: float | None = None,
    dtype: Any = np.float64,
    bound: bool = True,
    status: str = "converged",
) -> Certificate:
    """Judge H (k, p) with a witness W (n, k) on samples (n, p); `error` is the stored sqrt(2 D(X, W H)),
    None where there is none."""
    tol = RULES["stationarity"].tol if tol is None else tol
    wrong = _complain_of_factors(X, W, H)
    if wrong:
        return Certificate("stationarity", np.inf, 1.0, tol, 0.0, np.inf, status=status, note=wrong)
    data = Divergence.of(X, problem.beta)
    W, H = (W, H) if problem.penalised else _balance(W, H)
    loss = data.value(W, H)
    objective = loss + penalty_value(problem, W, H)
    squares = (gram(W), gram(H.T)) if data.is_quadratic else (None, None)
    own, floor_H = _project(H.T, _transpose(data.slopes_H(W, H)), squares[0], problem.l1_H, problem.l2_H, dtype)
    witness, _ = _project(W, data.slopes_W(W, H), squares[1], problem.l1_W, problem.l2_W, dtype)
    value = max(own, witness, floor_H)
    wrong = _complain_of_components(data, W, H, problem) or _complain_of_cost(W, H, problem)
    if not wrong and value <= max(tol, floor_H):  # else the stored error is of another W
        wrong = _complain_of_error(X, error, loss, problem.beta, tol)
    value = value if np.isfinite(objective) and not wrong else np.inf
    lowest = eckart_young(X, len(H)) if bound and data.is_quadratic else None
    return Certificate(
        "stationarity",
        value,
        1.0,
        tol,
        floor_H,
        objective,
        lower_bound=lowest,
        status=status,
        parts=(own, witness),
        note=_note(objective, lowest, wrong),
    )


def _project(
    V: Floats, slopes: Slopes, products: Floats | None, l1: float, l2: float, dtype: Any
) -> tuple[float, float]:
    """The relative norm of the projected gradient of a factor in rows, V (rows, k), and its rounding; with products
    (k, k) of the other factor for the squared loss of all entries."""
    positive = slopes.positive + l1 + l2 * V
    size = length(slopes.negative)
    if products is not None:
        curvature = np.diag(products) + l2
    else:
        curvature = positive / np.maximum(np.mean(V, axis=0), np.finfo(np.float64).tiny)
    value = length(np.minimum(positive - slopes.negative, curvature * V))
    if value == 0.0:
        return 0.0, 8.0 * EPS
    if not size > 0.0:
        return np.inf, 8.0 * EPS
    unit = 8.0 * EPS * np.sqrt(len(V)) + 4.0 * unit_roundoff(dtype)
    return value / size, float(unit * (length(positive) + size) / size)


def _transpose(slopes: Slopes) -> Slopes:
    return Slopes(slopes.positive.T, slopes.negative.T)


def _balance(W: Floats, H: Floats) -> tuple[Floats, Floats]:
    """The same product with ||W_k|| = ||H_k||; components that are zero stay."""
    left, right = np.linalg.norm(W, axis=0), np.linalg.norm(H, axis=1)
    there = (left > 0.0) & (right > 0.0)
    scale = np.sqrt(np.where(there, right, 1.0)) / np.sqrt(np.where(there, left, 1.0))
    return W * scale, H / scale[:, None]


def _complain_of_factors(X: Array, W: Floats, H: Floats) -> str:
    if H.ndim != 2 or W.shape != (X.shape[0], len(H)) or H.shape[1] != X.shape[1]:
        return f"Factors of shapes {W.shape} and {H.shape} do not belong to samples of shape {X.shape}."
    if not (np.isfinite(W).all() and np.isfinite(H).all()):
        return "A factor is not finite."
    if min(W.min(), H.min()) < 0.0:
        return "A factor is negative."
    return ""


def _complain_of_components(data: Divergence, W: Floats, H: Floats, problem: Factorization) -> str:
    """Why components that are zero are not stationary; "" where they are, or where there are none."""
    empty = int(np.sum(~(W.any(axis=0) & H.any(axis=1))))
    if empty == 0 or (problem.l1_W > 0.0 and problem.l1_H > 0.0):
        return ""
    deficit = data.largest_deficit(W, H)
    entries = wide(data.X.data if is_sparse(data.X) else data.X)
    size = float(np.max(np.nan_to_num(entries) if data.missing else entries, initial=0.0))
    rounding = 8.0 * EPS * (len(H) + 8.0) * size * max(size, data.floor) ** (data.beta - 2.0)
    if deficit <= max(np.sqrt(problem.l2_W * problem.l2_H), rounding):
        return ""
    return f"{empty} components are zero, and another value of them would decrease the objective."


def _complain_of_cost(W: Floats, H: Floats, problem: Factorization) -> str:
    """Whether a part of a component has a penalty though the other part is zero: curvatures are zero there, and with
    them the projected gradients."""
    idle_H, idle_W = H.any(axis=1) & ~W.any(axis=0), W.any(axis=0) & ~H.any(axis=1)
    if (problem.l1_H > 0.0 and idle_H.any()) or (problem.l1_W > 0.0 and idle_W.any()):
        return "A component that no sample uses has a penalty: zeros would decrease the objective."
    return ""


def _complain_of_error(X: Array, error: float | None, loss: float, beta: float, tol: float) -> str:
    """Why a stored error is not that of the factors; the witness need not be the W of the fit: within `tol`."""
    own = float(np.sqrt(2.0 * max(loss, 0.0)))
    size = np.sqrt(sum_of_squares(X)) if beta == 2.0 else max(own, 1.0)
    if error is None or abs(error - own) <= min(tol, 1e-4) * own + 1e-7 * size:
        return ""
    return f"The stored error is {error:.9g}, and that of the components {own:.9g}."


def eckart_young(X: Array, k: int) -> float | None:
    """A proved lower bound on half the sum of squares of X - Y over all Y of rank k; None where both sides of X are
    long.
    """
    size = min(X.shape)
    if k >= size:
        return 0.0
    if size > BOUND_MAX_SIZE:
        return None
    if is_sparse(X):
        A = X.astype(np.float64)
        products = (A @ A.T if X.shape[0] <= X.shape[1] else A.T @ A).toarray()
    else:
        A = np.ascontiguousarray(X, dtype=np.float64)
        products = gram(np.ascontiguousarray(A.T) if X.shape[0] <= X.shape[1] else A)
    values = eigenvalues(products)
    # of the sums of products, of norm at most their trace, for each of the eigenvalues that are left
    rounding = 4.0 * EPS * (size + np.sqrt(max(X.shape))) * float(np.trace(products))
    return max(0.0, 0.5 * float(np.sum(values[: size - k])) - rounding)


def _note(objective: float, lowest: float | None, wrong: str) -> str:
    words = [wrong] if wrong else []
    if lowest is not None and 0.0 < lowest < np.inf:
        share = 100.0 * (1.0 - lowest / objective) if objective > lowest else 0.0
        words.append(f"No factors of this rank have an objective below {lowest:.6g}, which is {share:.2g} % less.")
    return " ".join(words)
