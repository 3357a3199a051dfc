"""Kind stationarity: a multi-layer perceptron, by how much its loss decreases in steps of the judge's own.

From the fitted weights the judge takes `STEPS` steps of L-BFGS on the penalised loss of all samples. The number is the
decrease, relative to the loss of the best constant: what a fit that ended too early has left. The norm of the gradient
would not do: minima of networks with kinks have none, and where units are rescaled it changes while the network does
not; it is told for smooth hidden units only. A network whose loss is not below that of the best constant has number
one. Nothing here says that no other start leads lower.
"""

from collections import deque

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_array_api, is_sparse, like, namespace, on_host
from tenfold.data import Block, Rows
from tenfold.judge.certificate import VARIANTS, Certificate
from tenfold.judge.objective_points import require_finite
from tenfold.objectives.network import Network, slopes_of
from tenfold.objectives.network_loss import NetworkLoss, Sums
from tenfold.objectives.objective import Reading, is_finite

STEPS = 50
MEMORY = 12  # pairs of steps and changes of the gradient
TRIALS = 25  # lengths along a direction at most

DEAD = 1e-12  # a unit whose slope is smaller on every sample passes nothing back


def judge_network(
    network: Network, rows: Rows, alpha: float, x: Floats, *, status: str = "judged", tol: float | None = None
) -> Certificate:
    """Judge the vector x (q,) of weights for rows with targets (n, k) of positive weight and the penalty alpha."""
    tol = VARIANTS["network"].tol if tol is None else tol
    if (invalid := require_finite("stationarity", (x,), tol)) is not None:
        return invalid
    objective = NetworkLoss(network, rows, alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        here = objective.read(x)
        constant, size = _constant_loss(network, rows)
        # without anything to explain, the loss of a constant that is off by the size of the targets
        flat = constant <= 64.0 * EPS * size
        scale = size if flat else constant
        if not is_finite(here):
            return Certificate("stationarity", np.inf, 1.0, tol, 0.0, np.inf, status=status, _variant="network")
        decrease = here.value - _descend(objective, x, here)
        dead, hidden = _count_dead(network, rows, x)
    floor = 8.0 * EPS * max(1.0, here.value / scale)
    value = max(decrease / scale, floor)
    notes = []
    if not flat and here.value >= constant:
        value = max(value, 1.0)
        notes.append(f"The loss {here.value:.3g} is no better than that of the best constant, {constant:.3g}.")
    if hidden:
        notes.append(f"{dead} of {hidden} hidden units are dead: their slope is zero on every sample.")
    if network.hidden != "relu":
        notes.append(f"The largest derivative by a weight is {float(np.max(np.abs(here.gradient))):.2g}.")
    notes.append("That is no proof of a global optimum.")
    return Certificate(
        "stationarity",
        value,
        1.0,
        tol,
        floor,
        here.value,
        status=status,
        parts=(value,),
        note=" ".join(notes),
        _variant="network",
    )


def _constant_loss(network: Network, rows: Rows) -> tuple[float, float]:
    """The loss of the best constant prediction, and the loss of a prediction that is off by the size of the targets."""

    def first(block: Block) -> Sums:
        y, weight = _targets(block)
        return Sums((float(np.sum(weight)), weight @ y, weight @ _x_log_x(y)))

    total, sums, entropies = rows.fold(first).parts
    mean = sums / total
    if network.output == "exp":
        return float(np.sum(entropies / total - _x_log_x(mean))), float(np.sum(mean)) or 1.0
    if network.output in ("logistic", "softmax"):
        rest = _x_log_x(1.0 - mean) if network.output == "logistic" else np.zeros(1)
        return float(-np.sum(_x_log_x(mean)) - np.sum(rest)), 1.0

    def second(block: Block) -> Sums:
        y, weight = _targets(block)
        return Sums((float(weight @ np.sum((y - mean) ** 2, axis=1)), float(weight @ np.sum(y * y, axis=1))))

    about, squares = rows.fold(second).parts
    return 0.5 * about / total, 0.5 * squares / total or 1.0


def _targets(block: Block) -> tuple[Floats, Floats]:
    y = np.asarray(on_host(block.y), dtype=np.float64)
    weight = np.ones(len(y)) if block.weight is None else np.asarray(on_host(block.weight), dtype=np.float64)
    return y, weight


def _x_log_x(a: Floats) -> Floats:
    return np.where(a > 0.0, a * np.log(np.where(a > 0.0, a, 1.0)), 0.0)


def _descend(objective: NetworkLoss, x: Floats, here: Reading) -> float:
    """The lowest value that `STEPS` steps of L-BFGS from x reach."""
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    for _ in range(STEPS):
        d = _direction(here.gradient, pairs)
        slope = float(here.gradient @ d)
        if not slope < 0.0:
            break
        length = 1.0 if pairs else min(1.0, 1.0 / float(np.linalg.norm(here.gradient)))
        step = _search(objective, x, here, d, slope, length)
        if step is None:
            if not pairs:
                break
            pairs.clear()
            continue
        length, there = step
        s, y = length * d, there.gradient - here.gradient
        sy = float(s @ y)
        if sy > EPS * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs.append((s, y, sy))
        x, here = x + s, there
    return here.value


def _direction(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Minus the inverse Hessian of the pairs times the gradient."""
    d = -gradient
    factors = []
    for s, y, sy in reversed(pairs):
        factors.append(float(s @ d) / sy)
        d = d - factors[-1] * y
    if pairs:
        _, y, sy = pairs[-1]
        d = d * (sy / float(y @ y))
    for (s, y, sy), factor in zip(pairs, reversed(factors), strict=True):
        d = d + (factor - float(y @ d) / sy) * s
    return d


def _search(
    objective: NetworkLoss, x: Floats, here: Reading, d: Floats, slope: float, length: float
) -> tuple[float, Reading] | None:
    """A length along d with sufficient decrease that is not much too short: weak Wolfe conditions by bisection."""
    low, high, best = 0.0, np.inf, None
    for _ in range(TRIALS):
        there = objective.read(x + length * d)
        if not is_finite(there) or there.value > here.value + 1e-4 * length * slope:
            high = length
        else:
            if best is None or there.value <= best[1].value:
                best = length, there
            if float(there.gradient @ d) >= 0.9 * slope:
                return best
            low = length
        length = 0.5 * (low + high) if np.isfinite(high) else 2.0 * length
        if np.isfinite(high) and best is not None and high - low < 0.1 * high:
            return best
    return best


def _count_dead(network: Network, rows: Rows, x: Floats) -> tuple[int, int]:
    """The number of hidden units whose slope is zero on every sample, and of all."""
    hidden = sum(network.units[1:-1])
    if not hidden:
        return 0, 0

    def lift(block: Block) -> "_Largest":
        X: Array = block.X
        layers = network.split(x)
        if is_array_api(X):
            xp = namespace(X)
            layers = network.split(xp.astype(like(x, X), X.dtype, copy=False))
        elif not is_sparse(X):
            X = X.astype(np.float64, copy=False)
        slopes = slopes_of(network, network.forward(X, layers))
        parts = [on_host(namespace(slope).max(namespace(slope).abs(slope), axis=0)) for slope in slopes]
        return _Largest(np.concatenate(parts).astype(np.float64))

    return int(np.count_nonzero(rows.fold(lift).values <= DEAD)), hidden


class _Largest:
    """The largest slope of each unit, which merges."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def merge(self, other: "_Largest") -> "_Largest":
        return _Largest(np.maximum(self.values, other.values))
