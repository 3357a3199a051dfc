"""Points of a softmax problem as the judge reads them: objective, gradient and Hessian, about a centre."""

from typing import NamedTuple

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import Rows
from tenfold.judge.objective_points import centred
from tenfold.losses.classification import Softmax
from tenfold.penalties import Groups, Penalty
from tenfold.stats.derivatives import Params, derivatives


class Data(NamedTuple):
    """What is judged: rows measured from `centre`, a sample of them, the mean squares (p,) of its columns about the
    centre, the penalty and the strengths (K, 1) of its squares: all positive, or none.
    """

    penalty: Penalty
    intercept: bool
    strength: Floats
    rows: Rows
    centre: Floats
    sample: Rows
    squares: Floats

    @property
    def nonsmooth(self) -> bool:
        """Whether there is more to the penalty than squares."""
        return getattr(self.penalty, "l1", 0.0) > 0.0 or isinstance(self.penalty, Groups)

    @property
    def free(self) -> bool:
        """Whether there is no penalty at all."""
        return not (self.squared or self.nonsmooth)

    @property
    def squared(self) -> bool:
        """Whether there are squares."""
        return bool(self.strength.all())


class Point(NamedTuple):
    """Objective at parameters, gradient of its smooth part in the weights (K, p), slopes of the intercepts
    (K,), and the Hessian of all, class after class with the intercept last in each.

    With an intercept the parameters are those for rows measured from the centre, else for the rows as they are.
    """

    params: Params
    weight: float
    value: float
    gradient: Floats
    slope: Floats
    hessian: Floats | None


def local(data: Data, params: Params) -> Params:
    """Parameters of a point for rows measured from the centre."""
    return params if data.intercept else centred(Params(params.coef, np.zeros(len(params.coef))), data.centre)


def read(data: Data, params: Params, order: int) -> Point:
    """The point at `params`: one pass over the rows."""
    sums = data.rows.fold(derivatives(Softmax(), local(data, params), order, data.centre))
    assert sums.gradient is not None
    K, p = sums.gradient.shape
    c, strength = data.centre, data.strength
    value = float(sums.value[0]) / sums.weight + float(np.sum(data.penalty.value(params.coef)))
    g, slope = sums.gradient / sums.weight, sums.slope / sums.weight
    hessian = None
    if not data.intercept:
        g = g + np.outer(slope, c)  # for the rows as they are
    if sums.hessian is not None:
        H = (sums.hessian / sums.weight).reshape(K, p + 1, K, p + 1)
        if not data.intercept:
            to = np.column_stack([np.eye(p), c])
            H = np.einsum("ia,kalb,jb->kilj", to, H, to, optimize=True)
        each = np.arange(p)
        for k in range(K):
            H[k, each, k, each] += strength[k]
        hessian = H.reshape(K * H.shape[1], K * H.shape[1])
    return Point(params, sums.weight, value, g + strength * params.coef, slope, hessian)
