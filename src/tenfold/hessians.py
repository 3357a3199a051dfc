"""Factors of Hessians: regular ones by Cholesky, singular ones by their pseudo-inverse, small ones in stacks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, lapack, qr

from tenfold import _core
from tenfold.arrays import EPS, TINY, Floats, NotFinite
from tenfold.machine import one_blas_thread

STACKED_COEFFICIENTS = 64  # up to here the call of a factor costs more than its work

PIVOT = 1e-14  # a Hessian is regular where each pivot exceeds this part of its diagonal entry

RANK_TOL = 1e-13  # eigenvalues of a Hessian with unit diagonal up to here are rounding


class Factor(Protocol):
    """A factored Hessian."""

    @property
    def least(self) -> float:
        """The least squared pivot: the curvature that a column adds to those before it."""
        ...

    def solve(self, g: Floats) -> Floats:
        """H^-1 g, for one g or for each of several (m, q)."""
        ...


@dataclass(frozen=True)
class Regular:
    """Cholesky factor of the Hessian scaled to unit diagonal; `known` is zero for coordinates whose curvature is
    rounding, in which no step is taken.
    """

    lower: Floats
    scale: Floats
    known: Floats

    @property
    def least(self) -> float:
        return float(np.min((self.lower.diagonal() * self.scale) ** 2))

    def solve(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(lapack.dpotrs(self.lower, (self.known * g / self.scale).T, lower=1)[0].T / self.scale)


@dataclass(frozen=True)
class Singular:
    """A root of the pseudo-inverse: steps have no component in the null space, so that from zero the minimiser of least
    norm results.
    """

    root: Floats
    least: float = 0.0

    def solve(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(g @ self.root @ self.root.T)


@dataclass(frozen=True)
class StackedFactor:
    """One of several factors in one array (m, q, q)."""

    stack: Floats
    number: int

    @property
    def least(self) -> float:
        return float(np.min(self.stack[self.number].diagonal() ** 2))

    def solve(self, g: Floats) -> Floats:
        gradients = np.atleast_2d(g)
        which = np.full(len(gradients), self.number)
        return _core.solve_stack(self.stack, which, np.ascontiguousarray(gradients)).reshape(g.shape)


def stack_factors(factors: Sequence[Factor]) -> list[Factor]:
    """The same factors, those of few coefficients in one stack, which one call solves."""
    plain = {
        id(one): one
        for one in factors
        if isinstance(one, Regular) and len(one.scale) <= STACKED_COEFFICIENTS and one.known.all()
    }
    if len(plain) < 2:
        return list(factors)
    stack = np.array([one.scale[:, None] * one.lower for one in plain.values()])
    members = {key: StackedFactor(stack, k) for k, key in enumerate(plain)}
    return [members.get(id(one), one) for one in factors]


def solve_each(factors: Sequence[Factor], g: Floats) -> Floats:
    """H^-1 g (m, q), each factor with its own g."""
    solutions = np.empty_like(g)
    alone = [k for k, one in enumerate(factors) if not isinstance(one, StackedFactor)]
    stacks = {id(one.stack): one.stack for one in factors if isinstance(one, StackedFactor)}
    for key, stack in stacks.items():
        own = [k for k, one in enumerate(factors) if isinstance(one, StackedFactor) and id(one.stack) == key]
        which = np.array([factors[k].number for k in own])  # type: ignore[attr-defined]
        solutions[own] = _core.solve_stack(stack, which, np.ascontiguousarray(g[own]))
    # one factor may serve several consecutive problems
    runs = [0, *(j for j in range(1, len(alone)) if factors[alone[j]] is not factors[alone[j - 1]]), len(alone)]
    for first, last in pairwise(runs) if alone else ():
        solutions[alone[first:last]] = factors[alone[first]].solve(g[alone[first:last]])
    return solutions


def factor_each(hessians: Floats, shift: Floats) -> list[Factor]:
    """`factor_linear` of each of several Hessians (m, q, q), those of few coefficients in one stack."""
    return stack_factors([factor_linear(one, shift) for one in hessians])


def factor(hessian: Floats | None, noise: Floats | float = 0.0) -> Factor:
    """Factor a Hessian (q, q); a curvature of at most `noise` is rounding, and no step is taken in its coordinate."""
    if hessian is None or not np.isfinite(hessian).all():
        raise NotFinite
    diagonal = hessian.diagonal()
    known = (diagonal > TINY) & (diagonal > noise)
    d = np.sqrt(np.where(known, diagonal, 1.0))
    scaled = np.asfortranarray(hessian / d / d[:, None])
    if not known.all():
        scaled[~known, :] = scaled[:, ~known] = 0.0
        scaled[~known, ~known] = 1.0
    with one_blas_thread:
        lower, info = lapack.dpotrf(scaled, lower=1)
    if info == 0 and np.diag(lower).min() ** 2 > PIVOT:
        return Regular(lower, d, known.astype(np.float64))
    scaled[~known, ~known] = 0.0
    return Singular(_root_of_inverse(scaled, d))


def factor_linear(hessian: Floats | None, shift: Floats) -> Factor:
    """Factor the Hessian of a linear model about `shift` (p,), or of several classes, p + 1 coefficients each.

    A constant feature about its mean is rounding. A change of all classes alike changes no loss: the Hessian is zero in
    these directions, and a penalty on the mean of the classes makes it regular.
    """
    if hessian is None or not np.isfinite(hessian).all():
        raise NotFinite
    hessian = _without_common(hessian, len(shift) + 1)
    by_class = hessian.diagonal().reshape(-1, len(shift) + 1)
    noise = np.column_stack([by_class[:, -1:] * (4.0 * EPS * shift) ** 2, np.zeros(len(by_class))])
    return factor(hessian, noise.ravel())


def _root_of_inverse(scaled: Floats, d: Floats) -> Floats:
    """A root of the pseudo-inverse of a Hessian with columns divided by d; negative curvature counts as positive."""
    with one_blas_thread:
        values, vectors = eigh(scaled, check_finite=False)
        flat = np.abs(values) <= RANK_TOL
        root = vectors[:, ~flat] / np.sqrt(np.abs(values[~flat])) / d[:, None]
        if flat.any():
            null_space = qr(vectors[:, flat] / d[:, None], mode="economic")[0]
            root -= null_space @ (null_space.T @ root)
    return np.asarray(root)


def _without_common(hessian: Floats, k: int) -> Floats:
    """The Hessian of several classes, k coefficients each, with a penalty on the mean of those that have none."""
    K = len(hessian) // k
    if K == 1:
        return hessian
    regularised = hessian.reshape(K, k, K, k).copy()
    own, common = np.einsum("cjcj->j", regularised), np.einsum("cjlj->j", regularised)
    each = np.flatnonzero(common <= 1e-9 * own)
    regularised[:, each, :, each] += own[each, None, None] / K**2
    return regularised.reshape(K * k, K * k)
