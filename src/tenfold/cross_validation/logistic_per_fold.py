"""The models of few rows, each fold by itself in one compiled loop along the penalties (core's fold_paths.hpp).

A pass over few rows is cheaper than the calls that lead to it.
"""

from collections.abc import Sequence

import numpy as np

from tenfold import _core
from tenfold.arrays import Floats, Integers
from tenfold.cross_validation.batched_objective import TINY, Paths
from tenfold.data import MemoryRows
from tenfold.judge.certificate import RULES
from tenfold.losses.classification import Logistic
from tenfold.machine import spend, threads
from tenfold.stats.derivatives import products

FEW_PRODUCTS, OF_A_LOSS, FEW_PLACES = 1.3e6, 100, 32
"""Up to so many products, of which a loss with its derivatives counts for some, a Hessian of all rows is a matter of
some tens of microseconds; up to so many penalties it is formed at each.
"""


def is_cheap(rows: MemoryRows, places: int) -> bool:
    """Whether folds go by themselves along so many penalties."""
    n, p = rows.shape
    cheap = n * ((p + 1) ** 2 + OF_A_LOSS) <= FEW_PRODUCTS
    return cheap and places <= FEW_PLACES and not (rows.sparse or rows.on_device)


def apart(
    rows: MemoryRows,
    folds: Sequence[Integers],
    strengths: Floats,
    intercept: bool,
    *,
    shift: Floats,
    tol: float,
    max_iter: int,
) -> Paths | None:
    """The models of two classes of the rows of each fold under L2 penalties of `strengths` (F, A), which fall along A;
    measured from `shift`, as the coefficients are. None where a Hessian is not regular.
    """
    n, lengths, loss = rows.shape[0], np.array([len(fold) for fold in folds]), Logistic()
    params, steps, passes, regular = _core.fold_paths(
        np.ascontiguousarray(rows.X),
        np.ascontiguousarray(rows.y[:, 0]),
        rows.weight,
        shift,
        np.concatenate(folds).astype(np.int64, copy=False),
        np.append(0, np.cumsum(lengths)),
        np.ascontiguousarray(strengths),
        loss.name,
        loss.parameter,
        intercept,
        max(tol, TINY),
        RULES["gap"].tol,
        float(np.log(2.0)),
        max_iter,
        threads(strengths.size * n),
    )
    spend(float(lengths @ passes @ [products(rows.X[:1], 1, order) for order in (1, 2)]))
    if not regular:
        return None
    return Paths(params[:, :, None], steps, int(np.ceil(lengths @ passes.sum(axis=1) / n)))
