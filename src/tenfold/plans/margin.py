"""The plan of the maximum margin of two classes: nearest points of their convex hulls, and the certificate."""

from tenfold.arrays import Array, Floats, is_sparse
from tenfold.judge.certificate import Certificate
from tenfold.judge.margin_bracket import Bracket, certify_margin
from tenfold.solvers.min_norm_point import Nearest, nearest_point


def largest_margin(
    X: Array, sign: Floats, intercept: bool, tol: float, max_iter: int
) -> tuple[Nearest, Bracket, Certificate]:
    """The direction and the convex combination of samples, the bracket that they prove, and its certificate."""
    # distances do not depend on the origin, but rounding does; the judge reads the uncentred rows
    near = X - X.mean(axis=0) if intercept and not is_sparse(X) else X
    nearest = nearest_point(near, sign, intercept, tol, max_iter)
    bounds, certificate = certify_margin(X, sign, nearest.direction, nearest.rows, nearest.shares, intercept, tol)
    return nearest, bounds, certificate
