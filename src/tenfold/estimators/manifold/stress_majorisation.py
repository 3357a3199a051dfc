"""SMACOF as a function of dissimilarities, and the runs of which it returns the best."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_array, check_random_state, check_symmetric

from tenfold.arrays import FLOATS, Array, Floats
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_arguments,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.plans.smacof import Scaled, fit_smacof
from tenfold.solvers.loop import Callback, Solution

ANY_JOBS = -(1 << 30)
CONSTRAINTS: Constraints = {
    "n_components": (integer(1),),
    "n_init": (integer(1),),
    "n_jobs": (integer(ANY_JOBS), nothing()),
    "max_iter": (integer(1),),
    "verbose": (integer(0), boolean()),
    "eps": (real(0),),
    "random_state": (random_state(),),
    "normalized_stress": (boolean(), choice("auto")),
}
"""Of the parameters that the class and the function have in common."""


def check_dissimilarities(D: Array) -> Floats:
    """Given dissimilarities, in float64: square, symmetric and not negative."""
    D = np.asarray(D, dtype=np.float64)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"Dissimilarities are a square matrix, got an array of shape {D.shape}.")
    D = np.ascontiguousarray(check_symmetric(D, raise_exception=True))
    if np.any(D < 0.0):
        i, j = (int(part) for part in np.argwhere(D < 0.0)[0])
        raise ValueError(f"Dissimilarities must not be negative: that of samples {i} and {j} is {D[i, j]:g}.")
    return D


def _draw(random: Any, n: int, k: int) -> Floats:
    return np.asarray(random.uniform(size=n * k)).reshape((n, k))


def _starts(n: int, k: int, count: int, n_jobs: Any, state: Any) -> Iterator[Floats]:
    """Points at random: those of scikit-learn, which draws otherwise for several jobs."""
    random = check_random_state(state)
    if effective_n_jobs(n_jobs) == 1:
        for _ in range(count):
            yield _draw(random, n, k)
        return
    for seed in random.randint(np.iinfo(np.int32).max, size=count):
        yield _draw(np.random.RandomState(seed), n, k)


def scale_points(
    D: Floats,
    start: Any,
    *,
    metric: bool,
    n_components: int,
    n_init: int,
    n_jobs: Any,
    max_iter: int,
    verbose: int,
    eps: float,
    random_state: Any,
    normalized_stress: bool | str,
    callback: Callback | None = None,
) -> Scaled:
    """The best of some runs, or one run from given points (n, k)."""
    n = len(D)
    if start is not None:
        start = np.array(start, dtype=np.float64)
        if start.ndim != 2 or start.shape[0] != n:
            raise ValueError(f"init matrix should be of shape ({n}, {n_components})")
        if not np.isfinite(start).all():
            raise ValueError("init contains NaN or infinity.")
        if n_init != 1:
            warnings.warn(
                f"Explicit initial positions passed: performing only one init of the MDS instead of {n_init}",
                stacklevel=4,
            )

    def report(solution: Solution) -> None:
        print(f"{solution.status.value} after {solution.iterations} steps, stress {solution.trace[-1].objective:.6g}")

    return fit_smacof(
        D,
        [start] if start is not None else _starts(n, n_components, n_init, n_jobs, random_state),
        metric=metric,
        normalised=not metric if normalized_stress == "auto" else bool(normalized_stress),
        max_iter=max_iter,
        eps=float(eps),
        callback=callback,
        report=report if verbose else None,
    )


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | str = "auto",
) -> tuple[Any, ...]:
    """Points whose distances come near to given dissimilarities, by SMACOF.

    Minimises the stress, the sum over pairs of ``(d_ij - e_ij)^2``, d the distances of the points, and e the
    dissimilarities or their disparities. To see the certificate, take `MDS`.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_samples, n_samples)
        The dissimilarities, symmetric and not negative.
    metric : bool, default=True
        Whether the dissimilarities themselves count, and not only their order. If False, one of zero is missing.
    n_components : int, default=2
        Number of coordinates; with `init` that of its points.
    init : array-like of shape (n_samples, n_components), default=None
        Points where one run starts; None: at random.
    n_init : int, default=1
        Runs from points drawn at random, of which that with the least stress counts.
    n_jobs : int, default=None
        All threads are used in any case. As in scikit-learn, other starts are drawn where it means more than one job.
    max_iter : int, default=300
        Most steps of one run.
    verbose : int, default=0
        If positive, the steps and the stress of each run are printed.
    eps : float, default=1e-6
        A run ends when a step lowers the stress by less than eps times the sum of the squared distances.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts; with an integer they are those of scikit-learn.
    return_n_iter : bool, default=False
        Whether the number of steps is returned, too.
    normalized_stress : bool or "auto", default="auto"
        Whether the stress is Kruskal's Stress-1. "auto": only without a metric.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components)
        The points.
    stress : float
        Their stress.
    n_iter : int
        Steps of the run that counts; only with ``return_n_iter=True``.

    Notes
    -----
    A step takes n^2 roots and 10 n^2 operations on all threads.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import smacof
    >>> D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> points, stress = smacof(D, n_components=1, init=np.array([[0.0], [0.9], [2.2]]), n_init=1, eps=1e-9)
    >>> points.shape, round(stress, 6)
    ((3, 1), 0.0)
    """
    values = {
        "n_components": n_components,
        "n_init": n_init,
        "n_jobs": n_jobs,
        "max_iter": max_iter,
        "verbose": verbose,
        "eps": eps,
        "random_state": random_state,
        "normalized_stress": normalized_stress,
    }
    flags: Constraints = {"metric": (boolean(),), "return_n_iter": (boolean(),)}
    check_arguments("smacof", {**CONSTRAINTS, **flags}, **values, metric=metric, return_n_iter=return_n_iter)
    D = check_dissimilarities(check_array(dissimilarities, dtype=list(FLOATS), input_name="dissimilarities"))
    fitted = scale_points(D, init, metric=bool(metric), **values)
    best = (fitted.embedding, fitted.stress)
    return (*best, fitted.iterations) if return_n_iter else best
