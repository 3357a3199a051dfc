"""Coefficients along a path of penalties."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats, is_sparse
from tenfold.cross_validation.ridge_path import RidgePath
from tenfold.estimators.lasso.functions import enet_path
from tenfold.estimators.least_squares.functions import ridge_path
from tenfold.estimators.validation import names_of
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, last_step

MAX_NAMES = 12  # paths of more features have no legend


@dataclass
class PathDisplay(Display):
    """Coefficients along a path of penalties.

    Parameters
    ----------
    x : ndarray of shape (m,)
        Penalties, or the steps of a path.
    coefs : ndarray of shape (m, p)
        Weights at each of them.
    names : tuple of str
        A name for each feature.
    x_name : {"alpha", "C", "step"}, default="alpha"
        What x is.
    chosen : float or None, default=None
        The penalty of the fitted model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LassoLars
    >>> from tenfold.plots import PathDisplay
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> path = PathDisplay.of(LassoLars(alpha=0.01).fit(X, X @ [3.0, 0.0, 1.0]))
    >>> path.coefs[-1].round(1)
    array([3., 0., 1.])
    """

    x: Floats
    coefs: Floats
    names: tuple[str, ...]
    x_name: str = "alpha"
    chosen: float | None = None

    @classmethod
    def of(cls, estimator: Any, X: Any = None, y: Any = None, *, target: int = 0) -> Self:
        """The data alone, of a fitted `estimator` or of what `ridge_path` returns.

        An estimator that keeps its path has it at hand; others are fitted along their penalties to X (n, p) and y (n,).
        Of several targets or classes `target` is shown.
        """
        if isinstance(estimator, RidgePath):
            coefs = estimator.coefs if estimator.coefs.ndim == 2 else estimator.coefs[:, target]
            return cls(estimator.alphas, coefs, tuple(f"x{j}" for j in range(coefs.shape[1])))
        model = last_step(estimator)
        check_is_fitted(model)
        chosen = getattr(model, "alpha_", getattr(model, "alpha", None))
        chosen = None if chosen is None or np.ndim(chosen) or isinstance(chosen, str) else float(chosen)
        if hasattr(model, "coef_path_"):
            alphas, coefs = _read_path(model, target)
            return cls(alphas, coefs, names_of(model), "alpha", chosen)
        if hasattr(model, "coefs_paths_"):
            return cls(*_by_folds(model, target), names_of(model), "C", _first(model.C_))
        if X is None or y is None:
            raise ValueError(
                f"{type(model).__name__} keeps no path: give the X and y of the fit, and one is computed; inside a "
                "pipeline, X as the last step sees it."
            )
        alphas, coefs = _compute_path(model, X, y, target)
        return cls(alphas, coefs, names_of(model), "alpha", chosen)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, target: int = 0, ax: Any = None, **settings: Any
    ) -> Self:
        """Plot the path of a fitted `estimator` on `ax`, or on new axes; `settings` go to matplotlib's `plot`.

        An estimator that keeps its path has it at hand; others are fitted along their penalties to X (n, p) and y (n,).
        Of several targets or classes `target` is shown.
        """
        return cls.of(estimator, X, y, target=target).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `plot`."""
        self.ax_, self.figure_ = get_axes(ax)
        lines = self.ax_.plot(self.x, self.coefs, **settings)
        if np.all(self.x[self.x != 0.0] > 0.0) and np.max(self.x) > 30.0 * np.min(self.x[self.x > 0.0], initial=np.inf):
            low = np.min(self.x[self.x > 0.0])
            self.ax_.set_xscale("symlog" if np.any(self.x == 0.0) else "log", **_linear_part(self.x, low))
        if self.chosen is not None:
            self.ax_.axvline(self.chosen, color="0.4", linestyle="--", linewidth=1)
        if len(self.names) <= MAX_NAMES:
            self.ax_.legend(lines, self.names, fontsize="small")
        label(self.ax_, self.x_name, "weight")
        return self


def _linear_part(x: Floats, low: float) -> dict[str, float]:
    """The linear range of a symlog axis, where a path ends at zero."""
    return {"linthresh": float(low)} if np.any(x == 0.0) else {}


def _first(values: Any) -> float:
    return float(np.ravel(values)[0])


def _read_path(model: Any, target: int) -> tuple[Floats, Floats]:
    many_targets = isinstance(model.coef_path_, list)
    alphas = model.alphas_[target] if many_targets else model.alphas_
    coefs = model.coef_path_[target] if many_targets else model.coef_path_
    return np.asarray(alphas), np.asarray(coefs).T


def _by_folds(model: Any, target: int) -> tuple[Floats, Floats]:
    """Of logistic regression: the mean over folds at each C, at the share of L1 that was chosen."""
    paths = model.coefs_paths_
    p = model.n_features_in_
    if isinstance(paths, dict):  # class by class: (folds, Cs, [shares,] p + 1)
        paths = paths[list(paths)[min(target, len(paths) - 1)]]
        paths = paths if paths.ndim == 3 else paths[:, :, _l1_ratio_index(model)]
        return model.Cs_, np.mean(paths, axis=0)[:, :p]
    # (folds, shares, Cs, classes, p + 1)
    path = np.mean(paths[:, _l1_ratio_index(model)], axis=0)
    return model.Cs_, path[:, min(target, path.shape[1] - 1), :p]


def _l1_ratio_index(model: Any) -> int:
    ratios = np.asarray([0.0 if one is None else one for one in model.l1_ratios_], dtype=np.float64)
    return int(np.argmin(np.abs(ratios - _first(model.l1_ratio_ if model.l1_ratio_ is not None else 0.0))))


def _compute_path(model: Any, X: Any, y: Any, target: int) -> tuple[Floats, Floats]:
    """Compute the path of an estimator that was fitted with one penalty."""
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        raise ValueError(f"The path of {type(model).__name__} on classes is not drawn: use LogisticRegressionCV.")
    penalties = getattr(model, "alphas_", None)
    if hasattr(model, "l1_ratio") or hasattr(model, "dual_gap_"):
        y = y if y.ndim == 1 else y[:, target]
        ratio = _first(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
        centred = model.fit_intercept and not is_sparse(X)
        X = X - np.mean(X, axis=0) if centred else X
        y = y - np.mean(y) if centred else y
        given = {} if penalties is None or np.ndim(penalties) > 1 else {"alphas": penalties}
        alphas, coefs = enet_path(X, y, l1_ratio=ratio, **given)[:2]
        return alphas, coefs.T
    if hasattr(model, "alpha"):
        centre = float(np.max(model.alpha)) or 1.0
        penalties = centre * np.logspace(-4.0, 4.0, 60)
    if penalties is None:
        raise ValueError(f"{type(model).__name__} has no penalty, and so no path.")
    path = ridge_path(X, y, alphas=np.sort(penalties), fit_intercept=model.fit_intercept)
    return path.alphas, path.coefs if path.coefs.ndim == 2 else path.coefs[:, target]
