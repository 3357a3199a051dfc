"""skglm's classes under the names and parameters of the rows."""

from __future__ import annotations

from typing import Any

from skglm import Lasso, SparseLogisticRegression

__all__ = ["Lasso", "LogisticRegression"]


class LogisticRegression(SparseLogisticRegression):
    """An L1 penalty by C of the sum of the losses, in place of alpha beside their mean."""

    def __init__(self, *, C: float, l1_ratio: float, solver: str, tol: float = 1e-4, max_iter: int = 100) -> None:
        super().__init__(tol=tol, max_iter=max_iter)
        self.C, self.l1_ratio, self.solver = C, l1_ratio, solver

    def fit(self, X: Any, y: Any) -> LogisticRegression:
        self.alpha = 1.0 / (self.C * X.shape[0])
        super().fit(X.tocsc() if hasattr(X, "tocsc") else X, y)
        return self
