"""The learning curve of the best model, extrapolated to twice the data by a power law.

The error is taken as a + b n^-c in the number n of training samples, with a, b >= 0: the form that learning curves are
known to follow (Viering and Loog 2023). Differences from the score at full size are paired within folds, so that the
curve ends at the board's own score. The interval of the gain is the jackknife over folds with Student's t; it knows
nothing of whether the form holds beyond the data.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import t as student

from tenfold.arrays import Floats
from tenfold.cli.explain.held_out import Refit
from tenfold.selection import Result
from tenfold.selection.time_limit import OutOfTime

FRACTIONS = (0.125, 0.25, 0.5)
EXPONENTS = np.linspace(0.1, 2.0, 39)
MIN_SAMPLES = 40  # training samples below which there is no learning curve


def learning_curve(
    refit: Refit, result: Result, score: float, *, smaller: bool, deadline: float
) -> dict[str, Any] | None:
    """Scores by training samples, fold by fold until the deadline; `OutOfTime` where not a single fold fits into it,
    None where there are too few samples or a fold has no score.

    `score` is the board's, at full size; `smaller` says whether smaller is better.
    """
    full = _full_scores(refit, result)
    trained = float(np.mean([len(train) for train, _ in refit.protocol.pairs]))
    if full is None or trained < MIN_SAMPLES:
        return None
    drops: list[list[float]] = []
    sizes: list[list[int]] = []
    for split in range(len(full)):
        if time.perf_counter() + sum(FRACTIONS) * refit.seconds > deadline:
            break
        models = [refit.fit(split, share, deadline) for share in FRACTIONS]
        test = refit.data.part(models[0].rows)
        drops.append([full[split] - refit.scoring(one.model, test) for one in models])
        sizes.append([one.trained for one in models])
    if not drops:
        raise OutOfTime
    drops_ = np.array(drops)
    if not np.isfinite(drops_).all():
        return None
    # a drop is the score at full size minus that of fewer samples, larger is better
    losses = drops_ if smaller else -drops_
    scores = score + np.append(losses.mean(axis=0), 0.0)
    n = np.append(np.mean(sizes, axis=0), trained)
    return {
        "sizes": n.tolist(),
        "scores": scores.tolist(),
        "folds": len(drops_),
        "of_folds": (score + np.column_stack([losses, np.zeros(len(drops_))])).tolist(),
        **_extrapolate(n, drops_, score if smaller else 1.0 - score),
    }


def _full_scores(refit: Refit, result: Result) -> list[float] | None:
    """Scores of the folds at full size, from the leaderboard; None where some are missing."""
    if len(result.folds) < len(refit.protocol) or refit.protocol is not result.protocol:
        return None
    return [fold.score for fold in result.folds]


def _extrapolate(n: Floats, drops: Floats, error: float) -> dict[str, Any]:
    """The gain of twice the samples, its interval, and the curve beyond the data."""
    errors = error + np.append(drops.mean(axis=0), 0.0)
    curve = fit_power_law(n, errors)
    gain = float(curve(n[-1]) - curve(2.0 * n[-1]))
    beyond = np.geomspace(n[-1], 2.0 * n[-1], 5)
    extrapolation = {
        "gain": gain,
        "low": None,
        "high": None,
        "beyond": beyond.tolist(),
        "gains": [float(curve(n[-1]) - curve(size)) for size in beyond],
    }
    folds = len(drops)
    if folds < 3:
        return extrapolation
    left_out = []
    for fold in range(folds):
        others = np.delete(drops, fold, axis=0).mean(axis=0)
        law = fit_power_law(n, error + np.append(others, 0.0))
        left_out.append(float(law(n[-1]) - law(2.0 * n[-1])))
    standard_error = float(np.sqrt((folds - 1) * np.var(left_out)))
    half = float(student.ppf(0.975, folds - 1)) * standard_error
    return extrapolation | {"low": max(0.0, gain - half), "high": gain + half}


@dataclass(frozen=True)
class PowerLaw:
    """The error a + b n^-c."""

    a: float
    b: float
    c: float

    def __call__(self, n: Any) -> Any:
        return self.a + self.b * np.asarray(n, dtype=np.float64) ** -self.c


def fit_power_law(n: Floats, error: Floats) -> PowerLaw:
    """Least squares with weights n over a grid of exponents, a and b by non-negative least squares."""
    weight = np.sqrt(n / n[-1])
    best, smallest = PowerLaw(float(error[-1]), 0.0, 1.0), np.inf
    for c in EXPONENTS:
        design = np.column_stack([np.ones(len(n)), (n / n[-1]) ** -c]) * weight[:, None]
        (a, b), residual = nnls(design, error * weight)
        if residual < smallest:
            best, smallest = PowerLaw(float(a), float(b * n[-1] ** c), float(c)), residual
    return best
