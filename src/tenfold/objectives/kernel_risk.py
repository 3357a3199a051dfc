"""Regularised risks of functions in the space of a kernel, by their values at the samples.

    P(f, b) = sum_i s_i loss(y_i, f(x_i) + b) + strength / 2 sum_k ||f_k||^2,    s_i at least zero, of sum one,

for one raw prediction a sample, or for several that have one loss together; b = 0 without an intercept. By the
representer theorem the best f is sum_j c_j k(x_j, .). With z = K c + b, u the slopes of the loss at z, and D_i = s_i
times its second derivatives there, the gradient in the space of functions has the coefficients strength c + s u, and
the Hessian is strength + D K, whatever the condition of K.

D_i = R_i R_i' has a root of a product with vectors: R_i = s_i^1/2 curvature^1/2, and for the softmax
s_i^1/2 (diag(p^1/2) - p p^1/2'). What the intercept takes from D is a projection of the range of R.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from tenfold.arrays import EPS, Array, Floats
from tenfold.linear_algebra import compute_weighted_gram
from tenfold.losses.classification import Softmax
from tenfold.losses.loss import Loss

STEPS = 100  # of a bracket, which halves from the first twenty on
BALANCED = 4.0 * EPS  # of the sum of the sizes of slopes: a smaller sum of slopes is rounding
SINGULAR = 1e-12  # of the largest eigenvalue of the curvature in the intercepts


@dataclass(frozen=True)
class KernelRisk:
    """The samples of positive weight: targets y (n, 1), s (n, 1), and the number of raw predictions of each."""

    loss: Loss
    y: Floats
    s: Floats
    strength: float
    intercept: bool
    outputs: int = 1

    def mean_loss(self, z: Floats) -> float:
        return float(np.sum(self.s * self.loss.value(self.y, z)))

    def slopes(self, z: Floats) -> Floats:
        """u (n, k)."""
        return self.loss.slope(self.y, z)

    def sum_slopes(self, z: Floats) -> Floats:
        """sum_i s_i u_i, (k,)."""
        return np.sum(self.s * self.slopes(z), axis=0)

    def curvature(self, z: Floats) -> "Curvature":
        """The second derivatives at z, of a loss without any the curvature of parabolas above it."""
        if self.loss.multi_output:
            p = cast(Softmax, self.loss).probabilities(z)
            return SoftmaxCurvature(self.s, p, self.intercept)
        return Curvature(self.s * self.loss.curvature(self.y, z), self.intercept)

    def best_intercept(self, f: Floats, start: Floats) -> Floats:
        """The intercepts (k,) that minimise the mean loss of f + b; zero without an intercept."""
        if not self.intercept:
            return np.zeros(self.outputs)
        if self.loss.multi_output:
            return self._balance_classes(f, start)
        return np.array([self._balance(f, float(start[0]))])

    def _balance_classes(self, f: Floats, start: Floats) -> Floats:
        """Newton's method in the intercepts, halved where the loss would increase; ends where slopes that are rounding
        decrease no further.
        """
        b, here, best, least = start, self.mean_loss(f + start), start, np.inf
        for _ in range(STEPS):
            u = self.slopes(f + b)
            t, size = np.sum(self.s * u, axis=0), np.sum(self.s * np.abs(u), axis=0)
            unbalanced = float(np.max(np.abs(t) / np.where(size > 0.0, size, 1.0)))
            if not unbalanced < least:
                break
            best, least = b, unbalanced
            if unbalanced <= BALANCED:
                break
            step, length = -self.curvature(f + b).solve_intercepts(t), 1.0
            there = self.mean_loss(f + b + step)
            while not there <= here + BALANCED * abs(here) and length > 1e-8:
                length *= 0.5
                there = self.mean_loss(f + b + length * step)
            least = least if there >= here else np.inf
            b, here = b + length * step, there
        return best - np.mean(best)

    def _balance(self, f: Floats, start: float) -> float:
        """The intercept of one raw prediction: Newton's method in a bracket, with bisection where it leaves the bracket
        or crawls; of a loss with kinks the middle of the last bracket. The slopes increase with b.
        """
        low, high = -np.inf, np.inf
        step = float(np.sum(self.s * np.abs(f - self.y))) + 1.0
        b, best, least = start, start, np.inf
        for count in range(STEPS):
            first, second, size = self._intercept_derivatives(f + b)
            if abs(first) < least:
                best, least = b, abs(first)
            low, high = (b, high) if first < 0.0 else (low, b) if first > 0.0 else (b, b)
            inside = bool(np.isfinite(high - low))
            if abs(first) <= BALANCED * size or (inside and high - low <= 2.0 * EPS * max(abs(low), abs(high))):
                break
            new = b - first / second if second > 0.0 and not self.loss.nonsmooth else np.nan
            if not low < new < high or (inside and count > 20):
                new = 0.5 * (low + high) if inside else b - float(np.sign(first)) * step
                step *= 2.0
            if new == b:
                break
            b = float(new)
        return 0.5 * (low + high) if self.loss.nonsmooth and np.isfinite(high - low) else best

    def _intercept_derivatives(self, z: Floats) -> tuple[float, float, float]:
        """The first two derivatives of the mean loss in b, and the sum of the sizes of the slopes."""
        with np.errstate(over="ignore", invalid="ignore"):
            u = self.slopes(z)
            curvature = float(np.sum(self.s * self.loss.curvature(self.y, z)))
        return float(np.sum(self.s * u)), curvature, float(np.sum(self.s * np.abs(u)))

    def constant_loss(self) -> tuple[Floats, float]:
        """The best intercepts without a function, and their mean loss: the scale of a gap. Where that is zero, as of
        targets that are all equal, the mean loss at zero, or one.
        """
        zero = np.zeros((len(self.y), self.outputs))
        b = self.best_intercept(zero, np.zeros(self.outputs))
        best, without = self.mean_loss(zero + b), self.mean_loss(zero)
        rounding = 64.0 * EPS * max(without, float(np.sum(self.s * np.abs(self.y))) if self.outputs == 1 else 0.0)
        scale = best if best > rounding else without if without > rounding else 1.0
        return b, scale


class Curvature:
    """D of one raw prediction a sample, d (n, 1), less what the intercept takes from it."""

    def __init__(self, d: Floats, intercept: bool) -> None:
        self.d, self.intercept = np.maximum(d, 0.0), intercept
        self.root = np.sqrt(self.d)
        self.total = float(np.sum(self.d))

    def spread(self, q: Floats) -> Floats:
        """R q (n, k)."""
        return self.root * q

    def gather(self, v: Floats) -> Floats:
        """R' v (n, k)."""
        return self.root * v

    def multiply(self, v: Floats) -> Floats:
        """D v (n, k)."""
        return self.d * v

    def solve_intercepts(self, t: Floats) -> Floats:
        """(1'D 1)^-1 t, (k,); zero where there is no curvature."""
        return t / self.total if self.total > 0.0 else np.zeros_like(t)

    def project(self, q: Floats) -> Floats:
        """q (n, k) without its part in the range of R'1."""
        if not self.intercept:
            return q
        return q - self.gather(np.broadcast_to(self.solve_intercepts(np.sum(self.spread(q), axis=0)), q.shape))

    def diagonal(self) -> Floats:
        """The diagonal (n, k) of R'R."""
        return self.d

    def gram(self, L: Array, inverse: Floats) -> Floats:
        """L'R diag(inverse) R'L of L (n, r); of several predictions (k r, k r), one block for each pair."""
        return compute_weighted_gram(L, (self.d * inverse)[:, 0])


class SoftmaxCurvature(Curvature):
    """The same of the softmax with probabilities p (n, k)."""

    def __init__(self, s: Floats, p: Floats, intercept: bool) -> None:
        self.s, self.p, self.intercept = s, p, intercept
        self.root_s, self.root_p = np.sqrt(s), np.sqrt(p)
        G = np.diag(np.sum(s * p, axis=0)) - (s * p).T @ p
        values, vectors = np.linalg.eigh(G)
        kept = values > SINGULAR * max(float(values[-1]), 0.0)
        self.inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T

    def spread(self, q: Floats) -> Floats:
        w = self.root_p * q
        return self.root_s * (w - self.p * np.sum(w, axis=1, keepdims=True))

    def gather(self, v: Floats) -> Floats:
        return self.root_s * self.root_p * (v - np.sum(self.p * v, axis=1, keepdims=True))

    def multiply(self, v: Floats) -> Floats:
        return self.s * self.p * (v - np.sum(self.p * v, axis=1, keepdims=True))

    def solve_intercepts(self, t: Floats) -> Floats:
        return self.inverse @ t

    def diagonal(self) -> Floats:
        return self.s * self.p * (1.0 - 2.0 * self.p + np.sum(self.p**2, axis=1, keepdims=True))

    def gram(self, L: Array, inverse: Floats) -> Floats:
        r, k = L.shape[1], self.p.shape[1]
        mean = np.sum(self.p * inverse, axis=1)
        G = np.empty((k * r, k * r))
        for i in range(k):
            for j in range(i + 1):
                weight = -self.p[:, i] * self.p[:, j] * (inverse[:, i] + inverse[:, j] - mean)
                weight += (i == j) * self.p[:, i] * inverse[:, i]
                block = compute_weighted_gram(L, self.s[:, 0] * weight)
                G[i * r : (i + 1) * r, j * r : (j + 1) * r] = block
                G[j * r : (j + 1) * r, i * r : (i + 1) * r] = block.T
        return G
