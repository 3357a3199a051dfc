"""Decision boundaries and responses of a model on a plane of two features."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import colours, get_axes, label
from tenfold.plots.display import Display

AUTO_METHODS = ("decision_function", "predict_proba", "predict", "score_samples")
BOUNDARY_VALUES = {"decision_function": 0.0, "predict_proba": 0.5}  # the response where two classes are equally likely


@dataclass
class DecisionBoundaryDisplay(Display):
    """A model's response on a grid over two features, the others held at given values.

    Parameters
    ----------
    xx0 : ndarray of shape (r, r)
        The grid of the first feature.
    xx1 : ndarray of shape (r, r)
        The grid of the second feature.
    response : ndarray of shape (r, r)
        A number, or the index of a class in `classes`.
    classes : array-like of shape (n_classes,) or None, default=None
        The names of the classes where the response is one of them.
    between : float or None, default=None
        The response on the boundary of two classes.
    points : ndarray of shape (n, 2) or None, default=None
        Samples to draw.
    labels : ndarray of shape (n,) or None, default=None
        Their classes or targets.
    xlabel : str, default=""
        Name of the first feature.
    ylabel : str, default=""
        Name of the second feature.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LinearDiscriminantAnalysis
    >>> from tenfold.plots import DecisionBoundaryDisplay
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> model = LinearDiscriminantAnalysis().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    >>> plane = DecisionBoundaryDisplay.of(model, X, grid_resolution=20)
    >>> plane.response.shape, plane.classes.tolist()
    ((20, 20), [0, 1, 2])
    """

    xx0: Floats
    xx1: Floats
    response: Floats
    classes: Any = None
    between: float | None = None
    points: Any = None
    labels: Any = None
    xlabel: str = ""
    ylabel: str = ""

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        columns: tuple[int, int] = (0, 1),
        at: Any = None,
        grid_resolution: int = 100,
        eps: float = 1.0,
        response_method: str = "auto",
    ) -> Self:
        """The data alone.

        Parameters
        ----------
        estimator : fitted estimator
            The model to ask.
        X : array-like of shape (n_samples, n_features)
            Samples, around which the grid is laid.
        y : array-like of shape (n_samples,), default=None
            Their classes or targets, to draw them; None draws no samples.
        columns : (int, int), default=(0, 1)
            The two features of the plane.
        at : array-like of shape (n_features,), default=None
            Values at which the other features are held; None takes their medians.
        grid_resolution : int, default=100
            Points along each axis.
        eps : float, default=1.0
            How far the grid goes beyond the samples.
        response_method : {"auto", "decision_function", "predict_proba", "predict", "score_samples"}, default="auto"
            What is asked; "auto" takes what suits the model.

        Returns
        -------
        display : DecisionBoundaryDisplay
            The response on the grid.
        """
        check_is_fitted(estimator)
        names = list(map(str, X.columns)) if hasattr(X, "columns") else None
        rows = check_array(X, dtype=np.float64)
        first, second = columns
        if not (0 <= first < rows.shape[1] and 0 <= second < rows.shape[1] and first != second):
            raise ValueError(f"columns must be two of {rows.shape[1]} columns, got {columns!r}.")
        low, high = rows[:, [first, second]].min(axis=0) - eps, rows[:, [first, second]].max(axis=0) + eps
        grid = (np.linspace(low[i], high[i], grid_resolution) for i in (0, 1))
        xx0, xx1 = np.meshgrid(*grid)
        queries = np.tile(np.median(rows, axis=0) if at is None else np.asarray(at, dtype=np.float64), (xx0.size, 1))
        queries[:, first], queries[:, second] = xx0.ravel(), xx1.ravel()
        response, classes, between = _response(estimator, _as_type_of(X, queries), response_method)
        names = names or [f"x{j}" for j in range(rows.shape[1])]
        points = rows[:, [first, second]]
        labels = None if y is None else np.asarray(y)
        response = response.reshape(xx0.shape)
        return cls(xx0, xx1, response, classes, between, points, labels, names[first], names[second])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        columns: tuple[int, int] = (0, 1),
        at: Any = None,
        grid_resolution: int = 100,
        eps: float = 1.0,
        response_method: str = "auto",
        ax: Any = None,
        **settings: Any,
    ) -> Self:
        """Plot what a fitted estimator gives around the samples X, and the samples where y is given.

        Parameters
        ----------
        estimator : fitted estimator
            The model to ask.
        X : array-like of shape (n_samples, n_features)
            Samples, around which the grid is laid.
        y : array-like of shape (n_samples,), default=None
            Their classes or targets, to draw them; None draws no samples.
        columns : (int, int), default=(0, 1)
            The two features of the plane.
        at : array-like of shape (n_features,), default=None
            Values at which the other features are held; None takes their medians.
        grid_resolution : int, default=100
            Points along each axis.
        eps : float, default=1.0
            How far the grid goes beyond the samples.
        response_method : {"auto", "decision_function", "predict_proba", "predict", "score_samples"}, default="auto"
            What is asked; "auto" takes what suits the model.
        ax : matplotlib Axes, default=None
            Axes to plot on; None makes new axes.
        **settings : keyword arguments
            Go to matplotlib's `pcolormesh` for classes, and to `contourf` for numbers.

        Returns
        -------
        display : DecisionBoundaryDisplay
            The response on the grid.
        """
        display = cls.of(
            estimator,
            X,
            y,
            columns=columns,
            at=at,
            grid_resolution=grid_resolution,
            eps=eps,
            response_method=response_method,
        )
        return display.plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `pcolormesh` for classes, and to `contourf`."""
        self.ax_, self.figure_ = get_axes(ax)
        if self.classes is not None:
            # cell by cell: contours between the first and the third class would pass through the second
            cells = {"cmap": colours(len(self.classes)), "vmin": -0.5, "vmax": len(self.classes) - 0.5}
            settings = {**cells, "alpha": 0.35, "shading": "nearest", "linewidth": 0, "rasterized": True, **settings}
            self.ax_.pcolormesh(self.xx0, self.xx1, self.response, **settings)
        else:
            settings = {"levels": 20, "alpha": 0.8, **self._shades(), **settings}
            drawn = self.ax_.contourf(self.xx0, self.xx1, self.response, **settings)
            self.figure_.colorbar(drawn, ax=self.ax_)
        if self.between is not None and self.response.min() < self.between < self.response.max():
            self.ax_.contour(self.xx0, self.xx1, self.response, levels=[self.between], colors="k", linewidths=1)
        if self.labels is not None:
            self._points()
        label(self.ax_, self.xlabel, self.ylabel)
        return self

    def _shades(self) -> dict[str, Any]:
        """Colour map of a numeric response; of two classes it is centred on their boundary."""
        if self.between is None:
            return {}
        half = float(np.max(np.abs(self.response - self.between)))
        return {"cmap": "RdBu_r", "vmin": self.between - half, "vmax": self.between + half}

    def _points(self) -> None:
        names = self.classes if self.classes is not None else np.unique(self.labels)
        if self.classes is None and self.between is None:
            self.ax_.scatter(*self.points.T, s=12, facecolor="none", edgecolor="k", linewidth=0.6)
            return
        for k, name in enumerate(names):
            own = self.points[self.labels == name]
            colour = f"C{k % 10}" if self.classes is not None else ("tab:blue", "tab:red")[k % 2]
            self.ax_.scatter(*own.T, s=14, color=colour, edgecolor="k", linewidth=0.4, label=str(name))
        self.ax_.legend(fontsize="small")


def _as_type_of(X: Any, rows: Floats) -> Any:
    """Samples as a data frame with the columns of X, where X is one."""
    return type(X)(rows, columns=X.columns) if hasattr(X, "columns") and hasattr(X, "iloc") else rows


def _response(estimator: Any, rows: Any, method: str) -> tuple[Floats, Any, float | None]:
    """The response of each sample; the classes where it is a class index; the value at the boundary of two classes."""
    classes = getattr(estimator, "classes_", None)
    multiclass = classes is not None and len(classes) > 2
    if method == "auto":
        usable = ("predict",) if multiclass or not is_classifier(estimator) else AUTO_METHODS
        method = next((name for name in (*usable, *AUTO_METHODS) if hasattr(estimator, name)), "predict")
    values = np.asarray(getattr(estimator, method)(rows))
    if method == "predict":
        if classes is not None:
            return np.searchsorted(classes, values).astype(np.float64), np.asarray(classes), None
        if values.dtype.kind in "iu":  # clusters, some of which may not be on this plane
            centres = getattr(estimator, "cluster_centers_", getattr(estimator, "means_", range(int(values.max()) + 1)))
            return values.astype(np.float64), np.arange(len(centres)), None
    if values.ndim == 2:
        if multiclass:
            return np.argmax(values, axis=1).astype(np.float64), np.asarray(classes), None
        values = values[:, -1]
    return values.astype(np.float64), None, BOUNDARY_VALUES.get(method) if classes is not None else None
