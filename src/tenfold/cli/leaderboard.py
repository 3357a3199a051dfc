"""The leaderboard: nested cross-validation of every model, one row for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from tenfold.advice import LINEAR_ROWS, linear_or_not
from tenfold.cli.candidates import BASELINE, CHALLENGER, LeaderboardModel, expansion_steps
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.scoring import Metric, score_of
from tenfold.evaluation import Figure
from tenfold.features import TableEncoder
from tenfold.machine import threads
from tenfold.selection import Candidate, Event, Nested, Result, nested
from tenfold.selection.scoring import NEEDS_ALL_LABELS

TARGET_ENCODING_MAX_ROWS = 20_000  # larger tables group the rare levels of a category instead of target encoding

DENSE_MAX_WORDS = 1000  # vocabulary of a text column for models that need dense features

DENSE_ANYWAY_MAX_BYTES = 1 << 26  # tables up to this size are dense for all models, so that these share one encoding

EXPANSION_MAX_FEATURES = 200  # wider tables get no expansions


def encoder_of(data: LoadedTable, line: LeaderboardModel) -> TableEncoder:
    """The encoder of a table for a model.

    Categories of many levels are target encoded where the table is small enough, because every inner fold then refits
    the pipeline; else their rare levels are grouped.
    """
    dense = line.entry is None or line.entry.dense or bool(line.expansion)
    words = DENSE_MAX_WORDS if dense and data.schema.of("text") else TableEncoder().max_words
    small = 8 * data.frame.height * data.width <= DENSE_ANYWAY_MAX_BYTES
    return TableEncoder(
        types=data.schema.text(),
        task=data.family,
        scale=line.entry is None or line.entry.scaled[0],
        many_levels="target" if data.frame.height <= TARGET_ENCODING_MAX_ROWS else "group",
        sparse_output=False if dense or small else "auto",
        max_words=words,
    )


def dense_width(data: LoadedTable) -> int:
    """Number of features for models that need them dense."""
    return data.width_at(DENSE_MAX_WORDS)


def is_nonlinear(data: LoadedTable, metric: Metric, seed: int) -> tuple[bool, str]:
    """Whether a linear model is not enough, tried on a subsample of the rows, and a sentence about it."""
    if (
        data.width > EXPANSION_MAX_FEATURES
        or data.weight is not None
        or data.groups is not None
        or data.time is not None
    ):
        return False, ""
    rows = np.sort(np.random.default_rng(seed).permutation(data.frame.height)[:LINEAR_ROWS])
    encoder = TableEncoder(types=data.schema.text(), task=data.family, many_levels="group", sparse_output=False)
    try:
        X, y = encoder.fit_transform(data.frame[rows], data.y[rows]), data.y[rows]
        scoring = None if metric.scorer in NEEDS_ALL_LABELS else metric.scorer  # ridge has no probabilities
        result = linear_or_not(X, y, task=data.family, scoring=scoring, random_state=seed)
    except ValueError:  # too few rows of a class to compare anything
        return False, ""
    words = "Splines and products of features are tried with linear models"
    return not result.linear_is_enough, "" if result.linear_is_enough else f"{words}: {result}"


def candidate(data: LoadedTable, line: LeaderboardModel) -> Candidate:
    """A candidate for nested cross-validation: encoder, expansion, model. The baseline uses no column and is never
    given up; the challenger is not refitted.
    """
    if line.name == BASELINE:
        return Candidate(line.name, line.model, keep=True)
    grid = {f"model__{name}": list(values) for name, values in (line.entry.grid if line.entry else {}).items()}
    if line.entry is not None and len(line.entry.scaled) > 1:
        grid["table__scale"] = list(line.entry.scaled)
    expansion = expansion_steps(line.expansion, dense_width(data)) if line.expansion else []
    model = Pipeline([("table", encoder_of(data, line)), *expansion, ("model", line.model)])
    return Candidate(line.name, model, grid or None, refit=line.name != CHALLENGER)


def run_models(
    lines: list[LeaderboardModel],
    data: LoadedTable,
    metric: Metric,
    *,
    cv: Any,
    seconds: float,
    seed: int,
    callback: Callable[[Event], Any],
) -> Nested:
    """Nested cross-validation of all models; scikit-learn's get as many threads as ours."""
    with threadpool_limits(threads(), user_api="openmp"):
        return nested(
            [candidate(data, line) for line in lines],
            data.frame,
            data.y,
            outer=cv,
            scoring=metric.scorer,
            groups=data.groups,
            time=data.time,
            sample_weight=data.weight,
            time_limit=max(0.0, seconds),
            callback=callback,
            random_state=seed,
            abandon=False,
        )


@dataclass(frozen=True)
class RankedModel:
    """A model with its out-of-fold score; `lead` is its advantage over the best of the models with most folds, on the
    folds that both have.
    """

    line: LeaderboardModel
    result: Result
    figure: Figure | None
    lead: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether all folds were done."""
        return self.result.state == "ok" and self.figure is not None

    @property
    def status(self) -> str:
        if self.line.name in (BASELINE, CHALLENGER) and self.figure is not None:
            return {BASELINE: "baseline", CHALLENGER: "challenger"}[self.line.name]
        if self.figure is None:
            return "skipped" if self.result.state == "not started" else "failed"
        return "done" if self.complete else "partial"


def rank_models(lines: list[LeaderboardModel], run: Nested, metric: Metric, data: LoadedTable) -> list[RankedModel]:
    """The models, the best first, compared on the same folds; then those without folds.

    A model with some of the folds counts with the score of the best of those with most folds, plus the difference
    between the two on the folds that both have.
    """
    models = []
    for line in lines:
        result = run[line.name]
        figure = score_of(metric, result, data.y, data.weight, data.groups) if result.folds else None
        models.append(RankedModel(line, result, figure if figure is not None and np.isfinite(figure.value) else None))
    most = max((len(one.result.folds) for one in models if one.figure), default=0)
    full = [one for one in models if one.figure and len(one.result.folds) == most]
    if not full:
        return models
    reference = min(full, key=lambda one: metric.gap(0.0, one.figure.value) if one.figure else 0.0)
    ranking = [replace(one, lead=_lead(one, reference, metric, data)) for one in models]
    return sorted(ranking, key=lambda one: (one.figure is None, -one.lead))


def _lead(one: RankedModel, reference: RankedModel, metric: Metric, data: LoadedTable) -> float:
    """Advantage of a model over the reference, on the folds that it has."""
    return 0.0 if one.figure is None else metric.gap(*scores_on_same_folds(one, reference, metric, data))


def scores_on_same_folds(
    one: RankedModel, other: RankedModel, metric: Metric, data: LoadedTable
) -> tuple[float, float]:
    """The scores of two models on the folds that both have."""
    count = min(len(one.result.folds), len(other.result.folds))

    def score(model: RankedModel) -> float:
        if model.figure is not None and len(model.result.folds) == count:
            return model.figure.value
        part = replace(model.result, folds=model.result.folds[:count])
        return score_of(metric, part, data.y, data.weight, data.groups).value

    return score(one), score(other)


def best_of_ours(ranking: list[RankedModel]) -> RankedModel | None:
    """The best of our models that is fitted to all samples."""
    return next((one for one in ranking if one.figure and one.line.ours and one.result.model is not None), None)


def board(ranking: list[RankedModel], metric: Metric, skipped: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of the leaderboard, for the record."""
    baseline = next((one.figure.value for one in ranking if one.line.name == BASELINE and one.figure), None)
    rows = [_row(one, metric, baseline) for one in ranking]
    rows += [{**EMPTY_ROW, "name": name, "status": "skipped", "note": reason} for name, reason in skipped.items()]
    return rows


EMPTY_ROW: dict[str, Any] = {
    "name": "",
    "class": "",
    "status": "",
    "score": None,
    "low": None,
    "high": None,
    "interval": "",
    "folds": 0,
    "gap": None,
    "lead": None,
    "certificate": "",
    "certified": None,
    "chosen": {},
    "tried": 0,
    "free": 0,
    "how": "",
    "fit_seconds": None,
    "predict_us": None,
    "memory_mb": None,
    "note": "",
}


def _row(one: RankedModel, metric: Metric, baseline: float | None) -> dict[str, Any]:
    result, figure = one.result, one.figure
    certificate = result.certificate if one.line.ours else None
    row = {
        **EMPTY_ROW,
        "name": one.line.name,
        "class": type(one.line.model).__name__,
        "status": one.status,
        "folds": len(result.folds),
        "certificate": "" if certificate is None else format_certificate(certificate),
        "certified": None if certificate is None else bool(certificate.ok),
        "chosen": {name.rpartition("__")[2]: value for name, value in result.params.items()},
        "tried": result.tried if result.tried > 1 else 0,
        "free": result.free,
        "how": result.words,
        "fit_seconds": _seconds(result),
        "predict_us": _finite(result.predict_microseconds),
        "memory_mb": None if result.peak_bytes is None else result.peak_bytes / 2**20,
        "note": _note(one),
    }
    if figure is not None:
        row |= {"score": figure.value, "low": _finite(figure.low), "high": _finite(figure.high)}
        row |= {"interval": figure.method, "gap": None if baseline is None else metric.gap(figure.value, baseline)}
        row["lead"] = one.lead
    return row


def _seconds(result: Result) -> float | None:
    """Seconds of the fit to all samples, or else of a fold."""
    if np.isfinite(result.fit_seconds):
        return float(result.fit_seconds)
    return float(np.mean([fold.fit_seconds for fold in result.folds])) if result.folds else None


def format_certificate(certificate: Any) -> str:
    """A certificate as a short string."""
    if certificate.status == "not judged":
        return "not judged"
    return f"{'ok' if certificate.ok else 'NOT OK'} {certificate.kind} {certificate.value:.1g}"


def _note(one: RankedModel) -> str:
    words = []
    if one.line.name == CHALLENGER:
        words.append("scikit-learn's, to compare with")
    done, folds = len(one.result.folds), len(one.result.protocol)
    if one.figure is not None and done < folds:
        words.append(f"{done} of {folds} folds, ranked on these")
    if one.result.reason:
        words.append(one.result.reason)
    certificate = one.result.certificate
    if one.line.ours and certificate is not None and not certificate.ok:
        words.append(certificate.explain())
    return "; ".join(words)


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
