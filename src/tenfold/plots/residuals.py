"""Residual plots."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, name_of

KINDS = ("residual_vs_predicted", "actual_vs_predicted")


@dataclass
class ResidualDisplay(Display):
    """Residuals against predictions, or targets against predictions.

    Parameters
    ----------
    y_true : ndarray of shape (n,)
        The targets.
    y_pred : ndarray of shape (n,)
        The predictions.
    name : str, default=""
        Name of the estimator.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        Targets minus predictions.
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

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
        """The data alone, from targets `y_true` (n,) and predictions `y_pred` (n,); `name` is that of the
        estimator.
        """
        target, predicted = (
            check_array(values, ensure_2d=False, dtype=np.float64, input_name=word)
            for values, word in ((y_true, "y_true"), (y_pred, "y_pred"))
        )
        check_consistent_length(target, predicted)
        if target.shape != predicted.shape or target.ndim != 1:
            raise ValueError(
                f"Targets and predictions must be one column each; got {target.shape} and {predicted.shape}."
            )
        return cls(target, predicted, name)

    @classmethod
    def from_predictions(cls, y_true: Any, y_pred: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Plot from targets and predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Targets.
        y_pred : array-like of shape (n,)
            Predictions.
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        **settings : keyword arguments
            `kind` ("residual_vs_predicted", or "actual_vs_predicted"), `subsample` (1000), how many samples are drawn
            at most, `random_state` (0), its seed; all others go to matplotlib's `scatter`.

        Returns
        -------
        display : ResidualDisplay
            Targets and predictions.
        """
        return cls.of(y_true, y_pred).plot(ax, **settings)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Plot for a fitted estimator and samples that it has not seen.

        Parameters
        ----------
        estimator : fitted estimator
            The model.
        X : array-like of shape (n, n_features)
            Samples.
        y : array-like of shape (n,)
            Their targets.
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        **settings : keyword arguments
            `kind` ("residual_vs_predicted", or "actual_vs_predicted"), `subsample` (1000), how many samples are drawn
            at most, `random_state` (0), its seed; all others go to matplotlib's `scatter`.

        Returns
        -------
        display : ResidualDisplay
            Targets and predictions.
        """
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
        """Plot the errors against the predictions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        kind : {"residual_vs_predicted", "actual_vs_predicted"}, default="residual_vs_predicted"
            Whether targets minus predictions are drawn, or targets.
        subsample : int, default=1000
            How many samples are drawn at most; None for all.
        random_state : int, RandomState instance or None, default=0
            Seed of the subsample.
        **settings : keyword arguments
            Go to matplotlib's `scatter`.

        Returns
        -------
        display : ResidualDisplay
            Targets and predictions.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}.")
        self.ax_, self.figure_ = get_axes(ax)
        rows = np.arange(len(self.y_true))
        if subsample is not None and len(rows) > subsample:
            rows = np.sort(check_random_state(random_state).choice(rows, subsample, replace=False))
        actual = kind == "actual_vs_predicted"
        ordinate = self.y_true if actual else self.residuals
        self.ax_.scatter(self.y_pred[rows], ordinate[rows], **{"s": 12, "alpha": 0.6, **settings})
        ends = np.array([np.min(self.y_pred), np.max(self.y_pred)])
        self.ax_.plot(ends, ends if actual else np.zeros(2), color="0.4", linestyle="--", linewidth=1)
        label(self.ax_, "predicted", "target" if actual else "target minus predicted", self.name)
        return self
