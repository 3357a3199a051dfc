"""Centres judged: how far the energy falls in one exact step of Lloyd, and how low it could be at all.

E(c) = sum_i w_i min_k ||x_i - c_k||^2. From the returned centres one step is taken in float64, by a loop of the judge's
own (assignment.py): every row to its nearest centre, every centre to the mean of its rows. The number is E before minus
E after. A clustering at rest is not the best one: for that, no k centres have an energy below

    trace S - (l_1 + ... + l_(k-1)),    S the scatter of the rows about their mean, l its largest values,

because the energy of a clustering is trace S minus what k - 1 orthonormal directions capture (Zha et al. 2001, Ding and
He 2004). With k above the number of columns that says nothing, and the bound is zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenfold.arrays import Floats, unit_roundoff
from tenfold.bounds import lowest_energy
from tenfold.data import MemoryRows, Rows
from tenfold.judge.assignment import judged_assignment
from tenfold.judge.certificate import RULES, Certificate
from tenfold.stats import Assigned, nearest

FORMED = 1024
"""Up to so many columns their products are formed for the lower bound."""


def lloyd_step(
    rows: Rows,
    centres: Floats,
    *,
    tol: float | None = None,
    dtype: Any = np.float64,
    bound: bool = True,
    status: str = "solved",
) -> Certificate:
    """The certificate of centres (k, p); `bound` asks for the lower bound, which costs p x p products of the rows."""
    tol = RULES["fixed point"].tol if tol is None else tol
    place = np.mean(centres, axis=0)
    found: Assigned = rows.fold(judged_assignment(centres, place))
    inside = found.weight > 0.0
    means = np.where(inside[:, None], place + found.sums / np.where(inside, found.weight, 1.0)[:, None], centres)
    fall = float(np.sum(found.weight * np.sum((means - centres) ** 2, axis=1)))
    energy = found.energy
    sizes = float(np.sum(found.weight * np.sum(centres**2, axis=1)))
    rounding = 64.0 * unit_roundoff(np.float64) * energy + 16.0 * unit_roundoff(dtype) ** 2 * (sizes + energy)
    if fall > rounding:  # else rows whose centre moves by rounding alone stay where they are
        after: Assigned = rows.fold(judged_assignment(np.ascontiguousarray(means), place))
        fall = max(fall, energy - after.energy)
    lowest = energy_bound(rows, len(centres)) if bound else None
    return Certificate(
        "fixed point",
        max(fall, rounding) if np.isfinite(energy) else np.inf,
        max(energy, 4.0 * rounding, np.finfo(np.float64).tiny),
        tol,
        rounding,
        energy,
        lower_bound=lowest,
        status=status,
        parts=(fall,),
        note=_note(energy, lowest, int(np.sum(~inside))),
    )


def split_step(
    rows: MemoryRows,
    tree: Sequence[tuple[int, int]],
    centres: Floats,
    *,
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """The certificate of nested halves: the largest relative fall when a split takes one exact step on its own rows.

    `tree` has the children of every node, below zero for leaves, and `centres` (nodes, p) their centres.
    """
    waiting: list[tuple[int, Any]] = [(0, np.arange(rows.X.shape[0]))]
    falls, floors, energy = [0.0], [64.0 * unit_roundoff(np.float64)], 0.0
    while waiting:
        node, index = waiting.pop()
        part = MemoryRows(rows.X[index], rows.y[index], None if rows.weight is None else rows.weight[index])
        if tree[node][0] < 0:
            own = np.ascontiguousarray(centres[node : node + 1])
            energy += part.fold(judged_assignment(own, own[0])).energy if len(index) else 0.0
            continue
        pair = np.ascontiguousarray(centres[list(tree[node])])
        found = lloyd_step(part, pair, bound=False, dtype=dtype)
        falls.append(found.value / found.scale)
        floors.append(found.floor / found.scale)
        number, _ = nearest(part.X, pair)
        waiting += [(child, index[number == half]) for half, child in enumerate(tree[node])]
    tol, floor = RULES["fixed point"].tol if tol is None else tol, max(floors)
    note = "Judged split by split, each relative to its own energy; all centres together need not be at rest."
    value = max(*falls, floor)
    return Certificate("fixed point", value, 1.0, tol, floor, energy, status=status, parts=tuple(falls[1:]), note=note)


def _note(energy: float, lowest: float | None, empty: int) -> str:
    words = []
    if lowest is not None and lowest > 0.0:
        share = 100.0 * (1.0 - lowest / energy) if energy > lowest else 0.0
        words.append(f"No centres have an energy below {lowest:.6g}, which is {share:.2g} % less than these.")
    if empty:
        words.append(f"{empty} of the centres have no rows.")
    return " ".join(words)


def energy_bound(rows: Rows, k: int) -> float | None:
    """A proved lower bound on the energy of any k centres; None where the products of the columns are too many."""
    p = rows.shape[1]
    return lowest_energy(rows, k) if k > p or p <= FORMED else None
