"""Racing: a candidate is given up when it is worse than the best on the same samples by more than chance explains.

Where the score is a mean over samples (accuracy, log loss, squared or absolute errors), the losses of two models are
compared pairwise on the samples that both were tested on: one is given up when the mean difference d and its standard
error s have d / s > t, where Student's t exceeds t with the probability of `GIVE_UP_Z` standard deviations of a normal.
Other scores (AUC, balanced accuracy) are compared fold by fold, from the third fold on, by the same rule. The samples
of a fold share a training set, so this is a heuristic to save time, not a test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from tenfold.arrays import Floats
from tenfold.selection.fitting import Data
from tenfold.selection.scoring import Outputs

GIVE_UP_Z = 3.0  # one-sided probability 0.00135: a candidate that is as good is hardly ever given up
MIN_SAMPLES, MIN_FOLDS = 20, 3  # pairs that a comparison needs


def _mistakes(y: Any, outputs: Outputs) -> Floats:
    return (np.asarray(outputs.predictions) != y).astype(np.float64)


def _log_loss(y: Any, outputs: Outputs) -> Floats | None:
    probabilities = _true_class_probabilities(y, outputs)
    return None if probabilities is None else -np.log(np.maximum(probabilities, np.finfo(np.float64).eps))


def _brier(y: Any, outputs: Outputs) -> Floats | None:
    if outputs.probabilities is None:
        return None
    hit = np.asarray(y)[:, None] == np.asarray(outputs.classes)[None, :]
    return np.sum((outputs.probabilities - hit) ** 2, axis=1) + ~hit.any(axis=1)


def _true_class_probabilities(y: Any, outputs: Outputs) -> Floats | None:
    """Predicted probability of the true class; 0 where the training samples lack that class."""
    if outputs.probabilities is None:
        return None
    hit = np.asarray(y)[:, None] == np.asarray(outputs.classes)[None, :]
    return np.sum(np.where(hit, outputs.probabilities, 0.0), axis=1)


def _mse_losses(y: Any, outputs: Outputs) -> Floats:
    return _mean_of_targets((y - outputs.predictions) ** 2)


def _mae_losses(y: Any, outputs: Outputs) -> Floats:
    return _mean_of_targets(np.abs(y - outputs.predictions))


def _mean_of_targets(errors: Any) -> Floats:
    return errors.reshape(len(errors), -1).mean(axis=1)


# losses per sample, by the scores that are their mean or decrease with it
LOSSES: dict[str, Callable[[Any, Outputs], Floats | None]] = {
    "accuracy": _mistakes,
    "neg_log_loss": _log_loss,
    "neg_brier_score": _brier,
    "r2": _mse_losses,
    "neg_mean_squared_error": _mse_losses,
    "neg_root_mean_squared_error": _mse_losses,
    "neg_mean_absolute_error": _mae_losses,
}


def losses_of(scoring: str, y: Any, outputs: Outputs) -> Floats | None:
    """The loss of each sample; None where the score is not a mean over samples."""
    loss = LOSSES.get(scoring)
    return None if loss is None else loss(y, outputs)


def reason_to_give_up(scoring: str, data: Data, result: Any, best: Any, count: int) -> str | None:
    """Why `result`, with some of `count` folds, is given up against `best`, with these or more; None to go on."""
    differences: Any = None
    what, min_count = "rows", MIN_SAMPLES
    pairs = list(zip(result.folds, best.folds, strict=False))
    if scoring in LOSSES:
        parts = [_loss_differences(scoring, data, mine.rows, mine.said, its.said) for mine, its in pairs]
        known = [part for part in parts if part is not None]
        differences = np.concatenate(known) if known and len(known) == len(parts) else None
    if differences is None:
        what, min_count = "folds", MIN_FOLDS
        differences = np.array([its.score - mine.score for mine, its in pairs])
    if not is_worse(differences, min_count):
        return None
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    ratio = f"by {mean / error:.0f} standard errors" if error > 0.0 else "by as much on every one"
    done = f"Given up after {len(result.folds)} of {count} folds"
    return f"{done}: worse than {best.name} {ratio} of {len(differences)} {what}."


def is_worse(differences: Floats, min_count: int = MIN_FOLDS) -> bool:
    """Whether paired differences, positive where one is worse, have a mean too large for chance."""
    if len(differences) < min_count or not np.isfinite(differences).all():
        return False
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return mean > 0.0 and mean > stats.t.ppf(stats.norm.cdf(GIVE_UP_Z), len(differences) - 1) * error


def _loss_differences(scoring: str, data: Data, rows: Any, mine: Outputs, its: Outputs) -> Floats | None:
    """Loss of each sample with one model minus that with another, weighted."""
    first_losses, second_losses = losses_of(scoring, data.y[rows], mine), losses_of(scoring, data.y[rows], its)
    if first_losses is None or second_losses is None:
        return None
    weight = 1.0 if data.weight is None else data.weight[rows] / np.mean(data.weight)
    return (first_losses - second_losses) * weight
