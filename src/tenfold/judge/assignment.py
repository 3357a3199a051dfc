"""Rows and their nearest centres for the judge: products of all rows with all centres in float64.

The loop is not that of a fit, which compares in float32 first and passes over what bounds rule out. Where two scores of
a row are as near as rounding, squared differences from all centres decide, and the first of equals counts.
"""

from collections.abc import Callable
from functools import partial

from tenfold import _core
from tenfold.arrays import Floats, entries, is_numpy, is_sparse
from tenfold.data import Block, Lifted
from tenfold.machine import threads
from tenfold.stats import Assigned
from tenfold.stats.clusters import assigned_in_arrays


def judged_assignment(centres: Floats, place: Floats) -> Callable[[Block], Lifted[Assigned]]:
    """The lift of `Assigned` for centres (k, p), with sums about `place` (p,). Arrays of other libraries are compared
    by their own products in float64.
    """
    return partial(_judged, centres, place)


def _judged(centres: Floats, place: Floats, block: Block) -> Lifted[Assigned]:
    X = block.X
    rest = (block.weight, centres, place, threads(entries(X) * len(centres)), True)
    if is_sparse(X):
        return Assigned(*_core.assign_csr(X.data, X.indices, X.indptr, X.shape[1], *rest))
    if is_numpy(X):
        return Assigned(*_core.assign(X, *rest))
    return assigned_in_arrays(centres, place, block)
