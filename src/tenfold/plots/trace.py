"""Convergence plots: the objective step by step, with the certificate of the result."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import get_axes, label
from tenfold.plots.display import Display, last_step


@dataclass
class CertificateDisplay(Display):
    """Excess of the objective over its minimum, step by step, with the certificate of the result.

    The certificate is the judge's; the trace is reported by the solver and not judged.

    Parameters
    ----------
    objective : ndarray of shape (m,)
        The objective after each step.
    seconds : ndarray of shape (m,) or None
        Seconds since the start; None where they were not kept.
    value : float
        The number of the certificate.
    allowed : float
        The largest number that is ok.
    kind : str
        The kind of the certificate.
    ok : bool
        Whether the certificate is ok.
    lower_bound : float or None, default=None
        A proved lower bound on the best objective.

    Attributes
    ----------
    excess : ndarray of shape (m,)
        Objective minus the least of them, in units of the first excess.
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        Its figure.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LogisticRegression
    >>> from tenfold.plots import CertificateDisplay
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> trace = CertificateDisplay.of(LogisticRegression().fit(X, X[:, 0] > 0))
    >>> bool(trace.objective[-1] < trace.objective[0]), trace.ok
    (True, True)
    """

    objective: Floats
    seconds: Floats | None
    value: float
    allowed: float
    kind: str
    ok: bool
    lower_bound: float | None = None

    @property
    def excess(self) -> Floats:
        differences = self.objective - np.min(self.objective)
        return differences / differences[0] if differences[0] > 0.0 else differences

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The data alone, of a fitted `estimator` that goes by steps."""
        model = last_step(estimator)
        check_is_fitted(model)
        trace = getattr(model, "trace_", None)
        bounds = getattr(model, "lower_bounds_", None)  # of likelihoods, which rise
        if bounds:
            trace = [-bound for bound in bounds]
        if not trace:
            raise ValueError(f"{type(model).__name__} was solved in one step, or keeps no trace of its steps.")
        measured = hasattr(trace[0], "objective")
        numbers = [line.objective if measured else getattr(line, "mistakes", line) for line in trace]
        seconds = np.array([line.seconds for line in trace]) if measured else None
        certificate = model.certificate_
        return cls(
            np.asarray(numbers, dtype=np.float64),
            seconds,
            certificate.value,
            certificate.allowed,
            certificate.kind,
            certificate.ok,
            certificate.lower_bound,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Plot the trace of a fitted `estimator` on `ax`, or on new axes, with its certificate;
        `settings` go to `plot`.
        """
        return cls.of(estimator).plot(ax, **settings)

    def plot(self, ax: Any = None, *, by: str = "step", **settings: Any) -> Self:
        """Plot on `ax`, or on new axes, `by` "step" or by "seconds"; `settings` go to matplotlib's `plot`."""
        if by not in ("step", "seconds") or (by == "seconds" and self.seconds is None):
            raise ValueError(f"by must be 'step', or 'seconds' where they were kept; got {by!r}.")
        self.ax_, self.figure_ = get_axes(ax)
        x = self.seconds if by == "seconds" else np.arange(len(self.objective))
        excess = self.excess
        self.ax_.plot(x, np.where(excess > 0.0, excess, np.nan), **{"marker": ".", **settings})
        self.ax_.set_yscale("log")
        status = "ok" if self.ok else "NOT OK"
        title = f"certificate {status}: {self.kind} {self.value:.2g}, allowed {self.allowed:.2g}"
        label(self.ax_, by, "excess objective, relative to the first", title)
        return self
