"""How a fit went: the number that it stops on, step by step, beside what the judge allows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Floats
from tenfold.plots.axes import axes_of, label
from tenfold.plots.display import Display, last_of


@dataclass
class CertificateDisplay(Display):
    """The objective above the best value that the fit found, step by step, beside the certificate of the end.

    The certificate is the judge's; the trace is what the solver said on the way, and is not judged.

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
        What `plot` has drawn on.
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
        above = self.objective - np.min(self.objective)
        return above / above[0] if above[0] > 0.0 else above

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The numbers alone, of a fitted `estimator` that goes by steps."""
        model = last_of(estimator)
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
        judged = model.certificate_
        return cls(
            np.asarray(numbers, dtype=np.float64),
            seconds,
            judged.value,
            judged.allowed,
            judged.kind,
            judged.ok,
            judged.lower_bound,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> Self:
        """Draw the trace of a fitted `estimator` on `ax`, or on new axes, and say what was proved of its end;
        `settings` go to `plot`.
        """
        return cls.of(estimator).plot(ax, **settings)

    def plot(self, ax: Any = None, *, by: str = "step", **settings: Any) -> Self:
        """Draw on `ax`, or on new axes, `by` "step" or by "seconds"; `settings` go to matplotlib's `plot`."""
        if by not in ("step", "seconds") or (by == "seconds" and self.seconds is None):
            raise ValueError(f"by must be 'step', or 'seconds' where they were kept; got {by!r}.")
        self.ax_, self.figure_ = axes_of(ax)
        x = self.seconds if by == "seconds" else np.arange(len(self.objective))
        excess = self.excess
        self.ax_.plot(x, np.where(excess > 0.0, excess, np.nan), **{"marker": ".", **settings})
        self.ax_.set_yscale("log")
        proved = "ok" if self.ok else "NOT OK"
        said = f"certificate {proved}: {self.kind} {self.value:.2g}, allowed {self.allowed:.2g}"
        label(self.ax_, by, "objective above the best found, of the first", said)
        return self
