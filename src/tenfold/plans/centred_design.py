"""Weighted and centred columns of a design in memory, for Lasso paths by working sets, and the settings of their
solvers.
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

GAP_FRACTION = 0.8  # of the allowed gap at which the solver stops: the judge computes the gap by another formula

TOO_LARGE = "Input X has a column of values beyond 1e150, beside which no penalty counts. Scale the columns."


@dataclass(frozen=True)
class Path:
    """Weights (A, t, p), intercepts (A, t) and sweeps (A, k) of k problems, for each of A penalties."""

    coef: Floats
    intercept: Floats
    sweeps: Integers


@dataclass(frozen=True)
class Settings:
    """Settings of the solver: the relative gap, the largest number of sweeps, the seed of a random order of the columns
    (None: cyclic), the time limit in seconds, the callback, the solver, and whether to form the whole Gram matrix.
    """

    tol: float
    max_iter: int
    seed: int | None = None
    time_limit: float | None = None
    callback: Callback | None = None
    solver: str = "cd"
    gram: bool = False


def parts_of(penalty: SparsePenalty, targets: int) -> list[slice]:
    """The targets of each independent problem: each alone, or all where the penalty couples them."""
    return [slice(0, targets)] if penalty.couples_targets else [slice(k, k + 1) for k in range(targets)]


@dataclass(frozen=True)
class Centred:
    """Columns of X in memory, times the roots of weights that add up to one, and centred where there is an intercept;
    targets (n, t) alike, for the samples of positive weight; X'y (t, p), and the norms of the columns.
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
            # Fortran order is read in place, unless a large mean would cost digits
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
                tol=GAP_FRACTION * settings.tol,
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
        """Weights (t, p) with their optimal intercepts, rounded to the dtype of storage."""
        used = np.flatnonzero(coef.any(axis=0))
        mean = coef[:, used].astype(np.longdouble) @ self.centre[used].astype(np.longdouble)
        return round_to_dtype(Params(coef, np.asarray(self.target_mean - mean, dtype=np.float64)), dtype, self.centre)


def columns_statistics(rows: Rows) -> Columns:
    """Means and norms of the columns; raises where samples are not finite, or their squares overflow."""
    return _check_finite(rows.fold(Columns.lift))


def fold_with_targets(rows: Rows) -> ColumnsWithTargets:
    """The same, with the products of columns and targets; dense rows in memory are one block."""
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
