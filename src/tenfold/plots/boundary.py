"""What a model says on a plane through the rows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import axes_of, label
from tenfold.plots.display import Display

AUTO = ("decision_function", "predict_proba", "predict", "score_samples")


@dataclass
class DecisionBoundaryDisplay(Display):
    """A model's response on a grid over two columns, the others held at given values.

    Parameters
    ----------
    xx0, xx1 : (r, r) the grid.
    response : (r, r) a number, or the number of a class in `classes`.
    classes : the names of the classes where the response is one of them, or None.
    points, labels : (n, 2) rows, and (n,) their classes or targets, or None.
    xlabel, ylabel : names of the two columns.

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
        """The numbers alone. Columns other than the two of `columns` are held at `at`, (p,): their medians if None."""
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
        response, classes = _response(estimator, _like(X, queries), response_method)
        names = names or [f"x{j}" for j in range(rows.shape[1])]
        points = rows[:, [first, second]]
        labels = None if y is None else np.asarray(y)
        return cls(xx0, xx1, response.reshape(xx0.shape), classes, points, labels, names[first], names[second])

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
        """Draw what a fitted estimator says around the rows X, and the rows where y is given; see `of`."""
        found = cls.of(
            estimator,
            X,
            y,
            columns=columns,
            at=at,
            grid_resolution=grid_resolution,
            eps=eps,
            response_method=response_method,
        )
        return found.plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Draw on `ax`, or on new axes; settings go to matplotlib's `contourf`."""
        self.ax_, self.figure_ = axes_of(ax)
        if self.classes is not None:
            levels = np.arange(len(self.classes) + 1) - 0.5
            colours = [f"C{k % 10}" for k in range(len(self.classes))]
            settings = {"levels": levels, "colors": colours, "alpha": 0.35, **settings}
        else:
            settings = {"levels": 20, "alpha": 0.8, **settings}
        drawn = self.ax_.contourf(self.xx0, self.xx1, self.response, **settings)
        if self.classes is None:
            self.figure_.colorbar(drawn, ax=self.ax_)
        if self.labels is not None:
            self._points()
        label(self.ax_, self.xlabel, self.ylabel)
        return self

    def _points(self) -> None:
        if self.classes is None:
            self.ax_.scatter(*self.points.T, s=12, facecolor="none", edgecolor="k", linewidth=0.6)
            return
        for k, name in enumerate(self.classes):
            own = self.points[self.labels == name]
            self.ax_.scatter(*own.T, s=14, color=f"C{k % 10}", edgecolor="k", linewidth=0.4, label=str(name))
        self.ax_.legend(fontsize="small")


def _like(X: Any, rows: Floats) -> Any:
    """Rows with the names of X, where it has some."""
    return type(X)(rows, columns=X.columns) if hasattr(X, "columns") and hasattr(X, "iloc") else rows


def _response(estimator: Any, rows: Any, method: str) -> tuple[Floats, Any]:
    """The response of each row, and the names of classes where it is the number of one."""
    classes = getattr(estimator, "classes_", None)
    several = classes is not None and len(classes) > 2
    if method == "auto":
        usable = ("predict",) if several or not is_classifier(estimator) else AUTO
        method = next((name for name in (*usable, *AUTO) if hasattr(estimator, name)), "predict")
    found = np.asarray(getattr(estimator, method)(rows))
    if method == "predict":
        if classes is not None:
            return np.searchsorted(classes, found).astype(np.float64), np.asarray(classes)
        if found.dtype.kind in "iu":  # clusters, some of which may not be on this plane
            centres = getattr(estimator, "cluster_centers_", getattr(estimator, "means_", range(int(found.max()) + 1)))
            return found.astype(np.float64), np.arange(len(centres))
    if found.ndim == 2:
        if several:
            return np.argmax(found, axis=1).astype(np.float64), np.asarray(classes)
        found = found[:, -1]
    return found.astype(np.float64), None
