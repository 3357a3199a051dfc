"""The boundary of a support vector machine on a plane of two features, its margins, and its support vectors by type."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, is_sparse
from tenfold.estimators.svm.linear_support import linear_support
from tenfold.plots.boundary import DecisionBoundaryDisplay

TYPES = ("free", "bound", "outlier")
MARKERS = {"free": ("o", "on the margin"), "bound": ("s", "inside the margin"), "outlier": ("X", "on the wrong side")}
AT_BOUND = 1e-6  # relative distance of a coefficient from its bound


@dataclass
class SupportVectorDisplay(DecisionBoundaryDisplay):
    """A support vector machine on a grid over two features: the boundary, the margins, and the support vectors.

    A support vector is *free* where its coefficient is below the bound, which puts it on the margin; *bound* where it
    is not, so that it is inside the margin; and an *outlier* where it is on the wrong side, too. With several classes
    a sample is of the worst type that it has in a pair, and no margins are drawn.

    Parameters
    ----------
    xx0 : ndarray of shape (r, r)
        The grid of the first feature.
    xx1 : ndarray of shape (r, r)
        The grid of the second feature.
    response : ndarray of shape (r, r)
        The decision function, or the index of a class in `classes`.
    classes : array-like of shape (n_classes,) or None, default=None
        The names of the classes where the response is one of them.
    between : float or None, default=None
        The response on the boundary of two classes.
    points : ndarray of shape (n, 2) or None, default=None
        The samples.
    labels : ndarray of shape (n,) or None, default=None
        Their classes.
    xlabel : str, default=""
        Name of the first feature.
    ylabel : str, default=""
        Name of the second feature.
    margins : tuple of float, default=()
        The responses on the margins.
    types : ndarray of shape (n,) of str, or None, default=None
        "free", "bound" or "outlier" for support vectors, "" for the other samples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from tenfold.plots import SupportVectorDisplay
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0], [-0.5, 0.0]])
    >>> model = SVC(kernel="linear", C=1.0).fit(X, [0, 0, 1, 1, 1])
    >>> plane = SupportVectorDisplay.of(model, X, [0, 0, 1, 1, 1], grid_resolution=20)
    >>> plane.margins, plane.types.tolist()
    ((-1.0, 1.0), ['free', 'free', '', '', 'outlier'])
    """

    margins: tuple[float, ...] = ()
    types: Any = None

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
        estimator : fitted SVC, NuSVC, SVCCV, SVCPath, LinearSVC or OneClassSVM
            The machine; the types of a linear one are those of `linear_support`.
        X : array-like of shape (n_samples, n_features)
            The samples of its fit, all of positive weight.
        y : array-like of shape (n_samples,), default=None
            Their classes; None for a machine of one class.
        columns : (int, int), default=(0, 1)
            The two features of the plane.
        at : array-like of shape (n_features,), default=None
            Values at which the other features are held; None takes their medians.
        grid_resolution : int, default=100
            Points along each axis.
        eps : float, default=1.0
            How far the grid goes beyond the samples.
        response_method : {"auto", "decision_function", "predict"}, default="auto"
            What is asked; "auto" takes what suits the machine.

        Returns
        -------
        display : SupportVectorDisplay
            The response on the grid, and the types.
        """
        check_is_fitted(estimator)
        if not (hasattr(estimator, "support_") or is_linear(estimator)) or is_regressor(estimator):
            raise TypeError(
                f"The plane of support vectors is that of SVC, NuSVC, LinearSVC or OneClassSVM, got {estimator!r}."
            )
        if response_method == "auto" and not is_classifier(estimator):
            response_method = "decision_function"
        display = super().of(
            estimator,
            X,
            y,
            columns=columns,
            at=at,
            grid_resolution=grid_resolution,
            eps=eps,
            response_method=response_method,
        )
        display.types = find_types(estimator, X, y)
        if display.classes is None and hasattr(estimator, "classes_"):
            display.margins = (-1.0, 1.0)
        elif display.classes is None:
            display.between = 0.0
        return display

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `pcolormesh` for classes, and to `contourf`."""
        super().plot(ax, **settings)
        inside = [level for level in self.margins if self.response.min() < level < self.response.max()]
        if inside:
            lines = {"levels": inside, "colors": "k", "linewidths": 1, "linestyles": "dashed"}
            self.ax_.contour(self.xx0, self.xx1, self.response, **lines)
        for name, (marker, words) in MARKERS.items():
            own = self.points[self.types == name]
            if len(own):
                style = {"facecolor": "none" if marker != "X" else "k", "edgecolor": "k", "linewidth": 1.0}
                self.ax_.scatter(*own.T, s=60, marker=marker, label=f"{name}: {words} ({len(own)})", **style)
        self.ax_.legend(fontsize="small")
        return self

    def contour(self, level: float) -> list[tuple[float, float]]:
        """Where the response has a value, by marching triangles.

        Parameters
        ----------
        level : float
            The value, for instance 0.0 for the boundary of two classes.

        Returns
        -------
        ends : list of (float, float)
            The ends of straight pieces, two by two.
        """
        x, y, z = self.xx0, self.xx1, np.asarray(self.response) - level
        corners = np.stack(
            [np.stack([part[:-1, :-1], part[:-1, 1:], part[1:, :-1], part[1:, 1:]]) for part in (x, y, z)]
        )
        ends: list[tuple[float, float]] = []
        for a, b, c in ((0, 1, 2), (3, 2, 1)):
            triangle = corners[:, [a, b, c]]
            for alone in range(3):  # the corner that is on the other side than both others
                others = [k for k in range(3) if k != alone]
                above = triangle[2] > 0.0
                cut = (above[alone] != above[others[0]]) & (above[alone] != above[others[1]])
                if not cut.any():
                    continue
                own, rest = triangle[:, alone][:, cut], triangle[:, others][:, :, cut]
                share = own[2] / (own[2] - rest[2])
                places = own[:2, None] + share * (rest[:2] - own[:2, None])  # (2, 2 ends, pieces)
                ends += [(float(px), float(py)) for piece in places.transpose(2, 1, 0) for px, py in piece]
        return ends


def is_linear(estimator: Any) -> bool:
    """Whether this is a linear machine that keeps no support vectors."""
    return hasattr(estimator, "intercept_scaling") and hasattr(estimator, "multi_class") and is_classifier(estimator)


def find_types(estimator: Any, X: Any, y: Any) -> Any:
    """The type (n,) of each sample of the fit: "free", "bound", "outlier", or "" where it is no support vector."""
    n = len(check_array(X, accept_sparse=False))
    if is_linear(estimator):
        if y is None:
            raise ValueError("The types of support vectors of a classifier need the classes y of the samples.")
        return linear_support(estimator, X, y).types
    support, coef = np.asarray(estimator.support_), _dense(estimator.dual_coef_)
    if len(support) and support.max() >= n:
        raise ValueError(f"X must be the samples of the fit: support_ goes up to {support.max()}, and X has {n}.")
    if hasattr(estimator, "classes_") and y is None:
        raise ValueError("The types of support vectors of a classifier need the classes y of the samples.")
    bound = _bounds(estimator, coef, y, support)
    # by pairs of classes: free, at the bound, or zero
    level = np.where(np.abs(coef) >= (1.0 - AT_BOUND) * bound, 1, 0)
    worst = np.max(np.where(coef != 0.0, level, -1), axis=0, initial=-1)
    if hasattr(estimator, "classes_"):
        wrong = np.asarray(estimator.predict(X))[support] != np.asarray(y)[support]
    else:
        wrong = np.ravel(estimator.decision_function(X))[support] < 0.0
    worst = np.where((worst == 1) & wrong, 2, worst)
    types = np.full(n, "", dtype="<U7")
    types[support[worst >= 0]] = np.array(TYPES)[worst[worst >= 0]]
    return types


def _bounds(estimator: Any, coef: Floats, y: Any, support: Any) -> Any:
    """The bound of each coefficient: C, or the one that was chosen, by class, none with squared slack; with nu the
    largest coefficient of each machine.
    """
    settings = estimator.get_params(deep=False)
    C = getattr(estimator, "C_", settings.get("C"))
    if C is None or "nu" in settings:
        return np.max(np.abs(coef), axis=1, keepdims=True, initial=0.0)
    if settings.get("loss") == "squared_hinge":
        return np.inf
    factors = np.asarray(getattr(estimator, "class_weight_", np.ones(len(estimator.classes_))))
    return float(C) * factors[np.searchsorted(estimator.classes_, np.asarray(y)[support])]


def _dense(part: Any) -> Floats:
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
