"""Sums behind the covariance of parameters: weighted outer products of samples, and slopes by sample and by group.

With z = [x - shift, 1] and u the slopes (m, t) of a row in its t raw predictions, its score is u * z, * the product of
Kronecker: t (p + 1) numbers, prediction after prediction with the intercept last in each.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, contiguous, is_numpy, is_sparse, like, namespace, on_host, some_rows
from tenfold.data import Block, resolve
from tenfold.losses.regression import Square
from tenfold.stats.derivatives import Params, away, derivatives

TILE_ENTRIES = 1 << 21  # entries of the scores of several predictions that are formed at a time: 16 MB
GROUPS_AT_ONCE = 64  # groups whose sums are one product on a device


def gram_of(block: Block, weight: Array, shift: Floats) -> Floats:
    """sum_i weight_i z z' (p + 1, p + 1), for weights (m,) of any sign in place of the block's own."""
    xp = namespace(weight)
    positive = xp.where(weight > 0, weight, xp.zeros_like(weight))
    total = _gram(block, positive, shift)
    return total if bool(xp.all(positive == weight)) else total - _gram(block, positive - weight, shift)


def _gram(block: Block, weight: Array, shift: Floats) -> Floats:
    """The Hessian of a square loss."""
    rows = replace(block, y=contiguous(block.y[:, :1]), weight=contiguous(weight))
    zero = Params(np.zeros((1, len(shift))), np.zeros(1))
    return np.asarray(resolve(derivatives(Square(), zero, 2, shift)(rows)).hessian)


def score_products(block: Block, u: Array, weight: Array, shift: Floats) -> Floats:
    """sum_i weight_i (u * z)(u * z)'."""
    t, k = u.shape[1], len(shift) + 1
    if t == 1:
        return gram_of(block, weight * u[:, 0] ** 2, shift)
    total, tile = np.zeros((t * k, t * k)), max(1, TILE_ENTRIES // (t * k))
    for start in range(0, u.shape[0], tile):
        part = slice(start, start + tile)
        scores = _scores(some_rows(block.X, part), u[part, :], shift)
        rows = Block(scores, scores[:, :1])
        total += gram_of(rows, weight[part], np.zeros(t * k))[:-1, :-1]
    return total


def _scores(X: Array, u: Array, shift: Floats) -> Array:
    """u * z (m, t (p + 1))."""
    X = away(X.toarray() if is_sparse(X) else X, shift)
    xp = namespace(X)
    z = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
    return xp.reshape(u[:, :, None] * z[:, None, :], (z.shape[0], -1))


@dataclass(frozen=True, slots=True)
class GroupedScores:
    """Numbers of groups (g,), in order, and the sums (g, t (p + 1)) of their samples' scores."""

    group: Integers
    sums: Floats

    def merge(self, other: "GroupedScores") -> "GroupedScores":
        group, place = np.unique(np.concatenate([self.group, other.group]), return_inverse=True)
        sums = np.zeros((len(group), self.sums.shape[1]))
        sums[place[: len(self.group)]] = self.sums
        sums[place[len(self.group) :]] += other.sums
        return GroupedScores(group, sums)


def sum_scores_by_group(block: Block, u: Array, weight: Array, shift: Floats) -> GroupedScores:
    """The sums of weight u * z over the samples of positive weight of each group."""
    assert block.group is not None
    number, positive = on_host(block.group), on_host(weight) > 0.0
    group = np.unique(number[positive])
    u = weight[:, None] * u
    if not (is_numpy(block.X) or is_sparse(block.X)):
        return GroupedScores(group, _sums_on_device(block, u, group, shift))
    place, at = np.searchsorted(group, number[positive]), np.flatnonzero(positive)
    parts = []
    for slopes in u.T:
        chosen = sparse.csr_array((slopes[at], (place, at)), shape=(len(group), len(u)))
        sums, total = chosen @ block.X, np.asarray(chosen.sum(axis=1)).reshape(-1, 1)
        sums = sums.toarray() if is_sparse(sums) else sums
        parts.append(np.hstack([sums - total * shift, total]))
    return GroupedScores(group, np.hstack(parts))


def _sums_on_device(block: Block, u: Array, group: Integers, shift: Floats) -> Floats:
    xp, number = namespace(u), block.group
    assert number is not None
    scores, sums = _scores(block.X, u, shift), []
    for start in range(0, len(group), GROUPS_AT_ONCE):
        chosen = like(group[start : start + GROUPS_AT_ONCE], number)
        member = xp.astype(number[:, None] == chosen, xp.float64)
        sums.append(on_host(xp.matmul(member.T, scores)))
    return np.concatenate([np.zeros((0, scores.shape[1])), *sums])
