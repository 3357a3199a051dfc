"""Optimism of the best of many scores: bootstrap bias corrected cross-validation."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.selection.racing import losses_of
from tenfold.selection.results import Interval, Nested
from tenfold.selection.scoring import Outputs


@dataclass(frozen=True)
class BestOf:
    """The loss of the best of several candidates, corrected for having been picked.

    Attributes
    ----------
    best : int
        The column of the candidate with the smallest mean loss, from 0; of a `Nested` its place among the candidates
        that were tested on all samples, in their order.
    loss : float
        Its mean loss, as picked.
    corrected : float
        The expected loss of what is picked so, on samples that had no part in the picking.
    optimism : float
        ``corrected - loss``, never negative.
    interval : Interval
        Of the corrected loss.
    method : str
        How it was computed.
    """

    best: int
    loss: float
    corrected: float
    optimism: float
    interval: Interval
    method: str


def best_of(
    losses: Any,
    *,
    sample_weight: Any = None,
    n_samples: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
) -> BestOf:
    """The loss of the best of several candidates, corrected for its selection by the same losses.

    Parameters
    ----------
    losses : ndarray of shape (n_samples, n_candidates), Nested or callable
        Losses of samples out of fold, smaller is better. Of a `Nested` those of all candidates that were tested on all
        samples that its splits test, where the score is a mean over samples: mistakes for accuracy, squared errors for
        R2. A function gives the losses of all candidates, (n_candidates,), for weights of the samples, (n_samples,):
        for figures that are no means, as an area under a curve.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, of a `Nested` of those that its splits test. None for ones.
    n_samples : int, default=None
        The number of samples, where `losses` is a function; else it is known.
    n_resamples : int, default=1000
        How often samples are drawn.
    level : float, default=0.95
        Probability with which the interval covers.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    BestOf
        The candidate that is picked, its loss, and the loss that is to be expected of it.

    Raises
    ------
    ValueError
        Where losses are not finite, or not of two samples and one candidate at least; where a function comes without
        `n_samples`; where no draw leaves samples to judge by; and of a `Nested` where the score is no mean over samples
        or no candidate was tested on all of them.

    Notes
    -----
    Each draw takes two means over the samples of all candidates, or two calls of the function.

    Samples are drawn with replacement; the candidate that is best on the drawn samples is judged by those that were
    not drawn (bootstrap bias corrected cross-validation: Tsamardinos, Greasidou and Borboudakis 2018). The optimism is
    the mean over draws of its loss there minus the loss there of the candidate that is best on all samples. The
    pairing leaves the expectation as it is and removes the noise of which samples are left out: a single candidate
    has no optimism at all, and none is ever negative. The interval has the quantiles over draws. No model is fitted
    again.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold.selection import best_of
    >>> guesses = np.random.default_rng(0).integers(0, 2, (200, 50))  # mistakes of 50 coins on 200 samples
    >>> found = best_of(guesses)
    >>> round(found.loss, 2), round(found.corrected, 2)
    (0.41, 0.49)
    """
    if callable(losses):
        if n_samples is None:
            raise ValueError("A function of weights needs n_samples, the number of samples that are drawn.")
        n, loss_of = n_samples, losses
    else:
        table = _table(losses)
        n = len(table)
        if n < 2 or table.shape[1] < 1 or not np.isfinite(table).all():
            raise ValueError(f"Losses are finite, of two rows and one candidate at least, got shape {table.shape}.")
        loss_of = partial(_mean_losses, table)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    means = np.asarray(loss_of(weight))
    best = int(np.argmin(means))
    rng = np.random.default_rng(random_state)
    draws, excess = [], []
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        left_out = weight * (drawn == 0)
        if not left_out.any():
            continue
        picked, outside = int(np.argmin(loss_of(weight * drawn))), loss_of(left_out)
        if np.isfinite(outside[[picked, best]]).all():
            draws.append(outside[picked])
            excess.append(outside[picked] - outside[best])
    if not draws:
        raise ValueError(f"No draw of the {n} samples leaves any that the candidates can be judged by.")
    # the expectation is not negative, so a negative estimate is noise
    optimism = max(0.0, float(np.mean(excess)))
    method = "bootstrap bias corrected cross-validation (Tsamardinos and others 2018)"
    loss = float(means[best])
    centre = loss + optimism - float(np.mean(draws))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]) + centre
    return BestOf(best, loss, loss + optimism, optimism, Interval(float(low), float(high), level, method), method)


def _mean_losses(table: Floats, weight: Floats) -> Floats:
    """Weighted means of the columns of a table."""
    return weight @ table / weight.sum()


def _table(losses: Any) -> Floats:
    if not isinstance(losses, Nested):
        table = np.asarray(losses, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(
                f"Losses have a row for each row and a column for each candidate, got shape {table.shape}."
            )
        return table
    return np.stack(candidate_losses(losses)[1], axis=1)


def candidate_losses(run: Nested) -> tuple[list[str], list[Floats]]:
    """Names and losses of the candidates that were tested on all samples that the splits test."""
    names, columns = [], []
    tested = run.protocol.tested
    for result in run.results:
        if result.state != "ok" or not np.array_equal(result.tested, tested):
            continue
        probabilities = result.probabilities
        outputs = Outputs(
            result.predictions[tested], None if probabilities is None else probabilities[tested], None, run.classes
        )
        loss = losses_of(run.scoring, run.y[tested], outputs)
        if loss is None:
            raise ValueError(f"{run.scoring} is not a mean over rows: give a table of losses.")
        names.append(result.name)
        columns.append(loss)
    if not columns:
        raise ValueError("No candidate was tested on all rows.")
    return names, columns
