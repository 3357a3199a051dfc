"""Several models, tuned and evaluated by nested cross-validation: ours by `tenfold.selection.nested`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ALPHAS = np.logspace(-2, 4, 20)
CS = np.logspace(-4, 4, 20)
LASSO = np.logspace(-3, 0, 30)
NEIGHBOURS = list(range(1, 31))
SMOOTHING = np.logspace(-9, 0, 4)
OUTER = 5
SCORES = {"classes": "accuracy", "numbers": "neg_mean_squared_error"}


def loss(task: str, scores: Any) -> Any:
    """The error rate, or the mean squared error."""
    return 1.0 - scores if task == "classes" else -scores


class Zoo:
    """Candidates for classes or numbers; `losses_` has the losses of each in the outer folds."""

    def __init__(self, *, task: str) -> None:
        self.task = task

    def fit(self, X: Any, y: Any) -> Zoo:
        from tenfold.selection import nested

        zoo = [(name, make_pipeline(StandardScaler(), model), grid) for name, model, grid in self._candidates()]
        # no candidate is given up, so that the work is the same
        result = nested(zoo, X, y, outer=OUTER, scoring=SCORES[self.task], abandon=False)
        self.losses_ = {one.name: loss(self.task, one.scores) for one in result.results}
        return self

    def _candidates(self) -> list[tuple[str, Any, Any]]:
        import tenfold

        if self.task == "numbers":
            return [
                ("ridge", tenfold.RidgeCV(ALPHAS), None),
                ("lasso", tenfold.LassoCV(alphas=LASSO), None),
                ("elastic net", tenfold.ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=LASSO), None),
                ("neighbours", tenfold.KNeighborsCV(NEIGHBOURS), None),
            ]
        logistic = tenfold.LogisticRegressionCV(
            Cs=CS, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
        )
        return [
            ("ridge", tenfold.RidgeClassifierCV(ALPHAS), None),
            ("logistic", logistic, None),
            ("neighbours", tenfold.KNeighborsClassifierCV(NEIGHBOURS), None),
            ("naive Bayes", tenfold.GaussianNB(), {"gaussiannb__var_smoothing": SMOOTHING}),
        ]
