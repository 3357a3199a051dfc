"""The Laplace approximation of a Gaussian process for two classes: its mode, its evidence, and the gradient of that.

With targets t in {0, 1}, y = 2 t - 1, pi = sigmoid(f) and W = diag(pi (1 - pi)), the mode maximises over f = K a
    psi = -1/2 a'K a - sum_i log(1 + exp(-y_i f_i)),
by Newton's method with a line search, so that it converges for every amplitude of the kernel. With
B = I + W^1/2 K W^1/2,
    Z = psi - 1/2 log det B
is the approximate log evidence. In the derivatives of K it is contracted, tile by tile, with one matrix
(Rasmussen and Williams 2006, algorithm 5.1, in other order): with g = t - pi, R = W^1/2 B^-1 W^1/2 and
s = -1/2 (1 - diag B^-1) (1 - 2 pi), the part of the mode that moves with the hyper-parameters,
    dZ/dtheta_j = sum_uv A_uv dK_uv/dtheta_j,   A = 1/2 (g g' - R) + 1/2 (q g' + g q'),   q = s - R K s.
The model of the curvature is that of regression at the mode, B_jk = 1/2 (dK_j g)' R (dK_k g).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from tenfold.arrays import EPS, Floats
from tenfold.kernels.covariance import Covariance
from tenfold.kernels.evaluation import multiply_matrices
from tenfold.linear_algebra import add_outer, cholesky, dot, invert_positive, solve_lower
from tenfold.machine import poll
from tenfold.plans.gaussian_process_evidence import MAX_PRODUCTS
from tenfold.solvers.bounded_newton import Reading

SHORTEST_STEP = 1e-10  # of the line search

MODE_TOLERANCE = 1e-13  # of psi, relative to it: an expected increase that ends Newton's method


@dataclass(frozen=True)
class Mode:
    """The mode: f and a with f = K a, probabilities of the second class, the factor of B, and the log evidence."""

    f: Floats
    dual: Floats
    probabilities: Floats
    L: Floats
    evidence: float
    converged: bool

    @property
    def root(self) -> Floats:
        """W^1/2, the roots of the curvatures of the likelihood."""
        return np.sqrt(self.probabilities * (1.0 - self.probabilities))


def find_mode(K: Floats, t: Floats, start: Floats | None, max_iter: int) -> Mode | None:
    """The mode for a kernel matrix and targets t (0.0 or 1.0), from dual coefficients `start`; None where B is not
    positive definite, which a kernel with a negative eigenvalue may cause.
    """
    a = np.zeros(len(t)) if start is None else start
    f = _multiply(K, a)
    if start is not None and not _psi(a, f, t) >= -len(t) * np.log(2.0):
        a, f = np.zeros(len(t)), np.zeros(len(t))
    for step in range(max_iter + 1):
        poll()
        pi = expit(f)
        root = np.sqrt(pi * (1.0 - pi))
        L = _factor(K, root)
        if L is None:
            return None
        b = root * root * f + (t - pi)
        inner = solve_lower(L, (root * _multiply(K, b))[:, None])
        da = b - root * solve_lower(L, inner, transposed=True)[:, 0] - a
        df = _multiply(K, da)
        expected = dot(t - pi - a, df)  # the slope of psi along the step
        converged = expected <= MODE_TOLERANCE * max(abs(_psi(a, f, t)), 1.0)
        length = 0.0 if converged or step == max_iter else _search(a, f, da, df, t, expected)
        if length == 0.0:
            return _finish(K, t, pi, L, converged or step < max_iter)
        a, f = a + length * da, f + length * df
    raise AssertionError("the last step ends the loop")


def _finish(K: Floats, t: Floats, pi: Floats, L: Floats, converged: bool) -> Mode:
    """The mode whose dual coefficients are those of its probabilities, t - pi."""
    dual = t - pi
    f = _multiply(K, dual)
    evidence = _psi(dual, f, t) - float(np.sum(np.log(np.diag(L))))
    return Mode(f, dual, pi, L, evidence, converged)


def _multiply(K: Floats, v: Floats) -> Floats:
    return np.asarray(multiply_matrices(K, v[:, None])[:, 0])


def _factor(K: Floats, root: Floats) -> Floats | None:
    B = K * root
    B *= root[:, None]
    B.flat[:: len(K) + 1] += 1.0
    L = cholesky(B)
    return None if L is None or not np.isfinite(np.diag(L)).all() else L


def _psi(a: Floats, f: Floats, t: Floats) -> float:
    return -0.5 * dot(a, f) - float(np.sum(np.logaddexp(0.0, (1.0 - 2.0 * t) * f)))


def _search(a: Floats, f: Floats, da: Floats, df: Floats, t: Floats, slope: float) -> float:
    """The first of the steps 1, 1/2, 1/4, ... that increases psi enough; zero where rounding hides an increase."""
    here, step = _psi(a, f, t), 1.0
    while step > SHORTEST_STEP:
        there = _psi(a + step * da, f + step * df, t)
        if there >= here + 1e-4 * step * slope - 4.0 * EPS * abs(here):
            return step
        step *= 0.5
    return 0.0


@dataclass
class LaplaceEvidence:
    """The negative log evidence of the hyper-parameters for samples X and targets t (0.0 or 1.0)."""

    covariance: Covariance
    X: Any
    t: Floats
    max_iter: int
    start: Floats | None = None
    """Dual coefficients from which the first mode is searched; `warm` has later ones begin at the last mode."""
    warm: bool = True

    @property
    def y(self) -> Floats:
        """The targets as a column."""
        return self.t[:, None]

    @property
    def scale(self) -> float:
        return float(len(self.t))

    def mode(self, theta: Floats) -> Mode | None:
        """The mode at hyper-parameters."""
        return find_mode(self.covariance.at(theta).block(self.X), self.t, self.start, self.max_iter)

    def value(self, theta: Floats) -> float:
        """The negative evidence alone."""
        mode = self.mode(theta)
        return np.inf if mode is None else -mode.evidence

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """The log evidence and its gradient; minus infinity and zeros where there is none."""
        here = self.read(theta, curvature=False)
        return -here.value, -here.gradient

    def read(self, theta: Floats, curvature: bool = True) -> Reading:
        """The negative evidence with its gradient and a model of its Hessian."""
        covariance = self.covariance.at(theta)
        K = covariance.block(self.X)
        mode = find_mode(K, self.t, self.start, self.max_iter)
        if mode is None or not np.isfinite(mode.evidence):
            return Reading(np.inf, np.zeros(len(theta)), None)
        if self.warm:
            self.start = mode.dual
        R = invert_positive(mode.L)  # in Fortran's order, and symmetric
        kept, root = 1.0 - np.diag(R), mode.root
        R *= root
        R *= root[:, None]
        s = -0.5 * kept * (1.0 - 2.0 * mode.probabilities)
        q = s - _multiply(R.T, _multiply(K, s))
        del K
        B = None
        if curvature and len(theta) <= MAX_PRODUCTS:
            products = covariance.multiply_gradient(self.X, mode.dual[:, None])[:, :, 0]
            B = 0.5 * multiply_matrices(products, multiply_matrices(R.T, products.T))
        R *= -0.5
        add_outer(R, 0.5 * mode.dual, mode.dual + q)
        add_outer(R, 0.5 * q, mode.dual)
        gradient = -covariance.weighted_gradient(self.X, R.T)
        return Reading(-mode.evidence, gradient, B)

    def part(self, every: int) -> "LaplaceEvidence":
        """The evidence of one sample in `every`."""
        return replace(self, X=self.X[::every], t=np.ascontiguousarray(self.t[::every]), start=None)

    def scale_shift(self, theta: Floats) -> Floats:
        """No shift: classes have no scale."""
        return np.zeros(len(theta))
