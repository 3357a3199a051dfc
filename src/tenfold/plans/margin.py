"""The largest margin of two classes: the nearest points of their hulls, and the judge."""

from tenfold.arrays import Array, Floats, is_sparse
from tenfold.judge.certificate import Certificate
from tenfold.judge.margin_bracket import Bracket, separation
from tenfold.solvers.min_norm_point import Nearest, nearest_point


def largest_margin(
    X: Array, sign: Floats, intercept: bool, tol: float, max_iter: int
) -> tuple[Nearest, Bracket, Certificate]:
    """The direction and the combination of rows that were found, the bracket that they prove, and its certificate."""
    # distances do not know where the origin is, but digits do; the judge reads the rows as they are
    near = X - X.mean(axis=0) if intercept and not is_sparse(X) else X
    found = nearest_point(near, sign, intercept, tol, max_iter)
    ends, certificate = separation(X, sign, found.direction, found.rows, found.shares, intercept, tol)
    return found, ends, certificate
