"""Factor analysis: the likelihood of noise variances, with the best loadings for each, by Newton's method.

For noise variances psi = exp(t) let theta and v be the eigenvalues, decreasing, and eigenvectors of psi^-1/2 S
psi^-1/2. The best loadings are W_m = (theta_m - 1)^1/2 v_m psi^1/2 for the q largest, those of at most k above one
(Lawley 1940; Joreskog 1967), and a sample's negative log-likelihood, without p log(2 pi) / 2, is

    f(t) = 1/2 (sum_j t_j + sum_(m <= q) (log theta_m + 1) + sum_(m > q) theta_m),
    df/dt_j = 1/2 (1 - sum_(m <= q) v_mj^2 - sum_(m > q) theta_m v_mj^2).

The Hessian follows from the derivatives of eigenvectors; its eigenvalues count by their size, and are damped as in the
method of Levenberg and Marquardt. A step is clipped at the floor of t: a likelihood may grow without bound as a
variance vanishes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenfold.arrays import EPS, Floats
from tenfold.linear_algebra import eigh, product
from tenfold.solvers.loop import Step

START_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e8  # of the largest curvature, added to all of them
LEAST_GAIN, GOOD_GAIN = 1e-4, 0.5  # shares of the decrease of the model: a step is taken; the damping is lessened
ROUNDING = 32.0  # units in the last place of the largest eigenvalue, below which a gradient is rounding


class Profile(NamedTuple):
    """Logarithms t (p,) of the noise variances, the eigenpairs of the scaled covariance, how many are factors; value
    and gradient of f.
    """

    logs: Floats
    values: Floats
    vectors: Floats
    factors: int
    objective: float
    gradient: Floats

    def loadings(self, count: int) -> Floats:
        """The best loadings (count, p)."""
        sizes = np.sqrt(np.maximum(self.values[:count] - 1.0, 0.0))
        return sizes[:, None] * self.vectors[:, :count].T * np.exp(0.5 * self.logs)


def profile(S: Floats, logs: Floats, count: int) -> Profile:
    """The likelihood at noise variances exp(logs), with at most `count` factors."""
    root = np.exp(-0.5 * logs)
    values, vectors = eigh(S * np.outer(root, root))
    values, vectors = np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])
    q = int(np.count_nonzero(values[:count] > 1.0))
    objective = 0.5 * float(np.sum(logs) + np.sum(np.log(values[:q]) + 1.0) + np.sum(values[q:]))
    gradient = 0.5 * ((vectors[:, q:] ** 2) @ (1.0 - values[q:]))
    return Profile(logs, values, vectors, q, objective, gradient)


def steps(S: Floats, count: int, start: Floats, least: Floats, tol: float) -> Iterator[Step]:
    """Newton steps from noise variances `start` (p,), of at least `least`, until no entry of the gradient that may
    descend is above `tol`.
    """
    floor, damping = np.log(least), START_DAMPING
    here = profile(S, np.maximum(np.log(start), floor), count)
    while True:
        free = (here.logs > floor) | (here.gradient < 0.0)
        worst = float(np.max(np.abs(here.gradient[free]), initial=0.0))
        reachable = max(tol, ROUNDING * EPS * float(here.values[0]))
        yield Step(here, here.objective, worst / reachable)
        if not free.any():
            return
        values, Q = eigh(_hessian(here)[np.ix_(free, free)])
        values, top = np.abs(values), float(np.max(np.abs(values)))
        slopes = Q.T @ here.gradient[free]
        while True:
            step = np.zeros(len(floor))
            step[free] = -(Q @ (slopes / (values + damping * top)))
            ahead = profile(S, np.maximum(here.logs + step, floor), count)
            gain = _gain(here, ahead, Q, values, free)
            if gain > LEAST_GAIN:
                break
            damping = max(4.0 * damping, LEAST_DAMPING)
            if damping > MOST_DAMPING:
                return
        damping = damping * 0.1 if gain > GOOD_GAIN else damping
        here = ahead


def _gain(here: Profile, ahead: Profile, Q: Floats, values: Floats, free: NDArray[np.bool_]) -> float:
    """The decrease of f as a share of that of its quadratic model; of the gradient's where f has no digits left."""
    step = (ahead.logs - here.logs)[free]
    along = Q.T @ step
    model = -float(here.gradient[free] @ step) - 0.5 * float(along @ (values * along))
    rounding = 8.0 * EPS * max(abs(here.objective), float(len(here.logs)))
    if model > rounding:
        return (here.objective - ahead.objective) / model
    small = ahead.objective <= here.objective + rounding
    return float(small and np.linalg.norm(ahead.gradient[free]) < 0.9 * np.linalg.norm(here.gradient[free]))


def _hessian(here: Profile) -> Floats:
    q, values, V = here.factors, here.values, here.vectors
    rest, noise = V[:, q:], values[q:]
    H = product(rest * noise, np.ascontiguousarray(rest.T)) * product(rest, np.ascontiguousarray(rest.T))
    for m in range(q):
        gap = np.maximum(values[m] - noise, EPS * values[m])
        C = product(rest * ((1.0 - noise) * (values[m] + noise) / gap), np.ascontiguousarray(rest.T))
        H += np.outer(V[:, m], V[:, m]) * C
    return 0.5 * H
