"""The delta rule written out: the recursion by its formulas and nothing else, slow and separate from the library."""

import math

import numpy as np

EPSILON = 0.2


def margin_loss(threshold):
    return lambda y, z: (threshold - y * z, -y) if y * z <= threshold else (0.0, 0.0)


def squared_hinge(y, z):
    excess = max(0.0, 1.0 - y * z)
    return excess**2, -2.0 * y * excess


def modified_huber(y, z):
    return squared_hinge(y, z) if y * z >= -1.0 else (-4.0 * y * z, -4.0 * y)


def huber(y, z):
    r = z - y
    return (0.5 * r * r, r) if abs(r) <= EPSILON else (EPSILON * (abs(r) - EPSILON / 2), math.copysign(EPSILON, r))


def insensitive(y, z):
    excess = abs(z - y) - EPSILON
    return (excess, math.copysign(1.0, z - y)) if excess > 0 else (0.0, 0.0)


def squared_insensitive(y, z):
    value, sign = insensitive(y, z)
    return value**2, 2.0 * sign * value


LOSSES = {
    "hinge": margin_loss(1.0),
    "perceptron": margin_loss(0.0),
    "squared_hinge": squared_hinge,
    "log_loss": lambda y, z: (math.log1p(math.exp(-y * z)), -y / (1.0 + math.exp(y * z))),
    "tanh": lambda y, z: (-math.tanh(y * z), -y * (1.0 - math.tanh(y * z) ** 2)),
    "modified_huber": modified_huber,
    "squared_error": lambda y, z: (0.5 * (z - y) ** 2, z - y),
    "huber": huber,
    "epsilon_insensitive": insensitive,
    "squared_epsilon_insensitive": squared_insensitive,
}


def step_size(rule, t):
    if rule.schedule == "optimal":
        typical = (1.0 / rule.alpha) ** 0.25
        return 1.0 / (rule.alpha * (1.0 / (typical * rule.alpha) + t - 1.0))
    return rule.eta0 / t**rule.power_t if rule.schedule == "invscaling" else rule.eta0


def truncate_weights(rule, w, q, due, columns):
    """Tsuruoka's cumulative penalty on some columns."""
    for j in columns:
        before = w[j]
        w[j] = max(0.0, before - (due + q[j])) if before > 0 else min(0.0, before + (due - q[j])) if before < 0 else 0.0
        q[j] += w[j] - before


def recursion(X, y, rule, epochs, weight=None, t=1.0, decay=1.0):
    """The weights, the averages and the mean objective of the last epoch, by the formulas and nothing else."""
    n, p = X.shape
    w, b, q, due = np.zeros(p), 0.0, np.zeros(p), 0.0
    w_sum, b_sum, count = np.zeros(p), 0.0, 0
    weight = np.ones(n) if weight is None else weight
    for _ in range(epochs):
        objective = 0.0
        for first in range(0, n, rule.batch):
            batch = range(first, min(n, first + rule.batch))
            eta, change = step_size(rule, t), {}
            norms = (1 - rule.l1_ratio) / 2 * w @ w + rule.l1_ratio * np.abs(w).sum()
            for i in batch:
                value, slope = LOSSES[rule.loss](y[i], w @ X[i] + b)
                objective += value + (rule.alpha * norms if rule.penalised else 0.0)
                change[i] = -eta * slope * weight[i] / len(batch)
            if rule.penalised:
                w *= max(0.0, 1.0 - (1.0 - rule.l1_ratio) * eta * rule.alpha)
            for i, u in change.items():
                w += u * X[i]
                b += decay * u if rule.intercept else 0.0
            if rule.penalised and rule.l1_ratio:
                due += rule.l1_ratio * eta * rule.alpha
                columns = range(p) if decay == 1.0 else np.flatnonzero(np.any(X[list(batch)] != 0.0, axis=0))
                truncate_weights(rule, w, q, due, columns)
            if 0 < rule.average <= t:
                w_sum, b_sum, count = w_sum + w, b_sum + b, count + 1
            t += 1
    average = (w_sum / count, b_sum / count) if count else None
    return w, b, average, objective / n
