"""Greedy selection: the residual on the selected features, and the rule replayed."""

from itertools import pairwise
from typing import Any

import numpy as np

from tenfold.arrays import Floats, Integers, on_host
from tenfold.certification.models import fit_status, take_params, validate_like_fit
from tenfold.certification.scores import is_first_best
from tenfold.data import Rows
from tenfold.estimators.validation import as_rows, validate_weights
from tenfold.judge.best_subset_bound import best_subset, check_sizes
from tenfold.judge.certificate import Certificate
from tenfold.judge.greedy_selection import greedy
from tenfold.judge.lars_angles import Knots, angles_of_knots
from tenfold.judge.matching_pursuit import Steps, matching
from tenfold.plans.best_subset import MAX_SATURATED_SIZE
from tenfold.plans.lars import Walk, verdict
from tenfold.problems import GreedyRule
from tenfold.stats.column_moments import Columns
from tenfold.stats.moments import Moments


def _data(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    X, y = validate_like_fit(model, X, y, numeric=True)
    return as_rows(X, y, validate_weights(sample_weight, X))


def _of_targets(value: Any, targets: int) -> list[Any]:
    """The values of a fitted attribute, one for each target."""
    return [value] if targets == 1 else list(value)


def pursuit(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Each feature had the largest correlation with the residual."""
    return _greedy(model, X, y, sample_weight, "correlation")


def forward_selection(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Each feature decreased the sum of squares most."""
    return _greedy(model, X, y, sample_weight, "gain")


def _greedy(model: Any, X: Any, y: Any, sample_weight: Any, promise: str) -> Certificate:
    rows = _data(model, X, y, sample_weight)
    most = _count_requested(model, rows.shape[1])
    rule = GreedyRule(promise, most, getattr(model, "tol", None))
    order = [_as_order(path) for path in _of_targets(model.path_, rows.targets)] if hasattr(model, "path_") else None
    fitted, dtype = take_params(model, rows.targets)
    options = {"order": order, "status": fit_status(model), "dtype": dtype}
    return greedy(rule, rows, fitted, rows.fold(Columns.lift), model.fit_intercept, **options).certificate


def _count_requested(model: Any, p: int) -> int | None:
    """The number of features that the parameters request, None where a sum of squares decides; with cross-validation
    the number that was chosen.
    """
    if not hasattr(model, "n_nonzero_coefs"):
        return int(model.n_nonzero_coefs_)
    if model.tol is not None:
        return None
    return max(int(0.1 * p), 1) if model.n_nonzero_coefs is None else int(model.n_nonzero_coefs)


def _as_order(path: Any) -> Integers:
    return np.asarray(path).astype(np.int64)


def check_counts(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why the numbers of features or steps are not those of the path or of the weights, or the chosen number is not the
    first of the least stored errors.
    """
    rows = _data(model, X, y, sample_weight)
    coef = take_params(model, rows.targets)[0].coef
    most = int(model.max_iter) if type(model).__name__ == "MatchingPursuit" else _count_requested(model, rows.shape[1])
    if hasattr(model, "n_nonzero_coefs_") and model.n_nonzero_coefs_ != most:
        return "n_nonzero_coefs_ is not the number of columns that was asked for."
    if not hasattr(model, "n_nonzero_coefs") and hasattr(model, "cv"):
        p = rows.shape[1]
        candidates = model.max_iter or min(max(int(0.1 * p), 5), p)
        if not 1 <= model.n_nonzero_coefs_ <= candidates:
            return "n_nonzero_coefs_ is not one of the numbers that were tried."
    counts = [int(count) for count in np.ravel(model.n_iter_)]
    if hasattr(model, "path_"):
        allowed = [{len(path)} for path in _of_targets(model.path_, rows.targets)]
    else:  # a column that was taken may end with a weight of zero; scikit-learn may keep the largest number alone
        active = [int(np.count_nonzero(w)) for w in coef]
        allowed = [{count, most or count} for count in (active if len(counts) > 1 else [max(active)])]
    if len(counts) != len(allowed) or not all(count in some for count, some in zip(counts, allowed, strict=True)):
        return "n_iter_ is not the number of steps that were taken."
    if not hasattr(model, "mse_path_") or np.size(model.mse_path_) == 0:
        return ""
    errors = np.asarray(model.mse_path_, dtype=np.float64)
    if not 1 <= model.n_nonzero_coefs_ <= len(errors):
        return "n_nonzero_coefs_ is not one of the numbers that were tried."
    if not is_first_best(errors, int(model.n_nonzero_coefs_) - 1):
        return "n_nonzero_coefs_ is not the number of columns of the least mean squared error in mse_path_."
    return ""


def steps(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The steps of matching pursuit, replayed."""
    rows = _data(model, X, y, sample_weight)
    fitted, dtype = take_params(model, rows.targets)
    counts = [_as_order(path) for path in _of_targets(model.path_, rows.targets)]
    left = [np.asarray(sums, dtype=np.float64) for sums in _of_targets(model.rss_path_, rows.targets)]
    steps_given = Steps(int(model.max_iter), model.tol, counts, left)
    columns, options = rows.fold(Columns.lift), {"status": fit_status(model), "dtype": dtype}
    return matching(steps_given, rows, fitted, columns, model.fit_intercept, **options)


def angles(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """Equal angles at the stored end of the path, or the gap of the Lasso."""
    rows = _data(model, X, y, sample_weight)
    fitted, dtype = take_params(model, rows.targets)
    lasso = _is_lasso(model)
    ends = np.full(rows.targets, _alpha(model)) if lasso else _ends(model, rows.targets)
    options = Walk(lasso, bool(getattr(model, "positive", False)), float(ends[0]), 0, 0.0)
    return verdict(rows, fitted, rows.fold(Columns.lift), ends, options, model.fit_intercept, dtype)


def _is_lasso(model: Any) -> bool:
    return type(model).__name__.startswith("LassoLars")


def check_knots(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why the path is not one of least angles, does not end where requested, or contradicts the active features; or why
    alpha is not the first of the least stored errors.
    """
    rows = _data(model, X, y, sample_weight)
    fitted, dtype = take_params(model, rows.targets)
    t, lasso, jitter = rows.targets, _is_lasso(model), getattr(model, "jitter", None)
    alphas = [np.asarray(on_host(path), dtype=np.float64) for path in _of_targets(model.alphas_, t)]
    has_path = hasattr(model, "coef_path_")
    if has_path:
        weights = [np.asarray(on_host(path), dtype=np.float64).T for path in _of_targets(model.coef_path_, t)]
    else:
        weights = [w[None] for w in fitted.coef]
    if any(w.shape != (len(a), rows.shape[1]) for w, a in zip(weights, alphas, strict=True)):
        return "coef_path_ and alphas_ do not belong together."
    if not all(np.array_equal(path[-1], w) for path, w in zip(weights, fitted.coef, strict=True)):
        return "coef_path_ does not end with coef_."
    angles = angles_of_knots(
        rows,
        fitted,
        rows.fold(Columns.lift),
        bool(model.fit_intercept),
        [Knots(a, w) for a, w in zip(alphas, weights, strict=True)],
        lasso=lasso,
        positive=bool(getattr(model, "positive", False)),
        jitter=0.0 if jitter is None else float(jitter),
        dtype=dtype,
    )
    counts = _of_targets(model.n_iter_, t)
    for k, (knots, path, w) in enumerate(zip(angles, alphas, weights, strict=True)):
        if not np.all(knots.violation <= knots.allowed):
            worst = int(np.argmax(knots.violation))
            return f"Knot {worst} of the path does not have equal angles, or not those of alphas_."
        if np.any(np.diff(path) * knots.unit > knots.allowed):
            return "alphas_ do not fall."
        if has_path and int(counts[k]) != len(path) - 1:
            return "n_iter_ is not the number of steps of the path."
        if has_path and not _is_active_order(_of_targets(model.active_, t)[k], w):
            return "active_ are not the columns that have weights at the end, in the order in which they joined."
        if not _reaches_end(model, path, int(np.count_nonzero(w[-1])), knots.equal, knots.allowed / knots.unit):
            return "The path ends elsewhere than it was asked to."
    return _check_alpha(model) if hasattr(model, "mse_path_") else ""


def _is_active_order(active: Any, weights: Floats) -> bool:
    """Whether `active` are the features with weights at the end of a path (K, p), the earlier ones first. One that was
    about to leave when alpha was reached may be missing, as in scikit-learn: its weight was decreasing to zero.
    """
    order, active = _as_order(active), np.flatnonzero(weights[-1])
    missing = np.setdiff1d(active, order)
    if np.unique(order).size < order.size or np.setdiff1d(order, active).size or missing.size > 1:
        return False
    if missing.size and not np.all(np.abs(weights[-1, missing]) < np.abs(weights[-2:-1, missing])):
        return False
    last_zero = [int(np.flatnonzero(weights[:, j] == 0.0)[-1]) for j in order]
    return all(a <= b for a, b in pairwise(last_zero))


def _reaches_end(model: Any, alphas: Floats, active: int, equal: int, off: float) -> bool:
    """Whether the path has reached alpha, or else the limit of features or steps: then another feature is about to
    join, so that one more has the largest correlation.
    """
    most = int(model.n_nonzero_coefs if hasattr(model, "n_nonzero_coefs") else model.max_iter)
    alpha = _alpha(model)
    rounded = float(np.asarray(alpha, dtype=np.asarray(on_host(_first(model.alphas_))).dtype))
    if abs(alphas[-1] - rounded) <= off:
        return True
    if alphas[-1] < alpha:
        return False
    return len(alphas) > most if _is_lasso(model) else active <= most < equal


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def _check_alpha(model: Any) -> str:
    alphas, errors = np.asarray(on_host(model.cv_alphas_)), np.asarray(model.mse_path_, dtype=np.float64)
    counts = np.flatnonzero(alphas == np.asarray(model.alpha_, dtype=alphas.dtype))
    if not counts.size or errors.shape[:1] != alphas.shape:
        return "alpha_ is not one of cv_alphas_."
    if not is_first_best(errors, int(counts[0])):
        return "alpha_ is not that of the least mean squared error in mse_path_."
    return ""


def _alpha(model: Any) -> float:
    return float(getattr(model, "alpha_", getattr(model, "alpha", 0.0)))


def _ends(model: Any, targets: int) -> Floats:
    """The last alpha of each path."""
    paths = [model.alphas_] if targets == 1 else model.alphas_
    return np.array([float(on_host(path)[-1]) for path in paths])


def subset(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The best features, as many as requested, or as the model has."""
    rows = _data(model, X, y, sample_weight)
    fitted, dtype = take_params(model, rows.targets)
    columns, count = rows.fold(Columns.lift), model.n_nonzero_coefs
    options = {"status": fit_status(model), "dtype": dtype}
    return best_subset(rows, fitted, columns, model.fit_intercept, count, **options)[0]


def check_choice(model: Any, X: Any, y: Any, sample_weight: Any) -> str:
    """Why the features of some size are not the best, do not leave the stored sums of squares, or the chosen size does
    not have the smallest criterion. With a time limit the search need not be complete.
    """
    rows = _data(model, X, y, sample_weight)
    coef, columns = take_params(model, rows.targets)[0].coef, rows.fold(Columns.lift)
    targets = columns.target_lengths(origin=not model.fit_intercept) ** 2
    candidates = _largest_sizes(model, rows, columns)
    names = ("n_nonzero_coefs_", "subsets_", "rss_path_", "criterion_")
    each = zip(*(_of_targets(getattr(model, name), rows.targets) for name in names), strict=True)
    for t, (count, inside, squares, costs) in enumerate(each):
        inside, squares = np.asarray(inside, dtype=bool), np.asarray(squares, dtype=np.float64)
        if len(squares) - 1 not in candidates:
            return "Not all sizes that were asked for are there."
        options = {"prove": model.time_limit is None}
        complaint = check_sizes(rows, columns, bool(model.fit_intercept), t, inside, squares, **options)
        if complaint:
            return complaint
        number = np.arange(len(squares))
        if model.alpha is not None:
            expected = squares / columns.weight + float(model.alpha) * number
        else:
            factor = 2.0 if model.criterion == "aic" else float(np.log(columns.weight))
            least = 1e-14 * float(targets[t]) or 1.0
            expected = columns.weight * np.log(np.maximum(squares, least) / columns.weight) + factor * number
        if np.shape(costs) != expected.shape or not np.allclose(costs, expected, rtol=1e-9, atol=1e-9 * columns.weight):
            return "criterion_ is not what the sums of squares and sizes make."
        best = len(squares) - 1 if model.n_nonzero_coefs is not None else int(np.argmin(costs))
        if int(count) != best:
            return "n_nonzero_coefs_ is not the size that was asked for, or that of the smallest criterion_."
        if np.any((coef[t] != 0.0) & ~inside[best]):
            return "Columns that are not in the subset of that size have weights."
    return ""


def _largest_sizes(model: Any, rows: Rows, columns: Columns) -> set[int]:
    """The largest sizes that a search may have: the requested one, all features, or a few where these fit exactly."""
    lengths = columns.lengths(origin=not model.fit_intercept)[0]
    least = 8.0 * np.finfo(np.float64).eps * np.sqrt(columns.weight) * np.abs(columns.mean[: columns.features])
    varying = int(np.count_nonzero(lengths > (least if model.fit_intercept else 0.0)))
    if model.n_nonzero_coefs is not None:
        return {min(int(model.n_nonzero_coefs), varying)}
    free = max(rows.fold(Moments.lift).count - bool(model.fit_intercept) - 1, 0)
    return {min(most, free, varying) for most in (varying, MAX_SATURATED_SIZE)}
