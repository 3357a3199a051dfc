"""Certificate of kernel k-means: the decrease of the energy in one exact step, and the trace bound.

With labels z, weights w and W = diag(w), let H have the columns w^(1/2) z_k / W_k^(1/2), which are orthonormal. The
energy in feature space is

    E = trace(W^(1/2) K W^(1/2)) - trace(H' W^(1/2) K W^(1/2) H).

The columns span u = w^(1/2) / |w^(1/2)|, so that with C = (I - uu') W^(1/2) K W^(1/2) (I - uu') no labels have an
energy below trace C - (l_1 + ... + l_(k-1)), l the largest eigenvalues of C (Zha et al. 2001; Welling, eqs. 11.10
to 11.16).
"""

from dataclasses import dataclass

import numpy as np

from tenfold.arrays import EPS, Floats, Integers
from tenfold.judge.certificate import RULES, Certificate
from tenfold.linear_algebra import eigenvalues
from tenfold.stats.derivatives import Params, forward

BOUND_SIZE = 4096  # samples up to which eigenvalues are computed for the bound


@dataclass(frozen=True)
class Stored:
    """What a model has: labels (n,), dual means (n, k), their squared norms (k,), and the energy."""

    labels: Integers
    dual: Floats
    norms: Floats
    energy: float


def lloyd_step(
    K: Floats, weight: Floats, stored: Stored, *, tol: float, bound: bool, status: str = "solved"
) -> Certificate:
    """The certificate of labels by the kernel matrix (n, n)."""
    n, k = stored.dual.shape
    wrong = _complain_of_labels(stored, n, k, len(K))
    if wrong:
        return Certificate("fixed point", np.inf, 1.0, tol, 0.0, np.nan, status=status, note=wrong)
    diagonal = np.diag(K)
    size = float(np.sum(weight * np.abs(diagonal)))
    rounding = 64.0 * EPS * np.sqrt(n) * size
    dual = means_of(weight, stored.labels, k)
    squares, norms = _distances(K, diagonal, dual)
    energy = _energy(weight, squares, stored.labels)
    after = np.argmin(squares, axis=1)
    renewed = means_of(weight, after, k)
    decrease = max(0.0, energy - _energy(weight, _distances(K, diagonal, renewed)[0], after))
    empty = int(np.sum(~dual.any(axis=0)))
    lowest = lowest_energy(K, weight, k) if bound and n <= BOUND_SIZE else None
    wrong = _complain(stored, dual, norms, energy, rounding, size, empty)
    scale = energy if energy > rounding else size + energy
    note = wrong
    if lowest is not None and lowest > 0.0:
        note = f"{note} No labels have an energy below {lowest:.6g}.".lstrip()
    value = np.inf if wrong or not np.isfinite(energy) else max(decrease, rounding)
    scale = max(scale, np.finfo(np.float64).tiny)
    return Certificate(
        "fixed point",
        value,
        scale,
        tol,
        rounding,
        energy,
        lower_bound=lowest,
        status=status,
        parts=(decrease,),
        note=note,
    )


def _complain_of_labels(stored: Stored, n: int, k: int, count: int) -> str:
    labels = stored.labels
    if n != count or labels.shape != (n,):
        return f"The model has labels of {labels.size} samples, and there are {count}."
    if labels.dtype.kind not in "iu" or int(np.min(labels)) < 0 or int(np.max(labels)) >= k:
        return f"The labels are not numbers of {k} clusters."
    return ""


def means_of(weight: Floats, labels: Integers, k: int) -> Floats:
    """Dual means (n, k): the weight of each sample over that of its cluster."""
    member = (labels[:, None] == np.arange(k)).astype(np.float64) * weight[:, None]
    total = np.sum(member, axis=0)
    return member / np.where(total > 0.0, total, 1.0)


def _distances(K: Floats, diagonal: Floats, dual: Floats) -> tuple[Floats, Floats]:
    """Squared distances (n, k) from the means, infinite from those without samples, and squared norms of the means."""
    products = np.asarray(forward(K, Params(np.ascontiguousarray(dual.T), np.zeros(dual.shape[1]))))
    norms = np.sum(dual * products, axis=0)
    squares = diagonal[:, None] - 2.0 * products + norms
    return np.where(dual.any(axis=0), squares, np.inf), norms


def _energy(weight: Floats, squares: Floats, labels: Integers) -> float:
    own = np.where(weight > 0.0, squares[np.arange(len(labels)), labels], 0.0)
    return float(np.sum(weight * own))


def _complain(
    stored: Stored, dual: Floats, norms: Floats, energy: float, rounding: float, size: float, empty: int
) -> str:
    """Why the stored numbers are not those of the labels; "" where they are."""
    if not np.max(np.abs(stored.dual - dual), initial=0.0) <= 64.0 * EPS:
        return "The dual means are not those of the labels."
    if stored.norms.shape != norms.shape or not np.all(
        np.abs(stored.norms - norms) <= RULES["exact"].tol * max(float(np.max(np.abs(norms))), size * EPS)
    ):
        return "The squared norms of the means are not those of the labels."
    if not abs(stored.energy - energy) <= max(RULES["exact"].tol * energy, rounding):
        return f"The stored inertia is {stored.energy:.9g}, and that of the labels {energy:.9g}."
    if empty and energy > rounding:  # a centre of its own would lower the energy of any sample
        return f"{empty} of {dual.shape[1]} clusters have no samples."
    return ""


def lowest_energy(K: Floats, weight: Floats, k: int) -> float:
    """A lower bound on the energy of any labels."""
    root = np.sqrt(weight)
    u = root / np.sqrt(np.sum(weight))
    C = root[:, None] * K * root
    Cu = np.einsum("ij,j->i", C, u)
    C -= np.outer(u, Cu) + np.outer(Cu, u) - float(u @ Cu) * np.outer(u, u)
    trace = float(np.trace(C))
    top = eigenvalues(0.5 * (C + C.T))[::-1][: k - 1]
    rounding = 64.0 * EPS * len(K) * float(np.sum(weight * np.abs(np.diag(K))))
    return max(0.0, trace - float(np.sum(np.maximum(top, 0.0))) - rounding)
