"""Stochastic gradient descent for multi-layer perceptrons, an epoch a step.

Each step takes a batch of samples in a random order, and the mean gradient g of their penalised losses:
momentum  u <- mu u - eta g,  w <- w + u  (with Nesterov's  w <- w + mu u - eta g), or adam (Kingma and Ba 2015).
core/include/tenfold/mlp.hpp has the loops for NumPy arrays; arrays of other libraries take the same steps on their
device. Seeger, section 3.4.1 has momentum with the factor 1 - mu of the gradient.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Array, Floats, Integers, is_array_api, like, namespace, take_rows
from tenfold.data import Block, MemoryRows, Rows
from tenfold.machine import one_blas_thread, poll, spend, threads
from tenfold.objectives.network import Network
from tenfold.objectives.network_loss import Samples
from tenfold.solvers.loop import Step

SLOWEST, SLOWDOWN = 1e-6, 5.0  # "adaptive" divides its rate by SLOWDOWN without progress, down to SLOWEST


@dataclass(frozen=True)
class Rule:
    """The update rule.

    Attributes
    ----------
    adam : whether steps are those of adam, else those of momentum.
    rate, schedule, power_t : the learning rate: "constant", "invscaling" (rate / (samples seen + 1)^power_t), or
        "adaptive".
    first, second, epsilon : mu, or beta_1, beta_2 and epsilon of adam.
    nesterov : whether momentum is Nesterov's.
    mean : whether a step takes 1 - mu of the gradient.
    batch : samples of a step.
    alpha : the penalty.
    """

    adam: bool
    rate: float
    schedule: str = "constant"
    power_t: float = 0.5
    first: float = 0.9
    second: float = 0.999
    epsilon: float = 1e-8
    nesterov: bool = True
    mean: bool = False
    batch: int = 200
    alpha: float = 1e-4

    @property
    def moments(self) -> int:
        """The number of moments of each weight."""
        return 2 if self.adam else 1


class Progress(NamedTuple):
    """What is carried from one call to the next: moments, steps and samples so far, the rate, and what was best."""

    moments: Array
    steps: float = 0.0
    seen: int = 0
    rate: float = 0.0
    best: float = np.inf
    idle: int = 0


@dataclass(frozen=True)
class Patience:
    """A fit ends when for more than `epochs` epochs in a row neither the loss nor, where there is one, the `score` of
    the weights on validation samples was better than the best before by `tol`.
    """

    tol: float = 1e-4
    epochs: float = 10
    score: Callable[[Array], float] | None = None


class Epochs:
    """Epochs over samples; after each, `params` are the weights, and `progress` what another call goes on with."""

    def __init__(
        self,
        network: Network,
        rows: Rows,
        rule: Rule,
        start: Array,
        progress: Progress,
        patience: Patience,
        random: np.random.RandomState | None,
        kept: Integers | None = None,
    ) -> None:
        """`random` shuffles, None keeps the order; `kept` are the samples that are learned from, None all."""
        self.network, self.rows, self.rule, self.patience, self.random = network, rows, rule, patience, random
        self.progress, self.diverged = progress, False
        self.losses: list[float] = []
        self.scores: list[float] = []
        self.best_params: Array | None = None
        if patience.score is not None and np.isfinite(progress.best):  # the weights of a warm start are the best so far
            self.best_params = namespace(start).asarray(start, copy=True)
        self.order = kept
        self._count = rows.shape[0] if kept is None else len(kept)
        xp, zero = namespace(start), namespace(start).zeros_like(start)
        self._state = xp.concat([start, zero, progress.moments], axis=0)
        in_memory = isinstance(rows, MemoryRows)
        self._on_device = is_array_api(start)
        self._compiled: Any = None if self._on_device else network.compile(start.dtype)
        self._samples = Samples(rows.whole(), start.dtype) if in_memory and not self._on_device else None
        self._block = rows.whole() if in_memory and self._on_device else None

    @property
    def params(self) -> Array:
        """A copy of the weights."""
        return namespace(self._state).asarray(self._state[: self.network.size], copy=True)

    def __iter__(self) -> Iterator[Step]:
        """The start, then a step an epoch; its measure is zero when the fit has ended."""
        yield Step(self.params, np.nan, np.inf)
        while True:
            steps = self.progress.steps
            with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
                loss, steps = self._epoch(steps)
            params, xp = self.params, namespace(self._state)
            if not np.isfinite(loss) or not bool(xp.all(xp.isfinite(params))):
                self.diverged = True
                return
            self.losses.append(loss)
            seen = self.progress.seen + self._count
            moments = self._state[2 * self.network.size :]
            self.progress = self.progress._replace(moments=moments, steps=steps, seen=seen)
            ended = self._note(loss, params)
            yield Step(params, loss, 0.0 if ended else np.inf)
            if ended:
                return

    def _note(self, loss: float, params: Array) -> bool:
        """Whether the fit ends after an epoch of this loss; sets the next rate."""
        tol, score, now = self.patience.tol, self.patience.score, self.progress
        if score is None:
            idle = now.idle + 1 if loss > now.best - tol else 0
            best = min(now.best, loss)
        else:
            self.scores.append(score(params))
            cost = -self.scores[-1]
            idle = now.idle + 1 if cost > now.best - tol else 0
            if cost < now.best:
                self.best_params = params
            best = min(now.best, cost)
        rate, ended = now.rate, False
        if self.rule.schedule == "invscaling":
            rate = self.rule.rate / (now.seen + 1) ** self.rule.power_t
        if idle > self.patience.epochs:
            ended = self.rule.schedule != "adaptive" or rate <= SLOWEST
            if not ended:
                rate, idle = rate / SLOWDOWN, 0
        self.progress = now._replace(best=best, idle=idle, rate=rate)
        return ended

    def _epoch(self, steps: float) -> tuple[float, float]:
        """The mean loss, and the number of steps so far."""
        if self._samples is not None or self._block is not None:
            self._shuffle()
            if self._block is not None:
                return self._epoch_on_device(self._block, self.order, steps)
            assert self._samples is not None
            return self._learn(self._samples, self.order, steps)

        def learn(state: tuple[float, float], block: Block) -> tuple[float, float]:
            total, before = state
            count = int(block.y.shape[0])
            kept = np.arange(count) if block.weight is None else np.flatnonzero(block.weight)
            if not len(kept):
                return state
            order = kept if self.random is None else self.random.permutation(kept)
            loss, after = self._learn(Samples(block, self._state.dtype), order, before)
            return total + count * loss, after

        total, steps = self.rows.scan(learn, (0.0, steps))
        return total / self._count, steps

    def _shuffle(self) -> None:
        """As scikit-learn does with the same seed."""
        if self.random is not None:
            index = np.arange(self._count)
            self.random.shuffle(index)
            self.order = index if self.order is None else self.order[index]

    def _learn(self, samples: Samples, order: Integers | None, steps: float) -> tuple[float, float]:
        rule, count = self.rule, samples.y.shape[0] if order is None else len(order)
        share = 1.0 - rule.first if rule.mean and not rule.adam else 1.0
        numbers = (rule.adam, rule.nesterov, share * self.progress.rate, rule.first, rule.second, rule.epsilon)
        spend(3.0 * count * self.network.size)
        learn = self._compiled.epoch_csr if samples.sparse else self._compiled.epoch
        weight, batch = samples.weight, min(rule.batch, count)
        result = learn(
            *samples.storage, self._state, samples.y, weight, order, batch, rule.alpha, numbers, steps, threads()
        )
        return float(result[0]), float(result[1])

    def _epoch_on_device(self, block: Block, order: Integers | None, steps: float) -> tuple[float, float]:
        """The same steps in the Array API; the losses are fetched once."""
        rule, network, xp = self.rule, self.network, namespace(block.X)
        dtype, size = block.X.dtype, network.size
        decay = like(network.decay(np.ones(size)), block.X)
        decay = xp.astype(decay, dtype, copy=False)
        w, parts = self._state[:size], [self._state[(2 + k) * size :][:size] for k in range(rule.moments)]
        index = np.arange(self._count) if order is None else order
        losses, shares = [], []
        for begin in range(0, self._count, rule.batch):
            poll()
            rows = index[begin : begin + rule.batch]
            y = xp.astype(take_rows(block.y, rows), dtype, copy=False)
            weight = None if block.weight is None else xp.astype(take_rows(block.weight, rows), dtype, copy=False)
            total = float(len(rows)) if weight is None else xp.sum(weight)
            sums = network.derivatives(take_rows(block.X, rows), y, weight, network.split(w))
            penalty = rule.alpha * decay * w
            losses.append((sums.value + 0.5 * xp.sum(penalty * w)) / total)
            shares.append(len(rows) / self._count)
            steps += 1.0
            w, parts = self._move(w, parts, (network.join(sums.layers) + penalty) / total, steps)
        self._state = xp.concat([w, xp.zeros_like(w), *parts], axis=0)
        mean = sum(share * loss for share, loss in zip(shares, losses, strict=True))
        return float(mean), steps

    def _move(self, w: Array, parts: list[Array], g: Array, steps: float) -> tuple[Array, list[Array]]:
        """The weights and moments after a step with gradient g."""
        rule, rate, xp = self.rule, self.progress.rate, namespace(w)
        if rule.adam:
            m = rule.first * parts[0] + (1.0 - rule.first) * g
            v = rule.second * parts[1] + (1.0 - rule.second) * g * g
            rate *= float(np.sqrt(1.0 - rule.second**steps) / (1.0 - rule.first**steps))
            return w - rate * m / (xp.sqrt(v) + rule.epsilon), [m, v]
        change = rate * (1.0 - rule.first if rule.mean else 1.0) * g
        u = rule.first * parts[0] - change
        return w + (rule.first * u - change if rule.nesterov else u), [u]


def first_progress(rule: Rule, start: Array) -> Progress:
    """That of a fit that begins at these weights."""
    xp = namespace(start)
    moments = xp.concat([xp.zeros_like(start)] * rule.moments, axis=0)
    return Progress(moments, rate=rule.rate)


def draw_start(network: Network, random: np.random.RandomState, init: str) -> Floats:
    """Random weights: uniform as scikit-learn draws them ("glorot"), or normal with variance 1 / (inputs + 1) of the
    weights and biases of a unit ("fan_in"; Seeger, section 3.4.1).
    """
    parts = []
    for _, _, (inputs, outputs) in network.places:
        if init == "fan_in":
            scale = 1.0 / np.sqrt(inputs + 1.0)
            parts += [scale * random.standard_normal(inputs * outputs), scale * random.standard_normal(outputs)]
            continue
        bound = np.sqrt((2.0 if network.hidden == "logistic" else 6.0) / (inputs + outputs))
        parts += [random.uniform(-bound, bound, inputs * outputs), random.uniform(-bound, bound, outputs)]
    return np.concatenate(parts)
