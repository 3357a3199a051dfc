"""Certificate of k-means: the decrease of the energy in one exact step of Lloyd, and a lower bound on the energy.

E(c) = sum_i w_i min_k ||x_i - c_k||^2. From the returned centres one step is taken in float64, by a loop of the judge's
own (kmeans_assignment.py): every sample to its nearest centre, every centre to the mean of its samples. The value is E
before minus E after. A fixed point need not be the minimum; no k centres have an energy below

    trace S - (l_1 + ... + l_(k-1)),    S the scatter of the samples about their mean, l its largest eigenvalues,

because the energy of a clustering is trace S minus what k - 1 orthonormal directions capture (Zha et al. 2001, Ding and
He 2004). With k above the number of features the bound is zero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers, unit_roundoff
from tenfold.bounds.theorems import lowest_energy
from tenfold.data import MemoryRows, Rows
from tenfold.judge.bisection import BisectionSums, Tree, bisection_sums, leaves_of, split_nodes
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.kmeans_assignment import LabelCheck, check_assignment, check_labels
from tenfold.pairwise.centres import Assignment

BOUND_MAX_FEATURES = 1024  # up to here the scatter matrix of the lower bound is formed


@dataclass(frozen=True)
class Labelled:
    """What a model reports of the samples of its fit: labels, as the targets of `rows` (None: not reported), and the
    energy.
    """

    rows: Rows | None
    energy: float | None
    dtype: Any = np.float64

    def complain(self, centres: Floats, energy: float) -> str:
        """Why labels or energy are not those of the centres, whose own energy is given; "" where they are."""
        if self.rows is not None:
            result: LabelCheck = self.rows.fold(check_labels(centres, unit_roundoff(self.dtype)))
            if result.wrong:
                return f"{result.wrong} of {result.count} labels are not those of the nearest centre."
            energy = result.energy
        if self.energy is None or abs(self.energy - energy) <= self._rounding(centres, energy):
            return ""
        return f"The stored inertia is {self.energy:.9g}, and that of the centres {energy:.9g}."

    def _rounding(self, centres: Floats, energy: float) -> float:
        """Of a sum of n squares of differences, one after the other, in the model's precision."""
        unit, n = unit_roundoff(self.dtype), 1.0 if self.rows is None else float(self.rows.shape[0])
        size = n * float(np.max(np.sum(centres**2, axis=1), initial=0.0))
        terms = (64.0 + 4.0 * np.sqrt(n)) * unit * energy + 16.0 * unit * np.sqrt(energy * size)
        return max(RULES["exact"].tol * energy, terms + 16.0 * unit**2 * size)


def lloyd_step(
    rows: Rows,
    centres: Floats,
    *,
    tol: float | None = None,
    dtype: Any = np.float64,
    bound: bool = True,
    reported: Labelled | None = None,
    status: str = "solved",
) -> Certificate:
    """The certificate of centres (k, p), and of the `reported` labels and energy; `bound` asks for the lower bound,
    which costs p x p products of the samples.
    """
    tol = RULES["fixed point"].tol if tol is None else tol
    place = np.mean(centres, axis=0)
    result: Assignment = rows.fold(check_assignment(centres, place))
    inside = result.weight > 0.0
    means = np.where(inside[:, None], place + result.sums / np.where(inside, result.weight, 1.0)[:, None], centres)
    decrease = float(np.sum(result.weight * np.sum((means - centres) ** 2, axis=1)))
    energy = result.energy
    sizes = float(np.sum(result.weight * np.sum(centres**2, axis=1)))
    rounding = 64.0 * unit_roundoff(np.float64) * energy + 16.0 * unit_roundoff(dtype) ** 2 * (sizes + energy)
    if decrease > rounding:  # else centres move by rounding alone
        after: Assignment = rows.fold(check_assignment(np.ascontiguousarray(means), place))
        decrease = max(decrease, energy - after.energy)
    # where every sample lies on its centre up to rounding, no energy is lower, and the samples have the only scale
    scale = energy if energy > rounding else sizes + energy
    lowest = energy_bound(rows, len(centres)) if bound else None
    wrong = "" if reported is None else reported.complain(centres, energy)
    return Certificate(
        "fixed point",
        max(decrease, rounding) if np.isfinite(energy) and not wrong else np.inf,
        max(scale, np.finfo(np.float64).tiny),
        tol,
        rounding,
        energy,
        lower_bound=lowest,
        status=status,
        parts=(decrease,),
        note=_note(energy, lowest, int(np.sum(~inside)), wrong),
    )


def split_step(
    rows: MemoryRows,
    tree: Tree,
    nodes: Floats,
    *,
    centres: Floats,
    labels: Integers,
    inertia: float,
    tol: float | None = None,
    dtype: Any = np.float64,
    status: str = "solved",
) -> Certificate:
    """The certificate of a bisection: the largest relative decrease when a split takes one exact step on its samples.

    `nodes` (nodes, p) are the centres of the nodes of the tree, `centres` (k, p) those of the clusters, which are the
    leaves; `labels` (n,) number the clusters of the rows, each of which is reached from the root by always going to the
    nearer of two nodes; `inertia` is the energy from the centres.
    """
    tol = RULES["fixed point"].tol if tol is None else tol
    wrong = _complain_of_tree(tree, nodes, centres, labels, rows.X.shape[0], dtype)
    if wrong:
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=wrong)
    sums = bisection_sums(rows, tree, nodes, labels, unit_roundoff(dtype))
    decreases, floors = _decreases(rows, tree, nodes, labels, sums, dtype)
    energy = sums.leaves
    if sums.astray:
        wrong = f"{sums.astray} labels are not those that the samples reach by the nearer of two centres."
    else:
        wrong = Labelled(None, inertia, dtype).complain(centres, energy)
    floor = max(floors)
    note = "Judged split by split, each relative to its own energy; all centres together need not be at rest."
    value = np.inf if wrong else max(0.0, *decreases, floor)
    note = f"{wrong} {note}".lstrip()
    return Certificate("fixed point", value, 1.0, tol, floor, energy, status=status, parts=tuple(decreases), note=note)


def _decreases(
    rows: MemoryRows, tree: Tree, nodes: Floats, labels: Integers, sums: BisectionSums, dtype: Any
) -> tuple[list[float], list[float]]:
    """The relative decreases of the splits when their centres move to the means, and the rounding of these; the splits
    in the order of the tree from the right.
    """
    unit = unit_roundoff(np.float64)
    inner, pairs = split_nodes(tree)
    weight, energy, c = sums.weight[pairs], sums.energy[inner], nodes[pairs]
    inside = (weight > 0.0)[:, :, None]
    offsets = sums.sums[pairs] / np.where(inside, weight[:, :, None], 1.0)
    means = np.where(inside, np.mean(c, axis=1, keepdims=True) + offsets, c)
    decrease = np.sum(weight * np.sum((means - c) ** 2, axis=2), axis=1)
    sizes = np.sum(weight * np.sum(c**2, axis=2), axis=1)
    rounding = 64.0 * unit * energy + 16.0 * unit_roundoff(dtype) ** 2 * (sizes + energy)
    moved = decrease > rounding  # the others move by rounding alone
    if moved.any():
        ahead = nodes.copy()
        ahead[pairs[moved]] = means[moved]
        after = bisection_sums(rows, tree, ahead, labels, unit_roundoff(dtype)).energy[inner]
        decrease = np.where(moved, np.maximum(decrease, energy - after), decrease)
    scale = np.maximum(np.where(energy > rounding, energy, sizes + energy), np.finfo(np.float64).tiny)
    value = np.where(np.isfinite(energy), np.maximum(decrease, rounding) / scale, np.inf)
    return value.tolist(), [64.0 * unit, *(rounding / scale).tolist()]


def _complain_of_tree(tree: Tree, nodes: Floats, centres: Floats, labels: Integers, n: int, dtype: Any) -> str:
    """Why a tree does not belong to the clusters; "" where it does."""
    children = sorted(child for pair in tree for child in pair if child >= 0)
    ordered = all(child > node for node, pair in enumerate(tree) for child in pair if child >= 0)
    if children != list(range(1, len(tree))) or not ordered or len(nodes) != len(tree):
        return "The tree of the clusters is not one."
    leaves = leaves_of(tree)
    if len(centres) != len(leaves):
        return f"There are {len(centres)} centres, and {len(leaves)} leaves of the tree."
    away, size = np.abs(nodes[leaves] - centres), np.max(np.abs(nodes), initial=0.0)
    if not np.all(away <= 8.0 * unit_roundoff(dtype) * size):
        return "The centres are not those of the leaves of the tree."
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or np.any((labels < 0) | (labels >= len(leaves))):
        return f"The labels are not numbers of clusters, one for each of {n} samples."
    return ""


def _note(energy: float, lowest: float | None, empty: int, wrong: str) -> str:
    words = [wrong] if wrong else []
    if lowest is not None and lowest > 0.0:
        share = 100.0 * (1.0 - lowest / energy) if energy > lowest else 0.0
        words.append(f"No centres have an energy below {lowest:.6g}, which is {share:.2g} % less than these.")
    if empty:
        words.append(f"{empty} of the centres have no rows.")
    return " ".join(words)


def energy_bound(rows: Rows, k: int) -> float | None:
    """A proved lower bound on the energy of any k centres; None where the products of the columns are too many."""
    p = rows.shape[1]
    return lowest_energy(rows, k) if k > p or p <= BOUND_MAX_FEATURES else None
