"""Spectra: variances or correlations of components."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, last_step

# names of the values by attribute; the first attribute that a model has is plotted
VALUES = {
    "explained_variance_": "variance",
    "correlations_": "correlation",
    "values_": "eigenvalue",
    "singular_": "singular value",
    "explained_variance_ratio_": "explained variance ratio",
}


@dataclass
class SpectrumDisplay(Display):
    """Variances of components, or correlations of pairs of components.

    Parameters
    ----------
    values : ndarray of shape (c,)
        The largest first.
    ratio : ndarray of shape (c,) or None
        Shares of the variance; None where shares have no meaning.
    noise : float or None
        The mean variance of what was left out.
    name : str
        What the values are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import PCA
    >>> from tenfold.plots import SpectrumDisplay
    >>> X = np.random.default_rng(0).standard_normal((500, 3)) * [3.0, 2.0, 1.0]
    >>> SpectrumDisplay.of(PCA(2).fit(X)).values.round(0)
    array([9., 4.])
    """

    values: Floats
    ratio: Floats | None
    noise: float | None
    name: str

    @property
    def cumulative(self) -> Floats | None:
        """Cumulative explained variance ratio."""
        return None if self.ratio is None else np.cumsum(self.ratio)

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The data alone, of a fitted `estimator` with components."""
        model = last_step(estimator)
        check_is_fitted(model)
        attribute = next((name for name in VALUES if getattr(model, name, None) is not None), None)
        if attribute is None:
            raise ValueError(f"{type(model).__name__} has no spectrum; PCA, TruncatedSVD, CCA and others have.")
        ratio = getattr(model, "explained_variance_ratio_", None)
        noise = getattr(model, "noise_variance_", None) if attribute == "explained_variance_" else None
        values = np.asarray(getattr(model, attribute), dtype=np.float64)
        if values.ndim > 1:  # correlations of several views: the mean over their pairs
            pairs = np.triu_indices(values.shape[1], 1)
            values = values[:, pairs[0], pairs[1]].mean(axis=1)
        return cls(values, None if ratio is None else np.asarray(ratio), noise, VALUES[attribute])

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Plot the spectrum of a fitted `estimator` on `ax`, or on new axes; `settings` go to matplotlib's `bar`."""
        return cls.of(estimator).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `bar`."""
        self.ax_, self.figure_ = get_axes(ax)
        number = np.arange(1, len(self.values) + 1)
        self.ax_.bar(number, self.values, **{"color": "C0", "alpha": 0.8, **settings})
        if self.noise:
            self.ax_.axhline(self.noise, color="0.4", linestyle="--", linewidth=1, label="mean of the remaining")
            self.ax_.legend(fontsize="small", loc="upper right")
        if self.cumulative is not None and self.name == "variance":
            other = self.ax_.twinx()
            other.plot(number, self.cumulative, color="C1", marker=".")
            other.set(ylim=(0.0, 1.05), ylabel="cumulative explained variance")
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        label(self.ax_, "component", self.name)
        return self
