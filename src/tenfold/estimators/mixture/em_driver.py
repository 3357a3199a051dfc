"""A driver of EM for user-defined models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from tenfold.estimators.parameters import check_arguments, integer, real
from tenfold.estimators.validation import as_rows_without_target, require_finite, validate_rows, validate_weights
from tenfold.solvers.em import Allowance, Model, steps
from tenfold.solvers.loop import Record, run


@dataclass(frozen=True)
class Ascent:
    """The result of EM.

    Attributes
    ----------
    params : the parameters after the last step.
    bounds : the bound before each step.
    converged : whether the bound changed by less than `tol` in the last step.
    n_iter : the number of steps.
    status : how it ended, as a sentence.
    """

    params: Any
    bounds: tuple[float, ...]
    converged: bool
    n_iter: int
    status: str


def em(
    model: Model[Any, Any],
    X: Any,
    start: Any,
    *,
    sample_weight: Any = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    time_limit: float | None = None,
    allowance: Allowance | None = None,
    callback: Callable[[int, float, Any], Any] | None = None,
) -> Ascent:
    """Maximise the likelihood of a latent-variable model by expectation-maximisation.

    Each step is one pass over the samples, block by block: ``statistic = expect(params, block)`` for each block,
    merged in the order of the samples, then ``params = maximise(statistic)``. The bound, the mean log-likelihood and
    what a prior adds to it, is checked: it cannot decrease, and a decrease of more than 1e-9 of its size is an
    error. Whatever a model says in these three functions thereby runs on arrays, files larger than memory, devices
    and clusters.

    Parameters
    ----------
    model : an object with three methods
        ``expect(params, block)`` gives the statistic of ``block.X`` (m, p) and ``block.weight`` (m,), None for
        ones: an object with ``merge(other)``. ``maximise(statistic)`` gives the best parameters for the statistic of
        all samples. ``bound(params, statistic)`` gives the mean log-likelihood at `params`, with what a prior adds.
    X : array-like of shape (n_samples, n_features), table (`tenfold.rows`), Dask collection, or an array on a device
        The samples.
    start : object
        The parameters to start from.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples; None: all ones.
    tol : float, default=1e-3
        Stop when the bound changes by less in a step.
    max_iter : int, default=100
        Most steps.
    time_limit : float, default=None
        Seconds after which no further step is begun. None for no limit.
    allowance : callable, default=None
        ``allowance(before, after, statistic)``: by how much a step may lower the bound, for a `maximise` that does not
        quite maximise.
    callback : callable, default=None
        ``callback(iteration, bound, params)`` after each step; a true answer ends the ascent.

    Returns
    -------
    Ascent
        The parameters, the bound before each step, how many steps were taken, and how it ended.

    Raises
    ------
    ArithmeticError
        If the bound decreases.

    Examples
    --------
    Two coins were thrown ten times each round, and nobody knows which one in which round; both are taken equally often.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from tenfold import em
    >>> @dataclass
    ... class Counts:
    ...     heads: np.ndarray
    ...     tails: np.ndarray
    ...     value: float
    ...     rounds: int
    ...     def merge(self, other):
    ...         return Counts(
    ...             self.heads + other.heads, self.tails + other.tails,
    ...             self.value + other.value, self.rounds + other.rounds,
    ...         )
    >>> class TwoCoins:
    ...     def expect(self, params, block):
    ...         h, t = block.X[:, :1], 10 - block.X[:, :1]
    ...         joint = 0.5 * params**h * (1 - params) ** t
    ...         total = joint.sum(axis=1, keepdims=True)
    ...         r = joint / total
    ...         return Counts((r * h).sum(axis=0), (r * t).sum(axis=0), np.log(total).sum(), len(h))
    ...     def maximise(self, statistic):
    ...         return statistic.heads / (statistic.heads + statistic.tails)
    ...     def bound(self, params, statistic):
    ...         return statistic.value / statistic.rounds
    >>> found = em(TwoCoins(), [[5.0], [9.0], [8.0], [4.0], [7.0]], np.array([0.6, 0.5]), tol=1e-9)
    >>> found.params.round(3)
    array([0.797, 0.52 ])
    >>> all(np.diff(found.bounds) >= 0)
    True
    """
    check_arguments("em", {"tol": (real(0.0),), "max_iter": (integer(1),)}, tol=tol, max_iter=max_iter)
    holder = BaseEstimator()
    X = validate_rows(holder, X)
    rows = as_rows_without_target(X, validate_weights(sample_weight, X))
    seen = 0

    def report(record: Record, params: Any) -> bool:
        nonlocal seen
        seen += 1
        return callback is not None and bool(callback(seen, record.objective, params))

    path = steps(model, rows, start, tol, allowance)
    solution = require_finite(holder, X, lambda: run(path, max_iter, time_limit, report))
    bounds = tuple(record.objective for record in solution.trace[1:])
    return Ascent(solution.params, bounds, solution.status.value == "converged", len(bounds), solution.status.value)
