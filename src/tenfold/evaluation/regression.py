"""Metrics of regression: R2, errors, bias and quantile loss.

R2    1 - sum w (y - f)^2 / sum w (y - mean y)^2
RMSE  the root of the mean square; so are the ends of its interval
loss  of a quantile q: q (y - f) where y is above f, (1 - q) (f - y) where it is below
"""

from collections.abc import Mapping

import numpy as np

from tenfold.arrays import Floats
from tenfold.evaluation.intervals import Interval, Sample, make_undefined
from tenfold.evaluation.resampling import bootstrap, units_of
from tenfold.evaluation.results import Better, Evaluation, Figure


def evaluate_regression(
    y: Floats, predicted: Floats, sample: Sample, *, quantile: float | None, n_resamples: int, rng: np.random.Generator
) -> Evaluation:
    """The evaluation of predicted numbers."""
    confidence = sample.confidence
    # scaled by a power of two so that squares neither overflow nor underflow
    unit = float(np.ldexp(1.0, np.frexp(max(np.max(np.abs(y)), np.max(np.abs(predicted))))[1]))
    y, predicted = y / unit, predicted / unit
    errors = predicted - y
    absolute_errors = np.abs(errors)
    intervals: dict[str, tuple[Interval, Better]] = {
        "mae": (sample.mean(absolute_errors, True), "lower"),
        "rmse": (_root_mean_square(errors, sample), "lower"),
        "median_absolute_error": (sample.median(absolute_errors), "lower"),
        "bias": (sample.mean(errors), "zero"),
    }
    if quantile is not None:
        loss = np.where(errors < 0.0, -quantile * errors, (1.0 - quantile) * errors)
        intervals["pinball_loss"] = sample.mean(loss, True), "lower"
    figures = {"r2": Figure.of("r2", _r2(y, errors, sample, n_resamples, rng), confidence)}
    for name, (one, better) in intervals.items():
        value, low, high = (unit * end for end in one[:3])
        figures[name] = Figure(name, value, low, high, confidence, one.method, better)
    if quantile is not None:
        figures["share_below"] = Figure.of("share_below", sample.share(y <= predicted), confidence, "zero")
    notes = []
    if quantile is not None and not figures["share_below"].low <= quantile <= figures["share_below"].high:
        notes.append(f"the share of rows below their predicted quantile differs from {quantile:g}")
    return Evaluation(
        "regression",
        figures,
        rows=sample.size,
        effective_rows=sample.kish(),
        groups=0 if sample.groups is None else sample.units(),
        confidence=confidence,
        notes=tuple(notes),
    )


def _root_mean_square(errors: Floats, sample: Sample) -> Interval:
    squares = sample.mean(errors**2, True)
    value, low, high = (float(np.sqrt(end)) for end in squares[:3])
    return Interval(value, low, high, squares.method)


def _r2(y: Floats, errors: Floats, sample: Sample, n_resamples: int, rng: np.random.Generator) -> Interval:
    w = sample.weight()
    # centred, so that the squares do not cancel
    centred = y - np.sum(w * y) / np.sum(w)
    if sample.size < 2 or not np.any(centred):
        return make_undefined("the target is constant")
    units = units_of(np.column_stack([np.ones(len(y)), centred, centred**2, errors**2]), sample, rng)
    total = units.total()
    value = float(_r2_of_sums(total[None])["r2"][0])
    if n_resamples == 0:
        return Interval(value, np.nan, np.nan, "none")
    bootstrap_result = bootstrap(units, _r2_of_sums, n_resamples, rng)
    if bootstrap_result is None:
        return make_undefined("one independent row", value)
    return bootstrap_result.interval("r2", sample.confidence) or Interval(
        value, value, value, f"{bootstrap_result.method} (all agree)"
    )


def _r2_of_sums(sums: Floats) -> Mapping[str, Floats]:
    count, first, second, squares = sums.T
    spread = second - first**2 / np.where(count > 0.0, count, 1.0)
    return {"r2": np.where(spread > 0.0, 1.0 - squares / np.where(spread > 0.0, spread, 1.0), np.nan)}
