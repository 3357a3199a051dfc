"""Sparse precisions: the graphical lasso, component by component, and its path.

Features i and j with |S_ij| <= alpha along no path of larger entries have P_ij = 0 (Witten, Friedman and Simon 2011;
Mazumder and Hastie 2012): the connected components of |S_ij| > alpha are solved apart, single features in closed form.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tenfold.arrays import EPS, Floats, wide
from tenfold.data import Rows
from tenfold.judge import gap_graphical_lasso as judge
from tenfold.judge.certificate import Certificate
from tenfold.linear_algebra import cholesky, eigenvalues, invert_positive
from tenfold.plans.covariance import Scatter, fold_scatter, invert, log_likelihood, of_moments
from tenfold.solvers import graphical_lasso as solver
from tenfold.solvers.loop import Callback, Solution, Status, run
from tenfold.stats.moments import GroupedMoments, Moments, all_but_one

NOT_COVARIANCE = "The matrix is not a covariance: {reason}."


class Sparse(NamedTuple):
    """The precision and its inverse (p, p), a warm start for each component, the objective and the gap of each step,
    the largest number of steps of a component, and how the worst of them ended.
    """

    precision: Floats
    covariance: Floats
    trace: list[tuple[float, float]]
    iterations: int
    status: Status


class FittedGraph(NamedTuple):
    """Location, covariance and precision in the precision of storage, in float64; the trace, the iterations, and the
    certificate.
    """

    location: Floats
    covariance: Floats
    precision: Floats
    trace: list[tuple[float, float]]
    iterations: int
    certificate: Certificate


def check_covariance(S: Floats) -> None:
    """Raise where a given matrix is no covariance: not square, not symmetric, or with a negative eigenvalue."""
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(NOT_COVARIANCE.format(reason=f"its shape is {S.shape}"))
    top = float(np.max(np.abs(S), initial=0.0))
    if float(np.max(np.abs(S - S.T), initial=0.0)) > 1e-8 * top:
        raise ValueError(NOT_COVARIANCE.format(reason="it is not symmetric"))
    least = float(eigenvalues(0.5 * (S + S.T))[0])
    if least < -1e-8 * top:
        raise ValueError(NOT_COVARIANCE.format(reason=f"its smallest eigenvalue is {least:.3g}"))


def solve(
    S: Floats,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    start: Floats | None = None,
    callback: Callback | None = None,
) -> Sparse:
    """Minimise to a duality gap of `tol`; `start` is the inverse of the precision of a near penalty."""
    p, variance = len(S), np.diag(S)
    if alpha == 0.0:
        return _invert_exactly(S)
    edges = np.abs(S) > alpha
    np.fill_diagonal(edges, False)
    _, labels = connected_components(csr_array(edges.astype(np.float64)), directed=False)
    P, C = np.diag(1.0 / variance), np.diag(variance).astype(np.float64)
    single = float(np.sum(np.log(variance))) + p
    solutions: list[Solution] = []
    sizes = np.bincount(labels)
    for label in np.flatnonzero(sizes > 1):
        group = np.flatnonzero(labels == label)
        part = np.ix_(group, group)
        block = np.ascontiguousarray(S[part])
        single -= float(np.sum(np.log(variance[group]))) + len(group)
        before = None if start is None else _restart(np.ascontiguousarray(start[part]))
        path = solver.steps(block, alpha, max(tol * len(group) / p, 64.0 * EPS * len(group)), before)
        solution = run(path, max_iter, callback=callback)
        P[part], C[part] = solution.params.precision, solution.params.covariance
        solutions.append(solution)
    longest = max((solution.iterations for solution in solutions), default=0)
    return Sparse(P, C, _join_traces(solutions, single, longest, tol, p), longest, _worst(solutions))


def _join_traces(
    solutions: Sequence[Solution], single: float, longest: int, tol: float, p: int
) -> list[tuple[float, float]]:
    """The objective and the gap of all components after each step."""
    lines = []
    for k in range(1 if longest else 0, longest + 1):
        records = [(one.trace[min(k, len(one.trace) - 1)], len(one.params.precision)) for one in solutions]
        value = single + sum(record.objective for record, _ in records)
        gap = sum(record.measure * max(tol * size / p, 64.0 * EPS * size) for record, size in records)
        lines.append((value, gap))
    return lines


def _worst(solutions: Sequence[Solution]) -> Status:
    ends = [solution.status for solution in solutions]
    return next((end for end in ends if end not in (Status.CONVERGED, Status.SOLVED)), Status.CONVERGED)


def _restart(covariance: Floats) -> solver.Precision:
    """A start by the inverse of a precision."""
    P = invert(covariance)
    B = -P / np.diag(P)[:, None]
    np.fill_diagonal(B, 0.0)
    B[np.abs(B) <= 64.0 * EPS * np.sqrt(np.outer(np.diag(covariance) ** -1.0, np.diag(covariance)))] = 0.0
    return solver.Precision(P, covariance, covariance.copy(), B, np.inf)


def _invert_exactly(S: Floats) -> Sparse:
    L = cholesky(S)
    if L is None or len(S) * EPS * float(np.trace(S)) * float(np.trace(P := invert_positive(L))) > 1.0:
        raise np.linalg.LinAlgError(
            "Without a penalty a singular covariance has no best precision: take alpha > 0, or more samples."
        )
    return Sparse(P, S.copy(), [(solver.objective(S, P, 0.0), 0.0)], 0, Status.SOLVED)


def fit_graph(
    scatter: Scatter,
    alpha: float,
    *,
    tol: float,
    max_iter: int,
    dtype: Any,
    start: Floats | None = None,
    callback: Callback | None = None,
) -> FittedGraph:
    """Fit to a covariance, with constant features at the floor of a variance."""
    S, _ = judge.raise_variances(scatter.covariance)
    fitted = solve(S, alpha, tol=tol, max_iter=max_iter, start=start, callback=callback)

    def convert(part: Floats) -> Floats:
        return part if part.dtype == dtype else wide(part.astype(dtype))

    location, C, P = convert(scatter.centre), convert(fitted.covariance), convert(fitted.precision)
    certificate = judge.graphical_lasso(
        scatter.covariance, C, P, alpha, tol=tol, dtype=dtype, status=fitted.status.value
    )
    return FittedGraph(location, C, P, fitted.trace, fitted.iterations, certificate)


def fold_centred(rows: Rows, centred: bool) -> Scatter:
    """The covariance of rows about their mean, or about the origin."""
    return fold_scatter(rows, centred)


class Fold(NamedTuple):
    """Moments of the samples that a split trains on, and of those that it tests on."""

    train: Moments
    test: Moments


def split_moments(rows: Rows, groups: GroupedMoments | None, splits: Sequence[tuple[Any, Any]], X: Any) -> list[Fold]:
    """The moments of each split: by merging the folds where `groups` has them, else from the samples of each."""
    if groups is not None:
        parts = tuple(groups.groups)
        return [Fold(*pair) for pair in zip(all_but_one(parts), parts, strict=True)]
    return [Fold(Moments.of(X[train]), Moments.of(X[test])) for train, test in splits]


def score_path(fold: Fold, alphas: Sequence[float], *, tol: float, max_iter: int) -> list[float]:
    """The log-likelihood of the samples that are left out, about their own mean, for decreasing penalties, each
    warm-started from the one before; -inf where there is no precision.
    """
    S, _ = judge.raise_variances(of_moments(fold.train, False).covariance)
    test, start, scores = of_moments(fold.test, False).covariance, None, []
    for alpha in alphas:
        try:
            fitted = solve(S, float(alpha), tol=tol, max_iter=max_iter, start=start)
        except np.linalg.LinAlgError:
            scores.append(-np.inf)
            continue
        start = fitted.covariance
        scores.append(log_likelihood(test, fitted.precision))
    return scores


def score_unpenalised(fold: Fold) -> float:
    """The log-likelihood of the samples that are left out under the empirical covariance of the others."""
    train, test = of_moments(fold.train, False), of_moments(fold.test, False)
    away = test.centre - train.centre
    return log_likelihood(test.covariance + np.outer(away, away), invert(train.covariance))
