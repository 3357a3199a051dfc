"""Targets minus predictions."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import axes_of, label
from tenfold.plots.display import Display, name_of

KINDS = ("residual_vs_predicted", "actual_vs_predicted")


@dataclass
class ResidualDisplay(Display):
    """Errors of predictions.

    Parameters
    ----------
    y_true, y_pred : (n,) targets and predictions.
    name : of the estimator.

    Attributes
    ----------
    residuals : (n,) targets minus predictions.

    Examples
    --------
    >>> from tenfold.plots import ResidualDisplay
    >>> ResidualDisplay.of([1.0, 2.0], [1.5, 1.5]).residuals
    array([-0.5,  0.5])
    """

    y_true: Floats
    y_pred: Floats
    name: str = ""

    @property
    def residuals(self) -> Floats:
        return self.y_true - self.y_pred

    @classmethod
    def of(cls, y_true: Any, y_pred: Any, *, name: str = "") -> Self:
        """The numbers alone."""
        truth, said = (
            check_array(values, ensure_2d=False, dtype=np.float64, input_name=word)
            for values, word in ((y_true, "y_true"), (y_pred, "y_pred"))
        )
        check_consistent_length(truth, said)
        if truth.shape != said.shape or truth.ndim != 1:
            raise ValueError(f"Targets and predictions must be one column each; got {truth.shape} and {said.shape}.")
        return cls(truth, said, name)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Draw from targets and predictions; settings as in `plot`."""
        return cls.of(y_true, y_pred).plot(ax, **settings)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Draw for a fitted estimator and rows that it has not seen; settings as in `plot`."""
        check_is_fitted(estimator)
        return cls.of(y, estimator.predict(X), name=name_of(estimator)).plot(ax, **settings)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "residual_vs_predicted",
        subsample: int | None = 1000,
        random_state: Any = 0,
        **settings: Any,
    ) -> Self:
        """Draw on `ax`, or on new axes, at most `subsample` rows; settings go to matplotlib's `scatter`."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}.")
        self.ax_, self.figure_ = axes_of(ax)
        rows = np.arange(len(self.y_true))
        if subsample is not None and len(rows) > subsample:
            rows = np.sort(check_random_state(random_state).choice(rows, subsample, replace=False))
        actual = kind == "actual_vs_predicted"
        up = self.y_true if actual else self.residuals
        self.ax_.scatter(self.y_pred[rows], up[rows], **{"s": 12, "alpha": 0.6, **settings})
        ends = np.array([np.min(self.y_pred), np.max(self.y_pred)])
        self.ax_.plot(ends, ends if actual else np.zeros(2), color="0.4", linestyle="--", linewidth=1)
        label(self.ax_, "predicted", "target" if actual else "target minus predicted", self.name)
        return self
