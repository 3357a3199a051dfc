"""Model selection curves: errors of all candidates, by leave-one-out, folds or a criterion."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, last_step

# parameters of which smaller values are simpler models; of others larger ones are
SMALLER_IS_SIMPLER = ("C", "number of columns", "number of bins")


@dataclass
class LeaveOneOutDisplay(Display):
    """The error of every candidate, as computed by the estimator when it selected.

    Parameters
    ----------
    x : ndarray of shape (m,)
        The candidates.
    error : ndarray of shape (m,)
        The error of each, less being better.
    spread : ndarray of shape (m,) or None
        Standard errors, from folds or samples; None where they were not kept.
    chosen : float or None
        The candidate of the fitted model.
    x_name : str
        What candidates are.
    y_name : str
        What errors are.
    one_standard_error : float or None, default=None
        The simplest candidate whose error is within one standard error of the least.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RidgeCV
    >>> from tenfold.plots import LeaveOneOutDisplay
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> model = RidgeCV(alphas=[0.01, 1.0, 100.0], store_cv_results=True).fit(X, X @ [3.0, 0.0, 1.0])
    >>> tried = LeaveOneOutDisplay.of(model)
    >>> float(tried.x[np.argmin(tried.error)]), tried.one_standard_error
    (0.01, 0.01)
    """

    x: Floats
    error: Floats
    spread: Floats | None
    chosen: float | None
    x_name: str
    y_name: str
    one_standard_error: float | None = None

    def __post_init__(self) -> None:
        if self.spread is None or self.one_standard_error is not None:
            return
        best = int(np.argmin(self.error))
        within_one_error = self.x[self.error <= self.error[best] + self.spread[best]]
        self.one_standard_error = float(
            within_one_error.min() if self.x_name in SMALLER_IS_SIMPLER else within_one_error.max()
        )

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The data alone, of a fitted `estimator` with hyper-parameter selection of its own."""
        model = last_step(estimator)
        check_is_fitted(model)
        for attribute, read in READERS.items():
            if getattr(model, attribute, None) is not None:
                return cls(*read(model))
        raise ValueError(
            f"{type(model).__name__} tried no candidates. Classes that do end in CV, or choose a bandwidth or a number "
            "of columns by themselves."
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Plot the errors of all candidates of a fitted `estimator` on `ax`, or on new axes; `settings` go to
        matplotlib's `plot`.
        """
        return cls.of(estimator).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> Self:
        """Plot on `ax`, or on new axes; `settings` go to matplotlib's `plot`."""
        self.ax_, self.figure_ = get_axes(ax)
        order = np.argsort(self.x)
        x, error = self.x[order], self.error[order]
        (line,) = self.ax_.plot(x, error, **{"marker": ".", **settings})
        if self.spread is not None:
            spread = self.spread[order]
            self.ax_.fill_between(
                x, error - spread, error + spread, alpha=0.2, color=line.get_color(), label="± one standard error"
            )
        if self.chosen is not None:
            self.ax_.axvline(self.chosen, color="0.3", linestyle="--", linewidth=1, label=f"chosen: {self.chosen:.3g}")
        if self.one_standard_error is not None and self.one_standard_error != self.chosen:
            text = f"one standard error: {self.one_standard_error:.3g}"
            self.ax_.axvline(self.one_standard_error, color="0.3", linestyle=":", linewidth=1, label=text)
        if np.all(x > 0.0) and x[-1] > 30.0 * x[0]:
            self.ax_.set_xscale("log")
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend(fontsize="small")
        label(self.ax_, self.x_name, self.y_name)
        return self


Read = tuple[Floats, Floats, Floats | None, float | None, str, str]


def _number(value: Any) -> float | None:
    return None if value is None or np.size(value) != 1 else float(np.ravel(value)[0])


def _mean_and_error(path: Floats) -> tuple[Floats, Floats | None]:
    """Mean and standard error over the last axis."""
    count = path.shape[-1]
    return np.mean(path, axis=-1), np.std(path, axis=-1, ddof=1) / np.sqrt(count) if count > 1 else None


def _read_mse_path(model: Any) -> Read:
    """Of folds with squared errors."""
    path = np.asarray(model.mse_path_)
    if hasattr(model, "n_nonzero_coefs_"):
        error, spread = _mean_and_error(path)
        return np.arange(1.0, len(error) + 1.0), error, spread, _number(model.n_nonzero_coefs_), *FEATURE_COUNT_NAMES
    alphas = np.asarray(getattr(model, "cv_alphas_", model.alphas_))
    if path.ndim == 3:
        ratio_index = int(np.argmin(np.abs(np.ravel(model.l1_ratio) - model.l1_ratio_)))
        path, alphas = path[ratio_index], alphas[ratio_index] if alphas.ndim == 2 else alphas
    error, spread = _mean_and_error(path)
    return alphas, error, spread, _number(model.alpha_), "alpha", "mean squared error, folds"


FEATURE_COUNT_NAMES = ("number of columns", "mean squared error, folds")


def _read_scores(model: Any) -> Read:
    """Of logistic regression by folds: minus the score."""
    scores = model.scores_
    if isinstance(scores, dict):  # (folds, Cs[, shares]), the same for all classes
        scores = next(iter(scores.values()))
        scores = scores if scores.ndim == 2 else scores.max(axis=2)
    else:
        scores = scores.max(axis=1)  # (folds, shares, Cs)
    error, spread = _mean_and_error(-scores.T)
    name = model.scoring if isinstance(model.scoring, str) and model.scoring != "warn" else "accuracy"
    return np.asarray(model.Cs_), error, spread, _number(model.C_), "C", f"minus {name}, folds"


def _read_cv_errors(model: Any) -> Read:
    """Of leave-one-out, or folds of which the mean was kept."""
    error = np.asarray(model.cv_errors_)
    if hasattr(model, "candidates_"):
        neighbours = hasattr(model, "n_neighbors_")
        chosen = model.n_neighbors_ if neighbours else model.bandwidth_
        name = "number of neighbours" if neighbours else "bandwidth"
        return np.asarray(model.candidates_, dtype=np.float64), error, None, float(chosen), name, "leave-one-out error"
    left_out = str(model.cv_method_).startswith("exact leave-one-out")
    spread = None
    cv_results = getattr(model, "cv_results_", None)
    if cv_results is not None and left_out and model.scoring is None:
        of_rows = np.asarray(cv_results).reshape(len(cv_results), -1, len(error)).mean(axis=1)
        spread = np.std(of_rows, axis=0, ddof=1) / np.sqrt(len(of_rows))
    words = "leave-one-out error" if left_out else "minus score, folds"
    return np.asarray(model.alphas_), error, spread, _number(model.alpha_), "alpha", words


def _read_likelihoods(model: Any) -> Read:
    x, logs = np.asarray(model.candidates_), -np.asarray(model.likelihoods_)
    some = np.isfinite(logs)
    return x[some], logs[some], None, float(model.bandwidth_), "bandwidth", "minus log likelihood, leave-one-out"


def _read_risks(model: Any) -> Read:
    chosen = float(len(model.bin_edges_[0]) - 1)
    x = np.asarray(model.candidates_, dtype=np.float64)
    return x, np.asarray(model.risks_), None, chosen, "number of bins", "risk, leave-one-out"


def _read_criterion(model: Any) -> Read:
    criterion = np.asarray(model.criterion_)
    name = str(getattr(model, "criterion", "criterion"))
    if hasattr(model, "alphas_"):
        return np.asarray(model.alphas_), criterion, None, _number(model.alpha_), "alpha", name
    x = np.arange(float(len(criterion)))
    return x, criterion, None, _number(model.n_nonzero_coefs_), "number of columns", name


# readers by the attribute that has the errors
READERS = {
    "mse_path_": _read_mse_path,
    "scores_": _read_scores,
    "cv_errors_": _read_cv_errors,
    "likelihoods_": _read_likelihoods,
    "risks_": _read_risks,
    "criterion_": _read_criterion,
}
