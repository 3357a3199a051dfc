"""Optimality of linear models by slow formulas in extended precision; nothing here is shared with the judge."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

LONG = np.longdouble


class Problem(NamedTuple):
    """What a fitted model of the table was asked to minimise: sum_i weight_i loss_i + (alpha / 2 or alpha) ||w||^2."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    alpha: np.ndarray
    intercept: bool
    positive: bool
    selects: bool = False
    level: np.ndarray | None = None  # (t,), what products of the residual with columns are to be


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def problem_of(row, model, data) -> Problem:
    """Targets as numbers (n, t), weights with those of the classes, and a penalty for each target."""
    y = np.asarray(data.y)
    weight = np.ones(len(y)) if data.weight is None else np.asarray(data.weight, dtype=float)
    if row.classifier:
        names = np.unique(y)
        if row.name.startswith(("LogisticRegression", "LinearSVC")):
            # scikit-learn balances classes by their weights here, by their counts in ridge classification
            if getattr(model, "class_weight", None) is not None:
                factor = compute_class_weight(model.class_weight, classes=names, y=y, sample_weight=weight)
                weight = weight * factor[np.searchsorted(names, y)]
        elif getattr(model, "class_weight", None) is not None:
            weight = weight * compute_sample_weight(model.class_weight, y)
        Y = np.where(y[:, None] == names, 1.0, -1.0)
        Y = Y[:, 1:] if len(names) == 2 else Y
    else:
        Y = y.reshape(len(y), -1).astype(float)
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    alpha = 0.0 if row.angles else alpha
    if row.kind == "gap" and row.classifier:
        C = getattr(model, "C_", getattr(model, "C", None))
        alpha = alpha * weight.sum() if C is None else 1.0 / C  # beside the mean
        if getattr(model, "loss", "") == "softmax" and Y.shape[1] == 1:
            alpha = alpha / 2  # squares of two halves of a difference
    alpha = np.broadcast_to(np.asarray(alpha, dtype=float), Y.shape[1])
    return Problem(
        dense(data.X).astype(LONG),
        Y.astype(LONG),
        weight.astype(LONG),
        alpha.astype(LONG),
        row.intercept,
        row.positive,
        row.selects,
        _level(model, weight) if row.angles else None,
    )


def _level(model, weight):
    paths = model.alphas_ if isinstance(model.alphas_, list) else [model.alphas_]
    return np.array([path[-1] for path in paths]) * weight.sum()


def cosines(problem: Problem, params) -> np.ndarray:
    """For each target the largest cosine between the penalised residual and a column of the penalised system."""
    X, Y, weight, alpha, intercept, positive, selects, level = problem
    w, b = params[:, :-1].astype(LONG), params[:, -1].astype(LONG)
    keep = weight > 0
    X, Y, weight = X[keep], Y[keep], weight[keep]
    n, p = X.shape
    result = []
    for t in range(Y.shape[1]):
        root = np.sqrt(weight)
        mean = weight @ X / weight.sum() if intercept else np.zeros(p, LONG)
        A = np.vstack([root[:, None] * (X - mean), np.sqrt(alpha[t]) * np.eye(p, dtype=LONG)])
        r = np.concatenate([root * (Y[:, t] - X @ w[t] - b[t]), -np.sqrt(alpha[t]) * w[t]])
        gradient = A.T @ r
        if positive:
            gradient = np.where(w[t] > 0, np.abs(gradient), np.maximum(gradient, 0))
        if level is not None:
            gradient = np.where(w[t] != 0, np.abs(gradient) - level[t], np.maximum(np.abs(gradient) - level[t], 0))
        if selects:
            gradient = np.where(w[t] != 0, gradient, 0)
        lengths, size = np.sqrt(np.sum(A**2, axis=0)), np.sqrt(r @ r)
        columns = np.abs(gradient) / np.where(lengths > 0, lengths, 1) / size
        ones = abs(root @ r[:n]) / np.sqrt(weight.sum()) / size if intercept else 0.0
        result.append(max(float(np.max(columns, initial=0.0)), float(ones)))
    return np.array(result)


def least_squares_objective(problem: Problem, params) -> float:
    """Weighted mean of half the squared residuals plus the penalty, over all targets."""
    X, Y, weight, alpha = problem[:4]
    w, b = params[:, :-1].astype(LONG), params[:, -1].astype(LONG)
    squares = weight @ (Y - X @ w.T - b) ** 2 + alpha * np.sum(w**2, axis=1)
    return float(np.sum(squares) / (2 * weight.sum()))


def ridge(problem: Problem) -> np.ndarray:
    """The minimiser (t, p + 1) of a penalised problem: normal equations in float64, refined in extended precision."""
    X, Y, weight, alpha, intercept = problem[:5]
    p = X.shape[1]
    total = weight.sum()
    mean = weight @ X / total if intercept else np.zeros(p, LONG)
    means = weight @ Y / total if intercept else np.zeros(Y.shape[1], LONG)
    A, B = X - mean, Y - means
    G = (weight[:, None] * A).T @ A
    params = np.zeros((Y.shape[1], p + 1), LONG)
    for t in range(Y.shape[1]):
        H = G + alpha[t] * np.eye(p, dtype=LONG)
        w = np.zeros(p, LONG)
        for _ in range(50):
            gradient = H @ w - A.T @ (weight * B[:, t])
            w = w - np.linalg.solve(H.astype(float), gradient.astype(float))
        params[t, :-1], params[t, -1] = w, means[t] - w @ mean
    return params


# -- the logistic loss, y in {-1, +1}, in the units (1/W) sum weight log(1 + exp(-y z)) + strength / 2 ||w||^2


def softplus(s):
    """log(1 + e^s)."""
    return np.maximum(s, 0) + np.log1p(np.exp(-np.abs(s)))


def wrong(s):
    """1 / (1 + e^s)."""
    e = np.exp(-np.abs(s))
    return np.where(s >= 0, e, 1) / (1 + e)


def logistic_objective(X, y, weight, strength, w, b) -> LONG:
    z = X @ w + b
    return weight @ softplus(-y * z) / weight.sum() + strength * (w @ w) / 2


class Optimum(NamedTuple):
    w: np.ndarray
    b: np.longdouble
    value: np.longdouble


def logistic_optimum(X, y, weight, strength, intercept) -> Optimum:
    """Newton's method with halved steps; directions in float64, gradients in extended precision, to the end."""
    X, y, weight, strength = X.astype(LONG), y.astype(LONG), weight.astype(LONG), LONG(strength)
    keep = weight > 0
    X, y, weight = X[keep], y[keep], weight[keep]
    D = np.column_stack([X, np.ones(len(y), LONG)]) if intercept else X
    ridge_part = np.full(D.shape[1], strength)
    if intercept:
        ridge_part[-1] = 0
    total = weight.sum()

    def value(v):
        return weight @ softplus(-y * (D @ v)) / total + ridge_part @ (v * v) / 2

    v = np.zeros(D.shape[1], LONG)
    best = value(v)
    for _ in range(200):
        s = y * (D @ v)
        q = wrong(s)
        gradient = -(D.T @ (weight * y * q)) / total + ridge_part * v
        H = (D.T * (weight * q * (1 - q))) @ D / total + np.diag(ridge_part)
        d = np.sqrt(np.diag(H))
        step = np.linalg.lstsq((H / d[:, None] / d).astype(float), (gradient / d).astype(float), rcond=None)[0] / d
        size = LONG(1)
        while size > 1e-12 and not value(v - size * step) <= best:
            size /= 2
        if size <= 1e-12:
            break
        v = v - size * step
        new = value(v)
        done = np.sqrt(gradient @ gradient) < 1e-17 * (1 + np.abs(v).max()) or (best - new) == 0
        best = new
        if done:
            break
    return Optimum(v[:-1] if intercept else v, v[-1] if intercept else LONG(0), best)


def dual_gap(X, y, weight, strength, intercept, w, b) -> float:
    """Objective minus the dual value at the slopes of these weights, the intercept at its best for them (bisection)."""
    X, y, weight = X.astype(LONG), y.astype(LONG), weight.astype(LONG)
    w, b, strength = w.astype(LONG), LONG(b), LONG(strength)
    total = weight.sum()
    z = X @ w + b
    objective = logistic_objective(X, y, weight, strength, w, b)
    if intercept:
        low, high = LONG(-1e5), LONG(1e5)
        for _ in range(200):
            middle = (low + high) / 2
            slope = -(weight @ (y * wrong(y * (z + middle))))
            low, high = (middle, high) if slope < 0 else (low, middle)
        z = z + (low + high) / 2
    a = wrong(y * z)
    entropy = weight @ (_x_log_x(a) + _x_log_x(1 - a)) / total
    gradient = X.T @ (weight * y * a) / total
    return float(objective + entropy + gradient @ gradient / (2 * strength))


def _x_log_x(a):
    return np.where(a > 0, a * np.log(np.where(a > 0, a, 1)), 0)


# -- the softmax loss of K classes, y their numbers, in the units (1/W) sum weight (logsumexp(z) - z_y) + penalty


def log_probabilities(z):
    """log of e^z / sum e^z, row by row."""
    z = z - np.max(z, axis=1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))


def softmax_objective(X, y, weight, strength, W, b) -> LONG:
    logs = log_probabilities(X @ W.T + b)
    return -(weight @ logs[np.arange(len(y)), y]) / weight.sum() + strength * np.sum(W * W) / 2


def l1_objective(X, y, weight, l1, params) -> LONG:
    """With l1 ||W||_1 as the penalty; one row of params (t, p + 1) is for two classes, the first of which has none."""
    params = np.vstack([np.zeros_like(params), params]) if len(params) == 1 else params
    return softmax_objective(X, y, weight, 0.0, params[:, :-1], params[:, -1]) + l1 * np.sum(np.abs(params[:, :-1]))


def l1_value(X, y, weight, l1, intercept, t) -> float:
    """Close to the optimum, and never below it: quasi-Newton steps on the positive and the negative parts apart."""
    X, weight = np.asarray(X, dtype=float), np.asarray(weight / weight.sum(), dtype=float)
    keep = weight > 0
    X, y, weight = X[keep], y[keep], weight[keep]
    X = X - weight @ X if intercept else X
    right = y[:, None] == np.arange(2 if t == 1 else t)
    p = X.shape[1]

    def value(v):
        up, down, b = v[: t * p].reshape(t, p), v[t * p : 2 * t * p].reshape(t, p), v[2 * t * p :]
        z = X @ (up - down).T + b * intercept
        logs = log_probabilities(np.column_stack([np.zeros(len(z)), z]) if t == 1 else z)
        slopes = (weight[:, None] * (np.exp(logs) - right))[:, -t:]
        g = slopes.T @ X
        gradient = [(l1 + g).ravel(), (l1 - g).ravel(), slopes.sum(axis=0) * intercept]
        return -(weight @ logs[right]) + l1 * v[: 2 * t * p].sum(), np.concatenate(gradient)

    bounds = [(0, None)] * (2 * t * p) + [(None, None)] * t
    tight = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 30}
    return float(minimize(value, np.zeros((2 * p + 1) * t), jac=True, bounds=bounds, options=tight).fun)


def softmax_optimum(X, y, weight, strength, intercept, K) -> Optimum:
    """Newton's method with halved steps, as for two classes; the shortest step where the Hessian is singular."""
    X, weight, strength = X.astype(LONG), weight.astype(LONG), LONG(strength)
    keep = weight > 0
    X, y, weight = X[keep], y[keep], weight[keep]
    D = np.column_stack([X, np.ones(len(y), LONG)]) if intercept else X
    k, total = D.shape[1], weight.sum()
    penalty = np.full(k, strength)
    if intercept:
        penalty[-1] = 0
    one_hot = (y[:, None] == np.arange(K)).astype(LONG)

    def value(V):
        logs = log_probabilities(D @ V.T)
        return -(weight @ logs[np.arange(len(y)), y]) / total + np.sum(penalty * V * V) / 2

    V = np.zeros((K, k), LONG)
    best = value(V)
    for _ in range(200):
        q = np.exp(log_probabilities(D @ V.T))
        gradient = (weight[:, None] * (q - one_hot)).T @ D / total + penalty * V
        C = weight[:, None, None] * (q[:, :, None] * np.eye(K) - q[:, :, None] * q[:, None, :]) / total
        H = np.einsum("nkl,ni,nj->kilj", C.astype(float), D.astype(float), D.astype(float)).reshape(K * k, K * k)
        H += np.diag(np.tile(penalty, K)).astype(float)
        d = np.sqrt(np.diag(H))
        step = np.linalg.lstsq(H / d[:, None] / d, (gradient.ravel() / d).astype(float), rcond=1e-13)[0] / d
        step, size = step.reshape(K, k), LONG(1)
        while size > 1e-12 and not value(V - size * step) <= best:
            size /= 2
        if size <= 1e-12:
            break
        V = V - size * step
        new = value(V)
        done = best - new == 0
        best = new
        if done:
            break
    return Optimum(V[:, :-1] if intercept else V, V[:, -1] if intercept else np.zeros(K, LONG), best)


# -- deviances, in the units (1/W) sum weight loss(y, z) + strength / 2 ||w||^2


class SlowLoss(NamedTuple):
    value: Callable
    slope: Callable
    curvature: Callable


DEVIANCES = {
    "PoissonRegressor": SlowLoss(
        lambda y, z: np.exp(z) - y * z + _x_log_x(y) - y, lambda y, z: np.exp(z) - y, lambda y, z: np.exp(z)
    ),
    "GammaRegressor": SlowLoss(
        lambda y, z: z + y * np.exp(-z) - np.log(y) - 1, lambda y, z: 1 - y * np.exp(-z), lambda y, z: y * np.exp(-z)
    ),
    "GeneralizedLinear": SlowLoss(lambda y, z: (z - y) ** 2 / 2, lambda y, z: z - y, lambda y, z: np.ones_like(z)),
    "TweedieRegressor": SlowLoss(lambda y, z: (z - y) ** 2 / 2, lambda y, z: z - y, lambda y, z: np.ones_like(z)),
}


def deviance_objective(loss, X, y, weight, strength, w, b) -> LONG:
    return weight @ loss.value(y, X @ w + b) / weight.sum() + strength * (w @ w) / 2


def huber_objective(X, y, weight, alpha, epsilon, w, b, sigma) -> LONG:
    """Weighted mean of sigma + sigma H(r / sigma), and the penalty over the sum of the weights."""
    a = np.abs(y - X @ w - b) / sigma
    H = np.where(a < epsilon, a * a, 2 * epsilon * a - LONG(epsilon) ** 2)
    return (weight @ (sigma + sigma * H) + alpha * (w @ w)) / weight.sum()


def deviance_optimum(loss, X, y, weight, strength, intercept) -> Optimum:
    """Newton's method with halved steps from zero; directions in float64, the rest in extended precision."""
    keep = weight > 0
    X, y, weight = X[keep], y[keep], weight[keep]
    centre = X.mean(axis=0) if intercept else np.zeros(X.shape[1], LONG)
    D = np.column_stack([X - centre, np.ones(len(y), LONG)]) if intercept else X
    ridge_part = np.full(D.shape[1], LONG(strength))
    ridge_part[X.shape[1] :] = 0

    def value(v):
        return weight @ loss.value(y, D @ v) / weight.sum() + ridge_part @ (v * v) / 2

    v = np.zeros(D.shape[1], LONG)
    best = value(v)
    for _ in range(200):
        z = D @ v
        gradient = D.T @ (weight * loss.slope(y, z)) / weight.sum() + ridge_part * v
        H = (D.T * (weight * loss.curvature(y, z))) @ D / weight.sum() + np.diag(ridge_part)
        d = np.sqrt(np.diag(H))
        d[d == 0] = 1
        step = np.linalg.lstsq((H / d[:, None] / d).astype(float), (gradient / d).astype(float), rcond=None)[0] / d
        size = LONG(1)
        while size > 1e-12 and not value(v - size * step) < best:
            size /= 2
        if size <= 1e-12:
            break
        v = v - size * step
        best = value(v)
    return Optimum(v[: X.shape[1]], v[-1] - v[:-1] @ centre if intercept else LONG(0), best)


# -- the square loss with an L1 penalty and a ridge, in the units (1 / 2W) sum weight |y - z|^2 + l1 |w|_1 + l2/2 |w|^2


class Lasso(NamedTuple):
    """Balanced and weighted rows in mean units, so that the loss is half a sum of squares; several targets are joint or
    apart.
    """

    X: np.ndarray
    Y: np.ndarray
    l1: np.longdouble
    l2: np.longdouble
    positive: bool
    joint: bool


def lasso_of(problem: Problem, model, joint: bool) -> Lasso:
    ratio = LONG(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    root = np.sqrt(problem.weight / problem.weight.sum())[:, None]
    X, Y = problem.X, problem.Y
    if problem.intercept:
        X, Y = X - root.T**2 @ X, Y - root.T**2 @ Y
    alpha = problem.alpha[0]
    return Lasso(root * X, root * Y, alpha * ratio, alpha * (1 - ratio), problem.positive, joint)


def lengths(W):
    return np.sqrt(np.sum(W * W, axis=1))


def lasso_objective(lasso: Lasso, W) -> LONG:
    """At weights (p, t)."""
    norms = lengths(W) if lasso.joint else np.sum(np.abs(W), axis=1)
    R = lasso.Y - lasso.X @ W
    return np.sum(R * R) / 2 + lasso.l1 * norms.sum() + lasso.l2 * np.sum(W * W) / 2


def lasso_dual(lasso: Lasso, W) -> LONG:
    """The better of two dual values at the residuals: scaled until they are feasible, and as they are."""
    R = lasso.Y - lasso.X @ W
    Q = lasso.X.T @ R
    up = (lambda V: np.maximum(V, 0)) if lasso.positive else (lambda V: V)
    along, squares = np.sum(lasso.Y * R), np.sum(R * R)
    whole = squares + lasso.l2 * np.sum(W * W)
    best = LONG(0)
    if lasso.l1 > 0 and whole > 0:
        largest = lengths(up(Q - lasso.l2 * W)).max()
        scale = along / whole if largest == 0 else min(along / whole, lasso.l1 / largest)
        best = max(best, max(scale, 0) * along - max(scale, 0) ** 2 * whole / 2)
    if lasso.l2 > 0:
        over = np.maximum(lengths(up(Q)) - lasso.l1, 0)
        best = max(best, along - squares / 2 - np.sum(over**2) / (2 * lasso.l2))
    return best


def lasso_optimum(lasso: Lasso, W) -> LONG:
    """The least objective of one target (or of joint ones), by coordinate descent in extended precision from W."""
    G, C = lasso.X.T @ lasso.X, lasso.X.T @ lasso.Y
    W, best = W.astype(LONG).copy(), lasso_objective(lasso, W.astype(LONG))
    for sweep in range(2000):
        for j in range(len(W)):
            gradient = C[j] - G[j] @ W + G[j, j] * W[j]
            gradient = np.maximum(gradient, 0) if lasso.positive else gradient
            length = np.sqrt(gradient @ gradient)
            kept = max(1 - lasso.l1 / length, 0) if length > 0 else 0
            W[j] = kept * gradient / (G[j, j] + lasso.l2) if G[j, j] + lasso.l2 > 0 else 0
        if sweep % 20 == 19:
            new = lasso_objective(lasso, W)
            if best - new <= 1e-17 * best:
                break
            best = new
    return min(best, lasso_objective(lasso, W))


# -- quantiles, in the units (1/W) sum weight pinball(y - z) + alpha |w|_1, with an intercept


def quantile_optimum(X, y, weight, q, alpha) -> float:
    """The least objective, by linear programming."""
    keep = weight > 0
    X, y, share = X[keep], y[keep], weight[keep] / weight[keep].sum()
    mean = X.mean(axis=0)
    n, p = X.shape
    A = np.hstack([X - mean, mean - X, np.ones((n, 1)), -np.ones((n, 1)), np.eye(n), -np.eye(n)])
    cost = np.concatenate([np.full(2 * p, alpha), [0.0, 0.0], q * share, (1 - q) * share])
    return float(linprog(cost, A_eq=A, b_eq=y, method="highs").fun)


# -- linear support vector machines, in the units (1/W) sum weight loss + strength / 2 (||w||^2 + (b / unit)^2)


def machine_objective(model, X, y, weight, w, b) -> LONG:
    """At weights and intercept; y in {-1, +1}, or numbers."""
    z = X @ w.astype(LONG) + LONG(b)
    r = 1 - y * z if hasattr(model, "classes_") else np.abs(z - y) - LONG(model.epsilon)
    loss = np.maximum(r, 0) ** (2 if model.loss.startswith("squared") else 1)
    tied = model.fit_intercept and model.penalize_intercept
    sizes = np.append(w.astype(LONG), LONG(b) / LONG(model.intercept_scaling) if tied else 0)
    penalty = np.abs(sizes).sum() if getattr(model, "penalty", "l2") == "l1" else (sizes @ sizes) / 2
    return (weight @ loss + penalty / LONG(model.C)) / weight.sum()


def machine_reference(model, X, y, weight):
    """Weights and intercept by liblinear, or, where the intercept is free and the loss has kinks, by libsvm; None where
    neither knows the problem.
    """
    given = {name: getattr(model, name) for name in ("C", "epsilon") if hasattr(model, name)}
    limits = {"tol": 1e-9, "max_iter": 200_000}
    keep = weight > 0
    X, y, weight = X[keep].astype(float), y[keep].astype(float), weight[keep].astype(float)
    classes = hasattr(model, "classes_")
    if model.penalize_intercept or not model.fit_intercept:
        shared = {
            name: getattr(model, name) for name in ("penalty", "loss", "intercept_scaling") if hasattr(model, name)
        }
        sklearn_model = (LinearSVC if classes else LinearSVR)(
            **given, **shared, **limits, fit_intercept=model.fit_intercept
        )
    elif model.loss in ("hinge", "epsilon_insensitive"):
        sklearn_model = (SVC if classes else SVR)(**given, **limits, kernel="linear")
    else:
        return None
    sklearn_model.fit(X, y, sample_weight=weight)
    return sklearn_model.coef_.ravel(), np.ravel(sklearn_model.intercept_)[0] if model.fit_intercept else 0.0
