"""Stochastic gradients in the space of a kernel (Kivinen, Smola and Williamson 2004, NORMA), batch by batch.

The functional gradient of  1/m sum_B s_i loss(y_i, f(x_i) + b) + strength / 2 ||f||^2  over a batch B of m samples is
1/m sum_B s_i u_i k(x_i, .) + strength f: a step of length eta shrinks all coefficients by 1 - eta strength and
subtracts eta s_i u_i / m from those of the batch. Coefficients are kept up to a factor, so that shrinking costs
nothing. With averaging the result is the mean of the iterates of the second half of the passes (Polyak and Juditsky
1992).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats, Integers, NotFinite
from tenfold.losses.loss import Loss
from tenfold.machine import poll

SMALLEST_FACTOR = 1e-100  # of the coefficients, before these are multiplied by it

Block = Callable[[Integers], Floats]
"""The kernel (m, n) of some samples with all."""


@dataclass(frozen=True)
class Pace:
    """Lengths of steps: "optimal" first / (1 + first strength t), "invscaling" first / sqrt(1 + t), or first."""

    rule: str
    first: float
    strength: float

    def length(self, t: int) -> float:
        if self.rule == "optimal":
            return self.first / (1.0 + self.first * self.strength * t)
        return self.first / np.sqrt(1.0 + t) if self.rule == "invscaling" else self.first


@dataclass
class Descent:
    """Targets y (n, 1), weights s (n, 1) with a mean of one; coefficients c (n, k) are `factor` times `scaled`."""

    loss: Loss
    y: Floats
    s: Floats
    outputs: int
    intercept: bool
    pace: Pace
    block: Block

    def __post_init__(self) -> None:
        self.scaled, self.factor = np.zeros((len(self.y), self.outputs)), 1.0
        self.b, self.t = np.zeros(self.outputs), 0
        self.sums, self.sum_b, self.averaged = np.zeros_like(self.scaled), np.zeros(self.outputs), 0

    def run_pass(self, order: Integers, batch: int, *, average: bool) -> None:
        """One pass over the samples in this order; `average`: its iterates are part of the mean."""
        for start in range(0, len(order), batch):
            poll()
            self._step(order[start : start + batch])
            if average:
                self.sums += self.factor * self.scaled
                self.sum_b += self.b
                self.averaged += 1
        if not (np.isfinite(self.scaled).all() and np.isfinite(self.b).all()):
            raise NotFinite("The steps are too long: coefficients overflow. Lower eta0.")

    def _step(self, some: Integers) -> None:
        length = self.pace.length(self.t)
        self.t += 1
        with np.errstate(over="ignore", invalid="ignore"):
            z = self.factor * (self.block(some) @ self.scaled) + self.b
            u = self.s[some] * self.loss.slope(self.y[some], z) / len(some)
        self.factor *= max(0.0, 1.0 - length * self.pace.strength)
        if self.factor < SMALLEST_FACTOR:
            self.scaled, self.factor = self.factor * self.scaled, 1.0
        np.subtract.at(self.scaled, some, length / self.factor * u)
        if self.intercept:
            self.b = self.b - length * np.sum(u, axis=0)

    @property
    def result(self) -> tuple[Floats, Floats]:
        """Coefficients (n, k) and intercepts (k,): the mean of those that are averaged, or the last."""
        c, b = self.factor * self.scaled, self.b
        if self.averaged:
            c, b = self.sums / self.averaged, self.sum_b / self.averaged
        return c, b - np.mean(b) if self.outputs > 1 else b
