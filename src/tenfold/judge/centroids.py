"""Centroids judged: means by sums about them, medians by the weights on both sides, and the shrinking done again."""

from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Floats, is_sparse, unit_roundoff
from tenfold.data import Block, Rows
from tenfold.judge.bayes import sums_again
from tenfold.judge.certificate import Certificate
from tenfold.judge.discriminant import Witness
from tenfold.judge.exact import Pair, exact
from tenfold.stats import ClassErrors, GroupedMoments, Total, class_errors, groups_of, marks, memberships

ROUNDING = 512.0 * unit_roundoff(np.float64)


def centroids(
    rows: Rows | None,
    sums: Any,
    *,
    metric: str,
    threshold: float | None,
    stored: tuple[Floats, Floats, Floats],
    whitener: Floats | None = None,
    note: str = "",
) -> Certificate:
    """The certificate of centroids, deviations (k, p) and spread (p,), and of a triangle B with B'SB = I, S the
    covariance within classes, divided by n - k.
    """
    found = stored[0]
    pairs: dict[str, Pair] = {}
    if metric == "manhattan" and rows is not None:
        centre = found if not threshold else sums.centre
        pairs["medians"] = _sides(rows, centre)
        weight, mean, squares = _about(rows, centre)
    elif rows is None:
        groups = sums.groups if isinstance(sums, GroupedMoments) else None
        weight = np.array([g.weight for g in groups]) if groups else sums.weight
        centre = np.array([g.mean for g in groups]) if groups else sums.mean
        squares = np.array([np.diag(g.covariance()) * g.weight for g in groups]) if groups else sums.squares
        mean = weight @ centre / weight.sum()
    else:
        again = sums_again(rows, len(found))
        centre = again.sums / again.weight[:, None]
        weight, mean, squares = _about(rows, centre)
    if whitener is not None:
        witness = Witness.of_moments(sums, centre) if rows is None else Witness.of_rows(rows, centre)
        inside = whitener.T @ witness.pooled_products(weight / (weight.sum() - len(weight)), whitener.T).T
        pairs["whitener"] = (inside, np.eye(len(inside)), 1.0)
    pairs |= _shrunk(weight, centre, mean, squares, threshold, stored)
    return exact(pairs, floor=ROUNDING, note=note)


def _about(rows: Rows, centre: Floats) -> tuple[Floats, Floats, Floats]:
    """Weights, the mean of all rows, and squares about the centres."""
    errors: ClassErrors = rows.fold(class_errors(np.ascontiguousarray(centre)))
    mean = (errors.sums + errors.weight[:, None] * centre).sum(axis=0) / errors.weight.sum()
    return errors.weight, mean, errors.squares


def _shrunk(
    weight: Floats, centre: Floats, mean: Floats, squares: Floats, threshold: float | None, stored: Any
) -> dict[str, Pair]:
    n, k = float(weight.sum()), len(weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(squares.sum(axis=0) / (n - k))
        # where a column is constant but for the rounding of its values, any spread within that is right
        most = ROUNDING * np.max(np.abs(centre), axis=0)
        spread = np.where(np.maximum(stored[2], spread) <= most, stored[2], spread)
        unit = np.sqrt((n - weight) / (n * weight))[:, None] * (spread + np.median(spread))
        away = (centre - mean) / unit
    if threshold:
        away = np.clip(away - threshold, 0.0, None) + np.clip(away + threshold, None, 0.0)
        centre = mean + unit * away
    size = np.sqrt(centre**2 + squares / weight[:, None])
    size = np.where(size > 0.0, size, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounding = 1.0 + np.abs(away) + size / unit  # of a difference of means, in its unit
    return {
        "centroids": (stored[0], centre, size),
        "deviations": (stored[1], away, np.where(np.isfinite(rounding), rounding, 1.0)),
        "spread": (stored[2], spread, np.where(spread > 0.0, spread, np.max(size, initial=1.0))),
    }


def _sides(rows: Rows, centre: Floats) -> Pair:
    """The share of the weight of each class on either side of its medians beyond one half: none."""
    found: Total = rows.fold(partial(_weights_aside, centre))
    more = np.maximum(found.sum[1:].max(axis=0) / found.sum[0] - 0.5, 0.0)
    return more, np.zeros_like(more), 1.0


def _weights_aside(centre: Floats, block: Block) -> Total:
    X = block.X.toarray() if is_sparse(block.X) else block.X
    away = np.asarray(X, dtype=np.float64) - centre[groups_of(block)]
    own = memberships(block, len(centre))
    above, below = own.T @ marks(away, 0.0), own.T @ marks(-away, 0.0)
    return Total(np.stack([np.repeat(own.sum(axis=0)[:, None], centre.shape[1], axis=1), above, below]))
