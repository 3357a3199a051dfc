"""Lloyd's algorithm in the feature space of a kernel, and greedy k-means++ there.

With indicators z_ik of clusters, weights w and W_k = sum_i w_i z_ik, the mean of a cluster is m_k = sum_i a_ik
phi(x_i), a_ik = w_i z_ik / W_k, and

    ||phi(x_i) - m_k||^2 = K_ii - 2 (K a)_ik + s_k,      s_k = a_k'K a_k.

A step is the product K a, and each sample goes to the nearest mean. Of a positive semidefinite kernel no step raises
the energy sum_i w_i ||phi(x_i) - m_(z_i)||^2. A cluster without samples takes the sample that is farthest from its
mean.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.solvers.loop import Step
from tenfold.stats.derivatives import Params, forward


def steps(K: Floats, weight: Floats, labels: Integers, k: int, tol: float) -> Iterator[Step]:
    """Steps from labels (n,); the parameters are labels. Converged when none changes, or when the energy decreases
    by at most tol times itself.
    """
    before = np.inf
    rows, diagonal = np.arange(len(K)), np.diag(K)
    while True:
        labels = fill_empty(labels, weight, k, None)
        squares = distances(K, diagonal, weight, labels, k)
        own = squares[rows, labels]
        energy = float(np.sum(weight * own))
        nearest = np.argmin(squares, axis=1)
        nearest = np.where(squares[rows, nearest] < own, nearest, labels)  # ties stay
        nearest = fill_empty(nearest, weight, k, weight * np.min(squares, axis=1))
        stays = np.array_equal(nearest, labels) or before - energy <= tol * energy
        yield Step(labels, energy, 0.0 if stays else np.inf)
        before, labels = energy, nearest


def distances(K: Floats, diagonal: Floats, weight: Floats, labels: Integers, k: int) -> Floats:
    """Squared distances (n, k) from the means."""
    dual = dual_means(weight, labels, k)
    products = np.asarray(forward(K, Params(np.ascontiguousarray(dual.T), np.zeros(k))))
    squares = diagonal[:, None] - 2.0 * products + np.einsum("ik,ik->k", dual, products)
    return np.where(np.any(dual != 0.0, axis=0), squares, np.inf)


def dual_means(weight: Floats, labels: Integers, k: int) -> Floats:
    """a (n, k); zero of a cluster without weight."""
    total = np.bincount(labels, weights=weight, minlength=k)
    dual = np.zeros((len(labels), k))
    dual[np.arange(len(labels)), labels] = weight / np.where(total > 0.0, total, 1.0)[labels]
    return dual


def fill_empty(labels: Integers, weight: Floats, k: int, far: Floats | None) -> Integers:
    """Labels after clusters without weight have taken the farthest samples, of clusters that keep others."""
    inside = weight > 0.0
    counts = np.bincount(labels[inside], minlength=k)
    if counts.all():
        return labels
    labels = labels.copy()
    order = iter(np.argsort(-(np.asarray(weight) if far is None else far), kind="stable"))
    for empty in np.flatnonzero(counts == 0):
        for i in order:
            if inside[i] and counts[labels[i]] > 1:
                counts[labels[i]] -= 1
                labels[i], counts[empty] = empty, 1
                break
    return labels


def plus_plus(K: Floats, weight: Floats, k: int, random: Any) -> Integers:
    """Labels by the nearest of k samples, drawn one after the other by weight and squared distance from those before:
    of 2 + log k candidates that which leaves the least energy.
    """
    diagonal, trials = np.diag(K), 2 + int(np.log(k))
    first = int(random.choice(len(K), p=weight / np.sum(weight)))
    nearest, labels = _from_sample(K, diagonal, first), np.zeros(len(K), dtype=np.int64)
    for number in range(1, k):
        mass = np.cumsum(weight * nearest)
        if mass[-1] <= 0.0:
            break
        drawn = np.minimum(np.searchsorted(mass, random.uniform(size=trials) * mass[-1], side="right"), len(K) - 1)
        away = [np.minimum(nearest, _from_sample(K, diagonal, int(j))) for j in drawn]
        best = away[int(np.argmin([float(np.sum(weight * one)) for one in away]))]
        labels[best < nearest] = number
        nearest = best
    return labels


def _from_sample(K: Floats, diagonal: Floats, j: int) -> Floats:
    return np.maximum(diagonal - 2.0 * K[j] + diagonal[j], 0.0)


def at_random(weight: Floats, k: int, random: Any) -> Integers:
    """Labels drawn for each sample."""
    return np.asarray(random.randint(k, size=len(weight)), dtype=np.int64)
