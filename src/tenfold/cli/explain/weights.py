"""Effects of a linear model in the units of the columns, and contributions w_j (x_j - mean_j).

The effect of a feature of zeros and ones is that of one against zero. The indicators of one category sum to one, so a
single weight among them is not identified; against the other levels of the column, with frequencies p_k, the effect of
level l is (w_l - sum p_k w_k) / (1 - p_l), invariant to a constant added to all levels. Numbers have an effect for one
unit and for one standard deviation of the samples.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from tenfold.arrays import Floats, is_sparse
from tenfold.features import TableEncoder
from tenfold.features.categorical import Levels

MAX_SAMPLES = 20_000  # for means and standard deviations of the features
MAX_WEIGHTS, MAX_CONTRIBUTIONS = 200, 40  # that a record stores
MAX_CONDITION = 1e12  # beyond it a weight has less than four of the sixteen digits of double precision

# Up to the first number of features the null space of the correlations is computed: eigenvalues below the second,
# relative to the largest. A feature is undetermined where a null direction changes its standardised effect by more than
# the third.
NULL_SPACE_MAX_FEATURES, NULL_SPACE_TOLERANCE, UNDETERMINED_TOLERANCE = 1500, 1e-11, 1e-5


@dataclass(frozen=True)
class LinearView:
    """A linear model on the samples at hand.

    Attributes
    ----------
    names : of the encoded features.
    sources : the column that each comes from.
    coef : (outputs, features) weights of the encoded features.
    units : how many units of its column one unit of each encoded feature is.
    means, deviations : of the encoded features on the samples.
    binary : whether a feature has two values that are one unit apart.
    levels : whether it is a level of a category.
    shares : of binary features, how many samples are at the upper value.
    Z : the samples, encoded.
    """

    names: list[str]
    sources: list[str]
    coef: Floats
    units: Floats
    means: Floats
    deviations: Floats
    binary: Any
    levels: Any
    shares: Floats
    Z: Any

    @classmethod
    def of(cls, model: Any, frame: Any, seed: int = 0) -> "LinearView | None":
        """The view of a pipeline of an encoder and a linear model; None of any other."""
        if len(model.steps) != 2:
            return None
        encoder, last = model.steps[0][1], model.steps[-1][1]
        if not isinstance(encoder, TableEncoder) or not hasattr(last, "coef_") or np.ndim(last.coef_) > 2:
            return None
        names = [str(name) for name in encoder.get_feature_names_out()]
        coef = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))
        if coef.shape[1] != len(names):
            return None
        if frame.height > MAX_SAMPLES:
            rows = np.random.default_rng(seed).choice(frame.height, MAX_SAMPLES, replace=False)
            frame = frame[np.sort(rows)]
        Z = encoder.transform(frame)
        Z = sparse.csc_array(Z) if is_sparse(Z) else np.asarray(Z)
        units = np.asarray(encoder.scales_, dtype=np.float64)
        means, deviations, low, high, kinds = _describe(Z)
        binary = (kinds == 2) & (np.abs((high - low) * units - 1.0) < 1e-9)
        levels, shares = level_mask(encoder, names), (means - low) * units
        return cls(names, source_columns(encoder), coef, units, means, deviations, binary, levels, shares, Z)

    def effects(self) -> Floats:
        """Effect of one unit, or of a level of a category against the other levels by their frequency."""
        effect = self.coef / self.units
        groups: dict[str, list[int]] = {}
        for j in np.flatnonzero(self.levels):
            groups.setdefault(self.sources[j], []).append(int(j))
        for members in groups.values():
            p, w = self.shares[members], self.coef[:, members]
            if len(members) > 1:
                effect[:, members] = (w - (w @ p)[:, None]) / np.maximum(1.0 - p, 1e-12)
        return effect

    def find_undetermined(self) -> Any:
        """Whether a change of the weights alters the effect of a feature but no prediction on the samples."""
        n, p = self.Z.shape
        if p > NULL_SPACE_MAX_FEATURES:
            return np.ones(p, dtype=bool)
        scale = np.where(self.deviations > 0.0, self.deviations, 1.0)
        products = self.Z.T @ self.Z
        products = products.toarray() if is_sparse(products) else products
        correlations = (products / n - np.outer(self.means, self.means)) / np.outer(scale, scale)
        values, vectors = eigh(correlations)
        null = vectors[:, values <= NULL_SPACE_TOLERANCE * values[-1]]
        changes = replace(self, coef=null.T / scale).effects() * self.units * scale
        return np.any(np.abs(changes) > UNDETERMINED_TOLERANCE, axis=0)


def weights_of(view: LinearView | None, classes: Any, condition: float | None) -> dict[str, Any] | None:
    """The table of effects, those first that change predictions most."""
    if view is None:
        return None
    effects = view.effects()
    changes = np.abs(view.coef * view.deviations).max(axis=0)
    order = np.argsort(-changes, kind="stable")[:MAX_WEIGHTS]
    many_outputs = len(view.coef) > 1
    warning = _warn(condition)
    undetermined = view.find_undetermined() if warning else np.zeros(len(view.names), dtype=bool)
    head = [str(name) for name in classes] if many_outputs else ["effect", "per standard deviation"]
    rows = []
    for j in order:
        change = "the level against others" if view.levels[j] else "1 against 0" if view.binary[j] else "one unit more"
        scaled = None if view.binary[j] or view.levels[j] else float(view.coef[0, j] * view.deviations[j])
        weights = effects[:, j].tolist() if many_outputs else [float(effects[0, j]), scaled]
        determined = not undetermined[j]
        rows.append({"feature": view.names[j], "change": change, "weights": weights, "determined": determined})
    effect = (
        "the prediction"
        if classes is None
        else "the score of each class"
        if many_outputs
        else f"the score of {classes[-1]}"
    )
    words = (
        f"By how much {effect} changes, all other columns fixed: for a number, when it grows by one unit; for a level "
        "of a category, against the other levels of the column by their frequency; for a mark of 0 or 1, against 0. "
        "Standardised effects are of numbers alone. Features that change predictions most come first."
    )
    return {"head": head, "rows": rows, "words": words, "warning": warning}


def _warn(condition: float | None) -> str | None:
    """A warning about undetermined weights; None for a small condition number."""
    if condition is None or condition <= MAX_CONDITION:
        return None
    size = f"{condition:.0e}" if np.isfinite(condition) else "infinite"
    return (
        f"Single weights are not identified here: the condition number is {size} (above {MAX_CONDITION:.0e}), some "
        "features are combinations of others, and very different weights give the same predictions. Effects that the "
        "samples do not determine are marked; the others, such as differences between the levels of a category, are "
        "the same for all these weights. So are predictions and permutation importance."
    )


def contributions_of(view: LinearView | None) -> dict[str, Any] | None:
    """Of a model with one output: the spread of each column's contribution, the largest first."""
    if view is None or len(view.coef) > 1:
        return None
    rows: list[dict[str, Any]] = []
    for name, values in sum_contributions(view).items():
        low, high = np.quantile(values, [0.05, 0.95])
        rows.append({"name": name, "low": float(low), "high": float(high), "size": float(np.mean(np.abs(values)))})
    rows.sort(key=lambda row: -row["size"])
    return {"rows": rows[:MAX_CONTRIBUTIONS], "samples": int(view.Z.shape[0])} if rows else None


def sum_contributions(view: LinearView) -> dict[str, Floats]:
    """w_j (x_j - mean_j) of every sample, summed over the features of each column: together the prediction less its
    mean.
    """
    totals: dict[str, Floats] = {}
    for j, source in enumerate(view.sources):
        if view.coef[0, j] != 0.0:
            column = view.Z[:, [j]].toarray().ravel() if is_sparse(view.Z) else view.Z[:, j]
            part = view.coef[0, j] * (column - view.means[j])
            totals[source] = totals[source] + part if source in totals else part
    return totals


def level_mask(encoder: TableEncoder, names: list[str]) -> Any:
    """Which features are levels of categories."""
    levels: set[str] = set()
    columns: Any = encoder.columns_
    for _, step, _ in columns.transformers_ if columns is not None else ():
        if isinstance(step, Levels):
            levels |= {str(name) for name in step.get_feature_names_out()}
    return np.array([name in levels for name in names], dtype=bool)


def source_columns(encoder: TableEncoder) -> list[str]:
    """The column of the table that each encoded feature comes from: the longest name that its own begins with."""
    columns = sorted((str(name) for name in encoder.used_), key=len, reverse=True)
    exact = set(columns)
    sources = []
    for feature in encoder.get_feature_names_out():
        name = str(feature)
        stems = (one for one in columns if name.startswith((f"{one}=", f"{one}.", f"{one}: ", f"{one} of ")))
        sources.append(name if name in exact else next(stems, name))
    return sources


def _describe(Z: Any) -> tuple[Floats, Floats, Floats, Floats, Any]:
    """Means, deviations, ends, and how many different values (1, 2, or 3 for more) the features have."""
    n, p = Z.shape
    if is_sparse(Z):
        means = np.asarray(Z.mean(axis=0)).ravel()
        squares = np.asarray(Z.multiply(Z).mean(axis=0)).ravel()
        deviations = np.sqrt(np.maximum(squares - means**2, 0.0))
        low, high = (np.asarray(end.toarray()).ravel() for end in (Z.min(axis=0), Z.max(axis=0)))
        inside = np.zeros(p, dtype=bool)
        for j in range(p):
            values = Z.data[Z.indptr[j] : Z.indptr[j + 1]]
            zeros = len(values) < n and low[j] < 0.0 < high[j]
            inside[j] = zeros or bool(np.any((values > low[j]) & (values < high[j])))
    else:
        means, deviations, low, high = Z.mean(axis=0), Z.std(axis=0), Z.min(axis=0), Z.max(axis=0)
        inside = np.any(np.logical_and(np.greater(Z, low), np.less(Z, high)), axis=0)
    return means, deviations, low, high, np.where(inside, 3, np.where(high > low, 2, 1))
