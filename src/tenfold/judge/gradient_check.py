"""Gradients and Hessians that a caller writes, against differences of the function.

Along a direction d the derivative g'd is compared with the quotients

    forward    (f(x + h d) - f(x)) / h             error of order h, and EPS |f| / h by rounding,
    symmetric  (f(x + h d) - f(x - h d)) / 2h      error of order h^2, and the same rounding (Seeger 3.4.1).

Which h is best is not known beforehand and must not be chosen by the derivative that is to be checked: it is the one
whose symmetric quotient differs least from those at the lengths beside it, and that difference is its error estimate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenfold.arrays import EPS, TINY, Floats, Integers
from tenfold.objectives import differences
from tenfold.objectives.function import call

LENGTHS = np.logspace(-1.0, -12.0, 23)  # of the steps, in units of max(1, |x_j|)
UNDECIDED = 1e-3  # error estimate, relative to the gradient, above which nothing is decided
KINK = 1e-2  # jump of the slope, relative to the gradient, that counts as a kink
TRUST = 10.0  # an error of so many error estimates is no mistake
STATIONARY = 1e-3  # of slopes at some distance, that is the unit where the gradient is smaller
INVISIBLE = 1e6 * EPS  # of the value: a slope that differences cannot tell from zero
NAMED = 5  # worst coordinates that are named
ALL_COORDINATES = 200  # up to so many all coordinates are compared, even where all directions agree


@dataclass(frozen=True)
class GradientCheck:
    """A gradient compared with differences of its function.

    Attributes
    ----------
    ok : bool
        Whether the derivatives along all directions (and coordinates) agree with the differences.
    error : float
        The largest difference along a random direction, relative to the gradient.
    tol : float
        The relative difference that is allowed; one within the error estimate of the differences is allowed, too.
    gradient : ndarray of shape (q,)
        The gradient that was checked.
    numerical : ndarray of shape (q,) or None
        Symmetric differences along the coordinates; None where coordinates were too many and the directions agree.
    tolerances : ndarray of shape (q,) or None
        The differences that are allowed along the coordinates: `tol` of the derivative, or ten error estimates.
    directional_errors : ndarray of shape (m,)
        The difference along each random direction, relative to the gradient.
    estimated_errors : ndarray of shape (m,)
        The estimates of the errors of the differences themselves, likewise.
    kinks : int
        Directions along which slopes on both sides of x differ.
    lengths : ndarray of shape (k,)
        Lengths of the steps, in units of max(1, |x_j|).
    forward, symmetric : ndarray of shape (k,)
        For each length the median difference of the quotients, relative to the gradient: a V with slopes 1 or 2 on its
        right side, by the length, and -1 on its left, by rounding. A curve that levels off is a wrong gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_gradient
    >>> check = check_gradient(lambda x: x @ x, lambda x: 2.0 * x, np.array([1.0, 3.0]))
    >>> check.numerical.round(6), int(check.kinks)
    (array([2., 6.]), 0)
    """

    ok: bool
    error: float
    tol: float
    gradient: Floats
    numerical: Floats | None
    tolerances: Floats | None
    directional_errors: Floats
    estimated_errors: Floats
    kinks: int
    lengths: Floats
    forward: Floats
    symmetric: Floats

    @property
    def undecided(self) -> bool:
        """Whether the differences are too inaccurate to decide."""
        return bool(np.max(self.estimated_errors, initial=0.0) > UNDECIDED)

    @property
    def worst(self) -> Integers:
        """The coordinates that differ by more than is allowed, the worst first, at most five of them."""
        if self.numerical is None or self.tolerances is None:
            return np.zeros(0, dtype=np.intp)
        differences = np.abs(self.gradient - self.numerical)
        order = np.argsort(-differences, kind="stable")
        return order[~(differences[order] <= self.tolerances[order])][:NAMED]

    def explain(self, names: Sequence[str] | None = None) -> str:
        """The result in sentences; `names` are those of the coordinates, by default x[0], x[1], ..."""
        count = len(self.directional_errors)
        words = [
            f"Along {count} random directions gradient and symmetric differences differ by at most {self.error:.2g}, "
            f"relative to the gradient; allowed {self.tol:.2g}."
        ]
        if self.undecided:
            words.append(
                "The differences themselves are not accurate enough to decide: the function is noisy, jumps, or "
                "changes on a scale much smaller than 1. Scale the coordinates, or compute the function in float64."
            )
        if self.kinks:
            words.append(f"Along {self.kinks} of them the slope jumps at x: a kink, where there is no gradient.")
        if not self.ok and not self.undecided and not self.kinks:
            words.append("The gradient is wrong.")
        for j in self.worst:
            assert self.numerical is not None
            name = names[j] if names is not None else f"x[{j}]"
            words.append(f"{name}: gradient {self.gradient[j]:.6g}, differences {self.numerical[j]:.6g}.")
        return " ".join(words)


def check_gradient(
    fun: Callable[[Floats], Any],
    grad: Callable[[Floats], Any],
    x: Any,
    *,
    directions: int = 30,
    tol: float = 1e-6,
    random_state: int = 0,
) -> GradientCheck:
    """Compare a gradient with differences of its function, along random directions and the coordinates.

    Parameters
    ----------
    fun : callable
        The function: from x of shape (q,) to a number.
    grad : callable
        Its gradient: from x to an array of shape (q,).
    x : array-like of shape (q,)
        Where they are compared. A wrong gradient may agree at special points such as zero: take points at random.
    directions : int, default=30
        The number of random directions.
    tol : float, default=1e-6
        The difference that is allowed, relative to the gradient.
    random_state : int, default=0
        The seed of the directions.

    Returns
    -------
    GradientCheck
        Whether they agree, the errors by the length of the step, and the coordinates that differ most.

    Notes
    -----
    46 values of the function a direction, and as many a coordinate where there are at most 200 or where some direction
    differs. A mistake of a relative size below `tol` is not seen. Seeger, section 3.4.1; Rosasco, section 8.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_gradient
    >>> x = np.array([0.5, -1.0, 2.0])
    >>> check_gradient(lambda x: np.sum(np.sin(x)), np.cos, x).ok
    True
    >>> wrong = check_gradient(lambda x: np.sum(np.sin(x)), lambda x: np.cos(x) * [1, 1, 1.01], x)
    >>> wrong.ok, wrong.worst
    (False, array([2]))
    """
    x = _as_point(x)
    if directions < 1:
        raise ValueError(f"directions must be at least 1; got {directions}.")

    def value(at: Floats) -> float:
        return float(np.asarray(fun(at.copy()), dtype=np.float64).reshape(()))

    g = call(grad, x, (len(x),), "grad", "the gradient")
    units = differences.units(x)
    random = np.random.default_rng(random_state).standard_normal((directions, len(x)))
    random *= units
    random /= np.linalg.norm(random / units, axis=1, keepdims=True) / np.sqrt(len(x))
    rows = [_quotients(value, x, d) for d in random]
    slopes = random @ g
    best = np.array([one.derivative for one in rows])
    # |g'd| has the mean square sum_j (g_j units_j)^2 over such directions
    sizes = [float(np.sqrt(np.mean(some**2))) for some in (best, slopes)]
    nearby = float(np.median([one.nearby for one in rows]))
    scale = max(*sizes, STATIONARY * nearby, INVISIBLE * abs(value(x)), TINY)
    errors = np.abs(best - slopes) / scale
    estimates = np.array([one.error for one in rows]) / scale
    kinks = sum(one.has_kink(scale) for one in rows)
    agree = bool(np.all(errors <= np.maximum(tol, np.minimum(TRUST * estimates, UNDECIDED))))
    agree = agree and bool(np.all(estimates <= UNDECIDED)) and kinks == 0 and bool(np.isfinite(errors).all())
    numerical = tolerances = None
    if len(x) <= ALL_COORDINATES or not agree:
        columns = [_quotients(value, x, d) for d in np.diag(units)]
        numerical = np.array([one.derivative for one in columns]) / units
        tolerances = TRUST * np.array([one.error for one in columns]) / units
        tolerances = np.maximum(tolerances, tol * np.maximum(np.abs(numerical), UNDECIDED * scale / units))
        agree = agree and bool(np.all(np.abs(numerical - g) <= tolerances))
    with np.errstate(invalid="ignore"):
        forward = np.median([np.abs(one.forward - s) for one, s in zip(rows, slopes, strict=True)], axis=0) / scale
        symmetric = np.median([np.abs(one.symmetric - s) for one, s in zip(rows, slopes, strict=True)], axis=0) / scale
    error = float(np.max(errors)) if np.isfinite(errors).all() else np.inf
    return GradientCheck(
        agree, error, tol, g, numerical, tolerances, errors, estimates, kinks, LENGTHS, forward, symmetric
    )


def check_hessian(
    grad: Callable[[Floats], Any],
    hess: Callable[[Floats], Any],
    x: Any,
    *,
    directions: int = 30,
    tol: float = 1e-6,
    random_state: int = 0,
) -> GradientCheck:
    """Compare a Hessian with differences of the gradient: that of u'grad for random u is the Hessian times u.

    Parameters
    ----------
    grad : callable
        The gradient: from x of shape (q,) to an array of shape (q,). Check it first, by `check_gradient`.
    hess : callable
        The Hessian: from x to an array of shape (q, q).
    x : array-like of shape (q,)
        Where they are compared.
    directions : int, default=30
        The number of random directions.
    tol : float, default=1e-6
        The difference that is allowed, relative to the product with the Hessian.
    random_state : int, default=0
        The seed of u and of the directions.

    Returns
    -------
    GradientCheck
        The comparison of H u with the differences of u'grad. Of a Hessian that is not symmetric, `ok` is False.

    Notes
    -----
    As `check_gradient`, with gradients in place of values. Entries of a wrong Hessian hide in H u for special u alone.
    Seeger, section 3.4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import check_hessian
    >>> check_hessian(np.cos, lambda x: np.diag(-np.sin(x)), np.array([0.5, -1.0])).ok
    True
    """
    x = _as_point(x)
    H = call(hess, x, (len(x), len(x)), "hess", "the Hessian")
    u = np.random.default_rng(random_state).standard_normal(len(x))
    result = check_gradient(
        lambda at: float(u @ call(grad, at, (len(x),), "grad", "the gradient")),
        lambda _: H @ u,
        x,
        directions=directions,
        tol=tol,
        random_state=random_state + 1,
    )
    if float(np.max(np.abs(H - H.T))) > tol * float(np.max(np.abs(H))):
        return GradientCheck(**{**vars(result), "ok": False})
    return result


@dataclass(frozen=True)
class _Quotients:
    """Quotients at all lengths with what rounding may do to them, and the derivative with its error estimate."""

    forward: Floats
    backward: Floats
    symmetric: Floats
    rounding: Floats
    derivative: float
    error: float

    @property
    def nearby(self) -> float:
        """The size of a slope at some distance."""
        sizes = np.abs([self.forward[0], self.backward[0]])
        return float(np.max(sizes)) if np.isfinite(sizes).all() else 0.0

    def has_kink(self, scale: float) -> bool:
        """Whether the slopes on both sides differ at the smallest length that rounding leaves precise."""
        precise = np.flatnonzero(self.rounding <= 0.1 * KINK * scale)
        return bool(precise.size) and abs(self.forward[precise[-1]] - self.backward[precise[-1]]) > KINK * scale


def _quotients(value: Callable[[Floats], float], x: Floats, d: Floats) -> _Quotients:
    with np.errstate(all="ignore"):
        here = value(x)
        ahead, behind = (np.array([value(x + sign * h * d) for h in LENGTHS]) for sign in (1.0, -1.0))
        forward, backward = (ahead - here) / LENGTHS, (here - behind) / LENGTHS
        symmetric = (ahead - behind) / (2.0 * LENGTHS)
        change = np.abs(np.diff(symmetric))
        rounding = (
            np.maximum(_resolution(here, ahead, behind), 2.0 * EPS * np.maximum(np.abs(ahead), np.abs(behind)))
            / LENGTHS
        )
        # the differences to the lengths beside it, and what rounding may do to a quotient
        error = np.maximum(change[:-1], change[1:]) + rounding[1:-1]
    if not np.isfinite(error).any():
        return _Quotients(forward, backward, symmetric, rounding, np.nan, np.inf)
    k = int(np.nanargmin(error))
    return _Quotients(forward, backward, symmetric, rounding, float(symmetric[k + 1]), float(error[k]))


def _resolution(here: float, ahead: Floats, behind: Floats) -> float:
    """The smallest change of values, where short steps change nothing: a function that was computed in float32 has one
    that float64 does not explain.
    """
    changes = np.abs(np.append(ahead, behind) - here)
    seen = changes[np.isfinite(changes) & (changes > 0.0)]
    return float(np.min(seen)) if seen.size and (changes == 0.0).any() else 0.0


def _as_point(x: Any) -> Floats:
    x = np.atleast_1d(np.asarray(x, dtype=np.float64))
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"x must be a vector of finite numbers; got an array of shape {x.shape}.")
    return x
