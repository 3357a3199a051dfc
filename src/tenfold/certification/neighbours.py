"""Certificates of fitted neighbours and densities, ours or scikit-learn's: stored samples beside those given, and
neighbours and densities beside plain distances.
"""

import warnings
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers, is_dask, is_sparse, namespace, numpy_dtype, on_host
from tenfold.certification.models import check_known_classes
from tenfold.certification.outputs import Labels, Output, take_samples
from tenfold.cross_validation.knn_loo import list_candidates
from tenfold.data import MemoryRows, Rows
from tenfold.distances import distance_of
from tenfold.estimators.class_labels import label_indices as numbered_classes
from tenfold.estimators.neighbours.density import bandwidth_by_rule
from tenfold.estimators.neighbours.distance_metric_objects import is_metric
from tenfold.estimators.neighbours.histogram import list_bin_numbers, make_edges, read_histogram
from tenfold.estimators.neighbours.kde_model import KernelModelBase
from tenfold.estimators.neighbours.metrics import name_metric
from tenfold.estimators.neighbours.neighbors_model import NeighborsBase
from tenfold.estimators.neighbours.parzen import kernel_request, largest_targets
from tenfold.estimators.neighbours.remote_queries import REMOTE
from tenfold.estimators.neighbours.stored import count_samples, read_density, read_neighbors, read_rows
from tenfold.estimators.registration import source_of
from tenfold.estimators.validation import (
    as_rows,
    as_rows_without_target,
    require_finite,
    total_weight,
    validate,
    validate_rows,
    validate_weights,
)
from tenfold.judge import kde as judge_kde
from tenfold.judge import neighbours as judge
from tenfold.judge import prototypes as judge_prototypes
from tenfold.judge.certificate import Certificate
from tenfold.pairwise import collect_rows, log_volume, number_rows
from tenfold.plans.neighbours import histogram as plan
from tenfold.plans.neighbours import list_bandwidths, sample_queries


def index(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Neighbours of some of the stored samples by the methods of the model."""
    kept, _, votes = read_neighbors(model)
    there = source_of(kept) in REMOTE
    given = X if there or is_sparse(X) else np.asarray(X, dtype=kept.dtype if kept.dtype in FLOATS else None)
    weight = validate_weights(sample_weight, given)
    stored = _compare_remote(model, X, y, weight) if there else _compare(model, given, y, weight)
    places = np.flatnonzero(on_host(votes)) if votes is not None else np.arange(kept.shape[0])
    k = getattr(model, "n_neighbors_", getattr(model, "n_neighbors", None))
    k = None if k is None else min(int(k), len(places) - 1)
    metric, metric_params = _metric_of(model)
    problem: dict[str, Any] = {"metric": metric, "params": metric_params}
    problem |= {"k": k, "radius": None if k is not None else model.radius}
    rows = number_rows(as_rows_without_target(kept, votes))
    numbers = places[judge.sample(len(places), kept.shape[1])]
    if isinstance(metric, str) and metric == "precomputed":
        return judge.neighbours(
            stored, rows, **problem, numbers=numbers[:0], queries=kept, search=partial(_search, model, k)
        )
    missing = isinstance(metric, str) and metric == "nan_euclidean"
    queries = collect_rows(rows, numbers, missing=missing)
    return judge.neighbours(
        stored, rows, **problem, numbers=numbers, queries=queries, search=partial(_search, model, k)
    )


def _metric_of(model: Any) -> tuple[Any, dict[str, Any]]:
    """The metric and its parameters, from the parameters of the user."""
    parameters = SimpleNamespace(
        **{name: getattr(model, name) for name in ("algorithm", "metric", "metric_params", "p")}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name_metric(parameters, read_neighbors(model).samples.shape[1])
    return parameters.effective_metric_, parameters.effective_metric_params_


def _compare(model: Any, given: Any, y: Any, weight: Any) -> dict[str, tuple[Any, Any]]:
    """What the model stores in memory, and what it was given."""
    kept, targets, votes = read_neighbors(model)
    stored = {"the rows": (kept, given)}
    if targets is not None:
        if y is None:
            raise ValueError(f"{type(model).__name__} was fitted with targets: give y.")
        stored["the targets"] = (_targets(model), np.asarray(y).reshape(np.shape(_targets(model))))
    ones = np.ones(kept.shape[0])
    stored["the weights"] = (ones if votes is None else votes, ones if weight is None else weight)
    return stored


def _compare_remote(model: Any, X: Any, y: Any, weight: Any) -> dict[str, tuple[Any, Any]]:
    """The same for samples that stay where they are: checksums of both, or on a device the numbers of entries that
    differ.
    """
    classes = hasattr(model, "classes_")
    if read_neighbors(model).targets is None:
        kept, given = read_rows(model), as_rows_without_target(validate_rows(BaseEstimator(), X), weight)
    else:
        X, y = validate(BaseEstimator(), X, y, numeric=not classes, multi_output=True)
        if classes:
            each = [on_host(part) for part in (model.classes_ if model.outputs_2d_ else [model.classes_])]
            y = numbered_classes(each[0], y, X) if is_dask(y) else _numbers(each, on_host(y))
        kept, given = read_rows(model), as_rows(X, y, weight)
    return _compare_rows(kept, given)


def _compare_rows(kept: Rows, given: Rows) -> dict[str, tuple[Any, Any]]:
    """Checksums of Rows that are in different places, or the numbers of entries that differ."""
    if not isinstance(kept, MemoryRows) or not isinstance(given, MemoryRows):
        return {"the rows": (judge.mark(kept), judge.mark(given))}
    return {
        name: (np.array([_differences(getattr(kept, part), getattr(given, part))]), np.zeros(1))
        for name, part in (("the rows", "X"), ("the targets", "y"), ("the weights", "weight"))
    }


def _differences(one: Any, other: Any) -> float:
    """The number of entries that differ, where they are."""
    if one is None or other is None or one.shape != other.shape:
        return float(one is not other)
    xp = namespace(one)
    return float(xp.sum(xp.astype(one != other, xp.float64)))


def _numbers(each: list[Any], y: Any) -> Any:
    """Numbers of classes (n, t), -1 of what is none."""
    columns = y.reshape(len(y), -1).T
    numbers = []
    for classes, column in zip(each, columns, strict=True):
        place = np.minimum(np.searchsorted(classes, column), len(classes) - 1)
        numbers.append(np.where(classes[place] == column, place, -1))
    return np.column_stack(numbers)


def _targets(model: Any) -> Any:
    targets = read_neighbors(model).targets
    if not hasattr(model, "classes_"):
        return targets
    if not model.outputs_2d_:
        return model.classes_[targets]
    return np.column_stack([classes[targets[:, t]] for t, classes in enumerate(model.classes_)])


def _search(model: Any, k: int | None, queries: Any, numbers: Integers) -> judge.Answer:
    """Neighbours of some stored samples: one more is searched, and the sample itself left out."""
    if k is None:
        distances, rows = (on_host(part) for part in model.radius_neighbors(queries))
        counts = np.array([len(one) for one in rows])
        distances, rows = np.concatenate(list(distances)), np.concatenate(list(rows))
        stays = rows != np.repeat(numbers, counts)
        counts = np.add.reduceat(np.append(stays, 0), np.append(0, np.cumsum(counts))[:-1]) * (counts > 0)
    else:
        distances, rows = (on_host(part) for part in model.kneighbors(queries, k + 1))
        stays = rows != numbers[:, None]
        stays[stays.all(axis=1), -1] = False  # more samples at its place than neighbours
        counts = stays.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return offsets, np.asarray(distances[stays], dtype=np.float64), rows[stays].astype(np.int64)


@dataclass(frozen=True)
class _KernelSamples:
    """Stored samples of a density, as Rows and as they are; their targets and weights; how many have a positive weight;
    and what is stored beside what was given.
    """

    rows: Rows
    samples: Any
    targets: Any
    weight: Any
    count: int
    stored: dict[str, tuple[Any, Any]]

    def take_queries(self, model: Any) -> Array:
        """The samples at which a density or a mean is computed again."""
        return require_finite(model, self.samples, lambda: sample_queries(self.rows, self.weight, self.count)[1])


def _read_kernel_samples(model: Any, X: Any, y: Any, sample_weight: Any, *, with_targets: bool) -> _KernelSamples:
    """What a model of ours stores, or a density of scikit-learn's."""
    if with_targets and y is None and source_of(X) != "files":
        raise ValueError(f"{type(model).__name__} was fitted with targets: give y.")
    ours = isinstance(model, KernelModelBase)
    kept, targets, own_weight = read_density(model)
    if source_of(kept) in REMOTE:
        X, y = (
            validate(BaseEstimator(), X, y, numeric=True, multi_output=True)
            if with_targets
            else (validate_rows(BaseEstimator(), X), None)
        )
        weight = validate_weights(sample_weight, X)
        given = as_rows(X, y, weight) if with_targets else as_rows_without_target(X, weight)
        rows = read_rows(model)
        return _KernelSamples(rows, kept, targets, own_weight, count_samples(model), _compare_rows(rows, given))
    X = validate_data(model, X, order="C", dtype=np.float64, reset=False)
    weight = validate_weights(sample_weight, X)
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1) if with_targets else None
    if weight is not None and not weight.all():
        inside = weight > 0
        X, y, weight = X[inside], None if y is None else y[inside], weight[inside]
        if not ours and len(kept) == len(inside):
            kept = kept[inside]  # scikit-learn keeps samples of weight zero
    stored = {"the rows": (kept, X)}
    if with_targets:
        stored["the targets"] = (targets, y)
    if not ours:
        return _KernelSamples(as_rows_without_target(kept, weight), kept, None, weight, len(kept), stored)
    own = np.ones(len(kept)) if own_weight is None else own_weight
    stored["the weights"] = (own, np.ones(len(X)) if weight is None else weight)
    return _KernelSamples(read_rows(model), kept, targets, own_weight, len(kept), stored)


def density(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Logarithms of the density at some of the stored samples, by `score_samples`."""
    kept = _read_kernel_samples(model, X, y, sample_weight, with_targets=False)
    h, d = float(model.bandwidth_), kept.rows.shape[1]
    queries = kept.take_queries(model)
    return judge_kde.density(
        kept.rows,
        metric=model.metric,
        params=model.metric_params or {},
        kernel=model.kernel,
        bandwidth=h,
        volume=float(log_volume(model.kernel, np.array([h]), d)[0]),
        total=total_weight(kept.samples, kept.weight),
        queries=queries,
        values=on_host(model.score_samples(queries)),
        bandwidths=(h, bandwidth_by_rule(model, kept.count, d)),
        stored=kept.stored,
        allowed=(float(model.atol), float(model.rtol)),
    )


def means(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Local means at some of the stored samples, by `predict`."""
    kept = _read_kernel_samples(model, X, y, sample_weight, with_targets=True)
    request, queries = kernel_request(model, model.bandwidth_), kept.take_queries(model)
    return judge_kde.means(
        kept.rows,
        metric=model.metric,
        params=model.metric_params or {},
        kernel=request.kernel,
        bandwidth=float(request.bandwidths[0]),
        size=largest_targets(kept.targets),
        queries=queries,
        values=on_host(model.predict(queries)).reshape(queries.shape[0], -1),
        stored=kept.stored,
    )


def histogram(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Bars, counted again."""
    rows = as_rows_without_target(*read_histogram(model, X, sample_weight))
    return judge_kde.histogram(rows, model.bin_edges_, model.density_, model.counts_)


def prototypes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Means of the samples of each class that are nearest to a prototype."""
    X, y = validate_data(model, X, y, dtype=np.float64, order="C", reset=False)
    weight = validate_weights(sample_weight, X)
    check_known_classes(model, y)
    if weight is not None and not weight.all():
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    number, which = (np.searchsorted(model.classes_, names) for names in (y, model.prototype_classes_))
    return judge_prototypes.prototypes(X, number, weight, model.prototypes_, which)


def check_index(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """What of a model that keeps its samples does not follow from its parameters and these samples."""
    count = read_neighbors(model).samples.shape[0]
    if model.n_samples_fit_ != count:
        return f"n_samples_fit_ is {model.n_samples_fit_}, and {count} samples are kept."
    metric, metric_params = _metric_of(model)
    if not (
        _alike(model.effective_metric_, metric) or (is_metric(model.metric) and not isinstance(model, NeighborsBase))
    ):
        return f"effective_metric_ is {model.effective_metric_!r}, and the parameters say {metric!r}."
    if isinstance(model, NeighborsBase) or not is_metric(model.metric):
        own = model.effective_metric_params_ or {}
        if own.keys() != metric_params.keys() or not all(_alike(own[name], metric_params[name]) for name in own):
            return f"effective_metric_params_ are {own!r}, and the parameters say {metric_params!r}."
    complaint = _complain_of_number(model) if hasattr(model, "cv_errors_") else ""
    return complaint or _complain_of_answers(model, X)


def _alike(one: Any, other: Any) -> bool:
    return one is other or bool(np.array_equal(one, other))


def _complain_of_number(model: Any) -> str:
    """Candidates, the least error among them, and the number of neighbours."""
    if not np.array_equal(model.candidates_, list_candidates(model.n_neighbors, _voters(model) - 1)):
        return "candidates_ are not those that n_neighbors asks for."
    return _complain_of_choice("n_neighbors_", model.n_neighbors_, model.candidates_, model.cv_errors_, model)


def _complain_of_choice(name: str, chosen: Any, candidates: Any, errors: Any, model: Any) -> str:
    """That the candidate with the least error was chosen, the first of several, and its error is minus the best
    score.
    """
    if np.shape(errors) != np.shape(candidates):
        return f"There are {np.size(candidates)} candidates and {np.size(errors)} errors."
    best = 0 if np.isnan(errors).all() else int(np.nanargmin(errors))
    if chosen != candidates[best]:
        return f"{name} is {chosen}, and the best of the candidates is {candidates[best]}."
    if hasattr(model, "best_score_") and not np.array_equal(-model.best_score_, errors[best], equal_nan=True):
        return f"best_score_ is {model.best_score_}, and the least of the errors {errors[best]}."
    return ""


def _complain_of_answers(model: Any, X: Any) -> str:
    """Predictions and graphs beside those of the neighbours that the model itself finds, which were judged."""
    samples = take_samples(X)
    if _counts(model) and _list_length(model) > _voters(model):
        return ""  # more neighbours than samples: no query has an answer
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if hasattr(model, "transform"):
            wrong = "transform" if _other_graph(model, samples) else ""
        else:
            wrong = _other_answers(model, samples) if read_neighbors(model).targets is not None else ""
    return f"{type(model).__name__}.{wrong} does not return what the neighbours say." if wrong else ""


def _counts(model: Any) -> bool:
    """Whether neighbours are a number of the nearest, and not all within a radius."""
    return getattr(model, "n_neighbors", None) is not None


def _list_length(model: Any) -> int:
    """How many neighbours an answer takes: a graph of distances has the sample itself, too."""
    graph = hasattr(model, "transform") and model.mode == "distance"
    return int(getattr(model, "n_neighbors_", model.n_neighbors)) + int(graph)


def _voters(model: Any) -> int:
    """How many samples can be neighbours."""
    samples, _, votes = read_neighbors(model)
    return int(samples.shape[0]) if votes is None else int(np.count_nonzero(on_host(votes)))


def _lists(model: Any, samples: Any, more: int = 0) -> tuple[list[Floats], list[Integers]]:
    """Distances and numbers of the neighbours of each sample."""
    lists = model.kneighbors(samples, _list_length(model) + more) if _counts(model) else model.radius_neighbors(samples)
    distances, rows = (list(on_host(part)) for part in lists)
    return distances, rows


def _other_graph(model: Any, samples: Any) -> bool:
    distances, rows = _lists(model, samples)
    offsets = np.append(0, np.cumsum([len(one) for one in rows]))
    data = np.concatenate(distances) if model.mode == "distance" else np.ones(offsets[-1])
    expected = sparse.csr_matrix((data, np.concatenate(rows), offsets), shape=(len(rows), model.n_samples_fit_))
    own = model.transform(samples)
    return own.shape != expected.shape or bool((abs(own - expected) > 1e-6 * abs(expected)).nnz)


def _other_answers(model: Any, samples: Any) -> str:
    """The name of a method whose values are not those of the neighbours, for samples that have some, and of which none
    is at the limit: there several answers are right.
    """
    distances, rows = _lists(model, samples)
    some = np.array([len(one) > 0 for one in rows]) & ~_is_tied(model, samples, distances)
    weight = _weights(model, distances, rows)
    if weight is None or not some.any():
        return ""
    y, tol = np.asarray(read_neighbors(model).targets), 1e-4 if numpy_dtype(samples.dtype) == np.float32 else 1e-9
    y = y.reshape(len(y), -1)
    own = np.asarray(on_host(model.predict(samples)))
    own = own.reshape(len(own), -1)
    multi_output = hasattr(model, "classes_") and model.outputs_2d_
    proba = model.predict_proba(samples) if hasattr(model, "predict_proba") else []
    for t in range(y.shape[1]):
        if not hasattr(model, "classes_"):
            mean = np.array(
                [w @ y[one, t] / w.sum() if len(w) else np.nan for w, one in zip(weight, rows, strict=True)]
            )
            if not np.allclose(own[some, t], mean[some], rtol=tol, atol=tol * float(np.max(np.abs(y[:, t])))):
                return "predict"
            continue
        classes = on_host(model.classes_[t] if multi_output else model.classes_)
        votes = np.array(
            [
                np.bincount(y[one, t], w, len(classes)) / max(w.sum(), 1e-300)
                for w, one in zip(weight, rows, strict=True)
            ]
        )
        shares = np.asarray(on_host(proba[t] if multi_output else proba))
        if shares.shape != votes.shape or not np.allclose(shares[some], votes[some], rtol=0.0, atol=tol):
            return "predict_proba"
        taken = np.max(np.where(own[:, t, None] == classes, votes, -np.inf), axis=1)
        # numbers of neighbours are equal or not; sums of weights are up to rounding
        if np.any((np.max(votes, axis=1) - taken)[some] > (0.0 if _counts_heads(model) else tol)):
            return "predict"
    return ""


def _counts_heads(model: Any) -> bool:
    """Whether each neighbour has one vote."""
    return model.weights in (None, "uniform") and read_neighbors(model).weight is None


def _is_tied(model: Any, samples: Any, distances: list[Floats]) -> Any:
    """Where a sample has further neighbours at the limit."""
    tol = 1e-4 if numpy_dtype(samples.dtype) == np.float32 else 1e-7
    if not _counts(model):
        return np.array([bool(np.any(np.abs(one - model.radius) <= tol * model.radius)) for one in distances])
    if len(distances[0]) >= _voters(model):
        return np.zeros(len(distances), dtype=bool)
    longer = np.array(_lists(model, samples, 1)[0])
    # distances of many features come from products, whose rounding is that of the lengths of the samples
    values = np.abs(samples.data if is_sparse(samples) else on_host(samples))
    largest = (
        0.0
        if isinstance(model.metric, str) and model.metric == "precomputed"
        else float(np.nanmax(values, initial=0.0))
    )
    size = np.max(longer, axis=1) + largest
    return longer[:, -1] - longer[:, -2] <= tol * size


def _weights(model: Any, distances: list[Floats], rows: list[Integers]) -> list[Floats] | None:
    """The weights of the neighbours of each sample; None where the user's function needs all distances at once."""
    if callable(model.weights):
        if not _counts(model):
            return None
        weights = [np.asarray(one, dtype=np.float64) for one in model.weights(np.array(distances))]
    elif model.weights == "distance":
        weights = [(one == 0.0).astype(np.float64) if np.any(one == 0.0) else 1.0 / one for one in distances]
    else:
        weights = [np.ones(len(one)) for one in distances]
    votes = read_neighbors(model).weight
    if votes is None:
        return weights
    votes = on_host(votes)
    return [own * votes[one] for own, one in zip(weights, rows, strict=True)]


def check_bandwidth(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Whether the bandwidth is the user's, or the best of the candidates."""
    if model.bandwidth not in ("likelihood", "loo"):
        # rules of thumb are judged with the density
        given = isinstance(model.bandwidth, str) or model.bandwidth_ == model.bandwidth
        return "" if given else f"bandwidth_ is {model.bandwidth_}, and bandwidth {model.bandwidth}."
    distance = distance_of(model.metric, model.metric_params or {}, read_density(model).samples)
    expected = list_bandwidths(distance, read_density(model).samples, model.candidates)
    if np.shape(model.candidates_) != expected.shape or not np.allclose(model.candidates_, expected, rtol=1e-12):
        return "candidates_ are not those that the parameters ask for."
    errors = -model.likelihoods_ if model.bandwidth == "likelihood" else model.cv_errors_
    return _complain_of_choice("bandwidth_", model.bandwidth_, model.candidates_, errors, model)


def check_boxes(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Edges, by the parameters and the range of the samples, and of several numbers of boxes the one of least risk."""
    X, weight = read_histogram(model, X, sample_weight)
    rows, total = as_rows_without_target(X, weight), total_weight(X, weight)
    low, high = plan.range_of(rows)
    if isinstance(model.bins, str) and model.width is None:
        candidates = list_bin_numbers(model, len(low), total)
        if not np.array_equal(model.candidates_, candidates):
            return "candidates_ are not those that the parameters ask for."
        edges = [plan.edges_of(low, high, int(bins)) for bins in candidates]
        risks = judge_kde.risks(rows, edges, total)
        size = np.max(np.abs(risks[np.isfinite(risks)]), initial=1e-300)
        if not np.allclose(model.risks_, risks, rtol=0.0, atol=1e-9 * size, equal_nan=True):
            return "risks_ are not those of the counts."
        best = edges[0 if np.isnan(model.risks_).all() else int(np.nanargmin(model.risks_))]
    else:
        best = make_edges(model, low, high)
    same = len(best) == len(model.bin_edges_) and all(
        np.shape(own) == edge.shape and np.allclose(own, edge, rtol=1e-12, atol=1e-12 * float(np.ptp(edge)))
        for own, edge in zip(model.bin_edges_, best, strict=True)
    )
    return "" if same else "bin_edges_ are not those that the parameters and the samples ask for."


def nearest_prototype(model: Any, X: Array) -> list[Output | Labels]:
    X_ = np.asarray(X, dtype=np.float64)
    squares = np.sum((X_[:, None, :] - model.prototypes_) ** 2, axis=2)
    scores = [-np.min(squares[:, model.prototype_classes_ == c], axis=1, initial=np.inf) for c in model.classes_]
    size = np.sum(X_**2, axis=1) + np.max(np.sum(model.prototypes_**2, axis=1))
    return [Labels("predict", np.column_stack(scores), model.classes_, 1e-12 * size)]


def bars(model: Any, X: Array) -> list[Output | Labels]:
    X, cells = np.asarray(on_host(X), dtype=np.float64), []
    inside = np.ones(len(X), dtype=bool)
    for j, edge in enumerate(model.bin_edges_):
        cells.append(np.sum(X[:, j, None] >= edge[1:-1], axis=1, dtype=np.intp))
        inside &= (X[:, j] >= edge[0]) & (X[:, j] <= edge[-1])
    with np.errstate(divide="ignore"):
        return [Output("score_samples", np.log(np.where(inside, model.density_[tuple(cells)], 0.0)), 1e-12)]


def local_means(model: Any, X: Array) -> list[Output | Labels]:
    """Means where some sample is in the support; others depend on ties."""
    stored = read_density(model)
    if source_of(stored.samples) in REMOTE:
        return []
    request = kernel_request(model, model.bandwidth_)
    value = judge_kde.local_means(
        read_rows(model),
        model.metric,
        model.metric_params or {},
        request.kernel,
        float(request.bandwidths[0]),
        np.asarray(X, dtype=np.float64),
    )
    rounding = np.where(np.isnan(value), np.inf, 1e-9 * largest_targets(stored.targets))
    return [Output("predict", np.nan_to_num(value), rounding)]
