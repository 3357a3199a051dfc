"""Duals of support vector machines as quadratic problems, and their optima by a slow solver in extended precision."""

from typing import NamedTuple

import numpy as np

from qp_reference import solve
from tenfold.judge.svm_machines import Hinge, NuHinge, NuTube, OneClass, SquaredHinge, SquaredTube, Tube

KINDS = ("hinge", "squared hinge", "tube", "squared tube", "nu hinge", "nu tube", "one class")


class Optimum(NamedTuple):
    """Coefficients, intercept and objective of the optimum; rho where there is nu and classes."""

    beta: np.ndarray
    b: float
    objective: float
    rho: float = np.nan


def machine(kind, y, C, *, epsilon=0.1, nu=0.4, rho=1.0):
    made = {
        "hinge": lambda: Hinge(y, C),
        "squared hinge": lambda: SquaredHinge(y, C),
        "tube": lambda: Tube(y, C, epsilon),
        "squared tube": lambda: SquaredTube(y, C, epsilon),
        "nu hinge": lambda: NuHinge(y, C, nu, rho),
        "nu tube": lambda: NuTube(y, C, nu),
        "one class": lambda: OneClass(y, C, nu),
    }
    return made[kind]()


def optimum(kind, K, y, C, *, epsilon=0.1, nu=0.4):
    """The optimum of a machine with a positive semidefinite kernel matrix."""
    n, zero = len(y), np.zeros(len(y))
    if kind in ("hinge", "squared hinge", "nu hinge"):
        Q = K * np.outer(y, y)
        if kind == "squared hinge":
            Q = Q + np.diag(0.5 / C)
        total = [[0.0]] if kind != "nu hinge" else [[0.0, nu * C.sum()]]
        A = y[None] if kind != "nu hinge" else np.stack([y, np.ones(n)])
        c = zero if kind == "nu hinge" else -np.ones(n)
        a, dual, value = solve(Q, c, A, total[0], zero, np.full(n, np.inf) if kind == "squared hinge" else C)
        rho = float(dual[1]) if kind == "nu hinge" else np.nan
        return Optimum(np.asarray(a * y, dtype=float), -float(dual[0]), -value, rho)
    if kind == "one class":
        a, dual, value = solve(K, zero, np.ones((1, n)), [nu * C.sum()], zero, C)
        return Optimum(np.asarray(a, dtype=float), -float(dual[0]), -value)
    Q = np.block([[K, -K], [-K, K]])
    ones = np.concatenate([np.ones(n), -np.ones(n)])
    price = 0.0 if kind == "nu tube" else epsilon
    c = np.concatenate([price - y, price + y])
    high = np.concatenate([C, C])
    if kind == "squared tube":
        Q, high = Q + np.diag(np.concatenate([0.5 / C, 0.5 / C])), np.full(2 * n, np.inf)
    A, b = ones[None], [0.0]
    if kind == "nu tube":
        Q, c = np.pad(Q, (0, 1)), np.append(c, 0.0)
        A = np.stack([np.append(ones, 0.0), np.ones(2 * n + 1)])
        b, high = [0.0, nu * C.sum()], np.append(high, nu * C.sum())
    a, dual, value = solve(Q, c, A, b, np.zeros(len(c)), high)
    return Optimum(np.asarray(a[:n] - a[n : 2 * n], dtype=float), -float(dual[0]), -value)


def data(kind, seed, n=40, weighted=True, scale=1.0):
    """Targets, weights and the kernel matrix of a random problem with overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[: n // 8] = X[n // 8 : 2 * (n // 8)]  # duplicates, whose targets differ
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) if seed % 2 else X @ X.T + 1.0
    f = X[:, 0] + 0.7 * rng.standard_normal(n)
    y = np.where(f > 0.0, 1.0, -1.0) if "hinge" in kind else f
    C = scale * (rng.uniform(0.2, 2.0, n) if weighted else np.ones(n))
    return y, C, K, X
