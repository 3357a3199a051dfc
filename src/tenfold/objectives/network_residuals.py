"""The square loss of a small multi-layer perceptron as half a sum of squares, for Levenberg and Marquardt.

F(x) = |r(x)|^2 / 2 with the residuals sqrt(weight_i / W) (z_i - y_i) of all samples and outputs, and sqrt(alpha / W) w
of all weights w that are penalised.
"""

import numpy as np

from tenfold.arrays import EPS, Array, Floats, is_sparse, wide
from tenfold.data import Rows
from tenfold.machine import require_memory, spend
from tenfold.objectives.function import SumOfSquares
from tenfold.objectives.network import Network


class NetworkResiduals(SumOfSquares):
    """The residuals (n k + q,) and their Jacobian (n k + q, q)."""

    noise = 4.0 * EPS

    def __init__(self, network: Network, rows: Rows, alpha: float) -> None:
        super().__init__(self._residuals, self._jacobian)
        self.network, self.alpha = network, alpha
        block = rows.whole()
        n, k, q = rows.shape[0], network.units[-1], network.size
        require_memory(
            f"The Jacobian of {n} samples by {q} weights", 24 * (n * k + q) * q, "Take another solver, or fewer units."
        )
        X: Array = block.X
        self.X = X.toarray().astype(np.float64) if is_sparse(X) else wide(X)
        self.y = wide(block.y)
        weight = np.ones(n) if block.weight is None else wide(block.weight)
        self.total = float(np.sum(weight))
        self.root = np.sqrt(weight / self.total)
        self.penalised = np.flatnonzero(network.decay(np.ones(q)))

    @property
    def readings(self) -> int:
        return self.calls["fun"]

    def _residuals(self, x: Floats) -> Floats:
        z = self.network.forward(self.X, self.network.split(x)).raw
        spend(float(len(self.X)) * len(x))
        errors = self.root[:, None] * (z - self.y)
        return np.concatenate([errors.ravel(), np.sqrt(self.alpha / self.total) * x[self.penalised]])

    def _jacobian(self, x: Floats) -> Floats:
        slopes = self.network.jacobian(self.X, self.network.split(x))
        spend(float(slopes.size))
        penalty = np.zeros((len(self.penalised), len(x)))
        penalty[np.arange(len(self.penalised)), self.penalised] = np.sqrt(self.alpha / self.total)
        return np.vstack([(self.root[:, None, None] * slopes).reshape(-1, len(x)), penalty])
