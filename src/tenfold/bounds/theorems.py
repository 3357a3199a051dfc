"""Bounds on mistakes, on the energy of clusters, and the least error of any classifier."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg as la
from scipy.special import ndtr

from tenfold.arrays import Floats, unit_roundoff
from tenfold.data import MemoryRows, Rows
from tenfold.machine import one_blas_thread
from tenfold.stats.moments import Moments


def kmeans_energy(X: Any, n_clusters: int, sample_weight: Any = None) -> float:
    """A lower bound on the energy ``sum_i w_i min_k ||x_i - c_k||^2`` of any k centres.

    That is ``trace S - (l_1 + ... + l_(k-1))`` with S the scatter of the samples about their mean and l its largest
    eigenvalues (Zha et al. 2001, Ding and He 2004). No assumptions; zero, without information, where there are more
    centres than features. `KMeans` has it as ``certificate_.lower_bound`` where it is cheap beside the fit.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    n_clusters : int
        Number of centres k.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None for ones.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    n p^2 operations.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.bounds import kmeans_energy
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> round(kmeans_energy(X, 2), 6)  # the best two centres have this energy
    16.0
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
        raise ValueError(f"X must be rows of finite numbers, (n, p); got shape {X.shape}.")
    if not n_clusters >= 1:
        raise ValueError(f"n_clusters must be at least 1, got {n_clusters!r}.")
    weight = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weight is not None and (weight.shape != (len(X),) or not np.all(weight >= 0.0)):
        raise ValueError(f"sample_weight must have one number for each of {len(X)} rows, none of them below zero.")
    rows = MemoryRows(X, np.zeros((len(X), 0)), weight)
    return lowest_energy(rows, int(n_clusters))


def lowest_energy(rows: Rows, k: int) -> float:
    """`kmeans_energy` of a data source, rounded down."""
    p = rows.shape[1]
    if k > p:
        return 0.0
    moments: Moments = rows.fold(Moments.lift)
    e = moments.exponent[:p]
    S = np.ldexp(moments.about(False)[0], e[:, None] + e)
    with one_blas_thread:
        values = la.eigvalsh(S, check_finite=False)
    total = float(np.trace(S))
    rounding = 8.0 * p * unit_roundoff(np.float64) * total  # of eigenvalues, and of the sums behind them
    return max(0.0, float(np.sum(values[: p - k + 1])) - rounding)


def mistake_bound(radius: float, margin: float) -> float:
    """The most mistakes of a perceptron that starts at zero, in any order and however often samples come: (R /
    gamma)^2.

    Assumes that all samples, with the constant 1 of an intercept where there is one, are not longer than `radius`,
    and that some weights of length one, the intercept among them, have ``y w.x >= margin > 0`` on all of them. Samples
    of equal weight; a tie may be a mistake or not. Block 1962, Novikoff 1962; CMU lecture 11, slide 18; Seeger, theorem
    2.1 (rows of length one: 1 / gamma^2).

    Parameters
    ----------
    radius : float
        The length R of the longest sample.
    margin : float
        The margin gamma, above zero.

    Returns
    -------
    float
        (R / gamma)^2.

    Examples
    --------
    >>> from tenfold.bounds import mistake_bound
    >>> mistake_bound(radius=5**0.5, margin=1.0)  # the worked example of the lecture, where 3 mistakes are made
    5.000000000000001
    """
    if not margin > 0.0:
        raise ValueError(f"margin must be positive: the classes are separated by it. Got {margin!r}.")
    if not radius >= 0.0:
        raise ValueError(f"radius must not be negative. Got {radius!r}.")
    return float((radius / margin) ** 2)


def mistake_bound_inseparable(radius: float, margin: float, shortfalls: Floats) -> float:
    """The most mistakes of a perceptron in one pass over classes that overlap: ((R + D) / gamma)^2.

    Assumes that no sample is longer than `radius`, and that `shortfalls` are, for some weights w of length one and the
    `margin` gamma > 0, by how much each visited sample falls short of it, ``d_i = max(0, gamma - y_i w.x_i)``; D is
    the square root of the sum of their squares. A sample counts as often as it is visited. Freund and Schapire 1999,
    theorem 2; CMU lecture 11, slide 30.

    Parameters
    ----------
    radius : float
        The length R of the longest sample.
    margin : float
        The margin gamma, above zero.
    shortfalls : array-like of shape (n_samples,)
        How much each sample falls short of the margin.

    Returns
    -------
    float
        ((R + D) / gamma)^2.
    """
    short = np.asarray(shortfalls, dtype=np.float64)
    if np.any(short < 0.0) or not np.isfinite(short).all():
        raise ValueError("shortfalls must be finite and not negative: max(0, margin - y w.x) of each row.")
    return mistake_bound(radius + float(np.sqrt(np.sum(np.square(short)))), margin)


class MistakeTrace(NamedTuple):
    """The inequalities of the proof of the bound after each mistake k = 1, 2, ..., K of a perceptron that starts at
    zero.

    Attributes
    ----------
    along : ndarray of shape (K,)
        ``w_k . w*``, at least k gamma.
    squares : ndarray of shape (K,)
        ``||w_k||^2``, at most k R^2.
    margin : float
        gamma, the smallest ``y w*.x`` of the mistakes.
    radius : float
        R, the length of the longest of them.
    """

    along: Floats
    squares: Floats
    margin: float
    radius: float

    @property
    def holds(self) -> bool:
        """Whether each mistake moved w along w* by at least gamma and lengthened it by at most R^2, up to rounding."""
        k = np.arange(1, len(self.along) + 1)
        slack = 1e-12 * k * self.radius**2
        steps = np.diff(self.squares, prepend=0.0)
        low = np.all(np.diff(self.along, prepend=0.0) >= self.margin - 1e-12 * k * self.radius)
        return bool(low and np.all(steps <= self.radius**2 + slack))


def mistake_trace(updates: Floats, direction: Floats) -> MistakeTrace:
    """The inequalities of the proof along the updates of a run.

    Parameters
    ----------
    updates : array-like of shape (K, p)
        ``y x`` of every mistake in order, with y as one more feature where there is an intercept: ``X[mistakes_]`` of a
        perceptron with `record`, times the signs of their classes.
    direction : array-like of shape (p,)
        Weights to compare with; taken to length one.

    Returns
    -------
    MistakeTrace
        Both sides of the inequalities, and whether they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.bounds import mistake_trace
    >>> updates = np.array([[1.0, -2.0], [1.0, 1.0], [1.0, 2.0]])  # the lecture's worked example
    >>> trace = mistake_trace(updates, np.array([1.0, 0.0]))
    >>> trace.along, trace.squares, trace.holds
    (array([1., 2., 3.]), array([ 5.,  5., 10.]), True)
    """
    updates = np.atleast_2d(np.asarray(updates, dtype=np.float64))
    w = np.asarray(direction, dtype=np.float64)
    size = float(np.sqrt(np.sum(np.square(w))))
    if w.shape != updates.shape[1:] or size == 0.0:
        raise ValueError(f"direction must have one number a column of updates, not all zero. Got shape {w.shape}.")
    path = np.cumsum(updates, axis=0)
    progress = np.sum(updates * (w / size), axis=1)
    squares = np.sum(np.square(updates), axis=1)
    margin, radius = (float(progress.min()), float(np.sqrt(squares.max()))) if len(updates) else (np.inf, 0.0)
    return MistakeTrace(np.cumsum(progress), np.sum(np.square(path), axis=1), margin, radius)


def hoeffding(widths: Any, confidence: float = 0.95) -> float:
    """How far a sum of independent terms is from its expectation: with this probability no further, on either side.

    ``sqrt(sum_j width_j^2 log(2 / (1 - confidence)) / 2)``. Assumes that the terms are independent, or drawn without
    replacement, and that each lies in an interval of its width. Hoeffding 1963, theorems 2 and 4.

    Parameters
    ----------
    widths : array-like of shape (n_terms,)
        Widths of the intervals; of the mean of n terms in [0, 1] they are 1 / n.
    confidence : float, default=0.95
        The probability.

    Returns
    -------
    float
        The distance.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.bounds import hoeffding
    >>> round(hoeffding(np.full(1000, 1 / 1000)), 4)  # the error rate of a model on 1000 new samples
    0.0429
    """
    squares = np.square(np.asarray(widths, dtype=np.float64))
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    if not np.isfinite(squares).all():
        raise ValueError("widths must be finite.")
    return float(np.sqrt(0.5 * np.sum(squares) * np.log(2.0 / (1.0 - confidence))))


def random_features_error(n_components: int, pairs: int = 1, confidence: float = 0.95, *, block: int = 1) -> float:
    """The largest error of ``z(x).z(y)`` as a kernel of value at most one, over some pairs of samples.

    For features ``sqrt(2 / K) cos(w.x + b)``: each adds a number between -2 / K and 2 / K to the product, so by
    Hoeffding's inequality for each pair, and the union of all pairs, the error is at most
    ``sqrt(8 log(2 pairs / (1 - confidence)) / K)``. Assumes that the weights are drawn from the spectrum of the kernel
    independently, or in independent blocks of `block` (orthogonal features), and that the pairs were not chosen by the
    draw. Rahimi and Recht 2007, claim 1.

    Parameters
    ----------
    n_components : int
        Number of features K.
    pairs : int, default=1
        Number of pairs of samples.
    confidence : float, default=0.95
        The probability that no pair has a larger error.
    block : int, default=1
        Features that are drawn together.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from tenfold.bounds import random_features_error
    >>> round(random_features_error(2000, pairs=1000), 3)
    0.206
    """
    if not (n_components >= 1 and pairs >= 1 and block >= 1):
        raise ValueError(f"There must be a feature, a pair and a block, got {n_components}, {pairs} and {block}.")
    whole, rest = divmod(int(n_components), int(block))
    widths = np.array([*([float(block)] * whole), *([float(rest)] if rest else [])]) * (4.0 / n_components)
    return hoeffding(widths, 1.0 - (1.0 - confidence) / pairs)


class BayesError(NamedTuple):
    """The least error of any classifier.

    Attributes
    ----------
    value : float
        The least error of any classifier.
    standard_error : float
        Its standard error; zero of a formula.
    method : str
        How it was computed.
    """

    value: float
    standard_error: float
    method: str


def bayes_error(
    densities: Sequence[Any], priors: Any = None, *, n_samples: int = 100_000, random_state: Any = 0
) -> BayesError:
    """The Bayes error for given densities of the classes: 1 - E max_c p(c | x).

    In closed form for two Gaussians with the same covariance S, at the distance ``d^2 = (m_1 - m_0)'S^-1(m_1 - m_0)``
    and with log odds c of the priors, ``q_1 Phi(-d/2 - c/d) + q_0 Phi(-d/2 + c/d)``, and for two Cauchy densities of
    the same width b and equal priors, ``1/2 - arctan((a_1 - a_0) / (2 b)) / pi``; else the mean over samples drawn from
    the densities, with its standard error. Seeger, sections 5.2.3 and 6.4.2.

    Parameters
    ----------
    densities : sequence of frozen distributions of scipy.stats, or of objects with `logpdf` and `rvs`
        The densities of the classes.
    priors : array-like of shape (n_classes,), default=None
        Equal where None.
    n_samples : int, default=100000
        Samples that are drawn where there is no formula.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw.

    Returns
    -------
    BayesError
        The error, its standard error, and how it was computed.

    Examples
    --------
    >>> from scipy.stats import cauchy, norm
    >>> from tenfold.bounds import bayes_error
    >>> round(bayes_error([norm(0, 1), norm(2, 1)]).value, 5)
    0.15866
    >>> round(bayes_error([cauchy(0, 1), cauchy(2, 1)]).value, 5)
    0.25
    >>> bayes_error([norm(0, 1), cauchy(2, 1)]).method
    'Monte Carlo'
    """
    count = len(densities)
    q = np.full(count, 1.0 / count) if priors is None else np.asarray(priors, dtype=np.float64)
    if count < 2 or q.shape != (count,) or np.any(q < 0.0) or not abs(float(q.sum()) - 1.0) <= 1e-9:
        raise ValueError(
            f"There must be two densities or more, and priors that sum to one; got {count} and {priors!r}."
        )
    if count == 2:
        value = _two_gaussians(_gaussian(densities[0]), _gaussian(densities[1]), q) if q.all() else float(q.min())
        value = _two_cauchy(_cauchy(densities[0]), _cauchy(densities[1]), q) if value is None else value
        if value is not None:
            return BayesError(value, 0.0, "closed form")
    return _monte_carlo(densities, q, n_samples, random_state)


Gaussian: TypeAlias = tuple[Floats, Floats] | None
Cauchy: TypeAlias = tuple[float, float] | None


def _two_gaussians(first: Gaussian, second: Gaussian, q: Floats) -> float | None:
    if first is None or second is None or not np.array_equal(first[1], second[1]):
        return None
    between = second[0] - first[0]
    d = float(np.sqrt(between @ np.linalg.solve(first[1], between)))
    if d == 0.0:
        return float(q.min())
    c = float(np.log(q[1]) - np.log(q[0]))
    return float(q[1] * ndtr(-d / 2.0 - c / d) + q[0] * ndtr(-d / 2.0 + c / d))


def _two_cauchy(first: Cauchy, second: Cauchy, q: Floats) -> float | None:
    if first is None or second is None or first[1] != second[1] or q[0] != q[1]:
        return None
    return 0.5 - float(np.arctan(abs(second[0] - first[0]) / (2.0 * first[1])) / np.pi)


def _gaussian(density: Any) -> Gaussian:
    """Mean and covariance of a frozen Gaussian of scipy.stats."""
    if type(density).__name__ == "multivariate_normal_frozen":
        return np.atleast_1d(density.mean), np.atleast_2d(density.cov)
    if getattr(getattr(density, "dist", None), "name", "") == "norm":
        return np.array([density.mean()]), np.array([[density.var()]])
    return None


def _cauchy(density: Any) -> Cauchy:
    """Location and scale of a frozen Cauchy distribution of scipy.stats."""
    if getattr(getattr(density, "dist", None), "name", "") != "cauchy":
        return None
    _, place, width = density.dist._parse_args(*density.args, **density.kwds)
    return float(place), float(width)


def _monte_carlo(densities: Sequence[Any], q: Floats, n: int, random_state: Any) -> BayesError:
    random = np.random.default_rng(random_state)
    sizes = random.multinomial(n, q)
    rows = [density.rvs(size=int(size), random_state=random) for density, size in zip(densities, sizes, strict=True)]
    X = np.concatenate([np.reshape(part, (int(size), -1)) for part, size in zip(rows, sizes, strict=True)])
    X = X[:, 0] if X.shape[1] == 1 else X
    with np.errstate(divide="ignore"):
        logs = np.stack([np.log(p) + density.logpdf(X) for density, p in zip(densities, q, strict=True)], axis=1)
    logs -= logs.max(axis=1, keepdims=True)
    error = 1.0 - 1.0 / np.exp(logs).sum(axis=1)
    return BayesError(float(error.mean()), float(error.std() / np.sqrt(n)), "Monte Carlo")
