"""What users do where a class does not choose by itself, in the shape of the classes that do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV


class LogisticRegressionCV:
    """A grid search over C, with the parameters of the class of this name that it needs."""

    def __init__(self, *, Cs: int, cv: int, scoring: str, tol: float = 1e-4, max_iter: int = 100, **_: Any) -> None:
        grid = {"C": np.logspace(-4, 4, Cs)}
        self.search = GridSearchCV(LogisticRegression(tol=tol, max_iter=max_iter), grid, cv=cv, scoring=scoring)

    def fit(self, X: Any, y: Any) -> LogisticRegressionCV:
        best = self.search.fit(X, y).best_estimator_
        self.coef_, self.intercept_, self.C_ = best.coef_, best.intercept_, best.C
        return self
