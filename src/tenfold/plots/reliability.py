"""Reliability diagrams: predicted probabilities against observed frequencies."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, Integers
from tenfold.evaluation import clopper_pearson
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, name_of


@dataclass
class ReliabilityDisplay(Display):
    """Observed frequencies by predicted probability, in bins, each with its exact binomial interval.

    Parameters
    ----------
    prob_pred : ndarray of shape (b,)
        Mean predicted probability in each bin that has samples.
    prob_true : ndarray of shape (b,)
        Share of positive samples in it.
    low : ndarray of shape (b,)
        Lower end of the interval of that share.
    high : ndarray of shape (b,)
        Upper end of it.
    count : ndarray of int of shape (b,)
        Number of samples.
    name : str, default=""
        Name of the estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.plots import ReliabilityDisplay
    >>> y_prob = np.repeat([0.1, 0.9], 100)
    >>> y_true = np.r_[np.arange(100) < 12, np.arange(100) < 85]
    >>> display = ReliabilityDisplay.of(y_true, y_prob)
    >>> display.prob_true, bool(np.all((display.low < display.prob_pred) & (display.prob_pred < display.high)))
    (array([0.12, 0.85]), True)
    """

    prob_pred: Floats
    prob_true: Floats
    low: Floats
    high: Floats
    count: Integers
    name: str = ""

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        pos_label: Any = None,
        confidence: float = 0.95,
        name: str = "",
    ) -> Self:
        """The data alone, from true classes and predicted probabilities of the positive one.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True classes.
        y_prob : array-like of shape (n,)
            Predicted probabilities of the positive class.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of equally many samples.
        pos_label : label, default=None
            The positive class; None is the last.
        confidence : float, default=0.95
            Probability with which the intervals cover.
        name : str, default=""
            Name of the estimator.

        Returns
        -------
        display : ReliabilityDisplay
            The bins, with intervals.
        """
        y_true, y_prob = column_or_1d(y_true), column_or_1d(check_array(y_prob, ensure_2d=False, dtype=np.float64))
        check_consistent_length(y_true, y_prob)
        if np.min(y_prob) < 0.0 or np.max(y_prob) > 1.0:
            raise ValueError("y_prob must be probabilities, between 0 and 1; decision values are not.")
        classes = np.unique(y_true)
        if len(classes) > 2:
            raise ValueError(f"Probabilities of one class against all others are shown; y_true has {len(classes)}.")
        if strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}.")
        outcomes = y_true == (classes[-1] if pos_label is None else pos_label)
        ends = np.linspace(0.0, 1.0, n_bins + 1)
        edges = ends if strategy == "uniform" else np.unique(np.quantile(y_prob, ends))
        bins = np.searchsorted(edges[1:-1], y_prob)
        count = np.bincount(bins, minlength=n_bins)
        nonempty = np.flatnonzero(count)
        hits = np.bincount(bins, outcomes, minlength=n_bins)[nonempty]
        mean = np.bincount(bins, y_prob, minlength=n_bins)[nonempty] / count[nonempty]
        low, high = clopper_pearson(hits, count[nonempty], confidence)
        return cls(mean, hits / count[nonempty], low, high, count[nonempty], name)

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, *, ax: Any = None, **options: Any) -> Self:
        """Plot from true classes and predicted probabilities of the positive one.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True classes.
        y_prob : array-like of shape (n,)
            Predicted probabilities of the positive class.
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        **options : keyword arguments
            `n_bins` (10), `strategy` ("uniform", bins of equal width, or "quantile", of equally many samples),
            `pos_label` (the positive class; None, the last), `confidence` of the intervals (0.95), `name` of the
            estimator.

        Returns
        -------
        display : ReliabilityDisplay
            The bins, with intervals.
        """
        return cls.of(y_true, y_prob, **options).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> Self:
        """Plot for a fitted classifier and samples that it has not seen.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`
            The classifier.
        X : array-like of shape (n, n_features)
            Samples.
        y : array-like of shape (n,)
            Their classes.
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        **options : keyword arguments
            `n_bins` (10), `strategy` ("uniform", bins of equal width, or "quantile", of equally many samples),
            `pos_label` (the positive class; None, the last), `confidence` of the intervals (0.95), `name` of the
            estimator.

        Returns
        -------
        display : ReliabilityDisplay
            The bins, with intervals.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"{name_of(estimator)} has no predict_proba.")
        classes = list(estimator.classes_)
        positive = options.get("pos_label")
        column = classes.index(positive) if positive is not None else len(classes) - 1
        if len(classes) > 2 and positive is None:
            raise ValueError(f"pos_label must name one of the classes {classes}.")
        outcomes = np.asarray(y) == classes[column]
        options = {"name": name_of(estimator), **options, "pos_label": True}
        return cls.of(outcomes, estimator.predict_proba(X)[:, column], **options).plot(ax)

    def plot(self, ax: Any = None, *, ref_line: bool = True, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes, with the diagonal if `ref_line`; `settings` go to matplotlib's `errorbar`."""
        self.ax_, self.figure_ = get_axes(ax)
        if ref_line:
            self.ax_.plot([0.0, 1.0], [0.0, 1.0], color="0.5", linestyle="--", linewidth=1)
        errors = np.stack([self.prob_true - self.low, self.high - self.prob_true])
        settings = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1, **settings}
        self.ax_.errorbar(self.prob_pred, self.prob_true, yerr=errors, label=self.name or None, **settings)
        if self.name:
            self.ax_.legend(fontsize="small", loc="upper left")
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        label(self.ax_, "predicted probability", "observed frequency")
        return self
