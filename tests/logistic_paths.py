"""Data and rows for tests of paths of logistic models."""

import numpy as np

from tenfold.data import MemoryRows

SETTINGS = {"solver": "lbfgs", "tol": 1e-6, "max_iter": 100}


def problem(n=300, p=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 3.0
    z = X @ rng.standard_normal((p, classes)) + rng.gumbel(size=(n, classes))
    return X, np.argmax(z - z.mean(axis=0), axis=1)


def rows_of(X, number, classes, weight=None):
    y = np.where(number == 1, 1.0, -1.0) if classes == 2 else number.astype(np.float64)
    return MemoryRows(X, y[:, None], weight)
