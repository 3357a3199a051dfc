"""Probabilities of classes from the values of machines for their pairs.

Of a pair i < j with values u, P(class i | i or j) = 1 / (1 + exp(A u + B)): A and B maximise the likelihood of values
that folds of their own have given, with Platt's targets (n_i + 1) / (n_i + 2) and 1 / (n_j + 2) (Platt, 2000; Lin,
Lin and Weng, 2007). The pairs r_ij are coupled to probabilities p of all classes that minimise
sum_ij (r_ji p_i - r_ij p_j)^2 under sum p = 1, by the linear system of that minimum (Wu, Lin and Weng, 2004).
"""

from typing import Any

import numpy as np

from tenfold.arrays import Floats

STEPS = 100
CERTAIN = 1e-7  # probabilities of pairs stay this far from 0 and 1, as libsvm's
RIDGE = 1e-12


def fit_sigmoid(values: Floats, first: Any, weight: Floats | None = None) -> tuple[float, float]:
    """A and B for values (n,) of samples, `first` where they are of class i, by Newton's method with a line search;
    with weights (n,) a sample counts as so many.
    """
    weight = np.ones(len(values)) if weight is None else weight
    ahead, behind = float(np.sum(weight[first])), float(np.sum(weight[~first]))
    target = np.where(first, (ahead + 1.0) / (ahead + 2.0), 1.0 / (behind + 2.0))
    a, b = 0.0, float(np.log((behind + 1.0) / (ahead + 1.0)))
    loss = _loss(values, target, weight, a, b)
    for _ in range(STEPS):
        p = _sigmoid(-(values * a + b))
        d, h = weight * (target - p), weight * p * (1.0 - p)
        gradient = np.array([values @ d, np.sum(d)])
        if np.max(np.abs(gradient)) < 1e-5:
            break
        cross = values @ h
        H = np.array([[values @ (h * values) + RIDGE, cross], [cross, np.sum(h) + RIDGE]])
        step = -np.linalg.solve(H, gradient)
        size, slope = 1.0, float(gradient @ step)
        while size >= 1e-10:
            new = _loss(values, target, weight, a + size * step[0], b + size * step[1])
            if new < loss + 1e-4 * size * slope:
                a, b, loss = a + size * float(step[0]), b + size * float(step[1]), new
                break
            size *= 0.5
        else:
            break
    return a, b


def _sigmoid(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0, e) / (1.0 + e)


def _loss(values: Floats, target: Floats, weight: Floats, a: float, b: float) -> float:
    z = values * a + b
    return float(weight @ (target * z + np.logaddexp(0.0, -z)))


def pair_probabilities(values: Floats, A: Floats, B: Floats) -> Floats:
    """P(class i | i or j) of each pair, (n, pairs)."""
    return np.clip(_sigmoid(-(values * A + B)), CERTAIN, 1.0 - CERTAIN)


def couple(r: Floats, count: int) -> Floats:
    """The probabilities (n, classes) of all classes from those of the pairs (n, pairs)."""
    if count == 2:
        return np.column_stack([r[:, 0], 1.0 - r[:, 0]])
    first, second = np.triu_indices(count, 1)
    R = np.zeros((len(r), count, count))
    R[:, first, second], R[:, second, first] = r, 1.0 - r
    # Q_ii = sum_j r_ji^2, Q_ij = -r_ji r_ij; the minimum of p'Q p / 2 solves [Q 1; 1' 0] [p; m] = [0; 1]
    system = np.zeros((len(r), count + 1, count + 1))
    system[:, :count, :count] = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(count)
    system[:, diagonal, diagonal] = np.sum(R * R, axis=1)
    system[:, :count, count] = system[:, count, :count] = 1.0
    right = np.zeros((len(r), count + 1, 1))
    right[:, count] = 1.0
    p = np.clip(np.linalg.solve(system, right)[:, :count, 0], 0.0, 1.0)
    return p / np.sum(p, axis=1, keepdims=True)
