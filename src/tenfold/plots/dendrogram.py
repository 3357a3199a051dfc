"""Dendrograms of hierarchical clusterings."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, Integers
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, last_step


@dataclass
class DendrogramDisplay(Display):
    """The tree of merges of a hierarchical clustering, each at its height.

    Parameters
    ----------
    x : ndarray of shape (m, 4)
        For each merge that is shown the places of its bracket: up from the first cluster, across, and down to the
        other.
    y : ndarray of shape (m, 4)
        The heights of the bracket.
    leaves : ndarray of shape (l,)
        The number of samples of each leaf, from left to right.
    samples : ndarray of shape (l,)
        The sample that a leaf is, or -1 where it has several.
    cut : float or None
        A height at which the tree falls into the clusters of the model; None where heights have inversions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import AgglomerativeClustering
    >>> from tenfold.plots import DendrogramDisplay
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> model = AgglomerativeClustering(linkage="single", compute_distances=True).fit(X)
    >>> shown = DendrogramDisplay.of(model)
    >>> shown.y
    array([[0., 1., 1., 0.],
           [0., 4., 4., 1.]])
    >>> shown.cut
    2.5
    """

    x: Floats
    y: Floats
    leaves: Integers
    samples: Integers
    cut: float | None

    @classmethod
    def of(cls, estimator: Any, *, max_leaves: int = 50) -> Self:
        """The data alone, of a fitted `estimator` that has `children_` and `distances_`; of its last merges where there
        are more than `max_leaves` leaves.
        """
        model = last_step(estimator)
        check_is_fitted(model)
        if getattr(model, "distances_", None) is None or getattr(model, "children_", None) is None:
            raise ValueError(
                f"{type(model).__name__} has no heights: fit with compute_distances=True, or with a distance_threshold."
            )
        if max_leaves < 2:
            raise ValueError(f"max_leaves must be at least 2, got {max_leaves}.")
        children, heights = np.asarray(model.children_), np.asarray(model.distances_, dtype=np.float64)
        leaves, labels = int(model.n_leaves_), np.asarray(model.labels_)
        clusters = leaves == model.n_clusters_ and len(labels) > leaves  # as of divisive clustering
        sizes = np.bincount(labels, minlength=leaves) if clusters else np.ones(leaves, dtype=np.int64)
        x, y, counts, samples = lay_out(children, heights, sizes, max_leaves)
        if clusters:
            samples = np.full(len(samples), -1)
        return cls(x, y, counts, samples, find_cut(heights, int(model.n_clusters_)))

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_leaves: int = 50, ax: Any = None, **settings: Any) -> Self:
        """Plot the tree of a fitted `estimator`, the last merges of one with more than `max_leaves` leaves, on `ax`, or
        on new axes; `settings` go to matplotlib's `plot`.
        """
        return cls.of(estimator, max_leaves=max_leaves).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `plot`."""
        self.ax_, self.figure_ = get_axes(ax)
        for x, y in zip(self.x, self.y, strict=True):
            self.ax_.plot(x, y, **{"color": "C0", "linewidth": 1, **settings})
        if self.cut is not None:
            self.ax_.axhline(self.cut, color="0.4", linestyle="--", linewidth=1)
        names = [str(s) if s >= 0 else f"({n})" for s, n in zip(self.samples, self.leaves, strict=True)]
        self.ax_.set_xticks(np.arange(len(names)), names, rotation=90, fontsize="small")
        label(self.ax_, "sample, or (number of samples)", "distance")
        return self


def find_cut(heights: Floats, clusters: int) -> float | None:
    """A height between the merges within clusters and those between them."""
    below, above = heights[: len(heights) - clusters + 1], heights[len(heights) - clusters + 1 :]
    if not len(above):
        return None
    low, high = float(np.max(below, initial=0.0)), float(np.min(above))
    return 0.5 * (low + high) if low <= high else None


def lay_out(
    children: Integers, heights: Floats, sizes: Integers, max_leaves: int
) -> tuple[Floats, Floats, Integers, Integers]:
    """Brackets of the last merges, x and y (m, 4), and of each leaf from left to right its size and its sample, or -1;
    by the numbers of samples of the leaves of the whole tree.
    """
    merges, n = len(children), len(sizes)
    size = np.concatenate([sizes, np.zeros(merges, dtype=np.int64)])
    for t, (a, b) in enumerate(children.tolist()):
        size[n + t] = size[a] + size[b]
    shown = min(merges, max_leaves - 1)
    first = merges - shown  # merges before are within leaves
    place, height = np.zeros(n + merges), np.zeros(n + merges)
    roots = sorted(set(range(n + first, n + merges)) - set(children.ravel().tolist()))
    leaves: list[int] = []
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        if node >= n + first:
            stack += [int(children[node - n, 1]), int(children[node - n, 0])]
        else:
            place[node] = len(leaves)
            leaves.append(node)
    x, y = np.zeros((shown, 4)), np.zeros((shown, 4))
    for row, t in enumerate(range(first, merges)):
        a, b = children[t]
        place[n + t], height[n + t] = 0.5 * (place[a] + place[b]), heights[t]
        x[row] = place[a], place[a], place[b], place[b]
        y[row] = height[a], heights[t], heights[t], height[b]
    ends = np.array(leaves, dtype=np.int64)
    return x, y, size[ends], np.where(ends < n, ends, -1)
