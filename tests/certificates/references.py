"""Best objectives of convex problems by slow methods in long double, which share nothing with the library.

A problem is, over weights W (K, p) and intercepts b (K,),

    sum_i c_i loss(y_i, x_i.W' + b) + sum_j l1_j |w_j| + l2_j / 2 w_j^2 + sum_g l_g ||w_g||,

evaluated in long double everywhere. Any point bounds the best objective from above, so that the excess of other weights
over the point found is at most their true excess: a certificate below it is wrong, whatever the accuracy reached here.
Smooth losses are solved by proximal gradient steps and Newton steps on the manifold of the nonzero weights, piecewise
linear ones by an interior point method (or a linear programme, without squares) whose active set is solved again in
long double.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)


def long(values: Any) -> Any:
    return np.asarray(values, dtype=LONG)


# --------------------------------------------------------------------------------------------------------------- losses


@dataclass(frozen=True)
class Smooth:
    """A loss of one raw prediction: `derive(y, z)` has value, first and second derivative, each (n,)."""

    derive: Callable[[Any, Any], tuple[Any, Any, Any]]

    def value(self, y: Any, z: Any) -> Any:
        return self.derive(y, z[:, 0])[0]

    def derivatives(self, y: Any, z: Any) -> tuple[Any, Any, Any]:
        value, slope, bend = self.derive(y, z[:, 0])
        return value, slope[:, None], bend[:, None, None]


@dataclass(frozen=True)
class Piecewise:
    """A loss that is sum_k up_k (at_k - z)_+ + down_k (z - at_k)_+, with at, up and down (n, k) from `pieces(y)`."""

    pieces: Callable[[Any], tuple[Any, Any, Any]]

    def value(self, y: Any, z: Any) -> Any:
        at, up, down = self.pieces(y)
        r = at - z
        return np.sum(np.where(r > 0, up * r, -down * r), axis=1)


class Softmax:
    """log sum_k exp(z_k) - z_y, y the number of the class."""

    def value(self, y: Any, z: Any) -> Any:
        top = z.max(axis=1)
        return np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[np.arange(len(z)), y]

    def derivatives(self, y: Any, z: Any) -> tuple[Any, Any, Any]:
        e = np.exp(z - z.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        g = p.copy()
        g[np.arange(len(z)), y] -= 1
        K = z.shape[1]
        return self.value(y, z), g, p[:, :, None] * np.eye(K, dtype=LONG) - p[:, :, None] * p[:, None, :]


class Squares:
    """||z - y||^2 / 2 of several targets together."""

    def value(self, y: Any, z: Any) -> Any:
        return np.sum((z - y) ** 2, axis=1) / 2

    def derivatives(self, y: Any, z: Any) -> tuple[Any, Any, Any]:
        K = z.shape[1]
        return self.value(y, z), z - y, np.broadcast_to(np.eye(K, dtype=LONG), (len(z), K, K))


class CrammerSinger:
    """max_k (z_k + [k != y]) - z_y, y the number of the class."""

    def value(self, y: Any, z: Any) -> Any:
        raised = z + 1
        raised[np.arange(len(z)), y] -= 1
        return raised.max(axis=1) - z[np.arange(len(z)), y]


def square(y: Any, z: Any) -> tuple[Any, Any, Any]:
    return (z - y) ** 2 / 2, z - y, np.ones_like(z)


def huber(width: float) -> Smooth:
    d = LONG(width)

    def derive(y: Any, z: Any) -> tuple[Any, Any, Any]:
        r, size = z - y, np.abs(z - y)
        inside = size <= d
        return np.where(inside, r * r / 2, d * size - d * d / 2), np.clip(r, -d, d), long(inside)

    return Smooth(derive)


def squared_tube(epsilon: float) -> Smooth:
    e = LONG(epsilon)

    def derive(y: Any, z: Any) -> tuple[Any, Any, Any]:
        r = z - y
        over = np.maximum(np.abs(r) - e, 0)
        return over**2, 2 * np.sign(r) * over, 2 * long(over > 0)

    return Smooth(derive)


def _entropy(y: Any) -> Any:
    return np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0)


def poisson(y: Any, z: Any) -> tuple[Any, Any, Any]:
    mean = np.exp(z)
    return mean - y * z + _entropy(y) - y, mean - y, mean


def gamma(y: Any, z: Any) -> tuple[Any, Any, Any]:
    ratio = y * np.exp(-z)
    return z + ratio - np.log(y) - 1, 1 - ratio, ratio


def tweedie(power: float) -> Smooth:
    p = LONG(power)

    def derive(y: Any, z: Any) -> tuple[Any, Any, Any]:
        decreasing, rises = y * np.exp((1 - p) * z), np.exp((2 - p) * z)
        value = y ** (2 - p) / ((1 - p) * (2 - p)) - decreasing / (1 - p) + rises / (2 - p)
        return value, rises - decreasing, (2 - p) * rises - (1 - p) * decreasing

    return Smooth(derive)


def deviance(power: float) -> Smooth:
    """Half of Tweedie's deviance with scikit-learn's automatic link."""
    if power == 0:
        return Smooth(square)
    return Smooth(poisson) if power == 1 else Smooth(gamma) if power == 2 else tweedie(power)


def logistic(y: Any, z: Any) -> tuple[Any, Any, Any]:
    m = y * z
    e = np.exp(-np.abs(m))
    wrong = np.where(m > 0, e, LONG(1)) / (1 + e)
    return np.log1p(e) + np.maximum(-m, 0), -y * wrong, e / (1 + e) ** 2


def squared_hinge(y: Any, z: Any) -> tuple[Any, Any, Any]:
    over = np.maximum(1 - y * z, 0)
    return over**2, -2 * y * over, 2 * long(over > 0)


def modified_huber(y: Any, z: Any) -> tuple[Any, Any, Any]:
    m = y * z
    over = np.maximum(1 - m, 0)
    return np.where(m >= -1, over**2, -4 * m), -y * np.minimum(2 * over, 4), 2 * long((m < 1) & (m >= -1))


def hinge_pieces(y: Any) -> tuple[Any, Any, Any]:
    at = y[:, None]
    return at, long(at > 0), long(at < 0)


def quantile(q: float) -> Piecewise:
    def pieces(y: Any) -> tuple[Any, Any, Any]:
        at = y[:, None]
        return at, np.full_like(at, LONG(q)), np.full_like(at, 1 - LONG(q))

    return Piecewise(pieces)


def tube(epsilon: float) -> Piecewise:
    e = LONG(epsilon)

    def pieces(y: Any) -> tuple[Any, Any, Any]:
        at = np.column_stack([y - e, y + e])
        ones, none = np.ones_like(y), np.zeros_like(y)
        return at, np.column_stack([ones, none]), np.column_stack([none, ones])

    return Piecewise(pieces)


def one_sided(at: Any) -> Piecewise:
    """max(0, at - z), whatever y."""
    return Piecewise(
        lambda y: (np.full((len(y), 1), LONG(at)), np.ones((len(y), 1), LONG), np.zeros((len(y), 1), LONG))
    )


# -------------------------------------------------------------------------------------------------------------- problem


@dataclass
class Problem:
    """One convex problem; samples of share zero are left out.

    X (n, p), y (n,) or (n, K); share (n,) are the factors c_i of the losses; l1 and l2 are scalars for all weights, and
    `ties` the same two for the intercepts; `groups` are pairs of a factor and the features whose weights have a common
    norm, within each output, or over all outputs where `multi_task`; `linear` is a price of the intercept.
    """

    X: Any
    y: Any
    share: Any
    loss: Any
    outputs: int = 1
    intercept: bool = True
    l1: float = 0.0
    l2: float = 0.0
    ties: tuple[float, float] = (0.0, 0.0)
    groups: list[tuple[float, Any]] = field(default_factory=list)
    multi_task: bool = False
    positive: bool = False
    linear: float = 0.0

    def __post_init__(self) -> None:
        keep = np.asarray(self.share) > 0
        self.X, self.share = long(self.X)[keep], long(self.share)[keep]
        # features far from zero cost digits in long double too: measured from here, differences are exact
        self.centre = long((self.share @ self.X / self.share.sum()).astype(np.float64))
        y = np.asarray(self.y)[keep]
        self.y = y if y.dtype.kind == "i" else long(y)

    def objective(self, coef: Any, intercept: Any) -> Any:
        """In long double at coef (K, p) and intercept (K,); infinite at weights that are not allowed."""
        W, b = long(coef).reshape(self.outputs, -1), long(intercept).reshape(self.outputs)
        with np.errstate(over="ignore", invalid="ignore"):
            z = (self.X - self.centre) @ W.T + (W @ self.centre + b)
            value = self.share @ self.loss.value(self.y, z) + self.penalty(W)
            value += LONG(self.ties[0]) * np.sum(np.abs(b)) + LONG(self.ties[1]) / 2 * np.sum(b * b)
            value += LONG(self.linear) * np.sum(b)
        if self.positive and np.any(W < 0):
            return LONG(np.inf)
        return value if np.isfinite(value) else LONG(np.inf)

    def penalty(self, W: Any) -> Any:
        value = LONG(self.l2) / 2 * np.sum(W * W)
        if self.multi_task:
            return value + LONG(self.l1) * np.sum(np.sqrt(np.sum(W * W, axis=0)))
        value += LONG(self.l1) * np.sum(np.abs(W))
        for factor, members in self.groups:
            value += LONG(factor) * np.sum(np.sqrt(np.sum(W[:, members] ** 2, axis=1)))
        return value

    def null(self) -> float:
        """The objective at zero weights and the best of some intercepts, as a scale."""
        zero = np.zeros((self.outputs, self.X.shape[1]))
        return float(self.objective(zero, np.zeros(self.outputs)))


class Scaled:
    """The problem in features of mean zero and unit size: x.w + b = a.v, a = [(x - m) / s, 1], v = [w s, b + m.w]."""

    def __init__(self, problem: Problem) -> None:
        X = problem.X
        n, p = X.shape
        total = problem.share.sum()
        self.problem = problem
        free = problem.intercept and problem.ties == (0.0, 0.0) and problem.linear == 0.0
        self.centre = problem.share @ X / total if free else np.zeros(p, LONG)
        about = X - self.centre
        constant = np.all(X[:1] == X, axis=0)
        if free:
            about[:, constant] = 0
        size = np.sqrt(problem.share @ (about * about) / total)
        self.size = np.where(size > 0, size, 1)
        self.A = about / self.size
        if problem.intercept:
            self.A = np.column_stack([self.A, np.ones(n, LONG)])
        self.d = self.A.shape[1]
        K = problem.outputs
        # penalties by entry of V (K, d), in its units
        self.l1, self.l2, self.linear = (np.zeros((K, self.d), LONG) for _ in range(3))
        self.l1[:, :p] = 0 if problem.multi_task else LONG(problem.l1) / self.size
        self.l2[:, :p] = LONG(problem.l2) / self.size**2
        if problem.intercept:
            self.l1[:, p:], self.l2[:, p:] = LONG(problem.ties[0]), LONG(problem.ties[1])
            self.linear[:, p:] = LONG(problem.linear)
        # norms of several entries: the factor, which entries of the flat V, and their units
        self.norms = []
        if problem.multi_task and problem.l1 > 0:
            self.norms = [(LONG(problem.l1), np.arange(K) * self.d + j) for j in range(p)]
        for factor, members in problem.groups:
            self.norms += [(LONG(factor), k * self.d + np.asarray(members)) for k in range(K)]
        self.units = np.tile(np.append(1 / self.size, np.ones(self.d - p, LONG)), K)

    def inward(self, coef: Any, intercept: Any) -> Any:
        W, b = long(coef).reshape(self.problem.outputs, -1), long(intercept).reshape(-1)
        V = W * self.size
        return np.column_stack([V, b + W @ self.centre]) if self.problem.intercept else V

    def outward(self, V: Any) -> tuple[Any, Any]:
        p = self.problem.X.shape[1]
        W = V[:, :p] / self.size
        b = V[:, p] - W @ self.centre if self.problem.intercept else np.zeros(len(V), LONG)
        return W, b

    def value(self, V: Any) -> Any:
        """The objective of the problem, at these weights to long double."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.problem.share @ self.problem.loss.value(self.problem.y, self.A @ V.T)
            value += np.sum(self.l1 * np.abs(V)) + np.sum(self.l2 * V * V) / 2 + np.sum(self.linear * V)
            flat = (V.ravel() * self.units) if self.norms else None
            for factor, members in self.norms:
                value += factor * np.sqrt(np.sum(flat[members] ** 2))
        p = self.problem.X.shape[1]
        if self.problem.positive and np.any(V[:, :p] < 0):
            return LONG(np.inf)
        return value if np.isfinite(value) else LONG(np.inf)


@dataclass
class Best:
    """The smallest objective found, and where; `lower` is the largest lower bound that a certificate has stated."""

    value: Any
    coef: Any
    intercept: Any
    scale: Any = None
    lower: float = -np.inf

    def distance(self, l2: float) -> float:
        """How far the best weights can be from `coef`, if the stated lower bounds are true: l2 is strong convexity."""
        slack = max(float(self.value) - self.lower, 0.0) + 1e-16 * max(abs(float(self.value)), 1e-300)
        return float(np.sqrt(2.0 * slack / l2)) if l2 > 0 else np.inf


def solve(problem: Problem, starts: list[tuple[Any, Any]] | None = None) -> Best:
    """The best objective known of a problem; `starts` are other candidates, polished like our own."""
    scaled = Scaled(problem)
    begin = [scaled.inward(*start) for start in starts or []]
    begin = [V for V in begin if np.all(np.isfinite(V.astype(np.float64)))]
    zero = np.zeros((problem.outputs, scaled.d), LONG)
    with np.errstate(all="ignore"):
        if isinstance(problem.loss, Piecewise):
            result = _piecewise(scaled, [zero, *begin])
        elif isinstance(problem.loss, CrammerSinger):
            result = _crammer_singer(scaled, [zero, *begin])
        else:
            candidates = [_smooth(scaled, zero)]
            if begin:
                candidates.append(_smooth(scaled, min(begin, key=scaled.value)))
            result = min(candidates, key=scaled.value)
    coef, intercept = scaled.outward(result)
    return Best(scaled.value(result), coef, intercept)


def _solve_linear(M: Any, right: Any, rounds: int = 3) -> Any:
    """The shortest solution of a symmetric system, refined in long double."""
    size = np.sqrt(np.maximum(np.abs(np.diag(M)), np.abs(M).max(axis=0)))
    size = np.where(size > 0, size, 1)
    scaled = (M / size / size[:, None]).astype(np.float64)
    inverse = np.linalg.pinv(scaled, rcond=1e-14, hermitian=True)
    x = np.zeros_like(right)
    for _ in range(rounds):
        left = right - M @ x
        x = x + long(inverse @ (left / size).astype(np.float64)) / size
    return x


# --------------------------------------------------------------------------------------------------------------- smooth


def _smooth(scaled: Scaled, V: Any, most: int = 60) -> Any:
    """Proximal gradient steps for the manifold, and Newton steps on it, all of them descending."""
    step, value, idle = LONG(1), scaled.value(V), 0
    if not np.isfinite(value):
        V = np.zeros_like(V)
        value = scaled.value(V)
    for _ in range(most):
        before = value
        V, value, step = _proximal(scaled, V, value, step)
        V, value = _newton(scaled, V, value)
        idle = idle + 1 if before - value <= 4 * LONG(EPS) * np.abs(value) else 0
        if idle >= 2:
            break
    return V


def _derivatives(scaled: Scaled, V: Any) -> tuple[Any, Any]:
    """Gradient (K, d) of the loss and the squares, and their Hessian (Kd, Kd)."""
    problem, A = scaled.problem, scaled.A
    K, d = V.shape
    _, g, h = problem.loss.derivatives(problem.y, A @ V.T)
    gradient = (problem.share[:, None] * g).T @ A + scaled.l2 * V + scaled.linear
    H = np.zeros((K * d, K * d), LONG)
    for k in range(K):
        for m in range(k, K):
            block = (A * (problem.share * h[:, k, m])[:, None]).T @ A
            H[k * d : (k + 1) * d, m * d : (m + 1) * d] = block
            H[m * d : (m + 1) * d, k * d : (k + 1) * d] = block.T
    H[np.arange(K * d), np.arange(K * d)] += scaled.l2.ravel()
    return gradient, H


def _proximal(scaled: Scaled, V: Any, value: Any, step: Any) -> tuple[Any, Any, Any]:
    gradient, _ = _derivatives(scaled, V)
    step = step * 4
    for _ in range(40):
        trial = _prox(scaled, V - step * gradient, step)
        there = scaled.value(trial)
        if there <= value:
            return trial, there, step
        step = step / 4
    return V, value, step


def _prox(scaled: Scaled, V: Any, step: Any) -> Any:
    p = scaled.problem.X.shape[1]
    out = np.sign(V) * np.maximum(np.abs(V) - step * scaled.l1, 0)
    if scaled.problem.positive:
        out[:, :p] = np.maximum(V[:, :p] - step * scaled.l1[:, :p], 0)
    flat = out.ravel()
    for factor, members in scaled.norms:
        # with unequal units this is only a way of finding the groups that are zero: descent is checked by the caller
        unit = scaled.units[members]
        size = np.sqrt(np.sum((flat[members] / unit) ** 2))
        flat[members] = flat[members] * max(LONG(0), 1 - step * factor / size) if size > 0 else 0
    return flat.reshape(V.shape)


def _newton(scaled: Scaled, V: Any, value: Any) -> tuple[Any, Any]:
    """One Newton step on the entries that are not zero, or not penalised, with their signs kept; descent is checked."""
    gradient, H = _derivatives(scaled, V)
    flat, g = V.ravel().copy(), gradient.ravel().copy()
    p, l1 = scaled.problem.X.shape[1], scaled.l1.ravel()
    kink = l1 > 0
    if scaled.problem.positive:
        kink = kink | (np.arange(len(flat)) % scaled.d < p)
    free = ~kink | (flat != 0)
    g += l1 * np.sign(flat)
    for factor, members in scaled.norms:
        unit = scaled.units[members]
        inner = flat[members] * unit
        size = np.sqrt(np.sum(inner * inner))
        if size == 0:
            free[members] = False
            continue
        g[members] += factor * inner * unit / size
        bend = np.eye(len(members), dtype=LONG) - np.outer(inner, inner) / size**2
        H[np.ix_(members, members)] += factor * bend * np.outer(unit, unit) / size
    index = np.flatnonzero(free)
    if not len(index):
        return V, value
    side = np.sign(flat)
    held = np.where(kink, side, 0)
    part = H[np.ix_(index, index)]
    for ridge in (0.0, 1e-6, 1e-2):
        damped = part + LONG(ridge) * np.diag(np.diag(part))
        direction = np.zeros_like(flat)
        direction[index] = -_solve_linear(damped, g[index])
        t = LONG(1)
        for _ in range(12):
            trial = flat + t * direction
            trial = np.where((held != 0) & (np.sign(trial) != held), 0, trial)
            there = scaled.value(trial.reshape(V.shape))
            if there < value:
                return trial.reshape(V.shape), there
            t = t / 3
    return V, value


# ----------------------------------------------------------------------------------------------------- piecewise linear


def _piecewise(scaled: Scaled, starts: list[Any]) -> Any:
    """min up.(at - Bv)_+ + down.(Bv - at)_+ + v'Dv/2 + l.v; rows of B are pieces of the loss and absolute values."""
    problem = scaled.problem
    at, up, down = problem.loss.pieces(problem.y)
    B, c = [], problem.share
    ends, ups, downs = [], [], []
    for k in range(at.shape[1]):
        B.append(scaled.A)
        ends.append(at[:, k])
        ups.append(c * up[:, k])
        downs.append(c * down[:, k])
    l1 = scaled.l1[0]
    if np.any(l1 > 0):
        B.append(np.eye(scaled.d, dtype=LONG)[l1 > 0])
        ends.append(np.zeros(int(np.sum(l1 > 0)), LONG))
        ups.append(l1[l1 > 0])
        downs.append(l1[l1 > 0])
    B, ends, ups, downs = np.concatenate(B), np.concatenate(ends), np.concatenate(ups), np.concatenate(downs)
    used = (ups > 0) | (downs > 0)
    rows = (B[used], ends[used], ups[used], downs[used], scaled.l2[0], scaled.linear[0])
    best = min(starts, key=scaled.value)
    value = scaled.value(best)
    candidates = list(_interior(*rows))
    if not np.any(scaled.l2 > 0):
        candidates += list(_linear_programme(*rows))
    candidates += [(best[0], None)] if len(starts) > 1 else []
    for v, u in candidates:
        for trial in _active_set(rows, v, u):
            there = scaled.value(trial[None])
            if there < value:
                best, value = trial[None], there
    return best


def _interior(B: Any, at: Any, up: Any, down: Any, D: Any, linear: Any) -> Any:
    """A primal-dual interior point method in long double, in units of the ends; its last point."""
    unit = np.max(np.abs(at)) or LONG(1)
    level = np.max(np.maximum(up, down))
    at, up, down, D, linear = at / unit, up / level, down / level, D * unit / level, linear / level
    m, d = B.shape
    v, u = np.zeros(d, LONG), (up - down) / 2
    r = at - B @ v
    s, t = np.maximum(r, 0) + 1.0, np.maximum(-r, 0) + 1.0
    result = None
    for _ in range(80):
        high, low = up - u, u + down
        mu = (s @ high + t @ low) / (2 * m)
        if not mu > 1e-20 * (up + down).mean():
            break
        r1, r2 = at - B @ v - s + t, B.T @ u - D * v - linear
        q = s / high + t / low
        M = (B.T / q) @ B
        M[np.arange(d), np.arange(d)] += D + LONG(EPS) * np.trace(M) / d
        factor = _cholesky(M)
        if factor is None:
            break
        best = None
        for centring in (0.0, None):
            if centring is None:
                assert best is not None
                ds, dt, du, _, reach = best
                after = ((s + reach * ds) @ (high - reach * du) + (t + reach * dt) @ (low + reach * du)) / (2 * m)
                target = mu * min(max((after / mu) ** 3, LONG(1e-8)), LONG(0.5))
                r3, r4 = target - s * high + ds * du, target - t * low - dt * du
            else:
                r3, r4 = -s * high, -t * low
            right = (r1 - r3 / high + r4 / low) / q
            dv = _solve_cholesky(factor, r2 + B.T @ right)
            du = right - (B @ dv) / q
            ds, dt = (r3 + s * du) / high, (r4 - t * du) / low
            reach = LONG(min(1.0, 0.995 * min(_room(s, ds), _room(t, dt), _room(high, -du), _room(low, du))))
            best = (ds, dt, du, dv, reach)
        assert best is not None
        ds, dt, du, dv, reach = best
        if not np.all(np.isfinite(dv)):
            break
        s, t, u, v = s + reach * ds, t + reach * dt, u + reach * du, v + reach * dv
        result = v, u
    if result is not None:
        yield result[0] * unit, result[1] * level


def _room(x: Any, dx: Any) -> float:
    decreasing = dx < 0
    return float(np.min(-x[decreasing] / dx[decreasing])) if np.any(decreasing) else 1e300


def _linear_programme(B: Any, at: Any, up: Any, down: Any, D: Any, linear: Any) -> Any:
    m, d = B.shape
    unit, level = float(np.max(np.abs(at)) or 1.0), float(np.max(np.maximum(up, down)))
    cost = np.concatenate([linear / level, up / level, down / level]).astype(np.float64)
    equal = np.hstack([B.astype(np.float64), np.eye(m), -np.eye(m)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * m)
    result = linprog(cost, A_eq=equal, b_eq=(at / unit).astype(np.float64), bounds=bounds, method="highs")
    if result.x is not None:
        yield long(result.x[:d]) * unit, None


def _active_set(rows: tuple[Any, ...], v: Any, u: Any) -> Any:
    """Points that solve the problem exactly on the pieces near a given one: kinks that are met hold as equations."""
    B, at, up, down, D, linear = rows
    yield v
    width = up + down
    for tol in (1e-3, 1e-5, 1e-7, 1e-9):
        point = v
        r = at - B @ point
        scale = np.abs(at) + np.abs(B) @ np.abs(point)
        active = np.abs(r) <= tol * np.where(scale > 0, scale, 1)
        if u is not None:
            active &= np.minimum(up - u, u + down) > 1e-9 * width
        for _ in range(4):
            side = np.where(r > 0, up, -down)
            E = np.flatnonzero(active)
            d = len(point)
            M = np.zeros((d + len(E), d + len(E)), LONG)
            M[np.arange(d), np.arange(d)] = D
            M[:d, d:], M[d:, :d] = -B[E].T, -B[E]
            right = np.concatenate([side[~active] @ B[~active] - linear, -at[E]])
            # what the equations leave open stays as it is
            here = np.concatenate([point, np.zeros(len(E), LONG)])
            solution = here + _solve_linear(M, right - M @ here)
            point = solution[:d]
            yield point
            dual = solution[d:]
            outside = (dual > up[E] * (1 + 1e-9)) | (dual < -down[E] * (1 + 1e-9))
            r = at - B @ point
            scale = np.abs(at) + np.abs(B) @ np.abs(point)
            crossed = ~active & (np.sign(r) != np.sign(side)) & (np.abs(r) > 1e-15 * scale)
            if not np.any(outside) and not np.any(crossed):
                break
            active[E[outside]] = False
            active |= crossed
            r = np.where(np.isin(np.arange(len(r)), E[outside]), np.where(_at(dual, E, len(r)) > 0, 1, -1), r)


def _at(values: Any, index: Any, n: int) -> Any:
    out = np.zeros(n, LONG)
    out[index] = values
    return out


# ------------------------------------------------------------------------------------------------------- Crammer-Singer


def _crammer_singer(scaled: Scaled, starts: list[Any]) -> Any:
    """A quadratic programme in V and a slack of each sample: x'Qx/2 + c.x, Gx <= h, by interior points."""
    problem, A = scaled.problem, scaled.A
    n, d = A.shape
    K, y = problem.outputs, problem.y
    size = K * d
    G = np.zeros((n * K, size + n), LONG)
    h = np.zeros(n * K, LONG)
    for k in range(K):
        rows = np.arange(n) * K + k
        G[rows, size + np.arange(n)] = -1
        other = np.flatnonzero(y != k)
        G[rows[other], k * d : (k + 1) * d] = A[other]
        for i in other:
            G[rows[i], y[i] * d : (y[i] + 1) * d] -= A[i]
        h[rows[other]] = -1
    Q = np.concatenate([scaled.l2.ravel(), np.zeros(n, LONG)])
    c = np.concatenate([np.zeros(size, LONG), problem.share])
    best = min(starts, key=scaled.value)
    value = scaled.value(best)
    for x in _programme(Q, c, G, h):
        trial = x[:size].reshape(K, d)
        there = scaled.value(trial)
        if there < value:
            best, value = trial, there
    return best


def _programme(Q: Any, c: Any, G: Any, h: Any) -> Any:
    """Mehrotra's predictor-corrector method in long double, then the active constraints as equations."""
    level = np.max(c)
    q, f = Q / level, c / level
    m, d = G.shape
    x, s, z = np.zeros(d, LONG), np.maximum(h, LONG(1)), np.ones(m, LONG)
    for _ in range(80):
        mu = s @ z / m
        r1, r2 = -(q * x + f + G.T @ z), h - G @ x - s
        if not mu > 1e-19 * (1 + np.abs(f).sum()):
            break
        reach = LONG(0)
        ds = dz = np.zeros(m, LONG)
        dx = np.zeros(d, LONG)
        M = (G.T * (z / s)) @ G
        M[np.arange(d), np.arange(d)] += q + LONG(EPS) * np.trace(M) / d
        factor = _cholesky(M)
        if factor is None:
            break
        for stage in range(2):
            if stage == 0:
                r3 = -s * z
            else:
                after = (s + reach * ds) @ (z + reach * dz) / m
                r3 = mu * min(max((after / mu) ** 3, LONG(1e-8)), LONG(0.5)) - s * z - ds * dz
            # s dz + z ds = r3, G dx + ds = r2, q dx + G' dz = r1
            dx = _solve_cholesky(factor, r1 - G.T @ ((r3 - z * r2) / s))
            ds = r2 - G @ dx
            dz = (r3 - z * ds) / s
            reach = LONG(min(1.0, 0.995 * min(_room(s, ds), _room(z, dz))))
        if not np.all(np.isfinite(dx)):
            break
        x, s, z = x + reach * dx, s + reach * ds, z + reach * dz
    yield x
    for cut in (1.0, 1e-3, 1e3):
        E = np.flatnonzero(z > cut * s)
        M = np.zeros((d + len(E), d + len(E)), LONG)
        M[np.arange(d), np.arange(d)] = q
        M[:d, d:], M[d:, :d] = G[E].T, G[E]
        here = np.concatenate([x, z[E]])
        right = np.concatenate([-f, h[E]])
        solution = here + _solve_linear(M, right - M @ here)
        yield solution[:d]


def _cholesky(M: Any) -> tuple[Any, Any] | None:
    """L and the scaling s with M = s L L' s in long double (LAPACK has none), or None where M is not positive."""
    s = np.sqrt(np.diag(M))
    if not np.all(s > 0):
        return None
    L = M / s / s[:, None]
    for j in range(len(L)):
        if not L[j, j] > 0:
            return None
        L[j:, j] /= np.sqrt(L[j, j])
        L[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], L[j + 1 :, j])
    return np.tril(L), s


def _solve_cholesky(factor: tuple[Any, Any], right: Any) -> Any:
    L, s = factor
    x = right / s
    for j in range(len(L)):
        x[j] = (x[j] - L[j, :j] @ x[:j]) / L[j, j]
    for j in reversed(range(len(L))):
        x[j] = (x[j] - L[j + 1 :, j] @ x[j + 1 :]) / L[j, j]
    return x / s


# --------------------------------------------------------------------------------------------------- Huber with a scale


@dataclass
class ScaledHuber:
    """sum_i c_i (sigma + sigma H(r_i / sigma)) + l2 / 2 ||w||^2 over w, b and sigma; H(a) = a^2 up to |a| = epsilon,
    and 2 epsilon |a| - epsilon^2 beyond. The shares c_i sum to one.
    """

    X: Any
    y: Any
    share: Any
    epsilon: float
    l2: float
    intercept: bool

    def __post_init__(self) -> None:
        keep = np.asarray(self.share) > 0
        self.X, self.y, self.share = long(self.X)[keep], long(self.y)[keep], long(self.share)[keep]

    def objective(self, coef: Any, intercept: Any, sigma: Any) -> Any:
        w, b, sigma = long(coef).ravel(), long(intercept).ravel()[0], LONG(sigma)
        if not sigma > 0:
            return LONG(np.inf)
        with np.errstate(all="ignore"):
            value = self._loss(self.y - self.X @ w - b, sigma) + LONG(self.l2) / 2 * (w @ w)
        return value if np.isfinite(value) else LONG(np.inf)

    def _loss(self, r: Any, sigma: Any) -> Any:
        size, e = np.abs(r), LONG(self.epsilon)
        inside = size <= e * sigma
        return self.share @ (sigma + np.where(inside, r * r / sigma, 2 * e * size - e * e * sigma))

    def solve(self, starts: list[tuple[Any, Any, Any]]) -> Best:
        outer = Problem(self.X, self.y, self.share, Smooth(square), 1, self.intercept, 0.0, self.l2)
        scaled = Scaled(outer)
        begin = [(scaled.inward(w, b)[0], LONG(s)) for w, b, s in starts if s > 0]
        plain = np.zeros(scaled.d, LONG)
        if self.intercept:
            plain[-1] = self.share @ self.y
        spread = np.sqrt(self.share @ (self.y - (plain[-1] if self.intercept else 0)) ** 2)
        begin.append((plain, spread if spread > 0 else LONG(1)))
        l2, A = scaled.l2[0], scaled.A

        def value(v: Any, s: Any) -> Any:
            return self._loss(self.y - A @ v, s) + np.sum(l2 * v * v) / 2 if s > 0 else LONG(np.inf)

        with np.errstate(all="ignore"):
            ends = [self._descend(A, l2, value, *start) for start in begin if np.isfinite(value(*start))]
        v, s = min(ends, key=lambda end: value(*end))
        coef, intercept = scaled.outward(v[None])
        return Best(value(v, s), coef, intercept, s)

    def _descend(self, A: Any, l2: Any, value: Callable[..., Any], v: Any, s: Any) -> tuple[Any, Any]:
        e, here, idle = LONG(self.epsilon), value(v, s), 0
        for _ in range(100):
            r = self.y - A @ v
            inside = np.abs(r) <= e * s
            c = self.share
            u = np.where(inside, 2 * r / s, 2 * e * np.sign(r))
            g = np.append(l2 * v - (c * u) @ A, c @ np.where(inside, 1 - (r / s) ** 2, 1 - e * e))
            ci = np.where(inside, c, 0)
            bend = np.zeros((len(v) + 1, len(v) + 1), LONG)
            bend[:-1, :-1] = 2 / s * (A * ci[:, None]).T @ A + np.diag(l2)
            cross = 2 / s**2 * (ci * r) @ A
            bend[:-1, -1] = bend[-1, :-1] = cross
            bend[-1, -1] = 2 / s**3 * (ci @ (r * r))
            before = here
            size = np.diag(bend) + LONG(1e-30)
            for ridge in (0.0, 1e-8, 1e-4, 1e-2, 1.0):
                extra = LONG(ridge) * np.append(np.maximum(size[:-1], 1 / s), max(size[-1], 1 / s))
                step = -_solve_linear(bend + np.diag(extra), g)
                t = LONG(1)
                for _ in range(8):
                    there = value(v + t * step[:-1], s + t * step[-1])
                    if there < here:
                        break
                    t = t / 3
                if there < here:
                    v, s, here = v + t * step[:-1], s + t * step[-1], there
                    break
            for factor in (0.5, 2.0):  # the best scale may be at zero
                if value(v, s * LONG(factor)) < here:
                    s, here = s * LONG(factor), value(v, s * LONG(factor))
            idle = idle + 1 if before - here <= 4 * LONG(EPS) * np.abs(here) else 0
            if idle >= 2:
                break
        return v, s


def cosines(X: Any, y: Any, weight: Any, alpha: float, intercept: bool, coef: Any, b: Any) -> tuple[float, float]:
    """The largest cosine of the residual of the penalised system with one of its columns, and the residual's length."""
    keep = np.asarray(weight) > 0
    X, y, weight = long(X)[keep], long(y)[keep], long(weight)[keep]
    w = long(coef)
    mean = weight @ X / weight.sum() if intercept else np.zeros(X.shape[1], LONG)
    about = X - mean
    if intercept:
        about[:, np.all(X[:1] == X, axis=0)] = 0
    root = np.sqrt(weight)
    r = root * (y - X @ w - LONG(b))
    gradient = (root[:, None] * about).T @ r - LONG(alpha) * w
    lengths = np.sqrt(np.sum(weight[:, None] * about**2, axis=0) + LONG(alpha))
    size = np.sqrt(r @ r + LONG(alpha) * (w @ w))
    if not size > 0:
        return 0.0, 0.0
    largest = (
        np.max(np.where(lengths > 0, np.abs(gradient) / np.where(lengths > 0, lengths, 1), 0), initial=LONG(0)) / size
    )
    ones = np.abs(root @ r) / np.sqrt(weight.sum()) / size if intercept else LONG(0)
    return float(max(largest, ones)), float(size)
