"""When a candidate is given up: it is worse than the best on the same rows by more than chance can explain.

Where the score is a mean over rows (accuracy, log loss, squared or absolute errors), losses of the two models are
compared row by row on the rows that both were tested on: given up when the mean difference exceeds its standard error
so far that Student's t would have the probability of `SURE` standard deviations of a normal. Other scores (AUC,
balanced accuracy) are compared fold by fold, from the third fold on, by the same rule. The rows of a fold share a
training set, so this is a rule to save time, not a test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from tenfold.arrays import Floats
from tenfold.selection.fitting import Data
from tenfold.selection.scoring import Outputs

SURE = 3.0
"""Standard deviations of a normal, the probability of which is asked for."""

FEWEST_ROWS, FEWEST_FOLDS = 20, 3


def _wrong(y: Any, said: Outputs) -> Floats:
    return (np.asarray(said.predictions) != y).astype(np.float64)


def _log_loss(y: Any, said: Outputs) -> Floats | None:
    shares = _shares(y, said)
    return None if shares is None else -np.log(np.maximum(shares, np.finfo(np.float64).eps))


def _brier(y: Any, said: Outputs) -> Floats | None:
    if said.probabilities is None:
        return None
    hit = np.asarray(y)[:, None] == np.asarray(said.classes)[None, :]
    return np.sum((said.probabilities - hit) ** 2, axis=1) + ~hit.any(axis=1)


def _shares(y: Any, said: Outputs) -> Floats | None:
    """The probability that was given to the right class; 0 where the model did not know it."""
    if said.probabilities is None:
        return None
    hit = np.asarray(y)[:, None] == np.asarray(said.classes)[None, :]
    return np.sum(np.where(hit, said.probabilities, 0.0), axis=1)


def _squares(y: Any, said: Outputs) -> Floats:
    return _mean_of_targets((y - said.predictions) ** 2)


def _absolute(y: Any, said: Outputs) -> Floats:
    return _mean_of_targets(np.abs(y - said.predictions))


def _mean_of_targets(errors: Any) -> Floats:
    return errors.reshape(len(errors), -1).mean(axis=1)


LOSSES: dict[str, Callable[[Any, Outputs], Floats | None]] = {
    "accuracy": _wrong,
    "neg_log_loss": _log_loss,
    "neg_brier_score": _brier,
    "r2": _squares,
    "neg_mean_squared_error": _squares,
    "neg_root_mean_squared_error": _squares,
    "neg_mean_absolute_error": _absolute,
}
"""Losses of rows, by the scores that are means of them or fall with them."""


def losses_of(scoring: str, y: Any, said: Outputs) -> Floats | None:
    """The loss of each row; None where the score is not a mean over rows."""
    loss = LOSSES.get(scoring)
    return None if loss is None else loss(y, said)


def hopeless(scoring: str, data: Data, result: Any, best: Any, count: int) -> str | None:
    """Why `result`, with some of `count` folds, is given up against `best`, with these or more; None to go on."""
    worse: Any = None
    what, fewest = "rows", FEWEST_ROWS
    pairs = list(zip(result.folds, best.folds, strict=False))
    if scoring in LOSSES:
        parts = [_difference(scoring, data, mine.rows, mine.said, its.said) for mine, its in pairs]
        known = [part for part in parts if part is not None]
        worse = np.concatenate(known) if known and len(known) == len(parts) else None
    if worse is None:
        what, fewest = "folds", FEWEST_FOLDS
        worse = np.array([its.score - mine.score for mine, its in pairs])
    if not falls_behind(worse, fewest):
        return None
    mean, error = float(worse.mean()), float(worse.std(ddof=1) / np.sqrt(len(worse)))
    times = f"by {mean / error:.0f} standard errors" if error > 0.0 else "by as much on every one"
    return (
        f"Given up after {len(result.folds)} of {count} folds: worse than {best.name} {times} of {len(worse)} {what}."
    )


def falls_behind(worse: Floats, fewest: int = FEWEST_FOLDS) -> bool:
    """Whether paired differences, positive where one is worse, have a mean that is too large for chance."""
    if len(worse) < fewest or not np.isfinite(worse).all():
        return False
    mean, error = float(worse.mean()), float(worse.std(ddof=1) / np.sqrt(len(worse)))
    return mean > 0.0 and mean > stats.t.ppf(stats.norm.cdf(SURE), len(worse) - 1) * error


def _difference(scoring: str, data: Data, rows: Any, mine: Outputs, its: Outputs) -> Floats | None:
    """How much more each row costs with one model than with another."""
    one, other = losses_of(scoring, data.y[rows], mine), losses_of(scoring, data.y[rows], its)
    if one is None or other is None:
        return None
    weight = 1.0 if data.weight is None else data.weight[rows] / np.mean(data.weight)
    return (one - other) * weight
