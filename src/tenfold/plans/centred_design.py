"""Rows in memory as columns that are weighted and measured from their means, for paths of least squares with an L1
penalty by working sets of them; and how such problems are solved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers, contiguous
from tenfold.data import MemoryRows, NotFinite, Rows, weights_of
from tenfold.penalties import SparsePenalty
from tenfold.plans.result import round_to_dtype
from tenfold.problems import Glm, sparse_penalty
from tenfold.solvers import working_set
from tenfold.solvers.loop import Callback
from tenfold.stats.column_moments import Columns, ColumnsWithTargets
from tenfold.stats.derivatives import Params

MARGIN = 0.8
"""The solver aims at so much of the gap that is allowed: the judge's number is computed otherwise."""

TOO_LARGE = "Input X has a column of values beyond 1e150, beside which no penalty counts. Scale the columns."


@dataclass(frozen=True)
class Path:
    """Weights (A, t, p), intercepts (A, t) and sweeps (A, k) of k problems, for each of A penalties."""

    coef: Floats
    intercept: Floats
    sweeps: Integers


@dataclass(frozen=True)
class Settings:
    """How a problem is solved: relative gap, most sweeps, columns one after the other or at random from a seed, most
    seconds, who is told of each step, by which solver, and whether on the products of all columns in any case.
    """

    tol: float
    max_iter: int
    seed: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    solver: str = "cd"
    gram: bool = False


def parts_of(penalty: SparsePenalty, targets: int) -> list[slice]:
    """The targets of each independent problem: one, or all where the penalty couples them."""
    return [slice(0, targets)] if penalty.couples_targets else [slice(k, k + 1) for k in range(targets)]


@dataclass(frozen=True)
class Centred:
    """Rows in memory as columns: weighted by the roots of weights that add up to one, measured from the means where
    there is an intercept; targets (n, t) alike, of the rows that the columns have; X'y (t, p), and the
    lengths of the columns.
    """

    columns: working_set.Columns
    Y: Floats
    xty: Floats
    lengths: Floats
    centre: Floats
    target_mean: Floats

    @classmethod
    def of(cls, rows: Rows, statistics: ColumnsWithTargets, intercept: bool) -> "Centred":
        block, stats = rows.whole(), statistics.columns
        p = stats.features
        centre, target_mean = stats.mean[:p], stats.mean[p:]
        xty = statistics.products / stats.weight
        if not intercept:
            xty = xty + np.outer(target_mean, centre)
            centre, target_mean = np.zeros_like(centre), np.zeros_like(target_mean)
        root = np.sqrt(weights_of(block) / stats.weight)
        X = block.X
        if not (rows.sparse or X.flags.c_contiguous):
            # columns in a row are read as they are, unless an offset would cost digits
            far = np.any(np.abs(centre) > 1e3 * stats.spread[:p] / np.sqrt(stats.weight))
            X = X if X.flags.f_contiguous and X.flags.aligned and not far else contiguous(X)
        columns, kept = working_set.columns_of(X, root, centre)
        Y = (root[:, None] * (block.y - target_mean))[kept]
        lengths = stats.lengths(origin=not intercept)[0] / np.sqrt(stats.weight)
        return cls(columns, Y, xty, lengths, centre, target_mean)

    def path(
        self,
        problem: Glm,
        penalties: Sequence[SparsePenalty],
        settings: Settings,
        start: Floats | None = None,
        read: working_set.Reader | None = None,
    ) -> tuple[Path, list[working_set.PathResult]]:
        """Solve for every penalty, all of the kind of the problem's; `read` is passed to the solver of a single
        problem.
        """
        results = [
            working_set.path(
                self.columns,
                np.ascontiguousarray(self.Y[:, part]),
                self.xty[part],
                self.lengths,
                penalties,
                tol=MARGIN * settings.tol,
                max_iter=settings.max_iter,
                start=None if start is None else start[part],
                seed=settings.seed,
                read=read,
            )
            for part in parts_of(sparse_penalty(problem), self.Y.shape[1])
        ]
        coef = np.concatenate([result.coef for result in results], axis=1)
        intercept = self.target_mean - np.einsum("atp,p->at", coef, self.centre)
        return Path(coef, intercept, np.stack([result.sweeps for result in results], axis=1)), results

    def params(self, coef: Floats, dtype: Any) -> Params:
        """Weights (t, p) with their best intercepts, as they are stored."""
        used = np.flatnonzero(coef.any(axis=0))
        mean = coef[:, used].astype(np.longdouble) @ self.centre[used].astype(np.longdouble)
        return round_to_dtype(Params(coef, np.asarray(self.target_mean - mean, dtype=np.float64)), dtype, self.centre)


def columns_statistics(rows: Rows) -> Columns:
    """Means and lengths of the columns; refuses rows that are not finite, or whose squares are not."""
    return _check_finite(rows.fold(Columns.lift))


def fold_with_targets(rows: Rows) -> ColumnsWithTargets:
    """The same, with the products of columns and targets; rows that lie in memory as one block are one."""
    plain = isinstance(rows, MemoryRows) and not (rows.sparse or rows.on_device) and rows.X.flags.c_contiguous
    statistics = ColumnsWithTargets.lift(rows.whole()) if plain else rows.fold(ColumnsWithTargets.lift)
    _check_finite(statistics.columns)
    return statistics


def _check_finite(stats: Columns) -> Columns:
    if not np.isfinite(stats.spread).all():
        raise NotFinite
    if np.any(stats.spread > 1e150):
        raise ValueError(TOO_LARGE)
    return stats
