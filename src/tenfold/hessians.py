"""Hessians that are solved with: regular ones by Cholesky, singular ones by their pseudo-inverse, many side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import eigh, lapack, qr

from tenfold import _core
from tenfold.arrays import Floats, NotFinite
from tenfold.machine import one_blas_thread

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

FEW = 64
"""Up to so many coefficients a call costs more than what it does."""

PIVOT = 1e-14
"""A Hessian is regular where every column adds more than such a part of its curvature to those before it."""

RANK = 1e-13
"""Eigenvalues of a Hessian with unit diagonal are rounding up to this."""


class Factor(Protocol):
    """A Hessian that was made ready to be solved with."""

    @property
    def least(self) -> float:
        """The least curvature that a column adds to those before it."""
        ...

    def solve(self, g: Floats) -> Floats:
        """H^-1 g, for one g or for each of several (m, q)."""
        ...


@dataclass(frozen=True)
class Regular:
    """Cholesky factor of the Hessian with its columns scaled to unit diagonal; `known` is zero for columns that only
    hold rounding, which are left alone.
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
    """A factor of the pseudo-inverse: steps have no part in which the objective is flat, so that from zero the shortest
    of all minimisers is found.
    """

    root: Floats
    least: float = 0.0

    def solve(self, g: Floats) -> Floats:
        with one_blas_thread:
            return np.asarray(g @ self.root @ self.root.T)


@dataclass(frozen=True)
class Member:
    """One of many factors that lie side by side, (m, q, q)."""

    stack: Floats
    number: int

    @property
    def least(self) -> float:
        return float(np.min(self.stack[self.number].diagonal() ** 2))

    def solve(self, g: Floats) -> Floats:
        several = np.atleast_2d(g)
        which = np.full(len(several), self.number)
        return _core.solve_stack(self.stack, which, np.ascontiguousarray(several)).reshape(g.shape)


def side_by_side(factors: Sequence[Factor]) -> list[Factor]:
    """The same factors, those of few coefficients in one stack, which is solved with in one call."""
    plain = {id(one): one for one in factors if isinstance(one, Regular) and len(one.scale) <= FEW and one.known.all()}
    if len(plain) < 2:
        return list(factors)
    stack = np.array([one.scale[:, None] * one.lower for one in plain.values()])
    members = {key: Member(stack, k) for k, key in enumerate(plain)}
    return [members.get(id(one), one) for one in factors]


def solve_each(factors: Sequence[Factor], g: Floats) -> Floats:
    """H^-1 g (m, q) of each factor with its own g."""
    found = np.empty_like(g)
    alone = [k for k, one in enumerate(factors) if not isinstance(one, Member)]
    side = {id(one.stack): one.stack for one in factors if isinstance(one, Member)}
    for key, stack in side.items():
        own = [k for k, one in enumerate(factors) if isinstance(one, Member) and id(one.stack) == key]
        which = np.array([factors[k].number for k in own])  # type: ignore[attr-defined]
        found[own] = _core.solve_stack(stack, which, np.ascontiguousarray(g[own]))
    # the same factor may serve many in a row
    cuts = [0, *(j for j in range(1, len(alone)) if factors[alone[j]] is not factors[alone[j - 1]]), len(alone)]
    for first, last in pairwise(cuts) if alone else ():
        found[alone[first:last]] = factors[alone[first]].solve(g[alone[first:last]])
    return found


def factor_each(hessians: Floats, shift: Floats) -> list[Factor]:
    """`factor_linear` of each of several Hessians (m, q, q), those of few coefficients in one stack."""
    return side_by_side([factor_linear(one, shift) for one in hessians])


def factor(hessian: Floats | None, noise: Floats | float = 0.0) -> Factor:
    """Factor a Hessian (q, q); a curvature of at most `noise` is rounding, and its coordinate is left alone."""
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

    A constant feature about its mean is rounding. What is added to the predictions of all classes alike changes no
    loss: the Hessian is zero in these directions, and a penalty on the mean of the classes makes it regular.
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
        flat = np.abs(values) <= RANK
        root = vectors[:, ~flat] / np.sqrt(np.abs(values[~flat])) / d[:, None]
        if flat.any():
            along = qr(vectors[:, flat] / d[:, None], mode="economic")[0]
            root -= along @ (along.T @ root)
    return np.asarray(root)


def _without_common(hessian: Floats, k: int) -> Floats:
    """The Hessian of several classes, k coefficients each, with a penalty on the mean of those that have none."""
    K = len(hessian) // k
    if K == 1:
        return hessian
    lifted = hessian.reshape(K, k, K, k).copy()
    own, common = np.einsum("cjcj->j", lifted), np.einsum("cjlj->j", lifted)
    each = np.flatnonzero(common <= 1e-9 * own)
    lifted[:, each, :, each] += own[each, None, None] / K**2
    return lifted.reshape(K * k, K * k)
