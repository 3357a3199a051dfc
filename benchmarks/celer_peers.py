"""celer's classes and its path under the names and parameters of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from celer import Lasso, LassoCV, celer_path

__all__ = ["Lasso", "LassoCV", "lasso_path"]


def lasso_path(X: Any, y: Any, *, alphas: int, tol: float, max_iter: int) -> tuple[Any, Any, Any]:
    """scikit-learn's grid; `max_iter` counts working sets here. Compiled loops want columns in a row."""
    X = np.asfortranarray(X)
    top = np.max(np.abs(X.T @ y)) / len(y)
    grid = top * np.logspace(0.0, -3.0, alphas)
    return celer_path(X, y, "lasso", alphas=grid, tol=tol, max_iter=min(max_iter, 1000))
