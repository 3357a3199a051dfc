"""Certificates, and the tolerance, scale and floor of each kind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, contiguous, is_sparse
from tenfold.stats.derivatives import Params, forward


@dataclass(frozen=True)
class Rule:
    """Tolerance, scale and floor of a kind of certificate; an estimator may have a tolerance of its own."""

    tol: float
    number: str
    scale: str
    floor: str
    claim: str


# the rule of each kind
RULES = {
    "residual": Rule(
        1e-6,
        "largest cosine of the residual with a column",
        "1 (the number is a cosine, or, without a penalty and with no more samples than features, the residual by the "
        "targets' spread)",
        "rounding of the weights in their dtype and of the data, as a cosine",
        "the residual is orthogonal to every column up to this cosine, so the weights solve a problem that "
        "differs from yours by no more",
    ),
    "dual residual": Rule(
        1e-6,
        "residual of the system for the dual coefficients",
        "1 (the number is relative to the norm of the weighted targets)",
        "rounding of the dual coefficients in their dtype and of the products with the kernel matrix",
        "the dual coefficients are exact for targets that differ from yours by this fraction of their norm",
    ),
    "gap": Rule(
        1e-6,
        "duality gap",
        "objective at zero weights",
        "rounding of the objective, 8 units in the last place, and of the weights in their dtype",
        "no other weights can be better by more than {value}",
    ),
    "stationarity": Rule(
        1e-6,
        "norm of the gradient",
        "root mean square of the loss derivatives at zero weights (a bound on the gradient for columns of unit norm)",
        "rounding of the gradient",
        "the gradient vanishes here up to {value}; unless the objective is convex, another start may give a lower one",
    ),
    "exact": Rule(
        1e-9,
        "largest relative distance to a second formula",
        "1 (the number is relative)",
        "rounding of the second formula and of the stored numbers",
        "another formula gives the same result up to this",
    ),
    "spectral": Rule(
        1e-8,
        "largest residual of a component",
        "1 (the number is in units of the largest eigenvalue)",
        "rounding of the products with the data and of the stored components",
        "every component is an eigenvector of the matrix up to this, and none that comes before the last of them is "
        "missing; the note says where that holds with a probability, and where it is not proved",
    ),
    "fixed point": Rule(
        1e-6,
        "decrease of the objective in one exact step",
        "objective; for a likelihood one nat per sample",
        "rounding of the objective and of the stored parameters",
        "one more step lowers the objective by {value}; another start may give a lower one",
    ),
    "count": Rule(
        1e-12,
        "mistakes on the data",
        "the number of samples",
        "0 (a count is exact: one mistake is not ok)",
        "the mistakes of the returned model, counted again",
    ),
}

# the rules of problems whose number is not that of their kind
VARIANTS = {
    "network": Rule(
        1e-3,
        "decrease of the loss in 50 steps of L-BFGS on all samples",
        "1 (the number is relative to the loss of the best constant)",
        "rounding of the loss",
        "50 further steps lower the loss by {value} of that of the best constant; the loss is not convex, and another "
        "start may give a lower one",
    ),
}

NOT_JUDGED = "not judged"

FLOOR_LIMIT = 1e-3  # of the scale: above it rounding alone would accept a wrong model, so nothing is judged

IMPRECISE = (
    "Not judged in this precision: {number} {value}, but rounding alone allows {floor}, more than a thousandth of the "
    "scale, {scale}. A wrong model could pass, so do not rely on this fit. Cast X and y to float64, or centre or "
    "rescale the features, and fit again."
)


@dataclass(frozen=True)
class Certificate:
    """A bound on the error of a fit, computed by the judge from the parameters and the data alone.

    ``value <= max(tol * scale, floor)`` makes it `ok`, unless the floor is above a thousandth of the scale: then the
    precision is too low to judge. `explain` says what the number means in a sentence.

    Attributes
    ----------
    kind : str
        The kind: "residual", "dual residual", "gap", "stationarity", "count", "exact", "spectral" or "fixed point", a
        key of `tenfold.judge.certificate.RULES`.
    value : float
        The number, never below `floor`.
    scale : float
        The unit of the number.
    tol : float
        Relative tolerance: values up to max(tol * scale, floor) are ok.
    floor : float
        The rounding of the computation and of the dtype of the parameters.
    objective : float
        Weighted mean loss plus penalty at the parameters, recomputed.
    lower_bound : float or None
        A proved lower bound on the best possible objective.
    radius : float or None
        Bound on the Euclidean distance to the optimal weights; None without a penalty.
    condition : float or None
        Condition number of the equilibrated system.
    status : str
        How the fit ended.
    parts : tuple of float
        The number for each target, for several targets.
    note : str
        Further remarks, in sentences.
    """

    kind: str
    value: float
    scale: float
    tol: float
    floor: float
    objective: float
    lower_bound: float | None = None
    radius: float | None = None
    condition: float | None = None
    status: str = "solved"
    parts: tuple[float, ...] = ()
    note: str = ""
    _variant: str = field(default="", repr=False)
    # for `decided`: the judged parameters, the centre of the samples, and a bound on the error of the intercept there
    _coef: Floats | None = field(default=None, repr=False, compare=False)
    _intercept: Floats | None = field(default=None, repr=False, compare=False)
    _centre: Floats | None = field(default=None, repr=False, compare=False)
    _drift: float = field(default=0.0, repr=False, compare=False)
    # `decided` of a model that is no linear function of the features: a picklable function of samples
    _decide: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)
    # `intervals`, likewise
    _enclose: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def allowed(self) -> float:
        """The largest value that is ok."""
        return max(self.tol * self.scale, self.floor)

    @property
    def ok(self) -> bool:
        """Whether the number is within tolerance, and the floor at most a thousandth of the scale."""
        # a tolerance as large as the scale certifies nothing
        proved = bool(0.0 <= self.value <= self.allowed < self.scale)
        return proved and self._precise and self.status not in (NOT_JUDGED, "no maximum")

    @property
    def _rule(self) -> Rule:
        return VARIANTS[self._variant] if self._variant else RULES[self.kind]

    @property
    def _precise(self) -> bool:
        """Whether the floor is small enough to judge."""
        return bool(self.floor <= FLOOR_LIMIT * self.scale)

    def explain(self) -> str:
        """The certificate in sentences."""
        if self.status == NOT_JUDGED:
            return f"Not judged. {self.note}"
        if self.status == "no maximum":
            return f"There is no best model to compare with. {self.note}"
        rule = self._rule
        value = f"{self.value:.2g}"
        words = [f"{rule.number} {value}, allowed {self.allowed:.2g}: {rule.claim.format(value=value)}."]
        if not self._precise:
            words = [IMPRECISE.format(number=rule.number, value=value, floor=f"{self.floor:.2g}", scale=rule.scale)]
        elif not self.ok:
            words.append("That is more than allowed: do not rely on this fit.")
        elif self.tol > rule.tol and self.tol * self.scale >= self.floor:
            words.append(f"The tolerance asked for allows {100.0 * self.tol:.2g} % of the scale, the {rule.scale}.")
        if self.radius is not None and np.isfinite(self.radius):
            words.append(f"The best weights are within {self.radius:.2g} of these.")
        if self.condition is not None:
            words.append(f"Condition {self.condition:.2g}{_singular(self.condition)}.")
        if self.note:
            words.append(self.note)
        return " ".join(words)

    def decided(self, X: Array) -> Any:
        """Whether no better fit can change the predicted sign of each sample of X: the raw prediction exceeds the
        change that `radius` allows.

        With centred samples, the optimal weights change a prediction by at most radius times the distance of the
        sample from the centre, and the optimal intercept by at most radius times the largest such distance in
        training. An array of bool, (n,) or (n, t).
        """
        if self._decide is not None:
            return self._decide(X)
        if self.radius is None or self._coef is None or self._intercept is None or self._centre is None:
            raise ValueError(
                "decided needs a strongly convex problem (a positive penalty), for which the certificate has a radius."
            )
        X = contiguous(np.asarray(X, dtype=np.float64)) if not is_sparse(X) else X.tocsr()
        z = forward(X, Params(self._coef, self._intercept))
        sure = np.abs(z) > self._change(X)[:, None]
        return sure[:, 0] if sure.shape[1] == 1 else sure

    def change(self, X: Array) -> Floats:
        """How far the raw prediction of the optimum may be from that of the model for each sample of X, (n,); infinite
        where the certificate does not bound the weights and the intercept of a linear model.
        """
        if self.radius is None or self._centre is None or self._coef is None:
            return np.full(X.shape[0], np.inf)
        return self._change(contiguous(np.asarray(X, dtype=np.float64)) if not is_sparse(X) else X.tocsr())

    def _change(self, X: Array) -> Floats:
        assert self.radius is not None
        assert self._centre is not None
        return self.radius * distances(X, self._centre) + self._drift

    def intervals(self, X: Array) -> tuple[Floats, Floats]:
        """The lower and the upper ends of intervals that hold the raw predictions of the optimum for samples X.

        Of regressions the predicted values, of classifiers the values of `decision_function`, where several classes
        are told apart in pairs those of all pairs. Only where the certificate has a radius and knows the model as a
        function of the samples.
        """
        if self._enclose is None:
            raise ValueError(
                "intervals needs a strongly convex problem, for which the certificate has a radius, and a model that "
                "it knows as a function of the samples, such as a support vector machine with a psd kernel."
            )
        low, high = self._enclose(X)
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        names = [
            "kind",
            "value",
            "scale",
            "tol",
            "floor",
            "objective",
            "lower_bound",
            "radius",
            "condition",
            "status",
            "note",
        ]
        return {name: getattr(self, name) for name in names} | {"ok": self.ok, "parts": list(self.parts)}

    def __repr__(self) -> str:
        mark = "ok" if self.ok else "NOT OK"
        state = "" if self.status in ("solved", "converged") else f", {self.status}"
        return f"<Certificate {mark}: {self.kind} {self.value:.2g} (allowed {self.allowed:.2g}){state}>"

    def _repr_html_(self) -> str:
        """The certificate in a notebook: verdict, explanation and numbers, with inline styles."""
        numbers: list[tuple[str, str]] = [("status", self.status)]
        if self.status not in (NOT_JUDGED, "no maximum"):
            known = {"lower bound": self.lower_bound, "radius": self.radius, "condition": self.condition}
            values = {self._rule.number: self.value, "allowed": self.allowed, "objective": self.objective} | known
            numbers += [(name, f"{value:.3g}") for name, value in values.items() if value is not None]
        # the colours of the page, except for the bar, whose green and red are visible on white and on black
        verdict, colour = ("ok", "#2da44e") if self.ok else ("NOT OK", "#e5534b")
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;font-weight:normal;padding:0 1em 0 0">{escape(name)}</th>'
            f'<td style="text-align:left;padding:0">{escape(value)}</td></tr>'
            for name, value in numbers
        )
        return (
            f'<div style="border-left:.3em solid {colour};padding:.1em .8em;max-width:60em">'
            f"<p><strong>Certificate {verdict}</strong> ({escape(self.kind)})</p><p>{escape(self.explain())}</p>"
            f'<table aria-label="Numbers of the certificate" style="border-collapse:collapse">{rows}</table></div>'
        )


def _singular(condition: float) -> str:
    return " (numerically singular: the shortest solution was taken)" if not condition < 1e15 else ""


def distances(X: Array, centre: Floats) -> Floats:
    """Distance of each sample from `centre`, without a dense copy of sparse X."""
    if not is_sparse(X):
        return np.sqrt(np.sum((X - centre) ** 2, axis=1))
    squares = X.copy()
    squares.data = squares.data.astype(np.float64) ** 2
    about = np.asarray(squares.sum(axis=1)).ravel() - 2.0 * np.asarray(X @ centre) + centre @ centre
    return np.sqrt(np.maximum(about, 0.0))
