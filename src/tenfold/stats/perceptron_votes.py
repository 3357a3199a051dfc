"""The votes of a voted perceptron: linear models, each the one before plus a multiple of a sample."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tenfold.arrays import Array, Floats, Integers, contiguous, is_sparse
from tenfold.stats.derivatives import Params, forward

CHUNK_SCORES = 1 << 22  # scores in memory at a time: 32 MiB


@dataclass(frozen=True)
class Voters:
    """Model k is model k - 1 plus step_k times a sample for class `up_k` and minus it for `down_k`; with two classes it
    has one weight vector, and step_k is signed. It has `votes_k` votes.

    X (m, p) dense or CSR; row (k,) says which of them each model adds; step, up, down and votes (k,).
    """

    X: Array
    row: Integers
    step: Floats
    up: Integers
    down: Integers
    votes: Floats
    classes: int
    intercept: bool

    def shares(self, X: Array) -> Floats:
        """The fraction of the votes for each class, (n, classes); a tie of two classes is halved."""
        n, k = X.shape[0], len(self.step)
        total = float(self.votes.sum())
        if k == 0 or total == 0.0:
            return np.full((n, self.classes), 1.0 / self.classes)
        width = k * (1 if self.classes == 2 else self.classes)
        length = max(1, CHUNK_SCORES // width)
        parts = [self._shares(X[i : i + length]) for i in range(0, n, length)]
        return (np.concatenate(parts) if parts else np.zeros((0, self.classes))) / total

    def _shares(self, X: Array) -> Floats:
        z = self._products(X)[:, self.row] * self.step
        if self.classes == 2:
            sign = np.sign(np.cumsum(z, axis=1))
            difference = np.sum(sign * self.votes, axis=1)
            total = float(self.votes.sum())
            return np.column_stack([total - difference, total + difference]) / 2.0
        scores = np.zeros((self.classes, *z.shape))
        each = np.arange(len(self.step))
        scores[self.up, :, each] += z.T
        scores[self.down, :, each] -= z.T
        winner = np.argmax(np.cumsum(scores, axis=2), axis=0)
        return np.stack([np.sum((winner == c) * self.votes, axis=1) for c in range(self.classes)], axis=1)

    def _products(self, X: Array) -> Floats:
        """Inner products (n, m) of the samples with those of the updates, plus one for the intercept."""
        one = 1.0 if self.intercept else 0.0
        if is_sparse(self.X):
            product = sparse.csr_array(X, dtype=np.float64) @ self.X.T.astype(np.float64)
            return np.asarray(product.todense()) + one
        coef = contiguous(np.asarray(self.X, dtype=np.float64))
        return forward(contiguous(X), Params(coef, np.full(coef.shape[0], one)))


def vote_difference(shares: Floats) -> Floats:
    """Scores from fractions of votes: one for two classes, positive where the second has more."""
    return shares if shares.shape[1] > 2 else shares[:, 1:] - shares[:, :1]
