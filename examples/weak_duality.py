"""Weak and strong duality: every multiplier bounds the minimum from below, the best one is a saddle (Seeger A, Welling
A).
"""

import numpy as np

from tenfold import kkt, lagrange_dual, minimize_qp

# min x^2 / 2 over x <= -1: the dual function is alpha - alpha^2 / 2
result = minimize_qp([[1.0]], [0.0], high=-1.0)
for alpha in (0.0, 0.5, 1.0, 1.5):
    value = lagrange_dual([[1.0]], [0.0], G=[[1.0]], h=[-1.0], multipliers=[alpha])
    print(f"alpha = {alpha:.1f}: no feasible x is below {value:.3f}")
print(f"the minimum is {result.objective:.3f} at x = {result.x[0]:.3f}, alpha = {result.upper_multipliers[0]:.3f}")
print(kkt(result.x, result.x, G=[[1.0]], h=[-1.0], multipliers=result.upper_multipliers, tol=1e-6).explain())

# the saddle: L(x, alpha) = x^2 / 2 + alpha (x + 1) is least in x and largest in alpha at (-1, 1)
x, alpha = np.linspace(-3.0, 1.0, 401), np.linspace(0.0, 3.0, 301)
L = 0.5 * x[:, None] ** 2 + alpha * (x[:, None] + 1.0)
print(f"max over alpha of min over x: {L.min(axis=0).max():.3f}")
print(f"min over x of max over alpha: {L.max(axis=1).min():.3f}")

# where a function is not convex in x the order matters: (x - z)^2 on the unit square
V = (np.linspace(0.0, 1.0, 101)[:, None] - np.linspace(0.0, 1.0, 101)) ** 2
print(f"(x - z)^2: max min {V.min(axis=0).max():.2f}, min max {V.max(axis=1).min():.2f}")

# a support vector machine: any feasible coefficients are below any weights, and the best ones meet
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 2))
y = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0.0, 1.0, -1.0)
machine = minimize_qp((X @ X.T) * np.outer(y, y), -np.ones(40), A=y[None], b=[0.0], low=0.0, high=1.0)
w, b = (machine.x * y) @ X, -machine.equality_multipliers[0]
primal = 0.5 * w @ w + np.sum(np.maximum(0.0, 1.0 - y * (X @ w + b)))
print(f"support vector machine: primal {primal:.6f}, dual {-machine.objective:.6f}")
assert machine.certificate_.ok
