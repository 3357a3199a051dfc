"""Certificates of multiview canonical correlations; see `judge.generalized_eigenproblem`."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.arrays import EPS, Floats, unit_roundoff
from tenfold.data import Rows
from tenfold.judge.cca_pls import LEFT_OUT, agree, distance
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.generalized_eigenproblem import pencil
from tenfold.stats.column_moments import Columns
from tenfold.stats.cross_moments import JointScatter, both_moments, degrees_of_freedom
from tenfold.stats.scatter import scatter_about

PROBES = 4  # random vectors by which a given scatter matrix is compared with that of the samples


def multiview_cca(
    rows: Rows,
    *,
    means: Floats,
    units: Floats,
    directions: Sequence[Floats],
    values: Floats,
    correlations: Floats,
    scale: bool,
    ridge: Sequence[float],
    scatter: Floats | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """Certificate of directions (columns, k) in each view, their values (k,), and the correlations (k, views, views) of
    the scores of all pairs of views.
    """
    k, ends = directions[0].shape[1], np.cumsum([0, *map(len, directions)])
    cuts = [slice(a, b) for a, b in pairwise(ends)]
    p = rows.shape[1]
    columns: Columns = rows.fold(Columns.lift)
    place, freedom = columns.mean[:p], degrees_of_freedom(columns.weight)
    std = columns.spread[:p] / np.sqrt(freedom)
    own_units = np.where(std > 0.0, std, 1.0) if scale else np.ones(p)
    probes = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, p))
    apart = np.zeros((len(cuts), k, p))
    for i, cut in enumerate(cuts):
        apart[i, :, cut] = directions[i].T
    vectors = np.vstack([*apart, probes]) / own_units
    products = rows.fold(scatter_about(place, vectors)).products / (own_units * freedom)
    if scatter is None or not agree(products[-PROBES:], probes, scatter):  # not given, or not that of these rows
        own = JointScatter.of(rows.fold(both_moments))
        spread = own.lengths[:p] / (own_units * np.sqrt(freedom))
        scatter = own.correlations[:p, :p] * spread[:, None] * spread
    each = [products[i * k : (i + 1) * k] for i in range(len(cuts))]
    verdict = pencil(scatter, cuts, [part.T for part in directions], each, ridge)
    floor = max(64.0 * EPS, 16.0 * unit_roundoff(dtype)) * verdict.condition
    size = np.maximum(own_units, np.abs(place))
    both = np.array([[np.sum(apart[j] * each[i], axis=1) for j in range(len(cuts))] for i in range(len(cuts))])
    lengths = np.sqrt(np.maximum(np.einsum("iik->ik", both), 0.0))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    own_correlations = np.moveaxis(both / lengths[:, None] / lengths[None], 2, 0)
    variances = sum(
        np.sum(part.T * (product[:, cut] + more * part.T), axis=1)
        for part, product, cut, more in zip(directions, each, cuts, ridge, strict=True)
    )
    parts = [
        verdict.residual,
        verdict.slant,
        float(np.max(np.abs(variances - len(cuts)), initial=0.0)) / len(cuts),
        float(np.max(np.abs(values - verdict.values), initial=0.0)),
        distance(correlations, own_correlations),
        float(np.max(np.abs(means - place) / size, initial=0.0)),
        float(np.max(np.abs(units - own_units) / own_units, initial=0.0)),
    ]
    parts = [part if np.isfinite(part) else np.inf for part in parts]
    leading = verdict.leading(max(RULES["spectral"].tol, floor, verdict.residual))
    return Certificate(
        "spectral",
        max(*parts, floor) if leading else np.inf,
        1.0,
        RULES["spectral"].tol,
        floor,
        -float(np.sum(values)),
        status=status,
        parts=tuple(parts),
        note=verdict.note if leading else LEFT_OUT,
    )
